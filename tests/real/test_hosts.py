"""Hosts around the gateway: its counters match the kernel's, and no process or device remains."""

import dataclasses
import itertools
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sojourn
from folders import check_folder
from real.hold import hold
from real.wire import settle
from sojourn.record import Record, numbers
from sojourn.worlds.hosts.counters import namespace as namespace_counters
from sojourn.worlds.hosts.counters import over
from sojourn.worlds.hosts.jobs import layout
from sojourn.worlds.hosts.namespace import die_with_parent
from sojourn.worlds.hosts.testbed import Layout
from sojourn.worlds.real.gateway import lateness
from sojourn.worlds.real.hosts import Network
from sojourn.worlds.real.world import gateway as gateway_of
from support import is_alive, read_process, until

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


@dataclasses.dataclass
class Quiet:
    """A run that ends with no packet in flight, so that all counters are final."""

    gateway: dict[str, Any]
    hosts: dict[Any, dict[str, Any]]
    #: The kernel's counters of all namespaces since their creation.
    kernel: Counter[str]
    #: Total time for which the hosts and the gateway could not run, ns.
    standstill: int


def run_quiet(found: Layout) -> Quiet:
    """Run a layout as `measure` does, but continue until no packet is in flight."""
    endless = dataclasses.replace(found, scenario=found.scenario.with_(duration="1000s"))
    with Network(endless) as network, gateway_of(endless, network.hosts) as gateway:
        network.start(time.monotonic_ns())
        hosts = network.results()
        settle(gateway)
        kernel: Counter[str] = Counter()
        for place in {one.device.namespace for one in network.hosts}:
            kernel.update(place.within(namespace_counters))
        gateway.stop()
        data = gateway.finish().data
    standstill = data["standstill_ns"] + sum(one["standstill_ns"] for one in hosts.values())
    return Quiet(data, hosts, kernel, standstill)


@pytest.mark.usefixtures("namespaces")
def test_the_kernel_counts_what_the_gateway_counts() -> None:
    run = run_quiet(laid(FTP.replace('"2s"', '"1s"').replace('"100p"', '"25p"')))
    gateway, hosts = run.gateway, run.hosts
    faults = [one["faults"][kind]["count"] for one in hosts.values() for kind in ("network", "testbed")]
    assert faults == [0] * 8
    tally = gateway["tally"]
    assert tally["malformed"] == tally["undelivered"] == tally["odd"] == 0
    assert sum(gateway["kernel_drops"].values()) == 0
    assert run.kernel["IpInReceives"] == tally["delivered"]
    queue = gateway["queues"][0]
    assert run.kernel["IpExtInCEPkts"] == sum(queue["marks"]) > 0
    again = sum(numbers(gateway["flows"]["retransmitted_packets"], "Q"))
    assert again == run.kernel["TcpRetransSegs"] - run.kernel["TcpExtTCPSynRetrans"] > 0
    counted: Counter[str] = Counter()
    for one in hosts.values():
        counted.update(one["counters"])
    assert counted["TcpActiveOpens"] == run.kernel["TcpActiveOpens"] == 4
    for name in ("IpInReceives", "IpExtInCEPkts", "TcpRetransSegs"):
        assert 0 < counted[name] <= run.kernel[name], "hosts count until they end"
    goodput = numbers(gateway["flows"]["goodput_bytes"], "Q")
    seen = {tuple(ends[:3]): count for ends, count in zip(gateway["ends"], goodput, strict=True)}
    sent = [one["sent"] for part in hosts.values() for one in part["udp"]]
    assert sent == [100, 100]  # datagrams of 500 bytes on the wire, 100 a second, for one second
    received = {
        (protocol, peer, source): count
        for one in hosts.values()
        for protocol, _, peer, source, count, _ in one["received"]
    }
    assert set(received) <= set(seen)
    for ends, carried in seen.items():
        behind = carried - received.get(ends, 0)
        assert behind >= 0
        # Sinks count 1.5 s after the last packet was sent, unless a host stalled. Data that TCP has received
        # after a gap when the sender is stopped is never read.
        allowed = 0 if ends[0] == "udp" else 100 * 1448
        assert behind <= allowed or run.standstill > 1_000_000_000


DATAGRAMS = """
[queue]
limit = "20p"
aqm = "droptail"
[[traffic]]
name = "call"
kind = "call"
[[traffic]]
name = "game"
kind = "game"
deadline = "1ms"
[[traffic]]
name = "ping"
kind = "probe"
[[traffic]]
name = "flood"
kind = "udp-cbr"
rate = "12Mbit/s"
size = "500B"
"""


