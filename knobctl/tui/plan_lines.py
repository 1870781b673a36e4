"""A plan made of a draft, and the lines in which the screen shows it."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, NamedTuple

from knobctl.changes.tenant_proposal import Wanted
from knobctl.report.carried_evidence import evidence_words
from knobctl.text import count
from knobctl.tui import plan_view
from knobctl.tui.concerns import Concern, Kind, as_said, concerns_of
from knobctl.tui.ui import line, lines, shown

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator
    from datetime import datetime

    from textual.content import Content

    from knobctl.changes.tenant_proposal import TenantProposal
    from knobctl.knobs import Catalogue
    from knobctl.tui.arming import Arming
    from knobctl.tui.draft import Draft, Due
    from knobctl.tui.plan_view import Drawn
    from knobctl.tui.ui import Role
    from knobctl.tui.workplace import Workplace

_LEAST = 20
"""Columns in which a text is wrapped at least."""
_INDENT = 9
"""Columns before a text: the sign of the cursor, the box, the sign; and one for the bar."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Planned:
    """What a push of a draft would do, as things stood when it was read."""

    found: TenantProposal
    seen: Drawn
    concerns: tuple[Concern, ...]
    catalogue: Catalogue


def plan_of(
    workplace: Workplace,
    draft: Draft,
    arming: Arming,
    *,
    with_file: bool,
    evidence: tuple[str, ...] = (),
) -> Planned:
    """Read what the files and the engine hold now, lay the draft over it, and judge that.

    Args:
        workplace: Who is asked.
        draft: What the tenant's set shall become.
        arming: Says why, and the ticket.
        with_file: Whether the tenant's file is edited too.
        evidence: Files of evidence that are attached.
    """
    subject, live = workplace.subject(draft.tenant), workplace.read(draft.tenant)
    read_at, catalogue = workplace.now(), subject.repository.catalogue
    seen = plan_view.drawn(draft, plan_view.begun_of(subject, live), catalogue)
    wanted = Wanted(
        subject=subject,
        live=live,
        read_at=read_at,
        desired=seen.understood.desired,
        literals=seen.draft.literals,
        with_file=with_file,
        reason=arming.reason,
        ticket=arming.ticket,
        evidence=evidence,
    )
    found = workplace.propose(wanted)
    concerns = concerns_of(found, seen.due, seen.understood)
    return Planned(found=found, seen=seen, concerns=concerns, catalogue=catalogue)


class Line(NamedTuple):
    """One line of the list, and what it is about."""

    text: Content
    due: Due | None = None
    concern: Concern | None = None


def plan_lines(
    planned: Planned,
    acknowledged: Collection[Concern],
    now: datetime,
    *,
    width: int,
    unfolded: bool,
) -> list[Line]:
    """What changes, each with what is to be acknowledged of it; what stays; what else there is to acknowledge.

    Args:
        planned: The plan.
        acknowledged: What was looked at by now.
        now: The time, for ages.
        width: Columns that there are.
        unfolded: Whether what stays is shown knob by knob.
    """
    others = (one for one in planned.concerns if one.knob is None)
    return [
        *_changing(planned, acknowledged, now),
        *_evidence(planned, width),
        *_staying(planned, unfolded=unfolded),
        *(_concern(one, acknowledged, width) for one in others),
    ]


def _changing(planned: Planned, acknowledged: Collection[Concern], now: datetime) -> Iterator[Line]:
    table = plan_view.table(planned.seen, planned.found, now)
    known = {one.knob: one for one in planned.concerns if one.knob}
    yield Line(line(*table.head))
    for number, one in enumerate(planned.seen.due):
        concern = known.get(one.change.knob)
        box, role = _box(concern, acknowledged) if concern else ("   ", "")
        sign, meaning = plan_view.SIGNS[one.cause]
        text = line((f"{box} ", role), *table.row(number, (sign, meaning), meaning))
        yield Line(text, due=one, concern=concern)


def _evidence(planned: Planned, width: int) -> Iterator[Line]:
    """What the evidence that the change carries says, as the commands say it."""
    for one in evidence_words(planned.found.evidence):
        first, *rest = _wrapped(f"evidence  {one}", width)
        yield Line(lines(line(f"    {first}"), *(line(f"              {each}") for each in rest)))


def _staying(planned: Planned, *, unfolded: bool) -> Iterator[Line]:
    staying = plan_view.unchanged(planned.seen, planned.catalogue)
    how = "v folds them" if unfolded else "v shows them"
    yield Line(line((f"    = {count(len(staying), 'field')} unchanged   {how}", "muted")))
    if unfolded:
        yield from (Line(line(*each)) for each in staying)


def _concern(one: Concern, acknowledged: Collection[Concern], width: int) -> Line:
    box, role = _box(one, acknowledged)
    first, *rest = _wrapped(f"{one.name}  {one.message}", width)
    more = [each for text in one.more for each in _wrapped(text, width)]
    return Line(
        lines(
            line((f"{box} {one.sign} {first[: len(one.name)]}", role), first[len(one.name) :]),
            *(line(f"        {each}") for each in rest),
            *(line((f"        {each}", "muted")) for each in more),
        ),
        concern=one,
    )


def _box(one: Concern, acknowledged: Collection[Concern]) -> tuple[str, Role]:
    if one.kind is Kind.STOP:
        return "   ", "error"
    if one in acknowledged:
        return "[x]", "muted"
    return "[ ]", "drift" if one.kind is Kind.DRIFT else "warn"


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(shown(text), max(_LEAST, width - _INDENT)) or [""]


def about(planned: Planned, now: datetime) -> Content:
    """What is pushed where, what it was made against, and that it replaces all."""
    return lines(
        line(*plan_view.title(planned.found, now)),
        line((plan_view.guarded(planned.found, now), "muted")),
        line((plan_view.REPLACES, "strong")),
    )


def beside(
    planned: Planned, acknowledged: Collection[Concern], place: str, *, with_file: bool
) -> Content:
    """What else there is to know: the counts, why, the file, how to take it back, the command that does the same."""
    found = planned.found
    return lines(
        line(("counts ", "muted"), plan_view.counts(planned.seen, planned.catalogue)),
        line(("reason ", "muted"), plan_view.said(found)),
        line(("file   ", "muted"), plan_view.file_words(found, wanted=with_file)),
        line(("undo   ", "muted"), plan_view.undo(found, place)),
        line(("same   ", "muted"), twin(planned, acknowledged, place)),
    )


def twin(planned: Planned, acknowledged: Collection[Concern], place: str) -> str:
    """The command lines that do the same."""
    return plan_view.twin(planned.found, as_said(acknowledged).allowances, place)
