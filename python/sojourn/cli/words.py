"""The words of a command line, before it is parsed."""

from __future__ import annotations

import re
from collections import deque


def joined(arguments: list[str]) -> list[str]:
    """Join the two words after -P and -L, the only options that take two, into one.

    Examples
    --------
    >>> joined(["sweep", "a.toml", "-L", "queue.limit", "50p,100p", "--json"])
    ['sweep', 'a.toml', '-L', 'queue.limit 50p,100p', '--json']
    >>> joined(["tune", "a.toml", "-P", "target", "--json"])
    ['tune', 'a.toml', '-P', 'target', '--json']
    """
    words = deque(arguments)
    found = []
    while words:
        found.append(words.popleft())
        if found[-1] in ("-P", "-L") and words:
            found.append(words.popleft())
            alone = "=" in found[-1] or " " in found[-1]
            if words and not alone and not re.match(r"--|-[A-Za-z]", words[0]):
                found[-1] += f" {words.popleft()}"
    return found
