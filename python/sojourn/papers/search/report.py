"""Writes the result of a search: ``search.json`` (complete), ``search.md`` (summary), and a page.

The summary of a paper has the counts of the five verdicts, the scores of the best joint reading on both
halves, and the printed statements that this reading contradicts.
"""

from __future__ import annotations

import json
from typing import Any

import polars as pl

from sojourn import _core, files
from sojourn.papers.claims import Verdict
from sojourn.papers.reasons import missed, nearer
from sojourn.papers.search.effects import Effect
from sojourn.papers.search.halves import Half
from sojourn.papers.search.run import FILE, Confirmed, Search, Trial
from sojourn.papers.search.score import within
from sojourn.papers.search.space import Space, Value
from sojourn.papers.search.standing import Kind, Standing, count, standings
from sojourn.report import Code, Column, Document, Facts, Section, Table, Text, render
from sojourn.runner.ownership import MANIFEST, REPORT

#: Maximum number of effects of a claim in a table.
SHOWN = 3
HALVES = (Half.SCORED, Half.SHOWN)


def write(search: Search) -> None:
    """Write the three files and the manifest into the folder of the search.

    Raises
    ------
    RunFailed
        If they cannot be written.
    """
    data = as_data(search)
    manifest = {name: data[name] for name in ("paper", "command", "sojourn", "core", "readings", "runs")}
    manifest["times"] = {"wall_s": round(search.seconds, 1), "cpu_s": round(search.cpu_seconds, 1)}
    files.write(search.directory / FILE, json.dumps(data, indent=1, ensure_ascii=False) + "\n")
    files.write(search.directory / "search.md", summary(search))
    files.write(search.directory / REPORT, render(document(search)))
    files.write(search.directory / MANIFEST, json.dumps({**manifest, "status": "complete"}, indent=1) + "\n")


def as_data(search: Search) -> dict[str, Any]:
    """Return the complete result of a search as the object of ``--json``."""
    space, target = search.space, search.target
    found = standings(search)
    return {
        "paper": search.paper.id,
        "command": search.command,
        "sojourn": _core.VERSION,
        "core": _core.CORE_VERSION,
        "summary": sentence(search, found),
        "readings": len(search.trials),
        "space_size": space.size,
        "seeds": search.seeds,
        "fresh_seeds": list(search.fresh_seeds),
        "runs": search.runs,
        "shorter": space.shorter,
        "space": [
            {
                "key": factor.key,
                "assumption": factor.assumption or None,
                "item": factor.item,
                "fixed": factor.fixed or None,
                "values": [
                    {"id": value.id, "source": value.source, "against": value.against or None}
                    for value in factor.values
                ],
            }
            for factor in space.factors
        ],
        "verdicts": {str(kind): number for kind, number in count(found).items()},
        "claims": [
            {
                "claim": name,
                "statement": target.statements[name].statement,
                "half": str(target.halves["claim", name]) if name not in target.unscored else None,
                "derived": target.statements[name].derived,
                "verdict": str(one.kind),
                "words": one.text,
                "evidence": one.evidence,
                "met_by": sum(trial.scored.holds(name) for trial in search.trials),
                "effects": [_effect(effect) for effect in search.effects[name]],
                "judged": [
                    {"choice": dict(choice), "verdict": str(finding.verdict), "reason": finding.reason}
                    for choice, finding in search.single.get(name, [])
                ],
            }
            for name, one in found.items()
        ],
        "numbers": [_number(search, name) for name in target.numbers],
        "confirmed": [_confirmed(search, one) for one in search.confirmed],
        "score_effects": [_effect(effect) for effect in search.effects[""]],
        "trials": [
            {
                "choice": dict(trial.choice),
                "origin": trial.origin,
                **{str(half): round(target.mean(trial.scored, half), 4) for half in HALVES},
                "claims_met": [name for name in target.claims if trial.scored.holds(name)],
                "met": {name: met for name, (met, _) in trial.scored.met.items()} if _chosen(trial) else {},
            }
            for trial in search.trials
        ],
    }


def _number(search: Search, name: str) -> dict[str, Any]:
    """Return a printed number with ours divided by it: as assumed, and under the readings that come nearer.

    ``tried`` has the readings that were chosen and not drawn, ``within`` the count of all that meet it.
    """
    printed, trials = search.target.numbers[name], search.trials
    assumed = trials[0].scored.ratios[name]
    ratios = [trial.scored.ratios[name] for trial in trials]
    return {
        "number": int(name),
        "table": printed.table,
        "name": printed.name,
        "printed": printed.value,
        "half": str(search.target.halves["number", name]),
        "assumed": _rounded(assumed),
        "within": sum(ratio is not None and not missed(ratio) for ratio in ratios),
        "tried": {
            search.space.name(trial.choice): _rounded(ratio)
            for trial, ratio in zip(trials, ratios, strict=True)
            if trial.choice and _chosen(trial) and nearer(assumed, ratio)
        },
    }


