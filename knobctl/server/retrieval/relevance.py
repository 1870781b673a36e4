"""What an assembly says of its task beside queries that are off topic: the label, and the numbers under it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.server.retrieval.off_topic import ALPHA, Tier
from knobctl.server.retrieval.off_topic_probes import PROBE_SET_VERSION

if TYPE_CHECKING:
    from knobctl.server.retrieval.model import Assembled
    from knobctl.server.retrieval.off_topic import OffTopic


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRelevance:
    """Where the chunk that is closest to a task stands beside off-topic queries."""

    tier: Tier = Tier.NOT_MEASURABLE
    p_value: float | None = None
    z: float | None = None
    cosine: float | None = None
    """Of the task with that chunk; None where the vector ranker gave nothing."""
    cut_off: float | None = None
    """At or under it nothing matches."""
    probes: int = 0
    """How many were measured."""
    alpha: float = ALPHA
    """Share of off-topic queries that may pass for a match."""
    probe_set_version: int = PROBE_SET_VERSION
    chunks: int = 0
    """How many the call admits, where that was looked at."""


def with_relevance(answer: Assembled, off_topic: OffTopic) -> Assembled:
    """Add to an assembly what its best cosine means.

    Args:
        answer: What was assembled.
        off_topic: Of the chunks that the call admits.
    """
    found = _relevance(answer.quality.best_cosine, off_topic)
    return replace(answer, quality=replace(answer.quality, relevance=found))


def _relevance(cosine: float | None, off_topic: OffTopic) -> TaskRelevance:
    if cosine is None:
        return TaskRelevance()
    found = off_topic.relevance(cosine)
    return TaskRelevance(
        tier=found.tier,
        p_value=found.p_value,
        z=found.z,
        cosine=cosine,
        cut_off=None if found.tier is Tier.NOT_MEASURABLE else off_topic.cut_off(),
        probes=len(off_topic.maxima),
        chunks=off_topic.chunks,
    )
