"""Make the packages of the published crates, and check that they compile from their packaged files alone.

    python tools/package.py CRATE ...

`cargo package` would verify them by building them and all their dependencies in the profile `dev`, which
nothing else uses. Here they are unpacked into a workspace that has the profiles of this one, and checked in
its target directory: only the packages themselves are compiled, without code generation, which the tests of
the workspace cover.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import time
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = ROOT / "target/package"
UNPACKED = PACKAGES / "unpacked"


def workspace(manifest: str, packages: dict[str, str]) -> str:
    """Return the manifest of a workspace of unpacked packages, by crate, that depend on each other."""
    members = ", ".join(f'"{package}"' for package in packages.values())
    patches = "".join(f'{crate} = {{ path = "{package}" }}\n' for crate, package in packages.items())
    profiles = manifest[manifest.index("[profile.") :]
    return f'[workspace]\nresolver = "2"\nmembers = [{members}]\n[patch.crates-io]\n{patches}{profiles}'


def unpack(archive: Path, directory: Path) -> None:
    """Unpack an archive with the current time, because Cargo compiles files newer than its output."""
    with tarfile.open(archive) as packed:
        for member in packed:
            member.mtime = time.time()
            packed.extract(member, directory, filter="data")


def main(crates: list[str]) -> int:
    """Package and check `crates`; return the exit code of Cargo.

    With OFFLINE=1 crates come from ``wheelhouse/``, from which Cargo cannot package.
    """
    if os.environ.get("OFFLINE"):
        print("packages of the crates are not checked: `cargo package` needs a registry, OFFLINE=1 has none")
        return 0
    common = ["--offline", "--quiet"]
    chosen = [word for crate in crates for word in ("--package", crate)]
    words = ["cargo", "package", "--no-verify", "--locked", "--allow-dirty", *chosen, *common]
    if code := subprocess.run(words, cwd=ROOT, check=False).returncode:
        return code
    manifest = (ROOT / "Cargo.toml").read_text(encoding="utf-8")
    version = tomllib.loads(manifest)["workspace"]["package"]["version"]
    packages = {crate: f"{crate}-{version}" for crate in crates}
    shutil.rmtree(UNPACKED, ignore_errors=True)
    for package in packages.values():
        unpack(PACKAGES / f"{package}.crate", UNPACKED)
    (UNPACKED / "Cargo.toml").write_text(workspace(manifest, packages), encoding="utf-8")
    shutil.copy(ROOT / "Cargo.lock", UNPACKED)
    words = ["cargo", "check", "--profile", "checked", "--target-dir", str(ROOT / "target"), *common]
    return subprocess.run(words, cwd=UNPACKED, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
