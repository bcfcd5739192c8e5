"""Makes the reference results with ns-2 (Debian package ``ns2``), except ``results`` and ``sensitivity``.

Run from the root of the clone: ``python -m validation.ns2.make_reference [KIND]...``; KINDS below.
The results are committed; this script documents how they were made.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).parent
REFERENCE = HERE / "reference"
SEEDS = range(1, 6)
KEPT = (
    "util",
    "drop_ratio",
    "mark_ratio",
    "q_mean",
    "q_std",
    "timeouts",
    "mean_drop_run",
    "goodput_mbps",
    "goodput_jain",
)
#: Cases with equal round-trip times and no randomness in the queue: the phase determines which packet is
#: dropped.
PHASE_SENSITIVE = [
    *(f"R-{delay}-{flows}-DropTail" for delay in ("D10", "D100") for flows in ("N40", "N400")),
    *(f"R-{delay}-N40-AVQ" for delay in ("D10", "D100")),
]
#: The service time of a packet.
OVERHEAD = "0.000432"
TRANSIENTS = [f"R-{delay}-{flows}-PI" for delay in ("D10", "D100") for flows in ("N40", "N400")]
WINDOW = 10
#: Cases that change with the start of ns-2's clock, and the start at which the rounding error of a service
#: time has the other sign.
CLOCK = {
    "B-x1-q40-ecn": 200,
    "B-x10-q40-ecn": 200,
    "B-x10-q160-ecn": 200,
    "R-D10-N400-PI": 600,
    "R-D100-N400-DropTail": 600,
    "A-D100-N40-auto-ecn": 600,
}


def arguments() -> dict[str, str]:
    """Return the arguments of ns-2 in each case."""
    lines = "".join((REFERENCE / f"{kind}.args").read_text() for kind in ("results", "tuned")).splitlines()
    return dict(line.split(" ", 1) for line in lines)


def ns2(script: str, words: Iterable[str]) -> dict[str, float]:
    """Run ns-2 and return its line of statistics."""
    run = subprocess.run(
        ["ns", str(HERE / script), *words], capture_output=True, text=True, check=True, cwd=HERE
    )
    return dict(json.loads(run.stdout))


def jitter(name: str, seed: int) -> dict[str, object]:
    """Run one phase-sensitive case with random send delays."""
    words = f"-id {name} -seed {seed} {arguments()[name]} -overhead {OVERHEAD}"
    return kept("J" + name[1:], seed, ns2("oracle.tcl", words.split()))


def clock(name: str, seed: int) -> dict[str, object]:
    """Run one case at another time of ns-2's clock."""
    offset = CLOCK[name]
    words = f"{offset} -id {name} -seed {seed} {arguments()[name]} -warm {offset + 100} -end {offset + 200}"
    return {**kept(name, seed, ns2("later.tcl", words.split())), "offset": offset}


def transients(name: str, seed: int) -> dict[str, object]:
    """Run one PI case from the start, and return the mean queue of each window."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "q"
        words = f"-id {name} -seed {seed} {arguments()[name]} -qtrace {trace} -dropcb 0"
        ns2("oracle.tcl", words.split())
        sums: dict[int, list[int]] = {}
        for line in trace.read_text().splitlines():
            time, queue = line.split()
            sums.setdefault(int(float(time) / WINDOW + 1e-9), []).append(int(queue))
    means = [round(sum(q) / len(q), 4) for _, q in sorted(sums.items())][: 200 // WINDOW]
    return {"id": name, "seed": seed, "window_s": WINDOW, "q_mean": means}


def kept(name: str, seed: int, result: dict[str, float]) -> dict[str, object]:
    """Return the compared metrics."""
    return {"id": name, "seed": seed, **{key: result[key] for key in KEPT}}


#: Forty flows over twenty hosts whose delays share no divisor, a deterministic queue, and a minimum time-out
#: that hides the random phase of ns-2's clocks: without randomness every drop can be compared.
MANY = {
    "M-tahoe-drop": "-tcp Tahoe -ecn 0 -buf 20 -minrto 3.37177",
    "M-reno-drop": "-tcp Reno -ecn 0 -buf 20 -minrto 3.37177",
    "M-reno-ecn": "-tcp Reno -ecn 1 -buf 12 -minrto 4.99731",
    "M-newreno-drop": "-tcp Newreno -ecn 0 -buf 20 -minrto 3.37177",
    "M-newreno-ecn": "-tcp Newreno -ecn 1 -buf 10 -minrto 3.37177",
    "M-sack-drop": "-tcp Sack1 -ecn 0 -buf 25 -minrto 3.37177",
    "M-sack-ecn": "-tcp Sack1 -ecn 1 -buf 15 -minrto 4.99731",
}
DELAYS = (
    "5.1234,15.237,25.3312,35.771,45.6121,55.937,65.11,75.441,85.7323,95.113,105.31,115.97,125.233,135.617,"
    "145.7711,155.3917,165.3321,175.812,185.411,195.1537"
)
MANY_LINKS = f"-accdelays {DELAYS} -accrate 100 -srvrate 100 -srvdelay 1.0171 -brate 2.5 -bdelay 5.0317"
MANY_ALL = f"-N 40 -nodes 20 -pkt 960 {MANY_LINKS} -startmax 0 -aqm GK -gkecnlim 0.9537 -warm 5 -end 60"


def many(name: str, _: int) -> dict[str, object]:
    """Run many flows without randomness, and keep every drop."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "drops"
        words = f"-id {name} -seed 1 {MANY[name]} {MANY_ALL} -droptrace {trace}"
        result = ns2("oracle.tcl", words.split())
        lines = ["time_s,flow,sequence"]
        for line in trace.read_text().splitlines():
            time, _, _, flow, sequence, *_ = line.split()
            lines.append(f"{time},{int(flow.removeprefix('fid=')) - 1},{sequence.removeprefix('seq=')}")
    (REFERENCE / "many").mkdir(exist_ok=True)
    (REFERENCE / "many" / f"{name}.drops.csv").write_text("\n".join(lines) + "\n")
    return {"id": name, **{key: result[key] for key in ("marks", "timeouts", "rexmit_pkts")}}


