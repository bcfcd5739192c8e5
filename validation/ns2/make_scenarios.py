"""Write the scenarios: the arguments of ns-2 in ``reference/*.args`` in the format of this project.

Run from the root of the clone: ``python -m validation.ns2.make_scenarios``. The TOML files are committed;
this script documents how they were made, and makes those of a new case.
"""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent
DEFAULTS = {
    "tcp": "Newreno",
    "pkt": "500",
    "ecn": "0",
    "startmax": "1",
    "acclim": "1000000",
    "udprate": "100",
    "warm": "100",
    "end": "200",
    "ncbr": "0",
    "nexp": "0",
}
#: Defaults of oracle.tcl.
RIO = {"inmin": "15", "inmax": "30", "outmin": "5", "outmax": "15"}
FAMILIES = {
    "R": "long flows with equal round-trip times, every link as fast as the bottleneck",
    "B": "flows with unequal round-trip times that share twenty hosts; RED with max_p = 1",
    "T": "SACK with constant-rate streams; thresholds for 10 Mbit/s and 120 to 180 ms",
    "J": "as case R of the same name, but senders wait a random moment before they send",
    "M": "many flows without randomness, compared packet by packet",
    "S": "one change to a case of family R",
    "A": "Adaptive RED with automatic and with given parameters",
    "O": "RIO: some flows send In packets, the others Out packets",
}


def main() -> None:
    """Write every scenario."""
    for file in sorted((HERE / "reference").glob("*.args")):
        for line in file.read_text().splitlines():
            name, _, words = line.partition(" ")
            (HERE / "scenarios" / f"{name}.toml").write_text(scenario(name, words))


def scenario(name: str, words: str) -> str:
    """Return the TOML of one case."""
    keys = words.split()
    a = DEFAULTS | {key.removeprefix("-"): value for key, value in zip(keys[::2], keys[1::2], strict=True)}
    delays = a["accdelays"].split(",")
    delays = delays[:1] if len(set(delays)) == 1 else delays
    nodes = f", nodes = {a['nodes']}" if "nodes" in a else ""
    lines = [
        f"# {FAMILIES[name[0]][0].upper()}{FAMILIES[name[0]][1:]}.",
        f'name = "{name}"',
        f'source = "{name}"',
        f'note = "ns oracle.tcl {words}"',
        f'duration = "{a["end"]}s"',
        f'warmup = "{a["warm"]}s"',
        'conventions = "ns2"',
        "",
        "[dumbbell]",
        f'rate = "{a["brate"]}Mbit/s"',
        f'delay = "{a["bdelay"]}ms"',
        f'access = {{ rate = "{a["accrate"]}Mbit/s", delays = [{quoted(delays)}]{nodes} }}',
        f'server = {{ rate = "{a["srvrate"]}Mbit/s", delay = "{a["srvdelay"]}ms" }}',
        "",
        "[queue]",
        f'limit = "{limit(a)}"',
        f'aqm = "{spec(a)}"',
        f"ecn = {'true' if a['ecn'] == '1' else 'false'}",
        *tcp(a),
    ]
    if "rioin" in a:
        ins = int(a["rioin"])
        lines += [*ftp(a, "in", ins), "class = 0", *ftp(a, "out", int(a["N"]) - ins), "class = 1"]
    else:
        lines += ftp(a, "ftp", int(a["N"]))
    if a["ncbr"] != "0":
        each = float(a["cbrrate"]) * 1000 / int(a["ncbr"])
        lines += [
            "",
            "[[traffic]]",
            'name = "cbr"',
            'kind = "udp-cbr"',
            f"count = {a['ncbr']}",
            f'rate = "{each:g}kbit/s"',
            f'size = "{a["cbrpkt"]}B"',
            f'access = {{ rate = "{a["udprate"]}Mbit/s", delay = "{a["udpdelay"]}ms" }}',
            f'start = "{start(a)}"',
        ]
    return "\n".join(lines) + "\n"


