"""What floors would have refused, as Markdown tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.evidence.sweep import QUANTILES
from knobctl.report.markup import prose
from knobctl.report.sweep import (
    difference_text,
    floor_text,
    heading_lines,
    interval,
    judged_columns,
    percent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.evidence.sweeping import Compared, Swept


def sweep_markdown(swept: Swept, *, compare: Sequence[Compared] = ()) -> str:
    """Tell people who read a page or a comment."""
    parts = [
        "\n".join(f"- {prose(line)}" for line in heading_lines(swept)),
        table(
            ["", "n", *(f"p{q}" for q in QUANTILES)],
            (
                [group, f"{number:,}", *(f"{found[f'p{q}']:.3f}" for q in QUANTILES)]
                for group, (number, found) in swept.quantiles.items()
            ),
        ),
        "### Refusal curve",
        table(
            ["Floor", "Refused", "95% interval", ""],
            (
                [
                    floor_text(one.floor),
                    percent(one.refused),
                    interval(one.refused),
                    _here(swept, one.floor),
                ]
                for one in swept.curve
            ),
        ),
    ]
    if swept.judged:
        parts += ["### Judged sweep", table([*_heads(swept)], _judged_rows(swept))]
    if compare:
        parts += [
            "### Compared",
            table(["Floor", "Here", "There", "Difference"], _compared(compare)),
        ]
    parts.append("\n".join(f"- {prose(caveat)}" for caveat in swept.caveats))
    return "\n\n".join(parts) + "\n"


def _heads(swept: Swept) -> Iterator[str]:
    yield "Floor"
    for _, title, _ in judged_columns(swept):
        yield title[:1].upper() + title[1:].replace("->", "&rarr;")
    yield ""


def _judged_rows(swept: Swept) -> Iterator[list[str]]:
    for one in swept.judged:
        rates = [percent(getattr(one, name), none) for name, _, none in judged_columns(swept)]
        yield [floor_text(one.floor), *rates, _here(swept, one.floor)]


def _here(swept: Swept, floor: float) -> str:
    return "in force" if swept.marks(floor) else ""


def _compared(compare: Sequence[Compared]) -> Iterator[list[str]]:
    for one in compare:
        here, there = map(percent, one.refused)
        change = difference_text(one)
        yield [floor_text(one.floor), here, there, change]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table of cells that are Markdown already."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
