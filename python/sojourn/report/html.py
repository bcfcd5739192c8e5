"""From a document to one HTML file, which needs no network and is complete without its script."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup

from sojourn import files
from sojourn.explore.page import script_hash
from sojourn.format import MISSING
from sojourn.plots.theme import mirrored
from sojourn.report import markup
from sojourn.report.cells import Grid, grid
from sojourn.report.claims import Claim, Tally, claims, tally
from sojourn.report.document import (
    Block,
    Code,
    Columns,
    Document,
    Fact,
    Facts,
    Figure,
    Lab,
    Note,
    Section,
    Table,
    Text,
    Verdicts,
)
from sojourn.report.live import compressed, embedded

#: Bytes of a page with a live page inside.
MOST = 2_000_000
_NO_LAB = (
    f"The live page is left out, because the report would be larger than {MOST / 1e6:g} MB; "
    "`sojourn explore scenario.toml` opens it."
)


def render(document: Document) -> str:
    """Return a document as HTML.

    Parameters
    ----------
    document
        The document.

    Returns
    -------
    str
        One page with its styles, figures and a short script; a content security policy forbids everything
        else. Equal documents give equal bytes. A page that would exceed `MOST` bytes has no live page.

    Raises
    ------
    ValueError
        If a figure has no caption, a column does not exist, or a verdict is unknown.
    """
    page = _page(document, has_lab=True)
    return page if len(page.encode()) <= MOST else _page(document, has_lab=False)


def _page(document: Document, has_lab: bool) -> str:
    builder = _Builder(has_lab)
    body = [builder.item(block, level=2) for block in document.blocks]
    script = _template("report.js")
    page = _environment().from_string(_template("report.html"))
    return page.render(
        document=document,
        summary=markup.blocks(document.summary) if document.summary else "",
        items=body,
        contents=builder.contents,
        tally=tally(builder.verdicts) if builder.verdicts else [],
        total=len(builder.verdicts),
        style=Markup(_template("report.css") + _template("uplot.css")),
        colours=Markup(_dark(builder.colours)),
        script=Markup(script),
        script_hash=script_hash(script),
        lab_hash=builder.lab_hash,
    )


def write(document: Document, path: Path) -> Path:
    """Write a document as HTML; the file is replaced atomically.

    Parameters
    ----------
    document
        The document.
    path
        The file; replaced if it exists.

    Returns
    -------
    pathlib.Path
        `path`.
    """
    files.write(path, render(document))
    return path


@dataclass(slots=True)
class _Item:
    """A block in the form that the template reads."""

    kind: str
    level: int = 2
    number: int = 0
    anchor: str = ""
    title: str = ""
    html: Markup = field(default_factory=Markup)
    source: Markup = field(default_factory=Markup)
    text: str = ""
    html_svg: Markup = field(default_factory=Markup)
    data: Markup = field(default_factory=Markup)
    tone: str = ""
    facts: list[tuple[str, list[str]]] = field(default_factory=list)
    grid: Grid | None = None
    claims: list[Claim] = field(default_factory=list)
    tally: list[Tally] = field(default_factory=list)
    items: list[_Item] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Entry:
    anchor: str
    title: str
    level: int


class _Builder:
    """Converts blocks to items: numbers figures and tables, makes anchors, collects contents and verdicts."""

    def __init__(self, has_lab: bool) -> None:
        self.has_lab = has_lab
        self.contents: list[_Entry] = []
        self.verdicts: list[str] = []
        self.colours: set[str] = set()
        self.lab_hash = ""
        self._counts: dict[str, int] = {}
        self._anchors: set[str] = {"top", "main"}

    def item(self, block: Block, level: int) -> _Item:
        match block:
            case Section():
                return self._section(block, level)
            case Text():
                return _Item("text", html=markup.blocks(block.text))
            case Note():
                return _Item("note", html=markup.blocks(block.text), tone=block.kind)
            case Facts():
                return _Item(
                    "facts", title=block.title, facts=[(k, _fact(v)) for k, v in block.items.items()]
                )
            case Code():
                return _Item("code", title=block.title, text=block.text.strip("\n"))
            case Lab() if not self.has_lab:
                return _Item("text", html=markup.blocks(_NO_LAB))
            case Lab():
                self.lab_hash = block.script_hash
                return _Item("lab", data=Markup(compressed(block.page)))
            case Columns():
                tone = "unequal" if block.unequal else ""
                return _Item("columns", tone=tone, items=[self.item(b, level) for b in block.blocks])
            case Table():
                return self._table(block)
            case Figure():
                return self._figure(block)
            case Verdicts():
                return self._verdicts(block)

    def _section(self, block: Section, level: int) -> _Item:
        item = _Item("section", level=level, title=block.title, anchor=self._anchor(block.title))
        self.contents.append(_Entry(item.anchor, block.title, level))
        item.html = markup.blocks(block.lead) if block.lead else Markup()
        item.items = [self.item(b, min(level + 1, 4)) for b in block.blocks]
        return item

    def _table(self, block: Table) -> _Item:
        named: list[str] = [*(block.columns or {}), block.row_unit]
        named += [c.half_width for c in (block.columns or {}).values()]
        for name in filter(None, named):
            if name not in block.frame.columns:
                raise ValueError(f"table has no column {name!r}: {', '.join(block.frame.columns)}")
        number = self._next("table")
        cells = grid(block)
        self.colours.update(cell.colour for row in cells.rows for cell in row if cell.colour)
        return _Item(
            "table",
            number=number,
            anchor=f"table-{number}",
            html=markup.inline(_before_source(block)),
            source=markup.inline(block.source),
            grid=cells,
            text=block.caption,
        )

    def _figure(self, block: Figure) -> _Item:
        if not block.caption.strip():
            raise ValueError("a figure needs a caption")
        number = self._next("figure")
        pictures = [block.svg, *block.more]
        svg = Markup("\n").join(
            _svg(one, f"{number}-{i}" if i else f"{number}", block.live is None)
            for i, one in enumerate(pictures)
        )
        self.colours.update(_COLOUR_VARIABLE.findall(svg))
        return _Item(
            "figure",
            number=number,
            anchor=f"figure-{number}",
            html=markup.inline(_before_source(block)),
            source=markup.inline(block.source),
            html_svg=svg,
            data=Markup(compressed(dict(block.live))) if block.live is not None else Markup(),
        )

    def _verdicts(self, block: Verdicts) -> _Item:
        found = claims(block.frame)
        own = [claim.verdict for claim in found]
        self.verdicts += own
        number = self._next("table")
        return _Item(
            "verdicts",
            number=number,
            anchor=f"table-{number}",
            html=markup.inline(block.caption),
            claims=found,
            tally=tally(own),
            text=block.caption,
        )

    def _next(self, kind: str) -> int:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        return self._counts[kind]

    def _anchor(self, title: str) -> str:
        plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode().lower()
        slug = re.sub(r"[^a-z0-9]+", "-", plain).strip("-") or "section"
        anchor, copy = slug, 2
        while anchor in self._anchors:
            anchor, copy = f"{slug}-{copy}", copy + 1
        self._anchors.add(anchor)
        return anchor


def _before_source(block: Table | Figure) -> str:
    """Return the caption, with a full stop if a source follows."""
    stop = "." if block.source and block.caption[-1:].isalnum() else ""
    return block.caption + stop


def _fact(value: Fact) -> list[str]:
    if value is None or value == "":
        return [MISSING]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [str(v) for v in value] or [MISSING]
    return [f"{value:g}" if isinstance(value, float) else str(value)]


@cache
def _template(name: str) -> str:
    return (resources.files("sojourn.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment() -> Environment:
    class Loader(BaseLoader):
        pass

    environment = Environment(
        loader=Loader(), autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters["slug"] = lambda verdict: str(verdict).replace(" ", "-")
    environment.tests["spaced"] = lambda text: " " in str(text)
    environment.filters["markup"] = markup.inline
    environment.filters["paragraphs"] = markup.blocks
    environment.filters["variable"] = _variable
    globals_: Mapping[str, object] = {"percent": lambda share: f"{100 * share:.4g}%"}
    environment.globals.update(globals_)
    return environment


_STYLE = re.compile(r'\bstyle="[^"]*"')
_COLOUR = re.compile(r"#[0-9a-f]{6}\b")
_COLOUR_VARIABLE = re.compile(r"var\(--c[0-9a-f]{6}, (#[0-9a-f]{6})\)")


def _variable(colour: str) -> str:
    """Return a colour that the style sheet of dark pages replaces."""
    return f"var(--c{colour[1:]}, {colour})"


def _dark(colours: Iterable[str]) -> str:
    """Return the style sheet of the colours on dark pages."""
    rules = "".join(f"--c{one[1:]}:{mirrored(one)};" for one in sorted(colours))
    return f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {rules} }} }}" if rules else ""


_TAG = re.compile(r"<[^>]*>")
_ACTS = re.compile(r"<script|<foreignobject|\son\w+\s*=|(?:href|src)\s*=\s*[\"'](?!#)|url\((?!#)")
_IDS = re.compile(r'(\bid="|\bhref="#|url\(#)')


def _svg(drawn: str, number: str, is_explored: bool) -> Markup:
    """Return a figure for the page; it must be one svg element without scripts and external references.

    The script reads values off it if `is_explored` and the figure has frames. Its ids get the figure's
    number, so that a figure can occur twice. All figures of a page have the same scale; a narrow window
    scrolls instead of shrinking the text.
    """
    text = drawn.strip()
    if not (text.startswith("<svg") and text.endswith("</svg>")):
        raise ValueError("a figure must be one <svg> element")
    if _ACTS.search(" ".join(_TAG.findall(text)).lower()):
        raise ValueError("a figure must not run or fetch anything")
    text = _TAG.sub(lambda tag: _IDS.sub(rf"\g<1>fig{number}-", tag[0]), text)
    text = _STYLE.sub(lambda style: _COLOUR.sub(lambda found: _variable(found[0]), style[0]), text)
    width = re.match(r'<svg[^>]* viewBox="[-\d.]+ [-\d.]+ ([\d.]+)', text)
    if width:
        points = float(width[1])
        size = f"max-width: {points * 1.9:.0f}px; min-width: {min(points * 1.05, 560):.0f}px"
        text = text.replace("<svg ", f'<svg style="{size}" ', 1)
    frames = getattr(drawn, "frames", None)
    if is_explored and frames and any(frames):
        text = text.replace("<svg ", f"<svg data-frames='{embedded(frames)}' ", 1)
    return Markup(text)
