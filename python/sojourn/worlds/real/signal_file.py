"""Signals read from a file descriptor (signalfd(2)), with their origin.

A blocked signal that arrives before it is waited for is not lost. ``signal.sigtimedwait`` would serve, but in
CPython 3.11 it returns uninitialised memory when its time-out expires while the process is stopped (Ctrl-Z).
"""

from __future__ import annotations

import ctypes
import os
import select
import signal
import struct
from collections.abc import Collection
from dataclasses import dataclass

from sojourn.worlds.hosts.namespace import libc

_SFD_NONBLOCK, _SFD_CLOEXEC = 0o4000, 0o2000000
_MASK_BYTES = 128  # sizeof(sigset_t)
_INFO_BYTES = 128  # sizeof(struct signalfd_siginfo)
_SI_KERNEL = 0x80


@dataclass(frozen=True)
class Received:
    """A signal; `is_from_kernel` for one that the terminal has sent (Ctrl-C)."""

    number: int
    is_from_kernel: bool


class SignalFile:
    """Blocks `numbers` in the calling thread and in threads that it starts later, and reads them."""

    def __init__(self, numbers: Collection[signal.Signals]) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
        bits = sum(1 << number - 1 for number in numbers).to_bytes(_MASK_BYTES, "little")
        self._fd = libc().signalfd(-1, ctypes.c_char_p(bits), _SFD_NONBLOCK | _SFD_CLOEXEC)
        if self._fd < 0:
            code = ctypes.get_errno()
            raise OSError(code, f"signalfd: {os.strerror(code)}")

    def wait(self, timeout: float) -> Received | None:
        """Return the next signal; None if none arrives within `timeout` seconds."""
        if not select.select([self._fd], [], [], timeout)[0]:
            return None
        number, _, code = struct.unpack_from("=Iii", os.read(self._fd, _INFO_BYTES))
        return Received(number, code == _SI_KERNEL)

    def close(self) -> None:
        """Close the file; the signals stay blocked."""
        os.close(self._fd)