def _chosen(trial: Trial) -> bool:
    """Whether a reading was chosen and not drawn by the design (which may draw a single value, too)."""
    return trial.origin != "designed" or len(trial.choice) <= 1


def _rounded(ratio: float | None) -> float | None:
    return None if ratio is None else float(f"{ratio:.3g}")


def _effect(effect: Effect) -> dict[str, Any]:
    return {
        "factors": list(effect.factors),
        "size": round(effect.size, 4),
        "share": round(effect.share, 4),
        "p": effect.p,
        "means": {name: round(mean, 4) for name, mean in effect.means},
    }


def _confirmed(search: Search, one: Confirmed) -> dict[str, Any]:
    target = search.target
    verdicts = [one.findings[name].verdict for name in target.claims]
    return {
        "choice": dict(one.choice),
        "origin": one.origin,
        "contradicts": search.space.prices(one.choice),
        **{str(half): round(target.mean(one.scored, half), 4) for half in HALVES},
        "verdicts": {str(verdict): verdicts.count(verdict) for verdict in Verdict},
        "tables": {
            name: {str(half): _table(search, one, name, half) for half in HALVES}
            for name in target.tables(one.scored)
        },
        "claims": {
            name: {
                "verdict": str(finding.verdict),
                "met": finding.met,
                "parts": finding.parts,
                "n": finding.n,
                "effect": finding.effect,
                "low": finding.low,
                "high": finding.high,
                "measure": finding.measure,
            }
            for name, finding in one.findings.items()
        },
    }


def _table(search: Search, one: Confirmed, name: str, half: Half) -> dict[str, float | int]:
    ratios = search.target.tables(one.scored, half).get(name, [])
    shares = {f"within {factor:g}": round(within(ratios, factor), 3) for factor in (1.25, 2.0)}
    return {"numbers": len(ratios), **shares}


def sentence(search: Search, found: dict[str, Standing]) -> str:
    """Return the summary of a search in a few sentences."""
    space, kinds = search.space, count(found)
    parts = [
        f"Of {len(found)} claims that rest on runs, {kinds[Kind.REPRODUCED]} are reproduced as assumed, "
        f"{kinds[Kind.UNDER]} only under another reading, {kinds[Kind.NEVER]} under none of "
        f"{len(search.trials)} readings, {kinds[Kind.IMPOSSIBLE]} are impossible and "
        f"{kinds[Kind.UNDECIDED]} undecided."
    ]
    best, primary = search.best, search.primary
    if best is primary:
        parts.append("No other reading comes nearer to the print than the one that is assumed.")
    else:
        scores = ", ".join(
            f"{search.target.mean(best.scored, half):.2f} ({search.target.mean(primary.scored, half):.2f} as "
            f"assumed) on the {half} half"
            for half in HALVES
        )
        parts.append(f"The reading that comes nearest to the print is *{space.name(best.choice)}*: {scores}.")
        shown = [search.target.mean(one.scored, Half.SHOWN) for one in (best, primary)]
        parts.append(
            "The shown half confirms it."
            if shown[0] > shown[1]
            else "The shown half does not confirm it: there it comes no nearer than the paper as assumed."
        )
        prices = space.prices(best.choice)
        parts.append(
            "It contradicts what is printed: " + "; ".join(prices) + "." if prices else
            "It contradicts nothing that is printed."
        )  # fmt: skip
    return " ".join(parts)


def summary(search: Search) -> str:
    """Return the summary of the search as Markdown."""
    found = standings(search)
    version = f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}"
    first, last = search.fresh_seeds
    lines = [
        f"# Readings of {search.paper.id}, tried jointly",
        "",
        f"`{search.command}` with {version}: {len(search.trials)} readings of {search.space.size:,} on "
        f"{search.seeds} seeds, {len(search.confirmed)} of them on seeds {first} to {last} at most; "
        f"{search.runs} runs."
        + (f" {search.space.shorter[0].upper()}{search.space.shorter[1:]}." if search.space.shorter else ""),
        "",
        sentence(search, found),
        "",
        "How the score, the halves and the verdicts are defined: "
        "[how papers are searched](../../paper-search.md).",
        "",
        "## Readings on other seeds",
        "",
        *_markdown(_confirmed_rows(search)),
        "",
        "## What decides the score",
        "",
        *(_markdown(_effect_rows(search.effects[""])) or ["No value decides more than chance."]),
        "",
        "## Claims",
        "",
        *_markdown(claim_rows(search)),
        "",
        "## The space",
        "",
        *_markdown(_space_rows(search.space)),
    ]
    return "\n".join(lines) + "\n"


