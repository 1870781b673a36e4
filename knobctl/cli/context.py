"""`knobctl context`: named engines."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from knobctl.cli.options import Settings, common_options
from knobctl.engine.pace import MOST_PER_S
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from knobctl.engine.contexts import ContextBook


def complete_contexts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the names of the contexts."""
    from knobctl.cli.completing import contexts

    return [name for name in contexts() if name.startswith(incomplete)]


@click.group()
def command() -> None:
    """Named engines: URL, fleet, schema, token source, CA bundle, proxy, rate, whether it is production.

    A flag beats a variable, a variable beats the context, and without a context there is embedded:.
    """


@command.command(name="list")
@common_options()
def list_(settings: Settings) -> ExitCode:
    """List the contexts; * marks the current one."""
    from knobctl.report.contexts import contexts_json, contexts_text

    book = _book(settings)
    settings.answer(
        {
            "text": lambda: contexts_text(book),
            "json": lambda: contexts_json("list", book, list(book.contexts)),
        }
    )
    return ExitCode.OK


@command.command()
@click.argument("name", required=False, shell_complete=complete_contexts)
@common_options()
def show(settings: Settings, name: str | None) -> ExitCode:
    """Show one context, the current one if none is named; never a secret."""
    book = _book(settings)
    chosen = name or book.current
    if chosen is None:
        raise UsageError("no context is current", hint="name one: knobctl context list")
    _answer_one(settings, "show", book, chosen)
    return ExitCode.OK


@command.command(short_help="Make a context the current one.")
@click.argument("name", shell_complete=complete_contexts)
@common_options()
def use(settings: Settings, name: str) -> ExitCode:
    """Make a context the current one: commands without --engine and --context go there."""
    from knobctl.engine.contexts import use_context

    book = use_context(_path(settings), name)
    _answer_one(settings, "use", book, name)
    return ExitCode.OK


@command.command()
@click.argument("name")
@click.option("--engine", required=True, metavar="URL", help="embedded:[FILE] or http(s)://...")
@click.option(
    "--token-env", metavar="VARIABLE", help="The environment variable that holds the token."
)
@click.option(
    "--token-file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The file that holds the token.",
)
@click.option(
    "--token-command",
    metavar="COMMAND",
    help="Program and arguments that print the token, run without a shell; {tenant} stands for the tenant.",
)
@click.option(
    "--ca-bundle",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Certificates to trust instead of the usual ones.",
)
@click.option("--proxy", metavar="URL", help="The proxy on the way to the engine.")
@click.option(
    "--rate",
    type=click.IntRange(1, MOST_PER_S),
    metavar="N",
    help="Requests a second that the engine gets at most from one run.",
)
@click.option(
    "--production",
    is_flag=True,
    help="Mark it: plain http:// and --insecure are refused; pushes need consent, a reason and a ticket.",
)
@click.option(
    "--ticket-pattern",
    metavar="REGEX",
    help="What the whole of --ticket must match, such as OPS-[0-9]+; pushes then need one.",
)
@click.option("--replace", is_flag=True, help="Overwrite a context of this name.")
@common_options()
@click.pass_context
def add(
    ctx: click.Context,
    /,
    settings: Settings,
    name: str,
    engine: str,
    token_env: str | None,
    token_file: Path | None,
    token_command: str | None,
    ca_bundle: Path | None,
    proxy: str | None,
    rate: int | None,
    production: bool,
    ticket_pattern: str | None,
    replace: bool,
) -> ExitCode:
    """Add a context. Its --fleet and --schema hold wherever the context is used."""
    from knobctl.engine.contexts import add_context, make_context
    from knobctl.engine.target import Target, assert_safe

    assert_safe(Target(engine=engine, context=name, production=production))
    typed = {
        option: value
        for option, value in (("fleet", settings.fleet), ("schema", settings.schema))
        if ctx.get_parameter_source(option) is ParameterSource.COMMANDLINE
    }
    context = make_context(
        {
            "engine": engine,
            "fleet": typed.get("fleet"),
            "schema": _absolute(settings.schema if "schema" in typed else None),
            "token_env": token_env,
            "token_file": _absolute(token_file),
            "token_command": _words(token_command),
            "ca_bundle": _absolute(ca_bundle),
            "proxy": proxy,
            "rate": rate,
            "production": production,
            "ticket_pattern": ticket_pattern,
        }
    )
    book = add_context(_path(settings), name, context, replace=replace)
    _answer_one(settings, "add", book, name)
    return ExitCode.OK


def _answer_one(settings: Settings, action: str, book: ContextBook, name: str) -> None:
    from knobctl.report.contexts import context_text, contexts_json

    context = book.named(name)
    settings.answer(
        {
            "text": lambda: context_text(name, context, is_current=name == book.current),
            "json": lambda: contexts_json(action, book, [name]),
        }
    )


def _path(settings: Settings) -> Path:
    from knobctl.cli.session import Session
    from knobctl.engine.target import CONTEXTS_FILE

    return Session(settings, engine=False).config_folder / CONTEXTS_FILE


def _book(settings: Settings) -> ContextBook:
    from knobctl.engine.contexts import load_contexts

    return load_contexts(_path(settings))


def _absolute(path: Path | None) -> str | None:
    return str(path.expanduser().absolute()) if path else None


def _words(command: str | None) -> list[str] | None:
    if command is None:
        return None
    try:
        return shlex.split(command)
    except ValueError as error:
        raise UsageError(f"--token-command cannot be read: {error}") from error
