"""``python -m sojourn.worlds.kernel.build``: builds the kernel of the world ``kernel`` into a cache folder.

The source is Debian's package ``linux-source-6.1``, or the folder ``KERNEL_SOURCE``; it is not changed. The
kernel is User Mode Linux with ``guest/kernel.config`` and HZ = 1000: ``HZ`` has no prompt on this
architecture, so a copy of the top-level Kconfig with another default is used. The result is a folder
``VERSION-HASH`` with the programs and ``build.json``; the hash covers the version, the configuration and the
sources in ``guest``. A second call continues an interrupted one, and does nothing if the result exists.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from sojourn.errors import InputError, RunFailed, SojournError
from sojourn.terminal import show

#: Debian's package with the source.
PACKAGE = "linux-source-6.1"
#: Timer interrupts per second.
HZ = 1000
#: Symbols of the configuration that a source may lack; the world then refuses what needs them.
OPTIONAL = frozenset({"NET_SCH_DUALPI2"})
#: Programs that the build needs, and the Debian packages that have them.
TOOLS = {"gcc": "gcc", "make": "make", "flex": "flex", "bison": "bison", "bc": "bc", "xz": "xz-utils"}
#: Interval between two lines of progress, s.
REPORT = 15.0
#: Files compiled in a typical build, for the progress.
FILES = 900


def cache() -> Path:
    """Return the folder of kernels: ``SOJOURN_KERNELS``, or ``sojourn/kernel`` in the user's cache."""
    if own := os.environ.get("SOJOURN_KERNELS"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sojourn" / "kernel"


def guest(name: str) -> bytes:
    """Return a file of the folder ``guest``."""
    return (resources.files(__package__) / "guest" / name).read_bytes()


def build() -> Path:
    """Build the kernel unless it exists; return its folder.

    Raises
    ------
    InputError
        If a program or the source is missing.
    RunFailed
        If the build fails.
    """
    _require(TOOLS)
    home = cache()
    home.mkdir(parents=True, exist_ok=True)
    source = _source(home)
    version = _output(["make", "-s", "-C", str(source), "kernelversion"])
    result = home / f"{version}-{_hash(version)}"
    if not (result / "build.json").exists():
        objects = home / f"objects-{result.name}"
        missing = _configure(source, objects)
        _compile(source, objects)
        _finish(objects, result, version, missing)
    _select(home, result)
    return result


def _require(tools: dict[str, str]) -> None:
    missing = [name for name in tools if shutil.which(name) is None]
    if missing:
        packages = " ".join(dict.fromkeys(tools[name] for name in missing))
        raise InputError("make kernel:", f"needs {', '.join(missing)}", f"apt-get install {packages}")


def _hash(version: str) -> str:
    content = [version.encode(), str(HZ).encode(), *(guest(one) for one in ("kernel.config", "preload.c"))]
    return hashlib.sha256(b"\0".join(content)).hexdigest()[:12]


def _source(home: Path) -> Path:
    """Return the folder of the source: the user's, or the unpacked package."""
    if own := os.environ.get("KERNEL_SOURCE"):
        path = Path(own).expanduser().resolve()
        if not (path / "arch/um/Kconfig").exists():
            raise InputError(
                "KERNEL_SOURCE", f"= {own!r} is not the source of Linux", "a folder with arch/um"
            )
        return path
    found = home / PACKAGE
    if not found.exists():
        _require({"apt-get": "apt", "dpkg-deb": "dpkg", "tar": "tar"})
        _say(f"downloading {PACKAGE} (about 140 MB); KERNEL_SOURCE=/path uses another source")
        package = _download(home)
        _say("unpacking the source")
        fresh = home / f"{PACKAGE}.part"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir()
        _run(["dpkg-deb", "-x", str(package), str(fresh)])
        archive = next((fresh / "usr/src").glob("linux-source-*.tar.xz"))
        _run(["tar", "-C", str(fresh), "-xf", str(archive)])
        next(one for one in fresh.glob("linux-source-*") if one.is_dir()).rename(found)
        shutil.rmtree(fresh)
        package.unlink()
    return found


def _download(home: Path) -> Path:
    """Download the package as the user; an earlier complete download is used again."""
    packages = sorted(home.glob(f"{PACKAGE}_*.deb"))
    if not packages:
        _run(["apt-get", "download", PACKAGE], cwd=home)
        packages = sorted(home.glob(f"{PACKAGE}_*.deb"))
    return packages[-1]


def _make(source: Path, objects: Path, *words: str) -> list[str]:
    kconfig = f"KBUILD_KCONFIG={objects / 'Kconfig'}"
    return ["make", "-C", str(source), "ARCH=um", f"O={objects}", kconfig, *words]


def _configure(source: Path, objects: Path) -> list[str]:
    """Write the configuration; return the symbols of `OPTIONAL` that this source lacks."""
    objects.mkdir(exist_ok=True)
    text = (source / "Kconfig").read_text(encoding="utf-8")
    hz = f"\nconfig HZ\n\tint\n\tdefault {HZ}\n"  # the first default of a symbol is used
    changed = re.sub(r"^mainmenu .*\n", lambda found: found[0] + hz, text, flags=re.MULTILINE)
    _write(objects / "Kconfig", changed)
    default = (source / "arch/um/configs/x86_64_defconfig").read_bytes()
    # Written only if it changed: make compiles everything again after a new configuration.
    if _write(objects / "wanted", (default + guest("kernel.config")).decode()):
        shutil.copyfile(objects / "wanted", objects / ".config")
        _run(_make(source, objects, "olddefconfig"))
    wanted, found = dict(_symbols(guest("kernel.config").decode())), (objects / ".config").read_text("utf-8")
    have = dict(_symbols(found))
    missing = [name for name, value in wanted.items() if have.get(name, "n") != value]
    if hard := [name for name in missing if name not in OPTIONAL]:
        raise RunFailed(f"this source cannot set {', '.join(hard)}")
    if have.get("HZ") != str(HZ):
        raise RunFailed(f"this source cannot set HZ to {HZ}")
    return missing


def _symbols(text: str) -> Iterator[tuple[str, str]]:
    for name, value, unset in re.findall(
        r"^(?:CONFIG_(\w+)=(.*)|# CONFIG_(\w+) is not set)$", text, re.MULTILINE
    ):
        yield (unset, "n") if unset else (name, value)


def _compile(source: Path, objects: Path) -> None:
    """Compile the kernel; print the number of compiled files from time to time."""
    command = _make(source, objects, f"--jobs={os.cpu_count() or 1}", "linux")
    log, start, shown = objects / "log", time.monotonic(), 0.0
    done = sum(1 for _ in objects.rglob("*.o"))
    _say(f"compiling about {FILES} files; the output is in {log}")
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert process.stdout is not None
        with process:
            for line in process.stdout:
                file.write(line)
                done += line.startswith("  CC ")
                if time.monotonic() - start - shown > REPORT:
                    shown = time.monotonic() - start
                    _say(f"{done} files after {shown:.0f} s")
    if process.returncode != 0:
        tail = [line for line in log.read_text("utf-8").splitlines() if "rror" in line][:3]
        raise RunFailed(f"the kernel cannot be built: {'; '.join(tail) or 'see the log'} ({log})")


def _finish(objects: Path, result: Path, version: str, missing: Sequence[str]) -> None:
    """Put the programs and their description into the result, all at once."""
    fresh = result.with_suffix(".part")
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir()
    shutil.copy(objects / "linux", fresh / "linux")
    shutil.copy(objects / ".config", fresh / "config")
    code = objects / "preload.c"
    _write(code, guest("preload.c").decode())
    _run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(fresh / "preload.so"), str(code)])
    description: dict[str, Any] = {
        "version": version,
        "hz": HZ,
        "config": hashlib.sha256((objects / ".config").read_bytes()).hexdigest(),
        "compiler": _output(["gcc", "--version"]).splitlines()[0],
        "missing": list(missing),
    }
    _write(fresh / "build.json", json.dumps(description, indent=1) + "\n")
    fresh.rename(result)
    shutil.rmtree(objects)


