"""``sojourn shell`` as a real process: its command is behind the link, and no process outlives it.

Mutants that were found: see `crates/gateway/tests/mutants.md`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sojourn
from folders import check_folder
from sojourn.worlds.hosts.namespace import Namespace, die_with_parent
from sojourn.worlds.real.addresses import blocks
from sojourn.worlds.real.shell import STEP
from support import Cli, read_process, threads, until

#: Sleeps longer than any test; its command line is unique.
IDLE = f"sleep 10{os.getpid()}"
#: A command whose children outlive it unless they are killed.
FAMILY = f"{IDLE} & setsid {IDLE} &"
LINK = ("--rate", "20mbit", "--delay", "10ms")
BARE = (*LINK, "--no-report")
#: As seen by an ordinary user of this machine.
AS_USER = ("unshare", "--user", "--map-user=1000", "--map-group=1000")
ECHO = (
    "import os, socket, time\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(1)\n"
    "address = (os.environ.get('FAR') or os.environ['SOJOURN_OUTSIDE'], 7007)\n"
    "for _ in range(40):\n"
    "    start = time.monotonic(); s.sendto(b'x', address)\n"
    "    try: s.recv(10); break\n"
    "    except OSError: time.sleep(0.1)\n"
    "print(time.monotonic() - start)\n"
)
PEER = (
    "import socket\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('0.0.0.0', 7007))\n"
    "while True:\n    data, peer = s.recvfrom(10); s.sendto(data, peer)\n"
)
#: A server that does not listen at once.
LATE = (
    "import socket, sys, time\ntime.sleep(1)\n"
    "with socket.create_server(('', 7008)) as s:\n"
    "    c, _ = s.accept()\n    c.send(b'served')\n    c.close()\n"
)
CONNECT = (
    "import os, socket\n"
    "print(socket.create_connection((os.environ['SOJOURN_OUTSIDE'], 7008)).recv(10).decode())\n"
)
#: Connects, and ends with its input.
STAY = f"{CONNECT}import sys\nsys.stdin.read()\n"


@pytest.fixture
def scripts(tmp_path: Path) -> tuple[str, str]:
    """Return the commands of an echo server and of a client that measures a round trip."""
    found = []
    for name, text in (("peer.py", PEER), ("echo.py", ECHO)):
        (tmp_path / name).write_text(text)
        found.append(f"{sys.executable} {tmp_path / name}")
    return found[0], found[1]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start a shell around a command that idles; wait until it runs."""
    started: list[subprocess.Popen[str]] = []

    def call(*words: str) -> subprocess.Popen[str]:
        one = subprocess.Popen(
            [sys.executable, "-m", "sojourn", "shell", *BARE, "--out", str(tmp_path / "out"), *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=die_with_parent,
        )
        started.append(one)
        until(lambda: bool(idlers()))
        return one

    yield call
    for one in started:
        one.kill()
        one.communicate()


def idlers() -> list[int]:
    """Return every process that idles for these tests."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                if (place / "cmdline").read_bytes().replace(b"\0", b" ").decode().strip() == IDLE:
                    found.append(int(place.name))
            except OSError:
                continue
    return found


def _family(scripts: tuple[str, str]) -> str:
    """Return the command of a peer whose children outlive it unless they are killed."""
    return f"sh -c '{FAMILY} exec {scripts[0]}'"


def devices() -> dict[int, str]:
    """Return the names of all devices in our own namespace by their index, which is never reused."""
    return dict(socket.if_nameindex())


def device(shell: subprocess.Popen[str]) -> tuple[int, str]:
    """Return index and name of a shell's device in our own namespace; other shells may run."""
    files = map(read_process, Path(f"/proc/{shell.pid}/fdinfo").iterdir())
    names = {found[1] for file in files if (found := re.search(r"^iff:\s(\S+)$", file, re.MULTILINE))}
    ((index, name),) = ((index, name) for index, name in devices().items() if name in names)
    return index, name


def result(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """Return the JSON after the output of the command itself."""
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout[done.stdout.index("{") :])
    return found


@pytest.mark.usefixtures("places")
def test_a_command_is_behind_the_link_and_leaves_a_record(
    process: Cli, cli: Cli, scripts: tuple[str, str], tmp_path: Path
):
    peer, echo = scripts
    words = ["--aqm", "pie target 15ms", "--json", "--out", "out", "--peer", peer]
    done = process("shell", *LINK, *words, "--", *echo.split())
    assert float(done.stdout.split()[0]) >= 0.02
    found = result(done)
    assert found["metrics"]["arrivals"] >= 1
    assert found["link"]["aqm"] == "pie target 15ms"
    assert found["packets"]["delivered"] >= 2
    assert re.search(r"inside to outside +outside to inside", done.stderr)
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "link.toml",
        "manifest.json",
        "report.html",
        "rows.parquet",
        "runs",
        "schema.json",
        "traces",
    ]
    assert "runs/*.parquet" in check_folder(tmp_path / "out", "shell")
    opened = sojourn.open(tmp_path / "out")
    assert opened.kind == "shell"
    assert opened.runs["arrivals"].to_list() == [found["metrics"]["arrivals"]]
    assert "pie target 15ms" in (tmp_path / "out/link.toml").read_text()
    page = (tmp_path / "out/report.html").read_text()
    assert "Waiting packets over time" in page
    (tmp_path / "out/report.html").unlink()
    assert cli("report", "out").stdout == "out/report.html\n"
    assert (tmp_path / "out/report.html").read_text() == page
    next((tmp_path / "out/runs").iterdir()).unlink()
    broken = cli("report", "out")
    assert broken.returncode == 2
    assert re.fullmatch(r"sojourn: out has no record: runs/\w+.parquet is missing.*\n", broken.stderr)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (None, "out is not the directory of a shell: it has no manifest.json"),
        ("{", "out/manifest.json cannot be read: "),
        ("[]", "out/manifest.json cannot be read: "),
        ('{"run_id": "x", "ran": []}', "out/manifest.json has no 'warnings'"),
    ],
)
def test_a_shell_without_its_manifest_is_not_drawn(
    cli: Cli, tmp_path: Path, manifest: str | None, expected: str
):
    (tmp_path / "out").mkdir()
    (tmp_path / "out/link.toml").write_text("")
    if manifest is not None:
        (tmp_path / "out/manifest.json").write_text(manifest)
    done = cli("report", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"sojourn: {expected}")
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("places")
def test_a_shell_within_a_shell_is_two_hops_away(process: Cli, scripts: tuple[str, str]):
    peer, echo = scripts
    inner = [
        sys.executable,
        "-m",
        "sojourn",
        "shell",
        "--rate",
        "10mbit",
        "--delay",
        "15ms",
        "--no-report",
        "--",
    ]
    far = "FAR=$SOJOURN_OUTSIDE exec " + " ".join([*inner, *echo.split()])
    done = process("shell", *BARE, "--peer", peer, "--", "sh", "-c", far)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) >= 0.05
    assert done.stderr.count("record:") == 2