def document(search: Search) -> Document:
    """Return the page."""
    found = standings(search)
    tables = {
        "Readings on other seeds": ("Scores of both halves, from 0 to 1", _confirmed_rows(search)),
        "What decides the score": ("Main effects and pairs", _effect_rows(search.effects[""])),
        "Claims": ("What is known of each claim", claim_rows(search)),
        "The space of readings": ("Every assumption with its values", _space_rows(search.space)),
    }
    blocks = [
        *(Section(name, [_frame(rows, title)]) for name, (title, rows) in tables.items()),
        Section(
            "How this was made",
            [
                Facts(
                    {
                        "readings": len(search.trials),
                        "seeds of the screening": search.seeds,
                        "shorter runs": search.space.shorter or "none",
                        "wall time": f"{search.seconds:.0f} s",
                        "processor time": f"{search.cpu_seconds:.0f} s",
                    }
                ),
                Code(search.command, "The command that repeats it"),
            ],
        ),
    ]
    return Document(
        title=f"Readings of {search.paper.title}",
        subtitle=search.paper.citation,
        kind="Paper, searched",
        command=search.command,
        summary=sentence(search, found),
        highlights=[(str(len(search.trials)), "readings"), (str(search.runs), "simulated runs")],
        blocks=blocks,
        footer=f"Sojourn {_core.VERSION}, core {_core.CORE_VERSION}",
    )


def _frame(rows: list[dict[str, str]], title: str) -> Table | Text:
    if not rows:
        return Text("None that chance does not explain.")
    return Table(pl.DataFrame(rows), title, {name: Column(name, kind="text") for name in rows[0]})


def _markdown(rows: list[dict[str, str]]) -> list[str]:
    """Return a table in Markdown; empty without rows."""
    if not rows:
        return []
    cells = [[str(one).replace("|", "\\|") for one in row.values()] for row in rows]
    head = list(rows[0])
    return ["| " + " | ".join(line) + " |" for line in (head, ["---"] * len(head), *cells)]


def _confirmed_rows(search: Search) -> list[dict[str, str]]:
    rows = []
    for one in search.confirmed:
        verdicts = [finding.verdict for finding in one.findings.values()]
        tables = search.target.tables(one.scored)
        rows.append(
            {
                "reading": search.space.name(one.choice),
                "why": one.origin,
                **{f"score, {half} half": f"{search.target.mean(one.scored, half):.3f}" for half in HALVES},
                **{str(verdict): str(verdicts.count(verdict)) for verdict in Verdict},
                "numbers within a factor of 1.25, 2": "; ".join(
                    f"{name}: {within(ratios, 1.25):.0%}, {within(ratios, 2):.0%} of {len(ratios)}"
                    for name, ratios in tables.items()
                )
                or "-",
                "contradicts": "; ".join(search.space.prices(one.choice)) or "-",
            }
        )
    return rows


def _effect_rows(effects: list[Effect]) -> list[dict[str, str]]:
    return [
        {
            "what": " x ".join(effect.factors),
            "size": f"{effect.size:.3f}",
            "share of the variance": f"{effect.share:.0%}",
            "p": f"{effect.p:.1g}",
            "means": "; ".join(f"{name}: {mean:.3f}" for name, mean in effect.means),
        }
        for effect in effects
    ]


def claim_rows(search: Search) -> list[dict[str, str]]:
    """Return a row for each claim: verdict, evidence, and the factors with an effect."""
    rows = []
    for name, one in standings(search).items():
        effects = search.effects[name][:SHOWN]
        own = search.primary.findings[name]
        rows.append(
            {
                "claim": name + (" (derived)" if search.target.statements[name].derived else ""),
                "half": "-" if name in search.target.unscored else str(search.target.halves["claim", name]),
                "verdict": one.text,
                "as assumed": f"{own.verdict}, {own.met} of {own.parts}",
                "evidence": one.evidence,
                "decided by": "; ".join(
                    f"{' x '.join(effect.factors)} ({effect.size:.2f})" for effect in effects
                )
                or "-",
            }
        )
    return rows


def _space_rows(space: Space) -> list[dict[str, str]]:
    return [
        {
            "factor": factor.key,
            "assumption": factor.assumption or "-",
            "what": factor.item,
            "values, the first assumed": "; ".join(map(_value, factor.values))
            + (" - the only value" if factor.fixed else ""),
        }
        for factor in space.factors
    ]


def _value(value: Value) -> str:
    against = f"; contradicts: {value.against}" if value.against else ""
    return f"**{value.id}** ({value.source}{against})"
