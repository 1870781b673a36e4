"""Sentences about one tenant's draft: where its sets come from, what stands in the way, the commands that do the same. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from knobctl.text import spelled
from knobctl.tui.draft import UNSET, As
from knobctl.tui.knob_rows import is_locked

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.changes.diff import Change
    from knobctl.knobs import Knob
    from knobctl.tui.detail import Line
    from knobctl.tui.draft import Entry
    from knobctl.tui.judging import Judgement, TenantJudge

_NAMED: Final = 3
_MOST: Final = 240
"""So many characters of what is wrong with a document: the rest stands in its file."""


def state_lines(
    tenant: str,
    judge: TenantJudge | None,
    judgement: Judgement | None,
    *,
    live: str,
    unread: str,
    unheard: str,
) -> Iterator[Line]:
    """Say where the sets come from, and then what stands in the way.

    Args:
        tenant: Whose they are.
        judge: The tenant; None while it is not read.
        judgement: What was found of the draft, as soon as it is known.
        live: The engine's set in words; empty while it is not known.
        unread: Why the tenant, or its draft, cannot be read.
        unheard: Why the engine could not be asked.
    """
    if judge is None:
        yield ((f" x {unread}", "error") if unread else (f" reading {tenant} ...", "muted"),)
        return
    document = judge.subject.document
    file = document.source if document else "no document"
    yield ((f" {file}   {live or 'live: not known'}", "muted"),)
    for sign, text in _obstacles(judge, judgement, unread, unheard):
        yield ((f" {sign} {text}", "error" if sign == "x" else "warn"),)


def _obstacles(
    judge: TenantJudge, judgement: Judgement | None, unread: str, unheard: str
) -> Iterator[tuple[str, str]]:
    if unread:
        yield "x", unread
    for trouble in judge.troubles[:2]:
        yield "x", f"it cannot be edited, o opens the file: {trouble.message[:_MOST]}"
    if unheard and not judge.troubles:
        yield "!", f"{unheard}; the draft is kept, R asks again"
    if judge.subject.document is None and judge.unreadable:
        yield (
            "!",
            f"{judge.unreadable[0]} cannot be read, so the document may be in it: knobctl validate",
        )
    if judge.live and judge.live.unknown:
        names = ", ".join(judge.live.unknown)
        yield "!", f"the engine holds what the schema does not know, a push would lose it: {names}"
    if judgement:
        yield from _moves(judgement)
        if judgement.refused:
            yield "!", judgement.refused


def _moves(judgement: Judgement) -> Iterator[tuple[str, str]]:
    """What moved under a draft, if one is open."""
    moved = judgement.moved
    if judgement.draft.is_empty:
        return
    for name in judgement.understood.strangers[:_NAMED]:
        yield "!", f"the schema has no {name} any more; b takes its edit out of the draft"
    if moved.base:
        what = _some(moved.repo) or "its document"
        yield (
            "!",
            f"{what} moved since the draft was begun; b puts the edits on top of what is there now",
        )
    if moved.live:
        what = _some(moved.live)
        yield "!", f"the engine's set moved since the draft was begun: {what}; b takes note of it"


def _some(changes: Sequence[Change]) -> str:
    """The first of some changes by name, the others by number."""
    named = [change.field_path for change in changes[:_NAMED]]
    more = [f"{len(changes) - _NAMED} more"] if len(changes) > _NAMED else []
    return ", ".join([*named, *more])


def write_refusal(judge: TenantJudge, judgement: Judgement) -> str | None:
    """Why a draft cannot be written into the tenant's file; None where it can."""
    tenant = judge.subject.tenant
    if judge.subject.document is None:
        return f"{tenant} has no document; one is made by: knobctl pull {shlex.quote(tenant)}"
    if judgement.obstacle:
        return f"it cannot be written: {judgement.obstacle}"
    if judgement.refused:
        return judgement.refused
    return None if judgement.edit else "the file says what the draft says; nothing to write"


def lock_words(knob: Knob, clearance: int | None) -> str:
    """Why the caller may not edit a knob; empty where nothing is known against it."""
    if not is_locked(knob, clearance):
        return ""
    return f"editing {knob.name} needs clearance L{knob.edit_clearance}, you have L{clearance}"


def twin_of(tenant: str, judgement: Judgement | None, *, has_file: bool, typed: str) -> str:
    """The command line that makes a draft's edits; the one that shows the tenant's set where there are none.

    Args:
        tenant: Whose draft.
        judgement: What was found of it.
        has_file: Whether the tenant has a document: a push edits it too.
        typed: The options that another command needs to come to the same engine.
    """
    name = shlex.quote(tenant)
    place = " --also-file" if has_file else ""
    said: dict[str, Entry] = {}
    if judgement:
        said = {knob: judgement.draft.entry(knob) for knob in judgement.understood.edited}
    written = _words(f"{knob}={entry}" for knob, entry in said.items() if not isinstance(entry, As))
    unset = _words(knob for knob, entry in said.items() if entry is UNSET)
    commands = [f"knobctl set {name} {written}{place}{typed}"] if written else []
    commands += [f"knobctl unset {name} {unset}{place}{typed}"] if unset else []
    return " && ".join(commands) or f"knobctl get {name}{typed}"


def _words(parts: Iterable[str]) -> str:
    return " ".join(map(shlex.quote, parts))


def entry_words(entry: Entry) -> str:
    """What a draft says of a knob, for people."""
    if isinstance(entry, As):
        return "unset" if entry is UNSET else "as begun"
    return entry


def zero_hint(knob: Knob) -> str:
    """What a zero would mean, where a step stops before it."""
    if not knob.zero_surprises:
        return ""
    return (
        f"; 0 would mean the platform default {spelled(knob.default)}, practically off: {knob.off}"
    )
