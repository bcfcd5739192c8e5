"""The command line: one file per command, imported when it is called; errors become exit codes.

The list of commands (``--help``) imports none of them, since each takes tenths of a second: it reads their
summaries from the source.

The result goes to standard output, messages and progress to standard error. Exit codes: 0 success, 1 a run
failed, 2 bad usage or input, 130 interrupted. Each error is one line; set ``SOJOURN_DEBUG=1`` to get the
traceback.
"""

from __future__ import annotations

import contextvars
import errno
import os
import sys
import traceback
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _core
from sojourn.cli.examples import epilog, first_page
from sojourn.cli.messages import messages
from sojourn.cli.words import joined
from sojourn.errors import SojournError, disk
from sojourn.terminal import show

#: Module of this package and function of each command, in the order of the help.
COMMANDS = {
    "demo": ("demo", "demo"),
    "new": ("new", "new"),
    "run": ("run", "run"),
    "compare": ("compare", "compare"),
    "compare-worlds": ("compare_worlds", "compare_worlds"),
    "sweep": ("sweep", "sweep"),
    "tune": ("tune", "tune"),
    "advise": ("advise", "advise"),
    "explore": ("explore", "explore"),
    "stability": ("stability", "stability"),
    "design": ("stability", "design"),
    "evaluate": ("evaluate", "evaluate"),
    "reproduce": ("reproduce", "reproduce"),
    "list": ("list_", "list_algorithms"),
    "explain": ("explain", "explain"),
    "report": ("report", "report"),
    "export": ("export_packets", "export"),
    "verify": ("verify", "verify"),
    "rerun": ("rerun", "rerun"),
    "schema": ("schema", "schema"),
    "shell": ("shell", "shell"),
    "bench": ("bench", "bench"),
}

#: The environment variable with which a shell asks for completions.
COMPLETE = "_SOJOURN_COMPLETE"
#: Errors of writing to an open file; any other error without the name of a file is not one of the output.
_OUTPUT_ERRORS = {errno.EDQUOT, errno.EFBIG, errno.EIO, errno.ENOSPC}
#: Exit code after an interruption: 128 and the number of the signal.
INTERRUPTED = 130


def _version(wanted: bool) -> None:
    if wanted:
        show(f"sojourn {_core.CORE_VERSION}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _app(words: Sequence[str]) -> typer.Typer:
    """Return the application with the command that `words` begin with, none for the version, else all."""
    app = typer.Typer(
        name="sojourn",
        help="A laboratory for active queue management (AQM).",
        epilog="First steps: sojourn list; sojourn explain red; sojourn run examples/red40.toml",
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    typed = _typed()
    first = next(iter(words if typed is None else typed), "")
    for name in [first] if first in COMMANDS else [] if first == "--version" else COMMANDS:
        module, function = COMMANDS[name]
        is_list = first in ("-h", "--help") or (typed is not None and first not in COMMANDS)
        command = (
            _outline(module, function)
            if is_list
            else getattr(import_module(f"sojourn.cli.{module}"), function)
        )
        app.command(name, epilog=epilog(name))(command)
    return app


def _typed() -> list[str] | None:
    """Return the complete words of the command line that a shell completes; None if none does."""
    if COMPLETE not in os.environ:
        return None
    line = os.environ.get("COMP_WORDS") or os.environ.get("_TYPER_COMPLETE_ARGS", "")
    words = line.split()[1:]
    return words if line[-1:].isspace() else words[:-1]


def _outline(module: str, function: str) -> Callable[[], None]:
    """Return a command with the summary of another one, whose module is not imported."""

    def command() -> None:
        pass

    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    command.__doc__ = source.partition(f"\ndef {function}(")[2].split('"""')[1]
    return command


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit with its code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code; permissions that it gives end with it."""
    return contextvars.copy_context().run(_call, arguments)


def _call(arguments: Sequence[str]) -> int:
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by the calling process
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    words = list(arguments)
    if not words and _typed() is None:  # a shell passes what it completes in the environment
        show(first_page(_core.VERSION))
        return 0
    if words[:1] == ["help"]:
        words = [*words[1:], "--help"]
    if words and words[0] in ("sweep", "tune"):
        words = joined(words)
    try:
        command = typer.main.get_command(_app(words))
        with messages():
            code = command.main(words, prog_name="sojourn", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # typer's code for Ctrl-C, without a message
            return _fail("interrupted", INTERRUPTED)
        return code if isinstance(code, int) else 0
    except SystemExit as end:  # of a command that has printed the reason
        return end.code if isinstance(end.code, int) else 0
    except SojournError as error:
        return _fail(str(error), error.exit_code)
    except typer.TyperException as error:
        return _fail(_usage(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _fail("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The process that reads the output has exited.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        if error.filename is None and error.errno not in _OUTPUT_ERRORS:
            return _fail(f"internal error, please report it: {type(error).__name__}: {error}", 1)
        return _fail(str(disk(error, error.filename or "the output")), 1)
    except MemoryError:
        return _fail("not enough memory", 1)
    except Exception as error:  # noqa: BLE001 - the last resort: one line, not a traceback
        return _fail(f"internal error, please report it: {type(error).__name__}: {error}", 1)


def _fail(message: str, code: int) -> int:
    if os.environ.get("SOJOURN_DEBUG") and sys.exc_info()[0] is not None:
        show(traceback.format_exc(), sys.stderr)
    for line in message.splitlines() or [""]:
        show(f"sojourn: {' '.join(line.split())}", sys.stderr)
    return code


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    words = getattr(error, "format_message", lambda: str(error))()
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{words}{_remedy(words, context)}{hint}"


def _remedy(words: str, context: typer.Context | None) -> str:
    """Return the remedy of two frequent mistakes: a spec without quotes, an option without ``--``."""
    if "unexpected extra argument" in words and "--aqm" in sys.argv:
        return '; a spec with parameters needs quotes: --aqm "red min_th 5p max_th 15p"'
    if words.startswith("No such option") and context is not None and context.command.name == "shell":
        return "; the program and its options follow --: sojourn shell --rate 20mbit -- ping -c 1 HOST"
    return ""
