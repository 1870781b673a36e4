"""The plan of one tenant's push as it stands on the screen: rows, counts, sentences. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from knobctl.changes.diff import Op
from knobctl.changes.file_edits import wish_for
from knobctl.report.ages import ago
from knobctl.report.changes import live_words, value_words
from knobctl.report.push_commands import push_commands, undo_command
from knobctl.text import count, spelled
from knobctl.tui.draft import Begun, Cause, Draft, Due, Understood, due, understand

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from knobctl.changes.file_edits import Wish
    from knobctl.changes.single import Subject
    from knobctl.changes.tenant_proposal import TenantProposal
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.tui.ui import Part, Role

SIGNS: Mapping[Cause, tuple[str, Role]] = {
    Cause.EDIT: ("~", "edited"),
    Cause.RESET: ("-", "error"),
    Cause.DRIFT: ("!", "drift"),
}
REPLACES = "The engine REPLACES the whole set: what is not sent goes to its default."
_MOST = (32, 16, 16)
"""So many columns the knob, its value now and its value after the push take at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """A draft laid over what the files and the engine hold now."""

    draft: Draft
    understood: Understood
    due: tuple[Due, ...]
    now: Begun


def begun_of(subject: Subject, live: LiveSet) -> Begun:
    """What the files and the engine hold."""
    document = subject.document
    repo = dict(subject.repository.effective(document).desired) if document else None
    return Begun(repo=repo, live=live.knobs, revision=live.revision)


def drawn(draft: Draft, now: Begun, catalogue: Catalogue) -> Drawn:
    """Lay the edits of a draft over what is there now: somebody may have written since it was begun."""
    laid = draft.on(now)
    understood = understand(laid, catalogue)
    return Drawn(
        draft=laid,
        understood=understood,
        due=tuple(due(laid, understood, now, catalogue)),
        now=now,
    )


def counts(seen: Drawn, catalogue: Catalogue) -> str:
    """Count what changes, by its cause: `2 edits, 1 reset, 1 drift, 20 unchanged`."""
    number = {cause: sum(one.cause is cause for one in seen.due) for cause in Cause}
    words = [count(number[Cause.EDIT], "edit")]
    words += [count(number[Cause.RESET], "reset by omission")] if number[Cause.RESET] else []
    words += [f"{number[Cause.DRIFT]:,} drift"] if number[Cause.DRIFT] else []
    return ", ".join([*words, f"{len(list(catalogue)) - len(seen.due):,} unchanged"]).replace(
        "reset by omissions", "resets by omission"
    )


def title(found: TenantProposal, now: datetime) -> list[Part]:
    """What is pushed where, and how old what is shown is."""
    wanted = found.wanted
    read = ago(wanted.read_at.isoformat(), now)
    return [
        ("PUSH PLAN  ", "strong"),
        (wanted.live.tenant, "strong"),
        f"  ->  {found.proposal.plan.engine}   read {read}",
    ]


def guarded(found: TenantProposal, now: datetime) -> str:
    """What the plan was made against, and how the engine keeps anybody else from being overwritten."""
    live = found.wanted.live
    how = (
        "the engine refuses if anybody writes first"
        if live.revision is not None
        else "this engine has no revisions: it is read again just before the write"
    )
    return f"{live_words(live, now)}; {how}"


class Table(NamedTuple):
    """The rows of what changes, with the widths of their columns."""

    rows: tuple[tuple[str, str, str, str], ...]
    """The knob, its value now, its value after the push, and why."""
    widths: tuple[int, int, int]

    @property
    def head(self) -> list[Part]:
        """The heads of the columns."""
        return [(f"{'':6}{self._laid(('knob', 'engine now', 'after push'))}why", "muted")]

    def row(self, number: int, sign: Part, role: Role) -> list[Part]:
        """One row, with its sign before it."""
        *cells, why = self.rows[number]
        return [sign, f" {self._laid(cells)}", (why, role)]

    def _laid(self, cells: Sequence[str]) -> str:
        return "".join(
            f"{text if len(text) <= width else text[: width - 1] + '…':{width}}  "
            for text, width in zip(cells, self.widths, strict=True)
        )


