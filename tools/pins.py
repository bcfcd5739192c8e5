"""The lists of pinned Python packages: `user.txt`, `build.txt`, `dev.txt` and `site.txt` in requirements/.

    python tools/pins.py sbom     write requirements/python.cdx.json, which is part of every wheel

`make lock` writes the lists, with the hashes of all files of each version, and then calls this.
"""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
LISTS = ROOT / "requirements"
SBOM = LISTS / "python.cdx.json"


class Pin(NamedTuple):
    """A package with its version, its hashes (sha256), and the packages that require it."""

    name: str
    version: str
    hashes: tuple[str, ...]
    required_by: tuple[str, ...]


def normalized(name: str) -> str:
    """Return the name of a package as it is compared (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def read(text: str) -> list[Pin]:
    """Return the packages of a list; a ``ValueError`` if a line is neither one nor a comment."""
    found = []
    for block in re.split(r"\n(?=[^\s#])", text.strip()):
        lines = [line for line in block.splitlines() if line[:1] != "#"]
        if not lines:
            continue
        head = re.match(r"([A-Za-z0-9._-]+)==([^\s;]+)(?: ; [^\\]+)? \\$", lines[0])
        if head is None:
            raise ValueError(f"not a pinned package: {lines[0]!r}")
        hashes = re.findall(r"^    --hash=sha256:([0-9a-f]{64})(?: \\)?$", "\n".join(lines), re.MULTILINE)
        if not hashes:
            raise ValueError(f"no hash: {lines[0]!r}")
        why = [line.lstrip(" #") for line in lines if line.startswith("    #")]
        names = [word.removeprefix("via").strip() for word in why]
        found.append(Pin(normalized(head[1]), head[2], tuple(hashes), tuple(filter(None, names))))
    return found


def sbom(pins: list[Pin], project: dict[str, str]) -> dict[str, object]:
    """Return a CycloneDX document of the packages that a user's installation has."""
    names = {pin.name: f"pkg:pypi/{pin.name}@{pin.version}" for pin in pins}
    root = f"pkg:pypi/{project['name']}@{project['version']}"
    of: dict[str, list[str]] = {root: [], **{one: [] for one in names.values()}}
    for pin in pins:
        for word in pin.required_by:
            parent = names.get(normalized(word), root if word.startswith(project["name"]) else None)
            if parent is not None:
                of[parent].append(names[pin.name])
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {"type": "library", "bom-ref": root, "purl": root, **project},
        },
        "components": [
            {
                "type": "library",
                "bom-ref": names[pin.name],
                "name": pin.name,
                "version": pin.version,
                "purl": names[pin.name],
            }
            for pin in pins
        ],
        "dependencies": [{"ref": one, "dependsOn": sorted(every)} for one, every in of.items()],
    }


def current_sbom() -> str:
    """Return the document for the current list and version."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["name"]
    version = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["package"]["version"]
    pins = read((LISTS / "user.txt").read_text())
    return json.dumps(sbom(pins, {"name": project, "version": version}), indent=1) + "\n"


if __name__ == "__main__":
    if sys.argv[1:] != ["sbom"]:
        sys.exit(__doc__)
    SBOM.write_text(current_sbom())
