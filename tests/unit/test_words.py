"""The word list is applied to comments, strings and documents, and not to code."""

import importlib.util
from pathlib import Path

import pytest

PATH = Path(__file__).parents[2] / "tools" / "words.py"
SPEC = importlib.util.spec_from_file_location("words", PATH)
words = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(words)

WIDE = "x" * 110


@pytest.mark.parametrize(
    ("suffix", "text", "line"),
    [
        (".rs", "let a = 1;\n/// A packet that nobody waits for.", 2),
        (".rs", "fn f() {} // what\n// is due now", 1),
        (".rs", 'panic!("say \\"what\\", not so many");', 1),
        (".rs", 'let s = r#"a "quoted" clerk"#;', 1),
        (".rs", "let c = '\"'; // once more", 1),
        (".rs", "fn nobody_waits() {}", 1),
        (".rs", "/// A packet is dropped, whatever its size.", 1),
        (".rs", "// now never runs\n// backwards", 1),
        (".rs", f"    // {WIDE}", 1),
        (".py", '"""Head.\n\nWhoever comes first.\n"""', 3),
        (".py", 'print(f"{x} was told")', 1),
        (".py", "x = 1  # so many", 1),
        (".py", '"""Packets that were let in."""', 1),
        (".py", f"# {WIDE}", 1),
        (".md", "First.\nIt tells\nthe queue.", 2),
        (".toml", "a = 1 # nobody", 1),
        (".md", "Lost runs are\nmade\nagain.", 2),
        (".py", "# what is done is kept", 1),
    ],
)
def test_a_denied_word_is_found(suffix: str, text: str, line: int) -> None:
    assert [number for number, _ in words.problems(text, suffix)] == [line]


@pytest.mark.parametrize(
    ("suffix", "text"),
    [
        (".rs", "let lap = told(nobody);"),
        (".rs", 'get("lap"); // a name, not a sentence'),
        (".rs", "let a = 1; // what\nlet b = 2; // is due"),
        (".rs", f"/// | {WIDE} |"),
        (".py", "lap = told['shelf']"),
        (".md", f"{WIDE} someone, so long as it lasts; two-way; expressed"),
        (".py", "x = 1  # told; words: quoted"),
    ],
)
def test_code_and_good_english_pass(suffix: str, text: str) -> None:
    assert words.problems(text, suffix) == []


def test_a_file_with_a_denied_word_fails_the_check(tmp_path: Path, capsys, monkeypatch) -> None:
    (tmp_path / "a.md").write_text("Nobody waits.\n")
    monkeypatch.setattr(words, "ROOT", tmp_path)
    monkeypatch.setattr(words, "tracked", lambda _paths: ["a.md"])
    assert words.main([]) == 1
    assert capsys.readouterr().out.startswith("a.md:1: 'Nobody'; write instead: ")
    (tmp_path / "a.md").write_text("No flow waits.\n")
    assert words.main([]) == 0
