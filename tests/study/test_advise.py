"""Advice for a home link: setups as tc configures them, held-out seeds, scripts that tc and a shell accept.

Mutants seen to fail: the unrounded target simulated; the confirmation on the seeds of the choice; upload and
download exchanged in the script; a misspelled option of tc; no undo after a failure.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from sojourn.algorithms.tc import accepted
from sojourn.cli import call
from sojourn.errors import InputError
from sojourn.study.advise import run as running
from sojourn.study.advise.model import TODAY, Link, Setup, setups
from sojourn.study.advise.run import Advice, advise
from sojourn.study.advise.script import redirecting, setup_script, shaping, undo_script

LINK = Link("4mbit", "1mbit", uses=("calls", "web"))
#: Messages of a kernel that lacks a module, after tc has parsed the command.
LACKING = ("qdisc kind is unknown", "TC classifier not found", "Failed to load TC action module")


@pytest.fixture(scope="module")
def advice() -> Advice:
    return advise(LINK, seeds=3)


def setup(name: str, link: Link = LINK) -> Setup:
    return next(one for one in setups(link) if one.name == name)


def test_every_setup_is_what_tc_accepts() -> None:
    for link in (LINK, Link("933mbit", "47.3mbit", rtt="123.4567ms"), Link("1mbit", "200kbit", rtt="700ms")):
        for one in setups(link)[1:]:
            for way, rate in ((one.down, link.down_rate), (one.up, link.up_rate)):
                assert accepted(way.spec, way.place) == way.spec
                assert way.rate % 1000 == 0
                assert 0.94 * rate < way.rate <= 0.95 * rate
                words = way.line().words
                assert not [note for note in way.line().notes if "becomes" in note], words
                assert one.scenario(link).name == "home"


def test_a_target_is_not_below_the_time_of_a_packet() -> None:
    slow = setup("fq_codel", Link("8mbit", "500kbit"))
    assert "target 38.248ms" in " ".join(slow.up.line().words)
    assert "target 5ms" in " ".join(slow.down.line().words)
    far = setup("codel", Link("8mbit", "8mbit", rtt="600ms"))
    assert "target 30ms interval 600ms" in " ".join(far.up.line().words)


def test_the_gains_are_of_held_out_seeds(advice: Advice) -> None:
    assert (list(advice.seeds), list(advice.fresh)) == ([1, 2, 3], [4, 5, 6])
    best = advice.recommended
    assert best.name != TODAY
    (delay,) = [one for one in advice.gains if one.aim.metric == "call_delay"]
    assert delay.verdict == "better"
    assert delay.recommended.mean is not None
    from sojourn.api import run

    again = run(best.scenario(LINK), None, advice.fresh)
    values = running.measures(again, LINK)["call_delay"]
    assert delay.recommended.mean == sum(value for value in values if value is not None) / 3
    assert [aim.metric for aim in advice.standings.aims] == ["call_delay", "call_loss", "page_time"]
    assert sum(aim.weight for aim in advice.standings.aims) == 2, "each use has the weight 1"


def test_a_page_counts_until_the_end_of_the_run() -> None:
    """Pages before the warm-up do not count; two are complete and one is not."""
    pages = pl.DataFrame({"start_s": [1.0, 9.0, 12.0, 30.0], "end_s": [2.0, 11.0, 13.0, None]})
    assert running._page_time(pages, 10.0, 40.0) == (2.0 + 1.0 + 10.0) / 3
    assert running._page_time(pages.head(1), 10.0, 40.0) is None


def test_the_measures_of_a_run() -> None:
    """The call's delay is the mean of the slower direction, and the use is of the link, not of the shaper."""
    from sojourn.api import run

    best = setup("fq_codel")
    results = run(best.scenario(LINK), None, [1])
    flows = results.flows()
    calls = flows.filter(flows["traffic"].is_in(["call", "call-up"]))
    found = running.measures(results, LINK)
    assert found["call_delay"] == pytest.approx([max(calls["delay_ns"] / calls["received_packets"]) / 1e9])
    assert found["longest_delay"] == [calls["delay_max_ns"].max() / 1e9]  # type: ignore[operator]
    used = results.values(best.down.spec, "utilization")[0]
    assert used is not None
    assert found["down_use"][0] == pytest.approx(used * best.down.rate / LINK.down_rate)


