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
    allow: tuple[str, ...] = ()
    dry_run: bool = False
    on_conflict: str = "stop"
    parallelism: int = DEFAULT_PARALLELISM
    canary: Canary | None = None


def consent_options(function: F) -> F:
    """Give a command `--yes`, `--reason` and `--allow`."""
    options = [
        click.option(
            "--yes",
            is_flag=True,
            help="Consent, resets included; without a terminal it is needed.",
        ),
        click.option(
            "--reason",
            metavar="TEXT",
            help="Why; goes into the audit event.",
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
