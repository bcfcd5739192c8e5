"""A status line of a running link: the last line of the terminal, or the title of its window.

The output of a program scrolls above the last line. An interactive shell may start an editor, which needs the
whole screen, so the title is used instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from sojourn.terminal import control, escape
from sojourn.worlds.real.gateway import Gateway

_SAVE, _BACK = "\0337", "\0338"


class StatusLine:
    """Shows rate and delay of both queues since the last update, and total drops and marks."""

    def __init__(self, gateway: Gateway, title: bool) -> None:
        self._gateway = gateway
        self._title = title
        self._before = gateway.live()
        self._rows = size().lines
        if not title:
            control(f"\n{_SAVE}\033[1;{self._rows - 1}r{_BACK}\033[1A")

    def draw(self) -> None:
        """Update the line."""
        now = self._gateway.live()
        if now is None or self._before is None or now.seconds <= self._before.seconds:
            return
        text = " | ".join(
            f"{name} {part(before, after, now.seconds - self._before.seconds)}"
            for name, before, after in zip(("up", "down"), self._before.queues, now.queues, strict=True)
        )
        self._before, text = now, escape(text)
        if self._title:
            control(f"\033]0;sojourn: {text}\007")
        else:
            control(f"{_SAVE}\033[{self._rows};1H\033[2K{text[: size().columns - 1]}{_BACK}")

    def close(self) -> None:
        """Restore the terminal."""
        if self._title:
            control("\033]0;\007")
        else:
            control(f"{_SAVE}\033[r\033[{self._rows};1H\033[2K{_BACK}")


def size() -> os.terminal_size:
    """Return the size of the terminal that shows the line; the program's output may go elsewhere."""
    try:
        found = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        found = os.terminal_size((0, 0))
    return found if found.lines and found.columns else os.terminal_size((80, 24))


def part(before: Mapping[str, float], after: Mapping[str, float], seconds: float) -> str:
    """Return the activity of one queue between two snapshots.

    Examples
    --------
    >>> zero = dict.fromkeys(("departures", "departed_bytes", "delay_sum_ns", "drops", "marks"), 0)
    >>> after = {"departures": 10, "departed_bytes": 15000, "delay_sum_ns": 5e7, "drops": 2, "marks": 0}
    >>> part(zero, after, 0.1)
    '1.20 Mbit/s 5.0 ms 2 drops'
    """
    gained = {name: after[name] - before[name] for name in ("departures", "departed_bytes", "delay_sum_ns")}
    delay = gained["delay_sum_ns"] / gained["departures"] / 1e6 if gained["departures"] else 0.0
    rate = gained["departed_bytes"] * 8e-6 / seconds
    marks = f" {after['marks']:.0f} marks" if after["marks"] else ""
    return f"{rate:.2f} Mbit/s {delay:.1f} ms {after['drops']:.0f} drops{marks}"