@pytest.mark.usefixtures("namespaces")
def test_receivers_of_datagrams_measure_delays_losses_and_round_trips() -> None:
    """Every bound holds on a stalled machine too. Mutants seen to fail: sinks do not return datagrams; the
    arrivals of another flow; datagrams that arrive when they are sent."""
    scenario = sojourn.Scenario.from_toml(HEAD + DATAGRAMS)
    results = sojourn.run(scenario, seeds=1, world="real")
    (record,), aqm = results.records, results.aqms[0]
    flows = record.flows.to_dicts()
    columns = record.rows("deliveries")
    assert [flows[row]["traffic"] for row in columns["flow"]] == ["call", "game", "ping", "flood"]
    for i, row in enumerate(columns["flow"]):
        name, drops = flows[row]["traffic"], flows[row]["queue_drops"] + flows[row]["dropped_packets"]
        assert columns["lost_packets"][i] <= drops, name
        # 2 ms on the bottleneck, 1 or 3 ms on the access link
        assert 3_000_000 <= columns["delay_min_ns"][i] < 2_500_000_000, name
    call, game, ping, flood = range(4)
    # Of the few pings no two neighbours may arrive; of the hundred datagrams of the call some do.
    assert columns["jitter_pairs"][call] > 0
    assert columns["lost_packets"][flood] > 0
    assert columns["late_packets"][game] == columns["playout_packets"][game] > 0
    assert columns["echoes"][ping] > 0
    values = {
        name: results.values(aqm, name)[0] for name in ("call.mos", "ping.mean_rtt_s", "call.p50_owd_s")
    }
    assert 1 <= values["call.mos"] <= 4.5
    assert values["call.p50_owd_s"] >= 0.003
    assert 0.006 <= values["ping.mean_rtt_s"] < 2.5


@pytest.mark.usefixtures("namespaces")
def test_objects_are_sequential_and_no_faster_than_the_cap() -> None:
    found = laid(WEB)
    run = run_quiet(found)
    hosts = run.hosts
    goodput = numbers(run.gateway["flows"]["goodput_bytes"], "Q")
    seen = {tuple(ends): count for ends, count in zip(run.gateway["ends"], goodput, strict=True)}
    flows = {flow: ends for ends, flow in found.tuples.items()}
    short = [one for part in hosts.values() for one in part["tcp"]]
    assert len(short) == len(found.tuples)
    for one in short:
        if one["ended"] is not None:
            assert one["ended"] - one["began"] >= 2 * 6_000_000, "two round trips at least"
            assert seen[flows[tuple(one["flow"])]] == 10_000
        else:
            assert one["began"] is None or one["began"] > 2e9 - run.standstill, "half a second is enough"
    web = [one for part in hosts.values() for one in part["web"]]
    objects = [row for one in web for row in one["objects"]]
    whole = [row for row in objects if row[2] < 2**63]
    assert sorted({row[0] for row in objects}) == list(range(10))
    assert len(whole) >= 10 * int((2.5e9 - run.standstill) / 1e9), "50 kB take 0.8 s"
    assert all(20e3 <= row[3] <= 50e3 for row in whole)
    assert max(8e9 * row[3] / (row[2] - row[1]) for row in whole) < 600e3
    for session in range(10):
        mine = sorted(row for row in objects if row[0] == session)
        assert all(a[2] <= b[1] for a, b in itertools.pairwise(mine))
    # What clients have not read when they end is in their buffers; each response has a header.
    got = sum(count for one in web for _, count in one["got"])
    carried = sum(seen.values()) - sum(seen.get(ends, 0) for ends in found.tuples)
    assert got <= carried <= got + 10 * 65536 + 400 * len(objects)


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
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=300, check=False, preexec_fn=die_with_parent
    )
    assert done.returncode == 0, done.stderr
    assert "1 run in real time" in done.stderr
    results = sojourn.Results.open(tmp_path / "out")
    (metrics,) = [one.metrics for one in results.outcomes]
    assert results.manifest["world"] == "real"
    assert "runs/*.parquet" in check_folder(tmp_path / "out", "run")
    assert sojourn.open(tmp_path / "out").runs.equals(results.runs)
    record = results.records[0]
    queue, flows = record.queues[0], record.flows
    assert record.seconds == 1.0
    # Ends of transmissions are rounded, so that a full link may have a little more than its rate.
    assert metrics["utilization"] == pytest.approx(min(1.0, queue["departed_bytes"] * 8 / 10e6))
    assert metrics["marks"] == sum(queue["marks"]) > 0
    still = record.hosts.filter(counter="standstill_ns")["value"].sum() / 1e9
    assert metrics["utilization"] > 0.85 - still
    cbr = flows.filter(traffic="cbr")
    assert metrics["cbr.drop_ratio"] == cbr["queue_drops"].sum() / cbr["queue_arrivals"].sum() > 0
    assert metrics["cbr.goodput_bps"] == pytest.approx(cbr["received_packets"].sum() * 500 * 8)
    # 100 per second from each of two sources; a source that could not run catches up later.
    assert cbr["sent_packets"].sum() == pytest.approx(200, abs=4 + 200 * still)
    names = record.hosts["host"].unique().sort().to_list()
    sockets = [f"ftp.{number}" for number in range(4)]
    assert names == [*sockets, "gateway", "left0", "left1", "right0", "right1"]
    for name in sockets:
        of = dict(record.hosts.filter(host=name).select("counter", "value").rows())
        assert of["cwnd"] >= 1
        assert of["data_segs_out"] < flows["sent_packets"].sum()
        if of["data_segs_out"]:  # its SYN was not lost until the end
            assert of["rtt_us"] >= of["min_rtt_us"] >= 6000
    assert flows["window_cuts"].null_count() == 6
    late = sojourn.Results.open(tmp_path / "out").distribution("lateness")
    delivered = dict(record.hosts.filter(host="gateway").select("counter", "value").rows())["delivered"]
    assert flows["received_packets"].sum() < late["count"].sum() < delivered, "without the warm-up"
    assert lateness(record) == pytest.approx(
        late.filter(late["count"].cum_sum() >= 0.99 * late["count"].sum())["late_s"][0], rel=0.1
    )
    assert "The gateway sent real packets late, by about " in (tmp_path / "out/report.html").read_text()
    again = sojourn.run(results.scenario, seeds=1, world="real", out=tmp_path / "out")
    assert [one.fresh for one in again.outcomes] == [False]  # finished runs are not repeated


