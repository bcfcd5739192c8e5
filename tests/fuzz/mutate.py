"""Mutates inputs of a corpus, deterministically by a seed: values of trees, words and bytes of texts.

A tree is what JSON and TOML hold. Most of its changes keep the types, because a reader refuses a wrong type
before it checks a value: numbers at boundaries, values of the same key elsewhere in the corpus, elements
removed or repeated. Changed bytes seldom pass even the first parser.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

#: Where integers overflow or lose precision in some representation.
INTEGERS = [0, 1, -1, 2, 255, 256, 65_535, 65_536]
INTEGERS += [2**n + d for n in (31, 32, 53, 63, 64) for d in (-1, 0, 1)]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-9, 5e-324, 2.0**53, 1e300, 1e308, -1e308, float("inf"), float("nan")]
#: Values of any type, in place of one of another type.
VALUES: list[Any] = [
    *(True, False, 0, 1, -1, 2**31, 2**63 - 1, -(2**63), 2**64, 0.5, -0.0, 1e300, 5e-324),
    *(
        "",
        " ",
        "a",
        "\0",
        "\x1b[2J",
        "\u202e",
        "é",
        "𝒳",
        "A" * 300,
        "0s",
        "-1s",
        "1e300s",
        "nan",
        "inf",
        "1p",
    ),
    *("100p", "1B", "10Mbit/s", "1e30Gbit/s", "uniform 1s 0s", "exponential 1e300s", "pareto 1 2 3", "tcp"),
    *("red", "pie target 1ns", "prio aqm_0 (codel)", "((", "x.py:X", "../x.py:X", "/dev/zero", "self"),
    *([], {}, [[]], [0, 0], {"kind": "tcp"}, {"constant": -1.0}, {"uniform": [5.0, 1.0]}),
]
KEYS = [
    "self",
    "cls",
    "__where__",
    "__class__",
    "kind",
    "name",
    "",
    "a.b",
    "\x1b[2J",
    "file",
    "aqm",
    "x" * 300,
]
TOKENS = [
    b"(",
    b")",
    b" ",
    b"\n",
    b"=",
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b",",
    b".",
    b"-",
    b"0",
    b"9" * 30,
    b"\0",
]
TOKENS += [
    b"\xff",
    b"\xf0\x9f",
    b"\x1b[2J",
    b"limit",
    b"ecn",
    b"overflow",
    b"null",
    b"true",
    b"1e999",
    b"NaN",
]


def places(tree: Any, here: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every value in a tree."""
    yield here
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield from places(value, (*here, key))


def at(tree: Any, path: Sequence[Any]) -> Any:
    """Return the value at a path."""
    for key in path:
        tree = tree[key]
    return tree


def tree(rng: random.Random, trees: Sequence[Any]) -> Any:
    """Return a tree of a corpus with one to three changes."""
    changed = copy.deepcopy(rng.choice(trees))
    for _ in range(rng.choice([1, 1, 2, 3])):
        path = _place(rng, changed)
        if not path:
            break
        parent, key = at(changed, path[:-1]), path[-1]
        match rng.randrange(8):
            case 0:
                del parent[key]
            case 1:
                parent[key] = copy.deepcopy(rng.choice(VALUES))
            case 2 if isinstance(parent, dict):
                parent[rng.choice(KEYS)] = parent.pop(key)
            case 3 if isinstance(parent, list):
                parent += copy.deepcopy(parent[key : key + 1]) * rng.choice([1, 1, 50])
            case 4:
                found = (
                    [value for one in trees for value in _of_key(one, key)] if isinstance(key, str) else []
                )
                parent[key] = copy.deepcopy(rng.choice(found or [at(changed, _place(rng, changed))]))
            case _:
                parent[key] = _similar(rng, parent[key])
    return changed


def _place(rng: random.Random, given: Any) -> tuple[Any, ...]:
    """Choose a path: any, or one step at a time, which favours places that are not deep."""
    if rng.random() < 0.5:
        return rng.choice([path for path in places(given) if path] or [()])
    path: tuple[Any, ...] = ()
    while isinstance(given, dict | list) and given and (not path or rng.random() < 0.9):
        key = rng.choice(list(given)) if isinstance(given, dict) else rng.randrange(len(given))
        path, given = (*path, key), given[key]
    return path


def _of_key(given: Any, key: str) -> Iterator[Any]:
    """Yield the values of a key, wherever it is, except nulls."""
    for path in places(given):
        if path and path[-1] == key and at(given, path) is not None:
            yield at(given, path)


def _similar(rng: random.Random, value: Any) -> Any:
    """Return another value of the same type."""
    match value:
        case bool():
            return not value
        case int():
            return rng.choice([*INTEGERS, value + 1, value - 1, -value, value // 2, value * 1000])
        case float():
            return rng.choice([*FLOATS, -value, value / 2, value * 1000])
        case str():
            return data(rng, [value.encode()]).decode(errors="replace")
        case list():
            return rng.choice([[], value[:1], value[::-1], value + value])
        case dict():
            return {key: value[key] for key in value if rng.random() < 0.7}
    return copy.deepcopy(rng.choice(VALUES))


def data(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return bytes of one or two inputs of a corpus with one to six changes."""
    found = bytearray(rng.choice(corpus))
    for _ in range(rng.randint(1, 6)):
        a = rng.randint(0, len(found))
        b = min(len(found), a + rng.choice([1, 1, 2, 8, 64]))
        match rng.randrange(6):
            case 0:
                del found[a:b]
            case 1:
                found[a:a] = rng.choice(TOKENS)
            case 2:
                found[a:b] = rng.choice(TOKENS)
            case 3 if a < len(found):
                found[a] ^= 1 << rng.randrange(8)
            case 4:
                other = rng.choice(corpus)
                c = rng.randint(0, len(other))
                found[a:b] = other[c : c + rng.choice([4, 32])]
            case _:
                found[a:a] = found[a:b] * rng.choice([1, 3])
    return bytes(found)


def words(rng: random.Random, corpus: Sequence[bytes]) -> bytes:
    """Return a text of a corpus with words removed, repeated or replaced by others of the corpus."""
    found = rng.choice(corpus).split(b" ")
    for _ in range(rng.choice([1, 2])):
        at = rng.randrange(len(found) + 1)
        others = [found, rng.choice(corpus).split(b" ")][rng.randrange(2)]
        begin = rng.randrange(len(others) + 1)
        found[at : at + rng.randrange(3)] = others[begin : begin + rng.randrange(3)]
    return b" ".join(found)