def test_the_command_writes_scripts_and_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = "--down 2mbit --up 1mbit --use calls --seeds 2 --nic wan0 --json --serial"
    assert call(["advise", *words.split(), "--out", str(tmp_path / "a")]) == 0
    said = capsys.readouterr()
    data = json.loads(said.out)
    assert data["held_out_seeds"] == [3, 4]
    assert {one["measure"] for one in data["gains"]} == {"call_delay", "call_loss"}
    assert len(data["setups"]) == 7
    page = (tmp_path / "a/report.html").read_text()
    assert "What changes, on held-out seeds" in page
    assert f"wrote {tmp_path / 'a/home.toml'}" in said.err
    if data["script"] is not None:
        assert (tmp_path / "a/queue.sh").read_text() == data["script"]
        assert "wan0" in data["script"]


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--down 100 --up 20mbit", "--down = '100' has no unit"),
        ("--down 100mbit --up 20mbps", "--up = '20mbps'"),
        ("--down 100mbit --up 1bit/s", "--up = 1bit/s is out of range; allowed: 100kbit/s to 10Gbit/s"),
        ("--down 9mbit --up 2mbit --rtt 30", "--rtt = '30'"),
        ("--down 9mbit --up 2mbit --use call,web", "'call' is not a use (did you mean calls?)"),
        ("--down 9mbit --up 2mbit --use ,", "--use is empty; allowed: calls,games,web,downloads"),
        ("--down 9mbit --up 2mbit --nic eth0;reboot", "--nic = 'eth0;reboot' is not an interface"),
        ("--down 9mbit --up 2mbit --seeds 1", "seeds = 1"),
    ],
)
def test_invalid_options_are_refused(
    words: str, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call(["advise", *words.split(), "--out", str(tmp_path / "a")]) == 2
    assert expected in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


@pytest.mark.parametrize("name", [one.name for one in setups(LINK)[1:]])
def test_tc_parses_the_commands(name: str, program: Callable[[str], str]) -> None:
    """tc parses a command before it calls the kernel, which may lack a module."""
    one = setup(name)
    alone = [program("unshare"), "-rn"]
    if subprocess.run([*alone, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespaces")
    up, down = shaping("lo", one.up), shaping("lo", one.down)
    assert "950kbit" in up[1]
    assert "3800kbit" in down[1]
    for commands in ([*up, *redirecting("lo")], down):
        lines = "\n".join(
            ["ip link add ifb-lo type ifb || exit 9", *(f"tc {' '.join(words)}" for words in commands)]
        )
        done = subprocess.run([*alone, "sh", "-c", lines], capture_output=True, text=True, check=False)
        if done.returncode == 9:
            pytest.skip("this kernel has no ifb")
        for line in done.stderr.splitlines():
            kernel = ("We have an error talking to the kernel", "Warning: ")
            assert line.startswith(kernel) or any(part in line for part in LACKING), line


def stubs(folder: Path, failing: str = "") -> dict[str, str]:
    """Return an environment whose ip, tc, id and modprobe record their arguments in ``log``."""
    folder.mkdir()
    for name in ("ip", "tc", "modprobe"):
        answer = "exit 0"
        if name == "ip":
            answer = 'case "$*" in "link show dev ifb-"*) exit 1;; esac'
        elif name == "tc" and failing:
            answer = f'case "$*" in *{failing}*) exit 1;; esac'
        (folder / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{folder}/log"\n{answer}\n')
    (folder / "id").write_text("#!/bin/sh\necho 0\n")
    for path in folder.iterdir():
        path.chmod(0o755)
    return {"PATH": f"{folder}:{os.environ['PATH']}"}


def executed(script: str, folder: Path, failing: str = "") -> tuple[int, list[str]]:
    environment = stubs(folder, failing)
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    return done.returncode, (folder / "log").read_text().splitlines()


def test_the_script_shapes_both_directions(tmp_path: Path) -> None:
    code, ran = executed(setup_script(LINK, setup("fq_codel"), "wan0"), tmp_path / "bin")
    assert code == 0, ran
    classes = [line for line in ran if line.startswith("tc class")]
    assert ["dev wan0" in classes[0], "rate 950kbit" in classes[0]] == [True, True], "upload leaves wan0"
    assert ["dev ifb-wan0" in classes[1], "rate 3800kbit" in classes[1]] == [True, True]
    order = [ran.index(line) for line in ran if "link add" in line or "link set" in line or "filter" in line]
    assert order == sorted(order)
    assert not [line for line in ran if " del " in line]


def test_a_script_that_fails_undoes_everything(tmp_path: Path) -> None:
    code, ran = executed(setup_script(LINK, setup("fq_pie"), "wan0"), tmp_path / "bin", failing="matchall")
    assert code == 1
    removed = ["tc qdisc del dev wan0 root", "tc qdisc del dev wan0 ingress", "ip link del dev ifb-wan0"]
    assert ran[-3:] == removed
    code, ran = executed(undo_script("wan0"), tmp_path / "again")
    assert (code, ran[:3]) == (0, removed)


def test_an_interface_that_is_shaped_is_left_alone(tmp_path: Path) -> None:
    script = setup_script(LINK, setup("pie"), "wan0")
    environment = stubs(tmp_path / "bin")
    (tmp_path / "bin/tc").write_text('#!/bin/sh\necho "qdisc htb 1: root"\n')
    done = subprocess.run(
        ["/bin/sh", "-c", script], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert "wan0 is already shaped" in done.stderr
    assert "link add" not in (tmp_path / "bin/log").read_text()
    with pytest.raises(InputError, match="is not an interface"):
        setup_script(LINK, setup("pie"), "$(reboot)")
