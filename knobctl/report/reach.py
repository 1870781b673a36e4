"""The reach of a floor for people and machines: a table, and what an operator does not expect."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import ExitCode
from knobctl.fusion import Verdict
from knobctl.fusion.doubles import float_outcomes
from knobctl.fusion.formula import Scale, Weighs
from knobctl.fusion.numbers import number_text, rank_text
from knobctl.report.reach_words import named, notes
from knobctl.text import number_word, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from fractions import Fraction

    from knobctl.fusion import Reach, Row, Setup
    from knobctl.fusion.row import Names
    from knobctl.report.floor_view import FloorView

WIDTH: Final = 80


def reach_text(reached: Reach, *, title: str = "") -> str:
    """Write the screen: the setup, the table, the notes."""
    head = f"{title}{setup_words(reached.setup)}"
    return "\n\n".join([wrapped(head, indent="  "), table(reached), paragraphs(notes(reached))])


def setup_words(setup: Setup) -> str:
    """Write a setup in one line: floor, k, weights, depths in the order of the rankers."""
    weights = " ".join(
        f"{visible(name)} {number_text(weight)}" for name, weight in setup.weights.items()
    )
    depths = " ".join(str(setup.depths.get(name, "?")) for name in setup.weights)
    return f"floor {number_text(setup.floor)}, {rank_constant(setup)}, weights {weights}, depths {depths}"


def rank_constant(setup: Setup) -> str:
    """Write the rank constant, and what an engine does that counts or sums in another way."""
    formula = setup.formula
    says = [
        "ranks from 0" if formula.first_rank == 0 else "",
        "weights divide ranks" if formula.weighs is Weighs.RANK else "",
        "a raw sum" if formula.scale is Scale.RAW else "",
    ]
    told = ", ".join(filter(None, says))
    return f"k {setup.k} ({told})" if told else f"k {setup.k}"


def table(reached: Reach, live_sets: Sequence[Names] | None = None) -> str:
    """Write the rows of some sets of live rankers, of all that differ if none are given.

    What is merged under one label is the same in every cell. On a raw sum nothing differs from the
    rows of all enabled rankers.
    """
    wanted = reached.live_sets if live_sets is None else live_sets
    if live_sets is None and reached.setup.formula.scale is Scale.RAW:
        wanted = wanted[:1]
    lines = [("live rankers", "found by", "ceiling", "passes down to rank")]
    several = [live for live in wanted if len(live) > 1]
    single = [live for live in wanted if len(live) == 1]
    for live in several:
        lines += _of_live(" ".join(live), merged(reached, live), reached)
    rows = [reached.row(live, live) for live in single]
    if len(rows) > 1 and len({_cells(row, reached) for row in rows}) == 1:
        label = (
            "any one of them"
            if len(rows) == len(reached.enabled)
            else " or ".join(row.live[0] for row in rows)
        )
        lines += _of_live(label, [("that one", rows[0])], reached)
    else:
        for row in rows:
            lines += _of_live(row.live[0], [(named(row.live, row.live), row)], reached)
    return aligned(lines)


def merged(reached: Reach, live: Names) -> list[tuple[str, Row]]:
    """Label the rows of one live set; those found by equally many rankers are one where they are alike."""
    rows = [row for row in reached.rows if row.live == live]
    labelled: list[tuple[str, Row]] = []
    for size in range(1, len(live) + 1):
        alike = [row for row in rows if len(row.found_by) == size]
        cells = {_cells(row, reached) for row in alike}
        if 1 < size < len(live) and len(cells) == 1 and len(alike) > 1:
            labelled.append((f"any {number_word(size)}, same rank", alike[0]))
        else:
            labelled += [(named(row.found_by, live), row) for row in alike]
    return labelled


def _of_live(
    label: str, rows: Iterable[tuple[str, Row]], reached: Reach
) -> list[tuple[str, str, str, str]]:
    labels = (visible(label), *[""] * 99)
    return [
        (label, visible(found_by), *_cells(row, reached))
        for label, (found_by, row) in zip(labels, rows, strict=False)
    ]


def _cells(row: Row, reached: Reach) -> tuple[str, str]:
    return reached.told(row.ceiling), passes(row)


def passes(row: Row) -> str:
    """Write down to which rank hits pass: `7 of 50`, `143, all`, `never`, `1 on the edge`."""
    match row.verdict:
        case Verdict.ON_EDGE:
            return f"{rank_text(max(row.deepest_rank, 1)):>3} on the edge"
        case Verdict.UNREACHABLE:
            return "  never"
        case Verdict.VACUOUS:
            return f"{rank_text(row.deepest_rank):>3}, all"
        case Verdict.SELECTIVE if row.depth is None or row.within_depth:
            return f"{rank_text(row.deepest_rank):>3}"
        case Verdict.SELECTIVE:
            return f"{rank_text(row.deepest_rank):>3} of {row.depth}"


def aligned(lines: Sequence[Sequence[str]]) -> str:
    """Write cells in columns, two spaces between."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join(
        "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def wrapped(text: str, indent: str = "") -> str:
    """Break a line at 80 columns, without tearing what can be copied."""
    return textwrap.fill(
        text, WIDTH, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    )