def table(seen: Drawn, found: TenantProposal, now: datetime) -> Table:
    """Lay out what changes."""
    rows = tuple(_cells(one, found, now) for one in seen.due)
    heads = ("knob", "engine now", "after push")
    widths = [
        min(most, max([len(head), *(len(row[column]) for row in rows)]))
        for column, (head, most) in enumerate(zip(heads, _MOST, strict=True))
    ]
    return Table(rows, (widths[0], widths[1], widths[2]))


def _cells(one: Due, found: TenantProposal, now: datetime) -> tuple[str, str, str, str]:
    change = one.change
    before = value_words(change.before, change.effective_before, unset=change.op is Op.SET)
    after = value_words(change.after, change.effective_after, unset=change.op is Op.RESET)
    return change.field_path, before, after, _why(one, found, now)


def _why(one: Due, found: TenantProposal, now: datetime) -> str:
    match one.cause:
        case Cause.EDIT:
            return "your edit"
        case Cause.RESET:
            return "RESET: in no file" if found.wanted.subject.document else "RESET"
        case Cause.DRIFT:
            live = found.wanted.live
            when = f", {ago(live.updated_at, now)}" if live.updated_at else ""
            return f"DRIFT: {live.updated_by or 'somebody'}{when}"


def unchanged(seen: Drawn, catalogue: Catalogue) -> list[list[Part]]:
    """The knobs that stay, a line each."""
    changing = {one.change.knob for one in seen.due}
    return [
        [
            (
                f"      {knob.name:{_MOST[0]}}  {_held(seen.now.live or {}, knob.name, knob.default)}",
                "muted",
            )
        ]
        for knob in catalogue
        if knob.name not in changing
    ]


def _held(live: Mapping[str, KnobValue], name: str, default: KnobValue) -> str:
    return spelled(live[name]) if name in live else f"default {spelled(default)}"


def said(found: TenantProposal) -> str:
    """Why it is pushed, and for which ticket."""
    wanted = found.wanted
    ticket = f"  ticket {wanted.ticket}" if wanted.ticket else ""
    return f"{wanted.reason or 'none: the session is not armed'}{ticket}"


def file_words(found: TenantProposal, *, wanted: bool) -> str:
    """Say what becomes of the tenant's file.

    Args:
        found: The push.
        wanted: Whether its file is to be edited where it has one.
    """
    document = found.wanted.subject.document
    if document is None:
        return "no file: the tenant has no document here"
    if not wanted:
        return f"{document.source} is left alone: GitOps may undo the push (f edits it too)"
    names = ", ".join(edit.name for edit in found.proposal.files)
    return (
        f"{names} is edited too (f leaves it alone)"
        if names
        else f"{document.source} says so already"
    )


def wish_of(found: TenantProposal) -> Wish | None:
    """What the tenant's file shall say; None where it is left alone."""
    subject = found.wanted.subject
    if not (found.wanted.with_file and subject.document):
        return None
    effective = subject.repository.effective(subject.document)
    return wish_for(effective, found.wanted.desired, literals=found.wanted.literals)


def twin(found: TenantProposal, allowances: Sequence[str], place: str) -> str:
    """The command lines that do the same."""
    return push_commands(
        found.wanted.live.tenant,
        found.tenant.changes,
        literals=found.wanted.literals,
        wish=wish_of(found),
        reason=found.wanted.reason,
        ticket=found.wanted.ticket,
        allowances=allowances,
        place=place,
        evidence=found.wanted.evidence,
    )


def undo(found: TenantProposal, place: str, run: str | None = None) -> str:
    """The command that takes it back."""
    live = found.wanted.live
    return undo_command(live.tenant, run=run, has_revisions=live.revision is not None, place=place)
