"""``sojourn schema``: the JSON Schema of scenario files, for editors."""

from __future__ import annotations

from sojourn.cli.common import print_json
from sojourn.spec.scenario import json_schema


def schema() -> None:
    """Print the JSON Schema of scenario files. Editors use it to check and complete the files."""
    print_json(json_schema())
