"""What a simulation came to, as Markdown tables: for a comment or a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.report.markup import prose, row, table_head
from knobctl.report.simulate import (
    RANKER_HEADS,
    change_words,
    heading_lines,
    measure_rows,
    ranker_rows,
    rows,
    slice_heads,
    slice_rows,
    tenant_rows,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from knobctl.evidence.simulation import Summary

MOST_TENANTS = 100
"""So many tenants have a row, the worst ones; a comment has its limits."""


def simulate_markdown(summaries: Sequence[Summary], *, made_at: datetime) -> str:
    """Tell people who read a page or a comment.

    Args:
        summaries: As for text.
        made_at: When it was measured.
    """
    whole, *tenants = summaries
    first, *others = heading_lines(whole, tenants, made_at)
    parts = [f"**{prose(first)}**", "\n".join(f"- {prose(line)}" for line in others)]
    parts += _tables(whole, tenants)
    parts.append("\n".join(f"- {prose(caveat)}" for caveat in whole.caveats))
    return "\n\n".join(part for part in parts if part) + "\n"


def _tables(whole: Summary, tenants: Sequence[Summary]) -> Iterator[str]:
    yield _table(["", "Before", "After", ""], rows(whole))
    yield prose(change_words(whole.simulated))
    if whole.simulated.by_rankers:
        yield _table([*map(_titled, RANKER_HEADS)], ranker_rows(whole.simulated))
    if whole.measures:
        yield _table(["Measure", "Before", "After", "Difference", "p"], measure_rows(whole))
    if whole.slices:
        yield _table([_titled(head) for head in slice_heads(whole)], slice_rows(whole))
    if tenants:
        cells = [*tenant_rows(tenants)]
        yield _table(
            ["Tenant", "Change", "Questions", "Lost", "Nothing assembled"], cells[:MOST_TENANTS]
        )
        if len(cells) > MOST_TENANTS:
            yield f"{len(cells) - MOST_TENANTS:,} more tenants lose less."


def _titled(head: str) -> str:
    return head if "@" in head else head[:1].upper() + head[1:]


def _table(heads: Sequence[str], cells: Iterable[Sequence[str]]) -> str:
    lines = [row([prose(cell.replace("|", "\\x7c")) for cell in one]) for one in cells]
    return "\n".join([table_head([prose(head) for head in heads]), *lines])
