"""The peer of a shell: a server at the outside end of its link (``--peer``), and reports of its failures."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from collections.abc import Callable, Sequence

from sojourn.errors import InputError, RunFailed
from sojourn.warning_codes import coded
from sojourn.worlds.hosts.namespace import Namespace
from sojourn.worlds.real.caller import Caller
from sojourn.worlds.real.netns_exec import Command, NamespacedProcess
from sojourn.worlds.real.signal_file import SignalFile

#: The longest time that the program waits for a peer to listen, and the time between two checks, s.
LONGEST_START, CHECK = 10.0, 0.02


class Peer(NamespacedProcess):
    """A server that is started with a shell; `note` prints what goes wrong with it."""

    def __init__(
        self, words: Sequence[str], outside: Namespace, user: Caller | None, note: Callable[[str], None]
    ) -> None:
        super().__init__(outside, Command(words, os.environ, user, is_server=True))
        self._note = note
        self._text = shlex.join(words)
        self._is_reported = False

    def await_start(self, signals: SignalFile) -> int | None:
        """Wait until it listens, or has ended without an error; return a signal that ends the shell.

        Raises
        ------
        RunFailed
            If it failed.
        """
        deadline = time.monotonic() + LONGEST_START
        while self.wait(0) is None and not self.is_listening():
            if (got := signals.wait(CHECK)) is not None:
                return got.number
            if time.monotonic() > deadline:
                self._note(f"sojourn: --peer {self._text} does not listen after {LONGEST_START:.0f} s")
                break
        if problem := self._failure():
            raise RunFailed(problem)
        return None

    def check(self) -> None:
        """Print a warning if it has failed, once."""
        if not self._is_reported and (problem := self._failure()):
            self._note(f"sojourn: warning: {coded('W26', problem)}")
            self._is_reported = True

    def _failure(self) -> str:
        """Return how it failed, with the last lines of its standard error; empty if it did not."""
        if not (code := self.wait(0)):
            return ""
        end = f"was killed by signal {code - 128}" if code > 128 else f"failed with exit status {code}"
        return f"--peer {self._text} {end}" + (f": {'; '.join(self.errors)}" if self.errors else "")


def peer_words(text: str | None) -> list[str]:
    """Return the words of the command of a peer; empty if there is none."""
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise InputError("--peer", f"= {text!r} cannot be read: {str(error).lower()}", "a command") from None
    if not words:
        raise InputError("--peer", "is empty", "a command")
    if shutil.which(words[0]) is None:
        raise InputError("--peer", f"= {text!r} cannot be run: {words[0]}: command not found")
    return words
