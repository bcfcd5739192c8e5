"""Every kind of figure: reproducible bytes, small, safe, and with the expected content.

Seen to fail on these mutants: no `svg.hashsalt`; matplotlib's metadata in the file; ids without the prefix
from the content; the user's rcParams in effect (no `rcdefaults`); `text.parse_math` on; decimation by every
n-th sample; `queue_traces` drawing the last seed; `bars` showing an unknown mean as 0.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import numpy as np
import polars as pl
import pytest

from sojourn import plots

SPECS = ("pi", "rem", "raqm", "raqm T 2s")


def traces(specs: tuple[str, ...] = SPECS, samples: int = 20_000) -> pl.DataFrame:
    time = np.arange(1, samples + 1) / 100
    generator = np.random.default_rng(7)
    return pl.concat(
        pl.DataFrame(
            {
                "aqm": spec,
                "seed": 1,
                "time_s": time,
                "queue_packets": np.clip(50 + generator.normal(0, 12, samples), 0, 100).round(),
                "p": 0.01 + generator.random(samples) / 1e3,
            }
        )
        for spec in specs
    )


def queue_traces() -> str:
    return plots.queue_traces(
        traces(), reference=50, limit=100, shaded=[(50, 150)], shaded_label="web", notes={"pi": "note"}
    )


def tradeoff() -> str:
    rows = [
        {"aqm": a, "q_0": q, "mean_queue_packets": q + i, "mean_queue_packets_ci95": 0.5, "g": 0.9 + q / 1e3}
        for i, a in enumerate(SPECS)
        for q in (90, 20, 50)
    ]
    return plots.tradeoff(pl.DataFrame(rows), y="g", along="q_0", along_label="q₀", y_label="Goodput")


def cells() -> pl.DataFrame:
    rows = [
        {"aqm": aqm, "n": n, "rtt": rtt, "z": 300 + i + 10.0 * j + 100 * k}
        for k, aqm in enumerate(SPECS[:2])
        for i, n in enumerate(("2", "4", "8"))
        for j, rtt in enumerate(("10ms", "50ms"))
    ]
    return pl.DataFrame(rows)


def heat_map(frame: pl.DataFrame | None = None) -> str:
    return plots.heat_map(
        cells() if frame is None else frame, x="n", y="rtt", z="z", columns=["2", "4", "8"],
        rows=["10ms", "50ms"], x_label="flows", y_label="rtt", z_label="Delay (ms)",
    )  # fmt: skip


def bars() -> str:
    rows = [
        {"aqm": a, "metric": m, "unit": u, "mean": v * (1 + i), "ci95": v / 50, "n": 5}
        for i, a in enumerate(SPECS)
        for m, u, v in (("goodput_bps", "bit/s", 2e6), ("p99_delay_s", "s", 0.02))
    ]
    return plots.bars(pl.DataFrame(rows), ["goodput_bps", "p99_delay_s"], sort="descending")


def curve() -> str:
    x = np.linspace(0.001, 1.999, 3000)
    y = 4 * np.arctanh(1 - x) / np.where(x == 1, 1, 1 - x)
    return plots.curve(
        x, y, x_label="x", y_label="c(x)", vertical=[plots.Rule(0, "x → 0")], y_limits=(3, 12),
        horizontal=[plots.Rule(4, "c = 4")], marks=[plots.Mark(1, 4, "limit", filled=False)],
        points=([0.5, 1.5], [4.394, 4.394]), points_label="tabulated",
    )  # fmt: skip


def orbit(m: float, steps: int) -> list[float]:
    x = [0.5]
    for _ in range(steps):
        x.append(x[-1] * float(np.exp(0.5 * m * (1 - x[-1]))))
    return x


def iterates() -> str:
    return plots.iterates({f"m = {m}": orbit(m, 40) for m in (1, 2, 3.9, 5)}, notes={"m = 1": "8 steps"})


def bifurcation() -> str:
    parameter = np.linspace(3, 6, 200)
    ends = np.array([orbit(m, 300)[200:] for m in parameter])
    return plots.bifurcation(parameter, ends, vertical=[plots.Rule(4, "m = 4")])


def histogram() -> str:
    frame = pl.DataFrame(
        {
            "aqm": [s for s in SPECS for _ in range(300)],
            "delay_s": [i * 1e-4 for _ in SPECS for i in range(300)],
            "count": [(300 - i) * (k + 1) for k in range(len(SPECS)) for i in range(300)],
        }
    )
    return plots.histogram(frame)


def density() -> str:
    frame = pl.DataFrame({"aqm": "pi", "delay_s": [0.001, 0.002, 0.01], "count": [5, 3, 1]})
    return plots.histogram(frame, kind="density", bins=10)


def cdf() -> str:
    times = [None if i % 40 == 0 else 0.01 * 1.01**i for i in range(300)]
    frame = pl.DataFrame({"aqm": [s for s in SPECS for _ in times], "t": times * len(SPECS)})
    return plots.cdf(frame, value="t")


def boxes() -> str:
    runs = pl.DataFrame(
        {"aqm": SPECS * 20, "mean_delay_s": [0.01 * (1 + i / 40) for i in range(20 * len(SPECS))]}
    )
    return plots.boxes(runs, "mean_delay_s")


def flow_rates() -> str:
    rows = [
        {"aqm": spec, "time_s": i / 10, "flow": flow, "goodput_bps": 1e6 * (1 + flow + i % 7)}
        for spec in SPECS
        for flow in range(3)
        for i in range(300)
    ]
    return plots.flow_rates(pl.DataFrame(rows))


def probes() -> str:
    return plots.probes(traces(("raqm",)), "raqm", units={"p": ""}, reference=50)


FIGURES: dict[str, Callable[[], str]] = {
    f.__name__: f
    for f in (
        queue_traces,
        tradeoff,
        heat_map,
        bars,
        curve,
        iterates,
        bifurcation,
        histogram,
        density,
        cdf,
        boxes,
        flow_rates,
        probes,
    )
}


#: Figures are drawn once with default options, and in one worker.
pytestmark = pytest.mark.xdist_group("figures")


@functools.cache
def drawn(name: str) -> str:
    return FIGURES[name]()


@pytest.fixture(params=FIGURES)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def texts(svg: str) -> list[str]:
    return ["".join(node.itertext()) for node in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def test_the_same_bytes_twice(name: str) -> None:
    assert FIGURES[name]() == drawn(name)


def test_the_same_bytes_under_other_settings(name: str) -> None:
    expected = drawn(name)
    with mpl.rc_context(
        {"font.size": 20, "svg.fonttype": "path", "xtick.direction": "inout", "svg.hashsalt": "x"}
    ):
        assert FIGURES[name]() == expected
        assert mpl.rcParams["font.size"] == 20


def digests() -> dict[str, str]:
    return {key: hashlib.sha256(drawn(key).encode()).hexdigest() for key in FIGURES}


@pytest.mark.parametrize("seed", ["0", "4711"])
def test_the_same_bytes_in_another_process(seed: str) -> None:
    code = (
        "import importlib.util, json, sys\n"
        "spec = importlib.util.spec_from_file_location('figures', sys.argv[1])\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "spec.loader.exec_module(module)\n"
        "print(json.dumps(module.digests()))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, __file__],
        capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONHASHSEED": seed, "TZ": "Pacific/Auckland", "LC_ALL": "C"},
    )  # fmt: skip
    assert json.loads(done.stdout) == digests()


def test_a_figure_is_one_accessible_element(name: str) -> None:
    svg = drawn(name)
    root = ET.fromstring(svg)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    assert root.get("role") == "img"
    title = root.find("{http://www.w3.org/2000/svg}title")
    assert title is not None
    assert title.text


def test_a_figure_affects_nothing_around_it(name: str) -> None:
    svg = drawn(name)
    assert "<style" not in svg
    assert "<script" not in svg
    assert "<metadata" not in svg
    assert re.findall(r"https?://[^\"' <]*", svg) == ["http://www.w3.org/2000/svg"]
    ids = re.findall(r'\bid="([^"]*)"', svg)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:url\(#|href="#)([^)"]+)', svg)) == set(ids)
    assert len({one.partition("-")[0] for one in ids}) == 1


def test_a_figure_is_small(name: str) -> None:
    assert len(drawn(name)) < 120_000


def test_different_figures_have_different_ids() -> None:
    ids = [set(re.findall(r'\bid="([^"]*)"', drawn(name))) for name in FIGURES]
    assert len(set.union(*ids)) == sum(map(len, ids))


def test_names_cannot_inject_markup() -> None:
    evil = "mine.py:<script>alert</script>&\"'"
    frame = traces((evil,), samples=100)
    svg = plots.queue_traces(frame, notes={evil: "<b>bold</b>"}, title="<script>x</script>")
    assert "<script" not in svg
    assert "<b>" not in svg
    assert "<script>alert</script>&\"'" in texts(svg)


def test_math_signs_are_text() -> None:
    svg = plots.curve([0, 1, 2], [0, 1, 4], x_label="$x_{1}$ font: 3px rotate(-0 1 2)", y_label="y")
    assert "$x_{1}$ font: 3px rotate(-0 1 2)" in texts(svg)


def test_queue_traces_show_every_spec_and_the_reference() -> None:
    shown = texts(queue_traces())
    for title in ("PI", "REM", "RAQM (default)", "RAQM T 2s", "q₀ = 50", "web", "note", "Time (s)"):
        assert title in shown
    assert "Queue (packets)" in shown


def test_the_name_of_the_axis_is_whole_beside_one_panel() -> None:
    svg = plots.queue_traces(traces(SPECS[:1]))
    height = float(re.findall(r'viewBox="0 0 [\d.]+ ([\d.]+)"', svg)[0])
    (name,) = re.findall(r"<text[^>]*>Queue \(packets\)</text>", svg)
    assert "text-anchor: middle" in name
    assert f'y="{height / 2:g}"' in name


def test_a_spike_is_visible_in_the_svg() -> None:
    frame = traces(("pi",), samples=20_000)
    spike = pl.when(pl.col("time_s") == 123.45).then(100.0).otherwise(0.0)
    svg = plots.queue_traces(frame.with_columns(queue_packets=spike), limit=100, smooth=None)
    line = max(re.findall(r' d="([^"]*)"', svg), key=len)
    heights = [float(y) for y in re.findall(r"[ML][\d.]+ ([\d.]+)", line)]
    assert len(heights) > 500
    assert max(heights) - min(heights) > 60  # of the panel's height of 79 points
    assert heights.count(min(heights)) == 1


def test_only_the_first_seed_is_drawn() -> None:
    first = traces(("pi",), samples=500)
    second = first.with_columns(seed=pl.lit(2), queue_packets=pl.lit(99.0))
    second = second.select(first.columns).cast(dict(first.schema))
    alone = plots.queue_traces(first, limit=100)
    assert plots.queue_traces(pl.concat([second, first]), limit=100) == alone


def test_bars_print_intervals_and_omit_unknown_values() -> None:
    frame = pl.DataFrame(
        [
            {"aqm": "pi", "metric": "drop_ratio", "unit": "", "mean": 0.0412, "ci95": 0.0003, "n": 5},
            {"aqm": "rem", "metric": "drop_ratio", "unit": "", "mean": None, "ci95": None, "n": 0},
        ],
        schema_overrides={"mean": pl.Float64, "ci95": pl.Float64},
    )
    shown = [text.strip() for text in texts(plots.bars(frame, ["drop_ratio", "no_such_metric"]))]
    assert "4.12\xa0±\xa00.03" in shown
    assert "unknown" in shown
    assert "no such metric" not in shown


def test_bars_can_be_sorted() -> None:
    shown = [t for t in texts(bars()) if t in {"PI", "REM", "RAQM (default)", "RAQM T 2s"}]
    assert shown == ["RAQM T 2s", "RAQM (default)", "REM", "PI"]


def test_what_did_not_end_counts_as_longest() -> None:
    """Half of the transfers end: the curve ends at 50 %. Seen to fail: nulls left out."""
    frame = pl.DataFrame({"aqm": "pi", "t": [0.01, None, 0.02, None]})
    (line,) = plots.cdf(frame, value="t").figure.axes[0].get_lines()
    assert np.asarray(line.get_ydata()).tolist() == [25, 50]


def test_a_box_has_the_quartiles_of_the_runs() -> None:
    runs = pl.DataFrame({"aqm": "pi", "mean_delay_s": [0.001, 0.002, 0.003, 0.004, 0.009]})
    lines = plots.boxes(runs, "mean_delay_s").figure.axes[0].get_lines()
    drawn = sorted({round(float(x), 9) for line in lines for x in np.asarray(line.get_xdata())})
    assert drawn == [1, 2, 3, 4, 9]


def test_the_connections_of_a_flow_are_one_rate() -> None:
    """Seen to fail: connections that are not added."""
    rows = {"aqm": "pi", "time_s": [1.0, 1.0, 1.0], "flow": [0, 0, 1], "goodput_bps": [1e6, 2e6, 9e6]}
    lines = plots.flow_rates(pl.DataFrame(rows)).figure.axes[0].get_lines()
    assert [float(np.asarray(line.get_ydata())[0]) for line in lines] == [3, 9, 6]


def test_ccdf_adds_seeds() -> None:
    once = pl.DataFrame({"aqm": "pi", "seed": 1, "delay_s": [0.0, 0.01], "count": [2, 2]})
    twice = pl.concat([once, once.with_columns(seed=pl.lit(2, dtype=pl.Int32).cast(once.schema["seed"]))])
    assert plots.histogram(once) == plots.histogram(twice)


@pytest.mark.parametrize(
    "make",
    [
        lambda: plots.queue_traces(traces(("pi",), samples=1)),
        lambda: plots.queue_traces(traces(("pi",)).with_columns(queue_packets=pl.lit(None, pl.Float64))),
        lambda: plots.queue_traces(traces(("pi",)).with_columns(queue_packets=pl.lit(0))),
        lambda: plots.probes(traces(("pi",), samples=1), "pi", names=[]),
        lambda: plots.histogram(pl.DataFrame({"aqm": ["pi"], "delay_s": [0.0], "count": [0]})),
        lambda: plots.curve([1.0], [float("nan")], x_label="x", y_label="y"),
        lambda: plots.tradeoff(
            pl.DataFrame(
                {"aqm": ["pi"], "mean_queue_packets": [1.0], "y": [None]}, schema_overrides={"y": float}
            ),
            y="y",
        ),
        lambda: plots.bifurcation([1.0, 2.0], [[1.0, 1.0], [1.0, float("nan")]]),
        lambda: heat_map(cells().with_columns(z=pl.lit(None, pl.Float64))),
        lambda: heat_map(cells()[:1]),
    ],
)
def test_little_data_is_no_error(make: Callable[[], str]) -> None:
    ET.fromstring(make())


def test_every_text_of_a_heat_map_has_a_colour_that_a_dark_page_mirrors() -> None:
    """Matplotlib writes no colour for black. Mutant seen to fail: black values in the cells."""
    texts = re.findall(r"<text [^>]*>", heat_map())
    assert texts
    assert all("fill:" in one or 'fill="' in one for one in texts)


def test_each_cell_has_its_value_where_its_row_and_column_are() -> None:
    """Mutants seen to fail: rows and columns exchanged; a null drawn as 0; one scale for each panel."""
    frame = cells().with_columns(z=pl.when(pl.col("z") != 312).then("z"))
    root = ET.fromstring(heat_map(frame))
    texts = [(one.text or "").strip() for one in root.iter("{http://www.w3.org/2000/svg}text")]
    values = [int(text) for text in texts if re.fullmatch(r"[0-9]{3}|0", text)]
    # From the bottom to the top, left to right.
    assert values == [300, 301, 302, 310, 311, 400, 401, 402, 410, 411, 412]
    assert any("300 (faint) to 412 (strong)" in text for text in texts)


def test_public_functions_are_documented() -> None:
    for one in plots.__all__:
        thing = getattr(plots, one)
        if inspect.isfunction(thing):
            assert thing.__doc__
            assert "Parameters" in thing.__doc__ or not inspect.signature(thing).parameters, one


def test_probe_names_exclude_the_queue() -> None:
    frame = traces(("pi",), samples=10).with_columns(r=pl.lit(None, pl.Float64), queue_mean=pl.lit(1.0))
    assert plots.probe_names(frame) == ["p"]


if __name__ == "__main__":  # write all figures for inspection
    folder = Path(sys.argv[1])
    for key, build in FIGURES.items():
        (folder / f"{key}.svg").write_text(build(), encoding="utf-8")
