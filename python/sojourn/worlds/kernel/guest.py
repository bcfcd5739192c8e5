"""The first process of a User Mode Linux: builds the network of a run, runs its hosts, writes what it saw.

``python -m sojourn.worlds.kernel.guest`` reads ``job.json`` of the run's folder on the host (see
``network.py``) and writes into it: ``results.json``, the trace of the kernel (``trace``) and the headers of
the packets that pass the two routers (``R1.packets``, ``R2.packets``). Then the machine is switched off.
Computing takes no virtual time here, so the order of processes, not their speed, decides the result.
"""

from __future__ import annotations

import ctypes
import json
import mmap
import os
import select
import socket
import struct
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sojourn.worlds.hosts.agent import Agent, await_server
from sojourn.worlds.hosts.namespace import Namespace, libc
from sojourn.worlds.hosts.senders import raise_limits

OUT, TRACING = Path("/run/out"), Path("/sys/kernel/tracing")
MOUNTS = (
    ("proc", "/proc", "proc", ""),
    ("sysfs", "/sys", "sysfs", ""),
    ("tmpfs", "/run", "tmpfs", ""),
    ("tmpfs", "/tmp", "tmpfs", ""),
    ("tracefs", str(TRACING), "tracefs", ""),
)
REBOOT_POWER_OFF = 0x4321FEDC
#: Interval at which the trace is read, and the time after which the kernel closes a block of packets, s.
DRAIN, RETIRE = 0.25, 0.01
#: Blocks of the ring of a packet socket: size in bytes, and number.
BLOCK, BLOCKS = 1 << 20, 8
#: Bytes of each packet that are kept, link-layer header included.
SNAP = 96
ETH_P_ALL, SOL_PACKET, PACKET_RX_RING, PACKET_STATISTICS, PACKET_VERSION = 3, 263, 5, 6, 10
SO_ATTACH_FILTER = 26
#: Kernel memory of the trace, KiB, and size of one of its pages, bytes.
TRACE_KB, PAGE = 32768, 4096


def main() -> None:
    """Run the job; switch the machine off in any case."""
    error = ""
    try:
        for one in MOUNTS:
            _mount(*one)
        OUT.mkdir()
        _mount("none", str(OUT), "hostfs", sys.argv[1])
        _run(json.loads((OUT / "job.json").read_text("utf-8")))
    except BaseException:  # noqa: BLE001 - the machine must end, and the host reports it
        error = traceback.format_exc()
    if error:
        (OUT / "error").write_text(error, encoding="utf-8")
    libc().reboot(REBOOT_POWER_OFF)


def _mount(source: str, target: str, kind: str, options: str) -> None:
    words = (one.encode() for one in (source, target, kind))
    if libc().mount(*words, ctypes.c_ulong(0), options.encode()) != 0:
        raise OSError(ctypes.get_errno(), f"mount {target}")


