"""Every warning has a code that `sojourn explain` knows, and every code is in use.

Mutants seen to fail: a warning without `coded`; a code without an explanation; a code that is not in use; a
warning that is logged, or printed, without a code.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import sojourn
from sojourn.metrics.diagnostics import diagnose
from sojourn.spec.scenario import Scenario
from sojourn.study.axes import Axis
from sojourn.study.sweep.directory import reopen
from sojourn.study.sweep.model import Sweep
from sojourn.study.sweep.run import sweep
from sojourn.warning_codes import KINDS, code_of, coded, extended
from support import ROOT, SMALL, Cli

SOURCES = sorted((ROOT / "python/sojourn").rglob("*.py"))


def calls(name: str) -> Iterator[tuple[Path, ast.Call]]:
    """Yield the calls of a function, or of a method, in the package."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) in (name, f"LOG.{name}"):
                yield path, node


def test_codes_in_use_are_those_that_are_explained() -> None:
    used = {ast.literal_eval(call.args[0]) for _, call in calls("coded")}
    assert used == set(KINDS)
    assert list(KINDS) == [f"W{number:02}" for number in range(1, len(KINDS) + 1)]


def test_a_warning_is_printed_by_one_function_and_logged_with_its_code() -> None:
    for path, call in calls("warning"):
        assert re.fullmatch(r"LOG\.warning\('%s', coded\(.*\)\)", ast.unparse(call)), path
    printed = {
        (path.name, text)
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.JoinedStr) and (text := ast.unparse(node))[2:].startswith("sojourn: warning:")
    }
    assert {name for name, _ in printed} == {"common.py", "messages.py", "peer.py", "shell_progress.py"}
    assert all("coded(" in text for name, text in printed if name in ("peer.py", "shell_progress.py"))


@pytest.mark.parametrize("code", KINDS)
def test_a_code_is_explained_with_cause_and_cure(code: str, cli: Cli) -> None:
    done = cli("explain", code, "--json")
    assert json.loads(done.stdout) == KINDS[code]._asdict()
    assert all(KINDS[code])
    assert all(part.endswith(".") for part in KINDS[code][2:])
    assert f"| `{code}` | {KINDS[code].title} |" in (ROOT / "docs/reference/warnings.md").read_text()


def test_all_warnings_are_listed(cli: Cli) -> None:
    assert [one["code"] for one in json.loads(cli("explain", "warnings", "--json").stdout)] == list(KINDS)
    assert "did you mean W09?" in cli("explain", "W99").stderr


def test_a_warning_is_extended_before_its_code() -> None:
    assert code_of(extended(coded("W03", "a"), " b")) == "W03"
    assert extended("a", " b") == "a b"
    assert code_of("stored without a code") is None


UNUSED = [
    ('access = { delays = ["5ms", "20ms", "30ms"] }', 2, "access.delays has 3 entries, of which the first 2"),
    ('access = { delays = ["5ms", "20ms", "30ms"], nodes = 2 }', 9, "of which the first 2 are used"),
    ('access = { delays = ["5ms", "20ms", "30ms"] }', 3, None),
    (
        'server = { delays = ["5ms", "20ms"] }',
        3,
        "server.delays has 2 entries, of which the first 1",
    ),
    ('server = { delays = ["5ms", "20ms"], nodes = 2 }', 3, None),
]


@pytest.mark.parametrize(("links", "count", "words"), UNUSED)
def test_delays_of_no_host_are_reported(links: str, count: int, words: str | None) -> None:
    """Mutants seen to fail: the first entries not counted; the hosts of `nodes` ignored."""
    key = links.partition(" ")[0]
    text = re.sub(rf"(?m)^{key} = .*$", links, SMALL).replace("count = 6", f"count = {count}")
    text = text.partition('[[traffic]]\nname = "cbr"')[0]
    record = sojourn.run(Scenario.from_toml(text, "small.toml"), ["droptail"], seeds=1).records[0]
    found = [one for one in diagnose(record) if "delays" in one]
    assert [code_of(one) for one in found] == ([] if words is None else ["W09"])
    assert words is None or words in found[0]


@pytest.mark.parametrize(
    ("variant", "aqm", "expected"),
    [
        ("prague", "codel", ["ftp (prague) respond"]),
        ("dctcp", "droptail", ["ftp (dctcp) respond"]),
        ("prague", "codel ecn", []),
        ("cubic", "codel", []),
    ],
)
def test_senders_that_need_marks_are_reported_at_a_queue_that_drops(
    variant: str, aqm: str, expected: list[str]
) -> None:
    """Mutants seen to fail: marks are not looked at; any sender is reported."""
    text = SMALL.replace("count = 6", f'count = 6\nvariant = "{variant}"')
    record = sojourn.run(Scenario.from_toml(text, "small.toml"), [aqm], seeds=1).records[0]
    found = [one for one in diagnose(record) if code_of(one) == "W34"]
    assert len(found) == len(expected)
    for one, words in zip(found, expected, strict=True):
        assert words in one


def test_delays_of_the_links_of_a_traffic_are_checked(small: Scenario) -> None:
    """Transfers that come and go have one host for each entry."""
    ftp = small.traffic[0].model_dump(by_alias=True, exclude_none=True)
    own = {**ftp, "count": 1, "access": {"delays": ["1ms", "2ms"]}}
    short = {
        "name": "short",
        "kind": "tcp-short",
        "arrivals": "3/s",
        "size": "5kB",
        "access": {"delays": ["1ms", "2ms"]},
    }
    record = sojourn.run(small.with_(traffic=[own, short]), ["droptail"], seeds=1).records[0]
    (found,) = [one for one in diagnose(record) if "delays" in one]
    assert found.startswith("traffic.ftp.access.delays has 2 entries, of which the first 1 are used")


def test_a_sweep_has_the_warnings_of_its_runs(small: Scenario, tmp_path: Path, cli: Cli) -> None:
    """Mutants seen to fail: only those of a fresh sweep; none of an unfinished one."""
    plan = Sweep(small, ["red min_th 500p max_th 1000p"], [Axis("queue.limit", ("20p", "30p"))], seeds=2)
    expected = (
        "queue.limit 20p, red min_th 500p max_th 1000p: red never acted: it dropped and marked nothing "
        "(except by overflow) (such a warning in 4 of 4 runs) (sojourn explain W03)"
    )
    swept = sweep(plan, out=tmp_path / "out")
    assert expected in swept.warnings
    assert sweep(plan, out=tmp_path / "out").warnings == swept.warnings
    assert reopen(tmp_path / "out").warnings == swept.warnings
    manifest = tmp_path / "out/manifest.json"
    facts = json.loads(manifest.read_text())
    assert facts.pop("warnings") == swept.warnings
    manifest.write_text(json.dumps(facts))  # as of a sweep that is not finished
    assert reopen(tmp_path / "out").warnings == swept.warnings
    assert cli("report", "out").returncode == 0
    assert "such a warning in 4 of 4 runs" in (tmp_path / "out/report.html").read_text()
