"""The gateway with Linux on both sides: its counters match the kernel's, and it survives faults.

Mutants that were found: see `crates/gateway/tests/mutants.md`.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from real.wire import PORT, RIGHT, SO_RCVBUFFORCE, settle, wire
from sojourn.algorithms import permitting
from sojourn.errors import InputError, RunFailed
from sojourn.metrics import compute
from sojourn.record import Record, numbers
from sojourn.worlds.real.gateway import Gateway, Link, Live, lateness, run_warnings, waiting
from support import until

pytestmark = pytest.mark.usefixtures("places")


def accounted(record: Record) -> dict[str, int]:
    """Return the counters; the kernel must not have dropped a packet before the gateway."""
    tally = record.data["tally"]
    assert sum(record.data["kernel_drops"].values()) == 0
    return dict(tally)


@pytest.mark.parametrize("six", [False, True], ids=["IPv4", "IPv6"])
@pytest.mark.parametrize("aqm", ["pi q_ref 5", "fq_codel target 1ms"])
def test_every_mark_reaches_the_receiver_and_every_byte_is_counted_once(aqm: str, six: bool):
    size = 1_500_000
    with wire() as place, place.gateway(Link("20Mbit/s", "2ms", "300p", aqm, ecn=True)) as gateway:
        assert place.transfer(size, six) == size
        settle(gateway)
        record = gateway.finish()
        (queue, _) = record.data["queues"]
        marks = sum(queue["marks"])
        assert marks > 0
        assert place.counter("InCEPkts") == marks
        assert max(numbers(record.data["flows"]["goodput_bytes"], "Q")) == size
        tally = accounted(record)
        assert tally["super_packets"] > 0
        assert tally["read"] == tally["delivered"] + tally["dropped"] + tally["unroutable"]
        metrics = compute(record)
        assert metrics["ftp.marks"] == marks
        assert metrics["timeouts"] is None  # only the host counts them
        assert lateness(record) is not None


def test_the_link_has_exactly_its_nominal_rate():
    """The busy time is bytes / rate to within one packet, independent of the host's lateness."""
    with (
        wire() as place,
        place.gateway(Link("10Mbit/s", "1ms", "50p"), warmup="300ms") as gateway,
    ):
        sender, receiver = place.datagrams()

        def flood() -> Live:
            for _ in range(100):
                sender.send(bytes(1000))
            now = gateway.live()
            assert now is not None
            return now

        with sender, receiver:
            until(lambda: flood().seconds > 0.3)
            before = flood().queues[0]
            until(lambda: flood().queues[0]["departed_bytes"] - before["departed_bytes"] > 600_000)
            until(lambda: flood().queues[0]["drops"] > before["drops"])
        record = gateway.finish()
        queue = record.data["queues"][0]
        start, end = record.window
        assert start == 0.3
        busy = queue["departed_bytes"] * 800  # ns at 10 Mbit/s
        assert busy + queue["idle_ns"] == pytest.approx((end - start) * 1e9, abs=1028 * 800)
        assert queue["departed_bytes"] > 500_000
        assert sum(queue["drops"]) > 0


def test_packets_that_arrive_while_the_gateway_is_stopped_keep_their_distances():
    """They are 2 ms apart and each takes less than 1 ms on the link; all at once would overflow the queue."""
    count = 40
    with wire() as place, place.gateway(Link("10Mbit/s", "1ms", "3p")) as gateway:
        settle(gateway)
        script = [
            sys.executable,
            "-m",
            "real.send_while_stopped",
            str(os.getpid()),
            RIGHT[0],
            str(PORT),
            str(count),
        ]
        tests = Path(__file__).parents[1]
        with place.left.popen(script, cwd=tests, stdout=subprocess.PIPE, text=True) as sender:
            held = int(sender.communicate()[0])
        until(lambda: (now := gateway.live()) is not None and now.tally["delivered"] >= count)
        record = gateway.finish()
    assert accounted(record)["dropped"] == 0
    assert record.data["tally"]["unreported"] == 0
    assert record.delays["delay_s"].max() < 2e-3  # no packet waited for two others
    assert record.waiting["edge"].max() > 0.9 * held
    assert (waiting(record, 0.5) or 0) > 0.3 * held / 1e9
    assert (lateness(record, 0.5) or 0) > 0.3 * held / 1e9
    assert any("waited" in one and "W32" in one for one in run_warnings(record))


def test_a_gateway_without_a_packet_socket_warns():
    with wire() as place:
        for device in place.devices:
            assert device.tap is not None
            device.tap.close()
        blind = tuple(replace(device, tap=None) for device in place.devices)
        with replace(place, devices=blind).gateway(Link("10Mbit/s")) as gateway:
            assert place.transfer(50_000) == 50_000
            settle(gateway)
            record = gateway.finish()
    tally = accounted(record)
    assert tally["unreported"] > 0
    assert any("W33" in one for one in run_warnings(record))


def test_a_gateway_with_a_duration_ends_by_itself():
    with wire() as place, place.gateway(Link("10Mbit/s"), duration="200ms", warmup="50ms") as gateway:
        until(lambda: gateway.finished)
        record = gateway.finish()
        assert record.window == (0.05, 0.2)
        assert record.data["queues"][0]["idle_ns"] == 150_000_000


