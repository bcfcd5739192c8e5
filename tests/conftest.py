"""Common fixtures: small scenarios, optional tools, skips that fail in CI, marks."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import sojourn
from sojourn.warning_codes import KINDS, code_of
from sojourn.worlds.kernel.machine import installed
from support import SMALL, Cli

# The same examples in every run, so that failures are reproducible. `--hypothesis-seed` tries others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")

# Tables are as wide as if no terminal were known; readline, which pytest imports, sets the variable.
os.environ.pop("COLUMNS", None)

IN_CI = os.environ.get("CI") == "true"
#: Fixtures of tests with real packets.
REAL = {"places", "namespaces"}


@pytest.hookimpl(tryfirst=True)  # before `-m` selects
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests with real packets, which share a worker; those with a module fixture share one, too."""
    if installed() is None and os.environ.get("KERNEL") != "yes":  # `make kernel` is optional
        items[:] = [one for one in items if not _needs_kernel(one)]
    for item in items:
        if not isinstance(item, pytest.Function):
            continue
        if _needs_kernel(item):
            item.add_marker("kernel")
        if REAL.intersection(item.fixturenames):
            item.add_marker("real")
            item.add_marker(pytest.mark.xdist_group("real"))
            continue
        fixtures = (one for found in item._fixtureinfo.name2fixturedefs.values() for one in found)
        if any(one.scope == "module" for one in fixtures):
            item.add_marker(pytest.mark.xdist_group(item.module.__name__))


def _needs_kernel(item: pytest.Item) -> bool:
    """Return whether a test has the fixture `kernel`, or this world as its parameter."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return "kernel" in getattr(item, "fixturenames", ()) or parameters.get("name") == "kernel"


@pytest.fixture
def small() -> sojourn.Scenario:
    """Six TCP flows and a constant stream at 2 Mbit/s for six seconds: runs in milliseconds."""
    return sojourn.Scenario.from_toml(SMALL, "small.toml")


@pytest.fixture
def small_file(tmp_path: Path) -> Path:
    """The same as a file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """Run the command line in this process, in `tmp_path`; return exit code and output.

    Every warning must have a code.
    """
    from sojourn.cli import call

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        arguments = [str(word) for word in words]
        out, err = io.StringIO(), io.StringIO()
        with (
            pytest.MonkeyPatch.context() as patch,
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
        ):
            patch.chdir(tmp_path)
            patch.setattr(sys, "argv", ["sojourn", *arguments])
            code = call(arguments)
        for line in err.getvalue().splitlines():
            assert not line.startswith("sojourn: warning: ") or code_of(line) in KINDS, line
        return subprocess.CompletedProcess(arguments, code, out.getvalue(), err.getvalue())

    return run


@pytest.fixture
def process(tmp_path: Path) -> Cli:
    """Run the command line in a process of its own, in `tmp_path`; it dies with this one."""
    from sojourn.worlds.hosts.namespace import die_with_parent

    def run(*words: object, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "sojourn", *map(str, words)],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=300,  # for a command that hangs; other tests may run at the same time
            check=False,
            preexec_fn=die_with_parent,
        )

    return run


@pytest.fixture
def program() -> Callable[[str], str]:
    """Return the path of a program, or skip the test: counted, and in CI a failure."""

    def find(name: str) -> str:
        path = shutil.which(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return find


@pytest.fixture(scope="session")
def _awake() -> Iterator[None]:
    """Prevent idle processors in tests with real packets, as in measurements."""
    from sojourn.worlds.real.cpu_idle import prevent_cpu_idle

    with prevent_cpu_idle():
        yield


@pytest.fixture
def places(_awake: None) -> None:
    """Skip if no network namespace can be made, with the reason."""
    from sojourn.worlds.hosts import namespace

    reason = namespace.missing() or ("" if namespace.is_privileged() else "namespaces need root")
    if reason:
        pytest.skip(reason)


@pytest.fixture
def namespaces(_awake: None) -> None:
    """Skip if no testbed can be made, with the reason."""
    from sojourn.worlds.real.hosts import missing

    reason = missing(web=True)
    if reason:
        pytest.skip(reason)


@pytest.fixture
def kernel() -> None:
    """Skip if `make kernel` was not run, or a program of the hosts is missing, with the reason."""
    if installed() is None:
        pytest.skip("there is no kernel; `make kernel` builds it")
    for name in ("ip", "tc"):
        if shutil.which(name, path="/usr/sbin:/sbin:/usr/bin:/bin") is None:
            pytest.skip(f"{name} is not installed")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """In CI a skipped test is a failure: its tool should be installed."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if IN_CI and reporter is not None and reporter.stats.get("skipped"):
        reporter.write_line("CI=true: skipped tests count as failures", red=True)
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Debian's chromium, driven by playwright."""
    if CHROMIUM is None and not os.environ.get("CI"):
        pytest.skip("no chromium")
    sync_api = pytest.importorskip("playwright.sync_api")
    assert CHROMIUM is not None, "chromium is missing"
    with sync_api.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield started
        started.close()