def _run(job: dict[str, Any]) -> None:
    raise_limits()
    places = {name: Namespace(name) for name in job["namespaces"]}
    _batch("ip", job["links"], places)
    for name, lines in job["ip"].items():
        places[name].run(["ip", "-force", "-batch", "-"], input="\n".join(lines) + "\n")
    for name, lines in job["tc"].items():
        places[name].run(["tc", "-batch", "-"], input="\n".join(lines) + "\n")
    for name in job["routers"]:
        places[name].sysctl("net.ipv4.ip_forward", 1)
    for name in job["held"]:
        places[name].within(partial(_hold, job["held_priority"]))
    start = (time.monotonic_ns() // 1_000_000_000 + 2) * 1_000_000_000
    end = start + job["duration"]
    trace = Trace(job["devices"])
    agents = [_fork(partial(_agent, name, places[name], start)) for name in job["jobs"]]
    taps = {name: places[name].within(partial(Tap, name, device)) for name, device in job["queues"].items()}
    while time.monotonic_ns() < end + 1_000_000_000:
        select.select(list(taps.values()), [], [], DRAIN)
        for tap in taps.values():
            tap.drain()
        trace.drain()
        (OUT / "elapsed").write_text(str(time.monotonic_ns() - start), encoding="ascii")
    for process in agents:
        os.waitpid(process, 0)
    for tap in taps.values():
        tap.drain()
    trace.stop()
    queues = {name: places[name].run(["tc", "-s", "-j", "qdisc", "show"]).stdout for name in job["queues"]}
    results = {
        "start": start,
        "lost": {name: tap.lost() for name, tap in taps.items()},
        "trace_lost": trace.lost,
        "formats": trace.formats,
        "queues": queues,
    }
    (OUT / "results.json").write_text(json.dumps(results), encoding="utf-8")


def _hold(priority: int) -> None:
    """Send the packet that the second band of a queue holds (see ``network.py``)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_PRIORITY, priority)
        one.sendto(b"held", ("10.66.0.1", 9))


def _batch(program: str, lines: list[str], places: dict[str, Namespace]) -> None:
    """Run lines of ``ip``; ``{NAME}`` in them is replaced by the path of a namespace."""
    paths = {name: f"/proc/{os.getpid()}/fd/{place.fd}" for name, place in places.items()}
    text = "".join(f"{line.format_map(paths)}\n" for line in lines)
    Namespace.own().run([program, "-batch", "-"], input=text)


def _fork(action: Callable[[], None]) -> int:
    process = os.fork()
    if process:
        return process
    try:
        action()
    except BaseException:  # noqa: BLE001 - reported by the host
        (OUT / f"failed.{os.getpid()}").write_text(traceback.format_exc(), encoding="utf-8")
    os._exit(0)


def _agent(name: str, place: Namespace, start: int) -> None:
    """Run the job of one namespace in this process."""
    place.enter()
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))  # its timers are exact
    agent = Agent(json.loads((OUT / f"{name}.job").read_text("utf-8")))
    try:
        if agent.server is not None:
            await_server(agent.server, agent.job["nginx"][0])
        (OUT / f"{name}.results").write_text(json.dumps(agent.run(start)), encoding="utf-8")
    finally:
        agent.close()


class Trace:
    """The kernel's trace of packets: sent, queued, transmitted, dropped, received, with virtual times.

    Parameters
    ----------
    devices : mapping
        Filter of the devices' names for each event: ``{"net/net_dev_queue": 'name ~ "h*"'}``.
    """

    def __init__(self, devices: dict[str, str]) -> None:
        self.lost = 0
        self.formats = {}
        _write("buffer_size_kb", TRACE_KB)
        _write("trace_clock", "mono")
        for event, rule in devices.items():
            folder = TRACING / "events" / event
            self.formats[event] = (folder / "format").read_text("ascii")
            if rule:
                (folder / "filter").write_text(rule, encoding="ascii")
            (folder / "enable").write_text("1", encoding="ascii")
        self._file = (OUT / "trace").open("wb", buffering=1 << 20)
        self._raw = os.open(TRACING / "per_cpu/cpu0/trace_pipe_raw", os.O_RDONLY | os.O_NONBLOCK)

    def drain(self) -> None:
        """Append the trace so far to the file on the host."""
        while True:
            try:
                page = os.read(self._raw, PAGE)
            except BlockingIOError:
                return
            if not page:
                return
            self._file.write(page.ljust(PAGE, b"\0"))

    def stop(self) -> None:
        """Trace nothing more; write the rest."""
        _write("tracing_on", 0)
        self.drain()
        self._file.close()
        for line in (TRACING / "per_cpu/cpu0/stats").read_text("ascii").splitlines():
            name, _, value = line.partition(":")
            if name in ("overrun", "dropped events", "commit overrun"):
                self.lost += int(value)


def _write(name: str, value: object) -> None:
    (TRACING / name).write_text(f"{value}\n", encoding="ascii")


class Tap:
    """The headers of the packets that enter and leave the queue of a router, in their order.

    Parameters
    ----------
    name : str
        Of the router, and of the file.
    device : str
        With the queue. Of other devices, only received packets are kept; of this, only sent ones.
    """

    def __init__(self, name: str, device: str) -> None:
        self._socket = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self._socket.setsockopt(SOL_PACKET, PACKET_VERSION, 2)  # TPACKET_V3
        ring = struct.pack("7I", BLOCK, BLOCKS, 2048, BLOCK // 2048 * BLOCKS, int(RETIRE * 1000), 0, 0)
        self._filter(socket.if_nametoindex(device))
        self._socket.setsockopt(SOL_PACKET, PACKET_RX_RING, ring)
        self._ring = mmap.mmap(self._socket.fileno(), BLOCK * BLOCKS)
        self._next = 0
        self._file = (OUT / f"{name}.packets").open("wb", buffering=1 << 20)

    def _filter(self, device: int) -> None:
        """Attach a classic BPF program: the packet's type and device (linux/filter.h, SKF_AD_OFF)."""
        kind, index = 0xFFFFF000 + 4, 0xFFFFF000 + 8
        program = [
            (0x20, 0, 0, index),  # 0: load the device
            (0x15, 2, 0, device),  # 1: the queue's: 4
            (0x20, 0, 0, kind),  # 2: load the type
            (0x15, 2, 3, socket.PACKET_HOST),  # 3: received by another device: keep
            (0x20, 0, 0, kind),  # 4
            (0x15, 0, 1, socket.PACKET_OUTGOING),  # 5: sent by the queue's: keep
            (0x06, 0, 0, SNAP),  # 6: keep
            (0x06, 0, 0, 0),  # 7: ignore
        ]
        code = b"".join(struct.pack("HBBI", *one) for one in program)
        text = ctypes.create_string_buffer(code)
        self._socket.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(text))
        )

    def fileno(self) -> int:
        """Return the descriptor, for `select`."""
        return self._socket.fileno()

    def drain(self) -> None:
        """Append the blocks that the kernel has closed to the file on the host."""
        for block in self._closed():
            self._file.write(self._ring[block : block + BLOCK][: self._length(block)])
            struct.pack_into("I", self._ring, block + 8, 0)
        self._file.flush()

    def _closed(self) -> Iterator[int]:
        while True:
            block = self._next * BLOCK
            if not struct.unpack_from("I", self._ring, block + 8)[0] & 1:
                return
            yield block
            self._next = (self._next + 1) % BLOCKS

    def _length(self, block: int) -> int:
        """Return the bytes of a block that are used (``tpacket_hdr_v1.blk_len``)."""
        return int(struct.unpack_from("I", self._ring, block + 20)[0])

    def lost(self) -> int:
        """Return the number of packets that did not fit into the ring."""
        return int(struct.unpack("3I", self._socket.getsockopt(SOL_PACKET, PACKET_STATISTICS, 12))[1])


if __name__ == "__main__":
    main()
