"""How an algorithm looks, everywhere: one colour, one dash, one marker, one short name.

Hue means family (red: RED and its kin; blue: BLUE; green: PI and PIE; cyan: CoDel; purple: REM; gold:
virtual queues; orange: RAQM; grey: no control at all). Pairs that a figure is likely to hold side by side
were chosen to stay apart for deuteranopes and protanopes; dash and marker together are unique, so that a
grey print can be read too. Several specs of one algorithm share its hue and differ in shade and dash.
"""

from __future__ import annotations

import colorsys
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

Dash: TypeAlias = tuple[float, ...]
"""Lengths of ink and gap in line widths; empty: solid."""

SOLID: Final[Dash] = ()
LONG: Final[Dash] = (7, 2)
DASHED: Final[Dash] = (4, 1.6)
DOTTED: Final[Dash] = (1.2, 1.4)
DASH_DOT: Final[Dash] = (5, 1.5, 1.2, 1.5)
DASH_DOT_DOT: Final[Dash] = (5, 1.5, 1.2, 1.5, 1.2, 1.5)
_DASHES: Final[tuple[Dash, ...]] = (SOLID, DASHED, DOTTED, DASH_DOT, LONG, DASH_DOT_DOT)

INK: Final = "#22272e"
"""Text and axes."""
MUTED: Final = "#5f6873"
"""Labels of second rank and reference lines."""
GRID: Final = "#e3e6ea"
"""Grid lines."""
SHADE: Final = "#eef1f4"
"""The background of a disturbance."""


@dataclass(frozen=True, slots=True)
class Style:
    """The look of one algorithm or of one spec of it."""

    title: str
    colour: str
    dash: Dash
    marker: str
    filled: bool = True


ALGORITHMS: Final[Mapping[str, Style]] = {
    "droptail": Style("DropTail", "#2f2f2f", DOTTED, "X"),
    "red": Style("RED", "#c8232f", LONG, "v"),
    "gred": Style("gentle RED", "#e4573d", DASHED, "<"),
    "ared": Style("ARED", "#ee5678", DASH_DOT, ">"),
    "feng_ared": Style("Feng ARED", "#83244a", DOTTED, "p"),
    "fred": Style("FRED", "#c47ca0", DASHED, "h"),
    "sred": Style("SRED", "#5b030d", DASH_DOT, "P"),
    "blue": Style("BLUE", "#2766d8", SOLID, "D"),
    "sfb": Style("SFB", "#094a95", DASHED, "P"),
    "rem": Style("REM", "#7b3fb5", DASH_DOT, "^"),
    "pi": Style("PI", "#00997a", DASHED, "s"),
    "avq": Style("AVQ", "#a08040", DASHED, "d"),
    "gkvq": Style("GKVQ", "#595a05", DOTTED, "*"),
    "ldc": Style("LDC", "#a39648", SOLID, "*"),
    "raqm": Style("RAQM", "#e07b00", SOLID, "o"),
    "avqred": Style("AVQRED", "#904a97", SOLID, "p"),
    "rio": Style("RIO", "#e27640", DASHED, "^"),
    "bio": Style("BIO", "#5299d9", DASH_DOT, "s"),
    "choke": Style("CHOKe", "#b93182", DOTTED, "o"),
    "nlred": Style("NLRED", "#752300", DASH_DOT_DOT, "s"),
    "codel": Style("CoDel", "#017880", SOLID, ">"),
    "pie": Style("PIE", "#0a6728", LONG, "p"),
    "pi2": Style("PI2", "#7e8705", DASH_DOT, "d"),
    "cobalt": Style("COBALT", "#1294c8", DASHED, "*"),
    "fq_codel": Style("FQ-CoDel", "#015370", DASH_DOT, "h"),
    "fq_pie": Style("FQ-PIE", "#6fa05f", DOTTED, "d"),
    "dualpi2": Style("DualPI2", "#074303", DASH_DOT_DOT, "<"),
    "drr": Style("DRR", "#74745c", DASHED, "v"),
    "prio": Style("PRIO", "#8a6a78", DASH_DOT, "*"),
}
"""The one table. A name that is not in it (somebody's own algorithm) gets one of `_SPARE`, by its name."""

_SPARE: Final = ("#b0307a", "#3f7f93", "#8a5a2b", "#4d5fb8", "#6a8a1f", "#99485a")
_SPARE_MARKERS: Final = ("H", "8", "h", "P", "d", "X")

_FLAGS: Final = frozenset({"gentle", "ecn", "wait", "adaptive", "bytes", "byte_mode", "count", "bytemode"})
"""Words of a spec that stand alone even before another word."""


_WORD: Final = re.compile(r"\((?:[^()]|\([^()]*\))*\)|[^\s()]+")
"""A word of a spec, or a spec within it, in parentheses."""


@dataclass(frozen=True, slots=True)
class _Words:
    name: str
    settings: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, spec: str) -> _Words:
        head, *words = _WORD.findall(spec) or [""]
        settings: list[tuple[str, str]] = []
        position = 0
        while position < len(words):
            word = words[position]
            following = words[position + 1] if position + 1 < len(words) else None
            if following is None or (word in _FLAGS and not _is_value(following)):
                settings.append((word, ""))
                position += 1
            else:
                settings.append((word, following))
                position += 2
        if head == "red" and ("gentle", "") in settings:
            settings.remove(("gentle", ""))
            head = "gred"
        return cls(head, tuple(settings))

    def text(self, keep: Iterable[tuple[str, str]]) -> str:
        wanted = set(keep)
        return " ".join(f"{key} {value}".rstrip() for key, value in self.settings if (key, value) in wanted)