@pytest.mark.usefixtures("places")
def test_an_ordinary_user_needs_no_privileges(scripts: tuple[str, str], tmp_path: Path):
    if (
        shutil.which("unshare") is None
        or Path("/proc/sys/user/max_user_namespaces").read_text().strip() == "0"
    ):
        pytest.skip("this kernel gives ordinary users no namespaces (user.max_user_namespaces)")
    peer, echo = scripts
    command = [*AS_USER, sys.executable, "-m", "sojourn", "shell", *BARE, "--peer", peer, "--", *echo.split()]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        preexec_fn=die_with_parent,
    )
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[0]) >= 0.02
    assert "devices on the host itself need root" in done.stderr


@pytest.mark.usefixtures("places")
def test_a_forwarding_host_translates_addresses(
    program: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """The host is a namespace, too, with a neighbour without a route to the shell's addresses.

    A slow nft shows that the program starts when the rule exists. Seen to fail: the rule not waited for.
    """
    nft = program("nft")
    slow = tmp_path / "bin/nft"
    slow.parent.mkdir()
    slow.write_text(f'#!/bin/sh\n[ "$1" = -i ] && sleep 0.5\nexec {nft} "$@"\n')
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    host, beyond = Namespace("host"), Namespace("beyond")
    host.ip(f"link add out type veth peer name in netns /proc/{os.getpid()}/fd/{beyond.fd}")
    host.ip("addr add 10.9.0.1/24 dev out", "link set out up")
    beyond.ip("addr add 10.9.0.2/24 dev in", "link set in up")
    host.sysctl("net.ipv4.ip_forward", 1)
    command = [
        sys.executable,
        "-m",
        "sojourn",
        "shell",
        *BARE,
        "--out",
        str(tmp_path / "out"),
        "--",
        "ping",
        "-c",
        "1",
        "10.9.0.2",
    ]
    said = host.run(command).stdout
    assert " 0% packet loss" in said
    assert host.run([nft, "list", "tables"]).stdout == ""
    host.close()
    beyond.close()


@pytest.mark.usefixtures("places")
def test_a_missing_requirement_is_reported(process: Cli, tmp_path: Path):
    none = "echo 0 > /proc/sys/user/max_user_namespaces; exec setpriv --bounding-set=-all --inh-caps=-all "
    shell = f"{sys.executable} -m sojourn shell --rate 1mbit -- true"
    command = ["unshare", "--user", "--map-root-user", "sh", "-c", none + shell]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        preexec_fn=die_with_parent,
    )
    assert (done.returncode, "sysctl -w user.max_user_namespaces=10000" in done.stderr) == (2, True), (
        done.stderr
    )
    done = process("shell", "--rate", "1mbit", "--", "true", env={"PATH": "/nowhere"})
    assert (done.returncode, "Debian: iproute2" in done.stderr) == (2, True), done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.usefixtures("places")
