"""A scenario: links, queues, traffic and duration, independent of the world that runs it.

It is read from TOML (``load``) or built in Python from the classes of ``schema.py``. Both are validated
before anything runs; an error has file, key, reason, allowed values and the closest match. ``plan.py``
converts a scenario to the core's numbers.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from contextvars import ContextVar
from importlib import resources
from os import PathLike
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, PrivateAttr, ValidationError, model_validator

from sojourn import _core
from sojourn.errors import InputError
from sojourn.files.untrusted import MOST_SCENARIO, read_text, reason
from sojourn.spec import plan, validate
from sojourn.spec.schema import ScenarioFields, folder
from sojourn.spec.toml import dumps
from sojourn.spec.units import Wrongs
from sojourn.spec.validation_errors import refusal

#: The source of the scenario that is being validated, and its text.
_source: ContextVar[tuple[str, str, tuple[str, ...]]] = ContextVar("source", default=("scenario", "", ()))


class Scenario(ScenarioFields):
    """The complete description of an experiment.

    Examples
    --------
    >>> scenario = Scenario.from_toml('''
    ... name = "tiny"
    ... duration = "2s"
    ... queue = { limit = "20p" }
    ... [dumbbell]
    ... rate = "1Mbit"
    ... delay = "10ms"
    ... access = { rate = "10Mbit", delay = "5ms" }
    ... server = { rate = "10Mbit", delay = "5ms" }
    ... [[traffic]]
    ... name = "cbr"
    ... kind = "udp-cbr"
    ... rate = "2Mbit/s"
    ... size = "1kB"
    ... ''')
    >>> scenario.dumbbell.rate
    '1Mbit/s'
    >>> scenario.with_(duration="5s").duration
    '5s'
    """

    _plans: dict[str, str] = PrivateAttr(default_factory=dict)

    def __init__(self, /, **data: Any) -> None:
        where, text, table = _source.get()
        outer = folder.set(str(Path(where).parent))
        try:
            super().__init__(**data)
        except ValidationError as error:
            positions = {
                path[len(table) :]: (line, column)
                for path, line, column in _core.toml_positions(text)
                if path[: len(table)] == table
            }
            raise refusal(error, Scenario, data, where, positions) from None
        finally:
            folder.reset(outer)
        self._where = where

    @classmethod
    def of(cls, data: Mapping[str, Any], where: str, text: str = "", table: tuple[str, ...] = ()) -> Scenario:
        """Return the scenario of TOML data.

        `where` is their source in messages; `text` gives the lines of `table` (empty: of the whole file).
        """
        outer = _source.set((where, text, table))
        try:
            return cls(**data)
        finally:
            _source.reset(outer)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if wrongs := list(validate.problems(self)):
            raise Wrongs(wrongs)
        return self

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Scenario) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash(self.to_toml())

    @classmethod
    def from_toml(cls, text: str, where: str = "scenario", *, is_stored: bool = False) -> Scenario:
        """Parse a scenario.

        Parameters
        ----------
        where : str
            The source of the text in error messages.
        is_stored : bool
            Whether it is part of a results folder: then ``conventions = "default"``, the name until
            version 0.1, is read as ``"rfc"``.
        """
        data = parsed(text, where)
        return cls.of(renamed(data) if is_stored else data, where, text)

    def to_toml(self) -> str:
        """Return the scenario with all defaults as TOML; parsing it gives an equal scenario."""
        return dumps(_written(self))

    def with_(self, **changes: Any) -> Scenario:
        """Return a validated copy with some top-level keys changed.

        A table may be given as a dict (replaces the table) or as an object.
        """
        data = self.model_dump(by_alias=True, exclude_none=True)
        for key, value in changes.items():
            data[key] = _plain(value)
        kept = {key: value for key, value in data.items() if value is not None}
        return Scenario.of(kept, self._where)

    def plan(self, spec: str | None = None) -> dict[str, Any]:
        """Return the core's plan: units as plain numbers, `spec` at the measured queue."""
        return plan.plan(self, spec)

    def plan_json(self, spec: str | None = None) -> str:
        """Return the plan as canonical JSON; the id of a run is its hash."""
        key = spec or ""
        if key not in self._plans:
            self._plans[key] = json.dumps(self.plan(spec), sort_keys=True, separators=(",", ":"))
        return self._plans[key]

    def _repr_html_(self) -> str:
        from sojourn.notebook import of_scenario

        return of_scenario(self)

    @property
    def measured(self) -> str:
        """The name of the measured queue."""
        return plan.measured(self)


