"""A diagnosis for people and machines: the verdict, what happened, the picture, what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.diagnosis.case import ceilings
from knobctl.diagnosis.counting import stages
from knobctl.errors import ExitCode
from knobctl.fusion.numbers import fraction_text, number_text
from knobctl.report.explain import MARGIN, topical
from knobctl.report.histogram import (
    BANDS,
    CEILING,
    FLOOR,
    Mark,
    bands_of,
    histogram,
)
from knobctl.report.plot_parts import Ink
from knobctl.report.reach import wrapped
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.diagnosis import Action, Comparison, Diagnosis, Remark
    from knobctl.diagnosis.answer import Answer
    from knobctl.diagnosis.counting import WhatIf

_SHOWN_CEILINGS: Final = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """How a terminal wants its pictures."""

    ink: Ink = Ink.FINE
    colored: bool = False


def diagnoses_text(
    diagnoses: Sequence[Diagnosis],
    comparison: Comparison | None,
    *,
    drawing: Drawing,
    place: str = "",
) -> str:
    """Write one diagnosis, or two with what they have to do with each other before them.

    Args:
        diagnoses: One or two.
        comparison: Where there are two.
        drawing: How pictures are drawn.
        place: The options that make a command find the same engine, as text to append.
    """
    if comparison is None:
        return "\n".join(diagnosis_text(one, drawing=drawing, place=place) for one in diagnoses)
    remarks = [(remark.topic, remark.text) for remark in comparison.remarks]
    blocks = ["\n".join(filter(None, [_headline(comparison.headline, drawing), topical(remarks)]))]
    for number, one in enumerate(diagnoses, 1):
        title = f"{number}. {visible(one.case.answer.source)}"
        blocks.append(f"{title}\n{diagnosis_text(one, drawing=drawing, place=place)}")
    return "\n\n".join(blocks)


def diagnosis_text(diagnosis: Diagnosis, *, drawing: Drawing, place: str = "") -> str:
    """Write one diagnosis: the verdict first."""
    remarks = [(remark.topic, remark.text) for remark in diagnosis.remarks]
    if diagnosis.what_if is not None:
        remarks.append(("what if", what_if_words(diagnosis.what_if, diagnosis.case.answer)))
    body = [_headline(diagnosis.headline, drawing), topical(_grouped(remarks))]
    drawn = picture(diagnosis, drawing=drawing)
    actions = "\n".join(_actions(diagnosis.actions, place))
    blocks = ["\n".join(filter(None, body)), drawn, actions]
    if not drawn:
        return "\n".join(filter(None, blocks))
    return "\n\n".join(filter(None, blocks))


def _grouped(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Say a topic once where it goes on."""
    before = ""
    for topic, text in lines:
        yield (" " if topic == before else topic), text
        before = topic


def _headline(text: str, drawing: Drawing) -> str:
    said = wrapped(text, indent="  ")
    return click.style(said, bold=True) if drawing.colored else said


def _actions(actions: Sequence[Action], place: str) -> Iterator[str]:
    """Write what to do; a command that does not fit beside stands on a line of its own, whole, to be copied."""
    topic = "do"
    for action in actions:
        command = f"{action.command}{place}" if action.asks_engine else action.command
        whole = topical([(topic, f"{action.text}: {command}")])
        if not command or "\n" in whole:
            yield topical([(topic, action.text)])
            if command:
                yield f"{' ' * (MARGIN + 3)}{command}"
        else:
            yield whole
        topic = " "


def what_if_words(what_if: WhatIf, answer: Answer) -> str:
    """Say how many candidates another floor would keep: a number, or bounds."""
    low, high = what_if.at_least, what_if.at_most
    total = "" if answer.candidates is None else f" of {count(answer.candidates, 'candidate')}"
    if high is None:
        kept = f"{low:,} or more"
    elif low == high:
        kept = f"{low:,}"
    else:
        kept = f"between {low:,} and {high:,}"
    cut = (
        f"; {answer.removed_by_expansion:,} more were cut by the expansion floor before"
        if answer.removed_by_expansion
        else ""
    )
    return f"a floor of {number_text(what_if.floor)} keeps {kept}{total}, this one kept {answer.kept:,}{cut}"


