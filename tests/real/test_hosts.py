"""Hosts around the gateway: what it counts the kernel counts too, and nothing is left behind."""

import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn
from sojourn.record import Record, numbers
from sojourn.worlds.real.counters import over
from sojourn.worlds.real.gateway import lateness
from sojourn.worlds.real.jobs import layout
from sojourn.worlds.real.testbed import Layout
from sojourn.worlds.real.web import PREFIX, sweep
from sojourn.worlds.real.world import measuring

HEAD = """
name = "wire"
duration = "2500ms"
conventions = "linux"
[dumbbell]
rate = "10Mbit/s"
delay = "2ms"
access = { rate = "100Mbit/s", delays = ["1ms", "3ms"], nodes = 2 }
server = { rate = "100Mbit/s", delay = "0s", nodes = 2 }
"""
TCP = """
variant = "sack"
payload = "1448B"
header = "66B"
stop = "2s"
"""
FTP = f"""
[queue]
limit = "100p"
aqm = "red min_th 5 max_th 15 w_q 0.02"
ecn = true
[[traffic]]
name = "ftp"
kind = "tcp"
count = 4
{TCP}
[[traffic]]
name = "cbr"
kind = "udp-cbr"
count = 2
rate = "400kbit/s"
size = "500B"
stop = "2s"
"""
WEB = f"""
[queue]
limit = "1000p"
[[traffic]]
name = "short"
kind = "tcp-short"
arrivals = "20/s"
size = "10kB"
{TCP}
[[traffic]]
name = "web"
kind = "web"
count = 10
page_gap = "0s"
size = "uniform 20kB 50kB"
max_rate = "500kbit/s"
{TCP}
"""


def laid(text: str) -> Layout:
    scenario = sojourn.Scenario.from_toml(HEAD + text)
    assert scenario.queue is not None
    return layout(scenario, scenario.queue.aqm, 1)


def measured(found: Layout) -> tuple[Record, dict[Any, Any]]:
    """Run a layout to its end."""
    steps = measuring(found)
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return end.value


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_counts_what_the_gateway_counts() -> None:
    found = laid(FTP)
    record, hosts = measured(found)
    gateway = record.data
    assert [one["fault_count"] for one in hosts.values()] == [0] * 4
    tally = gateway["tally"]
    assert tally["malformed"] == tally["undelivered"] == tally["odd"] == 0
    queue = gateway["queues"][0]
    assert sum(queue["marks"]) > 0
    assert sum(one["counters"].get("IpExtInCEPkts", 0) for one in hosts.values()) == sum(queue["marks"])
    goodput = numbers(gateway["flows"]["goodput_bytes"], "Q")
    seen = {tuple(ends[:3]): count for ends, count in zip(gateway["ends"], goodput, strict=True)}
    received = [row for one in hosts.values() for row in one["received"]]
    for protocol, _, peer, source, count, _ in received:
        # What of TCP waits behind a hole when a sender is cut off has arrived and is never read.
        behind = seen[protocol, peer, source] - count
        assert behind == 0 if protocol == "udp" else 0 <= behind < 100 * 1448
    sent = [one["sent"] for part in hosts.values() for one in part["udp"]]
    assert sent == [200, 200]  # datagrams of 500 bytes on the wire, 100 a second, for two seconds
    assert len(received) == 6
    again = sum(numbers(gateway["flows"]["retransmitted_packets"], "Q"))
    counters = [one["counters"] for one in hosts.values()]
    segments, syns = (
        sum(one.get(name, 0) for one in counters) for name in ("TcpRetransSegs", "TcpExtTCPSynRetrans")
    )
    assert again == segments - syns


