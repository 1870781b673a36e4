"""The table of commands; a command's module is imported when the command is called."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

import click

from knobctl.text import nearest

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS: Final[dict[str, str]] = {
    # name, which is also the module under knobctl.cli: short help
    "init": "A knob repository to start from, with CI files and commit hooks",
    "validate": "Check documents against the JSON Schema; every finding with line:column",
    "check": "Validate, then say what the values do: the policies",
    "fmt": "Canonical names, order and spelling; comments kept",
    "explain": "What a knob is, and what a value of it does",
    "reach": "Ceilings and deepest ranks of a floor, for every set of live rankers",
    "resolve": "Layers resolved: every effective value with its origin",
    "get": "The sets that the engine holds",
    "diff": "What would change, field by field, resets first",
    "plan": "What apply would do, as text or as a file to apply later",
    "apply": "Push the files' sets to the engine, guarded",
    "set": "Change knobs of one tenant",
    "unset": "Send knobs of one tenant back to the platform default",
    "reset": "Send every knob of one tenant back to the platform default",
    "edit": "Edit the live set of one tenant in $EDITOR",
    "pull": "Write live sets into YAML files",
    "drift": "Whether live is what the files say, and who changed it",
    "history": "The engine's audit events; --verify proves the chain",
    "rollback": "Bring tenants back to an earlier set",
    "runs": "The journals of runs: what became of each tenant, and how to go on",
    "diagnose": "Explain an answer: which floor bound, and what to change",
    "bench": "What floors refuse, on real questions: harvest, replay, judge, sweep",
    "calibrate": "How near off-topic questions come to a corpus, and what a cosine means",
    "simulate": "What another set would do to questions, before it is written",
    "recommend": "The largest floor that loses few answerable questions, or what is missing",
    "impact": "Who follows a platform default and would change with it",
    "policy": "The policies in force, what they say, and their examples",
    "schema": "Print the JSON Schemas and what derives from them",
    "context": "Named engines",
    "tui": "The terminal UI: find a tenant, understand its floor, edit, push",
    "engine": "The reference engine: serve, token, load, describe, migrate",
    "completion": "Shell completion for bash, zsh and fish",
}


class ReaderGoneError(Exception):
    """Nobody reads our output any more, as with `knobctl check | head -1`."""


class CommandTable(click.Group):
    """A group whose help and completion import no command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002  click's signature
        """Give the names in the order of the table."""
        return list(COMMANDS)

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; click itself would make exit 1 of a reader that has gone."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderGoneError from error

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002  click's signature
        """Import the module of one command."""
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"knobctl.cli.{cmd_name}")
        command: click.Command = module.command
        return command

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Complete names from the table; click would import every command for its help."""
        from click.shell_completion import CompletionItem

        offered = [
            CompletionItem(name, help=text)
            for name, text in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return offered + click.Command.shell_complete(self, ctx, incomplete)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Refuse a mistyped name with the nearest that exists."""
        name = args[0] if args else ""
        if name not in COMMANDS and not name.startswith("-"):
            close = nearest(name, COMMANDS)
            hint = f" Did you mean {close!r}?" if close else ""
            ctx.fail(f"No such command {name!r}.{hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002  click's signature
        """List the commands with the table's own words."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


@click.group(
    cls=CommandTable,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=lambda ctx, _, on: _version(ctx) if on else None,
    help="Print the version.",
)
def commands() -> None:
    """Validate, explain, diff and push the knobs of multi-tenant retrieval engines.

    load -> resolve -> check -> diff -> plan -> apply -> audit
    """


def _version(ctx: click.Context) -> None:
    from knobctl import __version__

    click.echo(f"knobctl {__version__}")
    ctx.exit()
