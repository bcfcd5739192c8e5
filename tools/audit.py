"""`make audit`: checks licences, sources and known vulnerabilities of the dependencies.

Rust is checked by cargo-deny, with deny.toml and the RustSec database; the Python packages of requirements/
are compared with the database of PyPA. Both databases are git repositories below target/advisories; they are
updated where the network allows that, and their age is printed.

Exit code 0: no problem was found; 1: a problem was found; 2: a check was not possible.
"""

import datetime
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml
from packaging.version import InvalidVersion, Version

sys.path.insert(0, str(Path(__file__).parent))
import pins

ROOT = pins.ROOT
DATABASES = ROOT / "target/advisories"
PYPA = DATABASES / "pypa"
PYPA_SOURCE = "https://github.com/pypa/advisory-database"
#: The folder of cargo-deny's clone (deny.toml).
RUSTSEC = DATABASES / "cargo-deny"
OLD = datetime.timedelta(days=30)
CARGO_DENY = "cargo-deny is missing, so Rust was not checked: cargo install --locked cargo-deny"
FOUND, INCOMPLETE = 1, 2


def affected(advisory: dict[str, Any], name: str, version: str) -> bool:
    """Return whether an advisory in the OSV format affects a version of a PyPI package.

    A version that cannot be compared counts as affected.
    """
    if "withdrawn" in advisory:
        return False
    for one in advisory.get("affected", ()):
        package = one.get("package", {})
        if package.get("ecosystem") != "PyPI" or pins.normalized(package.get("name", "")) != name:
            continue
        if version in one.get("versions", ()):
            return True
        ranges = (part["events"] for part in one.get("ranges", ()) if part["type"] == "ECOSYSTEM")
        if any(_in_range(version, events) for events in ranges):
            return True
    return False


def _in_range(version: str, events: Iterable[dict[str, str]]) -> bool:
    """Evaluate events as the OSV schema does: in order of their versions, each changes the state."""
    try:
        mine = Version(version)
        every = sorted(
            (Version(value), kind != "introduced", kind) for event in events for kind, value in event.items()
        )
    except InvalidVersion:
        return True
    inside = False
    for bound, _, kind in every:
        if kind == "introduced" and mine >= bound:
            inside = True
        elif (kind == "fixed" and mine >= bound) or (kind == "last_affected" and mine > bound):
            inside = False
    return inside


def age(date: datetime.datetime, now: datetime.datetime) -> str:
    """Return the age of a database as text."""
    days = (now - date).days
    words = f"of {date:%Y-%m-%d}"
    return f"{words}, {days} days old: update it" if now - date > OLD else words


def vulnerabilities(database: Path, packages: Iterable[pins.Pin]) -> list[str]:
    """Return a line for each advisory of the database that affects a package."""
    found = []
    for pin in packages:
        for file in sorted((database / "vulns" / pin.name).glob("*.yaml")):
            advisory = yaml.safe_load(file.read_text(encoding="utf-8"))
            if affected(advisory, pin.name, pin.version):
                names = ", ".join([advisory["id"], *advisory.get("aliases", ())])
                found.append(
                    f"{pin.name} {pin.version}: {names}: {' '.join(advisory['details'].split())[:100]}"
                )
    return found


def main() -> int:
    """Run all checks; return the exit code."""
    return max(_rust(), _python())


def _rust() -> int:
    if shutil.which("cargo-deny") is None:
        print(CARGO_DENY)
        return INCOMPLETE
    deny = ["cargo", "deny", "--locked"]
    code = FOUND if _run([*deny, "check", "bans", "licenses", "sources"]) else 0
    is_fresh = not _run([*deny, "fetch", "db"], quiet=True)
    clone = next(RUSTSEC.glob("advisory-db-*"), None)
    if not _has_data("RustSec's database", clone, is_fresh, "https://github.com/rustsec/advisory-db"):
        return INCOMPLETE
    return FOUND if _run([*deny, "--offline", "check", "advisories"]) else code


def _python() -> int:
    git = ["git", "-C", str(PYPA), "pull"] if PYPA.exists() else ["git", "clone", PYPA_SOURCE, str(PYPA)]
    is_fresh = not _run([*git, "--quiet", "--depth=1"], quiet=True)
    if not _has_data("PyPA's database", PYPA if PYPA.exists() else None, is_fresh, PYPA_SOURCE):
        return INCOMPLETE
    packages = pins.read((pins.LISTS / "dev.txt").read_text())
    found = vulnerabilities(PYPA, packages)
    for line in found:
        print(line)
    print(f"Python: {len(packages)} packages, {len(found)} advisories")
    return FOUND if found else 0


def _run(command: list[str], *, quiet: bool = False) -> int:
    return subprocess.run(command, cwd=ROOT, capture_output=quiet, check=False).returncode


def _has_data(name: str, clone: Path | None, is_fresh: bool, source: str) -> bool:
    """Print the state of a database; return whether it exists."""
    if clone is None:
        print(f"{name} is missing and could not be fetched from {source}: its advisories were not checked")
        return False
    git = ["git", "-C", str(clone), "log", "-1", "--format=%cI"]
    date = subprocess.run(git, capture_output=True, text=True, check=True).stdout.strip()
    words = age(datetime.datetime.fromisoformat(date), datetime.datetime.now(datetime.UTC))
    print(f"{name} is {words}{'' if is_fresh else ' (it could not be updated)'}")
    return True


if __name__ == "__main__":
    sys.exit(main())
