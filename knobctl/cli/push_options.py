"""The options of the commands that write: consent, and how many tenants at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.changes.waves import Canary

F = TypeVar("F", bound="Callable[..., Any]")
DEFAULT_PARALLELISM = 4
MOST_WORKERS = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class PushOptions:
    """What a writing command's own options say."""

    yes: bool = False
    reason: str | None = None
    ticket: str | None = None
    allow: tuple[str, ...] = ()
    dry_run: bool = False
    on_conflict: str = "stop"
    parallelism: int = DEFAULT_PARALLELISM
    canary: Canary | None = None


def _reason(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    if not text:
        return text
    from knobctl.changes.audit_reasons import read_reason

    return read_reason(text)


def _ticket(_ctx: click.Context, _param: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from knobctl.changes.audit_reasons import read_ticket

    return read_ticket(text)


def consent_options(function: F) -> F:
    """Give a command `--yes`, `--reason`, `--ticket` and `--allow`."""
    options = [
        click.option(
            "--yes",
            is_flag=True,
            help="Consent, resets included; without a terminal it is needed.",
        ),
        click.option(
            "--reason",
            metavar="TEXT",
            callback=_reason,
            help="Why; goes into the audit event.",
        ),
        click.option(
            "--ticket",
            metavar="ID",
            callback=_ticket,
            help="The ticket that asks for it; goes into the audit event as [ticket: ID].",
        ),
        click.option(
            "--allow",
            multiple=True,
            metavar="GUARD=VALUE",
            help="Acknowledge what a refusal named; repeatable, recorded in the reason.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def parallelism_option(function: F) -> F:
    """Give a command `--parallelism`."""
    return click.option(
        "--parallelism",
        type=click.IntRange(1, MOST_WORKERS),
        default=DEFAULT_PARALLELISM,
        envvar="KNOBCTL_PARALLELISM",
        show_default=True,
        metavar="N",
        help="Tenants read and written at a time.",
    )(function)
