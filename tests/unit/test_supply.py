"""What is installed is pinned and described; an audit and a missing network are reported in plain words."""

from __future__ import annotations

import datetime
import importlib.util
import itertools
import json
import re
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from support import ROOT


def tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / f"tools/{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


pins, online = tool("pins"), tool("online")
audit = tool("audit")
LISTS = {name: (ROOT / f"requirements/{name}.txt").read_text() for name in ("user", "build", "dev")}
ONE = """# Written by a tool
numpy==2.4.6 ; python_version < '4' \\
    --hash=sha256:{a} \\
    --hash=sha256:{b}
    # via
    #   sojourn (pyproject.toml)
    #   scipy
scipy==1.17.1 \\
    --hash=sha256:{a}
    # via sojourn (pyproject.toml)
""".format(a="a" * 64, b="b" * 64)


def test_a_list_has_versions_hashes_and_reasons() -> None:
    first, second = pins.read(ONE)
    assert first == ("numpy", "2.4.6", ("a" * 64, "b" * 64), ("sojourn (pyproject.toml)", "scipy"))
    assert second == ("scipy", "1.17.1", ("a" * 64,), ("sojourn (pyproject.toml)",))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("numpy==", "numpy>=", "not a pinned package"),
        ("scipy==1.17.1 \\\n    --hash=sha256:" + "a" * 64, "scipy==1.17.1 \\", "no hash: 'scipy==1.17.1"),
        ("scipy==1.17.1", "--index-url=https://example.org", "not a pinned package"),
    ],
)
def test_an_unpinned_line_is_refused(old: str, new: str, problem: str) -> None:
    assert old in ONE
    with pytest.raises(ValueError, match=re.escape(problem)):
        pins.read(ONE.replace(old, new))


def test_everything_installed_is_pinned_with_hashes() -> None:
    user, build, dev = (pins.read(LISTS[name]) for name in ("user", "build", "dev"))
    of_dev = {pin.name: pin for pin in dev}
    for pin in (*user, *build):
        assert pin[:3] == of_dev[pin.name][:3], "developers have what users have"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    for wanted, have in (
        (project["project"]["dependencies"], user),
        (itertools.chain(*(extras[name] for name in extras.keys() - {"site"})), dev),
        (extras["site"], pins.read((ROOT / "requirements/site.txt").read_text())),
        (["pip", *project["build-system"]["requires"]], build),
    ):
        names = {pins.normalized(re.split(r"[<>=]", one)[0]) for one in wanted}
        assert names <= {pin.name for pin in have}
    assert "maturin==1.16.0" in project["build-system"]["requires"]
    assert "maturin==1.16.0 \\" in LISTS["build"].splitlines()
    assert not {"pytest", "dask", "mypy", "maturin", "pip"} & {pin.name for pin in user}, "not for users"
    assert "://" not in LISTS["user"] + LISTS["dev"], "where they come from is the machine's business"


def test_the_bill_of_materials_is_current() -> None:
    text = (ROOT / "requirements/python.cdx.json").read_text()
    assert text == pins.current_sbom(), "make lock writes it"
    found = json.loads(text)
    names = {one["name"] for one in found["components"]}
    assert {"numpy", "polars", "tzdata"} <= names
    assert not {"pip", "maturin"} & names, "these are not needed to run"
    graph = {one["ref"]: one["dependsOn"] for one in found["dependencies"]}
    assert set(graph) == {one["bom-ref"] for one in found["components"]} | {"pkg:pypi/sojourn@0.1.0"}
    direct = [one.split("/")[1].split("@")[0] for one in graph["pkg:pypi/sojourn@0.1.0"]]
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    assert direct == sorted(re.split(r"[<>=]", one)[0] for one in wanted)


PIP = (
    "WARNING: Retrying (Retry(total=0, connect=None)) after connection broken by 'NewConnectionError("
    "'[Errno -3] Temporary failure in name resolution')': /simple/alembic/\n"
    "ERROR: No matching distribution found for alembic==1.20.1\n"
)
CARGO = (
    "error: failed to download from `https://crates.example/`\nCaused by: [6] Could not resolve hostname\n"
)
VENDORED = "error: no matching package named `libm` found\nlocation searched: directory source\n"


