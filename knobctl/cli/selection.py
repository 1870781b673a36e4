"""The options by which commands choose tenants and shape lists of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.checks.selecting import Selection

F = TypeVar("F", bound="Callable[..., Any]")


def complete_tenants(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Offer the tenants that this machine knows of, without asking the network."""
    from knobctl.cli.completing import tenants

    return [name for name in tenants(_ctx.params.get("engine")) if name.startswith(incomplete)]


def complete_runs(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
    """Offer this user's runs, newest first."""
    from knobctl.cli.completing import run_items

    return run_items(incomplete, unfinished=False)


def complete_unfinished(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
    """Offer the runs of this user of which something is left, newest first."""
    from knobctl.cli.completing import run_items

    return run_items(incomplete, unfinished=True)


tenants_argument = click.argument(
    "tenants", nargs=-1, metavar="[TENANT...]", shell_complete=complete_tenants
)
"""Any number of tenants; passes `tenants`."""


def selection_options(function: F) -> F:
    """Give a command `-l` and `--where`; it receives `labels` and `where`."""
    for option in (
        click.option(
            "--where",
            metavar="CEL",
            help="Only tenants for which the condition holds, such as effective.retrieval_min_score > 0.3.",
        ),
        click.option(
            "-l",
            "--label",
            "labels",
            multiple=True,
            metavar="LABEL=VALUE",
            help="Only tenants with this label in their document; repeatable, all must fit.",
        ),
    ):
        function = option(function)
    return function


def list_options(function: F) -> F:
    """Give a command `--sort-by` and `--columns`; it receives `sort_by` and `columns`."""
    for option in (
        click.option(
            "--columns",
            metavar="A,B,...",
            help="Columns of the text: tenant, revision, updated, by, owner, set, a knob, labels.NAME.",
        ),
        click.option(
            "--sort-by", metavar="COLUMN", help="Order by a column; -COLUMN for descending."
        ),
    ):
        function = option(function)
    return function


def selection_of(
    tenants: tuple[str, ...] = (), labels: tuple[str, ...] = (), where: str | None = None
) -> Selection:
    """Read the options; see `knobctl.checks.selecting.make_selection`."""
    from knobctl.checks.selecting import make_selection

    return make_selection(tenants, labels, where)
