"""The command line: one command a file; here they are put together, and errors become exit codes.

Standard output is the result, standard error the rest. 0: done; 1: a run failed; 2: bad usage or input;
130: interrupted. An error is one line; set ``SOJOURN_DEBUG=1`` to see where it came from.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from sojourn.cli import (
    bench,
    compare,
    compare_worlds,
    explain,
    list_,
    report,
    reproduce,
    run,
    schema,
    shell,
    stability,
    sweep,
    tune,
)
from sojourn.errors import SojournError, disk

app = typer.Typer(
    name="sojourn",
    help="A laboratory for active queue management: which queue is better for whom?",
    epilog="First steps: sojourn list; sojourn explain red; sojourn run examples/red40.toml",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        from sojourn import CORE_VERSION

        print(f"sojourn {CORE_VERSION}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    pass


app.command("run")(run.run)
app.command("compare")(compare.compare)
app.command("compare-worlds")(compare_worlds.compare_worlds)
app.command("sweep")(sweep.sweep)
app.command("tune")(tune.tune)
app.command("stability")(stability.stability)
app.command("design")(stability.design)
app.command("reproduce")(reproduce.reproduce)
app.command("list")(list_.list_algorithms)
app.command("explain")(explain.explain)
app.command("report")(report.report)
app.command("schema")(schema.schema)
app.command("shell")(shell.shell)
app.command("bench")(bench.bench)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    sys.exit(call(sys.argv[1:] if arguments is None else arguments))


def call(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code."""
    words = (
        sweep.joined(list(arguments)) if arguments and arguments[0] in ("sweep", "tune") else list(arguments)
    )
    try:
        code = typer.main.get_command(app).main(words, prog_name="sojourn", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except SojournError as error:
        return _say(str(error), error.exit_code)
    except typer.TyperException as error:
        return _say(_usage(error), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("interrupted", 130)
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
        import traceback

        traceback.print_exc()
    print(f"sojourn: {' '.join(message.split())}", file=sys.stderr)
    return code


def _usage(error: typer.TyperException) -> str:
    context = getattr(error, "ctx", None)
    words = getattr(error, "format_message", lambda: str(error))()
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    return f"{words}{hint}"
