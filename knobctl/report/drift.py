"""Drift for people: the verdict, then who moved what, when, and what to do."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from knobctl.changes.diff import Op, resets_first
from knobctl.changes.drift import sides
from knobctl.changes.tracing import UNTOLD, Edit, KnobDrift, Moved
from knobctl.finding import Severity
from knobctl.report.ages import ago
from knobctl.report.changes import live_words, origin_words, unknown_words, value_words
from knobctl.report.findings import findings_text
from knobctl.report.folding import MOST_SHOWN, listed
from knobctl.report.outcomes import naming
from knobctl.report.sets import table
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.diff import Change
    from knobctl.changes.drift import Drift, TenantDrift
    from knobctl.checks.report import Report
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import EngineError
    from knobctl.finding import Finding

_LONGEST_REASON: Final = 60
SIDES: Final = {
    Moved.LIVE: "edited live",
    Moved.FILE: "the file is ahead",
    Moved.BOTH: "edited live, and the file is ahead",
    Moved.UNKNOWN: "differs",
}
_COUNTED: Final = {
    Moved.LIVE: "edited live",
    Moved.FILE: "ahead in the files",
    Moved.BOTH: "moved on both sides",
    Moved.UNKNOWN: "of unknown cause",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The commands that end a drift, as they can be copied into a shell."""

    apply: str
    """Pushes what was looked at."""
    place: str
    """Options that lead another command to the same engine, to be appended."""
    pull_from: str = ""
    """The folder in which a pull edits these files; empty where that is the working folder."""


def headline(drift: Drift, report: Report) -> str:
    """The verdict: `drift: 2 of 6 tenants, 3 fields (1 edited live, 1 ahead in the files); a push would reset 1 field`."""
    differing = drift.differing
    looked_at = len(drift.tenants)
    if differing:
        fields = sum(len(one.knobs) + len(one.unreadable) for one in differing)
        many = f"{len(differing):,} of {count(looked_at, 'tenant')}"
        who = "1 tenant" if looked_at == 1 else many
        moved = ", ".join(
            f"{number:,} {_COUNTED[side]}" for side, number in sorted(sides(drift).items())
        )
        words = f"drift: {who}, {count(fields, 'field')} ({moved})"
        resets = sum(one.change.op is Op.RESET for each in differing for one in each.knobs)
        words += f"; a push would reset {count(resets, 'field')}" if resets else ""
    else:
        verb = "is" if looked_at == 1 else "are"
        verdict = "drift" if drift.found else "no drift"
        words = f"{verdict}: {count(looked_at, 'tenant')} {verb} as the files say"
    return "; ".join([words, *_beside(drift, report)])


def _beside(drift: Drift, report: Report) -> Iterator[str]:
    """What else the verdict is made of."""
    if drift.unmanaged is not None:
        yield f"{len(drift.unmanaged):,} unmanaged" if drift.unmanaged else "none unmanaged"
    if drift.unread:
        yield f"{count(len(drift.unread), 'tenant')} could not be read"
    if report.errors:
        yield f"{count(report.errors, 'error')} in the files"


def drift_text(
    drift: Drift,
    report: Report,
    ways: Ways,
    *,
    now: datetime,
    colored: bool = False,
    everything: bool = False,
) -> str:
    """Write the verdict for people, then the tenants, those that a push would reset something of first.

    Args:
        drift: What was found.
        report: What the checks say of the files; its errors are shown.
        ways: What to do about it.
        now: For ages.
        colored: Whether colour repeats what the words say.
        everything: Whether to show every tenant, however many there are.
    """
    lines = [headline(drift, report)]
    ordered = sorted(drift.differing, key=lambda one: not _resets(one))
    shown = ordered if everything else ordered[:MOST_SHOWN]
    for one in shown:
        lines += tenant_lines(one, now, colored=colored)
    if len(shown) < len(ordered):
        lines.append(f"and {count(len(ordered) - len(shown), 'more tenant')}; -v shows each")
    lines += _unmanaged_lines(drift.unmanaged or (), now, everything=everything)
    lines += _unread_lines(drift.unread, everything=everything)
    lines += [f"not known: {words}" for words in unknowns(drift)]
    lines += _what_to_do(drift, ways)
    if errors := errors_of(report):
        lines += ["", findings_text(report, colored=colored, shown=errors).rstrip("\n")]
    return "\n".join(lines)


def errors_of(report: Report) -> list[Finding]:
    """What keeps the files from being pushed."""
    return [one for one in report.pressing if one.counts and one.severity is Severity.ERROR]


def _resets(one: TenantDrift) -> bool:
    return any(knob.change.op is Op.RESET for knob in one.knobs)


def _moved_words(one: TenantDrift) -> str:
    """Say which side of a tenant moved."""
    if one.moved is None:
        return "as the file says"
    return "never pushed" if one.never_written else SIDES[one.moved]


def tenant_lines(one: TenantDrift, now: datetime, *, colored: bool = False) -> list[str]:
    """Write of one tenant which side moved, then each knob that differs, who changed it and when."""
    name = click.style(visible(one.tenant), bold=True) if colored else visible(one.tenant)
    live = one.diff.live
    head = f"{name}  {_moved_words(one)}: {visible(one.diff.after)}"
    lines = [f"{head}, {live_words(live, now)}" if live and not one.never_written else head]
    if live and live.unknown:
        lines.append(unknown_words(live.unknown))
    by_path = {knob.change.field_path: knob for knob in one.knobs}
    ordered = resets_first(knob.change for knob in one.knobs)
    rows = [
        (f"  {visible(change.field_path)}", _values(by_path[change.field_path]), note)
        for change in ordered
        for note in [note_of(one, by_path[change.field_path], now)]
    ]
    return [*lines, *(table(rows).splitlines() if rows else [])]


