"""Invalid scenarios are refused with one line that names file, key, error and allowed values.

Mutants seen to fail: the check of the warm-up or of duplicate names removed; a missing key reported before
the unknown one that explains it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn import _core
from support import SMALL

GRAPH = """
name = "graph"
duration = "6s"
[[link]]
from = "A"
to = "R"
rate = "10Mbit"
delay = "1ms"
[[link]]
from = "R"
to = "B"
rate = "1Mbit"
delay = "1ms"
queue = { limit = "20p" }
[[traffic]]
name = "ftp"
kind = "tcp"
payload = "500B"
header = "40B"
from = "A"
to = "B"
"""

FTP = 'count = 6\npayload = "500B"'

# Changes of SMALL, and words that the message must contain.
WRONG = {
    "unknown key": (
        'delay = "5ms"\na',
        'dealy = "5ms"\na',
        ["dumbbell.dealy", "did you mean delay?", "rate"],
    ),
    "unknown key at the top": ('warmup = "2s"', 'warmpu = "2s"', ["warmpu is not a key", "warmup"]),
    "unknown key of a traffic": ("count = 6", "cuont = 6", ["traffic.ftp.cuont", "did you mean count?"]),
    "unknown marker": (
        "count = 6",
        'marker = "token-bucket cir 1Mbit/s cbs 9kB"',
        ["traffic.ftp.marker", "is not a marker", "did you mean token_bucket?"],
    ),
    "half a profile": (
        "count = 6",
        'marker = "srtcm cir 1Mbit/s cbs 9kB"',
        ["traffic.ftp.marker", "srtcm.ebs is missing", "bytes, like 15kB"],
    ),
    "an algorithm as a marker": ("count = 6", 'marker = "red"', ["traffic.ftp.marker", "is not a marker"]),
    "unknown key in a table": ('delay = "5ms" }', 'delay = "5ms", node = 3 }', ["server.node", "nodes"]),
    "missing key": ('rate = "2Mbit/s"\n', "", ["dumbbell.rate is missing", "10Mbit/s"]),
    "missing name": ('name = "small"\n', "", ["name is missing"]),
    "missing kind": ('kind = "tcp"\n', "", ["traffic.ftp.kind is missing", "udp-cbr"]),
    "no size": ('size = "500B"\n', "", ["traffic.cbr.size is missing"]),
    "wrong unit": ('rate = "2Mbit/s"', 'rate = "2Mm/s"', ["dumbbell.rate", "unknown unit", "Mbit/s"]),
    "bytes or bits": ('rate = "2Mbit/s"', 'rate = "2mbps"', ["dumbbell.rate", "may mean bytes", "Mbit/s"]),
    "a limit in round trips": ('limit = "30p"', 'limit = "1BDP"', ["queue.limit", "differ", "50ms"]),
    "no delay": ('delay = "5ms"\na', "a", ["dumbbell.delay is missing; allowed: delay or rtt"]),
    "delay and round trip": ('delay = "5ms"\na', 'delay = "5ms"\nrtt = "9ms"\na', ["dumbbell", "not both"]),
    "a table's old name": (
        "[dumbbell]",
        "[bottleneck]",
        ["bad.toml:7:2: bottleneck is not a key here (did you mean dumbbell?)"],
    ),
    "a bare number": ('rate = "2Mbit/s"', "rate = 2000000", ["dumbbell.rate = 2000000 has no unit"]),
    "a bare number as text": ('duration = "6s"', 'duration = "6"', ["duration", "has no unit"]),
    "a bare delay": ('delay = "5ms"\na', "delay = 0.005\na", ["dumbbell.delay = 0.005 has no unit"]),
    "zero rate": ('rate = "2Mbit/s"', 'rate = "0Mbit/s"', ["dumbbell.rate", "less than 1 bit/s"]),
    "negative delay": ('delay = "5ms"\na', 'delay = "-5ms"\na', ["dumbbell.delay", "negative"]),
    "negative delay in a list": ('"20ms"]', '"-20ms"]', ["dumbbell.access.delays[2]", "negative"]),
    "no delays": ('["5ms", "20ms"]', "[]", ["dumbbell.access.delays", "is empty"]),
    "two kinds of delay": ('delay = "5ms" }', 'delay = "5ms", delays = ["1ms"] }', ["server", "not both"]),
    "zero duration": ('duration = "6s"', 'duration = "0s"', ["duration", "too small"]),
    "endless duration": ('duration = "6s"', 'duration = "9000h"', ["duration", "4800h"]),
    "endless start": ('delay = "5ms"', 'delay = "25h"', ["delay", "24h"]),
    "warm-up after the end": ('warmup = "2s"', 'warmup = "6s"', ["warmup = '6s'", "duration = 6s"]),
    "no limit": ('limit = "30p"\n', "", ["queue.limit is missing", "100p"]),
    "no packets": ('limit = "30p"', 'limit = "0p"', ["queue.limit", "at least 1"]),
    "more packets than can be": ('limit = "30p"', 'limit = "99999999999p"', ["queue.limit", "too large"]),
    "half a packet": ('limit = "30p"', 'limit = "1.5p"', ["queue.limit", "whole"]),
    "unknown algorithm": ('"red min', '"rde min', ["queue.aqm", "rde", "did you mean red?", "droptail"]),
    "unknown parameter": ("min_th 5", "min_ht 5", ["queue.aqm", "red.min_ht", "did you mean min_th?"]),
    "parameter without value": ("max_th 15", "max_th", ["queue.aqm", "red.max_th has no value"]),
    "parameter out of range": ("max_th 15", "max_th 15 max_p 2", ["queue.aqm", "red.max_p = 2", "(0, 1]"]),
    "no algorithm": ('"red min_th 5 max_th 15"', '""', ["queue.aqm", "is missing"]),
    "unknown conventions": (
        'conventions = "rfc"',
        'conventions = "ns3"',
        ["conventions = 'ns3'", "did you mean ns2?"],
    ),
    "the former name of rfc": (
        'conventions = "rfc"',
        'conventions = "default"',
        ["conventions = 'default' has become 'rfc'", "leave it out for linux"],
    ),
    "no traffic": (SMALL[SMALL.index("[[traffic]]") :], "", ["traffic is missing"]),
    "unknown kind": ('kind = "tcp"', 'kind = "tpc"', ["traffic.ftp.kind = 'tpc'", "did you mean tcp?"]),
    "a key of another kind": (
        'size = "500B"',
        'size = "500B"\npayload = "1B"',
        ["traffic.cbr.payload is not a key"],
    ),
    "a name twice": ('name = "cbr"', 'name = "ftp"', ["traffic[2].name = 'ftp'", "another traffic"]),
    "a reserved name": ('name = "cbr"', 'name = "tcp"', ["traffic[2].name", "reserved"]),
    "a name that metrics begin with": (
        'name = "cbr"',
        'name = "queues"',
        ["traffic[2].name = 'queues'", "reserved", "another word"],
    ),
    "a name as a number": ('name = "small"', "name = 5", ["name = 5", "allowed: text"]),
    "a name too long": ('name = "small"', f'name = "{"x" * 65}"', ["name = ", "at most 64 characters"]),
    "a name with a space": ('name = "small"', 'name = "so small"', ["name = 'so small'", "letters"]),
    "a name that leaves the folder": ('name = "small"', 'name = "../x"', ["name = '../x'", "letters"]),
    "less than no sources": ("count = 6", "count = -1", ["traffic.ftp.count = -1", "at least 0"]),
    "a thousand million sources": ("count = 6", "count = 1000000000", ["traffic.ftp.count", "too large"]),
    "half a source": (
        "count = 6",
        "count = 6.5",
        ["traffic.ftp.count = 6.5", "allowed: a whole number (number of sources)"],
    ),
    "a limit of bare packets": ('limit = "30p"', 'limit = "30"', ["queue.limit = '30' has no unit", "100p"]),
    "one traffic as a table": (
        SMALL[SMALL.index("[[traffic]]") :],
        '[traffic]\nname = "ftp"',
        ["traffic = ", "not a list", "[[traffic]] tables"],
    ),
    "a host as text": (
        'warmup = "2s"',
        'warmup = "2s"\nmeasure = "R1-R2"',
        ["measure = 'R1-R2'", "allowed: a table"],
    ),
    "an option as a fraction": (
        FTP,
        FTP + "\ntcp = { initial_window = 2.5 }",
        ["initial_window = 2.5", "a whole number"],
    ),
    "sources as text": ("count = 6", 'count = "6"', ["traffic.ftp.count = '6'", "whole number"]),
    "unknown variant": (FTP, FTP + '\nvariant = "newrenp"', ["traffic.ftp.variant", "did you mean newreno?"]),
    "an option's unknown word": (
        FTP,
        FTP + '\ntcp = { recovery = "prrr" }',
        ["traffic.ftp.tcp.recovery = prrr", "did you mean prr?"],
    ),
    "a file and no class": (
        '"red min_th 5 max_th 15"',
        '"mine.py gain 2"',
        ["mine.py names a file", "mine.py:CLASS"],
    ),
    "unknown option": (
        FTP,
        FTP + "\ntcp = { min_rt = 3 }",
        ["traffic.ftp.tcp.min_rt", "did you mean min_rto?"],
    ),
    "an option without unit": (FTP, FTP + "\ntcp = { min_rto = 3 }", ["tcp.min_rto = 3 has no unit"]),
    "an option out of range": (FTP, FTP + "\ntcp = { receiver_window = 0 }", ["tcp.receiver_window"]),
    "options that do not fit": (
        FTP,
        FTP + '\ntcp = { min_rto = "9s", max_rto = "1s" }',
        ["min_rto is above max_rto"],
    ),
    "nothing to send": ('payload = "500B"', 'payload = "0B"', ["traffic.ftp.payload", "1 to 65535"]),
    "packets of a gigabyte": ('payload = "500B"', 'payload = "1GB"', ["traffic.ftp.payload", "65535"]),
    "half a byte": ('payload = "500B"', 'payload = "0.5B"', ["traffic.ftp.payload", "whole bytes"]),
    "unknown start": ('"uniform 0s 1s"', '"unifrom 0s 1s"', ["traffic.ftp.start", "did you mean uniform?"]),
    "start of one end": ('"uniform 0s 1s"', '"uniform 1s"', ["traffic.ftp.start", "1 values", "takes 2"]),
    "start backwards": ('"uniform 0s 1s"', '"uniform 2s 1s"', ["traffic.ftp.start", "wrong order"]),
    "start after the end": ('"uniform 0s 1s"', '"7s"', ["traffic.ftp.start", "before the end"]),
    "stop before the start": (
        'size = "500B"',
        'size = "500B"\nstart = "3s"\nstop = "2s"',
        ["traffic.cbr.stop", "after start"],
    ),
    "a node in a dumbbell": (FTP, FTP + '\nto = "R1"', ["traffic.ftp.to is for graphs", "direction"]),
    "jitter of one": (
        'size = "500B"',
        'size = "500B"\njitter = 1.5',
        ["traffic.cbr.jitter = 1.5", "allowed: below 1"],
    ),
    "an unknown queue": (
        'warmup = "2s"',
        'warmup = "2s"\nmeasure = { queue = "R1-R3" }',
        ["measure.queue = 'R1-R3'", "R1-R2"],
    ),
    "too many samples": (
        'warmup = "2s"',
        'warmup = "2s"\ntrace = { interval = "1ns" }',
        ["trace.interval", "too many", "at least 600ns"],
    ),
    "a flag as text": ('limit = "30p"', 'limit = "30p"\necn = "yes"', ["queue.ecn = 'yes'", "true or false"]),
    "a table as text": ("[queue]", "[nothing]\n[queue]", ["nothing is not a key"]),
    "broken TOML": ('name = "small"', "name = small", ["is not TOML", "line 2"]),
    "a key twice": ('limit = "30p"', 'limit = "30p"\nlimit = "3p"', ["is not TOML", "line"]),
}

WRONG_GRAPHS = {
    "an unknown node": ('to = "B"\n"""', 'to = "C"', ["traffic.ftp.to = 'C' is not a node", "A, B, R"]),
    "no return route": (
        'delay = "1ms"\nqueue',
        'delay = "1ms"\nduplex = false\nqueue',
        ["traffic.ftp.to", "no route for acknowledgements from B to A"],
    ),
    "a flow to itself": ('to = "B"\n"""', 'to = "A"', ["traffic.ftp.to = 'A' is its source, too"]),
    "no sender": ('from = "A"\nto = "B"\n"""', 'to = "B"', ["traffic.ftp.from is missing", "A, B, R"]),
    "a loop": ('to = "R"', 'to = "A"', ["link.A-A.to", "another node"]),
    "no queue": ('queue = { limit = "20p" }', "", ["has no queue"]),
    "the same link twice": (
        'from = "A"\nto = "R"',
        'from = "B"\nto = "R"',
        ["link.R-B is a second link"],
    ),
    "a queue beside a graph": (
        'name = "graph"',
        'name = "graph"\nqueue = { limit = "2p" }',
        ["queue belongs to a dumbbell"],
    ),
    "two queues, none chosen": (
        'queue = { limit = "20p" }',
        'queue = { limit = "20p" }\nreverse_queue = { limit = "20p" }',
        ["measure.queue is missing", "R-B, B-R"],
    ),
    "neither graph nor dumbbell": (
        GRAPH[GRAPH.index("[[link]]") : GRAPH.index("[[traffic]]")],
        "",
        ["dumbbell is missing"],
    ),
}


