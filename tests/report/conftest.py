"""Made-up but realistic data of a run and of a paper's reproduction."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sojourn import report
from sojourn.report import Document

SPECS = ("droptail", "red gentle min_th 15p max_th 45p", "pi q_ref 50p", "rem b_star 50p", "raqm q_0 50p")
MEANS = {
    "utilization": ("", (1.0, 0.991, 0.998, 0.985, 0.997), 0.001),
    "throughput_bps": ("bit/s", (1e7, 9.91e6, 9.98e6, 9.85e6, 9.97e6), 9e3),
    "goodput_bps": ("bit/s", (9.24e6, 9.31e6, 9.36e6, 9.21e6, 9.41e6), 1.1e4),
    "arrivals": ("packets", (282164.0, 259127.0, 262118.0, 258004.0, 260777.0), 820.0),
    "drops": ("packets", (31210.0, 9127.0, 11004.0, 10921.0, 10122.0), 310.0),
    "drop_ratio": ("", (0.1106, 0.0352, 0.0420, 0.0423, 0.0388), 0.0006),
    "mark_ratio": ("", (0.0, 0.0, 0.0, 0.0, 0.0), 0.0),
    "mean_queue_packets": ("packets", (88.41, 27.33, 51.94, 46.02, 49.31), 0.43),
    "std_queue_packets": ("packets", (10.2, 12.9, 17.4, 26.1, 7.31), 0.21),
    "mean_delay_s": ("s", (0.03536, 0.01093, 0.02078, 0.01841, 0.01972), 0.00017),
    "p99_delay_s": ("s", (0.0399, 0.0258, 0.0393, 0.0398, 0.0271), 0.0004),
    "jain_index": ("", (0.871, 0.932, 0.941, 0.918, 0.957), 0.011),
    "timeouts": ("", (4122.0, 1201.0, 1408.0, 1871.0, 1203.0), 77.0),
    "ftp.goodput_bps": ("bit/s", (9.24e6, 9.31e6, 9.36e6, 9.21e6, 9.41e6), 1.1e4),
}


def trace(
    mean: float, deviation: float, overshoot: float, seed: int, seconds: float = 200.0
) -> np.ndarray[Any, Any]:
    """A queue that fluctuates about a mean after an overshoot, 100 samples per second."""
    generator = np.random.default_rng(seed)
    steps = round(seconds * 100)
    noise = generator.normal(size=steps)
    values = np.zeros(steps)
    for i in range(1, steps):
        values[i] = 0.99 * values[i - 1] + 0.141 * noise[i]
    decay = np.exp(-np.arange(steps) / 1200)
    return np.clip(np.round(mean + deviation * values + overshoot * decay), 0, 100)


def trace_frame(spec: str, i: int, seed: int = 1, seconds: float = 200.0) -> pl.DataFrame:
    """The frame that ``Results.trace("queue")`` returns for one run."""
    mean = MEANS["mean_queue_packets"][1][i]
    deviation = MEANS["std_queue_packets"][1][i]
    queue = trace(mean, deviation, 45.0 if i in {0, 2} else 5.0, seed * 10 + i, seconds)
    frame = pl.DataFrame(
        {
            "aqm": spec,
            "seed": seed,
            "time_s": np.arange(1, len(queue) + 1) / 100,
            "queue_packets": queue.astype(np.int64),
            "queue_bytes": queue.astype(np.int64) * 540,
        }
    )
    smooth = pl.col("queue_packets").rolling_mean(200, min_samples=1)
    if i in {2, 3, 4}:
        frame = frame.with_columns(p=0.04 + (smooth - mean) / 4e3)
    if i == 4:
        frame = frame.with_columns(r=1e7 * (1 + (smooth - mean) / 800), alpha=1.1e-7 + smooth * 1e-9)
    return frame


class FakeScenario:
    """A stub of a scenario."""

    name = "raqm-fig5a"
    note = "Forty long TCP flows share 10 Mbit/s; short round trips."
    source = "raqm2005, Fig. 5a"
    conventions = "ns2"

    def to_toml(self) -> str:
        """Its file."""
        return (
            'name = "raqm-fig5a"\nduration = "200s"\nwarmup = "50s"\nconventions = "ns2"\n\n'
            '[dumbbell]\nrate = "10Mbit/s"\ndelay = "10ms"\n'
            'access = { rate = "10Mbit/s", delays = ["10ms"] }\n\n'
            '[queue]\nlimit = "100p"\naqm = "raqm"\n\n[[traffic]]\nname = "ftp"\nkind = "tcp"\n'
            'variant = "reno"\ncount = 40\npayload = "500B"\nstart = "uniform 0s 1s"\n'
        )


class FakeResults:
    """A stub of `sojourn.results.Results`."""

    def __init__(self, specs: tuple[str, ...] = SPECS, seeds: int = 3, seconds: float = 200.0) -> None:
        self.specs = specs
        self.seeds = seeds
        self.seconds = seconds
        self.scenario = FakeScenario()
        self.warnings = [
            "droptail: its algorithm never acted; every drop was an overflow of the buffer.",
        ]
        self.manifest: dict[str, Any] = {
            "command": "sojourn run raqm-fig5a.toml --aqm droptail --aqm 'pi q_ref 50p' --aqm raqm --seeds 3",
            "version": "0.1.0",
            "core_version": "0.1.0+9f3c21d07a4e",
            "host": "laboratory-7",
            "platform": "Linux 6.1 x86_64",
            "python": "3.11.9",
            "cores": 2,
            "wall_s": 41.3,
            "cpu_s": 79.8,
        }

    @property
    def runs(self) -> pl.DataFrame:
        """One row per run."""
        return pl.DataFrame(
            [
                {
                    "aqm": s,
                    "seed": k,
                    "run_id": f"{i:04x}{k:08x}",
                    **{name: means[i] + (k - 1) * half for name, (_, means, half) in MEANS.items()},
                }
                for i, s in enumerate(self.specs)
                for k in range(1, self.seeds + 1)
            ]
        )

    def summary(self) -> pl.DataFrame:
        """One row per algorithm and metric."""
        return pl.DataFrame(
            [
                {
                    "aqm": spec,
                    "metric": metric,
                    "unit": unit,
                    "mean": None if metric == "jain_index" and i == 0 else means[i],
                    "ci95": half if self.seeds > 1 else None,
                    "n": self.seeds,
                }
                for metric, (unit, means, half) in MEANS.items()
                for i, spec in enumerate(self.specs)
            ],
            schema_overrides={"ci95": pl.Float64},
        )

    def trace(self, what: str = "queue", aqm: str | None = None, seed: int | None = None) -> pl.DataFrame:
        """Samples over time."""
        assert what == "queue"
        frames = [
            trace_frame(s, i, k, self.seconds)
            for i, s in enumerate(self.specs)
            for k in range(1, self.seeds + 1)
            if aqm in {None, s} and seed in {None, k}
        ]
        return pl.concat(frames, how="diagonal")

    def distribution(self, what: str = "delay") -> pl.DataFrame:
        """Delays of packets, counted."""
        assert what == "delay"
        edges = np.arange(900) * 5e-5
        return pl.concat(
            pl.DataFrame(
                {
                    "aqm": s,
                    "seed": 1,
                    "delay_s": edges,
                    "count": np.round(
                        4e4
                        * np.exp(
                            -(
                                (
                                    (edges - MEANS["mean_delay_s"][1][i])
                                    / (2e-3 + 4e-4 * MEANS["std_queue_packets"][1][i] / 2)
                                )
                                ** 2
                            )
                        )
                    ).astype(np.int64),
                }
            )
            for i, s in enumerate(self.specs)
        )


def param(
    name: str, default: str, doc: str, source: str, ns2: str | None = None, derived: bool = False
) -> dict[str, Any]:
    """A parameter in the format of the registry."""
    return {
        "name": name, "kind": "number", "unit": "", "default": default, "derived": derived, "ns2": ns2,
        "doc": doc, "source": source, "allowed": "", "choices": [], "tc": None,
    }  # fmt: skip


REGISTRY: dict[str, Any] = {
    "droptail": {"params": [], "probes": []},
    "red": {
        "params": [
            param(
                "min_th",
                "limit / 12",
                "Average queue below which no packet is signalled.",
                "Floyd 1997",
                derived=True,
            ),
            param("w_q", "0.002", "Weight of the newest sample in the average.", "Floyd and Jacobson 1993"),
            param("gentle", "off", "Raise the probability from max_p to 1 up to twice max_th.", "Floyd 2000"),
        ],
        "probes": [{"name": "avg", "unit": "packets", "doc": "Average queue"}],
    },
    "pi": {
        "params": [
            param("q_ref", "50p", "Queue to hold.", "Hollot et al. 2001"),
            param("a", "1.822e-5", "Gain on the present error.", "Hollot et al. 2001"),
        ],
        "probes": [{"name": "p", "unit": "", "doc": "Drop probability"}],
    },
    "rem": {
        "params": [param("b_star", "50p", "Queue to hold.", "Athuraliya et al. 2001", ns2="20p")],
        "probes": [{"name": "p", "unit": "", "doc": "Drop probability"}],
    },
    "raqm": {
        "params": [
            param("q_0", "50p", "Queue to hold.", "Wang et al. 2005"),
            param("T", "1s", "Measuring period.", "Wang et al. 2005, Sec. 3"),
            param("r_0", "link rate", "Rate to hold.", "Wang et al. 2005, Sec. 2.1", derived=True),
        ],
        "probes": [
            {"name": "p", "unit": "", "doc": "Drop probability before the queue's share"},
            {"name": "r", "unit": "bit/s", "doc": "Measured arrival rate."},
            {"name": "alpha", "unit": "", "doc": "Gain"},
        ],
    },
}


def reading(name: str, verdict: str, *effect: float) -> dict[str, Any]:
    """A sensitivity reading."""
    value, low, high = effect or (None, None, None)
    return {"reading": name, "verdict": verdict, "effect": value, "ci_low": low, "ci_high": high}


def claim(claim_id: str, experiment: str, verdict: str, statement: str, **more: Any) -> dict[str, Any]:
    """A row of verdicts."""
    world = "simulated" if "effect" in more else "computed"
    row = {"claim_id": claim_id, "world": world, "experiment_id": experiment, "verdict": verdict}
    effect = more.pop("effect", None)
    if effect:
        row |= dict(zip(("effect", "ci_low", "ci_high"), effect, strict=True))
    return row | {"statement": statement, **more}


def verdicts() -> pl.DataFrame:
    """Claims of every kind."""
    rows = [
        claim(
            "RAQM-01",
            "raqm-fig1",
            "reproduced",
            "c(x) exceeds 4 everywhere on (0,1) and (1,2).",
            section="2.2 Fig. 1",
            check="c(x) > 4 for the 29 test points",
            reason="Smallest value on the grid: 4.0000013.",
        ),
        claim(
            "RAQM-10",
            "raqm-theorems",
            "not reproduced",
            "A larger alpha always gives faster convergence.",
            section="Theorem 2",
            reason="Steps to within 1 %: 8, 3, 4, 60 for m = 1, 2, 3, 3.9. True only up to `m = 2`.",
        ),
        claim(
            "RAQM-18",
            "raqm-fig5a",
            "not reproduced",
            "Small RTT, N = 40: RAQM holds the queue at the expected 50 packets.",
            section="3 Fig. 5a",
            effect=(16.42, 15.81, 17.03),
            measure="mean queue (packets)",
            published=50.0,
            n=10,
            assumptions=[f"A-RAQM-{i}" for i in range(1, 14)],
            reason="With dropped bytes counted and `r_0 = C` there is no equilibrium at q_0: p_k is clipped "
            "at 1 and the queue settles at q_0 times the loss ratio.",
            p=0.00001,
            p_holm=0.0004,
            holm_changes=False,
            sensitivity=[
                reading("loss-corrected r_0", "reproduced", 49.3, 48.9, 49.7),
                reading("accepted bytes only", "not reproduced", 96.1, 95.8, 96.4),
                reading("A-RAQM-1 = 5 ms", "not reproduced", 15.2, 14.1, 16.3),
            ],
        ),
        claim(
            "RAQM-20",
            "raqm-fig5a",
            "undecided",
            "Small RTT, N = 40: RAQM responds faster, with a shorter overshoot, than PI and REM.",
            section="3 Fig. 5a",
            effect=(-0.31, -0.74, 0.12),
            measure="difference of logarithms",
            n=3,
            assumptions=["A-RAQM-1", "A-RAQM-2"],
            reason="quick: 3 seeds of the 10 that the claim asks for.",
            p=0.041,
            p_holm=0.62,
            holm_changes=True,
            sensitivity=[
                reading("SACK instead of Reno", "undecided"),
                reading("r_0=0.95C", "reproduced"),
                reading("loss-corrected", "reproduced"),
                reading("core 1 ms", "not reproduced"),
            ],
        ),
        claim(
            "RAQM-41",
            "raqm-fig8",
            "reproduced",
            "Even at a mean queue of about 20 packets RAQM's goodput is about 0.96.",
            section="3.3",
            effect=(0.9582, 0.9571, 0.9593),
            published="0.96",
            n=10,
            assumptions=["A-RAQM-8"],
            p=0.0021,
            p_holm=0.034,
            holm_changes=False,
            sensitivity=[reading("header of 40 B", "not reproduced", 0.887, 0.886, 0.888)],
        ),
    ]
    for i in range(9):
        rows.append(
            claim(
                f"RAQM-{50 + i}",
                "raqm-fig5b",
                ("reproduced", "reproduced", "not reproduced", "undecided")[i % 4],
                "Small RTT, N = 400: RAQM is more stable than PI and REM.",
                section="3.1",
                effect=(i - 3.2, i - 4.1, i - 2.3),
                n=10,
                assumptions=["A-RAQM-1"],
                p=0.012,
                p_holm=0.21,
                holm_changes=i == 2,
            )
        )
    return pl.DataFrame(rows, infer_schema_length=None, strict=False)


@pytest.fixture(scope="session")
def results() -> FakeResults:
    return FakeResults()


@pytest.fixture
def make_results() -> type[FakeResults]:
    return FakeResults


@pytest.fixture(scope="session")
def registry() -> dict[str, Any]:
    return REGISTRY


@pytest.fixture(scope="session")
def document(results: FakeResults, registry: dict[str, Any]) -> Document:
    """The report of a run, drawn once."""
    return report.for_results(results, registry)


@pytest.fixture
def verdict_frame() -> pl.DataFrame:
    return verdicts()
