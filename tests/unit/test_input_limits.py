"""Inputs that used to crash, hang or fill the memory or the screen: one line and exit code 2.

Mutants seen to fail: `self` as a keyword is the object; no limit for the digits of a time, for what an error
shows of a line, for any text in an error, or for the size of a file; a FIFO is read, or opened without
O_NONBLOCK (that test does not end).
"""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

import sojourn
from sojourn.files import untrusted
from support import SMALL, Cli

TRACE = SMALL.replace('delay = "5ms"', 'delay = "5ms"\ncapacity = { file = "FILE" }', 1)
BIG = "B" * 1_000_000


@pytest.mark.parametrize("key", ["self", "__where__", "cls", "data", "where", "__class__", "model_config"])
@pytest.mark.parametrize("place", ["scenario", "plan"])
def test_a_key_that_is_a_word_of_python_is_unknown(key: str, place: str, cli: Cli, tmp_path: Path) -> None:
    text = f"{key} = 1\n{SMALL}"
    if place == "plan":
        text = "seeds = 1\n" + text.replace("[queue]", "[scenario.queue]").replace("[dumb", "[scenario.dumb")
        text = text.replace("[[traffic]]", "[[scenario.traffic]]").replace(
            "seeds = 1\n", "seeds = 1\n[scenario]\n"
        )
    (tmp_path / "s.toml").write_text(text)
    done = cli("sweep" if place == "plan" else "run", "s.toml")
    assert done.returncode == 2
    place = "s.toml:3:1" if place == "plan" else "s.toml:1:1"
    assert f"{place}: {key} is not a key here" in done.stderr


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1" * 100_000 + "\n", "line 1: '11111111' is not a time in ms"),
        ("1\n2\n" + "x" * 5000, "line 3: 'xxxxxxxx' is not a time in ms"),
        ("root:*:20228:0:99999:7:::\n", "line 1: 'root:*:2' is not a time in ms"),
        ("\x1b[2J\x1b[2J", r"line 1: '\x1b[2J\x1b[2J' is not"),
        ("9" * 13, "is not a time in ms"),
    ],
)
def test_a_wrong_trace_shows_at_most_a_few_characters(
    content: str, said: str, cli: Cli, tmp_path: Path
) -> None:
    (tmp_path / "s.toml").write_text(TRACE.replace("FILE", "t.trace"))
    (tmp_path / "t.trace").write_text(content)
    done = cli("run", "s.toml", "--seeds", 1)
    assert done.returncode == 2
    assert said in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.parametrize(
    "content", ["0,1e6\n" + '"' + "1" * 200_000, "0,1e6\n" + "1" * 200_000 + ",1", "0,nan", "0,inf"]
)
def test_a_wrong_table_of_rates_is_one_line(content: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(TRACE.replace("FILE", "t.csv"))
    (tmp_path / "t.csv").write_text(content)
    done = cli("run", "s.toml", "--seeds", 1)
    assert done.returncode == 2
    assert "internal error" not in done.stderr
    assert len(done.stderr) < 300


@pytest.mark.parametrize("kind", ["fifo", "/dev/zero", "/dev/urandom", "/dev/tty", ".", "large"])
@pytest.mark.parametrize("role", ["scenario", "plan", "plan's scenario", "trace", "code", "ties", "table"])
def test_only_regular_files_of_bounded_size_are_read(kind: str, role: str, cli: Cli, tmp_path: Path) -> None:
    name = {"trace": "in.trace", "code": "in.py", "table": "in.csv"}.get(role, "in.toml")
    if kind == "fifo":
        os.mkfifo(tmp_path / name)
    elif kind == "large":
        with (tmp_path / name).open("wb") as file:
            file.truncate(untrusted.MOST_TRACE + 1)
    else:
        (tmp_path / name).symlink_to(kind)
    (tmp_path / "s.toml").write_text(TRACE.replace("FILE", name) if role == "trace" else SMALL)
    (tmp_path / "p.toml").write_text(f"scenario = '{name}'\n")
    (tmp_path / "t.csv").write_text("setting,drops\na,1\nb,2\n")
    words: dict[str, tuple[object, ...]] = {
        "scenario": ("run", name),
        "plan": ("sweep", name),
        "plan's scenario": ("sweep", "p.toml"),
        "trace": ("run", "s.toml"),
        "code": ("run", "s.toml", "--aqm", f"{name}:X"),
        "ties": ("tune", "t.csv", "--metric", "drops:lower", "--ties", name),
        "table": ("tune", name, "--metric", "drops:lower"),
    }
    done = cli(*words[role])
    assert done.returncode == 2, done.stderr
    expected = ("is not a regular file", "is too large", "directory", "no such device")
    assert any(one in done.stderr for one in expected), done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_dash_is_standard_input(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for words in (("run", "-"), ("sweep", "-", "-L", "queue.limit", "20p,30p")):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SMALL.encode())))
        done = cli(*words, "--seeds", 1)
        assert done.returncode == 0, done.stderr
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"#" * (untrusted.MOST_SCENARIO + 1))))
    done = cli("run", "-")
    assert done.returncode == 2
    assert "- is too large; allowed: at most 4 MB" in done.stderr


LONG = {
    "an algorithm": SMALL.replace("red min_th 5 max_th 15", BIG),
    "a parameter": SMALL.replace("min_th", BIG),
    "a key": f"{BIG} = 1\n{SMALL}",
    "a name": SMALL.replace('"small"', f'"{BIG}"'),
    "a quantity": SMALL.replace('"2Mbit/s"', f'"{BIG}"'),
    "a variant": SMALL.replace('kind = "tcp"', f'kind = "tcp"\nvariant = "{BIG}"'),
    "a kind": SMALL.replace('"tcp"', f'"{BIG}"', 1),
    "an option": SMALL.replace('kind = "tcp"', f'kind = "tcp"\ntcp = {{ {BIG} = 1 }}'),
    "a trace": TRACE.replace("FILE", BIG),
    "a preset": SMALL.replace('"rfc"', f'"{BIG}"'),
    "a measured queue": f'{SMALL}\n[measure]\nqueue = "{BIG}"\n',
    "not TOML": f"x = {BIG}\n",
    "code": SMALL.replace("red min_th 5 max_th 15", f"{BIG[:5000]}.py:X"),
}


@pytest.mark.parametrize("case", LONG)
def test_a_megabyte_is_not_echoed(case: str, tmp_path: Path, cli: Cli) -> None:
    (tmp_path / "s.toml").write_text(LONG[case])
    done = cli("run", "s.toml")
    assert done.returncode == 2
    assert len(done.stderr) < 4000
    assert "internal error" not in done.stderr


def test_a_megabyte_of_a_word_is_not_echoed_on_the_command_line(cli: Cli, small_file: Path) -> None:
    for words in (("--aqm", BIG), ("--aqm", f"red {BIG} 1"), ("--world", BIG)):
        done = cli("run", small_file, *words)
        assert done.returncode == 2
        assert len(done.stderr) < 4000


def test_a_hole_of_python_is_an_input_error() -> None:
    with pytest.raises(sojourn.InputError, match="self is not a key here"):
        sojourn.Scenario(**{"self": 1})