def message(text: str) -> str:
    with pytest.raises(sojourn.InputError) as caught:
        sojourn.Scenario.from_toml(text, "bad.toml")
    return str(caught.value)


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_dumbbell_is_refused(case: str) -> None:
    good, bad, words = WRONG[case]
    assert good in SMALL
    line = message(SMALL.replace(good, bad, 1))
    assert line.startswith("bad.toml")
    assert "\n" not in line
    for word in words:
        assert word in line, line


@pytest.mark.parametrize("case", WRONG_GRAPHS)
def test_a_wrong_graph_is_refused(case: str) -> None:
    good, bad, words = WRONG_GRAPHS[case]
    text = GRAPH + '"""'
    assert good in text
    line = message(text.replace(good, bad, 1).replace('"""', ""))
    assert line.startswith("bad.toml")
    for word in words:
        assert word in line, line


MISTAKES = """name = "mine"
duration = "60s"
wramup = "5s"
[dumbbell]
rtt = "20ms"
bandwidth = "3Mbps"
[queue]
size = "100ms"
aqm = "red min 40"
[[traffic]]
name = "web"
kind = "http"
[[traffic]]
kind = "tcp"
flows = 20
"""


def test_all_mistakes_are_shown_at_once_in_the_order_of_the_file() -> None:
    lines = message(MISTAKES).splitlines()
    assert [line.partition("; allowed")[0] for line in lines] == [
        "bad.toml:3:1: wramup is not a key here (did you mean warmup?)",
        "bad.toml:6:1: dumbbell.bandwidth is not a key here (did you mean rate?)",
        "bad.toml:8:1: queue.size is not a key here (did you mean limit?)",
        "bad.toml:9:1: queue.aqm = 'red min 40': red.min is not a parameter (did you mean min_th?)",
        "bad.toml:12:1: traffic.web.kind = 'http' is not one of the allowed words (did you mean web?)",
        "bad.toml:13:1: traffic[2].name is missing",
        "bad.toml:15:1: traffic[2].flows is not a key here (did you mean count?)",
    ]


