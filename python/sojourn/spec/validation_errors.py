"""Converts pydantic's errors to messages with a remedy, one for each mistake, in the order of the file.

A missing key is not reported beside the unknown key that was probably meant for it.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sojourn import _core
from sojourn.errors import InputError, InputErrors
from sojourn.spec.units import Wrong, Wrongs

Path = tuple[int | str, ...]
#: Where a path is in the file; None if it is not in it.
Positions = dict[Path, tuple[int, int]]


def refusal(
    error: ValidationError, root: type[BaseModel], data: Any, where: str, positions: Positions
) -> InputError:
    """Return all of pydantic's errors about `data`, validated as `root`, in the order of the file.

    Parameters
    ----------
    where : str
        The file.
    positions : dict
        Line and column of each path in it, as far as they are known.
    """
    mistakes: list[tuple[Path, InputError]] = []
    found = [_converted(one, root, data) for one in error.errors(include_url=False)]
    for one in [*found, _without_any(root, data)]:
        # Pydantic reports a value that fits no member of a union once for each member.
        known = {path for path, _ in mistakes}
        mistakes += [(path, mistake) for path, mistake in one if path not in known]
    shown = _without_consequences(mistakes)
    located = [(_position(path, positions), mistake) for path, mistake in shown]
    ordered = sorted(located, key=lambda pair: pair[0] or (0, 0))
    errors = [mistake.at(f"{where}:{at[0]}:{at[1]}" if at else where) for at, mistake in ordered]
    return errors[0] if len(errors) == 1 else InputErrors(errors)


def _position(path: Path, positions: Positions) -> tuple[int, int] | None:
    """Return line and column of a path, or those of the table around it."""
    for length in range(len(path), 0, -1):
        if found := positions.get(path[:length]):
            return found
    return None


def _without_consequences(mistakes: list[tuple[Path, InputError]]) -> list[tuple[Path, InputError]]:
    """Drop each missing key that an unknown key in the same table was probably meant for."""
    meant = {
        (path[:-1], error.nearest)
        for path, error in mistakes
        if path and error.nearest and error.problem == _UNKNOWN
    }
    return [
        (path, error)
        for path, error in mistakes
        if not (path and error.problem == _MISSING and (path[:-1], path[-1]) in meant)
    ]


_UNKNOWN, _MISSING = "is not a key here", "is missing"


def _converted(one: ErrorDetails, root: type[BaseModel], data: Any) -> Iterator[tuple[Path, InputError]]:
    """Yield the path and the message of each mistake behind one of pydantic's errors."""
    path = _path(one["loc"], data)
    kind, ctx, given = one["type"], one.get("ctx", {}), one["input"]
    if kind.startswith("union_tag"):
        path = (*path, "kind")
    if kind == "value_error" and isinstance(ctx.get("error"), Wrong | Wrongs):
        wrong = ctx["error"]
        for each in wrong.wrongs if isinstance(wrong, Wrongs) else [wrong]:
            place = path + _parsed(each.key, data)
            yield place, InputError(named(place, data) or "it", each.problem, each.allowed, each.nearest)
        return
    yield path, _message(one, root, data, path, kind, ctx, given)


def _message(
    one: ErrorDetails, root: type[BaseModel], data: Any, path: Path, kind: str, ctx: Any, given: Any
) -> InputError:
    key = named(path, data)
    if kind == "extra_forbidden":
        names = _keys(root, path[:-1], data)
        return InputError(key, _UNKNOWN, ", ".join(names), _core.nearest(str(path[-1]), names))
    if kind == "missing":
        return InputError(key, _MISSING, _hint(root, path, data))
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = _words(ctx.get("expected", ctx.get("expected_tags", "")))
        word = given.get("kind") if kind == "union_tag_invalid" and isinstance(given, dict) else given
        near = _core.nearest(word, allowed) if isinstance(word, str) else None
        return InputError(key, f"= {_show(word)} is not one of the allowed words", ", ".join(allowed), near)
    if kind == "union_tag_not_found":
        meant = [other for other in given if _core.nearest(other, ["kind"])]
        if meant:
            return InputError(named((*path[:-1], meant[0]), data), _UNKNOWN, "kind", "kind")
        return InputError(
            key,
            _MISSING,
            "tcp, tcp-short, tcp-onoff, web, video, udp-cbr, udp-poisson, udp-onoff, call, game, probe",
        )
    if one["loc"][-1] == "str":  # the first member of a union: an option's value
        return InputError(key, f"= {_show(given)} is not a value", "text, a whole number, true or false")
    return InputError(key, f"= {_show(given)} {_plainly(one)}", _allowed(one, root, path, data))


