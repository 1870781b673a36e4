"""What goes into the retrieval half of the engine and what comes out, as values."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.server.retrieval.relevance import TaskRelevance
    from knobctl.server.store.corpus import Chunk

RANKERS: Final = ("vector", "bm25", "recency")
"""In the order in which their shares of a score are summed."""
SEARCH_FLOOR: Final = 0.7
"""What Search applies where a request has no floor of its own, whatever the tenant's knobs say."""
HISTOGRAM_BANDS: Final = 20


class Outcome(StrEnum):
    """The closed enumeration of the wire; the last four are declared and not emitted yet."""

    UNSPECIFIED = "unspecified"
    OK = "ok"
    NO_RESULTS = "no_results"
    BELOW_THRESHOLD = "below_threshold"
    ACCESS_REVOKED_UPSTREAM = "access_revoked_upstream"
    SOURCE_UNAVAILABLE = "source_unavailable"
    DOCUMENT_NO_LONGER_EXISTS = "document_no_longer_exists"
    DOCUMENT_REF_UNRESOLVED = "document_ref_unresolved"


class Fallback(StrEnum):
    """Why retrieval did not run."""

    NO_QUERY = "no_query"
    RETRIEVAL_FAILED = "retrieval_failed"
    """Every ranker failed."""
    RETRIEVAL_TIMEOUT = "retrieval_timeout"
    """None answered in time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerReport:
    """What became of one ranker in one fan-out."""

    rows: int = 0
    """Rows that it returned, before `vector_min_cosine`."""
    error: str = ""
    """In words for callers; empty where it did not fail."""
    timed_out: bool = False
    removed_by_cosine_floor: int = 0
    latency_ms: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One fused chunk."""

    chunk_id: str
    score: float
    """Normalised fused score, above 0, at most 1."""
    ranks: Mapping[str, int]
    """Ranker to rank, from 1, for the rankers that returned the chunk."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fused:
    """The candidate set before the floor: what the result cache keeps."""

    candidates: tuple[Candidate, ...]
    """By score, best first, then by id."""
    rankers: Mapping[str, RankerReport]
    best_cosine: float | None
    """Between the query and the closest admitted chunk; None where the vector ranker gave nothing."""
    nearest: tuple[tuple[str, float], ...] = ()
    """The closest admitted chunks with their cosines, closest first."""
    expanded: bool = False
    rewrites: tuple[str, ...] = ()
    removed_by_expansion_floor: int = 0
    corpus_version: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One candidate with its chunk."""

    candidate: Candidate
    chunk: Chunk
    cosine: float | None
    """Between the query and the chunk; None where the query has no vector."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchAnswer:
    """What Search answers."""

    results: tuple[Hit, ...]
    effective_min_score: float
    results_below_threshold: int
    outcome: Outcome
    rankers: Mapping[str, RankerReport]
    best_removed_score: float | None
    corpus_version: str
    score_histogram: tuple[int, ...]
    """Candidates before the floor, in `HISTOGRAM_BANDS` equal bands from 0 to 1; an edge is in the band below."""
    last_good_knobs: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """Candidates above the floor that did not enter the prompt, by what left them out."""

    duplicates: int = 0
    per_document: int = 0
    max_chunks: int = 0
    token_budget: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quality:
    """What the retrieval leg of AssembleContext says of itself."""

    effective_min_score: float
    retrieval_outcome: Outcome
    corpus_version: str
    results_below_threshold: int = 0
    fallback: Fallback | None = None
    rankers: Mapping[str, RankerReport] = field(default_factory=dict)
    expanded: bool = False
    rewrites: tuple[str, ...] = ()
    removed_by_expansion_floor: int = 0
    best_cosine: float | None = None
    no_match: bool = False
    nearest: tuple[tuple[Chunk, float], ...] = ()
    best_removed_score: float | None = None
    score_histogram: tuple[int, ...] = ()
    omitted: Omitted = field(default_factory=Omitted)
    prompt_tokens: int = 0
    last_good_knobs: bool = False
    relevance: TaskRelevance | None = None
    """Where it was asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Assembled:
    """What AssembleContext answers."""

    prompt: str
    """Empty in an evaluation, whose answer has no place for it."""
    chunks: tuple[Hit, ...]
    """In the order of the prompt."""
    quality: Quality


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What one query would get under a proposed set."""

    query: str
    candidates: tuple[Hit, ...]
    """One pass without expansion, before any floor, best first; of the ranking half alone, chunks have but their ids."""
    rankers: Mapping[str, RankerReport]
    best_cosine: float | None
    assembled: Assembled


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """How much of an evaluation is wanted."""

    ranking_only: bool = False
    """Whether no prompt is assembled, and chunks come with nothing but their ids."""
    top_k: int = 0
    """Most candidates; all of them if 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A text to take in: a chunk, or a whole document where it has no `chunk_id`."""

    document_id: str
    text: str
    chunk_id: str = ""
    source_id: str = ""
    created_at: str = ""
    """RFC 3339; empty for the time of the first upsert."""
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Upserted:
    """What an upsert did, in chunks, after splitting."""

    written: int
    unchanged: int
    removed: int
    corpus_version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """What a deletion took away."""

    documents: int
    chunks: int
    corpus_version: str
