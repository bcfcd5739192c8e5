"""Mutates inputs of a corpus, deterministically by a seed: values of trees, words and bytes of texts.

A tree is what JSON and TOML hold: changed values, removed, renamed and copied keys reach more of a reader
than changed bytes, which seldom pass the first parser.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Sequence
from typing import Any

#: Values and words at the borders of what a reader may expect.
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


def tree(rng: random.Random, original: Any) -> Any:
    """Return a tree with one to four changes."""
    changed = copy.deepcopy(original)
    for _ in range(rng.randint(1, 4)):
        paths = [path for path in places(changed) if path]
        if not paths:
            break
        path = rng.choice(paths)
        parent, key = at(changed, path[:-1]), path[-1]
        match rng.randrange(5):
            case 0:
                del parent[key]
            case 1:
                parent[key] = copy.deepcopy(at(changed, rng.choice(paths)))
            case 2 if isinstance(parent, dict):
                parent[rng.choice(KEYS)] = parent.pop(key)
            case 3 if isinstance(parent, list):
                parent += copy.deepcopy(parent[:1]) * rng.choice([1, 50])
            case _:
                parent[key] = copy.deepcopy(rng.choice(VALUES))
    return changed


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