def ftp(a: dict[str, str], name: str, count: int) -> list[str]:
    """Return a group of endless TCP flows."""
    return [
        "",
        "[[traffic]]",
        f'name = "{name}"',
        'kind = "tcp"',
        f'variant = "{a["tcp"].lower().removesuffix("1")}"',
        f"count = {count}",
        f'payload = "{a["pkt"]}B"',
        'header = "40B"',
        f'start = "{start(a)}"',
    ]


def start(a: dict[str, str]) -> str:
    """Return when sources start."""
    return "0s" if a["startmax"] == "0" else f"uniform 0s {a['startmax']}s"


def limit(a: dict[str, str]) -> str:
    """Return the buffer: ns-2's byte modes count it in mean packets of bytes."""
    wire = int(a["pkt"]) + 40
    if a.get("redqib") == "1" or a.get("vqqib") == "1":
        return f"{int(a['buf']) * int(a.get('vqmean', wire))}B"
    return f"{a['buf']}p"


def spec(a: dict[str, str]) -> str:
    """Return the algorithm."""
    # oracle.tcl switches use_mark_p_ off by default; the preset has it on.
    always_mark = " mark_p 1" if a["ecn"] == "1" and a.get("usemarkp") != "1" else ""
    if a["aqm"] in ("RED", "GRED"):
        red = f"min_th {a['minth']}p max_th {a['maxth']}p max_p {a['maxp']} w_q {a['wq']}"
        if a.get("redqib") == "1":
            wire = int(a["pkt"]) + 40
            red = red.replace(f"{a['minth']}p", f"{int(a['minth']) * wire}B")
            red = red.replace(f"{a['maxth']}p", f"{int(a['maxth']) * wire}B")
        wait = " wait off" if a.get("wait") == "0" else ""
        return f"{a['aqm'].lower()} {red}{wait}{always_mark}"
    if a["aqm"] == "ARED":
        if a["minth"] == "0":
            target = f" target_delay {float(a['targetdelay']) * 1000:g}ms" if "targetdelay" in a else ""
            return f"ared{target}{always_mark}"
        return f"ared min_th {a['minth']}p max_th {a['maxth']}p w_q {a['wq']}{always_mark}"
    if a["aqm"] == "RIO":
        given = {key: a.get(f"rio{key}", value) for key, value in RIO.items()}
        words = (f"min_{to} {given[f'{to}min']}p max_{to} {given[f'{to}max']}p" for to in ("in", "out"))
        return f"rio {' '.join(words)} max_p_out 0.2 gentle {'on' if a['gentle'] == '1' else 'off'}"
    if a["aqm"] == "PI":
        return f"pi a {a['pia']} b {a['pib']} f_s {a['piw']} q_ref {a['piqref']}p"
    if a["aqm"] == "REM":
        mean = f" mean_packet {a['mean']}B" if "mean" in a else ""
        period = f"{float(a['rempupd']) * 1000:g}ms"
        return f"rem phi {a['remphi']} gamma {a['remgamma']} period {period} b_star {a['rempbo']}p{mean}"
    if a["aqm"] == "Vq":
        mean = f" mean_packet {a['vqmean']}B" if "vqmean" in a else ""
        mode = " mode packet" if a["vqqib"] == "0" else ""
        return f"avq gamma {a['vqgamma']} start {a['vqecnlim']}{mode}{mean}"
    if a["aqm"] == "GK":
        return f"gkvq theta {a['gkecnlim']}"
    return "droptail"


def tcp(a: dict[str, str]) -> list[str]:
    """Return the options that differ from the preset."""
    options = []
    if "overhead" in a:
        options.append(f'overhead = "{float(a["overhead"]) * 1e6:g}us"')
    if a.get("delack") == "1":
        options.append('delayed_ack = "100ms"')
    if "minrto" in a:
        options.append(f'min_rto = "{float(a["minrto"]) * 1000:.9g}ms"')
    if "tick" in a:
        options.append(f'granularity = "{float(a["tick"]) * 1000:.9g}ms"')
    return ["", "[tcp]", *options] if options else []


def quoted(delays: list[str]) -> str:
    """Return milliseconds as TOML strings."""
    return ", ".join(f'"{delay}ms"' for delay in delays)


if __name__ == "__main__":
    main()
