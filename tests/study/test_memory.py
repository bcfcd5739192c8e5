"""The bound on the memory of a run: at least what the run takes, and at most four times as much.

Each run has a process of its own, whose peak is read from the kernel (VmHWM), after a short run of the same
scenario has loaded what every run needs. A run whose bound exceeds its share of the memory fails.

Mutants seen to fail: no part for flows, transfers, routes, packets, samples, or traces; a run that is started
in spite of its bound; a plan that is built to be checked in spite of it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from sojourn import InputError, RunFailed, Scenario, load
from sojourn.explore.page import page
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from sojourn.runner.store import Store
from sojourn.spec import plan
from sojourn.worlds.simulated import executors, memory
from sojourn.worlds.simulated.memory_bound import bound
from support import ROOT, Cli

SCENARIO = """
name = "large"
duration = "{duration}"
conventions = "rfc"

[dumbbell]
rate = "{rate}"
delay = "{delay}"
access = {{ rate = "1Gbit/s", delays = ["5ms"] }}
server = {{ rate = "1Gbit/s", delay = "5ms"{server} }}

[queue]
limit = "{limit}"
aqm = "{aqm}"

[trace]
{trace}

[[traffic]]
name = "all"
{traffic}
"""
TCP = 'kind = "tcp"\npayload = "960B"\nheader = "40B"'
USUAL = {
    "rate": "10Mbit/s",
    "delay": "5ms",
    "server": "",
    "limit": "100p",
    "aqm": "droptail",
    "trace": 'interval = "off"',
    "traffic": TCP,
}
WEB = """kind = "web"
count = 100
page_gap = "exponential 100ms"
objects = "3"
object_gap = "exponential 1ms"
size = "3kB"
payload = "960B"
header = "40B"
"""
#: Duration, and what differs from the usual.
SHAPES: dict[str, dict[str, str]] = {
    "connections": {
        "duration": "1s",
        "traffic": TCP + '\nvariant = "cubic"\ncount = 20000\nstart = "uniform 0s 1s"',
    },
    "datagrams": {
        "duration": "1s",
        "traffic": 'kind = "udp-cbr"\nrate = "10kbit/s"\nsize = "500B"\ncount = 20000',
    },
    "samples": {
        "duration": "20s",
        "trace": 'interval = "100us"',
        "aqm": "red min_th 5p max_th 20p",
        "rate": "1Mbit/s",
    },
    "transfers": {
        "duration": "10s",
        "rate": "1Gbit/s",
        "traffic": 'kind = "tcp-short"\narrivals = "2000/s"\nsize = "3kB"\npayload = "960B"\nheader = "40B"',
    },
    "pages": {"duration": "15s", "rate": "1Gbit/s", "traffic": WEB},
    "objects": {
        "duration": "8s",
        "rate": "500Mbit/s",
        "traffic": WEB.replace("exponential 100ms", "0s").replace('"3kB"', '"30kB"').replace("100", "1000"),
    },
    "segments": {
        "duration": "60s",
        "rate": "1Gbit/s",
        "traffic": 'kind = "video"\ncount = 200\nladder = ["10kbit/s"]\nsegment = "100ms"\n'
        'buffer = "200ms"\nreservoir = "0s"\ncushion = "100ms"',
    },
    "routes": {"duration": "1s", "traffic": WEB, "server": ", nodes = 100000"},
    "packets": {
        "duration": "2s",
        "limit": "200000p",
        "traffic": 'kind = "udp-cbr"\nrate = "300Mbit/s"\nsize = "300B"\ncount = 2',
    },
    "windows": {"duration": "30s", "rate": "100Mbit/s", "trace": 'interval = "off"\ncwnd = true'},
    "log of packets": {
        "duration": "20s",
        "rate": "50Mbit/s",
        "trace": 'interval = "off"\npackets = true',
    },
    "samples of flows": {
        "duration": "30s",
        "trace": 'interval = "off"\nflows = "10ms"',
        "traffic": TCP + "\ncount = 200",
    },
    "drops": {
        "duration": "20s",
        "trace": 'interval = "off"\ndrops = true',
        "traffic": 'kind = "udp-cbr"\nrate = "90Mbit/s"\nsize = "500B"',
    },
}

MEASURE = """
import json, os, sys, tempfile
from pathlib import Path
from sojourn.cli import run  # what a process has before any run
from sojourn.runner.execute import execute
from sojourn.runner.point import points
from sojourn.runner.store import Store
from sojourn import Scenario

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith("VmHWM")).split()[1])