def test_the_exit_code_is_the_commands(process: Cli):
    assert process("shell", *BARE, "--", "sh", "-c", "exit 7").returncode == 7
    assert process("shell", *BARE, "--", "sh", "-c", "kill -9 $$").returncode == 137
    done = process("shell", *BARE, "--", "no-such-program")
    assert (done.returncode, "no-such-program: command not found" in done.stderr) == (127, True)


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("whom", ["shell", "command"])
def test_after_a_kill_no_process_or_device_remains(
    start: Callable[..., subprocess.Popen[str]], scripts: tuple[str, str], whom: str
):
    one = start("--peer", _family(scripts), "--", "sh", "-c", f"{FAMILY} exec {IDLE}")
    until(lambda: len(idlers()) == 5)
    index, name = device(one)
    if whom == "shell":
        one.kill()
    else:
        # The command has the PID of the first process that init started.
        inside = [
            pid
            for pid in idlers()
            if Path(f"/proc/{pid}/status").read_text().split("NSpid:")[1].split()[1] == "2"
            and Path(f"/proc/{pid}/ns/net").readlink() != Path("/proc/self/ns/net").readlink()
        ]
        os.kill(inside[0], signal.SIGKILL)
    assert one.wait(60) == (-9 if whom == "shell" else 137)
    until(lambda: not idlers() and index not in devices())
    routes = subprocess.run(["ip", "route"], capture_output=True, text=True, check=True).stdout
    assert f" dev {name} " not in routes or name in devices().values()


@pytest.mark.usefixtures("places")
def test_a_peer_ends_with_the_program(process: Cli, scripts: tuple[str, str]):
    done = process("shell", *BARE, "--peer", _family(scripts), "--", "true")
    assert done.returncode == 0, done.stderr
    until(lambda: not idlers())


@pytest.mark.usefixtures("places")
def test_a_peer_in_the_background_serves_and_ends_with_the_program(process: Cli, tmp_path: Path):
    """As nginx does. Seen to fail: the end of the first process ends the peer."""
    daemon = tmp_path / "daemon.sh"
    daemon.write_text(f"({sys.executable} {tmp_path / 'late.py'}; exec {IDLE}) >/dev/null 2>&1 &\n")
    (tmp_path / "late.py").write_text(LATE)
    done = process("shell", *BARE, "--peer", f"sh {daemon}", "--", sys.executable, "-c", CONNECT)
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr
    until(lambda: not idlers())


@pytest.mark.usefixtures("places")
def test_the_program_starts_when_the_peer_listens(process: Cli, tmp_path: Path):
    """The peer listens only after the shell could have started the program."""
    (tmp_path / "late.py").write_text(LATE)
    peer = f"{sys.executable} {tmp_path / 'late.py'}"
    done = process("shell", *BARE, "--peer", peer, "--", sys.executable, "-c", CONNECT)
    assert (done.returncode, done.stdout) == (0, "served\n"), done.stderr