@pytest.mark.parametrize(
    ("output", "offline", "missing"),
    [
        (PIP, "", "files cannot be downloaded: there is no network"),
        (CARGO, "", "files cannot be downloaded: there is no network"),
        ("ERROR: No matching distribution found for x\n", "1", "wheelhouse/ lacks a file"),
        (VENDORED, "1", "wheelhouse/ lacks a file"),
        ("error: could not compile `sojourn-aqm`\n", "", None),
        ("error: could not compile `sojourn-aqm`\n", "1", None),
        ("ERROR: No matching distribution found for x\n", "", None),
    ],
)
def test_what_is_missing_is_one_line_and_code_2(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    output: str,
    offline: str,
    missing: str | None,
) -> None:
    monkeypatch.setenv("OFFLINE", offline)
    program = f"import sys; sys.stderr.write({output!r}); sys.exit(101)"
    code = online.main([sys.executable, "-c", program])
    said = capsys.readouterr().err
    if missing is None:
        assert (code, said) == (101, output)
    else:
        assert code == 2
        assert said.startswith(missing)
        assert said.count("\n") == 1
    assert online.main([sys.executable, "-c", program.replace("101", "0")]) == 0


ADVISORY = """
id: PYSEC-2026-1
aliases: [CVE-2026-1]
details: A file
  that is too long.
affected:
- package: {ecosystem: PyPI, name: Numpy}
  ranges:
  - {type: GIT, events: [{introduced: "0"}]}
  - type: ECOSYSTEM
    events: [{introduced: "2.4"}, {fixed: "2.4.7"}, {introduced: "3"}, {last_affected: "3.1"}]
  versions: ["1.0"]
"""


def database(folder: Path, text: str) -> Path:
    (folder / "vulns/numpy").mkdir(parents=True)
    (folder / "vulns/numpy/PYSEC-2026-1.yaml").write_text(text)
    return folder


@pytest.mark.parametrize(
    ("version", "is_affected"),
    [
        ("1.0", True),
        ("1.1", False),
        ("2.4", True),
        ("2.4.6", True),
        ("2.4.7", False),
        ("2.10", False),
        ("3", True),
        ("3.1", True),
        ("3.1.1", False),
        ("not a version", True),
    ],
)
def test_an_advisory_affects_the_versions_that_it_names(
    tmp_path: Path, version: str, is_affected: bool
) -> None:
    line = f"numpy {version}: PYSEC-2026-1, CVE-2026-1: A file that is too long."
    pin = pins.Pin("numpy", version, (), ())
    assert audit.vulnerabilities(database(tmp_path / "a", ADVISORY), [pin]) == [line] * is_affected
    withdrawn = database(tmp_path / "b", f"{ADVISORY}withdrawn: 2026-02-01\n")
    assert audit.vulnerabilities(withdrawn, [pin]) == []
    other = database(tmp_path / "c", ADVISORY.replace("Numpy", "numpydoc"))
    assert audit.vulnerabilities(other, [pin]) == []


def test_the_age_of_old_data_is_stated() -> None:
    now = datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
    assert audit.age(now - datetime.timedelta(days=29), now) == "of 2026-01-31"
    assert audit.age(now - datetime.timedelta(days=31), now) == "of 2026-01-29, 31 days old: update it"


def test_an_audit_says_what_it_could_not_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(audit.shutil, "which", lambda _: None)
    monkeypatch.setattr(audit, "_run", lambda *_, **__: 1)
    monkeypatch.setattr(audit, "PYPA", tmp_path / "missing")
    assert audit.main() == 2
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("cargo install --locked cargo-deny")
    assert second.startswith("PyPA's database is missing and could not be fetched from https://")


@pytest.mark.parametrize(("clean", "code"), [(True, 0), (False, 1)])
def test_an_audit_finds_what_its_data_have(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    clean: bool,
    code: int,
) -> None:
    version = next(pin.version for pin in pins.read(LISTS["dev"]) if pin.name == "numpy")
    text = ADVISORY.replace("2.4.7", "9" if not clean else "2.4.0")
    monkeypatch.setattr(audit, "PYPA", database(tmp_path, text))
    monkeypatch.setattr(audit, "_run", lambda *_, **__: 1)
    dates: list[Any] = []
    monkeypatch.setattr(audit, "_has_data", lambda *words: not dates.append(words))
    assert audit._python() == code
    said = capsys.readouterr().out
    assert (f"numpy {version}: PYSEC-2026-1" in said) == (not clean)
    assert dates[0][2] is False, "it could not be updated"
