"""Measures the gateway, one line per goal (see README.md); needs root, iperf3 and an idle machine."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import sojourn
from sojourn.errors import SojournError
from sojourn.worlds.hosts.namespace import Namespace, is_privileged, missing
from sojourn.worlds.real.gateway import Gateway, Host, Link, lateness
from sojourn.worlds.real.tun import open_tun

HERE = Path(__file__).parent
LEFT, RIGHT = "10.0.1.1", "10.0.2.1"
SECONDS = 10
#: On the wire, in bytes.
SIZE = 1500
FLOOD = """
import socket, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect((sys.argv[1], 7))
step, data = float(sys.argv[2]), bytes(int(sys.argv[3]))
due = time.monotonic()
while True:
    s.send(data)
    due += step
    while time.monotonic() < due - 0.002:
        time.sleep(0.001)
"""
#: SO_TIMESTAMPNS (the kernel's time stamp of each received packet), SO_RCVBUFFORCE.
STAMP, BUFFER = 35, 33


@contextlib.contextmanager
def between(
    forward: Link, warmup: str = "0s", interval: str | None = None
) -> Iterator[tuple[Namespace, Namespace, Gateway]]:
    """Yield two hosts and the gateway between them."""
    left, right = Namespace("left"), Namespace("right")
    for one in (left, right):
        one.sysctl("net.ipv4.tcp_ecn", 1)
    route = ["10.0.0.0/8 congctl reno"]
    doors = open_tun(left, "left", [f"{LEFT}/32"], route), open_tun(right, "right", [f"{RIGHT}/32"], route)
    hosts = [Host("left", "left", doors[0], [LEFT]), Host("right", "right", doors[1], [RIGHT])]
    back = Link(forward.rate, forward.delay)
    try:
        with Gateway(
            hosts, forward, back, warmup=warmup, interval=interval, measured="left-right"
        ) as gateway:
            yield left, right, gateway
    finally:
        for door in doors:
            door.close()
        left.close()
        right.close()


def tcp(link: Link, seconds: int, flows: int) -> tuple[float, float, int, int]:
    """Return received Mbit/s of greedy TCP, the 99th percentile of lateness in us, marks, and `InCEPkts`."""
    with between(link) as (left, right, gateway):
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        server = right.popen(["iperf3", "-s", "-1"], **quiet)
        while ":5201" not in right.run(["ss", "-Hltn"]).stdout:
            time.sleep(0.02)
        words = ["iperf3", "-c", RIGHT, "-t", str(seconds), "-O", "1", "-P", str(flows), "--json"]
        found = json.loads(left.run(words).stdout)
        server.wait()
        time.sleep(1)
        heads, values = (
            line.split() for line in right.read("/proc/net/netstat").splitlines() if line.startswith("IpExt:")
        )
        record = gateway.finish()
        marks = sum(record.data["queues"][0]["marks"])
        late = 1e6 * (lateness(record) or 0.0)
        rate = found["end"]["sum_received"]["bits_per_second"] / 1e6
        return rate, late, marks, int(values[heads.index("InCEPkts")])


def rate_error(rate: int, seconds: int = SECONDS) -> tuple[float, float, float]:
    """Measure a link that is never idle.

    Returns
    -------
    error : float
        Relative error of its rate, by the time stamps of the receiving kernel.
    late : float
        99th percentile of lateness in us.
    idle : float
        Share of the time without a packet to send; if it is not 0, the sender had no data and `error` is
        void.
    """
    link = Link(f"{rate}bit/s", "1ms", "20000p")
    with between(link, warmup="1s") as (left, right, gateway):
        receiver = right.within(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
        receiver.setsockopt(socket.SOL_SOCKET, BUFFER, 1 << 29)
        receiver.setsockopt(socket.SOL_SOCKET, STAMP, 1)
        receiver.bind((RIGHT, 7))
        sender = left.popen(
            ["nice", "-n", "-15", sys.executable, "-c", FLOOD, RIGHT, str(4 * SIZE / rate), str(SIZE - 28)]
        )
        stamps = []
        try:
            end = time.monotonic() + seconds + 1
            while time.monotonic() < end:
                _, extra, _, _ = receiver.recvmsg(2000, 64)
                whole, part = (int.from_bytes(extra[0][2][i : i + 8], sys.byteorder) for i in (0, 8))
                stamps.append(whole * 1_000_000_000 + part)
        finally:
            sender.kill()
            sender.wait()
            receiver.close()
        record = gateway.finish()
        stamps = stamps[len(stamps) // (seconds + 1) :]
        measured = 8e9 * SIZE * (len(stamps) - 1) / (stamps[-1] - stamps[0])
        idle = record.data["queues"][0]["idle_ns"] / 1e9 / record.seconds
        return measured / rate - 1, 1e6 * (lateness(record) or 0.0), idle


def mahimahi(seconds: int) -> str:
    """Return the goodput of mahimahi's link at 1 Gbit/s, or the reason why it was not measured."""
    if shutil.which("mm-link") is None:
        return "mahimahi is not installed"
    if os.getuid() == 0:
        return "mahimahi does not run as root"
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "1gbit"
        trace.write_text("\n".join(str(1 + i * 12 // 1000) for i in range(100_000)))
        server = subprocess.Popen(["iperf3", "-s", "-1"], stdout=subprocess.DEVNULL)
        client = f"iperf3 -c $MAHIMAHI_BASE -t {seconds} -O 1 --json"
        queue = ["--uplink-queue=codel", "--uplink-queue-args=packets=1000,target=5,interval=100"]
        command = ["mm-delay", "1", "mm-link", str(trace), str(trace), *queue, "--", "sh", "-c", client]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        server.wait()
        if done.returncode != 0:
            return f"mahimahi failed: {done.stderr.strip()}"
        return (
            f"mahimahi {json.loads(done.stdout)['end']['sum_received']['bits_per_second'] / 1e6:.0f} Mbit/s"
        )


def main() -> None:
    """Measure and print."""
    problem = missing() or ("" if is_privileged() else "needs root")
    problem = problem or ("" if shutil.which("iperf3") else "the program iperf3 is not installed")
    if problem:
        sys.exit(f"bench-real: {problem}")
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores", flush=True)
    rates = sorted(tcp(Link("1Gbit/s", "1ms", "1000p", "codel"), SECONDS, 1)[0] for _ in range(3))
    best = statistics.median(rates)
    note = f"{rates[0]:.0f} to {rates[-1]:.0f} in 3 runs; {mahimahi(SECONDS)}"
    say("tcp-1gbit-codel", f"{best:.0f} Mbit/s", ">= 900", best >= 900, note)
    late = []
    for rate in (10, 25, 50, 100):
        error, p99, idle = rate_error(rate * 1_000_000)
        late.append(p99)
        note = f"void: no data to send for {100 * idle:.2f} % of the time" if idle else ""
        say(f"rate-error-{rate}", f"{100 * error:+.4f} %", "<= 0.02", abs(error) <= 2e-4, note)
    say("lateness-p99", f"{max(late):.0f} us", "<= 200", max(late) <= 200)
    scenario = sojourn.load(HERE / "connections4000.toml")
    metrics = sojourn.run(scenario, seeds=1, world="real").outcomes[0].metrics
    held, idle = metrics["web.active_transfers"] or 0.0, metrics["idle_share"] or 0.0
    say("connections-4000", f"{100 * idle:.2f} % idle", "= 0.00", idle == 0, f"{held:.0f} held on average")
    _, _, marks, seen = tcp(Link("25Mbit/s", "5ms", "300p", "pi q_ref 30", ecn=True), SECONDS, 4)
    say("marks-seen", f"{marks} marks", f"= {seen}", marks == seen > 0)


def say(name: str, value: str, goal: str, good: bool, note: str = "") -> None:
    """Print one line."""
    word = "reached" if good else "MISSED"
    print(f"{name:18}{value:>16}   goal {goal:10}{word:10}{note}".rstrip(), flush=True)


if __name__ == "__main__":
    try:
        main()
    except SojournError as error:
        sys.exit(f"bench-real: {error}")