@pytest.mark.usefixtures("places")
def test_a_peer_that_fails_is_reported(process: Cli, tmp_path: Path):
    done = process("shell", *BARE, "--peer", "sh -c 'echo no port >&2; exit 3'", "--", "touch", "ran")
    said = "sojourn: --peer sh -c 'echo no port >&2; exit 3' failed with exit status 3: no port"
    assert (done.returncode, done.stderr.splitlines()[-1]) == (1, said)
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("places")
def test_a_peer_that_fails_later_is_reported_at_once(tmp_path: Path):
    (tmp_path / "late.py").write_text(LATE + "sys.exit('it is over')\n")
    peer = f"{sys.executable} {tmp_path / 'late.py'}"
    words = [*BARE, "--out", str(tmp_path / "out"), "--peer", peer, "--", sys.executable, "-c", STAY]
    command = [sys.executable, "-m", "sojourn", "shell", *words]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stderr=pipe, text=True, preexec_fn=die_with_parent) as one:
        assert one.stderr is not None
        assert one.stdin is not None
        said = next(line for line in one.stderr if "--peer" in line)
        problem = f"--peer {peer} failed with exit status 1: it is over"
        assert said == f"sojourn: warning: {problem} (sojourn explain W26)\n"
        one.stdin.close()
        assert (one.wait(60), "--peer" in one.stderr.read()) == (0, False)


@pytest.mark.usefixtures("places")
def test_under_sudo_the_program_and_its_results_belong_to_the_caller(process: Cli, tmp_path: Path):
    user = pwd.getpwnam("nobody")
    os.chown(tmp_path, user.pw_uid, user.pw_gid)
    words = ["--out", "new/out", "--export", "table.csv", "--peer", "sh -c 'id -u > peer'"]
    environment = {"SUDO_USER": "nobody"}
    done = process("shell", *LINK, *words, "--", "sh", "-c", "cat peer; id -u", env=environment)
    assert done.stdout.split() == [str(user.pw_uid)] * 2, done.stderr
    made = list(tmp_path.rglob("*"))
    assert {tmp_path / "table.csv", tmp_path / "new", tmp_path / "new/out/report.html"} <= set(made)
    assert {(path.stat().st_uid, path.stat().st_gid) for path in made} == {(user.pw_uid, user.pw_gid)}


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
def test_a_signal_ends_the_shell_with_a_record(
    start: Callable[..., subprocess.Popen[str]], number: signal.Signals, code: int
):
    one = start("--", *IDLE.split())
    one.send_signal(number)
    _, said = one.communicate(timeout=60)
    assert (one.returncode, "record:" in said) == (code, True), said
    until(lambda: not idlers())


@pytest.mark.usefixtures("places")
def test_a_killed_shell_leaves_its_counters(
    start: Callable[..., subprocess.Popen[str]], cli: Cli, tmp_path: Path
):
    one = start("--", "sh", "-c", f"ping -c 1 $SOJOURN_OUTSIDE; {IDLE}; true")
    stored = tmp_path / "out/progress.csv"
    until(lambda: stored.read_text().count("\n") > 2)
    one.kill()
    one.wait()
    opened = sojourn.open(tmp_path / "out")
    assert repr(opened).endswith(" s of its counters>")
    assert "shell, 0 runs; it has no record: the shell was killed; the table progress" in repr(opened)
    assert not opened.is_complete
    check_folder(tmp_path / "out", "shell")
    table = opened.table("progress")
    assert table["queue"].to_list()[:2] == ["inside-outside", "outside-inside"]
    assert table["arrivals"].sum() > 0
    done = cli("report", "out")
    assert (done.returncode, "out has no record: the shell was killed" in done.stderr) == (2, True)


