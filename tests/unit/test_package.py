"""The package as published: stubs, examples, versions, pins; and every test is run.

Mutants seen to fail: a method renamed in the stub (a default written as ``...`` is not noticed); the marker
of one run of pytest misspelt in the Makefile; a fixture that marks no test `real`; skips not counted;
``from sojourn import run`` in a module.
"""

from __future__ import annotations

import ast
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from support import ROOT

EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))


def test_the_stub_matches_the_compiled_module(tmp_path: Path) -> None:
    """With an empty package, so that mypy does not read ours and its imports, on which no stub depends."""
    (tmp_path / "sojourn").mkdir()
    (tmp_path / "sojourn/__init__.pyi").touch()
    shutil.copy(ROOT / "python/sojourn/_core.pyi", tmp_path / "sojourn")
    words = [sys.executable, "-m", "mypy.stubtest", "sojourn._core", "--ignore-disjoint-bases"]
    done = subprocess.run(
        words, capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": "."}, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stub_repeats_the_documentation() -> None:
    stub = (ROOT / "python/sojourn/_core.pyi").read_text()
    for name in ("algorithms", "canonical", "spec_info", "parse_unit", "check", "tcp_options", "Batch"):
        doc = getattr(_core, name).__doc__
        assert doc is not None, name
        assert " ".join(doc.split()) in " ".join(stub.split()), name


def test_all_version_numbers_are_equal() -> None:
    cargo = tomllib.loads((ROOT / "Cargo.toml").read_text())
    assert sojourn.__version__ == cargo["workspace"]["package"]["version"]
    assert re.fullmatch(rf"{re.escape(sojourn.__version__)}\+[0-9a-f]{{12}}", sojourn.CORE_VERSION)


def test_the_public_names_exist() -> None:
    for name in sojourn.__all__:
        assert getattr(sojourn, name).__doc__ or name.isupper(), name


def test_no_module_imports_the_public_names() -> None:
    """Import-linter takes every import from `sojourn` itself for an import of the compiled core."""
    package = ROOT / "python/sojourn"
    for path in package.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module == "sojourn":
                for name in (one.name for one in node.names):
                    there = (package / f"{name}.py").exists() or (package / name).is_dir()
                    assert there or name == "_core", (path, name)


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_an_example_runs_without_warnings(path: Path) -> None:
    scenario = sojourn.load(path)
    _, duration = scenario.seconds
    short = scenario.with_(duration="50s", warmup="20s") if duration > 50 else scenario
    results = sojourn.run(short, seeds=1)
    # The object sizes of the web example are heavy-tailed, as in the paper, and give a warning.
    assert [one for one in results.warnings if "object sizes of web look heavy-tailed" not in one] == []
    assert len(results.warnings) == (path.stem == "web")
    assert (results.estimate(results.aqms[0], "utilization").mean or 0) > 0.5


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.stem)
def test_an_example_script_runs(path: Path) -> None:
    done = subprocess.run([sys.executable, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_a_drop_function_uses_the_limit_of_its_spec() -> None:
    spec = "red min_th 10p max_th 40p max_p 0.1 w_q 1 gentle on gentle_end "
    assert _core.drop_function(f"{spec}limit limit 120p", 0, [40, 80, 120]) == pytest.approx([0.1, 0.55, 1.0])
    assert _core.drop_function(f"{spec}2max_th", 0, [40, 80, 120]) == pytest.approx([0.1, 1.0, 1.0])


def pytest_says(*words: str, **options: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pytest", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)  # type: ignore[call-overload, no-any-return]


def test_every_test_is_run_by_a_target_of_make() -> None:
    """Two select a marker, `make test` what has neither, and no other option deselects a test."""
    makefile = (ROOT / "Makefile").read_text()
    runs = [shlex.split(line)[1:3] for line in makefile.splitlines() if line.startswith("\t$(BIN)/pytest")]
    assert sorted(runs) == [["-m", "generated"], ["-m", "not generated and not wheel"], ["-m", "wheel"]]
    assert re.findall(r"^(?:exec )?make (.+)$", (ROOT / ".ci/run").read_text(), re.MULTILINE) == [
        "test",
        "docs-check",
    ]


def test_real_packets_are_moved_by_one_worker(request: pytest.FixtureRequest) -> None:
    """Their tests see each other's devices and processes."""
    for item in request.session.items:
        if {"places", "namespaces"} & set(getattr(item, "fixturenames", ())):
            assert item.get_closest_marker("real"), item.nodeid
            assert [one.args for one in item.iter_markers("xdist_group")] == [("real",)], item.nodeid


GROUP = """
import os
from pathlib import Path

import pytest


@pytest.mark.parametrize("n", range(8))
@pytest.mark.xdist_group("one")
def test(n):
    Path(f"{os.environ['PYTEST_XDIST_WORKER']}.ran").touch()
"""


def test_the_tests_of_a_group_share_a_worker(tmp_path: Path) -> None:
    """Of the installed versions. Seen to fail: pytest 9.2.0 with pytest-xdist 3.8.0."""
    (tmp_path / "test_group.py").write_text(GROUP)
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    done = pytest_says("--numprocesses=2", "--dist=loadgroup", cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stdout
    assert len(list(tmp_path.glob("*.ran"))) == 1


@pytest.mark.parametrize(("ci", "processes"), [("true", "0"), ("true", "2"), ("false", "2")])
def test_a_skip_is_a_failure_in_ci_only(tmp_path: Path, ci: str, processes: str) -> None:
    (tmp_path / "test_one.py").write_text("import pytest\n\n\ndef test(): pytest.skip('no tool')\n")
    (tmp_path / "test_module.py").write_text("import pytest\n\npytest.importorskip('no_such_module')\n")
    # The inner pytest must not take this worker for its own.
    env = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    words = ["-p", "conftest", "-c", str(ROOT / "pyproject.toml"), "--rootdir", str(tmp_path)]
    words += ["--numprocesses", processes, str(tmp_path)]
    done = pytest_says(*words, cwd=tmp_path, env={**env, "CI": ci, "PYTHONPATH": str(ROOT / "tests")})
    assert done.stdout.count("2 skipped") == 1, done.stdout
    assert ("CI=true: skipped tests count as failures" in done.stdout) == (ci == "true")
    assert done.returncode == (1 if ci == "true" else 0)


def test_every_exported_name_has_a_module() -> None:
    """Names are imported when they are used first. Seen to fail: a name without an entry in the table."""
    # ``from sojourn import *`` does not replace the function open of Python.
    assert set(sojourn._HOME) == {*sojourn.__all__, "open"} - {"CORE_VERSION"}
    assert all(getattr(sojourn, name) is not None for name in sojourn.__all__)
    assert set(sojourn.__all__) <= set(dir(sojourn))
    with pytest.raises(AttributeError, match="module 'sojourn' has no attribute 'runn'"):
        sojourn.runn
