"""Drift as a comment on a pull request or in an issue."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from knobctl.changes.diff import Op
from knobctl.report.comment import Block, Section, comment
from knobctl.report.drift import SIDES, errors_of, headline, note_of, sides_of, unknowns
from knobctl.report.folding import NAMED_IN_REVIEW, listed
from knobctl.report.markdown_findings import findings_sections
from knobctl.report.markup import cell, code, prose, row, table_head
from knobctl.report.sets import revision_words

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

    from knobctl.changes.drift import Drift, TenantDrift
    from knobctl.changes.tracing import KnobDrift
    from knobctl.engine.interface import LiveSet
    from knobctl.report.formats import FindingsAnswer


def drift_comment(drift: Drift, answer: FindingsAnswer, *, now: datetime) -> str:
    """Write the verdict as a comment: a table of what differs, resets first, then what is unmanaged and wrong."""
    report = replace(answer.report, pressing=errors_of(answer.report), later=())
    head = [f"### {headline(drift, report)}"]
    head += [f"Not known: {prose(words)}" for words in unknowns(drift)]
    if drift.unread:
        head.append(f"Not read: {listed(list(drift.unread), most=NAMED_IN_REVIEW, spell=code)}")
    sections = [
        _differences_section(drift.differing, now),
        _unmanaged_section(drift.unmanaged or ()),
        *findings_sections(replace(answer, report=report)),
    ]
    return comment("drift", "\n\n".join(head), sections, full="knobctl drift --output json=FILE")


@dataclass(slots=True)
class _Same:
    """What is to be told alike of some tenants."""

    knob: KnobDrift
    note: str
    tenants: list[str] = field(default_factory=list)


def _differences_section(differing: Iterable[TenantDrift], now: datetime) -> Section:
    same: dict[tuple[object, ...], _Same] = {}
    total = 0
    for one in differing:
        for knob in one.knobs:
            total += 1
            note = note_of(one, knob, now)
            key = (knob.change.steps, knob.change.before, knob.change.after, knob.moved, note)
            same.setdefault(key, _Same(knob, note)).tenants.append(one.tenant)
    rows = sorted(same.values(), key=_order)
    head = table_head(("knob", "live", "file", "what happened", "tenants"))
    return Section(
        noun="difference",
        total=total,
        share=0.6,
        before=f"{head}\n",
        between="\n",
        blocks=(Block(_row(one), tells=len(one.tenants)) for one in rows),
    )


def _order(one: _Same) -> tuple[bool, str, int]:
    change = one.knob.change
    return change.op is not Op.RESET, change.field_path, -len(one.tenants)


def _row(one: _Same) -> str:
    change = one.knob.change
    live, file = sides_of(change)
    what = f"{SIDES[one.knob.moved]}: {one.note}" if one.note else SIDES[one.knob.moved]
    return row(
        [
            cell(change.field_path),
            cell(live),
            cell(file),
            prose(what, most=400).replace("|", "&#124;"),
            listed(one.tenants, most=NAMED_IN_REVIEW, spell=cell),
        ]
    )


def _unmanaged_section(unmanaged: Sequence[LiveSet]) -> Section:
    head = table_head(("unmanaged", "knobs set", "revision"))
    return Section(
        noun="unmanaged tenant",
        total=len(unmanaged),
        share=0.2,
        before=f"{head}\n",
        between="\n",
        blocks=(
            Block(row([cell(one.tenant), str(len(one.knobs)), cell(revision_words(one))]))
            for one in unmanaged
        ),
    )
