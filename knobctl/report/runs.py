"""Runs and their journals, for people and machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from knobctl.changes.journal import Ended, left_words
from knobctl.changes.outcomes import Outcome
from knobctl.report.ages import ago
from knobctl.report.outcomes import outcome_lines
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.journal import Run
    from knobctl.changes.outcomes import TenantOutcome


def runs_text(runs: Sequence[Run | Ended], *, now: datetime, colored: bool) -> str:
    """List runs, newest first: state, what became of how many, and how to go on with what is left.

    Args:
        runs: In the order to be shown.
        now: For ages.
        colored: Whether colour may be used.
    """
    if not runs:
        return "no runs"
    return "\n".join(line for run in runs for line in _head_lines(run, now, colored))


def run_text(run: Run, *, now: datetime, colored: bool) -> str:
    """Show one run: its head, what became of each tenant, and how to go on or back."""
    head, *resume = _head_lines(run, now, colored)
    lines = [head]
    lines += [f"reason: {visible(run.heading.reason)}"] if run.heading.reason else []
    lines += [f"ticket: {visible(run.heading.ticket)}"] if run.heading.ticket else []
    lines += outcome_lines(run.outcomes(), now=now, colored=colored)
    lines += resume
    if any(one.outcome is Outcome.APPLIED for one in run.outcomes()):
        lines.append(f"undo: knobctl rollback --run {run.heading.run}{visible(run.heading.place)}")
    return "\n".join(lines)


def _head_lines(run: Run | Ended, now: datetime, colored: bool) -> list[str]:
    heading = run.heading
    name = click.style(heading.run, bold=True) if colored else visible(heading.run)
    state = "finished" if run.is_finished else "unfinished"
    if colored and not run.is_finished:
        state = click.style(state, fg="yellow")
    what = f"{visible(heading.command)} to {visible(heading.engine)}"
    who = f"{visible(heading.actor)}, {ago(heading.started_at, now)}"
    lines = [f"{name}  {state}  {what}  {_counts(run.tally())}  {who}"]
    if isinstance(run, Ended) or run.is_finished:
        return lines
    lines.append(
        f"  {left_words(run)}; to go on, in {visible(heading.folder)}: "
        f"knobctl apply --resume {heading.run}{visible(run.heading.place)}"
    )
    return lines


def _counts(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {outcome}" for outcome, number in tally.items()) or "no tenants"


def finished_words(run: Run) -> str:
    """Say that nothing is left of a run."""
    return f"run {run.heading.run} is finished: {_counts(run.tally())}; nothing is left to write"


def runs_json(runs: Sequence[Run | Ended]) -> str:
    """The list for machines, in the order given."""
    return json.dumps({"version": 1, "runs": [_as_json(run) for run in runs]}, indent=2)


def run_json(run: Run) -> str:
    """One run for machines, with what became of each tenant."""
    whole = {**_as_json(run), "tenants": [_tenant(one) for one in run.outcomes()]}
    return json.dumps({"version": 1, "runs": [whole]}, indent=2)


def _as_json(run: Run | Ended) -> dict[str, Any]:
    heading = run.heading
    return {
        "run": heading.run,
        "started_at": heading.started_at,
        "state": "finished" if run.is_finished else "unfinished",
        "outcomes": run.tally(),
        "command": heading.command,
        "engine": heading.engine,
        "fleet": heading.fleet,
        "folder": heading.folder,
        "actor": heading.actor,
        "reason": heading.reason,
        "ticket": heading.ticket,
        "left": 0 if isinstance(run, Ended) else len(run.left),
    }


def _tenant(one: TenantOutcome) -> dict[str, Any]:
    # What others had changed was shown when it was found, and is not kept.
    return {key: part for key, part in one.as_json().items() if key != "changed_by_others"}
