"""The one place where trouble becomes an exit code and words on stderr."""

from __future__ import annotations

import os
import signal
import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING, NoReturn

import click

from knobctl.cli.group import ReaderGoneError, commands
from knobctl.errors import AnswerError, ExitCode, KnobctlError
from knobctl.text import visible

if TYPE_CHECKING:
    from types import FrameType

    from knobctl.cli.options import Settings


class Terminated(BaseException):
    """SIGTERM arrived. Like KeyboardInterrupt, so that nothing swallows it."""


def run(arguments: list[str]) -> int:  # noqa: PLR0911  one return for each kind of end
    """Run one command line.

    Args:
        arguments: What stands after the program's name.

    Returns:
        The exit code: the command's own, or what its failure means.
    """
    signal.signal(signal.SIGTERM, _terminate)
    _open_closed_streams()
    _escape_what_cannot_be_encoded()
    said: dict[str, Settings] = {}
    if "_KNOBCTL_COMPLETE" in os.environ:
        from knobctl.cli.shells import teach_click

        teach_click()
    try:
        code = commands.main(arguments, prog_name="knobctl", standalone_mode=False, obj=said)
        sys.stdout.flush()
        return int(code or ExitCode.OK)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        _show_usage(error)
        return ExitCode.USAGE
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except Terminated:
        click.echo("terminated", err=True)
        return ExitCode.TERMINATED
    except KnobctlError as error:
        _tell(error, said.get("settings"))
        return error.exit_code
    except (BrokenPipeError, ReaderGoneError):
        _discard_stdout()
        return 128 + signal.SIGPIPE
    except Exception as error:  # noqa: BLE001  the last resort: a crash is exit 1 and never looks like a verdict
        _report_crash(error, arguments)
        return ExitCode.INTERNAL


def _show_usage(error: click.ClickException) -> None:
    """Show what is wrong with the command line; it may hold what was pasted from anywhere."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        click.echo(error.format_message(), err=True)
        return
    if isinstance(error, click.UsageError) and error.ctx:
        click.echo(
            f"{error.ctx.get_usage()}\nTry '{error.ctx.command_path} --help' for help.\n", err=True
        )
    click.echo(f"Error: {visible(error.format_message(), keep=chr(10))}", err=True)


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    raise Terminated


def _open_closed_streams() -> None:
    """Give what was started without a standard stream (`<&-`, `>&-`) an empty one."""
    for name, mode, flags in (
        ("stdin", "r", os.O_RDONLY),
        ("stdout", "w", os.O_WRONLY),
        ("stderr", "w", os.O_WRONLY),
    ):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, flags), mode))


def _escape_what_cannot_be_encoded() -> None:
    """An answer must not fail at a letter that a narrow encoding of standard output lacks."""
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def _discard_stdout() -> None:
    """What is left in the buffer cannot be written, and must not be tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell(error: KnobctlError, settings: Settings | None) -> None:
    """Say what went wrong, in JSON too where that was asked for; that nobody can be told changes no exit code."""
    if isinstance(error, AnswerError):
        _discard_stdout()
    _say(error, verbose=bool(settings and settings.verbose))
    if settings:
        try:
            settings.answer_failure(error)
        except (AnswerError, BrokenPipeError):
            _discard_stdout()


def _say(error: KnobctlError, *, verbose: bool) -> None:
    from knobctl.cli.talk import folded

    prefix = "refused: " if error.exit_code is ExitCode.REFUSED else "error: "
    click.echo(folded(prefix + visible(error.message, keep="\n")), err=True)
    if error.hint:
        click.echo(f"  {visible(error.hint, keep=chr(10))}", err=True)
    if verbose:
        cause = error.__cause__
        while cause is not None:
            click.echo(f"  because: {type(cause).__name__}: {visible(str(cause))}", err=True)
            cause = cause.__cause__ or cause.__context__


def _report_crash(error: Exception, arguments: list[str]) -> None:
    """Write the traceback to a file and say where it is; never onto the terminal."""
    import hashlib
    import traceback
    from pathlib import Path

    import platformdirs

    lines = "".join(traceback.format_exception(error))
    report_id = hashlib.sha256(lines.encode()).hexdigest()[:8]
    folder = Path(platformdirs.user_state_dir("knobctl"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / f"crash-{report_id}.txt"
        path.write_text(f"knobctl {' '.join(arguments[:1])}\n{lines}", encoding="utf-8")
        where = f"the report is {path}"
    except OSError:
        where = "no report could be written"
    click.echo(f"internal error {report_id}: {type(error).__name__}; {where}", err=True)
    click.echo("  this is a defect of knobctl; nothing it says here is a verdict", err=True)
