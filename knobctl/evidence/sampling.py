"""A part of a question set in which each source has its share; a larger part holds every smaller one. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from knobctl.evidence.harvest.asked import SOURCES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.harvest.asked import Question


def sampled(questions: Sequence[Question], limit: int, *, seed: int) -> list[Question]:
    """Draw questions by a seed, in proportion to their sources, one of each before the second of any.

    Args:
        questions: The set.
        limit: How many at most, at least 1.
        seed: Of the order within a source.

    Returns:
        By id.
    """
    by_source: dict[str, list[Question]] = {}
    for one in questions:
        by_source.setdefault(one.source, []).append(one)
    turns: list[tuple[float, int, Question]] = []
    for source, found in by_source.items():
        found.sort(key=lambda one: sha256(f"{seed}:{one.question_id}".encode()).hexdigest())
        rank = SOURCES.index(source)
        turns += [(at / len(found), rank, one) for at, one in enumerate(found)]
    turns.sort(key=lambda turn: turn[:2])
    return sorted((one for _, _, one in turns[:limit]), key=lambda one: one.question_id)