def measure(first, large, folder):
    for part, text in (("first", first), ("large", large)):
        Path("/proc/self/clear_refs").write_text("5")  # the peak begins with what there is now
        before = peak()
        scenario = Scenario.from_toml(text)
        list(execute(points(scenario, [scenario.queue.aqm], [1]), Store(f"{folder}/{part}")))
    print(json.dumps(peak() - before), flush=True)

for first, large in json.loads(sys.argv[1]):  # no threads yet: a process for each
    sys.stdout.flush()
    if os.fork() == 0:
        with tempfile.TemporaryDirectory() as folder:
            measure(first, large, folder)
        os._exit(0)
    assert os.wait()[1] == 0
"""


def scenario_of(shape: str, **changes: str) -> str:
    return SCENARIO.format(**{**USUAL, **SHAPES[shape], **changes})


@pytest.fixture(scope="module")
def measured() -> dict[str, int]:
    """Measure what the run of each shape takes at its peak."""
    small = scenario_of(
        "windows",
        duration="50ms",
        trace='interval = "10ms"\ncwnd = true\ndrops = true\npackets = true\nflows = "10ms"',
    )
    texts = json.dumps([(small, scenario_of(shape)) for shape in SHAPES])
    done = subprocess.run([sys.executable, "-c", MEASURE, texts], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(zip(SHAPES, map(int, done.stdout.split()), strict=True))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_run_takes_at_most_its_bound_and_at_least_a_quarter(shape: str, measured: dict[str, int]) -> None:
    scenario = Scenario.from_toml(scenario_of(shape))
    assert scenario.queue is not None
    (point,) = points(scenario, [scenario.queue.aqm], [1])
    most, taken = bound(point.plan_json), measured[shape]
    assert taken <= most.total <= 4 * taken, (most, taken)


@pytest.mark.parametrize("chosen", [None, executors.Serial()], ids=["threads", "serial"])
def test_a_run_without_enough_memory_is_not_started(
    chosen: executors.Serial | None, small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails with the reason, and the others are made."""
    monkeypatch.setenv(memory.MEMORY, "100MB")
    many = small.with_(
        traffic=[{"name": "many", "kind": "tcp", "count": 200_000, "payload": "960B", "header": "40B"}]
    )
    wanted = points(many, ["droptail"], [1, 2]) + points(small, ["droptail"], [1])
    reason = r"2 of 3 runs failed.*it may need 604 MB \(flows 440,.*; 100 MB are available for it: use fewer"
    with pytest.raises(RunFailed, match=reason):
        list(execute(wanted, Store(tmp_path), 1, executor=chosen))
    assert [one.name for one in (tmp_path / "runs").iterdir()] == [f"{wanted[2].run_id}.parquet"]
    assert not (tmp_path / "leases").exists()
    monkeypatch.setenv(memory.MEMORY, "off")
    shorter = many.with_(duration="10ms", warmup="0s")
    assert len(list(execute(points(shorter, ["droptail"], [1]), executor=chosen))) == 1


