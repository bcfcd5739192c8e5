"""No control character of a file reaches the terminal, and one function executes a user's code.

Mutants seen to fail: `escape` that lets ESC, C1 or bidirectional overrides through; a cell, a heading or the
title of a table, an error, or a text in Markdown, not escaped; a `print`, an `exec` and an import by name
elsewhere.
"""

from __future__ import annotations

import ast
import io
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from sojourn.cli.table import print_table
from sojourn.terminal import escape
from support import ROOT, SMALL, Cli

PACKAGE = ROOT / "python/sojourn"
#: A title, clearing the screen, C1's CSI, a bidirectional override, a line separator, half a surrogate pair.
EVIL = "\x1b]0;PWN\x07\x1b[2J\x9b31m\u202ePWN\u2028\x7f\x08"
TOML = json.dumps(EVIL).replace("\x7f", "\\u007f")


def is_safe(text: str) -> bool:
    unsafe = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return not any(unicodedata.category(c) in unsafe and c not in "\n\t\u00ad" for c in text)


def test_every_control_character_is_escaped() -> None:
    for point in range(0x110000):
        c = chr(point)
        if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") or unicodedata.bidirectional(c) in (
            "LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI",
        ):  # fmt: skip
            assert escape(c) == (c if c in "\n\t" else f"\\u{point:04x}")
    assert escape("mean ± 95 %, Größe, 待ち行列") == "mean ± 95 %, Größe, 待ち行列"
    assert json.loads(escape(json.dumps(EVIL, ensure_ascii=False))) == EVIL


FILES = {
    "an unknown key": f"{TOML} = 1\n" + SMALL,
    "a key in a table": SMALL.replace("[queue]", f"[queue]\n{TOML} = 1"),
    "a spec": SMALL.replace('"red min_th 5 max_th 15"', TOML),
    "a word of a spec": SMALL.replace("max_th", f"{TOML[1:-1]}"),
    "a name": SMALL.replace('"small"', TOML),
    "a variant": SMALL.replace('kind = "tcp"', f'kind = "tcp"\nvariant = {TOML}'),
    "a kind": SMALL.replace('"tcp"', TOML, 1),
    "a unit": SMALL.replace('"2Mbit/s"', TOML),
    "a trace": SMALL.replace('delay = "5ms"', f'delay = "5ms"\ncapacity = {{ file = {TOML} }}', 1),
    "code": SMALL.replace('"red min_th 5 max_th 15"', TOML[:-1] + '.py:X"'),
    "not TOML": f"x = {EVIL}",
    "a plan's key": f"{TOML} = 1\nvary = {{}}\nscenario = 's.toml'\n",
    "a plan's file": f"scenario = {TOML}\n",
    "a plan's spec": f"aqms = [{TOML}]\nscenario = 's.toml'\n",
    "a plan's axis": f"vary = {{ {TOML} = ['1', '2'] }}\nscenario = 's.toml'\n",
}


@pytest.mark.parametrize("case", FILES)
@pytest.mark.parametrize("command", ["run", "sweep"])
def test_an_error_shows_no_control_characters(case: str, command: str, cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SMALL)
    (tmp_path / "evil.toml").write_text(FILES[case])
    done = cli(command, "evil.toml")
    assert done.returncode == 2, done.stderr
    assert "internal error" not in done.stderr
    assert is_safe(done.stdout + done.stderr)
    assert all(line.startswith("sojourn: ") for line in done.stderr.splitlines())


