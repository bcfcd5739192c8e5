"""What notebooks display: well-formed, escaped, of bounded size, with pictures; figures can be saved.

Seen to fail on these mutants: a name without escaping; all rows and samples instead of the first; the live
page without escaping in `srcdoc`; `savefig` with the settings of the user.
"""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path
from urllib.request import urlopen
from xml.etree import ElementTree

import pytest

import sojourn
from sojourn import explore, templates
from sojourn.explore import frame
from sojourn.notebook.html import MOST_ROWS

#: Bytes of what is displayed, at most.
BOUND = 60_000
EVIL = "<script>alert(1)</script> & more"


@pytest.fixture(scope="module")
def results() -> sojourn.Results:
    scenario = sojourn.Scenario.from_toml(templates.text("red40", "red40.toml"))
    done = sojourn.run(scenario.with_(duration="30s", warmup="5s"), ["red", "pi"], seeds=2)
    return sojourn.Results(done.scenario, done.aqms, done.outcomes, [EVIL])


def parsed(html: str) -> ElementTree.Element:
    """Return HTML that is also XML, as text without a closing tag or escaping is not."""
    return ElementTree.fromstring(re.sub(r"(<img[^>]*)>", r"\1/>", html))


def test_every_object_is_escaped_and_small(results: sojourn.Results) -> None:
    comparison = sojourn.Comparison(results, results.aqms[0])
    for one in (results, comparison, results.scenario, results.records[0]):
        html = one._repr_html_()
        assert len(html) < BOUND
        assert "<script" not in html
        assert parsed(html).findall(".//table")
        shows_warnings = one in (results, comparison)
        assert (EVIL in "".join(parsed(html).itertext())) is shows_warnings


def test_results_have_a_row_and_a_picture_for_each_algorithm(results: sojourn.Results) -> None:
    page = parsed(results._repr_html_())
    assert len(page.findall(".//tbody/tr")) == 2
    assert [one.get("stroke") for one in page.findall(".//polyline")] == ["#c8232f", "#00997a"]
    delay = results.estimate("red", "mean_delay_s").mean
    assert delay is not None
    assert f"{1e3 * delay:.1f}"[:3] in "".join(page.itertext())


def test_many_algorithms_are_counted_in_words() -> None:
    scenario = sojourn.Scenario.from_toml(templates.text("red40", "red40.toml"))
    specs = [f"red max_p 0.{number}" for number in range(11, 41)]
    many = sojourn.run(scenario.with_(duration="2s", warmup="1s"), specs, seeds=1)
    html = many._repr_html_()
    assert len(html) < BOUND
    assert html.count("<polyline") == MOST_ROWS
    assert f"{len(specs) - MOST_ROWS} more algorithms" in html


def test_figures_can_be_styled_and_saved(results: sojourn.Results, tmp_path: Path) -> None:
    figure = results.plot.queue(start=5, end=20)
    figure.axes[1].set_title("a new title", loc="right")
    assert "a new title" in figure._repr_svg_()
    for suffix in ("pdf", "png", "svg"):
        figure.savefig(tmp_path / f"queue.{suffix}")
        assert (tmp_path / f"queue.{suffix}").stat().st_size > 5_000
    assert figure.axes[1].get_xlim() == (5, 20)
    for one in (
        results.plot.delay(),
        results.plot.tradeoff(),
        results.plot.bars(["utilization"]),
        results.plot.box(),
    ):
        assert one._repr_svg_().startswith("<svg")


def test_an_unknown_metric_is_refused(results: sojourn.Results) -> None:
    with pytest.raises(sojourn.InputError, match="'delay' is not a metric"):
        results.plot.tradeoff(x="delay")


def test_the_live_page_is_an_iframe_with_the_whole_page_if_it_can_simulate() -> None:
    if frame.engine() is None:  # `make test` builds it where the target is installed
        return
    html = sojourn.explore("examples/red40.toml", ["red"], height=500)._repr_html_()
    source = re.fullmatch(
        r'<iframe title="Live page" srcdoc="([^"]*)" width="100%" height="500"[^>]*></iframe>', html
    )
    assert source is not None
    assert unescape(source[1]).lower().startswith("<!doctype html>")


def test_without_the_module_a_local_server_simulates(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frame, "engine", lambda: None)
    shown = sojourn.explore()
    (address,) = re.findall(r'src="(http://127\.0\.0\.1:[^"]*)"', shown._repr_html_())
    with urlopen(address) as answer:
        assert "</html>" in answer.read().decode()
    assert shown._repr_html_().count(address) == 1  # a second display has the same server
    shown.close()
    with pytest.raises(OSError, match="refused"):
        urlopen(address)


def test_an_algorithm_in_python_needs_the_server() -> None:
    class Keep(sojourn.Aqm):
        """Never drop."""

        def on_arrival(self, *_: object) -> int:
            return sojourn.PASS

    shown = explore.Frame(None, [Keep])
    assert not shown._is_whole
