"""The code is divided as the architecture page says: each file and each name on it exists, each module of the
simulator depends on those below it only.

``test_docs`` follows the links. Mutants seen to fail: another name of a Rust function, of a Python function,
of a file, and of a function in the figure; a name beside a link to another file; a second file with
``impl Simulation``; methods of ``State``; hosts that call the forwarding of packets; ``packet.rs`` with a
constant of ``path``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
SOURCES = [*ROOT.glob("crates/*/src/**/*.rs"), *ROOT.glob("python/sojourn/**/*.py")]
#: A path of the project in code style; the others are links.
PATH = re.compile(r"(crates|python|tests|docs)/[\w/.]+")
SIMULATOR = ROOT / "crates/sim/src"
IDENTIFIER = re.compile(r"[A-Za-z_]\w*(::[A-Za-z_]\w*)*")
#: Crates, packages and fields of a scenario, which are not defined in a source file.
OTHER = {"WORLD", "no_std", "unsafe", "std", "aqm", "sim", "raqm2005", "_core"}


def names(text: str) -> set[str]:
    """Return the names of functions, types, constants and modules that a source text defines."""
    pattern = r"\b(?:fn|struct|enum|trait|type|static|const|mod|def|class)\s+(\w+)"
    return set(re.findall(pattern, text)) | set(re.findall(r"^(\w+)(?:: [^=\n]+)? = ", text, re.MULTILINE))


def defined() -> set[str]:
    """Return the names of the whole project, including files and directories."""
    found = names("\n".join(source.read_text(encoding="utf-8") for source in SOURCES))
    return found | {source.stem for source in SOURCES} | {source.parent.name for source in SOURCES}


def test_paths_exist() -> None:
    paths = [code for code in re.findall(r"`([^`\n]+)`", PAGE) if PATH.fullmatch(code) and "NAME" not in code]
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_names_are_defined() -> None:
    known = defined() | OTHER
    codes = [code for code in re.findall(r"`([^`\n]+)`", PAGE) if IDENTIFIER.fullmatch(code)]
    assert len(codes) > 40
    assert [code for code in codes if not set(code.split("::")) <= known] == []


def test_a_name_beside_a_link_is_defined_in_that_file() -> None:
    pairs = re.findall(r"\]\(([^)]+\.(?:rs|py))\)\s`(\w+)`", PAGE)
    assert len(pairs) > 20
    wrong = [
        (path, name) for path, name in pairs if name not in names((ROOT / "docs" / path).read_text("utf-8"))
    ]
    assert wrong == []


def test_names_in_the_figure_are_defined() -> None:
    figure = (ROOT / "docs/images/life-of-a-packet.svg").read_text(encoding="utf-8")
    texts = re.findall(r'class="file"[^>]*>([^<]+)<', figure)
    codes = re.findall(r"\b[a-z]+_\w+\b|\w+::\w+", " ".join(texts))
    assert len(codes) > 10
    assert [code for code in codes if not set(code.split("::")) <= defined()] == []


def test_the_package_has_few_modules_of_its_own() -> None:
    """All other modules are in folders, which show their layer."""
    assert len(list((ROOT / "python/sojourn").glob("*.py"))) <= 10


def test_one_file_has_the_methods_of_the_simulation() -> None:
    """Its state has none: functions take the parts that they touch."""
    blocks = {
        name: [
            str(file.relative_to(SIMULATOR))
            for file in SIMULATOR.glob("**/*.rs")
            if re.search(rf"^impl {name}\b", file.read_text(encoding="utf-8"), re.MULTILINE)
        ]
        for name in ("Simulation", "State")
    }
    assert blocks == {"Simulation": ["sim/mod.rs"], "State": []}


def uses(source: str, parent: str) -> set[str]:
    """Return the modules of ``parent`` that a source file, as rustfmt writes it, names outside its tests."""
    code = re.sub(r"//.*", "", source.split("#[cfg(test)]")[0])
    found = set(re.findall(rf"\b{parent}::([a-z_]+)", code))
    for block in re.findall(rf"^use {parent}::\{{(.*?)\}};", code, re.MULTILINE | re.DOTALL):
        while "{" in block:
            block = re.sub(r"\{[^{}]*\}", "", block)
        found |= {part.strip().split("::")[0] for part in block.split(",")}
    return found


def sorted_modules(files: Iterable[Path], parent: str, name: Callable[[Path], str]) -> list[str]:
    """Return modules, each after those that it uses; a cycle is an error that names it."""
    graph: dict[str, set[str]] = {}
    for file in files:
        graph.setdefault(name(file), set()).update(uses(file.read_text(encoding="utf-8"), parent))
    return list(TopologicalSorter({key: graph[key] & set(graph) - {key} for key in graph}).static_order())


def test_modules_of_the_simulator_form_no_cycle() -> None:
    """Nor do the files of its engine, so what hosts do cannot call what moves packets."""
    files = [file for file in SIMULATOR.glob("**/*.rs") if file.stem != "lib" and "tests" not in file.parts]
    modules = sorted_modules(files, "crate", lambda file: file.relative_to(SIMULATOR).parts[0].split(".")[0])
    assert modules.index("packet") < modules.index("queue") < modules.index("path") < modules.index("sim")
    engine = [file for file in SIMULATOR.glob("sim/**/*.rs") if file.stem != "mod"]
    order = sorted_modules(engine, "super", lambda file: file.stem)
    assert order.index("endpoints") < order.index("forwarding") < order.index("dispatch")
