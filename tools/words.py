"""Find words that this project does not use, and comments that are wider than the code.

    python tools/words.py [PATH ...]

Comments, docstrings, strings and the names of functions are checked in Rust and Python, all of the text in
other files. `words.toml` lists the words and what to write instead. A string without a blank is taken for an
identifier. A line that quotes another author may contain the remark `words: quoted`.
"""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

COLUMNS = 110
ROOT = Path(__file__).parents[1]
EXCLUDED = (  # other people's words, and the list itself
    "LICENSE",
    "crates/aqm/LICENSE",
    "crates/sim/LICENSE",
    "docs/results/",
    "tests/unit/test_words.py",
    "tools/words.toml",
)
TEXT = {"", ".css", ".html", ".js", ".md", ".toml"}
PARTS = {
    ".py": r"(?P<comment>\#[^\n]*) | \bdef\ (?P<name>\w+)"
    r"""| (?P<string> '{3}.*?'{3} | "{3}.*?"{3} | '(?:\\.|[^'\\\n])*' | "(?:\\.|[^"\\\n])*")""",
    ".rs": r"(?P<comment>//[^\n]* | /\*.*?\*/) | \bfn\ (?P<name>\w+) | '(?:\\[^']+|[^'\\])'"
    r"""| (?P<string> r(?P<raw>\#*)".*?"(?P=raw) | "(?:\\.|[^"\\])*")""",
}
PARTS[".pyi"] = PARTS[".py"]
# A blank in the list stands for any white space, such as the end of a line.
WORDS = {
    rf"\b(?:{word})\b".replace(" ", r"\s+"): new
    for word, new in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")).items()
}
ANY = re.compile("|".join(WORDS), re.I)


def prose(text: str, suffix: str) -> str:
    """Return `text` with code masked and with the marks of comments blank; each character keeps its place."""
    if suffix not in PARTS:
        return text
    kept = list(re.sub(r"[^\s]", "\0", text))
    for part in re.finditer(PARTS[suffix], text, re.X | re.S):
        kind = part.lastgroup
        if kind is None or (kind == "string" and " " not in part["string"]):
            continue
        words = part[kind]
        if kind == "comment":
            words = re.sub(r"^(//[/!]?|#:?)", lambda mark: " " * len(mark[0]), words)
        elif kind == "name":
            words = words.replace("_", " ")
        kept[part.start(kind) : part.end(kind)] = words
    return "".join(kept)


def problems(text: str, suffix: str) -> list[tuple[int, str]]:
    """Return what is wrong with a file's text: the number of a line and a message each."""
    lines, found = text.split("\n"), []
    readable = prose(text, suffix)
    for match in ANY.finditer(readable):
        number = readable.count("\n", 0, match.start())
        if "words: quoted" not in lines[number]:
            new = next(new for word, new in WORDS.items() if re.fullmatch(word, match[0], re.I))
            found.append((number + 1, f"'{' '.join(match[0].split())}'; write instead: {new}"))
    if suffix in PARTS:
        for number, line in enumerate(lines, 1):
            mark, _, rest = line.strip().partition(" ")
            if mark in ("//", "///", "//!", "#", "#:") and len(line) > COLUMNS and not rest.startswith("|"):
                found.append((number, f"comment is {len(line)} columns wide; allowed: {COLUMNS}"))
    return sorted(found)


def tracked(paths: list[str]) -> list[str]:
    """List the files of the repository below `paths`, or all."""
    command = ["git", "ls-files", "-z", "--full-name", "--cached", "--others", "--exclude-standard", *paths]
    listed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [name for name in listed.split("\0") if name]


def main(paths: list[str]) -> int:
    """Check the files below `paths`, or all; return the exit code."""
    status = 0
    for name in tracked(paths):
        suffix = Path(name).suffix
        if name.startswith(EXCLUDED) or suffix not in TEXT | PARTS.keys() or not (ROOT / name).is_file():
            continue
        for number, message in problems((ROOT / name).read_text(encoding="utf-8"), suffix):
            print(f"{name}:{number}: {message}")
            status = 1
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
