"""The page: complete, offline, escaped, numbered, reproducible.

Seen to fail on these mutants: autoescape off; `markup` that does not escape; a web font in the style sheet;
a closing tag missing in the template; figures whose ids are not numbered; `write` straight to the file.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sojourn import plots, report
from sojourn.report import (
    Code,
    Column,
    Columns,
    Document,
    Facts,
    Figure,
    Note,
    Section,
    Table,
    Text,
    Verdicts,
    live,
)

EVIL = "<script>alert('x')</script>"


@pytest.fixture
def svg() -> str:
    return plots.curve([0, 1, 2], [0, 1, 4], x_label="x", y_label="y", title="A curve")


@pytest.fixture
def document(svg: str, verdict_frame: pl.DataFrame) -> Document:
    frame = pl.DataFrame(
        {
            "aqm": ["pi", "raqm"],
            "mean_delay_s": [0.02078, 0.01972],
            "mean_delay_s_ci95": [0.00017, None],
            "seed": [12345678, 2],
            "p": [0.0004, None],
        }
    )
    columns = {
        "aqm": Column(kind="spec"),
        "mean_delay_s": Column("delay", "s", "mean_delay_s_ci95"),
        "p": Column("p", kind="probability"),
        "seed": Column("seed"),
    }
    return Document(
        title="A paper",
        subtitle="Its authors",
        command="sojourn reproduce paper --quick",
        blocks=[
            Section("Verdicts", [Verdicts(verdict_frame)], lead="As *judged*."),
            Section(
                "Figures",
                [
                    Section("One", [Figure(svg, "A curve.", "the paper, `Fig. 1`")]),
                    Section("Two", [Columns([Figure(svg, "Again."), Text("- a\n- b")])]),
                ],
            ),
            Section(
                "Tables",
                [Table(frame, "Delays.", columns)],
            ),
            Section(
                "Odds",
                [Note("Mind **this**.", "warning"), Facts({"seeds": ["1", "2"], "-": None}), Code("a < b")],
            ),
        ],
    )  # fmt: skip


class Page(HTMLParser):
    """Collect the parts on which a browser would act."""

    VOID = frozenset({"meta", "link", "input", "br", "hr", "img", "path", "use"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        if tag not in self.VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] not in {"script", "style"}:
            self.words.append(data)

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words).replace("\u202f", " ").replace("\u00a0", " "))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def test_every_tag_is_closed(document: Document) -> None:
    page = Page(report.render(document))
    assert page.open == []


def test_nothing_is_fetched(document: Document) -> None:
    page = report.render(document)
    found = set(re.findall(r"https?://[^\"'\s<)]*", page))
    assert found <= {"http://www.w3.org/2000/svg"}
    for tag, attributes in Page(page).tags:
        assert tag not in {"img", "iframe", "object", "embed", "audio", "video", "source", "base"}
        assert "src" not in attributes
        if tag == "link":
            assert attributes["href"] == "data:,"
        if tag == "use":
            assert (attributes["href"] or "").startswith("#")
    assert "@import" not in page
    assert "url(" not in page.replace("url(#", "")
    policy = Page(page).all("meta")[1]["content"] or ""
    assert policy.startswith("default-src 'none'")


def test_links_are_kept_but_only_as_links() -> None:
    page = report.render(
        Document("t", blocks=[Text("[a](https://doi.org/10.1/x_(y)) [b](javascript:alert(1))")])
    )
    assert [a["href"] for a in Page(page).all("a") if "doi" in (a["href"] or "")] == [
        "https://doi.org/10.1/x_(y)"
    ]
    assert 'href="javascript' not in page


def test_everything_is_escaped(svg: str) -> None:
    frame = pl.DataFrame({"aqm": [f"mine.py:{EVIL}"], EVIL: [EVIL], "n": [1.5]})
    claims = pl.DataFrame(
        {
            "claim_id": [EVIL], "verdict": ["undecided"], "statement": [EVIL], "section": [EVIL],
            "world": [EVIL],
            "check": [EVIL], "published": [EVIL], "assumptions": [EVIL], "reason": [f"`{EVIL}` **{EVIL}**"],
            "measure": [EVIL], "effect": [EVIL], "sensitivity": [[{"reading": EVIL, "verdict": "undecided"}]],
        }
    )  # fmt: skip
    page = report.render(
        Document(
            EVIL,
            EVIL,
            EVIL,
            [
                Section(
                    EVIL, [Text(f"{EVIL} [{EVIL}](https://a/{EVIL})"), Note(EVIL), Code(EVIL, EVIL)], EVIL
                ),
                Facts({EVIL: EVIL, "list": [EVIL]}, EVIL),
                Table(frame, EVIL, source=EVIL),
                Figure(svg, EVIL, EVIL, live.curves([0, 1], EVIL, [], [])),
                Verdicts(claims, EVIL),
            ],
            EVIL,
            EVIL,
            [(EVIL, EVIL)],
            EVIL,
            EVIL,
        )
    )
    assert [one.get("type") for one in Page(page).all("script")] == ["application/gzip", None]
    assert EVIL not in page
    assert Page(page).text.count(EVIL) > 20


@pytest.mark.parametrize(
    "evil",
    [
        "<p>no figure</p>",
        "<svg><script>alert(1)</script></svg>",
        '<svg onload="alert(1)"></svg>',
        '<svg><image href="http://a/b.png"/></svg>',
        '<svg><use xlink:href="other.svg#a"/></svg>',
        '<svg><rect style="fill: url(http://a)"/></svg>',
        "<svg><foreignObject></foreignObject></svg>",
    ],
)
def test_a_figure_with_active_content_is_refused(evil: str) -> None:
    with pytest.raises(ValueError, match="a figure must"):
        report.render(Document("t", blocks=[Figure(evil, "caption")]))


def test_a_figure_without_caption_is_refused(svg: str) -> None:
    with pytest.raises(ValueError, match="caption"):
        report.render(Document("t", blocks=[Figure(svg, " ")]))


def test_an_unknown_verdict_is_refused() -> None:
    frame = pl.DataFrame({"claim_id": ["X-1"], "verdict": ["confirmed"]})
    with pytest.raises(ValueError, match=r"X-1: verdict is 'confirmed'"):
        report.render(Document("t", blocks=[Verdicts(frame)]))


def test_a_missing_column_is_refused() -> None:
    table = Table(pl.DataFrame({"a": [1]}), columns={"b": Column()})
    with pytest.raises(ValueError, match="no column 'b'"):
        report.render(Document("t", blocks=[table]))


def test_figures_and_tables_are_numbered_and_captioned(document: Document) -> None:
    page = Page(report.render(document))
    text = page.text
    for label in (
        "Figure 1. A curve. Source: the paper, Fig. 1",
        "Figure 2. Again.",
        "Table 1.",
        "Table 2. Delays.",
    ):
        assert label in text
    bare = Document("t", blocks=[Table(pl.DataFrame({"a": [1]}), "Bare", source="a run")])
    assert "Bare. Source: a run" in Page(report.render(bare)).text
    assert len([a for a in page.all("figure") if "plot" in (a["class"] or "")]) == len(
        [a for a in page.all("svg") if a.get("role") == "img"]
    )
    assert len(page.all("figcaption")) == len(page.all("figure"))


def test_contents_link_to_existing_anchors(document: Document) -> None:
    page = Page(report.render(document))
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    links = [a["href"] for a in page.all("a") if (a["href"] or "").startswith("#")]
    assert len(links) >= 6
    assert {link[1:] for link in links if link} <= set(ids)


def test_sections_of_the_same_name_have_distinct_anchors() -> None:
    page = report.render(
        Document("t", blocks=[Section("Same"), Section("Same"), Section("Größe"), Section("图")])
    )
    assert all(f'id="{anchor}"' in page for anchor in ("same", "same-2", "groe", "section"))


def test_ids_are_unique_even_for_equal_figures(document: Document) -> None:
    page = Page(report.render(document))
    ids = [a["id"] for _, a in page.tags if a.get("id")]
    repeated = {one for one in ids if ids.count(one) > 1}
    assert not repeated


def test_verdicts_are_readable_without_colour(document: Document) -> None:
    text = Page(report.render(document)).text
    for verdict in ("reproduced", "not reproduced", "undecided"):
        assert verdict in text
    assert "7 of 14 claims reproduced" in text
    assert "changes under Holm’s correction" in text
    assert "loss-corrected r_0 49.30 [48.90, 49.70] reproduced" in text
    assert (
        "Other readings reproduced r_0=0.95C , loss-corrected not reproduced core 1 ms undecided SACK" in text
    )
    assert "Published 50 " in text
    assert "16.42 mean queue (packets) [15.81, 17.03]" in text


def test_numbers_of_a_table(document: Document) -> None:
    text = Page(report.render(document)).text
    assert "delay (ms)" in text
    assert "20.78 ± 0.17" in text
    assert "19.7" in text
    assert "< 0.001" in text
    assert "12345678" in text  # seeds are labels, not quantities


def test_tables_are_accessible(document: Document) -> None:
    page = Page(report.render(document))
    assert all(a.get("scope") in {"col", "row"} for a in page.all("th"))
    assert [a["lang"] for a in page.all("html")] == ["en"]
    assert len(page.all("h1")) == 1
    assert all(a.get("role") == "img" or a.get("aria-hidden") == "true" for a in page.all("svg"))


def test_controls_are_hidden_without_script(document: Document) -> None:
    page = Page(report.render(document))
    assert all("hidden" in a for a in page.all("div") if a.get("class") == "controls")
    assert all("hidden" in a for a in page.all("button"))


def test_the_same_bytes_again(document: Document) -> None:
    assert report.render(document) == report.render(document)


def test_write_is_atomic(document: Document, tmp_path: Path) -> None:
    path = report.write(document, tmp_path / "report.html")
    assert path.read_text(encoding="utf-8") == report.render(document)
    with pytest.raises(ValueError, match="caption"):
        report.write(Document("t", blocks=[Figure("<svg></svg>", "")]), path)
    assert path.read_text(encoding="utf-8") == report.render(document)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a *b* **c** `d*e*`", "<p>a <em>b</em> <strong>c</strong> <code>d*e*</code></p>"),
        ("2 * 3 * 4, a_b_c", "<p>2 * 3 * 4, a_b_c</p>"),
        ("one\n\ntwo", "<p>one</p>\n<p>two</p>"),
        ("list:\n- a\n  more\n- b", "<p>list:</p>\n<ul><li>a more</li><li>b</li></ul>"),
        ("```\na < b\n```", "<pre><code>a &lt; b</code></pre>"),
        ("[x](#y)", '<p><a href="#y">x</a></p>'),
        ("", ""),
    ],
)
def test_markup(text: str, html: str) -> None:
    assert str(report.markup.blocks(text)).strip() == html


def test_an_empty_document_is_a_page() -> None:
    assert "<h1>t</h1>" in report.render(Document("t"))


def test_claims_of_the_csv_alone_suffice() -> None:
    frame = pl.DataFrame(
        {
            "claim_id": ["X-1", "X-2"], "world": ["simulated", "simulated"], "experiment_id": ["e", "e"],
            "verdict": ["reproduced", "undecided"], "effect": [1.5, None], "ci_low": [1.0, None],
            "ci_high": [2.0, None], "published": [None, "0.96"], "n": [10, None],
            "assumptions": ["A-1; A-2", ""],
            "reason": ["", None],
        }
    )  # fmt: skip
    text = Page(report.render(Document("t", blocks=[Verdicts(frame)]))).text
    assert "1.50 [1.00, 2.00]" in text
    assert "Assumes A-1 , A-2" in text


def test_report_package_is_complete(registry: dict[str, Any]) -> None:
    assert registry
    for one in report.__all__:
        assert getattr(report, one).__doc__, one