def test_all_contradictions_are_shown_at_once() -> None:
    text = SMALL.replace('warmup = "2s"', 'warmup = "9s"').replace('"cbr"', '"ftp"')
    lines = message(text.replace("500B", "1GB")).splitlines()
    assert [line.split()[1] for line in lines] == [
        "warmup",
        "traffic[1].payload",
        "traffic[2].name",
        "traffic[2].size",
    ]


def test_at_most_twenty_mistakes_are_shown() -> None:
    lines = message(SMALL + "".join(f"key{i} = 1\n" for i in range(30))).splitlines()
    assert len(lines) == 21
    assert lines[-1].endswith("10 more errors")


def test_a_scenario_made_in_python_has_no_lines() -> None:
    with pytest.raises(sojourn.InputError, match=r"^scenario: duration = '5' has no unit"):
        sojourn.Scenario.from_toml(SMALL).with_(duration="5")


# Words of other tools, and what is suggested instead.
@pytest.mark.parametrize(
    ("good", "bad", "meant"),
    [
        ('"red min_th 5 max_th 15"', '"fifo"', "droptail"),
        ('"red min_th 5 max_th 15"', '"pfifo_fast"', "droptail"),
        ('"red min_th 5 max_th 15"', '"wfq"', "fq"),
        ("min_th 5 max_th 15", "min 5 max 15", "min_th"),
        ("count = 6", 'variant = "bbr2"', "bbr"),
        ("count = 6", 'variant = "l4s"', "prague"),
        ("count = 6", "flows = 6", "count"),
        ('kind = "udp-cbr"', 'kind = "udp"', "udp-cbr"),
        ('kind = "udp-cbr"', 'kind = "voip"', "call"),
        ('kind = "udp-cbr"', 'kind = "ping"', "probe"),
        ('kind = "tcp"', 'kind = "ftp"', "tcp"),
        ('limit = "30p"', 'buffer = "30p"', "limit"),
        ('duration = "6s"', 'time = "6s"', "duration"),
        ("rate =", "bandwidth =", "rate"),
    ],
)
def test_words_of_other_tools_find_the_name_here(good: str, bad: str, meant: str) -> None:
    assert good in SMALL
    assert f"did you mean {meant}?" in message(SMALL.replace(good, bad, 1))


