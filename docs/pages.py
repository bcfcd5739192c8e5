"""Generates a page for each algorithm and scheduler, their index, and the page of their costs.

The sources are the registry, the names of the test files and the measurements in ``algorithms/costs.json``.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from markup import NOTE, table

from sojourn import _core
from sojourn.algorithms import costs
from sojourn.cli.explain import readable
from sojourn.plots import style

HERE = Path(__file__).parent
ROOT = HERE.parent
TESTS = ROOT / "crates/aqm/tests"
VECTORS = {"gred": "gentle", "dualpi2": "pi2"}
"""Algorithms whose vector files have another name."""


def pages() -> dict[str, str]:
    """Return every page by its path below ``docs``."""
    measured = json.loads((HERE / "algorithms/costs.json").read_text(encoding="utf-8"))
    everything = costs.subjects()
    made = {f"algorithms/{one['name']}.md": page(one, measured) for one in everything}
    made["algorithms/markers.md"] = markers()
    return {"algorithms/README.md": index(), "algorithms/costs.md": cost_page(measured), **made}


def index() -> str:
    """List algorithms and schedulers."""
    text = NOTE + "# Algorithms and schedulers\n\n"
    text += "Each page is generated from the code: the text is the head of the algorithm's file (see "
    text += "`sojourn explain NAME`), the tables are its schema, the figures are runs.\n\n"
    for title, entries in (("Algorithms", _core.algorithms()), ("Schedulers", _core.schedulers())):
        rows = [[f"[`{one['name']}`]({one['name']}.md)", one["title"], one["source"]] for one in entries]
        text += f"## {title}\n\n" + table(["name", "title", "source"], rows) + "\n"
    text += "At the edge of the network: [markers](markers.md).\n\n"
    return text + (HERE / "parts/algorithms-tail.md").read_text(encoding="utf-8")


def page(one: dict[str, Any], measured: dict[str, Any]) -> str:
    """Write the page of an algorithm or a scheduler."""
    name = one["name"]
    idea, *parts = re.split(r"^# (.+)\n", readable(one["doc"]), flags=re.MULTILINE)
    said = {title: text.strip() for title, text in zip(parts[::2], parts[1::2], strict=True)}
    sections = {
        "Idea": idea.strip() + pictures(name),
        "When it decides": said.pop("When it decides"),
        "Parameters": parameters(one),
        "Differences": said.pop("Differences"),
        "Cost": cost(name, measured),
        "Validation": validation(name),
        "References": said.pop("References"),
        "Example": example(name),
    }
    if said:
        raise ValueError(f"{name}: unknown section {', '.join(said)}")
    text = f"{NOTE}# {style(name).title}: {one['title']}\n\n`{name}`, {one['source']}"
    text += f"; short for `{one['alias_of']}`" if one["alias_of"] else ""
    return text + ".\n" + "".join(f"\n## {title}\n\n{body.strip()}\n" for title, body in sections.items())


def markers() -> str:
    """Write the page of the markers: one text, a table for each."""
    entries = _core.markers()
    text = NOTE + "# Markers\n\n" + readable(entries[0]["doc"]).replace("\n# ", "\n## ").strip() + "\n"
    for one in entries:
        text += f"\n## `{one['name']}`\n\n{one['title']} ({one['source']}).\n\n" + schema(one)
    return text + "\nHow to use them in a scenario: [classes and markers](../scenarios.md).\n"


def pictures(name: str) -> str:
    """Show the figures of an algorithm."""
    shown = {
        f"{name}-function": "Base probability over the average queue, calculated by the code.",
        name: "Response to a step in load: 20 TCP flows, 60 from 50 s on, over 10 Mbit/s "
        "([`step.toml`](step.toml), seed 1).",
    }
    return "".join(
        f"\n\n![{text.split(',')[0].split(':')[0]}](images/{file}.svg)\n\n*{text}*"
        for file, text in shown.items()
        if (HERE / f"algorithms/images/{file}.svg").exists()
    )


def parameters(one: dict[str, Any]) -> str:
    """Lay out the schema."""
    text = schema(one) if one["params"] else "None.\n"
    words = "`limit` (packets or bytes)"
    if _runs_alone(one["name"]):
        words += ", `overflow` (tail, head, random)"
    text += f"\nParameters of the queue itself: {words}.\n"
    if one["probes"]:
        text += "\nTraced state:\n\n"
        rows = [[f"`{p['name']}`", p["unit"], p["doc"]] for p in one["probes"]]
        text += table(["name", "unit", "meaning"], rows)
    return text


def schema(one: dict[str, Any]) -> str:
    """Lay out the parameters as a table."""
    keys = ("default", "allowed", "doc", "source", "ns2", "linux", "tc")
    rows = [[f"`{p['name']}`", *(str(p[key] or "") for key in keys)] for p in one["params"]]
    return table(["parameter", "default", "allowed", "meaning", "source", "ns-2", "Linux", "tc"], rows)


def cost(name: str, measured: dict[str, Any]) -> str:
    """Show the measured cost."""
    head, rows = costs.table(measured)
    for row in rows:
        if row[0] == name:
            shown = [[what, value] for what, value in zip(head[1:], row[1:], strict=True) if value != "-"]
            return (
                table(["at 1,000 flows, unless stated otherwise", ""], shown) + "\nMore: [costs](costs.md).\n"
            )
    return "Not measured yet: `make costs`.\n"


def validation(name: str) -> str:
    """List the tests against its sources."""
    suite = "contract.rs" if _runs_alone(name) else "schedulers.rs"
    lines = [f"- The contract of all algorithms: {_test(suite)}."]
    vectors = sorted(TESTS.glob(f"vectors/{VECTORS.get(name, name)}_v*.csv"))
    if vectors:
        links = ", ".join(f"[{v.stem}](../../crates/aqm/tests/vectors/{v.name})" for v in vectors)
        lines.append(f"- Vectors of an independent reference model: {links}.")
    if (TESTS / f"{name}.rs").exists():
        lines.append(f"- Tests of its rules, calculated by hand: {_test(f'{name}.rs')}.")
    if (TESTS / f"oracle_{name}.rs").exists():
        lines.append(f"- A transcription of its pseudo-code as an oracle: {_test(f'oracle_{name}.rs')}.")
    if f"\n## `{name}.rs`\n" in (TESTS / "mutants.md").read_text(encoding="utf-8"):
        lines.append(f"- Deliberate mistakes, each detected by a test: {_test('mutants.md')}.")
    if any(_holds(s, rf'aqm = "{name}\b') for s in (ROOT / "validation/ns2/scenarios").glob("*.toml")):
        lines.append("- Recorded runs of ns-2: [report](../../validation/REPORT.md).")
    return "\n".join(lines) + "\n"


def _test(file: str) -> str:
    return f"[{file}](../../crates/aqm/tests/{file})"


def _runs_alone(name: str) -> bool:
    return any(one["name"] == name for one in _core.algorithms())


def _holds(file: Path, pattern: str) -> bool:
    return re.search(pattern, file.read_text(encoding="utf-8")) is not None


def example(name: str) -> str:
    """Return an example, which a test executes."""
    if not can_run(name):
        return f"No scenario can use it yet; {_test('schedulers.rs')} does.\n"
    return f"""```python
import sojourn

step = sojourn.load("docs/algorithms/step.toml").with_(duration="55s", warmup="50s")
print(sojourn.run(step, aqms=["{name}"], seeds=1).summary())
```

