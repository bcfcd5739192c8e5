"""The line that says what the senders of a scenario are."""

from tests.support import ROOT

import sojourn
from sojourn.spec.senders import senders


def test_each_kind_of_sender_is_in_the_line() -> None:
    scenario = sojourn.load(ROOT / "examples/red40.toml")
    line = senders(scenario)
    assert line is not None
    assert line.startswith("NewReno,")
    assert line.endswith("minimum RTO 1 s")
    linux = scenario.with_(conventions="linux", traffic=[{**_data(scenario), "variant": "cubic"}])
    assert senders(linux) == (
        "CUBIC with HyStart, SACK, RACK-TLP, PRR, initial window 10, ACKs delayed up to 40 ms, "
        "minimum RTO 200 ms"
    )
    both = [{**_data(scenario), "name": name, "variant": name} for name in ("reno", "dctcp")]
    two = senders(scenario.with_(conventions="linux", traffic=both))
    assert two is not None
    assert two.startswith("reno: Reno, SACK, RACK-TLP")
    assert "; dctcp: DCTCP, SACK" in two


def test_datagrams_have_no_sender() -> None:
    scenario = sojourn.load(ROOT / "examples/red40.toml")
    udp = {"name": "cbr", "kind": "udp-cbr", "rate": "1Mbit/s", "size": "500B"}
    assert senders(scenario.with_(traffic=[udp])) is None


def _data(scenario: sojourn.Scenario) -> dict[str, object]:
    return scenario.traffic[0].model_dump(exclude_none=True)
