"""Help: the first page, the examples of each command, and what `explain` knows.

Mutants seen to fail: an example with an unknown option; a congestion control without a description; the
topics of scenario keys left out.
"""

from __future__ import annotations

import shlex

import pytest
import typer

from sojourn import _core
from sojourn.cli import COMMANDS, COMPLETE, _app, call, topics
from sojourn.cli.examples import EXAMPLES
from sojourn.cli.words import joined
from sojourn.metrics import METRICS
from support import Cli


def test_without_arguments_there_is_a_short_page(cli: Cli) -> None:
    done = cli()
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) < 15
    assert all(len(line) <= 80 for line in done.stdout.splitlines())


def test_help_of_a_command_may_be_asked_for_in_two_ways(cli: Cli) -> None:
    one, other = cli("help", "run"), cli("run", "--help")
    assert (one.returncode, other.returncode) == (0, 0)
    assert one.stdout == other.stdout


def test_the_list_of_commands_has_the_summaries_of_the_commands(cli: Cli) -> None:
    """It is made without importing them. Seen to fail: the text of the function before it in the file."""
    whole = typer.main.get_command(_app([]))
    listed = typer.main.get_command(_app(["--help"]))
    assert list(listed.commands) == list(COMMANDS)
    for name, command in whole.commands.items():
        assert listed.commands[name].get_short_help_str(200) == command.get_short_help_str(200) != ""
    assert all(f"  {name} " in cli("--help").stdout for name in COMMANDS)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_examples_of_a_command_have_its_options(name: str, cli: Cli) -> None:
    command = typer.main.get_command(_app([])).commands[name]
    text = cli(name, "--help").stdout
    for example in EXAMPLES[name]:
        assert example in [line.strip() for line in text.splitlines()]
        words = joined(shlex.split(example.partition(" > ")[0])[1:])
        assert words[0] == name
        if "status" not in words:
            command.make_context(name, words[1:])


@pytest.mark.parametrize("name", dict.fromkeys(topics.names()))
def test_every_name_has_an_explanation(name: str, cli: Cli) -> None:
    done = cli("explain", name)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout


def test_names_that_users_type_are_topics() -> None:
    names = topics.names()
    known = [
        "web",
        "udp-cbr",
        "udp-poisson",
        "call",
        "game",
        "video",
        "startup_delay_s",
        "probe",
        "ns2-2004",
        "mos",
        "cubic",
        "dctcp",
        "bbr",
        "vegas",
        "westwood",
        "tahoe",
        "ledbat",
        "ledbat++",
        "prague",
        "min_rto",
        "queue.limit",
        "dumbbell",
        "real",
        "raqm2005",
        "rtt",
    ]
    assert set(known) <= {*names, *METRICS}


@pytest.mark.parametrize(
    ("word", "meant"),
    [("fairness", "jain_index"), ("jain", "jain_index"), ("bbr2", "bbr"), ("fifo", "droptail")],
)
def test_a_name_without_an_explanation_finds_the_nearest(word: str, meant: str, cli: Cli) -> None:
    done = cli("explain", word)
    assert done.returncode == 2
    assert f"did you mean {meant}?" in done.stderr
    assert len(done.stderr) < 300


def test_names_are_completed() -> None:
    from sojourn.cli.explain import _matching

    assert "codel" in _matching("cod")
    assert "mean_delay_s" in _matching("mean_")
    assert set(METRICS) <= set(_matching(""))
    assert {one["name"] for one in _core.algorithms()} <= set(_matching(""))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
@pytest.mark.parametrize(
    ("line", "offered", "others"),
    [
        ("sojourn ", [*COMMANDS], []),
        ("sojourn compare", ["compare", "compare-worlds"], ["sweep"]),
        ("sojourn explain cod", ["codel"], ["First steps", "compare"]),
        ("sojourn run small.toml --aqm cod", ["codel"], ["red", "mean_delay_s"]),
        ("sojourn compare small.toml --baseline fq", ["fq_codel", "fq_pie"], ["codel"]),
        ("sojourn run small.toml --metric mean_d", ["mean_delay_s"], ["utilization"]),
        ("sojourn run small.toml --world ke", ["kernel"], ["real"]),
        ("sojourn sweep small.toml -L queue.li", ["queue.limit"], ["limit"]),
        ("sojourn tune small.toml --aqm codel -P ", ["target", "interval"], ["max_th", "queue.limit"]),
        ("sojourn tune small.toml --metric mean_d", ["mean_delay_s"], ["utilization"]),
        ("sojourn reproduce ra", ["raqm2005"], ["bio2002"]),
        ("sojourn new --template ho", ["home"], ["red40"]),
        ("sojourn shell --aqm pi", ["pi", "pie"], ["red"]),
    ],
)
def test_a_shell_gets_completions_only(
    shell: str,
    line: str,
    offered: list[str],
    others: list[str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The line is in the environment, and there are no arguments. Mutant seen to fail: the first page."""
    monkeypatch.setenv(COMPLETE, f"complete_{shell}")
    if shell == "bash":
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    else:
        monkeypatch.setenv("_TYPER_COMPLETE_ARGS", line)
        monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
        monkeypatch.setenv("_TYPER_COMPLETE_WORD_TO_COMPLETE", line.split(" ")[-1])
    assert call([]) == 0
    found = capsys.readouterr()
    assert found.err == ""
    assert "reproduce PAPER" not in found.out
    words = found.out.replace('"', " ").replace(":", " ").split()
    assert set(offered) <= set(words)
    assert not set(others) & set(words)