@pytest.mark.usefixtures("namespaces")
def test_objects_come_one_after_the_other_and_no_faster_than_the_cap() -> None:
    found = laid(WEB)
    record, hosts = measured(found)
    gateway = record.data
    short = [one for part in hosts.values() for one in part["tcp"]]
    assert len(short) == len(found.tuples)
    done = [one for one in short if one["ended"] is not None]
    assert len(done) >= len(short) - 2
    assert all(one["ended"] - one["began"] >= 2 * 6_000_000 for one in done)  # two round trips at least
    web = [one for part in hosts.values() for one in part["web"]]
    objects = [row for one in web for row in one["objects"]]
    whole = [row for row in objects if row[2] < 2**63]
    assert sorted({row[0] for row in objects}) == list(range(10))
    assert all(20e3 <= row[3] <= 50e3 for row in whole)
    assert len(whole) > 10
    assert max(8e9 * row[3] / (row[2] - row[1]) for row in whole) < 600e3
    for session in range(10):
        mine = sorted(row for row in objects if row[0] == session)
        assert all(a[2] <= b[1] for a, b in itertools.pairwise(mine))
    rates = gateway["queues"][0]["departed_bytes"] * 8 / 2.5
    assert 3e6 < rates < 7e6  # ten sessions of 0.5 Mbit/s, short flows of 1.6 Mbit/s


@pytest.mark.usefixtures("namespaces")
def test_a_run_of_the_command_line_is_a_record_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "wire.toml"
    file.write_text(
        HEAD.replace("2500ms", "1500ms").replace("conv", 'warmup = "500ms"\nconv')
        + FTP.replace('stop = "2s"', "")
    )
    command = [
        sys.executable,
        "-m",
        "sojourn",
        "run",
        file,
        "--world",
        "real",
        "--seeds",
        "1",
        "--out",
        tmp_path / "out",
    ]
    for _ in range(3):
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        done = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr
        assert "1 run in real time" in done.stderr
        if "the machine stood still" not in done.stderr:
            break
    results = sojourn.Results.open(tmp_path / "out")
    (metrics,) = [one.metrics for one in results.outcomes]
    assert results.manifest["world"] == "real"
    assert metrics["utilization"] == pytest.approx(0.95, abs=0.1)
    assert metrics["marks"]
    lost = metrics["cbr.drop_ratio"]
    assert lost
    assert metrics["cbr.goodput_bps"] == pytest.approx(800e3 * (1 - lost), rel=0.05)
    record = results.records[0]
    names = record.hosts["host"].unique().sort().to_list()
    sockets = [f"ftp.{number}" for number in range(4)]
    assert names == [*sockets, "gateway", "left0", "left1", "right0", "right1"]
    for name in sockets:
        of = dict(record.hosts.filter(host=name).select("counter", "value").rows())
        assert 2 <= of["cwnd"] <= of["data_segs_out"] < record.flows["sent_packets"].sum()
        assert of["rtt_us"] >= of["min_rtt_us"] >= 6000
    assert record.flows["window_cuts"].null_count() == 6
    late = sojourn.Results.open(tmp_path / "out").distribution("lateness")
    delivered = dict(record.hosts.filter(host="gateway").select("counter", "value").rows())["delivered"]
    assert delivered / 2 < late["count"].sum() < delivered, "two thirds of the time are counted"
    assert lateness(record) == pytest.approx(
        late.filter(late["count"].cum_sum() >= 0.99 * late["count"].sum())["late_s"][0], rel=0.1
    )
    assert (
        "Real packets left the gateway later than they were due" in (tmp_path / "out/report.html").read_text()
    )
    again = sojourn.run(results.scenario, seeds=1, world="real", out=tmp_path / "out")
    assert [one.fresh for one in again.outcomes] == [False]  # what is done is not run again


