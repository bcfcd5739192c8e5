"""A wheel, installed into an empty environment, has everything that the first commands need.

The wheel is packed from the core that `make build` has compiled for release, which takes seconds. The
packages that it requires are those of the tests. Seen to fail on these mutants: templates left out of the
wheel; an example that is looked for in the working directory only.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

from support import ROOT

BIN = Path(sys.executable).parent
#: Cargo must not run beside another build of the core, so this is not part of `make test`.
pytestmark = pytest.mark.wheel


def done(*words: object, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Run a program and return what it printed; it must succeed."""
    run = subprocess.run(
        list(map(str, words)), cwd=cwd, env={**os.environ, **(env or {})}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("wheel")
    paths = {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}", "VIRTUAL_ENV": str(BIN.parent)}
    done(BIN / "maturin", "build", "--release", "--locked", "--quiet", "--out", out, cwd=ROOT, env=paths)
    (made,) = out.glob("*.whl")
    return made


def test_the_wheel_serves_every_later_python(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
    text = zipfile.ZipFile(wheel).read(metadata).decode()
    assert "Requires-Python: >=3.11" in text
    assert "Classifier: Topic :: System :: Networking" in text
    assert not any(name.startswith(("tests/", "docs/")) for name in names)


def test_the_first_commands_work_from_an_empty_folder(wheel: Path, tmp_path: Path) -> None:
    place, empty = tmp_path / "venv", tmp_path / "empty"
    empty.mkdir()
    done(sys.executable, "-m", "venv", "--without-pip", place, cwd=tmp_path)
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--quiet",
        "--disable-pip-version-check",
        "--python",
        place / "bin/python",
    ]
    done(*pip, "install", "--no-deps", "--no-index", wheel, cwd=tmp_path)
    packages = place / f"lib/python{sysconfig.get_python_version()}/site-packages"
    (packages / "required.pth").write_text(sysconfig.get_path("purelib") + "\n")
    found = done(place / "bin/python", "-c", "import sojourn; print(sojourn.__file__)", cwd=empty)
    assert Path(found.strip()).is_relative_to(packages)
    sojourn = place / "bin/sojourn"
    assert "three queues" in done(sojourn, "demo", "--help", cwd=empty)
    assert "fq_codel" in done(sojourn, "list", cwd=empty)
    done(sojourn, "new", "--template", "red40", "red40.toml", cwd=empty)
    text = (empty / "red40.toml").read_text()
    (empty / "red40.toml").write_text(
        text.replace('duration = "', 'duration = "6s" # "').replace('warmup = "', 'warmup = "2s" # "')
    )
    assert "utilization" in done(sojourn, "run", "red40.toml", "--seeds", "1", cwd=empty)
    assert (next((empty / "results").iterdir()) / "report.html").is_file()
    # The examples of the README, without a clone.
    assert "droptail" in done(sojourn, "run", "examples/today.toml", "--seeds", "1", cwd=empty)