def parsed(text: str, where: str) -> dict[str, Any]:
    """Return the data of a scenario or a plan in TOML; `where` is its source in messages."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        twice = re.search(r"traffic|link", str(error)) and "Cannot" in str(error)
        remedy = "[[traffic]] and [[link]], with two brackets, for each" if twice else ""
        raise InputError(where, f"is not TOML: {error}", remedy) from None
    except RecursionError:
        raise InputError(where, "is not TOML: nested too deeply") from None


def _plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(by_alias=True, exclude_none=True)
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return value


def _written(one: BaseModel) -> dict[str, Any]:
    """Return a table without empty tables and lists that are the default anyway.

    Others have a meaning: a traffic's ``access = {}`` replaces the access links of the dumbbell.
    """
    kept = {}
    for name, field in type(one).model_fields.items():
        value = getattr(one, name)
        written = _without_defaults(value)
        is_default = written in ({}, []) and value == field.get_default(call_default_factory=True)
        if written is not None and not is_default:
            kept[field.alias or name] = written
    return kept


def _without_defaults(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return _written(value)
    if isinstance(value, list):
        return [_without_defaults(each) for each in value]
    return value


def renamed(stored: dict[str, Any]) -> dict[str, Any]:
    """Return a stored scenario with the present name of its conventions.

    >>> renamed({"name": "a", "conventions": "default"})
    {'name': 'a', 'conventions': 'rfc'}
    """
    former = {"conventions": "rfc"} if stored.get("conventions", "default") == "default" else {}
    return {**stored, **former}


def load(path: str | PathLike[str], *, is_stored: bool = False) -> Scenario:
    """Read a scenario file, ``-`` for standard input; code that it names is not executed.

    ``examples/NAME.toml`` is an example of this package, if there is no such file. `is_stored` as in
    `Scenario.from_toml`.

    Examples
    --------
    >>> load("nowhere.toml")
    Traceback (most recent call last):
    ...
    sojourn.errors.InputError: nowhere.toml cannot be read: no such file or directory
    """
    where = str(path)
    try:
        text = read_text(path, MOST_SCENARIO)
    except (OSError, ValueError) as error:
        example = _example(Path(path)) if isinstance(error, FileNotFoundError) else None
        if example is None:
            raise unreadable(path, error) from None
        text = example
    return Scenario.from_toml(text, where, is_stored=is_stored)


def _example(path: Path) -> str | None:
    """Return the text of the example that a missing file names, such as ``examples/red40.toml``."""
    if path.parts != ("examples", path.name):
        return None
    known = resources.files("sojourn") / "templates" / path.name
    return known.read_text(encoding="utf-8") if path.suffix == ".toml" and known.is_file() else None


def unreadable(path: str | PathLike[str], error: OSError | ValueError) -> InputError:
    """Return the error for a scenario or plan that cannot be read, with the file that was probably meant."""
    near = _nearest_file(Path(path)) if isinstance(error, FileNotFoundError) else None
    return InputError(str(path), f"cannot be read: {reason(error)}", nearest=near)


def _nearest_file(path: Path) -> str | None:
    """Return the probably intended file, if its name or that of its directory is misspelt."""
    if path.parent.is_dir():
        name = _core.nearest(path.name, [one.name for one in path.parent.glob("*.toml")])
        return None if name is None else str(path.with_name(name))
    if not path.parent.parent.is_dir():
        return None
    folders = [one.name for one in path.parent.parent.iterdir() if (one / path.name).is_file()]
    folder = _core.nearest(path.parent.name, folders)
    return None if folder is None else str(path.parent.with_name(folder) / path.name)


def json_schema() -> dict[str, Any]:
    """Return the JSON Schema of a scenario file, for editors."""
    schema = Scenario.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