def agents() -> list[int]:
    """Return the processes of this one's hosts."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            is_ours = f"PPid:\t{os.getpid()}\n" in status.read_text()
            if is_ours and b"sojourn.worlds.real.agent" in status.with_name("cmdline").read_bytes():
                found.append(int(status.parent.name))
        except OSError:
            continue  # it has ended
    return found


@pytest.mark.usefixtures("namespaces")
def test_a_host_that_gets_no_processor_is_a_doubt() -> None:
    stopped: list[int] = []

    def stop(share: float, _done: int, _all: int) -> None:
        if share > 0.6 and not stopped:
            stopped.extend(agents())
            for agent in stopped:
                os.kill(agent, signal.SIGSTOP)
            time.sleep(0.3)
            for agent in stopped:
                os.kill(agent, signal.SIGCONT)

    results = sojourn.run(sojourn.Scenario.from_toml(HEAD + FTP), seeds=1, world="real", progress=stop)
    assert len(stopped) == 4
    hosts = results.records[0].hosts.filter(pl.col("counter") == "standstill_ns", pl.col("host") != "gateway")
    assert len(hosts) == 4
    assert hosts["value"].min() >= 270e6
    doubt = re.compile(r"the machine stood still: the host (left|right)[01] could not run for ")
    assert sum(doubt.search(one) is not None for one in results.warnings) == 1


def test_counters_of_a_connection_grow_and_its_window_stands() -> None:
    before = {"cwnd": 30, "total_retrans": 3, "delivered_ce": None}
    after = {"cwnd": 12, "total_retrans": 5, "delivered_ce": None}
    assert over(before, after) == {"cwnd": 12, "total_retrans": 2}
    assert over(None, after) == {"cwnd": 12, "total_retrans": 5}, "opened in between"


def test_what_the_kernel_does_not_count_is_null_and_not_zero() -> None:
    from sojourn.metrics import compute
    from sojourn.record import TYPES, UNKNOWN

    found = laid(FTP)
    queue = {**dict.fromkeys(TYPES["queue"], b""), "drops": [0] * 5, "marks": [0] * 5, "name": "R1-R2"}
    numbers_ = ("arrivals", "departures", "departed_bytes", "capacity_bits", "packet_ns", "idle_ns")
    more = ("packet_squared_ns", "byte_ns", "delay_sum_ns", "delay_squared_ns", "max_packets")
    queue |= dict.fromkeys((*numbers_, *more), 0)
    row = dict.fromkeys(TYPES["flows"], 0) | {"crosses": 1, "timeouts": UNKNOWN}
    from sojourn.worlds.real.columns import packed

    data = {"window": (0, 10**9), "queues": [queue], "flows": packed([row], "flows")}
    data |= {name: packed([], name) for name in ("objects", "pages")}
    values = compute(Record(data, found.plan))
    assert values["timeouts"] is None
    assert values["ftp.timeouts"] is None
    assert values["drops"] == 0.0


def test_folders_of_killed_servers_are_swept_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for owner in ("999999999", str(os.getpid())):
        (tmp_path / f"{PREFIX}{owner}-x").mkdir()
    sweep()
    assert [one.name for one in tmp_path.iterdir()] == [f"{PREFIX}{os.getpid()}-x"]


@pytest.mark.usefixtures("namespaces")
def test_nothing_outlives_a_killed_parent() -> None:
    code = (
        "import sys, time\nsys.path.insert(0, sys.argv[1])\nfrom test_hosts import WEB, laid\n"
        "from sojourn.worlds.real.hosts import Network\n"
        "with Network(laid(WEB)) as n:\n"
        " print(*(a.pid for a in n._agents.values()), flush=True)\n time.sleep(60)"
    )
    parent = subprocess.Popen(
        [sys.executable, "-c", code, str(Path(__file__).parent)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 4
    nginx = [pid for pid in _all() if _parent(pid) in pids]
    assert nginx
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    until = time.monotonic() + 20
    while any(map(_alive, pids + nginx)) and time.monotonic() < until:
        time.sleep(0.02)
    assert not [pid for pid in pids + nginx if _alive(pid)]


def _all() -> list[int]:
    return [int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit()]


def _status(pid: int, name: str) -> str:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return ""
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(name))


def _parent(pid: int) -> int:
    return int(_status(pid, "PPid") or 0)


def _alive(pid: int) -> bool:
    return _status(pid, "State")[:1] not in ("", "Z")
