"""Checks points before a run: permission of their code, then the core their plans, then their world."""

from __future__ import annotations

from collections.abc import Iterable

from sojourn import _core, worlds
from sojourn.errors import InputError, from_core
from sojourn.runner.code import require_permission
from sojourn.runner.point import Point
from sojourn.spec.aqm_spec import Spec
from sojourn.spec.plan import measured, queues
from sojourn.worlds.simulated.memory import refusal, run_limit


def check(points: Iterable[Point]) -> None:
    """Raise ``InputError`` if code is not permitted, a plan is invalid, or its world refuses it."""
    wanted = list(points)
    require_permission(wanted)
    seen = set()
    limit = run_limit(1)
    for point in wanted:
        if point.plan_json not in seen:
            seen.add(point.plan_json)
            # The core builds what it checks; a run that has not enough memory fails when it is its turn.
            if refusal(point.plan_json, limit) is None:
                _check_plan(point)
    if wanted:
        worlds.find(wanted[0].world).supports(wanted)


def _check_plan(point: Point) -> None:
    try:
        _core.check(point.plan_json)
    except _core.PlanError as error:
        raise _refused(point, error) from None
    except _core.AlgorithmError as error:
        raise InputError(f"aqm {point.spec!r}:", str(error)) from None
    except ValueError as error:
        raise InputError(point.scenario.where, str(error)) from None


def _refused(point: Point, error: _core.PlanError) -> InputError:
    """Return the core's refusal with the place of the invalid text."""
    scenario = point.scenario
    own = Spec(queues(scenario)[measured(scenario)].aqm)
    if error.key == "queue.aqm" and point.spec != own:
        return InputError(f"aqm {point.spec!r}:", error.problem, error.allowed, error.nearest)
    return from_core(error).at(scenario.where)
