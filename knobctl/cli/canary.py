"""`apply --canary` and `--wave`: the options, and the waves of a push."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.changes.proposal import Proposal
    from knobctl.changes.waves import Canary
    from knobctl.cli.session import Session

F = TypeVar("F", bound="Callable[..., Any]")
BAKE = "10m"
MAX_WORSE = "2%"


def canary_options(function: F) -> F:
    """Give a command `--canary`, `--wave`, `--watch`, `--bake` and `--max-worse`, by these names."""
    options = [
        click.option(
            "--canary",
            multiple=True,
            metavar="N|P%",
            help="Write so many of the changing tenants first, ask the fleet's probe questions, and take "
            "everything back where they are answered worse; repeatable for further waves, each up to that size.",
        ),
        click.option(
            "--wave",
            multiple=True,
            metavar="LABEL=VALUE",
            help="Write the tenants with this label as a wave that is watched so, before all others; repeatable, "
            "in this order. A --canary beside it is taken of the first one's tenants.",
        ),
        click.option(
            "--watch",
            type=click.IntRange(min=1),
            metavar="N",
            help="Ask the questions of no more than N tenants of each wave; all that have some where nothing says.",
        ),
        click.option(
            "--bake",
            metavar="DURATION",
            help=f"How long each wave is watched, such as 30s, 10m or 2h; {BAKE} where nothing says.",
        ),
        click.option(
            "--max-worse",
            metavar="P%",
            help="By how much of its questions a tenant's below_threshold or empty contexts may grow, and how "
            f"much of its answers may be lost, before all goes back; {MAX_WORSE} where nothing says.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def canary_of(
    sizes: tuple[str, ...],
    labels: tuple[str, ...],
    watch: int | None,
    bake: str | None,
    max_worse: str | None,
    *,
    resumes: bool,
) -> Canary | None:
    """Read the options; None where no waves are asked for.

    Raises:
        UsageError: If one cannot be read, or says nothing without --canary or --wave.
    """
    from knobctl.changes.limits import share
    from knobctl.changes.waves import Canary, seconds, size_of
    from knobctl.checks.selecting import make_selection

    if not (sizes or labels):
        said = {"--watch": watch, "--bake": bake, "--max-worse": max_worse}
        for name, value in said.items():
            if value is not None:
                raise UsageError(f"{name} says nothing without --canary or --wave")
        return None
    if resumes:
        raise UsageError(
            "a run is resumed as it was begun",
            hint="for waves of what is left, apply again: it writes only what differs",
        )
    for size in sizes:
        size_of(size, 1)
    make_selection(labels=labels)
    seconds(bake or BAKE)
    share(max_worse or MAX_WORSE)
    return Canary(
        sizes=sizes,
        labels=labels,
        bake=bake or BAKE,
        max_worse=max_worse or MAX_WORSE,
        most=watch,
    )


def in_waves(
    session: Session, proposal: Proposal, canary: Canary | None, *, parallelism: int
) -> Proposal:
    """The proposal, with its waves where they are asked for and something changes.

    Raises:
        RefusedError: If nothing would be watched; nothing was written.
    """
    from knobctl.changes.rollout import prepared_rollout, resumed_rollout

    tenants, probes = proposal.plan.tenants, proposal.probes
    if probes is not None and proposal.begun is not None:
        rollout = resumed_rollout(
            proposal.begun, tenants, probes, session.engine, parallelism=parallelism
        )
    elif probes is not None and canary is not None and proposal.plan.changing:
        rollout = prepared_rollout(canary, tenants, probes, session.engine, parallelism=parallelism)
    else:
        return proposal
    return replace(proposal, rollout=rollout)
