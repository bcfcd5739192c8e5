"""`sojourn new`: each template is a valid scenario, options reach the file, nothing is overwritten.

Mutants seen to fail: the file replaced; the reverse rate left out; the path of the example kept; an example
of any folder.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import sojourn
from sojourn import InputError, _core, templates
from support import ROOT, Cli


@pytest.mark.parametrize("name", templates.names())
def test_a_template_is_a_scenario_that_the_simulator_takes(name: str, cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "mine.toml", "--template", name)
    assert done.returncode == 0, done.stderr
    assert "try: sojourn compare mine.toml" in done.stderr
    text = (tmp_path / "mine.toml").read_text()
    assert text.startswith("# ")
    assert "examples/" not in text
    if name == templates.HOME or "#   sojourn" in text:
        assert "mine.toml" in text.partition("\nname =")[0]
    _core.check(sojourn.load(tmp_path / "mine.toml").plan_json())


def test_options_reach_the_scenario(cli: Cli, tmp_path: Path) -> None:
    words = "--rate 80/8mbit --rtt 44ms --flows 2 --uploads 0 --no-web --call --no-game"
    words += " --aqm codel --ecn --variant reno"
    done = cli("new", "a.toml", *words.split())
    assert done.returncode == 0, done.stderr
    plan = sojourn.load(tmp_path / "a.toml").plan()
    dumbbell = plan["topology"]["dumbbell"]
    assert (dumbbell["rate"], dumbbell["reverse_rate"], dumbbell["delay"]) == (
        80_000_000,
        8_000_000,
        22_000_000,
    )
    assert dumbbell["queue"] == {"limit": "2000000B", "aqm": "codel", "ecn": True}
    assert dumbbell["reverse_queue"] == {"limit": "200000B", "aqm": "codel", "ecn": True}
    assert [one["name"] for one in plan["traffic"]] == ["download", "call", "call-up"]
    assert plan["traffic"][0]["count"] == 2
    assert plan["traffic"][0]["kind"]["tcp"]["options"]["variant"] == "reno"
    assert (
        "# A home link: 80Mbit/s down, 8Mbit/s up, base round-trip time 44ms."
        in (tmp_path / "a.toml").read_text()
    )


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--template", "l5s"], "'l5s' is not a template (did you mean l4s?)"),
        (["--template", "l4s", "--ecn"], "--ecn does not apply to the template 'l4s'"),
        (["--rate", "100"], "--rate = '100' has no unit"),
        (["--rate", "100/20mbps"], "which may mean bytes"),
        (["--rtt", "30"], "--rtt = '30' has no unit"),
        (["--aqm", "wfq"], "did you mean fq?"),
        (["--aqm", 'red"'], "is not an algorithm"),
        (["--flows", "0", "--uploads", "0", "--no-web", "--no-call", "--no-game"], "traffic is missing"),
        (["--variant", "bbr2"], "did you mean bbr?"),
    ],
)
def test_wrong_options_write_nothing(words: list[str], expected: str, cli: Cli, tmp_path: Path) -> None:
    done = cli("new", "a.toml", *words)
    assert done.returncode == 2
    assert expected in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_file_is_never_overwritten(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "home.toml").write_text("mine")
    done = cli("new", "home.toml")
    assert done.returncode == 2
    assert "home.toml exists" in done.stderr
    assert (tmp_path / "home.toml").read_text() == "mine"


def test_the_list_has_every_template(cli: Cli) -> None:
    done = cli("new", "--list")
    assert all(f"\n {name} " in done.stdout for name in templates.names())


def test_a_comparison_without_algorithms_has_the_usual_ones(cli: Cli) -> None:
    assert cli("new", "home.toml", "--aqm", "pie", "--no-web").returncode == 0
    done = cli("compare", "home.toml", "--seeds", 2, "--json")
    assert done.returncode == 0, done.stderr
    for name in ("droptail", "pie", "codel", "fq_codel"):
        assert f'"{name}"' in done.stdout


def test_an_example_is_found_without_a_clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of that name has priority, and other missing files are refused as before."""
    monkeypatch.chdir(tmp_path)
    found = sojourn.load("examples/red40.toml")
    assert (found.name, found.where) == ("red40", "examples/red40.toml")
    for name in ("examples/nothing.toml", "examples/__init__.py", "other/red40.toml", "red40.toml"):
        with pytest.raises(InputError, match="cannot be read"):
            sojourn.load(name)
    (tmp_path / "examples").mkdir()
    own = (ROOT / "examples/red40.toml").read_text(encoding="utf-8").replace('name = "red40"', 'name = "own"')
    (tmp_path / "examples/red40.toml").write_text(own, encoding="utf-8")
    assert sojourn.load("examples/red40.toml").name == "own"
