"""Idle states are prevented in virtual machines; without that, a stall is reported."""

import contextlib
import os
from pathlib import Path

import pytest

from real.hold import hold
from real.wire import wire
from sojourn.worlds.real import cpu_idle
from sojourn.worlds.real.gateway import Link, run_warnings
from support import threads, until

FLAGS = "processor\t: 0\nflags\t\t: fpu sse2{}\n"


def spinning() -> list[int]:
    """Return the policies of the threads that keep this process's processors awake."""
    found = []
    for task, name in threads().items():
        with contextlib.suppress(ProcessLookupError):  # the thread has ended
            found += [os.sched_getscheduler(task)] if name == "sojourn-awake" else []
    return found


@pytest.mark.parametrize(
    ("is_virtual", "has_quota", "each"), [(True, False, 1), (False, False, 0), (True, True, 0)]
)
def test_a_thread_for_each_processor_has_the_lowest_priority_where_that_helps(
    monkeypatch: pytest.MonkeyPatch, is_virtual: bool, has_quota: bool, each: int
) -> None:
    monkeypatch.setattr(cpu_idle, "is_virtual", lambda: is_virtual)
    monkeypatch.setattr(cpu_idle, "has_quota", lambda: has_quota)
    before = spinning()
    with cpu_idle.prevent_cpu_idle():
        # A thread sets its name and priority when it first runs.
        until(lambda: spinning() == before + [os.SCHED_IDLE] * each * len(os.sched_getaffinity(0)))
    until(lambda: spinning() == before)  # a thread that was joined is listed until the kernel has removed it


@pytest.mark.parametrize(("flag", "expected"), [(" hypervisor", True), ("", False), (" nohypervisor", False)])
def test_a_virtual_machine_is_detected(tmp_path: Path, flag: str, expected: bool) -> None:
    (tmp_path / "cpuinfo").write_text(FLAGS.format(flag))
    assert cpu_idle.is_virtual(tmp_path / "cpuinfo") == expected


@pytest.mark.parametrize(
    ("own", "file", "content", "expected"),
    [
        ("0::/a/b\n", "a/cpu.max", "50000 100000", True),
        ("0::/a/b\n", "a/b/cpu.max", "max 100000", False),
        ("0::/a/b\n", "c/cpu.max", "50000 100000", False),
        ("3:cpu,cpuacct:/a\n0::/\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "50000", True),
        ("3:cpu,cpuacct:/a\n0::/\n", "cpu,cpuacct/a/cpu.cfs_quota_us", "-1", False),
        ("3:cpu:/gone\n", "cpu/cpu.cfs_quota_us", "50000", True),
        ("4:memory:/a\n", "memory/a/cpu.cfs_quota_us", "50000", False),
    ],
)
def test_a_cpu_quota_is_detected(tmp_path: Path, own: str, file: str, content: str, expected: bool) -> None:
    (tmp_path / "own").write_text(own)
    path = tmp_path / "groups" / file
    path.parent.mkdir(parents=True)
    path.write_text(content + "\n")
    assert cpu_idle.has_quota(tmp_path / "own", tmp_path / "groups") == expected


def test_without_cgroups_there_is_no_cpu_quota(tmp_path: Path) -> None:
    assert not cpu_idle.has_quota(tmp_path / "own", tmp_path / "groups")


@pytest.mark.usefixtures("namespaces")
def test_a_stall_of_the_machine_gives_a_warning() -> None:
    with wire() as place, place.gateway(Link("10Mbit/s")) as gateway:
        held = hold(os.getpid())
        record = gateway.finish()
    assert record.data["standstill_ns"] >= held - 20_000_000, "the gateway sleeps for 20 ms at most"
    said = [
        one
        for one in run_warnings(record)
        if one.startswith("the machine stalled: the gateway could not run ")
    ]
    assert len(said) == 1
