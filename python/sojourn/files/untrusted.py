"""Reads input files of untrusted origin: regular files only, up to a maximum size.

Size and kind are checked before the content is read, so a device, a FIFO or a huge file is never read.
``-`` and ``/dev/stdin`` stand for standard input, which is read up to the same limit.
"""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

from sojourn.errors import InputError

#: Largest files, in bytes.
MOST_SCENARIO = 4_000_000
MOST_CODE = 4_000_000
MOST_TRACE = 64_000_000
#: Manifests and lists of failures, which the program writes; one line for each of a million runs.
MOST_STORED = 512_000_000

STDIN = ("-", "/dev/stdin")


def read_bytes(path: str | os.PathLike[str], most: int) -> bytes:
    """Return the content of a file.

    Parameters
    ----------
    path : path
        A regular file, or ``-`` for standard input.
    most : int
        Largest size in bytes.

    Raises
    ------
    OSError
        If it cannot be read.
    InputError
        If it is not a regular file, or too large.
    """
    if os.fspath(path) in STDIN:
        content = sys.stdin.buffer.read(most + 1)
    else:
        # O_NONBLOCK: opening a FIFO without a writer would wait for one.
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:  # noqa: PTH123
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                if stat.S_ISDIR(found.st_mode):
                    raise IsADirectoryError(21, "is a directory", os.fspath(path))
                raise InputError(os.fspath(path), "is not a regular file", "a file, or - for standard input")
            if found.st_size > most:
                raise _too_large(path, most)
            content = file.read(most + 1)  # the file may grow while it is read
    if len(content) > most:
        raise _too_large(path, most)
    return content


def read_text(path: str | os.PathLike[str], most: int) -> str:
    """Return the content of a file as UTF-8 text, without a byte order mark; errors as `read_bytes`.

    Raises
    ------
    InputError
        Also if it is not UTF-8.
    """
    return text_of(read_bytes(path, most), path)


def text_of(content: bytes, path: str | os.PathLike[str]) -> str:
    """Return the text of a file from its content; `path` is for the error if it is not UTF-8."""
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        raise InputError(os.fspath(path), f"is not UTF-8 text (byte {error.start})") from None


def reason(error: OSError | ValueError) -> str:
    """Return the problem with a file as the rest of a sentence."""
    return (getattr(error, "strerror", None) or str(error)).lower()


def exists(path: str | os.PathLike[str]) -> bool:
    """Return whether the path is standard input or an existing file."""
    return os.fspath(path) in STDIN or Path(path).exists()


def _too_large(path: str | os.PathLike[str], most: int) -> InputError:
    return InputError(os.fspath(path), "is too large", f"at most {most / 1e6:g} MB")
