"""A push as it stands on the screen: its steps, what was heard, what became of it. Pure."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from knobctl.changes.news import Begun, Halted, News, Step
from knobctl.changes.outcomes import Outcome
from knobctl.changes.witness import Agreement
from knobctl.report.ages import ago
from knobctl.report.changes import change_lines
from knobctl.report.pushes import how_to_go_on
from knobctl.text import count, visible
from knobctl.tui import plan_view

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.tui.pushes import Push
    from knobctl.tui.ui import Part, Role


class Mark(StrEnum):
    """How far one step is."""

    TO_COME = " "
    NOW = ">"
    DONE = "x"
    WRONG = "!"
    NOT_DONE = "-"
    """It is not taken: the engine keeps no events, no file is edited, or something stopped the push before."""


def steps(push: Push) -> list[tuple[str, Mark]]:
    """The steps of a push, in their order."""
    found = [
        ("checked", Mark.DONE),
        ("journalled", _when(push, bool(push.run))),
        ("sent", _when(push, push.has(Step.SENT))),
        ("read back", _read_back(push)),
        ("audit event", _audited(push)),
        ("file", _filed(push)),
    ]
    if push.is_over:
        return [(name, Mark.NOT_DONE if mark is Mark.TO_COME else mark) for name, mark in found]
    at = next((number for number, (_, mark) in enumerate(found) if mark is Mark.TO_COME), None)
    return [(name, Mark.NOW if number == at else mark) for number, (name, mark) in enumerate(found)]


def _when(push: Push, done: bool) -> Mark:
    sends = bool(push.found.proposal.plan.changing)
    return Mark.DONE if done else Mark.TO_COME if sends else Mark.NOT_DONE


def _read_back(push: Push) -> Mark:
    if push.outcome is None:
        return _when(push, push.has(Step.READ_BACK))
    match push.outcome.outcome:
        case Outcome.APPLIED:
            return Mark.DONE
        case Outcome.UNKNOWN:
            return Mark.WRONG
        case _:
            return Mark.NOT_DONE


def _audited(push: Push) -> Mark:
    if push.witness is None:
        applied = push.outcome and push.outcome.outcome is Outcome.APPLIED
        return Mark.TO_COME if applied or push.outcome is None else Mark.NOT_DONE
    match push.witness.agreement:
        case Agreement.SAME:
            return Mark.DONE
        case Agreement.NOT_KEPT:
            return Mark.NOT_DONE
        case _:
            return Mark.WRONG


def _filed(push: Push) -> Mark:
    files = push.found.proposal.files
    if not files:
        return Mark.NOT_DONE
    if push.carried is None:
        return Mark.TO_COME
    edited = len(push.carried.done.edited) == len(files)
    return Mark.DONE if edited else Mark.WRONG if push.carried.faults else Mark.NOT_DONE


def steps_line(push: Push) -> list[Part]:
    """The steps in one line: `[x] checked [x] journalled [>] sent [ ] read back`."""
    roles: dict[Mark, Role] = {
        Mark.DONE: "good",
        Mark.WRONG: "error",
        Mark.NOW: "strong",
        Mark.TO_COME: "muted",
        Mark.NOT_DONE: "muted",
    }
    return [(f"[{mark.value}] {name} ", roles[mark]) for name, mark in steps(push)]


def heard_lines(push: Push) -> Iterator[list[Part]]:
    """What was heard, a line each, with its time."""
    sent_at: datetime | None = None
    for at, news in list(push.heard):
        time = f"{at.astimezone():%H:%M:%S}  "
        match news:
            case Begun(run=run):
                yield [(time, "muted"), f"journal: run {run} is on the disk"]
            case Halted(words=words):
                yield [(time, "muted"), (words, "warn")]
            case News(step=Step.SENT):
                sent_at = at
                fields = count(len(push.found.tenant.desired), "field")
                against = push.found.tenant.base_revision
                held = f", held to revision {against}" if against else ""
                yield [(time, "muted"), f"sent: the whole set, {fields}{held}"]
            case News(step=Step.ANSWERED):
                took = f", {(at - sent_at).total_seconds() * 1000:,.0f} ms" if sent_at else ""
                to = f": revision {news.revision}" if news.revision else ""
                yield [(time, "muted"), f"the engine says it is written{to}{took}"]
            case News(step=Step.READ_BACK) if news.revision:
                yield [(time, "muted"), *_read_words(push)]
            case _:
                continue


def _read_words(push: Push) -> list[Part]:
    number = len(push.found.tenant.desired)
    outcome = push.outcome
    if outcome and outcome.message:
        return [f"read back: {outcome.message}"]
    return [f"read back: equal to what was sent ({number} of {number})"]


def audit_lines(push: Push) -> Iterator[list[Part]]:
    """What the audit log says, beside what was planned."""
    witness = push.witness
    if witness is None:
        return
    expected = f"planned {len(witness.expected)}"
    match witness.agreement:
        case Agreement.NOT_KEPT:
            yield [("no audit event: ", "muted"), witness.why or ""]
        case Agreement.ABSENT:
            why = f": {witness.why}" if witness.why else ""
            yield [("x no audit event of this write was found", "error"), why]
        case agreement:
            event = witness.event or {}
            who, paths = event.get("actor", ""), witness.listed
            yield [f"{event.get('type', '')} by {who}: {count(len(paths), 'changed field path')}"]
            yield [f"  {', '.join(paths) or 'none'}"]
            if agreement is Agreement.SAME:
                yield [(f"  {expected}, listed {len(paths)}: the same set", "good")]
            else:
                yield [
                    (f"  x {expected}, and others: ", "error"),
                    ", ".join(witness.expected) or "none",
                ]


def verdict_lines(push: Push, now: datetime, place: str) -> Iterator[list[Part]]:
    """What became of it, and what to do now.

    Args:
        push: The push, over.
        now: The time, for ages.
        place: The options that lead to the same engine.
    """
    if push.error is not None:
        yield [("x not pushed: ", "error"), push.error.message]
        yield [push.error.hint or "Nothing was written."]
        return
    outcome, carried = push.outcome, push.carried
    if outcome is None or carried is None:
        return
    yield from _outcome_lines(push, outcome, now)
    for fault in carried.faults:
        yield [("x ", "error"), fault.message]
        if fault.hint:
            yield [f"  {fault.hint}"]
    if push.unkept:
        yield [("! the draft is still there: ", "warn"), push.unkept.message]
    if outcome.outcome is Outcome.APPLIED:
        yield [("undo  ", "muted"), plan_view.undo(push.found, place, push.run)]
    else:
        how = how_to_go_on(push.found.proposal, carried.done, place)
        if how and outcome.outcome is not Outcome.CONFLICT:
            yield [how]


def _outcome_lines(push: Push, outcome: TenantOutcome, now: datetime) -> Iterator[list[Part]]:
    name, message = outcome.tenant, outcome.message or ""
    match outcome.outcome:
        case Outcome.APPLIED if push.is_good:
            at = f" is at revision {outcome.revision}" if outcome.revision else " is written"
            yield [("ok pushed: ", "good"), f"{name}{at}", f"; {message}" if message else ""]
        case Outcome.APPLIED:
            at = f" at revision {outcome.revision}" if outcome.revision else ""
            yield [
                ("x written, and not all of it is as planned: ", "error"),
                f"{name}{at}",
                f"; {message}" if message else "",
            ]
        case Outcome.UNCHANGED:
            yield [("ok ", "good"), f"{name} holds this set already; nothing was sent"]
        case Outcome.CONFLICT:
            who = outcome.by or "somebody else"
            when = f" {ago(outcome.at, now)}" if outcome.at else ""
            yield [("x conflict: ", "error"), f"{message}; nothing was written"]
            yield [f"{who} wrote{when}; against what the plan was made of, that is"]
            yield from _theirs(outcome)
            yield [("n plans again on top of that; the draft is kept", "strong")]
        case Outcome.FAILED:
            yield [("x refused, nothing was written: ", "error"), message]
            yield ["the draft is kept; n plans again"]
        case Outcome.SKIPPED:
            yield [("! not begun: ", "warn"), message or "it was told to stop; nothing was sent"]
        case _:
            yield [("x what became of the write is not known: ", "error"), message]
            yield from _theirs(outcome)


def _theirs(outcome: TenantOutcome) -> Iterator[list[Part]]:
    for one in change_lines(outcome.theirs) if outcome.theirs else ():
        yield [one]


def headline(push: Push) -> str:
    """A word for the list of pushes and for a message: `acme: pushed, r8`."""
    name = visible(push.tenant)
    if not push.is_over:
        return f"{name}: a push is under way"
    if push.is_good:
        revision = push.outcome.revision if push.outcome else None
        return f"{name}: pushed{f', {revision}' if revision else ''}"
    if push.outcome and not push.error:
        return f"{name}: not as planned, {push.outcome.outcome.value}"
    return f"{name}: not pushed"
