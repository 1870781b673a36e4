"""What the commands that answer with findings share: their options, and how they answer."""

from __future__ import annotations

import gc
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.cli.options import bare_set_option
from knobctl.errors import ExitCode
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from datetime import datetime

    from knobctl.changes.comparing import TenantDiff
    from knobctl.changes.foresight import Foreseen
    from knobctl.changes.rules_changed import RuleChange
    from knobctl.checks.adopting import Adoption
    from knobctl.checks.report import Report
    from knobctl.cli.options import Settings
    from knobctl.finding import Finding

F = TypeVar("F", bound="Callable[..., Any]")


def showing_options(function: F) -> F:
    """Give a command the options on findings: what fails the run, and what is shown."""
    for option in reversed(
        (
            click.argument("paths", nargs=-1, metavar="[PATH...]"),
            bare_set_option,
            click.option(
                "--fail-on",
                type=click.Choice(["error", "warning"]),
                default="error",
                show_default=True,
                help="What fails the run: with warning, warnings alone exit 5.",
            ),
            click.option(
                "--select", multiple=True, metavar="RULE", help="Show only this rule; repeatable."
            ),
            click.option(
                "--ignore",
                multiple=True,
                metavar="RULE",
                help="Do not show this rule; it still counts. Repeatable.",
            ),
            click.option("--exit-zero", is_flag=True, help="Exit 0 whatever the findings."),
        )
    ):
        function = option(function)
    return function


def keep_documents() -> None:
    """Spare the garbage collector what was read: it lives as long as the run, and is most of the heap."""
    gc.freeze()


def shown(
    report: Report, select: Sequence[str], ignore: Sequence[str], known: Sequence[str]
) -> list[Finding] | None:
    """The findings to show; None for all of them.

    Raises:
        click.BadParameter: If a rule does not exist: a typing error must not hide findings.
    """
    for rule in (*select, *ignore):
        if rule not in known:
            close = nearest(rule, known)
            hint = f"; did you mean {close}?" if close else ""
            raise click.BadParameter(f"{rule} is no rule{hint}")
    if not select and not ignore:
        return None
    return [
        finding
        for finding in report.findings
        if (not select or finding.rule in select) and finding.rule not in ignore
    ]


def answer(
    settings: Settings,
    report: Report,
    *,
    findings: Sequence[Finding] | None,
    fail_on: str,
    exit_zero: bool,
    base: str | None = None,
    changes: Sequence[TenantDiff] | None = None,
    removed: Sequence[str] = (),
    rules_changed: Sequence[RuleChange] | None = None,
    guards: Sequence[Foreseen] = (),
    adopted: Adoption | None = None,
    now: datetime | None = None,
) -> ExitCode:
    """Print a report in the chosen format.

    Returns:
        The exit code: the same for every format and verbosity.
    """
    from knobctl.finding import Severity
    from knobctl.report.formats import FORMATS, FindingsAnswer, render

    code = report.exit_code(Severity(fail_on))
    if exit_zero and code in {ExitCode.FINDINGS, ExitCode.WARNINGS}:
        code = ExitCode.OK
    _notes(settings, report)
    told = FindingsAnswer(
        report=report,
        code=code,
        fail_on=Severity(fail_on),
        shown=findings,
        base=base,
        changes=changes,
        removed=removed,
        rules_changed=rules_changed,
        guards=guards,
        adopted=adopted,
        now=now,
        colored=settings.colored(sys.stdout),
        everything=bool(settings.verbose),
    )
    settings.answer({name: partial(render, name, told) for name in FORMATS})
    return code


def _notes(settings: Settings, report: Report) -> None:
    from knobctl.text import count, visible

    if report.unread:
        files = ", ".join(map(visible, report.unread[:3]))
        settings.say(
            f"note: {count(len(report.unread), 'file')} around these cannot be read ({files}): "
            "layers and waivers in them are not known"
        )
    if report.policies and not report.tenants and report.examples is None:
        settings.say(
            "note: no tenant is among these files, so no policy was asked; "
            "name the folder in which the tenants lie"
        )
    if report.skipped:
        settings.say_more(f"passed over, not knobctl's: {', '.join(map(visible, report.skipped))}")