def paragraphs(texts: Iterable[str]) -> str:
    """Write sentences, each beginning a line."""
    return "\n".join(wrapped(text) for text in texts)


def reach_json(
    reached: Reach, *, tenant: str | None = None, view: FloorView | None = None
) -> dict[str, Any]:
    """Everything as data; fractions as text, with the nearest double beside them.

    Args:
        reached: What is told.
        tenant: Whose values they are.
        view: The same floor beside what was recorded.
    """
    from knobctl.report.evidence_json import evidence_json

    recorded = view and view.measured
    return {
        "version": 1,
        "command": "reach",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "tenant": tenant,
        **reach_facts(reached),
        "notes": notes(reached),
        **({"evidence": evidence_json(recorded, reached.setup.floor)} if recorded else {}),
    }


def reach_facts(reached: Reach) -> dict[str, Any]:
    """The part of the data that `reach` and `explain` share."""
    setup = reached.setup
    return {
        "floor": plain(setup.floor),
        "floor_exact": str(setup.floor),
        "k": setup.k,
        "scale": setup.formula.scale.value,
        "first_rank": setup.formula.first_rank,
        "weighs": setup.formula.weighs.value,
        "weights": {name: plain(weight) for name, weight in setup.weights.items()},
        "depths": {name: setup.depths.get(name) for name in setup.weights},
        "never_empty": reached.never_empty,
        "best_row_scores_at_least": str(reached.least_best_score),
        "removes_nothing": reached.removes_nothing(reached.enabled),
        "rankers": [_ranker_json(reached, name) for name in reached.enabled],
        "live_sets": [
            {
                "live": list(live),
                "can_be_empty": reached.can_be_empty(live),
                "removes_nothing": reached.removes_nothing(live),
                "best_row_scores_at_least": str(reached.best(live)),
            }
            for live in reached.live_sets
        ],
        "rows": [_row_json(row, setup) for row in reached.rows],
    }


def _ranker_json(reached: Reach, name: str) -> dict[str, Any]:
    row = reached.row(reached.enabled, (name,))
    keeps_all = row.lowest if row.depth else None
    return {
        "ranker": name,
        "share": str(row.ceiling),
        "depth": row.depth,
        "passing_alone": None if row.depth is None else min(row.deepest_rank, row.depth),
        "dropped_alone": None if row.depth is None else max(0, row.depth - row.deepest_rank),
        "keeps_all_floor": None if keeps_all is None else str(keeps_all),
        "keeps_all_floor_value": None if keeps_all is None else float(keeps_all),
    }


def _row_json(row: Row, setup: Setup) -> dict[str, Any]:
    answer: dict[str, Any] = {
        "live": list(row.live),
        "found_by": list(row.found_by),
        "ceiling": str(row.ceiling),
        "ceiling_value": float(row.ceiling),
        "lowest": str(row.lowest) if row.depth else None,
        "lowest_value": float(row.lowest) if row.depth else None,
        "deepest_rank": row.deepest_rank,
        "depth": row.depth,
        "verdict": row.verdict.value,
        "edge": None,
    }
    if row.on_edge:
        score, by_order = float_outcomes(row, setup)
        answer["edge"] = {
            "score": score,
            "passes": score >= float(setup.floor),
            "orders": len(by_order),
            "orders_passing": sum(by_order.values()),
        }
    return answer


def plain(value: Fraction) -> int | float:
    """A fraction as JSON has it: an int where it is whole, else the nearest double."""
    return value.numerator if value.denominator == 1 else float(value)