def _on_a_disk(size: str, tmp_path: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a shell whose folder ``results`` is a disk of `size`."""
    (tmp_path / "results").mkdir(exist_ok=True)
    spare = tmp_path / "spare"
    spare.mkdir(exist_ok=True)
    shell = f'mount -t tmpfs -o size={size} none results && exec "$@"'
    command = ["unshare", "--mount", "sh", "-c", shell, "sh", sys.executable, "-m", "sojourn", "shell", *BARE]
    return subprocess.run(
        [*command, *words],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(spare)},
        preexec_fn=die_with_parent,
    )


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(
    ("size", "program"), [("64k", "echo ran"), ("3m", "echo ran; cat /dev/zero > results/fill")]
)
def test_a_full_disk_costs_no_results(size: str, program: str, tmp_path: Path):
    """The disk is full from the start, or because of the program."""
    done = _on_a_disk(size, tmp_path, "--", "sh", "-c", f"{program} 2>&-; true")
    assert (done.returncode, done.stdout) == (0, "ran\n"), done.stderr
    (folder,) = (tmp_path / "spare").iterdir()
    said = done.stderr
    assert (
        f"no space left on device; the results {'will be' if size == '64k' else 'are'} in {folder}\n" in said
    )
    assert f"record: {folder}\n" in said
    assert said.index("Queues of the link") < said.index("record: ")
    if size != "64k":
        assert said.index("Queues of the link") < said.index("no space left"), "the table precedes all files"
    assert sojourn.open(folder).runs.height == 1
    check_folder(folder, "shell")


@pytest.mark.usefixtures("places")
def test_without_room_in_out_the_program_does_not_start(tmp_path: Path):
    done = _on_a_disk("64k", tmp_path, "--out", "results/mine", "--", "touch", "ran")
    assert (done.returncode, "no space left on device" in done.stderr) == (1, True), done.stderr
    assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("places")
def test_a_stopped_shell_continues(start: Callable[..., subprocess.Popen[str]]):
    """As by Ctrl-Z and `fg`, for longer than the wait for a signal."""
    one = start("--", *IDLE.split())
    for _ in range(3):
        one.send_signal(signal.SIGSTOP)
        end = time.monotonic() + 2 * STEP
        until(lambda end=end: time.monotonic() > end)
        one.send_signal(signal.SIGCONT)
    assert one.poll() is None
    one.send_signal(signal.SIGTERM)
    _, said = one.communicate(timeout=60)
    assert (one.returncode, "record:" in said) == (143, True), said


#: Sends 20 datagrams of 1000 bytes at once, to a port where nothing listens.
BURST = (
    "import contextlib, os, socket\n"
    "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for _ in range(20): s.sendto(bytes(972), (os.environ['SOJOURN_OUTSIDE'], 7009))\n"
)
SINK = (
    "import socket\n"
    "with socket.create_server(('', 7008)) as s:\n    c, _ = s.accept()\n    while c.recv(9999): pass\n"
)
UPLOAD = (
    "import os, socket\n"
    "with socket.create_connection((os.environ['SOJOURN_OUTSIDE'], 7008)) as s: s.sendall(bytes(400_000))\n"
)


@pytest.mark.usefixtures("places")
def test_an_access_rate_spreads_bursts(process: Cli):
    """At the rate of the bottleneck, packets never wait in its queue."""
    burst = ("--limit", "2p", "--json", "--", sys.executable, "-c", BURST)
    assert result(process("shell", *BARE, *burst))["packets"]["dropped"] > 10
    found = result(process("shell", *BARE, "--access", "20mbit", *burst))
    assert found["packets"]["dropped"] == 0
    assert found["link"]["access"] == "20mbit"


@pytest.mark.usefixtures("places")
def test_without_offload_there_are_no_super_packets(process: Cli, tmp_path: Path):
    (tmp_path / "sink.py").write_text(SINK)
    words = ("--peer", f"{sys.executable} sink.py", "--json", "--", sys.executable, "-c", UPLOAD)
    assert result(process("shell", *BARE, *words))["packets"]["super_packets"] > 0
    found = result(process("shell", *BARE, "--no-offload", *words))["packets"]
    assert (found["super_packets"], found["delivered"] > 400_000 / 1448) == (0, True)


@pytest.mark.usefixtures("places")
def test_ecn_is_requested_inside_and_a_warning_says_if_nothing_was_marked(process: Cli):
    setting = "/proc/sys/net/ipv4/tcp_ecn"
    before = Path(setting).read_text()
    done = process("shell", *BARE, "--ecn", "--", "cat", setting)
    assert (done.stdout, Path(setting).read_text()) == ("1\n", before)
    assert "--ecn" not in done.stderr
    done = process("shell", *BARE, "--ecn", "--limit", "2p", "--", sys.executable, "-c", BURST)
    assert "sojourn: warning: --ecn marked no packet, and 1" in done.stderr


@pytest.mark.usefixtures("places")
def test_statistics_start_after_the_warmup(process: Cli):
    late = f"import time\ntime.sleep(1)\n{BURST}"
    found = result(process("shell", *BARE, "--warmup", "1s", "--json", "--", sys.executable, "-c", late))
    busy = found["metrics"]["busy_throughput_bps"]
    assert found["metrics"]["throughput_bps"] < busy == pytest.approx(20e6, rel=1e-3)
    done = process("shell", *BARE, "--warmup", "1h", "--", "true")
    assert "sojourn: warning: the warm-up was not over at the end: there are no statistics" in done.stderr


@pytest.mark.usefixtures("places")
def test_processors_may_sleep(start: Callable[..., subprocess.Popen[str]]):
    one = start("--no-awake", "--", *IDLE.split())
    names = threads(one.pid).values()
    assert "sojourn-gateway" in names
    assert "sojourn-awake" not in names


@pytest.mark.usefixtures("places")
def test_a_small_mtu_leaves_ipv6_out(process: Cli):
    done = process("shell", *BARE, "--mtu", "1000", "--", "ip", "-6", "addr", "show", "dev", "sojourn")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize("own", [["--net"], []], ids=["own network", "network of the host"])
def test_a_shell_works_in_a_user_namespace(own: list[str], tmp_path: Path):
    command = ["unshare", "--user", "--map-root-user", *own, sys.executable, "-m", "sojourn", "shell", *BARE]
    done = subprocess.run(
        [*command, "--", "ping", "-c", "1", "198.18.16.1"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
        cwd=tmp_path,
        preexec_fn=die_with_parent,
    )
    assert (done.returncode, " 0% packet loss" in done.stdout) == (0, True), done.stderr


@pytest.mark.usefixtures("places")
def test_a_terminal_shows_a_status_line(tmp_path: Path):
    ours, theirs = os.openpty()
    termios.tcsetwinsize(theirs, (30, 60))
    one = subprocess.Popen(
        [sys.executable, "-m", "sojourn", "shell", *BARE, "--out", str(tmp_path / "out"), "--", "cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        preexec_fn=die_with_parent,
    )
    os.close(theirs)
    line = rb"\x1b\[30;1H\x1b\[2K(up \d+\.\d\d Mbit/s \d+\.\d ms 0 drops \| down [^\x1b]*)\x1b8"
    said = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while more := os.read(ours, 4096):
            said += more
            if (re.search(line, said) or len(said) > 5000) and one.stdin is not None:
                one.stdin.close()
    os.close(ours)
    assert one.wait(60) == 0
    found = re.search(line, said)
    assert found, said
    assert len(found[1]) <= 59, "no wider than the terminal"
    assert b"\x1b[1;29r" in said, "the program has the lines above"
    assert said.rindex(b"\x1b[r") > found.start(), "and in the end all of them"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "--rate is missing"),
        (["--rate", "20"], "has no unit"),
        (["--rate", "20mbit", "--delay", "fast"], "delay"),
        (["--rate", "20mbit", "--aqm", "piee"], "did you mean pie?"),
        (["--rate", "20mbit", "--limit", "0p"], "limit"),
        (["--rate", "20mbit", "--mtu", "20"], "68 to 65535"),
        (["--rate", "20mbit", "--loss", "2"], "--impair: loss = 2 is not a probability"),
        (["--rate", "20mbit", "--impair", "jiter=5ms"], "did you mean jitter?"),
        (["--rate", "20mbit", "--impair", "loss"], "is not KEY=VALUE"),
        (["--rate", "20mbit", "--up-delay", "5"], "--up-delay = '5' has no unit"),
        (["--rate", "20mbit", "--limit", "100"], "has no unit"),
        (["--rate", "20mbit", "--seed", "-1"], "--seed = -1 is out of range"),
        (["--rate", "20mbit", "--access", "fast"], "--access"),
        (["--rate", "20mbit", "--warmup", "5"], "--warmup = '5' has no unit"),
        (["--rate", "lte.trace"], "or the file of a trace"),
        (["--rate", "20mbit", "--peer", ""], "--peer is empty"),
        (["--rate", "20mbit", "--peer", "no-such-peer -s"], "no-such-peer: command not found"),
        (["--rate", "20mbit", "--peer", "sh -c 'x"], "cannot be read: no closing quotation"),
        (["--rate", "20mbit", "--out", "/proc/nothing"], "/proc/nothing cannot be written"),
    ],
)
def test_bad_input_is_one_line_and_code_2(cli: Cli, words: list[str], said: str):
    done = cli("shell", *words, "--", "echo", "ran")
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def test_an_address_block_has_room_for_nested_shells():
    one = next(blocks(None))
    two = next(blocks(f"{one.inside}/{one.network.prefixlen}"))
    three = next(blocks(f"{two.inside}/{two.network.prefixlen}"))
    four = next(blocks(f"{three.inside}/{three.network.prefixlen}"))
    assert [b.network.prefixlen for b in (one, two, three, four)] == [20, 24, 28, 30]
    for outer, inner in ((one, two), (two, three), (three, four)):
        assert inner.network.subnet_of(outer.network)
        assert not {outer.inside, outer.outside} & {str(a) for a in inner.network}
    assert list(blocks(f"{four.inside}/30")) == []
