"""A recorded score file: under what it was measured, and a line a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.line_files import json_line
from knobctl.fusion import Formula, Scale, Setup, Weighs, exact
from knobctl.fusion.numbers import number_text
from knobctl.text import rfc3339

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from datetime import datetime
    from fractions import Fraction

    from knobctl.fusion import Reach
    from knobctl.knobs import KnobValue

FORMAT: Final = "knobctl-replay-scores"
FORMAT_VERSION: Final = 1
TOLERANCE: Final = 1e-6


class Label(StrEnum):
    """Whether the corpus can answer a question, by whoever labelled it."""

    ANSWERABLE = "answerable"
    UNANSWERABLE = "unanswerable"


class Why(StrEnum):
    """Why a question has no fused score."""

    BELOW_FLOOR = "below_floor"
    """Everything scored under the floor that it was measured under: its score is somewhere below."""
    EMPTY = "empty"
    """No ranker returned a row."""
    FAILED = "failed"
    """It could not be asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What was searched."""

    digest: str
    """Lower-case hex; another one where the corpus is another."""
    documents: int
    chunks: int


class JudgedBy(StrEnum):
    """Who said which questions can be answered."""

    LABELS = "labels"
    """People, in a file."""
    MODELS = "models"
    """Language models: one answered, one judged the answer, without a reference."""


class Excluded(StrEnum):
    """Why a question that was judged has no label."""

    ANSWER_FAILED = "answer_failed"
    BUDGET = "budget"
    """A model ran out of tokens before it said anything."""
    INFRA = "infra"
    """A model could not be reached."""
    UNPARSED = "unparsed"
    """The verdict was neither yes nor no."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judging:
    """How the labels came about."""

    by: JudgedBy
    digest: str
    """Of the labels, or of the prompts; lower-case hex."""
    protocol: int | None = None
    answer_model: str | None = None
    judge_model: str | None = None
    second_judge_model: str | None = None
    agreement: tuple[int, int] | None = None
    """How often both judges said the same, of how often both said something."""
    calls: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    """None where no prices are known."""
    answer_cost_usd: float | None = None
    """Of that, what the answers cost: what a refused question saves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """Under what a recording was made: it speaks for nothing else."""

    made_at: datetime
    made_by: str
    """The program and its version."""
    engine: str
    tenant: str
    """Whose corpus it was."""
    encoder: str
    corpus: Corpus
    knobs: Mapping[str, KnobValue]
    """The values in force, by canonical names, the opened floors among them."""
    weights: Mapping[str, Fraction]
    """Of the rankers that took part, in summation order."""
    k: int
    depths: Mapping[str, int]
    formula: Formula
    floor: float
    """The fused floor that was in force: what scored below it is not known."""
    expansion_floor: float
    """The same for questions that went through the expansion pass; 0 where there is none."""
    top_k: int
    """So many of the best results went into `max_cosine` and `margin`."""
    questions: int
    configured: Mapping[str, KnobValue] = field(default_factory=dict)
    """The values that were in force for the tenant's users; empty where nobody says."""
    judging: Judging | None = None
    """None where nobody judged."""

    @property
    def rankers(self) -> tuple[str, ...]:
        """The rankers that took part."""
        return tuple(self.weights)

    def setup(self, floor: Fraction) -> Setup:
        """The fusion that was measured, under some floor."""
        return Setup(
            floor=floor,
            k=self.k,
            weights=self.weights,
            depths=self.depths,
            formula=self.formula,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What one question got, with nothing of its text."""

    id: str
    source: str
    """What kind of evidence it is: `mcp_query`, `user_prompt`, or a name of one's own."""
    fused: float | None
    """The best fused score that any chunk got; None says why in `why`."""
    why: Why | None = None
    label: Label | None = None
    ranks: Mapping[str, int] = field(default_factory=dict)
    """Of the chunk with the best score, from 1, by the rankers that hold it; empty where nobody says."""
    live: tuple[str, ...] = ()
    """The rankers that returned a row for this question."""
    expanded: bool = False
    """Whether it went through the expansion pass, whose floor cuts first."""
    max_cosine: float | None = None
    """The best cosine among the `top_k` best results."""
    nearest_cosine: float | None = None
    """The best cosine of any chunk that was admitted, rendered or not."""
    margin: float | None = None
    """By how much the best of those cosines is above the next."""
    hits: int = 0
    """How many results there were, at most `top_k`."""
    declined: bool = False
    """Whether the answer step itself said that nothing bears on it."""
    excluded: Excluded | None = None
    """Why it has no label although it was judged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A file's heading and its questions."""

    source: str
    """The file, as it was named."""
    digest: str
    """SHA-256 of its bytes, lower-case hex."""
    heading: Heading
    questions: tuple[Question, ...]


def written(heading: Heading, questions: Iterable[Question]) -> Iterator[str]:
    """The lines of a file, each with its line end; what is empty or unknown is left out."""
    yield json_line(_heading_object(heading))
    yield from map(question_line, questions)


def question_line(question: Question) -> str:
    """The line of one question, with its line end."""
    return json_line(_question_object(question))


def arithmetic_fault(heading: Heading, reached: Reach, question: Question) -> str | None:
    """Say what a question's score and ranks have against each other; None where nothing.

    Engines sum floats of either width, so a score may be off by a millionth of the best one.

    Args:
        heading: Of the file.
        reached: What follows from its fusion, whatever the floor.
        question: One of its questions.
    """
    odd = [name for name in question.live if name not in heading.weights]
    if odd:
        return f"live: {odd[0]} took no part by the heading"
    odd = [name for name in question.ranks if name not in question.live]
    if odd:
        return f"ranks: {odd[0]} is not among the live rankers"
    if question.fused is None or not question.ranks:
        return None
    live = tuple(name for name in heading.weights if name in question.live)
    score = float(reached.score(live, question.ranks))
    if abs(score - question.fused) > float(reached.best_score) * TOLERANCE:
        return f"fused: {question.fused} is not what these ranks score, which is {score:.6g}"
    return None


def _heading_object(heading: Heading) -> dict[str, Any]:
    formula = heading.formula
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "made_at": rfc3339(heading.made_at),
        "made_by": heading.made_by,
        "engine": heading.engine,
        "tenant": heading.tenant,
        "encoder": heading.encoder,
        "corpus": {
            "digest": heading.corpus.digest,
            "documents": heading.corpus.documents,
            "chunks": heading.corpus.chunks,
        },
        "knobs": dict(heading.knobs),
        "fusion": {
            "scale": formula.scale.value,
            "first_rank": formula.first_rank,
            "weighs": formula.weighs.value,
            "k": heading.k,
            "weights": {name: number_text(one) for name, one in heading.weights.items()},
            "depths": dict(heading.depths),
        },
        "floor": heading.floor,
        "expansion_floor": heading.expansion_floor,
        "top_k": heading.top_k,
        **({"configured": dict(heading.configured)} if heading.configured else {}),
        **({"judging": _judging_object(heading.judging)} if heading.judging else {}),
        "questions": heading.questions,
    }