def test_a_second_table_of_traffic_needs_two_brackets() -> None:
    assert "allowed: [[traffic]] and [[link]]" in message('[traffic]\nname = "a"\n[traffic]\nname = "b"\n')


def test_several_algorithms_in_one_spec_are_refused() -> None:
    with pytest.raises(
        sojourn.InputError, match=r"'red,pie' names several algorithms; .*--aqm is repeatable"
    ):
        sojourn.aqm("red,pie")


def test_certain_spellings_are_accepted() -> None:
    text = SMALL.replace('"2Mbit/s"', '"2 Mbps"').replace('"30p"', '"30 packets"').replace('"6s"', '"6 s"')
    assert sojourn.Scenario.from_toml(text) == sojourn.Scenario.from_toml(SMALL)


def test_a_name_of_one_other_letter_is_not_suggested() -> None:
    assert _core.nearest("C", ["A", "B", "R"]) is None
    assert _core.nearest("pei", ["red", "pie"]) == "pie"


def test_the_unchanged_texts_are_valid() -> None:
    assert sojourn.Scenario.from_toml(SMALL).name == "small"
    assert sojourn.Scenario.from_toml(GRAPH).measured == "R-B"


def test_a_byte_order_mark_is_accepted(tmp_path: Path) -> None:
    path = tmp_path / "windows.toml"
    path.write_bytes(b"\xef\xbb\xbf" + SMALL.replace("\n", "\r\n").encode())
    assert sojourn.load(path).name == "small"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "caf\xe9"\n')
    for path, words in [
        (tmp_path / "none.toml", "no such file"),
        (tmp_path, "is a directory"),
        (latin, "is not UTF-8 text (byte 11)"),
    ]:
        with pytest.raises(sojourn.InputError, match=r"^\S+ ") as caught:
            sojourn.load(path)
        assert words in str(caught.value)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": 10**9}, "seeds = 1000000000"),
        ({"seed_from": -1}, "seed_from = -1"),
        ({"seeds": []}, "seeds is empty"),
        ({"aqms": "red"}, "a list of specs"),
        ({"aqms": ["red", "red "]}, "given twice"),
        ({"aqms": ["rde"]}, "did you mean red?"),
        ({"aqms": ["red min_th 50 max_th 20"]}, "red.max_th is not above min_th"),
        ({"workers": 0}, "workers = 0"),
        ({"keep_traces": "some"}, "all, none"),
    ],
)
def test_a_wrong_run_is_refused(
    small: sojourn.Scenario, tmp_path: Path, arguments: dict[str, object], words: str
) -> None:
    with pytest.raises(sojourn.InputError) as caught:
        sojourn.run(small, out=tmp_path / "out", **arguments)  # type: ignore[arg-type]
    assert words in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_an_error_of_the_core_names_the_file(small: sojourn.Scenario) -> None:
    bad = small.with_(queue={"limit": "30p", "aqm": "red min_th 20 max_th 10"})
    with pytest.raises(sojourn.InputError, match=r"^small\.toml: queue\.aqm red\.max_th is not above min_th"):
        sojourn.run(bad, seeds=1)


def test_a_python_scenario_is_refused_likewise(small: sojourn.Scenario) -> None:
    with pytest.raises(sojourn.InputError, match=r"warmup = '7s' is not before the end"):
        small.with_(warmup="7s")
    with pytest.raises(sojourn.InputError, match=r"traffic = \[\] is empty"):
        small.with_(traffic=[])
    with pytest.raises(sojourn.InputError, match="did you mean duration"):
        small.with_(duratoin="7s")