def _select(home: Path, result: Path) -> None:
    """Make ``current`` name the result."""
    link = home / "current.part"
    link.unlink(missing_ok=True)
    link.symlink_to(result.name)
    link.replace(home / "current")


def _write(path: Path, text: str) -> bool:
    """Write a file unless it has this text; return whether it changed."""
    if path.exists() and path.read_text(encoding="utf-8") == text:
        return False
    path.write_text(text, encoding="utf-8")
    return True


def _run(command: Sequence[str], cwd: Path | None = None) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr or done.stdout).strip().splitlines()[-3:]
        raise RunFailed(f"{' '.join(command[:4])} failed: {' '.join(last)}")


def _output(command: Sequence[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RunFailed(f"{' '.join(command)} failed: {done.stderr.strip()}")
    return done.stdout.strip()


def _say(text: str) -> None:
    show(f"make kernel: {text}", sys.stderr)


def main() -> int:
    """Build, and print the folder."""
    try:
        result = build()
    except SojournError as error:
        show(str(error), sys.stderr)
        return error.exit_code
    described = json.loads((result / "build.json").read_text(encoding="utf-8"))
    without = f"; it lacks {', '.join(described['missing'])}" if described["missing"] else ""
    show(f"Linux {described['version']} with HZ = {described['hz']} is in {result}{without}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