def test_code_points_are_classes():
    """AF13 is the third precedence of the first class, AF11 the first, which `prio` serves first."""
    with wire() as place:
        sender, receiver = place.datagrams()
        with sender, receiver:
            for i in range(400):
                sender.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, (10 if i % 2 else 14) << 2)
                sender.send(bytes(500))
            # All packets wait in the device, so that the queue receives them at once.
            with place.gateway(Link("1Mbit/s", limit="1000p", aqm="prio")) as gateway:
                settle(gateway)
                metrics = compute(gateway.finish())
        assert metrics["classes.0.arrivals"] == metrics["classes.2.arrivals"] == 200
        assert (metrics["classes.2.mean_delay_s"] or 0) > (metrics["classes.0.mean_delay_s"] or 0)


def test_a_flood_of_tiny_packets_is_counted_to_the_last():
    count = 20_000
    with wire() as place, place.gateway(Link("1Gbit/s", limit="100000p")) as gateway:
        sender, receiver = place.datagrams()
        # The device must hold all packets sent while the gateway is not scheduled for 10 ms.
        place.left.ip(f"link set {place.devices[0].name} txqueuelen {count}")
        with sender, receiver:
            receiver.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 1 << 24)  # prevents losses
            for _ in range(count):
                sender.send(b"")
            settle(gateway)
        record = gateway.finish()
        tally = accounted(record)
        assert sum(numbers(record.data["flows"]["received_packets"], "Q")) == count
        assert tally["delivered"] == count


def test_jumbo_frames_and_fragments_arrive_complete():
    with wire(mtu=9000) as place, place.gateway(Link("1Gbit/s", limit="10000p")) as gateway:
        sender, receiver = place.datagrams()
        with sender, receiver:
            for size in (8972, 8973, 30_000, 60_000):  # one frame, and two, four and seven pieces
                sender.send(bytes(size))
                assert len(receiver.recv(1 << 16)) == size
        assert place.transfer(300_000) == 300_000
        settle(gateway)
        record = gateway.finish()
        sent = numbers(record.data["flows"]["sent_packets"], "Q")
        assert 1 + 2 + 4 + 7 in sent  # fragments belong to the flow of the first one


def test_noise_on_a_device_is_counted_and_other_packets_pass():
    with wire() as place, place.gateway(Link("100Mbit/s")) as gateway:
        raw = place.left.within(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, 0))
        with raw:
            for noise in (
                b"\x45",
                b"\x45\0\0\x14" + bytes(8),
                b"\x60" + bytes(20),
                b"\x90" * 40,
                b"\x4f" + bytes(30),
            ):
                raw.sendto(noise, ("left", 0x0800))
            stranger = bytes.fromhex("4500001400000000401100000a000101c0a80001")
            raw.sendto(stranger, ("left", 0x0800))
        assert place.transfer(50_000) == 50_000
        settle(gateway)
        tally = accounted(gateway.finish())
        assert tally["malformed"] == 5
        assert tally["unroutable"] >= 1


def test_a_peer_that_is_down_and_a_device_that_vanishes_do_not_stop_the_gateway():
    with wire() as place, place.gateway(Link("10Mbit/s", "1ms")) as gateway:
        sender, receiver = place.datagrams()
        with sender, receiver:
            sender.send(b"one")
            assert receiver.recv(10) == b"one"
            place.right.ip("link set right down")
            sender.send(b"two")
            settle(gateway)
            place.right.ip("link set right up", "route add 10.0.0.0/8 dev right")
            sender.send(b"three")
            assert receiver.recv(10) == b"three"
            place.right.ip("link del right")
            for _ in range(50):
                sender.send(b"four")
            settle(gateway)
            until(lambda: (now := gateway.live()) is not None and now.gone == 1)
        record = gateway.finish()
        assert record.data["tally"]["undelivered"] >= 51
        assert record.data["tally"]["delivered"] >= 2


def test_a_python_algorithm_decides_about_real_packets(tmp_path: Path):
    file = tmp_path / "every.py"
    file.write_text(
        "from sojourn import DROP, PASS, Aqm\n\n\nclass EverySecond(Aqm):\n"
        '    """Drops every second packet."""\n\n    def start(self):\n        self.count = 0\n\n'
        "    def on_arrival(self, now, packet, queue, rng):\n        self.count += 1\n"
        "        return DROP if self.count % 2 == 0 else PASS\n"
    )
    link = Link("10Mbit/s", aqm=f"{file}:EverySecond")
    with permitting(True), wire() as place, place.gateway(link) as gateway:
        sender, receiver = place.datagrams()
        with sender, receiver:
            for _ in range(100):
                sender.send(b"x")
            settle(gateway)
        record = gateway.finish()
        assert sum(record.data["queues"][0]["drops"]) == 50


def test_connections_beyond_the_limit_give_a_warning():
    with wire() as place, place.gateway(Link("10Mbit/s")) as gateway:
        record = gateway.finish()
    assert run_warnings(record) == []
    record.data["ends"].append(("255", "::", 0, "::", 0))
    assert "too many connections" in run_warnings(record)[0]


def test_invalid_links_are_refused_before_a_packet_is_read():
    with wire() as place:
        for link, word in (
            (Link("10"), "has no unit"),
            (Link("10Mbit", aqm="pie targte 3ms"), "did you mean target?"),
            (Link("10Mbit", limit="none"), "limit"),
        ):
            with pytest.raises(InputError, match=word.replace("?", r"\?")):
                place.gateway(link)
        with pytest.raises(InputError, match="queue"):
            Gateway([], Link("1Mbit"), Link("1Mbit"), measured="up")


def test_a_failed_namespace_command_is_named():
    with wire() as place, pytest.raises(RunFailed, match=r"left: ip -batch -: .*nowhere"):
        place.left.ip("link set nowhere up")
