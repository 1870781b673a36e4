"""Changes in a comment: a table of what changes for whom, resets first; and what a floor then reaches."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.changes.diff import Op
from knobctl.changes.paths import PathStyle, spell
from knobctl.report.changes import origin_words
from knobctl.report.comment import Block, Section
from knobctl.report.folding import NAMED_IN_REVIEW, listed
from knobctl.report.markup import cell, prose, row, table_head
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.changes.diff import Change
    from knobctl.documents.model import Effective
    from knobctl.knobs import KnobValue

_HEAD: Final = ("", "knob", "from", "to", "tenants", "")


@dataclass(slots=True)
class _Same:
    """One change of some tenants: the same knob, from and to the same."""

    change: Change
    note: str
    tenants: list[str] = field(default_factory=list)


def changes_section(
    changing: Iterable[tuple[str, Sequence[Change], Effective | None]],
    *,
    title: str = "What changes in force",
    share: float,
    style: PathStyle = PathStyle.FIELD,
) -> Section:
    """The table of changes: resets first, then by knob; what is the same for several tenants is a row.

    Args:
        changing: By tenant, what changes and where the new values come from.
        title: What stands over it.
        share: The part of the comment that it may take in any case.
        style: How paths are spelled.
    """
    same: dict[tuple[object, ...], _Same] = {}
    total = 0
    for tenant, changes, effective in changing:
        for change in changes:
            total += 1
            note = origin_words(change, effective) if effective else ""
            key = (change.op, change.steps, change.before, change.after, note)
            same.setdefault(key, _Same(change, note)).tenants.append(tenant)
    rows = sorted(same.values(), key=_order)
    return Section(
        noun="change",
        total=total,
        share=share,
        before=f"**{title}**\n\n{table_head(_HEAD)}\n",
        between="\n",
        blocks=_rows(rows, style),
    )


def _order(one: _Same) -> tuple[bool, str, int]:
    return one.change.op is not Op.RESET, one.change.field_path, -len(one.tenants)


def _rows(rows: Iterable[_Same], style: PathStyle) -> Iterator[Block]:
    for one in rows:
        change = one.change
        cells = [
            f"**{change.op.value}**" if change.op is Op.RESET else change.op.value,
            cell(spell(change.steps, style)),
            _value(change.before, change.effective_before, unset=change.op is Op.SET),
            _value(change.after, change.effective_after, unset=change.op is Op.RESET),
            listed(one.tenants, most=NAMED_IN_REVIEW, spell=cell),
            prose(one.note, most=300).replace("|", "&#124;"),
        ]
        yield Block(row(cells), tells=len(one.tenants))


def _value(wire: KnobValue | None, effective: KnobValue, *, unset: bool) -> str:
    """The value; where none is written, the default that is in force."""
    if unset or wire is None:
        return f"default {cell(spelled(effective))}"
    return cell(spelled(wire))