def picture(diagnosis: Diagnosis, *, drawing: Drawing) -> str:
    """Draw the scores with the ceilings of the live rankers and the floor; empty where there are none."""
    bands, _ = shown_bands(diagnosis.case.answer)
    if not any(bands):
        return ""
    return histogram(bands, marks(diagnosis), ink=drawing.ink, colored=drawing.colored)


def shown_bands(answer: Answer) -> tuple[Sequence[int], str]:
    """The bands to draw, and of what they are: all `candidates`, or the `results` alone."""
    if answer.bands is not None:
        return answer.bands, "candidates"
    return bands_of(answer.scores), "results"


def marks(diagnosis: Diagnosis) -> list[Mark]:
    """The ceilings under 1, and the floor that ran."""
    case = diagnosis.case
    found = [
        Mark(ceiling, CEILING, f"{fraction_text(ceiling)} by {who}")
        for ceiling, who in ceilings(case.scale)
        if 0 < ceiling < 1
    ][:_SHOWN_CEILINGS]
    floor = case.floor
    if floor is not None and 0 < floor <= 1:
        found.append(Mark(floor, FLOOR, f"floor {number_text(floor)}"))
    return found


def diagnoses_json(diagnoses: Sequence[Diagnosis], comparison: Comparison | None) -> dict[str, Any]:
    """Everything as data."""
    return {
        "version": 1,
        "command": "diagnose",
        "outcome": ExitCode.OK.outcome,
        "exit_code": int(ExitCode.OK),
        "diagnoses": [_diagnosis_json(one) for one in diagnoses],
        "comparison": None
        if comparison is None
        else {
            "verdict": comparison.comparable.value,
            "headline": comparison.headline,
            "remarks": [_remark_json(remark) for remark in comparison.remarks],
        },
    }


def _diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    what_if = diagnosis.what_if
    return {
        "source": diagnosis.case.answer.source,
        "surface": diagnosis.case.answer.surface.value,
        "verdict": diagnosis.verdict.value,
        "headline": diagnosis.headline,
        "remarks": [_remark_json(remark) for remark in diagnosis.remarks],
        "actions": [
            {"text": action.text, "command": action.command or None} for action in diagnosis.actions
        ],
        "facts": _facts(diagnosis),
        "what_if": None
        if what_if is None
        else {
            "floor": float(what_if.floor),
            "at_least": what_if.at_least,
            "at_most": what_if.at_most,
        },
    }


def _remark_json(remark: Remark) -> dict[str, str]:
    return {"id": remark.id, "topic": remark.topic, "text": remark.text}


def _facts(diagnosis: Diagnosis) -> dict[str, Any]:
    case, answer = diagnosis.case, diagnosis.case.answer
    bands, of = shown_bands(answer)
    drawn = len(bands) == BANDS and any(bands)
    return {
        "tenant": case.knobs.tenant,
        "retrieval_outcome": answer.outcome,
        "error": None if answer.error is None else answer.error.code,
        "fallback_reason": answer.fallback_reason or None,
        "floor": answer.floor,
        "candidates": answer.candidates,
        "kept": answer.kept,
        "removed": answer.removed,
        "removed_by_expansion_floor": answer.removed_by_expansion,
        "best_removed_score": answer.best_removed,
        "relevance": None if answer.relevance is None else asdict(answer.relevance),
        "returned": len(answer.rows),
        "rows_below_floor": [row.chunk_id for row in case.breaches],
        "live": list(case.scale.live) if case.scale.stated else None,
        "rankers": {
            name: {
                "rows": state.rows,
                "error": state.error or None,
                "timed_out": state.timed_out,
                "removed_by_cosine_floor": state.removed_by_cosine,
            }
            for name, state in (answer.rankers or {}).items()
        },
        "ceilings": [
            {"found_by": list(found_by), "ceiling": str(ceiling), "ceiling_value": float(ceiling)}
            for found_by, ceiling in case.scale.classes.items()
        ],
        "weights": {name: float(weight) for name, weight in case.scale.weights.items()},
        "k": case.scale.k,
        "corpus_version": answer.corpus_version,
        "stages": [{"stage": stage.name, "rows": stage.rows} for stage in stages(answer)],
        "histogram": {"of": of, "bands": list(bands)} if drawn else None,
    }