The same in a shell: `sojourn run docs/algorithms/step.toml --aqm {name}`.
"""


def can_run(name: str) -> bool:
    """Return whether a scenario accepts this queue."""
    try:
        _core.canonical(name)
    except _core.SpecError:
        return False
    return True


TABLE_6 = {
    "red": ("high", "constant", "+ - × ÷, comparison, random"),
    "sred": ("high", "O(M)", "+ × ÷, comparison, random, hashing"),
    "fred": ("high", "O(active flows)", "+ - × ÷, comparison, random"),
    "blue": ("high", "constant", "+ -, comparison, random, timer"),
    "rem": ("low", "constant", "+ - × ÷, exponent, random, timer"),
    "ldc": ("low", "constant", "+ - × ÷, exponent, random, timer"),
}
"""Kwon and Fahmy 2002, Table 6: sampling frequency of the queue, space, operations; space that it
does not state is constant."""


def cost_page(measured: dict[str, Any]) -> str:
    """Return all measured costs, and six of them compared with the published table."""
    head, rows = costs.table(measured)
    text = NOTE + (HERE / "parts/costs-head.md").read_text(encoding="utf-8")
    text += f"\nMeasured on {measured['machine']}, version {measured['core']}; `make costs` repeats it.\n\n"
    links = [[f"[`{row[0]}`]({row[0]}.md)", *row[1:]] for row in rows]
    text += table(head, links) + "\n" + (HERE / "parts/costs-tail.md").read_text(encoding="utf-8") + "\n"
    ours = {row[0]: row for row in rows}
    columns = ("timer every", "state moves per packet", "bytes at 10 flows", "bytes at 100,000")
    picked = [head.index(column) for column in columns]
    last = len(head) - 2
    beside = [
        [f"`{name}`", *said, *(ours[name][i] for i in picked), ours[name][last]]
        for name, said in TABLE_6.items()
    ]
    named = ("algorithm", "sampling (published)", "space (published)", "operations (published)")
    text += table([*named, *columns, f"{head[last - 1].split()[0]} per packet"], beside)
    return text + "\n" + (HERE / "parts/costs-table6.md").read_text(encoding="utf-8")
