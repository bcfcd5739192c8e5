"""The selected part of a paper: experiment, world, number of seeds; and invalid combinations."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from sojourn import _core
from sojourn.errors import InputError, unknown
from sojourn.papers.paper import BUILT, Paper
from sojourn.runner.point import digest

#: The world that runs only if selected.
REAL = "real"


@dataclass(frozen=True)
class Selection:
    """The selected part of a paper.

    Attributes
    ----------
    experiment, world : str or None
        Only this one; None: all.
    quick : bool
        Few seeds, and no verdict that needs more.
    aqms : tuple of str
        Further algorithms, run in the paper's scenarios.
    arms : tuple of str
        In the real world: only these arms.
    as_printed : bool
        Without other readings of what the paper leaves open.
    """

    experiment: str | None = None
    world: str | None = None
    quick: bool = False
    aqms: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    as_printed: bool = False

    @property
    def real(self) -> bool:
        """Whether the real world is selected."""
        return self.world == REAL

    @property
    def worlds(self) -> tuple[str, ...]:
        """The worlds in which claims are judged."""
        return (REAL,) if self.real else BUILT

    @property
    def name(self) -> str:
        """The selection as part of a directory's name."""
        words = (
            self.experiment,
            self.world,
            "quick" if self.quick else "",
            "as-printed" if self.as_printed else "",
            "with" if self.aqms else "",
            "some" if self.arms else "",
        )
        return "-".join(filter(None, words))

    @property
    def options(self) -> str:
        """The selection as command-line options."""
        words = [f"--experiment {self.experiment}"] if self.experiment else []
        words += [f"--world {self.world}"] if self.world else []
        words += [f"--aqm {shlex.quote(spec)}" for spec in self.aqms]
        words += [f"--arm {shlex.quote(name)}" for name in self.arms]
        words += ["--as-printed"] if self.as_printed else []
        return " ".join([*words, *(["--quick"] if self.quick else [])])


def refuse(selection: Selection) -> None:
    """Refuse options that a world does not support."""
    if selection.arms and not selection.real:
        raise InputError("arms", "can be chosen in the real world only", "with world = 'real'")
    if selection.aqms and selection.real:
        raise InputError("aqms", "cannot be added in the real world", "sojourn run FILE --world real")


def chosen(paper: Paper, selection: Selection) -> frozenset[str]:
    """Return the ids of the selected claims."""
    if selection.world is not None and selection.world not in paper.worlds:
        raise unknown(selection.world, f"a world of {paper.id}", paper.worlds)
    if selection.experiment is not None:
        paper.experiment(selection.experiment)
    return frozenset(
        claim.id
        for claim in paper.claims
        if selection.experiment in (None, *claim.experiments)
        and (
            REAL in paper.worlds_of(claim)
            if selection.real
            else selection.world in (None, paper.worlds_of(claim)[0])
        )
    )


def default_directory(paper: Paper, selection: Selection) -> Path:
    """Return ``results/<paper>-<id>``: the same for the same selection and version."""
    name = "-".join(filter(None, (paper.id, selection.name)))
    version = getattr(paper.measure, "version", "")
    parts = (name, *selection.aqms, *selection.arms, _core.CORE_VERSION, version)
    return Path("results") / f"{name}-{digest(*parts, length=8)}"


def command(paper: Paper, selection: Selection) -> str:
    """Return the command that starts or continues it."""
    return f"sojourn reproduce {paper.id} {selection.options}".strip()
