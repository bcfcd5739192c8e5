"""Colour, dash, marker and short name of each algorithm, the same in every figure and table.

The hue is the family (red: RED and its variants; blue: BLUE; green: PI and PIE; cyan: CoDel; purple: REM;
gold: virtual queues; orange: RAQM; grey: no control). Algorithms that are often in one figure remain
distinguishable for deuteranopes and protanopes. Dash and marker together are unique, so that a figure can
be read in greyscale. Several specs of one algorithm share its hue and differ in shade and dash.
"""

from __future__ import annotations

import colorsys
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from sojourn import _core
from sojourn.errors import InputError
from sojourn.spec.aqm_spec import Spec

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
    """The style of one algorithm or of one spec of it."""

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
    "fq": Style("FQ", "#7a4f9c", LONG, "X"),
    "sfq": Style("SFQ", "#4a6b8a", DASH_DOT_DOT, "D"),
    "cake": Style("CAKE", "#a8641c", LONG, "P"),
    "dualpi2": Style("DualPI2", "#074303", DASH_DOT_DOT, "<"),
    "drr": Style("DRR", "#74745c", DASHED, "v"),
    "prio": Style("PRIO", "#8a6a78", DASH_DOT, "*"),
}
"""The style of each algorithm. Another name (a user's algorithm) gets one of `_SPARE`, by its hash."""

_SPARE: Final = ("#b0307a", "#3f7f93", "#8a5a2b", "#4d5fb8", "#6a8a1f", "#99485a")
_SPARE_MARKERS: Final = ("H", "8", "h", "P", "d", "X")


@dataclass(frozen=True, slots=True)
class _Parsed:
    """A spec: its algorithm, and each parameter that it sets, written out."""

    name: str
    settings: tuple[str, ...]

    @classmethod
    def of(cls, spec: str) -> _Parsed:
        """Parse a spec; in other text, such as a curve's name, the words after the first are one setting."""
        try:
            parsed = Spec(spec)
        except (InputError, _core.SpecError):
            parsed = None
        if parsed is None or not parsed.known:
            name, _, rest = spec.partition(" ")
            return cls(name, (rest,) if rest else ())
        name, values = parsed.name, dict(parsed.values)
        if name == "red" and values.get("gentle") is True:
            name = "gred"
            del values["gentle"]
        for word in ("limit", "overflow"):
            if (value := getattr(parsed, word)) is not None:
                values[word] = value
        return cls(name, tuple(_setting(key, value) for key, value in values.items()))


def _setting(key: str, value: object) -> str:
    if isinstance(value, bool):
        return key if value else f"{key} off"
    return f"{key} {value:g}" if isinstance(value, float) else f"{key} {value}"


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
    return _Parsed.of(spec).name


def style(spec: str, variant: int = 0) -> Style:
    """Return the style of a spec.

    Parameters
    ----------
    spec
        An algorithm spec.
    variant
        0 for the algorithm's own style; 1, 2, ... for further specs of the same algorithm in one figure.

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
    """Return the styles of the specs of one figure; variants of an algorithm differ in shade and dash.

    Parameters
    ----------
    specs
        The specs in the order of the figure; the first of each algorithm gets the algorithm's own style.

    Returns
    -------
    dict of str to Style
        One entry per spec; each title is its label from `labels`.
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
    """Return the label of a spec: ``RAQM``, ``PI``, ``RED max_p 0.1``.

    Parameters
    ----------
    spec
        An algorithm spec.

    Returns
    -------
    str
        The algorithm's usual spelling, followed by the parameters that the spec sets.
    """
    return " ".join((style(spec).title, *_Parsed.of(spec).settings))


#: Most parameters in a label of a figure.
MANY = 2


def labels(specs: Sequence[str]) -> dict[str, str]:
    """Return labels of several specs, each as short as distinguishing them allows.

    Parameters
    ----------
    specs
        The specs of one figure or table.

    Returns
    -------
    dict of str to str
        Parameters that all specs of an algorithm share are omitted. Of more than two parameters the last are
        replaced by an ellipsis, as long as the others distinguish the specs. An algorithm that occurs once
        has its name only.
    """
    groups: dict[str, list[str]] = {}
    for spec in dict.fromkeys(specs):
        groups.setdefault(algorithm(spec), []).append(spec)
    found: dict[str, str] = {}
    for group in groups.values():
        settings = {spec: _Parsed.of(spec).settings for spec in group}
        shared = set.intersection(*map(set, settings.values()))
        own = {spec: tuple(s for s in settings[spec] if s not in shared) for spec in group}
        for spec in group:
            text = " ".join(own[spec])
            if not text and len(group) > 1:
                text = "(default)"
            others = [own[other] for other in group if other != spec]
            for count in range(1, len(own[spec]) if len(own[spec]) > MANY else 0):
                if all(other[:count] != own[spec][:count] for other in others):
                    text = f"{' '.join(own[spec][:count])} …"
                    break
            found[spec] = f"{style(spec).title} {text}".rstrip()
    return {spec: found[spec] for spec in specs}


def _spare(name: str) -> Style:
    number = zlib.crc32(name.encode()) % len(_SPARE)
    title = name.rpartition(":")[2] or name
    return Style(title, _SPARE[number], _DASHES[number % len(_DASHES)], _SPARE_MARKERS[number])


def _toward(colour: str, other: str, amount: float) -> str:
    """Return the mixture of `colour` and a fraction `amount` of `other`."""
    mixed = (a + (b - a) * amount for a, b in zip(_rgb(colour), _rgb(other), strict=True))
    return "#" + "".join(f"{round(255 * c):02x}" for c in mixed)


def pale(colour: str, amount: float = 0.6) -> str:
    """Lighten a colour, for ranges and raw samples behind a main line.

    Parameters
    ----------
    colour
        ``#rrggbb``.
    amount
        0 keeps the colour, 1 gives white.

    Returns
    -------
    str
        ``#rrggbb``.
    """
    return _toward(colour, "#ffffff", amount)


def mirrored(colour: str) -> str:
    """Return a colour for a dark page: the same hue, with the lightness mirrored.

    Parameters
    ----------
    colour
        ``#rrggbb``.

    Returns
    -------
    str
        ``#rrggbb``; white gives nearly the background of dark pages, ink nearly white.
    """
    hue, lightness, saturation = colorsys.rgb_to_hls(*_rgb(colour))
    return "#" + "".join(
        f"{round(255 * c):02x}" for c in colorsys.hls_to_rgb(hue, 0.1 + 0.82 * (1 - lightness), saturation)
    )


def strong(colour: str) -> str:
    """Darken a colour, for text or a main line on its lighter shade.

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
