"""Two examples for the help of each command, and the page that ``sojourn`` without arguments prints."""

from __future__ import annotations

EXAMPLES: dict[str, tuple[str, str]] = {
    "demo": ("sojourn demo", "sojourn demo --out first"),
    "new": (
        "sojourn new home.toml --rate 100/20mbit --rtt 30ms",
        "sojourn new --template parkinglot mine.toml",
    ),
    "run": (
        "sojourn run home.toml --seeds 10",
        'sojourn run home.toml --aqm "red min_th 20p max_th 60p" --aqm pie --json',
    ),
    "compare": (
        "sojourn compare home.toml",
        'sojourn compare home.toml --aqm droptail --aqm "codel target 10ms" --sort p99_delay_s --seeds 20',
    ),
    "compare-worlds": (
        "sojourn compare-worlds home.toml --aqm pie",
        "sojourn compare-worlds home.toml --world real --aqm codel",
    ),
    "sweep": (
        "sojourn sweep home.toml -L aqm codel,pie -P dumbbell.rate 5Mbit/s:100Mbit/s:log4",
        "sojourn sweep status results/home-1234",
    ),
    "tune": (
        "sojourn tune home.toml --aqm codel",
        'sojourn tune home.toml --aqm pie -P "target 5ms:50ms:log" --require "utilization >= 99%"',
    ),
    "advise": (
        "sojourn advise --down 100mbit --up 20mbit",
        "sojourn advise --down 50mbit --up 10mbit --rtt 20ms --use calls,games --nic eth1 --out mylink",
    ),
    "explore": ("sojourn explore home.toml --aqm droptail --aqm fq_codel", "sojourn explore --tour codel"),
    "stability": (
        "sojourn stability pie --flows 10 --rate 50Mbit/s --rtt 40ms",
        "sojourn stability pie --flows 5:500 --rtt 20ms:1s --out map.html",
    ),
    "design": (
        "sojourn design pi --flows 60 --rate 15Mbit/s --rtt 240ms",
        "sojourn design pie --flows 4 --rate 100Mbit/s --rtt 40ms",
    ),
    "evaluate": (
        "sojourn evaluate mine.py:Mine --quick",
        "sojourn evaluate pie --against codel --scenario 8.2 --export table.tex",
    ),
    "reproduce": (
        "sojourn reproduce raqm2005 --quick",
        "sojourn reproduce taildrop2001 --search --readings 16",
    ),
    "list": ("sojourn list", "sojourn list --json"),
    "explain": ("sojourn explain codel", "sojourn explain queue.limit"),
    "report": ("sojourn report results/home-1234", "sojourn report results/home-1234 --export table.tex"),
    "export": (
        "sojourn export results/home-1234 packets.pcapng",
        "sojourn export results/home-1234 out.tr --aqm pie --seed 2 --most 10MB",
    ),
    "rerun": ("sojourn rerun results/home-1234", "sojourn rerun results/mine --allow-code"),
    "verify": ("sojourn verify results/home-1234", "sojourn verify results/home-1234 --sample 5%"),
    "schema": ("sojourn schema", "sojourn schema > scenario.schema.json"),
    "shell": (
        "sojourn shell --rate 20mbit --delay 10ms --aqm fq_codel",
        "sojourn shell --rate 20mbit -- sh -c 'ping -c 5 $SOJOURN_OUTSIDE'",
    ),
    "bench": ("sojourn bench", "sojourn bench aqm --aqm codel"),
}


def epilog(command: str) -> str:
    """Return the examples of a command as the end of its help, one a line."""
    return "\b\nExamples:\n" + "\n".join(f"  {example}" for example in EXAMPLES[command])


def first_page(version: str) -> str:
    """Return what ``sojourn`` prints without arguments."""
    return f"""\
Sojourn {version}: a laboratory for active queue management (AQM)

  sojourn new home.toml                 write a scenario of your link
  sojourn compare home.toml             compare queues on it, with intervals
  sojourn explain codel                 explain an algorithm, a metric, a key
  sojourn shell --rate 20mbit           open a shell behind a real queue
  sojourn reproduce raqm2005 --quick    re-run a paper

All commands: sojourn --help. Options and examples of one: sojourn run --help.
Documentation: README.md and docs/ in the repository."""