def _is_value(word: str) -> bool:
    return word[0].isdigit() or word[0] in "+-." or word in {"on", "off", "true", "false", "yes", "no"}


def algorithm(spec: str) -> str:
    """Name the algorithm of a spec.

    Parameters
    ----------
    spec
        An algorithm spec, such as ``red gentle max_p 0.1`` or ``mine.py:MyAqm``.

    Returns
    -------
    str
        A name of `ALGORITHMS`, or the first word of the spec. ``red gentle`` is ``gred``.
    """
    return _Words.of(spec).name


def style(spec: str, variant: int = 0) -> Style:
    """Look up the look of a spec.

    Parameters
    ----------
    spec
        An algorithm spec.
    variant
        0 for the algorithm's own look; 1, 2, ... for further specs of the same algorithm in one figure.

    Returns
    -------
    Style
        Its title is the short name of the algorithm, without parameters.
    """
    name = algorithm(spec)
    base = ALGORITHMS.get(name) or _spare(name)
    if variant == 0:
        return base
    rank = (variant + 1) // 2
    amount = rank / (rank + 2.0)
    colour = _toward(
        base.colour, "#ffffff" if variant % 2 else "#000000", amount * (0.8 if variant % 2 else 1)
    )
    dash = _DASHES[(_DASHES.index(base.dash) + variant) % len(_DASHES)]
    return replace(base, colour=colour, dash=dash, filled=variant % 2 == 0)


def styles(specs: Sequence[str]) -> dict[str, Style]:
    """Look up the looks of the specs of one figure, telling variants of one algorithm apart.

    Parameters
    ----------
    specs
        The specs in the order of the figure; the first of each algorithm gets the algorithm's own look.

    Returns
    -------
    dict of str to Style
        One entry a spec; each title is what `labels` returns.
    """
    names = labels(specs)
    seen: dict[str, int] = {}
    found: dict[str, Style] = {}
    for spec in dict.fromkeys(specs):
        name = algorithm(spec)
        variant = seen.get(name, 0)
        seen[name] = variant + 1
        found[spec] = replace(style(spec, variant), title=names[spec])
    return found


def label(spec: str) -> str:
    """Write a spec for people: ``RAQM``, ``PI``, ``RED max_p 0.1``.

    Parameters
    ----------
    spec
        An algorithm spec.

    Returns
    -------
    str
        The algorithm's usual spelling, followed by the parameters that the spec sets.
    """
    words = _Words.of(spec)
    return f"{style(spec).title} {words.text(words.settings)}".rstrip()


#: A label in a figure has room for so many parameters.
MANY = 2


def labels(specs: Sequence[str]) -> dict[str, str]:
    """Write several specs for people, each as short as telling them apart allows.

    Parameters
    ----------
    specs
        The specs of one figure or table.

    Returns
    -------
    dict of str to str
        Parameters that all specs of an algorithm share are left out, and of more than two the last ones
        (for these an ellipsis), as long as the rest tells all apart; an algorithm that occurs once is shown
        by its name alone.
    """
    groups: dict[str, list[str]] = {}
    for spec in dict.fromkeys(specs):
        groups.setdefault(algorithm(spec), []).append(spec)
    found: dict[str, str] = {}
    for group in groups.values():
        words = {spec: _Words.of(spec) for spec in group}
        shared = set.intersection(*(set(w.settings) for w in words.values()))
        own = {spec: tuple(s for s in words[spec].settings if s not in shared) for spec in group}
        for spec in group:
            told = words[spec].text(own[spec])
            if not told and len(group) > 1:
                told = "(default)"
            others = [own[other] for other in group if other != spec]
            for count in range(1, len(own[spec]) if len(own[spec]) > MANY else 0):
                if all(other[:count] != own[spec][:count] for other in others):
                    told = f"{words[spec].text(own[spec][:count])} …"
                    break
            found[spec] = f"{style(spec).title} {told}".rstrip()
    return {spec: found[spec] for spec in specs}


def _spare(name: str) -> Style:
    number = zlib.crc32(name.encode()) % len(_SPARE)
    title = name.rpartition(":")[2] or name
    return Style(title, _SPARE[number], _DASHES[number % len(_DASHES)], _SPARE_MARKERS[number])


def _toward(colour: str, other: str, amount: float) -> str:
    """`colour`, `amount` of the way to `other`."""
    mixed = (a + (b - a) * amount for a, b in zip(_rgb(colour), _rgb(other), strict=True))
    return "#" + "".join(f"{round(255 * c):02x}" for c in mixed)


def pale(colour: str, amount: float = 0.6) -> str:
    """Lighten a colour toward paper, for ranges and raw samples behind a main line.

    Parameters
    ----------
    colour
        ``#rrggbb``.
    amount
        0 leaves it, 1 makes it white.

    Returns
    -------
    str
        ``#rrggbb``.
    """
    return _toward(colour, "#ffffff", amount)


def strong(colour: str) -> str:
    """Darken a colour, for text or a main line upon its paler self.

    Parameters
    ----------
    colour
        ``#rrggbb``.

    Returns
    -------
    str
        ``#rrggbb``.
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    return "#" + "".join(
        f"{round(255 * c):02x}" for c in colorsys.hls_to_rgb(hue, lightness * 0.72, saturation)
    )


def _rgb(colour: str) -> tuple[float, float, float]:
    red, green, blue = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    return red, green, blue