def _without_any(root: type[BaseModel], data: Any) -> Iterator[tuple[Path, InputError]]:
    """Yield the tables that lack all of the keys of which they need one; pydantic checks them last."""
    if not isinstance(data, dict):
        return
    tables: list[Path] = [("dumbbell",)]
    if isinstance(data.get("traffic"), list):
        tables += [("traffic", i) for i in range(len(data["traffic"]))]
    for path in tables:
        table: Any = data
        for part in path:
            table = table.get(part) if isinstance(table, dict) else table[part]
        model = _model(root, path, data) if isinstance(table, dict) else None
        keys = getattr(model, "one_of", ())
        if keys and not any(key in table for key in keys):
            yield (*path, keys[0]), InputError(named((*path, keys[0]), data), _MISSING, " or ".join(keys))


def _path(loc: Path, data: Any) -> Path:
    """Drop the parts of pydantic's location that are not in the file (the members of unions)."""
    path: list[int | str] = []
    for position, part in enumerate(loc):
        last = position == len(loc) - 1
        if isinstance(part, int):
            path.append(part)
            data = data[part] if isinstance(data, list) and part < len(data) else None
        elif isinstance(data, dict) and part == data.get("kind") and isinstance(loc[position - 1], int):
            continue  # the tag of a union, which may also be the name of a key: "tcp"
        elif isinstance(data, dict) and (part in data or last):
            path.append(part)
            data = data.get(part)
    return tuple(path)


def named(path: Path, data: Any) -> str:
    """Return a path as text: ``traffic.web.rate``, or ``traffic[2].rate`` if the name is missing or wrong."""
    text = ""
    for position, part in enumerate(path):
        if isinstance(part, int):
            table = None if path[-1] == "name" else _name(path[: position + 1], data)
            text += f"[{part + 1}]" if table is None else f".{table}"
        else:
            text += f".{part}" if text else part
    return text


def _name(path: Path, data: Any) -> str | None:
    """Return the name of the traffic or the link at `path`, if it has one that no other has."""
    if len(path) != 2 or not isinstance(data, dict) or path[0] not in ("traffic", "link"):
        return None
    tables = data.get(path[0])
    if not isinstance(tables, list) or not all(isinstance(one, dict) for one in tables):
        return None
    names = [
        one.get("name") if path[0] == "traffic" else f"{one.get('from')}-{one.get('to')}" for one in tables
    ]
    own = names[path[1]]  # type: ignore[index]
    is_plain = isinstance(own, str) and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", own)
    return own if is_plain and names.count(own) == 1 else None


def _parsed(key: str, data: Any) -> Path:
    """Return the path of a key as text; tables are numbered from 1, or named."""
    path: list[int | str] = []
    for part in re.findall(r"[^.\[\]]+|\[\d+\]", key):
        if part.startswith("["):
            path.append(int(part[1:-1]) - 1)
        elif path == ["traffic"] and isinstance(data, dict):
            names = [one.get("name") for one in data["traffic"]]
            path.append(names.index(part) if part in names else part)
        else:
            path.append(part)
    return tuple(path)


def _model(root: type[BaseModel], path: Path, data: Any) -> type[BaseModel] | None:
    """Return the class of the table at `path`."""
    current: Any = root
    for part in path:
        if isinstance(part, int):
            data = data[part]
            continue
        if not isinstance(current, type) or not issubclass(current, BaseModel):
            return None
        field = _field(current, part)
        data = data.get(part) if isinstance(data, dict) else None
        if field is None:
            return None
        models = list(_models(field.annotation))
        one = data[0] if isinstance(data, list) and data else data
        current = _choose(models, one)
    # In a list of tagged tables, choose by the tag of this element.
    if isinstance(current, type) and path and isinstance(path[-1], int) and isinstance(data, dict):
        siblings = list(_models(_field(root, str(path[0])).annotation))
        current = _choose(siblings, data)
    return current if isinstance(current, type) and issubclass(current, BaseModel) else None