LINKS = (
    "-tcp Newreno -pkt 500 -accdelays {d} -accrate 10 -srvrate 10 -srvdelay 10 -brate 10 -bdelay 10 -buf 100"
)
AUTOMATIC = "-aqm ARED -minth 0 -maxth 0 -wq 0"
#: RED with ns-2.35's default of use_mark_p_, which all other cases switch off.
HOSTS = "5,15,25,35,45,55,65,75,85,95,105,115,125,135,145,155,165,175,185,195"
MARK_P = (
    f"-N 20 -nodes 20 -tcp Reno -pkt 960 -accdelays {HOSTS} -accrate 100 -srvrate 100 -srvdelay 1 -brate 10"
    " -bdelay 10 -buf 40 -aqm RED -minth 10 -maxth 30 -maxp 1 -wq 0.002 -ecn 1 -usemarkp 1"
)
#: ARED with automatic and with given parameters, and that case of RED.
TUNED = {
    **{f"A-D{d}-N{n}-auto": f"-N {n} {LINKS.format(d=d)} {AUTOMATIC}" for d in (10, 100) for n in (40, 400)},
    "A-D100-N40-auto-ecn": f"-N 40 {LINKS.format(d=100)} {AUTOMATIC} -ecn 1",
    "A-D100-N100-target": f"-N 100 {LINKS.format(d=100)} {AUTOMATIC} -targetdelay 0.02",
    "A-D100-N100-set": f"-N 100 {LINKS.format(d=100)} -aqm ARED -minth 15 -maxth 45 -wq 0.002",
    "A-D10-N100-set-ecn": f"-N 100 {LINKS.format(d=10)} -aqm ARED -minth 15 -maxth 45 -wq 0.002 -ecn 1",
    "B-x1-q40-mark_p-ecn": MARK_P,
}
#: RIO: the first flows send In packets, the others Out packets.
CLASSES = {
    "O-D10-N40-in20": f"-N 40 {LINKS.format(d=10)} -aqm RIO -rioin 20 -gentle 0",
    "O-D100-N40-in10": f"-N 40 {LINKS.format(d=100)} -aqm RIO -rioin 10 -gentle 0",
    "O-D10-N400-in100": f"-N 400 {LINKS.format(d=10)} -aqm RIO -rioin 100 -gentle 0",
    "O-D100-N100-in10-wide": f"-N 100 {LINKS.format(d=100)} -aqm RIO -rioin 10 -gentle 0 -rioinmin 40"
    " -rioinmax 70 -riooutmin 10 -riooutmax 30",
    "O-D100-N100-in10-gentle": f"-N 100 {LINKS.format(d=100)} -aqm RIO -rioin 10 -gentle 1",
    "O-D100-N40-in10-ecn": f"-N 40 {LINKS.format(d=100)} -aqm RIO -rioin 10 -gentle 0 -ecn 1",
}


def tuned(name: str, seed: int) -> dict[str, object]:
    """Run one case of `TUNED`."""
    return kept(name, seed, ns2("oracle.tcl", f"-id {name} -seed {seed} {TUNED[name]}".split()))


def classes(name: str, seed: int) -> dict[str, object]:
    """Run one case of RIO, and keep the outcomes of the In packets."""
    result = ns2("classes.tcl", f"-id {name} -seed {seed} {CLASSES[name]}".split())
    own = {key: result[key] for key in ("in_drops", "in_goodput_mbps")}
    return {**kept(name, seed, result), **own}


KINDS: dict[str, tuple[Callable[[str, int], dict[str, object]], Iterable[str]]] = {
    "jitter": (jitter, PHASE_SENSITIVE),
    "transients": (transients, TRANSIENTS),
    "clock": (clock, CLOCK),
    "many": (many, MANY),
    "tuned": (tuned, TUNED),
    "classes": (classes, CLASSES),
}


def main() -> None:
    """Make the named kinds, or all."""
    for kind in sys.argv[1:] or KINDS:
        make, names = KINDS[kind]
        jobs = [(name, seed) for name in names for seed in ([1] if kind == "many" else SEEDS)]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            lines = list(pool.map(lambda job, make=make: make(*job), jobs))
        (REFERENCE / f"{kind}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
        told = {}
        if kind == "jitter":
            told = {f"J{name[1:]}": f"{arguments()[name]} -overhead {OVERHEAD}" for name in names}
        if kind == "many":
            told = {name: f"{words} {MANY_ALL}" for name, words in MANY.items()}
        if kind in ("tuned", "classes"):
            told = TUNED if kind == "tuned" else CLASSES
        if told:
            text = "".join(f"{name} {words}\n" for name, words in told.items())
            (REFERENCE / f"{kind}.args").write_text(text)


if __name__ == "__main__":
    main()
