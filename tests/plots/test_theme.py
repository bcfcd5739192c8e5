"""The styles of algorithms: complete, unambiguous, readable with any colour vision."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

from sojourn import _core
from sojourn.plots.theme import ALGORITHMS, algorithm, label, labels, pale, strong, style, styles

NAMES = [
    "droptail",
    "red",
    "gred",
    "ared",
    "feng_ared",
    "fred",
    "sred",
    "blue",
    "sfb",
    "rem",
    "pi",
    "avq",
    "gkvq",
    "ldc",
    "raqm",
    "avqred",
    "rio",
    "bio",
    "choke",
    "nlred",
    "codel",
    "pie",
    "pi2",
    "cobalt",
    "fq_codel",
    "fq_pie",
    "fq",
    "sfq",
    "cake",
    "dualpi2",
    "drr",
    "prio",
]

# Algorithms that appear together in the papers and in common comparisons.
COMPANY = (
    "droptail red sred fred blue rem ldc",
    "droptail red gred",
    "pi rem raqm droptail red",
    "red blue rio bio droptail",
    "red ared blue gkvq avq pi avqred droptail",
    "droptail codel pie red fq_codel cobalt",
    "codel pie raqm pi rem blue",
)

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
SIGHTS = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]]
    ),
}


def linear(colour: str) -> np.ndarray:
    srgb = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb: np.ndarray) -> np.ndarray:
    """Oklab (Ottosson): distances approximate perceived differences."""
    lms = np.array(
        [
            [0.4122214708, 0.5363325363, 0.0514459929],
            [0.2119034982, 0.6806995451, 0.1073969566],
            [0.0883024619, 0.2817188376, 0.6299787005],
        ]
    )
    lab = np.array(
        [
            [0.2104542553, 0.7936177850, -0.0040720468],
            [1.9779984951, -2.4285922050, 0.4505937099],
            [0.0259040371, 0.7827717662, -0.8086757660],
        ]
    )
    return lab @ np.cbrt(np.clip(lms @ np.clip(rgb, 0, 1), 0, None))


def test_every_algorithm_has_a_style() -> None:
    assert set(ALGORITHMS) == set(NAMES)
    assert all(re.fullmatch("#[0-9a-f]{6}", one.colour) for one in ALGORITHMS.values())


def test_no_two_algorithms_share_a_style() -> None:
    assert len({one.colour for one in ALGORITHMS.values()}) == len(NAMES)
    assert len({one.title for one in ALGORITHMS.values()}) == len(NAMES)
    in_grey = [(one.dash, one.marker) for one in ALGORITHMS.values()]
    assert len(set(in_grey)) == len(NAMES)


@pytest.mark.parametrize("company", COMPANY)
@pytest.mark.parametrize("sight", SIGHTS)
def test_styles_shown_together_can_be_distinguished(company: str, sight: str) -> None:
    for one, other in itertools.combinations(company.split(), 2):
        colours = [oklab(SIGHTS[sight] @ linear(ALGORITHMS[name].colour)) for name in (one, other)]
        distance = float(np.linalg.norm(colours[0] - colours[1]))
        assert distance > (0.07 if sight == "normal" else 0.04), (one, other, distance)
        assert ALGORITHMS[one].marker != ALGORITHMS[other].marker, (one, other)


@pytest.mark.parametrize("name", NAMES)
def test_contrast_on_paper(name: str) -> None:
    luminance = float(linear(ALGORITHMS[name].colour) @ [0.2126, 0.7152, 0.0722])
    assert 1.05 / (luminance + 0.05) >= 2.8
    heading = float(linear(strong(ALGORITHMS[name].colour)) @ [0.2126, 0.7152, 0.0722])
    assert 1.05 / (heading + 0.05) >= 4.5


@pytest.mark.parametrize(
    ("spec", "short"),
    [
        ("raqm", "RAQM"),
        ("red max_p 0.1", "RED max_p 0.1"),
        ("red gentle max_p 0.1", "gentle RED max_p 0.1"),
        ("red max_p 0.1 gentle", "gentle RED max_p 0.1"),
        ("droptail limit 50p", "DropTail limit 50p"),
        ("red gentle", "gentle RED"),
        ("red ecn min_th 15p", "RED min_th 15p ecn"),
        ("pie jump ecn", "PIE jump ecn"),
        ("pie ecn jump off", "PIE jump off ecn"),
        ("prio aqm_0 (red gentle) aqm_1 pie", "PRIO aqm_0 (red gentle) aqm_1 pie"),
        ("red overflow head limit 50p", "RED limit 50p overflow head"),
        ("raqm static", "RAQM static"),
        ("mine.py:MyAqm target 5ms", "MyAqm target 5ms"),
        ("", ""),
    ],
)
def test_label(spec: str, short: str) -> None:
    assert label(spec) == short


def test_labels_contain_only_what_differs() -> None:
    found = labels(
        ["pi q_ref 50p a 1e-5", "raqm period 1s q_0 50p", "raqm period 2s q_0 50p", "raqm q_0 50p"]
    )
    assert list(found.values()) == ["PI", "RAQM period 1s", "RAQM period 2s", "RAQM (default)"]
    assert list(labels(["pie jump ecn", "pie ecn"]).values()) == ["PIE jump", "PIE (default)"]
    assert list(labels(["red wait ecn", "red ecn"]).values()) == ["RED wait", "RED (default)"]


@pytest.mark.parametrize("entry", [*_core.algorithms(), *_core.schedulers()], ids=lambda entry: entry["name"])
def test_every_flag_of_the_registry_is_one_word_of_a_label(entry: dict[str, Any]) -> None:
    """Mutant seen to fail: a flag that takes the next word as its value."""
    flags = [p["name"] for p in entry["params"] if p["allowed"].startswith("on or off")]
    name = str(entry["name"])
    for flag in flags:
        if (name, flag) == ("red", "gentle"):
            continue
        title = ALGORITHMS[name].title
        assert label(f"{name} {flag}") == f"{title} {flag}"
        assert label(f"{name} {flag} off limit 50p") == f"{title} {flag} off limit 50p"
        others = [other for other in flags if other not in (flag, "gentle")]
        for other in others:
            found = labels([f"{name} {flag} {other}", f"{name} {other}"])
            assert list(found.values()) == [f"{title} {flag}", f"{title} (default)"]


def test_long_labels_are_cut_where_the_rest_still_differs() -> None:
    specs = [
        "pie target 5ms alpha 1 beta 2",
        "pie target 5ms alpha 2 beta 3",
        "pie target 6ms alpha 2 beta 3",
    ]
    assert list(labels(specs).values()) == [
        "PIE target 5ms alpha 1 …",
        "PIE target 5ms alpha 2 …",
        "PIE target 6ms …",
    ]
    assert list(labels(["pie", specs[0]]).values()) == ["PIE (default)", "PIE target 5ms …"]


def test_gentle_red_is_one_algorithm_however_written() -> None:
    assert algorithm("red gentle min_th 5p") == algorithm("gred min_th 5p") == "gred"
    assert algorithm("red min_th 5p") == "red"


def test_variants_keep_the_family_and_differ() -> None:
    specs = [f"raqm period {i}s" for i in range(1, 6)]
    looks = styles(specs)
    assert looks[specs[0]].colour == ALGORITHMS["raqm"].colour
    assert len({(one.colour, one.dash) for one in looks.values()}) == len(specs)


def test_an_unknown_algorithm_always_gets_the_same_style() -> None:
    assert style("mine.py:MyAqm") == style("mine.py:MyAqm target 5ms")
    assert style("mine.py:MyAqm").title == "MyAqm"


def test_the_palest_tint_is_white() -> None:
    assert pale("#123456", 0) == "#123456"
    assert pale("#123456", 1) == "#ffffff"
