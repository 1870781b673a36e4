"""`knobctl explain`: what a knob is, and what a value of it does."""

from __future__ import annotations

import json

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import complete_tenants
from knobctl.errors import ExitCode, UsageError


def _complete_knobs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from knobctl.cli.completing import knobs

    return [name for name, _ in knobs(ctx.params.get("schema")) if name.startswith(incomplete)]


# A negative number is a value here, no option.
@click.command(context_settings={"ignore_unknown_options": True})
@click.argument("knob", required=False, shell_complete=_complete_knobs)
@click.argument("value", required=False)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option(
    "--tenant",
    metavar="NAME",
    help="Start from this tenant's documents in PATH.",
    shell_complete=complete_tenants,
)
@common_options()
def command(
    settings: Settings,
    knob: str | None,
    value: str | None,
    paths: tuple[str, ...],
    tenant: str | None,
) -> ExitCode:
    """What a knob is, its zero rule, default and what is known of that; with VALUE, what it does.

    Without KNOB: all of them.
    """
    from knobctl.cli.asking import surroundings
    from knobctl.report.explaining import explanation

    for typed in (knob, value, *paths):
        if typed and typed.startswith("--"):
            raise UsageError(f"there is no option {typed}", hint="see: knobctl explain --help")
    found = explanation(surroundings(settings, tenant, paths), knob, value)
    settings.answer({"text": found.text, "json": lambda: json.dumps(found.as_json(), indent=2)})
    return found.exit_code