def _choose(models: list[type[BaseModel]], table: Any) -> type[BaseModel] | None:
    tag = table.get("kind") if isinstance(table, dict) else None
    for model in models:
        kind = model.model_fields.get("kind")
        if kind is None or tag in typing.get_args(kind.annotation):
            return model
    return models[0] if models else None


def _models(annotation: Any) -> typing.Iterator[type[BaseModel]]:
    """Yield the table classes inside a type, however deep."""
    inner = typing.get_args(annotation)
    if not inner and isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for one in inner:
        yield from _models(one)


def _field(model: type[BaseModel], key: str) -> Any:
    for name, field in model.model_fields.items():
        if key in (name, field.alias):
            return field
    return None


def _keys(root: type[BaseModel], path: Path, data: Any) -> list[str]:
    model = _model(root, path, data)
    return [field.alias or name for name, field in model.model_fields.items()] if model else []


def _hint(root: type[BaseModel], path: Path, data: Any) -> str:
    """Describe the values of a field: from its type, or from its annotation and description."""
    model = _model(root, path[:-1], data)
    field = _field(model, str(path[-1])) if model else None
    if field is None:
        return ""
    for extra in field.metadata:
        schema = getattr(extra, "json_schema", None)
        if isinstance(schema, dict) and "description" in schema:
            return str(schema["description"])
    meaning = f" ({field.description})" if field.description else ""
    return _taken(field.annotation, str(path[-1])) + meaning


def _taken(annotation: Any, key: str) -> str:
    """Describe the TOML form of a type."""
    models = list(_models(annotation))
    inner = [one for one in (annotation, *typing.get_args(annotation)) if one is not type(None)]
    if any(one is list or typing.get_origin(one) is list for one in inner):
        return f"[[{key}]] tables" if models else "a list"
    if models or any(one is dict or typing.get_origin(one) is dict for one in inner):
        return "a table"
    words = {bool: "true or false", int: "a whole number", float: "a number", str: "text"}
    return " or ".join(word for kind, word in words.items() if kind in _plain(annotation))


def _plain(annotation: Any) -> set[Any]:
    """Return the classes inside a type, however deep."""
    inner = typing.get_args(annotation)
    return set().union(*map(_plain, inner)) if inner else {annotation}


def _words(expected: str) -> list[str]:
    return [word.strip("' ") for word in str(expected).replace(" or ", ", ").split(",") if word.strip("' ")]


def _show(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _plainly(error: ErrorDetails) -> str:
    return {
        "string_pattern_mismatch": "is not a plain word",
        "string_too_long": "is too long",
        "too_short": "is empty",
        "string_type": "is not text",
        "int_type": "is not a whole number",
        "int_parsing_size": "is too large",
        "bool_type": "is not true or false",
        "float_type": "is not a number",
        "list_type": "is not a list",
        "dict_type": "is not a table",
        "model_type": "is not a table",
        "model_attributes_type": "is not a table",
        "greater_than": "is too small",
        "greater_than_equal": "is too small",
        "less_than": "is too large",
        "less_than_equal": "is too large",
    }.get(error["type"], "is not allowed: " + error["msg"][:1].lower() + error["msg"][1:])


_BOUNDS = {
    "ge": "at least {}",
    "gt": "above {:g}",
    "le": "at most {}",
    "lt": "below {:g}",
    "max_length": "at most {} characters",
}


def _allowed(error: ErrorDetails, root: type[BaseModel], path: Path, data: Any) -> str:
    ctx = error.get("ctx", {})
    if error["type"] == "string_pattern_mismatch":
        return "letters, digits, '_', '-' and '.'"
    for bound, words in _BOUNDS.items():
        if bound in ctx:
            return words.format(ctx[bound])
    return _hint(root, path, data)
