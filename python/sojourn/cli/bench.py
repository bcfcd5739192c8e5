"""``sojourn bench``: how fast is this build on this machine; ``make bench`` compares with ns-2 too."""

from __future__ import annotations

from sojourn.cli.common import Json, print_json


def bench(json: Json = False) -> None:
    """Measure bottleneck packets per CPU second, every counter on."""
    print_json({}) if json else None
