"""`knobctl policy`: the policies in force, what they say, and whether their examples hold."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.showing import answer
from knobctl.errors import ExitCode
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from datetime import date

    from knobctl.checks.in_force import RulesInForce

_path_option = click.option(
    "--path",
    default=".",
    metavar="PATH",
    help="A file or folder of the repository; the working folder if there is none.",
)


def complete_policies(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the ids of the built-in policies."""
    from knobctl.checks.built_in import built_in_documents

    return [one.name for one in built_in_documents() if one.name.startswith(incomplete)]


@click.group()
def command() -> None:
    """The policies in force: built in, and the repository's own wherever in it they lie.

    A policy is one document with its condition, its words and its own passing and failing
    examples. knobctl.toml weighs it otherwise, with a reason; only a waiver switches it off.
    """


@command.command(name="list")
@click.argument("path", default=".", metavar="[PATH]")
@common_options()
def list_(settings: Settings, path: str) -> ExitCode:
    """List the policies of the repository in which PATH lies.

    Id, severity, where it comes from, how many waivers hold now, title; those that the engine's
    schema does not offer and those that are broken are named too. Exit 4 if one is broken.
    """
    from knobctl.report.policies import policies_text
    from knobctl.report.policies_json import policies_json

    rules, today = _rules(settings, path)
    code = rules.report("policy list", rules.findings).exit_code()
    settings.answer(
        {
            "text": lambda: policies_text(rules, today, colored=settings.colored(sys.stdout)),
            "json": lambda: policies_json(rules, today, code),
        }
    )
    return code


@command.command()
@click.argument("id_", metavar="ID", shell_complete=complete_policies)
@_path_option
@common_options()
def show(settings: Settings, id_: str, path: str) -> ExitCode:
    """Show one policy: its source, what it reads, whether its examples hold, who waives it."""
    from knobctl.checks.in_force import State
    from knobctl.report.policies import policy_text
    from knobctl.report.policies_json import policy_json

    rules, today = _rules(settings, path)
    rules.assert_known([id_])
    code = ExitCode.FINDINGS if rules.entry(id_).state is State.BROKEN else ExitCode.OK
    settings.answer(
        {
            "text": lambda: policy_text(rules, id_, today, colored=settings.colored(sys.stdout)),
            "json": lambda: policy_json(rules, id_, today, code),
        }
    )
    return code


@command.command()
@click.argument("ids", nargs=-1, metavar="[ID...]", shell_complete=complete_policies)
@_path_option
@click.option(
    "--fail-on",
    type=click.Choice(["error", "warning"]),
    default="error",
    show_default=True,
    help="What fails the run: with warning, a policy without an example of either kind exits 5.",
)
@common_options(formats=tuple(FORMATS))
def test(settings: Settings, ids: tuple[str, ...], path: str, fail_on: str) -> ExitCode:
    """Run the passing and failing examples of policies; of all if no ID is named.

    An example that does not hold is an error at its place (exit 4), as is a policy that does not
    compile, named or not. A policy without a passing or without a failing example proves nothing:
    a warning. Nothing to test is exit 2. Built-in policies are asked of the knobs that ship.
    """
    from knobctl.checks.in_force import run_tests

    rules, _ = _rules(settings, path)
    report = run_tests(rules, ids)
    return answer(settings, report, findings=None, fail_on=fail_on, exit_zero=False)


def _rules(settings: Settings, path: str) -> tuple[RulesInForce, date]:
    from knobctl.checks.in_force import rules_in_force
    from knobctl.cli.session import Session

    with Session(settings, engine=False) as session:
        return rules_in_force(session.rules(path)), session.today
