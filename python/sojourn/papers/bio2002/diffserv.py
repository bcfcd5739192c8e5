"""RIO against BIO on a queue for assured forwarding: what is run, measured and checked (section 4.2)."""

from __future__ import annotations

from sojourn.papers.checks import Check, Computed
from sojourn.papers.claims import Finding, Verdict
from sojourn.papers.experiment import Experiment


def experiment() -> Experiment:
    """Return the experiment."""
    return Experiment("bio-diffserv", "RIO against BIO", "Figs. 17 to 22")


def checks() -> dict[str, Check]:
    """Return the check of every claim of section 4.2 by its id."""
    nothing = Finding(Verdict.UNDECIDED, reason="not run")
    return {f"BIO-{i}": Computed(lambda: nothing) for i in range(28, 41)}