@pytest.mark.parametrize("kind", ["web", "tcp-short"])
def test_a_run_with_too_many_routes_is_not_started(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each of 65,535 clients may ask each of 65,536 servers: the core would make 4 billion routes."""
    monkeypatch.setenv(memory.MEMORY, "1GB")
    traffic = WEB if kind == "web" else SHAPES["transfers"]["traffic"]
    traffic += '\naccess = { rate = "1Gbit/s", delays = ["5ms"], nodes = 65535 }'
    text = SCENARIO.format(**{**USUAL, "duration": "1s", "traffic": traffic, "server": ", nodes = 65536"})
    with pytest.raises(RunFailed, match=r"it may need 1,030,\d+ MB \(.*routes 1,030,"):
        list(execute(points(Scenario.from_toml(text), ["droptail"], [1]), Store(tmp_path), 1))


def test_bench_and_the_live_page_have_the_same_bound(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen to fail: without the bound each of them ends the process."""
    monkeypatch.setenv(memory.MEMORY, "1GB")
    traffic = WEB + '\naccess = { rate = "1Gbit/s", delays = ["5ms"], nodes = 65535 }'
    text = SCENARIO.format(**{**USUAL, "duration": "1s", "traffic": traffic, "server": ", nodes = 65536"})
    (tmp_path / "large.toml").write_text(text)
    done = cli("bench", tmp_path / "large.toml", "--aqm", "droptail")
    assert done.returncode == 1
    assert "it may need 1,030," in done.stderr
    with pytest.raises(RunFailed, match=r"it may need 1,030,\d+ MB"):
        page(Scenario.from_toml(text), ["droptail"], server=True)


#: The command line, with 600 MB of address space beyond what it has after its imports and a first run.
LIMITED = """
import resource, sys
from pathlib import Path
from sojourn.cli import call

words = sys.argv[1:]
assert call([*words, "-L", "traffic.all.count", "4", "--out", "first"]) == 0
pages = int(Path("/proc/self/statm").read_text().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + 600_000_000,) * 2)
sys.exit(call([*words, "-L", "traffic.all.count", "4,1000000", "--out", "out"]))
"""


def test_a_run_beyond_the_address_space_fails_and_the_process_continues(tmp_path: Path) -> None:
    """A million connections need more than the limit in the core alone, whose allocation would abort."""
    (tmp_path / "many.toml").write_text(scenario_of("connections", duration="10ms"))
    command = [sys.executable, "-c", LIMITED, "sweep", "many.toml", "--seeds", "1", "--workers", "1"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert "warning: a run may need" in done.stderr
    assert "1 of 2 runs failed" in done.stderr
    assert "it may need" in done.stderr
    assert len(list((tmp_path / "out/runs").iterdir())) == 1


@pytest.mark.parametrize(("text", "most"), [("2GB", 1_000_000_000), ("off", None), ("1MiB", 524_288)])
def test_the_memory_of_runs_can_be_set(text: str, most: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.MEMORY, text)
    assert memory.run_limit(2) == most
    monkeypatch.setenv(memory.MEMORY, "much")
    with pytest.raises(InputError, match=r"SOJOURN_MEMORY .*'much'.*; allowed: a size like 8GB, or off"):
        memory.run_limit(2)


def test_the_bound_is_printed_before_a_run(
    cli: Cli, small: Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "small.toml").write_text(small.to_toml())
    words = ["small.toml", "--seeds", "2", "--out", "out"]
    for command, module in (("run --verbose", "run.run_points"), ("tune --aqm red", "tune.run_tune")):
        monkeypatch.setattr(f"sojourn.cli.{module}", Mock(side_effect=RunFailed("enough")))
        assert "memory: at most 4 MB for a run\nsojourn: enough" in cli(*command.split(), *words).stderr
    assert "memory        at most 4 MB for a run" in cli("sweep", *words, "--dry-run").stdout
    found = json.loads(cli("sweep", *words, "--dry-run", "--json").stdout)["memory"]
    assert found["total"] == bound(small.plan_json("red min_th 5 max_th 15")).total


@pytest.mark.parametrize("file", sorted((ROOT / "examples").glob("*.toml")), ids=lambda file: file.stem)
def test_every_example_has_a_bound(file: Path) -> None:
    scenario = load(file)
    for one in plan.queues(scenario).values():
        assert 4e6 < bound(scenario.plan_json(one.aqm)).total < 1e9
