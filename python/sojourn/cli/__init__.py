"""The command line: one command a file, imported when it is called; errors become exit codes.

Standard output is the result, standard error the rest. 0: done; 1: a run failed; 2: bad usage or input;
130: interrupted. An error is one line; set ``SOJOURN_DEBUG=1`` to see where it came from.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Annotated

import typer

from sojourn import _core
from sojourn.cli.words import joined
from sojourn.errors import SojournError, disk

#: Where each command is, in the order of the help: module of this package, function.
COMMANDS = {
    "run": ("run", "run"),
    "compare": ("compare", "compare"),
    "compare-worlds": ("compare_worlds", "compare_worlds"),
    "sweep": ("sweep", "sweep"),
    "tune": ("tune", "tune"),
    "stability": ("stability", "stability"),
    "design": ("stability", "design"),
    "reproduce": ("reproduce", "reproduce"),
    "list": ("list_", "list_algorithms"),
    "explain": ("explain", "explain"),
    "report": ("report", "report"),
    "schema": ("schema", "schema"),
    "shell": ("shell", "shell"),
    "bench": ("bench", "bench"),
}

#: Exit code of what was interrupted: 128 and the number of the signal.
INTERRUPTED = 130


def _version(wanted: bool) -> None:
    if wanted:
        print(f"sojourn {_core.CORE_VERSION}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


def _app(words: Sequence[str]) -> typer.Typer:
    """Put together the command that `words` begin with, none for the version, else all of them."""
    app = typer.Typer(
        name="sojourn",
        help="A laboratory for active queue management: which queue is better for whom?",
        epilog="First steps: sojourn list; sojourn explain red; sojourn run examples/red40.toml",
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    first = words[0] if words else ""
    for name in [first] if first in COMMANDS else [] if first == "--version" else COMMANDS:
        module, function = COMMANDS[name]
        app.command(name)(getattr(import_module(f"sojourn.cli.{module}"), function))
    return app


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by whoever called: nobody wants to hear it
            setattr(sys, name, Path(os.devnull).open("w", encoding="utf-8"))  # noqa: SIM115
    words = list(arguments)
    if words and words[0] in ("sweep", "tune"):
        words = joined(words)
    try:
        command = typer.main.get_command(_app(words))
        code = command.main(words, prog_name="sojourn", standalone_mode=False)
        sys.stdout.flush()
        if code == INTERRUPTED:  # what typer makes of Ctrl-C, without a word
            return _say("interrupted", INTERRUPTED)
        return code if isinstance(code, int) else 0
    except SystemExit as end:  # a command that has said why
        return end.code if isinstance(end.code, int) else 0
    except SojournError as error:
        return _say(str(error), error.exit_code)
    except typer.TyperException as error:
        return _say(_usage(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except OSError as error:
        return _say(str(disk(error, error.filename or "the output")), 1)
    except MemoryError:
        return _say("not enough memory for what was asked", 1)
    except Exception as error:  # noqa: BLE001 - the last resort: one line, not a traceback
        return _say(f"internal error, please report it: {type(error).__name__}: {error}", 1)


def _say(message: str, code: int) -> int:
    if os.environ.get("SOJOURN_DEBUG") and sys.exc_info()[0] is not None:
        traceback.print_exc()
    print(f"sojourn: {' '.join(message.split())}", file=sys.stderr)
    return code


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    words = getattr(error, "format_message", lambda: str(error))()
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{words}{hint}"
