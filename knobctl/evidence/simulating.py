"""Two knob sets over the same questions: what changes for each, and what that comes to. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final

from knobctl.evidence.qrels import Qrels
from knobctl.evidence.rates import Rate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from knobctl.evidence.recording import Corpus
    from knobctl.knobs import KnobValue

VECTOR_ALONE: Final = ("vector",)
NO_QRELS: Final = Qrels({})


@dataclass(frozen=True, slots=True)
class Shown:
    """A chunk that the model gets to see."""

    chunk: str
    document: str
    rankers: tuple[str, ...]
    """Those that found it."""
    score: float

    def is_named(self, names: frozenset[str]) -> bool:
        """Whether it is among these, by itself or by its document."""
        return self.chunk in names or self.document in names


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What the model gets to see of one question under one set."""

    chunks: tuple[Shown, ...]
    """In the order of the prompt."""
    tokens: int | None = None
    """Of their texts; None where nobody counted."""
    expanded: bool = False
    live: tuple[str, ...] = ()
    """The rankers that returned a row."""
    match: Shown | None = None
    """The best chunk, before any floor, that answers the question; without qrels the best of all."""
    passes: bool = False
    """Whether that chunk is above the floors and gates, so that it may be shown."""

    @property
    def ids(self) -> tuple[str, ...]:
        """The chunks by id."""
        return tuple(one.chunk for one in self.chunks)

    def shows(self, names: frozenset[str]) -> bool:
        """Whether one of the chunks is named, by itself or by its document."""
        return any(one.is_named(names) for one in self.chunks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What is asked, without its text."""

    id: str
    source: str
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Pair:
    """One question under both sets."""

    asked: Asked
    before: Seen
    after: Seen

    @property
    def lost(self) -> tuple[str, ...]:
        """The chunks that are not seen any more, in the order in which they were."""
        kept = set(self.after.ids)
        return tuple(one for one in self.before.ids if one not in kept)

    @property
    def gained(self) -> tuple[str, ...]:
        """The chunks that were not seen before."""
        had = set(self.before.ids)
        return tuple(one for one in self.after.ids if one not in had)

    @property
    def emptied(self) -> bool:
        """Whether there was something and nothing is left."""
        return bool(self.before.chunks) and not self.after.chunks

    @property
    def filled(self) -> bool:
        """Whether there was nothing and something comes."""
        return bool(self.after.chunks) and not self.before.chunks

    @property
    def reordered(self) -> bool:
        """Whether the same chunks come in another order."""
        return self.changed and not self.lost and not self.gained

    @property
    def changed(self) -> bool:
        """Whether the model sees anything else, or in another order."""
        return self.before.ids != self.after.ids


CHANGES: Final[Mapping[str, Callable[[Pair], object]]] = {
    "lost": lambda pair: pair.lost,
    "gained": lambda pair: pair.gained,
    "emptied": lambda pair: pair.emptied,
    "filled": lambda pair: pair.filled,
    "reordered": lambda pair: pair.reordered,
}
"""What can happen to a question; several at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What is known of the questions."""

    qrels: Qrels = NO_QRELS
    labels: Mapping[str, bool] = field(default_factory=dict)
    """By question id, whether the corpus can answer it; beside qrels these are what counts."""

    def answerable(self, question: str) -> bool | None:
        """Whether the corpus can answer a question; None where nobody said, or nothing says by what."""
        stated = self.labels.get(question)
        if not self.has_qrels or stated is False:
            return stated
        if self.qrels.relevant(question):
            return True if stated is None and not self.labels else stated
        return False if stated is None and question in self.qrels.by_question else None

    @property
    def has_qrels(self) -> bool:
        """Whether it is known what answers a question, rather than that something does."""
        return bool(self.qrels.by_question)

    def is_served(self, question: str, seen: Seen) -> bool:
        """Whether the model sees something that answers the question; anything at all, without qrels."""
        if self.has_qrels:
            return seen.shows(self.qrels.relevant(question))
        return bool(seen.chunks)


@dataclass(frozen=True, slots=True)
class Kept:
    """Of some questions, those that have something, before and after."""

    before: Rate
    after: Rate
    lost: Rate
    """Those that had it before and have it no more."""
    gained: Rate


def kept_of(pairs: Sequence[Pair], has: Callable[[str, Seen], bool]) -> Kept:
    """Count, of some questions, those that have something.

    Args:
        pairs: The questions.
        has: Says it of a question's id and what was seen.
    """
    states = Counter((has(one.asked.id, one.before), has(one.asked.id, one.after)) for one in pairs)
    of, both = len(pairs), states[True, True]
    lost, gained = states[True, False], states[False, True]
    return Kept(Rate(both + lost, of), Rate(both + gained, of), Rate(lost, of), Rate(gained, of))


def _passes(_: str, seen: Seen) -> bool:
    return seen.passes


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Two sets beside each other, for one tenant or for several whose questions are counted together."""

    tenant: str
    before: Mapping[str, KnobValue]
    """The effective values."""
    after: Mapping[str, KnobValue]
    pairs: Sequence[Pair]
    unknown: Mapping[str, int] = field(default_factory=dict)
    """Questions that are in no figure, by why."""
    judged: Judged = Judged()
    encoder: str = "unknown"
    corpus: Corpus | None = None
    engine: str = "embedded"
    rankers: tuple[str, ...] = ()
    knows_texts: bool = True
    """Whether prompts are those of an engine; without texts they are what passes, best first."""

    @property
    def changed_knobs(self) -> list[str]:
        """The knobs whose effective values differ."""
        return [name for name, value in self.after.items() if self.before.get(name) != value]

    @cached_property
    def changes(self) -> Mapping[str, Rate]:
        """How many questions changed at all (`changed`), and in which way."""
        ways: dict[str, Callable[[Pair], object]] = {"changed": lambda pair: pair.changed}
        return {
            name: Rate(sum(bool(happened(one)) for one in self.pairs), len(self.pairs))
            for name, happened in (ways | dict(CHANGES)).items()
        }

    @cached_property
    def empty(self) -> tuple[Rate, Rate]:
        """The questions for which nothing was assembled, before and after."""
        return self._empty(self.pairs)

    @cached_property
    def silenced(self) -> tuple[Rate, Rate] | None:
        """The same of those that cannot be answered: an honest nothing; None where none are labelled."""
        found = self.labelled(answerable=False)
        return self._empty(found) if found else None

    def _empty(self, pairs: Sequence[Pair]) -> tuple[Rate, Rate]:
        before = sum(not one.before.chunks for one in pairs)
        return Rate(before, len(pairs)), Rate(
            sum(not one.after.chunks for one in pairs), len(pairs)
        )

    def labelled(self, *, answerable: bool) -> list[Pair]:
        """The questions of which it is known that they can, or cannot, be answered."""
        return [one for one in self.pairs if self.judged.answerable(one.asked.id) is answerable]

    @cached_property
    def served(self) -> Kept | None:
        """Of those that can be answered, those whose answer the model sees; None where none are labelled."""
        found = self.labelled(answerable=True)
        return kept_of(found, self.judged.is_served) if found else None

    @cached_property
    def passing(self) -> Kept | None:
        """Of the same, those whose best match is above the floors, whether or not it is shown; None without qrels."""
        found = self.labelled(answerable=True)
        return kept_of(found, _passes) if found and self.judged.has_qrels else None

    @cached_property
    def by_rankers(self) -> Mapping[tuple[str, ...], Kept]:
        """By the rankers that had found a question's best match before: whether it is above the floors.

        The match is the best chunk that answers the question where qrels say what does, else the best of all.
        """
        found: dict[tuple[str, ...], list[Pair]] = {}
        for one in self.labelled(answerable=True) if self.judged.has_qrels else self.pairs:
            if one.before.match:
                found.setdefault(one.before.match.rankers, []).append(one)
        ordered = sorted(found, key=lambda names: (len(names), -len(found[names]), names))
        return {names: kept_of(found[names], _passes) for names in ordered}

    @property
    def vector_alone(self) -> tuple[Rate, Rate]:
        """Of the questions whose best match only vector search found, those where it is under the floors, before and after."""
        kept = self.by_rankers.get(VECTOR_ALONE) or kept_of((), _passes)
        return _others(kept.before), _others(kept.after)

    def slices(self) -> Mapping[str, Sequence[Pair]]:
        """The questions by source, where there are several, and by tag."""
        by_source = _grouped(self.pairs, lambda one: (one.asked.source,))
        by_tag = _grouped(self.pairs, lambda one: one.asked.tags)
        found = {f"source {name}": pairs for name, pairs in by_source.items()}
        tags = {f"tag {name}": pairs for name, pairs in by_tag.items()}
        return (found if len(found) > 1 else {}) | tags

    def ranked(self, pair: Pair) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """What a question got, before and after, by the names that the qrels use, best first, each once."""
        names = self._judged_names

        def named(seen: Seen) -> tuple[str, ...]:
            return tuple(
                dict.fromkeys(
                    one.chunk if one.chunk in names else one.document for one in seen.chunks
                )
            )

        return named(pair.before), named(pair.after)

    @cached_property
    def _judged_names(self) -> frozenset[str]:
        return self.judged.qrels.names

    @cached_property
    def tokens(self) -> tuple[list[float], list[float]]:
        """Of each question the tokens in its prompt, before and after; empty where nobody counted."""
        counted = [
            (one.before.tokens, one.after.tokens)
            for one in self.pairs
            if one.before.tokens is not None and one.after.tokens is not None
        ]
        return [float(before) for before, _ in counted], [float(after) for _, after in counted]

    @cached_property
    def unjudged(self) -> tuple[Rate, Rate]:
        """Of what judged questions got, what nobody judged, before and after."""
        counts: Counter[tuple[int, bool]] = Counter()
        for one in self.pairs:
            judged = self.judged.qrels.by_question.get(one.asked.id)
            if judged is None:
                continue
            for side, names in enumerate(self.ranked(one)):
                counts.update((side, name in judged) for name in names)
        before, after = (
            Rate(counts[side, False], counts[side, False] + counts[side, True]) for side in (0, 1)
        )
        return before, after


def _others(rate: Rate) -> Rate:
    return Rate(rate.denominator - rate.numerator, rate.denominator)


def _grouped(
    pairs: Iterable[Pair], names: Callable[[Pair], Iterable[str]]
) -> dict[str, list[Pair]]:
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        for name in names(pair):
            found.setdefault(name, []).append(pair)
    return dict(sorted(found.items()))