def agents() -> list[int]:
    """Return the processes of the hosts of this process."""
    found = []
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            is_ours = f"PPid:\t{os.getpid()}\n" in status.read_text()
            if is_ours and b"sojourn.worlds.hosts.agent" in status.with_name("cmdline").read_bytes():
                found.append(int(status.parent.name))
        except OSError:
            continue  # it has ended
    return found


@pytest.mark.usefixtures("namespaces")
def test_a_stalled_host_gives_a_warning() -> None:
    held: list[int] = []

    def stop(share: float, _done: int, _all: int) -> None:
        if share > 0.2 and not held:
            pids = agents()
            assert len(pids) == 4
            held.append(hold(*pids))

    results = sojourn.run(sojourn.Scenario.from_toml(HEAD + FTP), seeds=1, world="real", progress=stop)
    hosts = results.records[0].hosts.filter(pl.col("counter") == "standstill_ns", pl.col("host") != "gateway")
    assert len(hosts) == 4
    assert hosts["value"].min() >= held[0] - 20_000_000, "a host reads the time every 20 ms"
    doubt = re.compile(r"the machine stalled: the host (left|right)[01] could not run for ")
    assert sum(doubt.search(one) is not None for one in results.warnings) == 1


def test_counters_of_a_connection_are_summed_and_its_window_is_not() -> None:
    before = {"cwnd": 30, "total_retrans": 3, "delivered_ce": None}
    after = {"cwnd": 12, "total_retrans": 5, "delivered_ce": None}
    assert over(before, after) == {"cwnd": 12, "total_retrans": 2}
    assert over(None, after) == {"cwnd": 12, "total_retrans": 5}, "opened in between"


def test_counters_that_the_kernel_lacks_are_null_and_not_zero() -> None:
    from sojourn.metrics import compute
    from sojourn.record import TYPES, UNKNOWN

    found = laid(FTP)
    queue = {**dict.fromkeys(TYPES["queue"], b""), "drops": [0] * 5, "marks": [0] * 5, "name": "R1-R2"}
    numbers_ = ("arrivals", "departures", "departed_bytes", "capacity_bits", "packet_ns", "idle_ns")
    more = ("packet_squared_ns", "byte_ns", "delay_sum_ns", "delay_squared_ns", "max_packets")
    queue |= dict.fromkeys((*numbers_, *more), 0)
    row = dict.fromkeys(TYPES["flows"], 0) | {"crosses": 1, "timeouts": UNKNOWN}
    from sojourn.worlds.hosts.columns import packed

    data = {"window": (0, 10**9), "queues": [queue], "flows": packed([row], "flows")}
    data |= {name: packed([], name) for name in ("objects", "pages")}
    values = compute(Record(data, found.plan))
    assert values["timeouts"] is None
    assert values["ftp.timeouts"] is None
    assert values["drops"] == 0.0


@pytest.mark.usefixtures("namespaces")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_nothing_outlives_a_killed_parent(tmp_path: Path, number: signal.Signals) -> None:
    folder = tmp_path / 'of "temporary" files; {here}'  # never in nginx's configuration
    folder.mkdir()
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
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TMPDIR": str(folder)},
        preexec_fn=die_with_parent,
    )
    assert parent.stdout is not None
    pids = [int(word) for word in parent.stdout.readline().split()]
    assert len(pids) == 4
    nginx = [child for pid in pids for child in children(pid)]
    assert nginx
    folders = {Path(f"/proc/{pid}/cwd").readlink() for pid in nginx}
    assert folders == {Path("/")}, "a file system without a path"
    parent.send_signal(number)
    parent.wait()
    parent.stdout.close()
    until(lambda: not any(map(is_alive, pids + nginx)))
    assert not list(folder.iterdir())


def children(parent: int) -> list[int]:
    """Return the processes that a process has started."""
    every = (int(one.name) for one in Path("/proc").iterdir() if one.name.isdigit())
    return [pid for pid in every if int(_status(pid, "PPid") or 0) == parent]


def _status(pid: int, name: str) -> str:
    lines = read_process(Path(f"/proc/{pid}/status")).splitlines()
    found = (line.partition(":")[2].strip() for line in lines if line.startswith(name))
    return next(found, "")