def _judging_object(judging: Judging) -> dict[str, Any]:
    values = {name: getattr(judging, name) for name in Judging.__slots__}
    return {name: value for name, value in values.items() if value is not None}


def _judging_of(value: Mapping[str, Any] | None) -> Judging | None:
    if value is None:
        return None
    agreement = value.get("agreement")
    return Judging(
        **{
            **value,
            "by": JudgedBy(value["by"]),
            "agreement": (agreement[0], agreement[1]) if agreement else None,
        }
    )


def _question_object(question: Question) -> dict[str, Any]:
    values: dict[str, Any] = {
        "id": question.id,
        "source": question.source,
        "label": question.label and question.label.value,
        "fused": question.fused,
        "why": question.why and question.why.value,
        "ranks": dict(question.ranks),
        "live": list(question.live),
        "expanded": question.expanded,
        "max_cosine": question.max_cosine,
        "nearest_cosine": question.nearest_cosine,
        "margin": question.margin,
        "declined": question.declined,
        "excluded": question.excluded and question.excluded.value,
        "hits": question.hits,
    }
    always = ("id", "source", "label", "fused")
    empty: tuple[Any, ...] = (None, {}, [])
    return {
        key: one
        for key, one in values.items()
        if key in always or not (one is False or one in empty)
    }


def heading_of(value: Mapping[str, Any], made_at: datetime) -> Heading:
    """Make a heading of its JSON object, which fits the schema.

    Raises:
        ValueError: Where fusion gives no score with it.
    """
    fusion, corpus = value["fusion"], value["corpus"]
    heading = Heading(
        made_at=made_at,
        made_by=value["made_by"],
        engine=value["engine"],
        tenant=value["tenant"],
        encoder=value["encoder"],
        corpus=Corpus(
            digest=corpus["digest"], documents=corpus["documents"], chunks=corpus["chunks"]
        ),
        knobs=value["knobs"],
        weights={name: exact(one, name) for name, one in fusion["weights"].items()},
        k=fusion["k"],
        depths=fusion["depths"],
        formula=Formula(
            scale=Scale(fusion["scale"]),
            first_rank=fusion["first_rank"],
            weighs=Weighs(fusion["weighs"]),
        ),
        floor=float(value["floor"]),
        expansion_floor=float(value["expansion_floor"]),
        top_k=value["top_k"],
        questions=value["questions"],
        configured=value.get("configured") or {},
        judging=_judging_of(value.get("judging")),
    )
    heading.setup(exact(heading.floor))
    return heading


def question_of(value: Mapping[str, Any]) -> Question:
    """Make a question of its JSON object, which fits the schema."""
    label, why = value.get("label"), value.get("why")
    return Question(
        id=value["id"],
        source=value["source"],
        fused=value["fused"],
        why=Why(why) if why else None,
        label=Label(label) if label else None,
        ranks=value.get("ranks") or {},
        live=tuple(value.get("live") or ()),
        expanded=value.get("expanded", False),
        max_cosine=value.get("max_cosine"),
        nearest_cosine=value.get("nearest_cosine"),
        margin=value.get("margin"),
        hits=value.get("hits", 0),
        declined=value.get("declined", False),
        excluded=Excluded(value["excluded"]) if "excluded" in value else None,
    )
