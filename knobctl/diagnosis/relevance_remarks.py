"""A remark on how the question stands beside queries that are off topic, where the engine says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.answer import NO_MATCH, NOT_MEASURABLE
from knobctl.diagnosis.case import Case, Remark
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.diagnosis.answer import Relevance

_LONGEST_WORD: Final = 40


def on_the_relevance(case: Case) -> Iterator[Remark]:
    """Where the closest chunk stands; nothing where there is none."""
    found = case.answer.relevance
    if found is None or found.cosine is None:
        return
    text = _unknown(found) if found.tier == NOT_MEASURABLE else _standing(found, found.cosine)
    yield Remark("relevance", "relevance", text)


def _standing(found: Relevance, cosine: float) -> str:
    cut_off = "?" if found.cut_off is None else f"{found.cut_off:.3f}"
    near = (
        f"cosine {cosine:.3f} is no nearer than off-topic questions come (up to {cut_off})"
        if found.tier == NO_MATCH
        else f"cosine {cosine:.3f}, where off-topic questions seldom pass {cut_off}"
    )
    numbers = [
        *([] if found.p_value is None else [f"p {found.p_value:.2g}"]),
        *([] if found.z is None else [f"z {found.z:+.1f}"]),
        f"beside {count(found.probes, 'probe')}",
    ]
    word = visible(found.tier[:_LONGEST_WORD]).replace("_", " ")
    return f"{word}: {near}; {', '.join(numbers)}"


def _unknown(found: Relevance) -> str:
    if not found.probes:
        return "not measurable: the engine could not measure off-topic questions"
    chunks, probes = count(found.chunks, "chunk"), count(found.probes, "off-topic question")
    return (
        f"not measurable over {chunks} with {probes}: too few chunks, or questions that all come "
        "equally near"
    )
