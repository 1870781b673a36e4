"""Runs and their journals, for people and machines."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.changes.journal import Ended
from knobctl.changes.outcomes import Outcome
from knobctl.report.ages import ago
from knobctl.report.outcomes import outcome_lines
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.journal import Run
    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.stop_marks import Mark

LIFT: Final = "knobctl runs --lift"


def runs_text(
    runs: Sequence[Run | Ended],
    *,
    under_way: Container[str],
    mark: Mark | None,
    now: datetime,
    colored: bool,
) -> str:
    """List runs, newest first: state, what became of how many, and how to go on with what is left.

    Args:
        runs: In the order to be shown.
        under_way: The names of those that a process is writing.
        mark: The stop of all runs, if there is one.
        now: For ages.
        colored: Whether colour may be used.
    """
    lines = []
    if mark:
        lines.append(f"all runs are stopped, {ago(mark.since, now)}; none begins until: {LIFT}")
    lines += [line for run in runs for line in _head_lines(run, under_way, now, colored)]
    return "\n".join(lines or ["no runs"])


def stopped_text(
    runs: Sequence[Run],
    *,
    asked: str | None,
    under_way: Container[str],
    now: datetime,
    colored: bool,
) -> str:
    """Say what an emergency stop came to.

    Args:
        runs: What was under way; where one was named, that one.
        asked: The run that was to be stopped; None where all were.
        under_way: The names of those that have a write in flight still.
        now: For ages.
        colored: Whether colour may be used.
    """
    lines = [line for run in runs for line in _head_lines(run, under_way, now, colored)]
    lines += [
        f"  a write of {run.heading.run} is in flight still; no other is begun. Look again: knobctl runs {run.heading.run}"
        for run in runs
        if run.heading.run in under_way
    ]
    if asked:
        return "\n".join(lines)
    head = f"all runs of this user on this machine are stopped, and none begins until: {LIFT}"
    return "\n".join([head, *(lines or ["none was under way"])])


def lifted_text(mark: Mark | None, now: datetime) -> str:
    """Say that runs may begin again."""
    if mark is None:
        return "runs were not stopped"
    return f"runs may begin again; they were stopped {ago(mark.since, now)}"


def run_text(
    run: Run, *, under_way: Container[str], now: datetime, colored: bool, everything: bool = False
) -> str:
    """Show one run: its head, what became of each tenant, and how to go on or back."""
    head, *resume = _head_lines(run, under_way, now, colored)
    lines = [head]
    lines += [f"reason: {visible(run.heading.reason)}"] if run.heading.reason else []
    lines += [f"ticket: {visible(run.heading.ticket)}"] if run.heading.ticket else []
    lines += outcome_lines(run.outcomes(), now=now, colored=colored, everything=everything)
    lines += resume
    if any(one.outcome is Outcome.APPLIED for one in run.outcomes()):
        lines.append(f"undo: knobctl rollback --run {run.heading.run}{visible(run.heading.place)}")
    return "\n".join(lines)


def _head_lines(
    run: Run | Ended, under_way: Container[str], now: datetime, colored: bool
) -> list[str]:
    heading = run.heading
    name = click.style(heading.run, bold=True) if colored else visible(heading.run)
    state = "finished" if run.is_finished else "unfinished"
    if colored and not run.is_finished:
        state = click.style(state, fg="yellow")
    is_under_way = heading.run in under_way
    state += ", under way" * is_under_way
    what = f"{visible(heading.command)} to {visible(heading.engine)}"
    who = f"{visible(heading.actor)}, {ago(heading.started_at, now)}"
    lines = [f"{name}  {state}  {what}  {_counts(run.tally())}  {who}"]
    if isinstance(run, Ended) or run.is_finished:
        return lines
    if is_under_way:
        lines.append(f"  {_left_words(run)}; to stop it: knobctl runs --stop {heading.run}")
    else:
        lines.append(
            f"  {_left_words(run)}; to go on, in {visible(heading.folder)}: "
            f"knobctl apply --resume {heading.run}{visible(run.heading.place)}"
        )
    return lines


def _counts(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{number:,} {outcome}" for outcome, number in tally.items()) or "no tenants"


def _left_words(run: Run) -> str:
    """What is left of a run: `3 tenants left, 1 of them sent and not established`."""
    unsure = sum(run.tenants[name].may_be_written for name in run.left)
    what = "left to be taken back" if run.taking_back is not None else "left"
    left = f"{count(len(run.left), 'tenant')} {what}"
    left += f", {unsure:,} of them sent and not established" if unsure else ""
    return f"{left}, {len(run.unjudged):,} written and to be judged again" if run.unjudged else left


def unfinished_words(run: Run, now: datetime) -> str:
    """Name a run of which something is left: `note: run 7b21e0c, 2 h ago, is unfinished: 3 tenants left; ...`."""
    heading = run.heading
    how = f"to go on with it: knobctl apply --resume {heading.run}{visible(heading.place)}"
    return f"note: run {heading.run}, {ago(heading.started_at, now)}, is unfinished: {_left_words(run)}; {how}"


def finished_words(run: Run) -> str:
    """Say that nothing is left of a run."""
    what = "was rolled back" if run.rolled_back else "is finished"
    return f"run {run.heading.run} {what}: {_counts(run.tally())}; nothing is left to write"


def runs_json(runs: Sequence[Run | Ended], *, under_way: Container[str], mark: Mark | None) -> str:
    """The list for machines, in the order given."""
    return _document([_as_json(run, under_way) for run in runs], mark)


def run_json(run: Run, *, under_way: Container[str], mark: Mark | None) -> str:
    """One run for machines, with what became of each tenant."""
    tenants = [_tenant(one) for one in run.outcomes()]
    return _document([{**_as_json(run, under_way), "tenants": tenants}], mark)


def _document(runs: list[dict[str, Any]], mark: Mark | None) -> str:
    since = mark.since if mark else None
    return json.dumps({"version": 1, "stopped_since": since, "runs": runs}, indent=2)


def _as_json(run: Run | Ended, under_way: Container[str]) -> dict[str, Any]:
    heading = run.heading
    return {
        "run": heading.run,
        "started_at": heading.started_at,
        "state": "finished" if run.is_finished else "unfinished",
        "under_way": heading.run in under_way,
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
