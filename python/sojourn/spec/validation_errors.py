"""Converts pydantic's list of errors to one message with a remedy.

Only the most useful error is shown: an unknown key before a missing one (a misspelt key causes both), then
the first in the order of the file.
"""

from __future__ import annotations

import typing
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.units import Wrong

Path = tuple[int | str, ...]


def refusal(error: ValidationError, root: type[BaseModel], data: Any) -> InputError:
    """Return the most useful of pydantic's errors about `data`, validated as `root`."""
    errors = error.errors(include_url=False)
    chosen = min(errors, key=lambda e: (_rank(e), len(e["loc"])))
    path = _path(chosen["loc"], data)
    key = _dotted(path)
    kind, ctx, given = chosen["type"], chosen.get("ctx", {}), chosen["input"]
    if kind == "extra_forbidden":
        names = _keys(root, path[:-1], data)
        return InputError(key, "is not a key here", ", ".join(names), _core.nearest(str(path[-1]), names))
    if kind == "missing":
        return InputError(key, "is missing", _hint(root, path, data))
    if kind == "value_error" and isinstance(ctx.get("error"), Wrong):
        wrong: Wrong = ctx["error"]
        place = ".".join(part for part in (key, wrong.key) if part) or "it"
        return InputError(place, wrong.problem, wrong.allowed, wrong.nearest)
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = _words(ctx.get("expected", ctx.get("expected_tags", "")))
        word = given.get("kind") if kind == "union_tag_invalid" and isinstance(given, dict) else given
        place = f"{key}.kind" if kind == "union_tag_invalid" else key
        near = _core.nearest(word, allowed) if isinstance(word, str) else None
        return InputError(place, f"= {_show(word)} is not one of the allowed words", ", ".join(allowed), near)
    if kind == "union_tag_not_found":
        return InputError(f"{key}.kind", "is missing", "tcp, tcp-short, tcp-onoff, web, udp-cbr, udp-onoff")
    if chosen["loc"][-1] == "str":  # the first member of a union: an option's value
        return InputError(key, f"= {_show(given)} is not a value", "text, a whole number, true or false")
    return InputError(key, f"= {_show(given)} {_plainly(chosen)}", _allowed(chosen, root, path, data))


def _rank(error: ErrorDetails) -> int:
    """Order errors: unknown keys first, missing ones last."""
    return {"extra_forbidden": 0, "missing": 2}.get(error["type"], 1)


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


def _dotted(path: Path) -> str:
    """Return a path as text, ``traffic[2].rate``; tables are numbered from 1."""
    text = ""
    for part in path:
        text += f"[{part + 1}]" if isinstance(part, int) else f".{part}" if text else part
    return text


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
