"""Phase effects: what a microsecond of jitter moves is found, what another seed would move is not.

Mutant seen to fail: no test of the interval.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import sojourn
from sojourn.errors import InputError
from sojourn.spec.scenario import Scenario
from sojourn.study.phase import jittered, phase_effects
from support import Cli

#: A hundred long flows over five round-trip times, as in docs/how-sure.md.
EXACT = """
name = "exact"
duration = "60s"
warmup = "10s"
conventions = "rfc"

[dumbbell]
rate = "10Mbit/s"
delay = "10ms"
access = { rate = "100Mbit/s", delays = ["10ms", "20ms", "30ms", "40ms", "50ms"] }
server = { rate = "100Mbit/s", delay = "10ms" }

[queue]
limit = "100p"
aqm = "droptail"

[[traffic]]
name = "ftp"
kind = "tcp"
variant = "newreno"
count = 100
payload = "960B"
header = "40B"
start = "uniform 0s 1s"
"""


def test_drop_tail_depends_on_exact_times_and_red_does_not(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "exact.toml"
    file.write_text(EXACT)
    done = cli(
        "compare", file, "--aqm", "droptail", "--aqm", "red", "--seeds", "6", "--check-phase", "--out", "r"
    )
    assert done.returncode == 0
    found = [line for line in done.stderr.splitlines() if "W31" in line]
    assert any("droptail: the Jain" in line for line in found)
    assert not any("red" in line for line in found), found
    stored = json.loads((tmp_path / "r/manifest.json").read_text())["warnings"]
    assert len([one for one in stored if "W31" in one]) == len(found)
    assert any("W31" in one for one in sojourn.Results.open(tmp_path / "r").warnings)


def test_a_further_seed_is_no_phase_effect() -> None:
    """Senders with jitter already: the repeated run differs as another seed does."""
    scenario = Scenario.from_toml(EXACT, "exact.toml")
    results = sojourn.run(scenario.with_(tcp={"send_jitter": "2us"}), ["droptail", "red"], seeds=6)
    results.scenario = scenario
    assert phase_effects(results) == []


@pytest.mark.parametrize(
    ("tcp", "seeds", "words"), [({}, 2, "at least 3 seeds"), ({"send_jitter": "1ms"}, 5, "no TCP traffic")]
)
def test_what_cannot_be_checked_is_refused(
    small: Scenario, tcp: dict[str, str], seeds: int, words: str
) -> None:
    with pytest.raises(InputError) as error:
        jittered(small.with_(tcp=tcp), seeds)
    assert words in str(error.value)


def test_other_worlds_and_few_seeds_are_refused_before_anything_runs(cli: Cli, small_file: Path) -> None:
    done = cli("run", small_file, "--check-phase", "--world", "fluid")
    assert done.returncode == 2
    assert "needs simulated runs" in done.stderr
    done = cli("run", small_file, "--check-phase", "--seeds", "2")
    assert done.returncode == 2
    assert not list(small_file.parent.glob("results*"))
