"""One answer of an engine as values: what it says, and what it leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.fusion.row import Names

BANDS: Final = 20
"""Of the histogram in an answer, from 0 to 1."""
NO_MATCH: Final = "no_match"
NOT_MEASURABLE: Final = "not_measurable"
"""Two of the words for how relevant the closest chunk is."""
SEARCH_FLOOR: Final = 0.7
"""What Search applies where a request has no floor of its own. Source: the given page, "Scope"."""


class Surface(StrEnum):
    """Which call gave an answer."""

    SEARCH = "search"
    ASSEMBLE = "assemble"


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


@dataclass(frozen=True, slots=True, kw_only=True)
class RankerState:
    """What an answer says of one ranker."""

    rows: int = 0
    error: str = ""
    timed_out: bool = False
    removed_by_cosine: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One returned chunk."""

    chunk_id: str
    score: float | None
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Ranker to rank; empty where the answer does not say."""

    @property
    def found_by(self) -> Names:
        """The rankers that returned it."""
        return tuple(self.ranks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Omitted:
    """What left candidates above the floor out of the prompt."""

    duplicates: int = 0
    per_document: int = 0
    max_chunks: int = 0
    token_budget: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return self.duplicates + self.per_document + self.max_chunks + self.token_budget


@dataclass(frozen=True, slots=True, kw_only=True)
class Relevance:
    """Where the closest chunk stands beside queries that are off topic; see the engine's `TaskRelevance`."""

    tier: str
    """In the wire's own words; a newer engine may have more of them."""
    p_value: float | None = None
    z: float | None = None
    cosine: float | None = None
    cut_off: float | None = None
    probes: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallError:
    """An error that came instead of an answer."""

    code: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """How much there is to find."""

    documents: int
    chunks: int
    sources: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A Search or AssembleContext answer. What is None the answer does not say."""

    source: str
    """Where it was read: a file's name, `standard input`, or the engine that was asked."""
    surface: Surface = Surface.SEARCH
    outcome: str | None = None
    """In the wire's own lower-case words; a newer engine may have more than `Outcome`."""
    floor: float | None = None
    removed: int | None = None
    rows: tuple[Row, ...] = ()
    rankers: Mapping[str, RankerState] | None = None
    best_removed: float | None = None
    corpus_version: str | None = None
    bands: tuple[int, ...] | None = None
    """Candidates before the floor, in `BANDS` bands."""
    last_good_knobs: bool = False
    fallback_used: bool = False
    fallback_reason: str = ""
    expanded: bool = False
    rewrites: tuple[str, ...] = ()
    removed_by_expansion: int = 0
    best_cosine: float | None = None
    relevance: Relevance | None = None
    """Where the engine was asked for it."""
    no_match: bool = False
    nearest: tuple[tuple[str, float | None], ...] = ()
    omitted: Omitted = field(default_factory=Omitted)
    prompt_tokens: int | None = None
    error: CallError | None = None
    oddities: tuple[str, ...] = ()
    """What in it could not be read, a sentence each."""

    @cached_property
    def scores(self) -> tuple[float, ...]:
        """The scores of the returned chunks, best first."""
        return tuple(sorted((r.score for r in self.rows if r.score is not None), reverse=True))

    @cached_property
    def live(self) -> Names | None:
        """The rankers that returned rows; None where the answer does not say."""
        if self.rankers is None:
            return None
        return tuple(name for name, state in self.rankers.items() if state.rows > 0)

    @property
    def candidates(self) -> int | None:
        """How many there were before the floor; None where the answer does not say."""
        if self.bands is not None:
            return sum(self.bands)
        if self.removed is None:
            return None
        # topK may have left out more of Search's.
        return self.removed + len(self.rows) + self.omitted.total

    @property
    def kept(self) -> int:
        """How many passed the floor, as far as the answer tells."""
        if self.bands is not None and self.removed is not None:
            return max(sum(self.bands) - self.removed, 0)
        return len(self.rows) + self.omitted.total

    @property
    def inherits_search_floor(self) -> bool:
        """Whether the floor is Search's own, which runs where the request has none."""
        return (
            self.surface is Surface.SEARCH
            and self.floor is not None
            and abs(self.floor - SEARCH_FLOOR) < 1e-12
        )