def _values(knob: KnobDrift) -> str:
    """Both sides by name, the arrow from what stayed to what moved."""
    change = knob.change
    live, file = (
        f"{side} {value}" for side, value in zip(("live", "file"), sides_of(change), strict=True)
    )
    match knob.moved:
        case Moved.LIVE:
            return f"{file} -> {live}"
        case Moved.FILE:
            return f"{live} -> {file}"
        case _:
            return f"{live}, {file}"


def sides_of(change: Change) -> tuple[str, str]:
    """The values of live and of the file; where none is written, the default that is in force."""
    return (
        value_words(change.before, change.effective_before, unset=change.op is Op.SET),
        value_words(change.after, change.effective_after, unset=change.op is Op.RESET),
    )


def note_of(one: TenantDrift, knob: KnobDrift, now: datetime) -> str:
    """Who, when and why; what a push does; where the file's value comes from."""
    return "; ".join([*_story(knob, now), *_push(one, knob)])


def _push(one: TenantDrift, knob: KnobDrift) -> Iterator[str]:
    origin = origin_words(knob.change, one.diff.effective) if one.diff.effective else ""
    if knob.change.op is Op.RESET:
        yield "a push resets it"
        origin = "" if origin.startswith("not in the file") else origin
    if origin:
        yield origin


def _story(knob: KnobDrift, now: datetime) -> Iterator[str]:
    match knob.moved:
        case Moved.UNKNOWN:
            return
        case Moved.FILE:
            yield "not pushed yet"
            if knob.last:
                yield f"live {edit_words(replace(knob.last, reason=''), now)}"
        case Moved.BOTH:
            agreed = "the default" if knob.agreed is None else visible(spelled(knob.agreed))
            yield f"both were {agreed}"
            yield f"live {edit_words(knob.last, now)}"
            yield "the file's is not pushed yet"
        case Moved.LIVE:
            yield edit_words(knob.last, now)
    if knob.since and knob.since != knob.last:
        yield f"first moved {edit_words(knob.since, now)}"


def edit_words(edit: Edit | None, now: datetime) -> str:
    """Tell a change of live: `by anna, 2 h ago (r9): incident 4711`."""
    if edit is None or edit == UNTOLD:
        return "by somebody of whom no audit event tells"
    reason = (
        edit.reason
        if len(edit.reason) <= _LONGEST_REASON
        else f"{edit.reason[:_LONGEST_REASON]}..."
    )
    why = f": {visible(reason)}" if reason else ""
    return f"by {visible(edit.actor or 'somebody')}, {ago(edit.occurred_at, now)} ({visible(edit.revision)}){why}"


def _unmanaged_lines(
    unmanaged: Sequence[LiveSet], now: datetime, *, everything: bool
) -> Iterator[str]:
    shown = unmanaged if everything else unmanaged[:MOST_SHOWN]
    rows = [
        (
            f"unmanaged  {visible(live.tenant)}",
            f"{count(len(live.knobs) + len(live.unknown), 'knob')} set",
            live_words(live, now),
        )
        for live in shown
    ]
    yield from table(rows).splitlines() if rows else []
    if len(shown) < len(unmanaged):
        yield f"and {len(unmanaged) - len(shown):,} more unmanaged; -v shows each"


def _unread_lines(unread: Mapping[str, EngineError], *, everything: bool) -> Iterator[str]:
    shown = list(unread) if everything else list(unread)[:MOST_SHOWN]
    for tenant in shown:
        yield f"not read  {visible(tenant)}: {visible(unread[tenant].message)}"
    if len(shown) < len(unread):
        yield f"and {len(unread) - len(shown):,} more that could not be read; -v shows each"


def unknowns(drift: Drift) -> Iterator[str]:
    """Say what the engine cannot tell, each reason once."""
    reasons: dict[str, list[str]] = {}
    for one in drift.tenants:
        if one.untold:
            reasons.setdefault(one.untold, []).append(one.tenant)
    for reason, tenants in reasons.items():
        yield f"who changed {listed(tenants)}, and which side moved: {visible(reason)}"
    if drift.unlisted:
        yield f"which tenants are unmanaged: {visible(drift.unlisted)}"


def _what_to_do(drift: Drift, ways: Ways) -> Iterator[str]:
    edited = [one.tenant for one in drift.differing if one.moved is not Moved.FILE]
    if edited:
        newer = [one.tenant for one in drift.differing if one.moved is Moved.BOTH]
        loss = f", and lose what the file of {listed(newer)} changed since" if newer else ""
        yield f"adopt what is live{loss}{_pull(edited, ways)}"
    if drift.differing:
        what = "take it back" if edited else "push the files"
        yield f"{what}: {visible(ways.apply)}{visible(ways.place)}"
    if drift.unmanaged:
        yield f"give them a document{_pull([one.tenant for one in drift.unmanaged], ways)}"


def _pull(tenants: Sequence[str], ways: Ways) -> str:
    there = f", in {visible(ways.pull_from)}" if ways.pull_from else ""
    return f"{there}: {naming('knobctl pull', tenants)}{visible(ways.place)}"
