"""`apply --canary`: the options, and the waves of a push."""

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
    """Give a command `--canary`, `--bake` and `--max-worse`; it receives `canary`, `bake` and `max_worse`."""
    options = [
        click.option(
            "--canary",
            multiple=True,
            metavar="N|P%",
            help="Write so many of the changing tenants first, ask the fleet's probe questions, and take "
            "everything back where they are answered worse; repeatable for further waves, each up to that size.",
        ),
        click.option(
            "--bake",
            metavar="DURATION",
            help=f"How long a wave of --canary is watched, such as 30s, 10m or 2h; {BAKE} where nothing says.",
        ),
        click.option(
            "--max-worse",
            metavar="P%",
            help="By how much of its questions a tenant's below_threshold or empty contexts may grow, and how "
            f"much of its answers may be lost, before a canary goes back; {MAX_WORSE} where nothing says.",
        ),
    ]
    for option in reversed(options):
        function = option(function)
    return function


def canary_of(
    sizes: tuple[str, ...], bake: str | None, max_worse: str | None, *, resumes: bool
) -> Canary | None:
    """Read the options; None where no canary is asked for.

    Raises:
        UsageError: If one cannot be read, or says nothing without --canary.
    """
    from knobctl.changes.limits import share
    from knobctl.changes.waves import Canary, seconds, size_of

    if not sizes:
        if bake is not None or max_worse is not None:
            name = "--bake" if bake is not None else "--max-worse"
            raise UsageError(f"{name} says nothing without --canary")
        return None
    if resumes:
        raise UsageError(
            "a run is resumed as it was begun",
            hint="for a canary of what is left, apply again: it writes only what differs",
        )
    for size in sizes:
        size_of(size, 1)
    seconds(bake or BAKE)
    share(max_worse or MAX_WORSE)
    return Canary(sizes=sizes, bake=bake or BAKE, max_worse=max_worse or MAX_WORSE)


def in_waves(
    session: Session, proposal: Proposal, canary: Canary | None, *, parallelism: int
) -> Proposal:
    """The proposal, with its waves where a canary is asked for and something changes.

    Raises:
        RefusedError: If nothing would be watched; nothing was written.
    """
    from knobctl.changes.rollout import prepared_rollout

    if canary is None or proposal.probes is None or not proposal.plan.changing:
        return proposal
    rollout = prepared_rollout(
        canary,
        proposal.plan.tenants,
        proposal.probes,
        session.engine,
        parallelism=parallelism,
    )
    return replace(proposal, rollout=rollout)
