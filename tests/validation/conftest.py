"""The comparison with ns-2 is in ``validation/``, beside its data: make it importable."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
