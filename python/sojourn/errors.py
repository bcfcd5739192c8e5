"""Errors for the user: a line for each, with place, problem and allowed values.

``InputError`` is bad input (exit code 2), ``RunFailed`` a run that could not finish (exit code 1).
Only the command line prints; all other code raises one of these.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import ParamSpec, TypeVar

from sojourn import _core

Args = ParamSpec("Args")
T = TypeVar("T")

#: Errors that the user can avoid by another directory; others, such as a full disk, are failures.
_WRONG_PLACE = {
    errno.EACCES,
    errno.EEXIST,
    errno.EINVAL,
    errno.EISDIR,
    errno.ELOOP,
    errno.ENAMETOOLONG,
    errno.ENOENT,
    errno.ENOTDIR,
    errno.EPERM,
    errno.EROFS,
}


#: Longest part of a message, in characters: where, and what is wrong.
MOST_TEXT = 400
#: Longest list of what is allowed: names of one's own, such as paths of files, add to it.
MOST_ALLOWED = 1000
#: Number of errors of one input that are shown.
MOST_ERRORS = 20


def shortened(text: str, most: int = MOST_TEXT) -> str:
    """Return a text, or its beginning and its length if it is longer than `most` characters.

    Examples
    --------
    >>> shortened("a" * 1000, 8)
    'aaaaaaaa... (1000 characters)'
    """
    return text if len(text) <= most else f"{text[:most]}... ({len(text)} characters)"


class SojournError(Exception):
    """Base of every error that Sojourn raises on purpose."""

    exit_code = 1


class RunFailed(SojournError):  # noqa: N818 - a result, not a misuse
    """A run failed: packets were not conserved, the core failed, or the disk was full."""


class InputError(SojournError):
    """Invalid input, reported before anything runs.

    Parameters
    ----------
    where : str
        File, and the key inside it: ``red.toml: queue.limit``.
    problem : str
        The problem, as the rest of the sentence: ``= 100 has no unit``.
    allowed : str
        Allowed values; empty if the problem implies them.
    nearest : str or None
        The closest valid word.
    """

    exit_code = 2

    def __init__(self, where: str, problem: str, allowed: str = "", nearest: str | None = None) -> None:
        self.where = where
        self.problem = problem
        self.allowed = allowed
        self.nearest = nearest
        super().__init__(str(self))

    def __str__(self) -> str:
        line = f"{shortened(self.where)} {shortened(self.problem)}".strip()
        if self.nearest:
            line += f" (did you mean {self.nearest}?)"
        if self.allowed:
            line += f"; allowed: {shortened(self.allowed, MOST_ALLOWED)}"
        return " ".join(line.split())

    def at(self, file: str) -> InputError:
        """Return the same error with the file as a prefix."""
        return InputError(f"{file}: {self.where}", self.problem, self.allowed, self.nearest)


class InputErrors(InputError):  # noqa: N818 - several of them
    """Several errors in one input; the text has a line for each of the first twenty.

    Parameters
    ----------
    errors : list of InputError
        At least one; the attributes of this error are those of the first.
    """

    def __init__(self, errors: Sequence[InputError]) -> None:
        self.errors = tuple(errors)
        first = self.errors[0]
        super().__init__(first.where, first.problem, first.allowed, first.nearest)

    def __str__(self) -> str:
        lines = [str(error) for error in self.errors[:MOST_ERRORS]]
        if (more := len(self.errors) - MOST_ERRORS) > 0:
            lines.append(f"{self.where.partition(': ')[0]}: {more} more errors")
        return "\n".join(lines)

    def at(self, file: str) -> InputErrors:
        """Return the same errors with the file as a prefix."""
        return InputErrors([error.at(file) for error in self.errors])


def refuse_damaged(read: Callable[Args, T]) -> Callable[Args, T]:
    """Decorate a reader of a results directory, its last argument: damaged content is an ``InputError``.

    A missing key or a value of another type means that the files were changed after they were written.
    """

    @functools.wraps(read)
    def wrapped(*args: Args.args, **kwargs: Args.kwargs) -> T:
        try:
            return read(*args, **kwargs)
        except (SojournError, OSError, MemoryError):
            raise
        except Exception as error:
            where = str([*args, *kwargs.values()][-1])
            problem = f"is damaged: {type(error).__name__}: {str(error).partition(chr(10))[0]}"
            raise InputError(where, problem, "a results folder as it was written") from error

    return wrapped


def place(path: str | os.PathLike[str], where: str = "out", allowed: str = "a folder") -> Path:
    """Return a path; reject an empty text, which Python interprets as the working directory.

    Examples
    --------
    >>> place("results/first").name
    'first'
    >>> place("")
    Traceback (most recent call last):
    sojourn.errors.InputError: out is empty; allowed: a folder
    """
    if not os.fspath(path):
        raise InputError(where, "is empty", allowed)
    return Path(path)


def from_core(error: _core.SpecError | _core.PlanError, prefix: str = "") -> InputError:
    """Return the core's error as an ``InputError``; `prefix` is the key of the value."""
    where = f"{prefix}: {error.key}" if prefix else error.key
    return InputError(where, error.problem, error.allowed, error.nearest)


def unknown(word: str, kind: str, candidates: Iterable[str], where: str = "") -> InputError:
    """Return the error for a `word` that is not among the `candidates`."""
    names = list(candidates)
    place = f"{where}: {word!r}" if where else repr(word)
    return InputError(place, f"is not {kind}", ", ".join(names), _core.nearest(word, names))


def disk(error: OSError, path: str | os.PathLike[str]) -> SojournError:
    """Return a file system error as one line about `path`."""
    reason = _reason(error)
    place = os.fspath(error.filename or path)
    if isinstance(place, bytes):
        place = os.fsdecode(place)
    if error.errno in _WRONG_PLACE:
        return InputError(
            place, f"cannot be written: {reason}", "a folder that may be written, with --out DIR"
        )
    return RunFailed(f"{place}: cannot be written: {reason}")


class Unreadable(RunFailed):
    """A file exists but cannot be read: no permission, a broken disk, too many open files."""


def unreadable(error: OSError, path: str | os.PathLike[str]) -> Unreadable:
    """Return a file system error as one line about `path`, which could not be read."""
    return Unreadable(f"{os.fspath(path)}: cannot be read: {_reason(error)}")


def _reason(error: OSError) -> str:
    return (error.strerror or str(error) or type(error).__name__).lower()
