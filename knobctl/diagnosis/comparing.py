"""Two answers side by side: whether they may be compared, and what differs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from knobctl.diagnosis.case import Remark, ceilings_words, score_text
from knobctl.fusion.numbers import number_text
from knobctl.text import count, joined, visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from fractions import Fraction

    from knobctl.diagnosis.answer import Answer
    from knobctl.diagnosis.case import Diagnosis


class Comparable(StrEnum):
    """Whether two answers speak of the same corpus."""

    SAME_CORPUS = "same-corpus"
    CORPUS_CHANGED = "corpus-changed"
    CORPUS_UNKNOWN = "corpus-unknown"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two diagnoses compared."""

    comparable: Comparable
    headline: str
    remarks: tuple[Remark, ...]


def compare(first: Diagnosis, second: Diagnosis) -> Comparison:
    """Compare two answers; each was a retrieval of its own."""
    comparable, said = _corpus(first, second)
    return Comparison(comparable, said, tuple(_differences(first, second)))


def _corpus(first: Diagnosis, second: Diagnosis) -> tuple[Comparable, str]:
    one, two = (each.case.answer.corpus_version for each in (first, second))
    if one is None or two is None:
        said = (
            "Not to be compared without care: a second call is a second retrieval, and the answers "
            "do not both state their corpus version."
        )
        return Comparable.CORPUS_UNKNOWN, said
    if one != two:
        versions = f"{visible(one[:40])} and {visible(two[:40])}"
        said = f"Not comparable: corpus versions {versions}, so the corpus changed between the two."
        return Comparable.CORPUS_CHANGED, said
    return Comparable.SAME_CORPUS, f"Comparable: both ran on corpus version {visible(one[:40])}."


def _differences(first: Diagnosis, second: Diagnosis) -> Iterator[Remark]:
    one, two = first.case, second.case
    befores, afters = (facts_of(case.answer, case.floor) for case in (one, two))
    for topic, before in befores.items():
        after = afters[topic]
        if before != after:
            text = f"{visible(before or 'not stated')} -> {visible(after or 'not stated')}"
            yield Remark(f"differs-{topic.replace(' ', '-')}", topic, text)
    yield from _scales(first, second)
    yield from _chunks(first, second)


def facts_of(answer: Answer, floor: Fraction | None) -> dict[str, str | None]:
    """What an answer tells in numbers, topic by topic; None where it does not.

    Args:
        answer: What an engine said.
        floor: Its floor, exactly as it is written.
    """
    return {
        "surface": answer.surface.value,
        "outcome": answer.outcome,
        "floor": _number(floor),
        "candidates": _text(answer.candidates),
        "removed": _text(answer.removed),
        "best": _best(answer),
        "returned": _text(len(answer.rows)),
    }


def _scales(first: Diagnosis, second: Diagnosis) -> Iterator[Remark]:
    """Whether a score means the same in both."""
    one, two = first.case, second.case
    if one.off_scale != two.off_scale:
        readers = joined(
            [*one.knobs.on_scale_of("floor.fused"), "the minScore of Search's callers"]
        )
        yield Remark(
            "scale-mismatch",
            "scale",
            "the scores of one of them are no normalised fused scores: the scale changed between "
            f"the engines. Look again at all that is compared with it: {readers}",
        )
    elif one.scale.stated and two.scale.stated and one.scale.live != two.scale.live:
        lives = [", ".join(map(visible, case.scale.live)) or "nothing" for case in (one, two)]
        both = bool(one.scale.live and two.scale.live)
        ceilings = [ceilings_words(case.scale) for case in (one, two)]
        yield Remark(
            "differs-live",
            "live",
            f"{lives[0]} -> {lives[1]}"
            + (
                f": a score means something else. First, {ceilings[0]}; then, {ceilings[1]}"
                if both
                else ""
            ),
        )


def _chunks(first: Diagnosis, second: Diagnosis) -> Iterator[Remark]:
    ids = [[row.chunk_id for row in one.case.answer.rows] for one in (first, second)]
    gone = [chunk for chunk in ids[0] if chunk not in set(ids[1])]
    new = [chunk for chunk in ids[1] if chunk not in set(ids[0])]
    for kind, topic, chunks in (("only-first", "only 1st", gone), ("only-second", "only 2nd", new)):
        if chunks:
            some = ", ".join(visible(chunk[:40]) or "?" for chunk in chunks[:5])
            more = f" and {len(chunks) - 5:,} more" if len(chunks) > 5 else ""
            yield Remark(kind, topic, f"{count(len(chunks), 'chunk')}: {some}{more}")
    if ids[0] and not gone and not new:
        order = "in the same order" if ids[0] == ids[1] else "in another order"
        yield Remark("same-chunks", "chunks", f"the same {len(ids[0]):,}, {order}")


def _text(number: int | None) -> str | None:
    return None if number is None else f"{number:,}"


def _number(value: Fraction | None) -> str | None:
    return None if value is None else number_text(value)


def _best(answer: Answer) -> str | None:
    """The best score that the floor removed."""
    if answer.best_removed is not None:
        return score_text(answer.best_removed)
    return "none removed" if answer.removed == 0 else None