def test_results_show_no_control_characters(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SMALL + "[trace]\ninterval = '1s'\n")
    (tmp_path / "noted.toml").write_text(f"note = {TOML}\nsource = {TOML}\n" + SMALL)
    assert cli("run", "noted.toml", "--seeds", 1, "--out", "out").returncode == 0
    path = tmp_path / "out/manifest.json"
    facts = json.loads(path.read_text())
    path.write_text(json.dumps({**facts, "warnings": [EVIL], "command": EVIL, "status": "running"}))
    done = cli("report", "out")
    assert done.returncode == 2
    assert is_safe(done.stdout + done.stderr)
    assert (
        cli("sweep", "s.toml", "-L", "queue.limit", "20p,30p", "--seeds", 1, "--out", "swept").returncode == 0
    )
    run_id = pl.read_parquet(tmp_path / "swept/runs.parquet")["run_id"][0]
    for path in (tmp_path / "swept/runs").iterdir():
        path.unlink()
    failed = {"run_id": run_id, "aqm": EVIL, "seed": 1, "reason": EVIL, "repeat": EVIL}
    (tmp_path / "swept/failures.jsonl").write_text(json.dumps(failed) + '\n{"run_id": "x')
    facts = json.loads((tmp_path / "swept/manifest.json").read_text())
    (tmp_path / "swept/manifest.json").write_text(json.dumps({**facts, "command": EVIL}))
    for words in (("sweep", "status", "swept"), ("sweep", "status", "swept", "--json")):
        done = cli(*words)
        assert done.returncode == 0, done.stderr
        assert "PWN" in done.stdout
        assert is_safe(done.stdout + done.stderr)


@pytest.mark.parametrize("texts", [(EVIL, "head", "cell"), ("title", EVIL, "cell"), ("title", "head", EVIL)])
def test_a_table_shows_no_control_characters(texts: tuple[str, str, str]) -> None:
    title, head, cell = texts
    file = io.StringIO()
    print_table(title, [head], [[cell]], file=file)
    assert "PWN" in file.getvalue()
    assert is_safe(file.getvalue())


def test_explain_escapes_control_characters_of_an_own_algorithm(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import sojourn\n\n\nclass Mine(sojourn.Aqm):\n"
        f"    __doc__ = {EVIL!r}\n    title = {EVIL!r}\n"
        f"    x = sojourn.Param(1, doc={EVIL!r}, source={EVIL!r})\n"
        "    def on_idle(self, now): pass\n"
    )
    done = cli("explain", "mine.py:Mine")
    assert done.returncode == 0, done.stderr
    assert is_safe(done.stdout + done.stderr)


def calls(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and name of every function that is called, imported or named."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node.lineno, ast.unparse(node.func)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            module = getattr(node, "module", None)
            for one in node.names:
                yield node.lineno, ".".join(filter(None, (module, one.name)))


#: What may call or import a function of this name: no other file.
ONLY = {
    # The protocol of an agent is lines on a pipe to its parent.
    "print": {"terminal.py", "worlds/hosts/agent.py"},
    "sys.stdout.write": set(),
    "sys.stderr.write": {"terminal.py"},
    "sys.stdout.buffer.write": set(),
    "sys.__stdout__.write": set(),
    "traceback.print_exc": set(),
    "typer.echo": set(),
    "rich.console.Console": {"terminal.py"},
    "rich.print": set(),
    "exec": {"algorithms/execution.py"},
    "compile": {"algorithms/execution.py"},
    "eval": set(),
    "__import__": set(),
    "runpy.run_path": set(),
    "runpy": set(),
    "code": set(),
    "imp": set(),
    "importlib.util": set(),
    "importlib.machinery": set(),
    "importlib.reload": set(),
    # Only `dumps`, to compare states.
    "pickle": {"algorithms/shared_state.py"},
    "shelve": set(),
    "marshal": set(),
    # Modules of the package, by names that the package holds.
    "importlib.import_module": {"__init__.py", "cli/__init__.py", "worlds/__init__.py", "papers/__init__.py"},
}


def test_only_one_place_prints_and_one_executes() -> None:
    found: dict[str, set[str]] = {name: set() for name in ONLY}
    for path in sorted(PACKAGE.rglob("*.py")):
        for _, name in calls(ast.parse(path.read_text(encoding="utf-8"))):
            if name in found:
                found[name].add(path.relative_to(PACKAGE).as_posix())
    assert found == ONLY
