"""What judging costs: projected before any call, counted while it goes on. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True, slots=True)
class Price:
    """Dollars a million tokens."""

    input: float
    output: float

    def of(self, tokens: Tokens) -> float:
        """Dollars."""
        return (tokens.input * self.input + tokens.output * self.output) / 1e6


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens of one or many calls."""

    input: int = 0
    output: int = 0

    def __add__(self, other: Tokens) -> Tokens:
        return Tokens(self.input + other.input, self.output + other.output)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model with what is known of its tokens."""

    name: str
    price: Price | None
    """None where nobody said."""
    chars_per_token: float = 4.0

    def tokens_of(self, read: str, written: str) -> Tokens:
        """About what a call takes, by its characters."""
        return Tokens(*(int(len(text) / self.chars_per_token) + 1 for text in (read, written)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Overheads:
    """Tokens that every call has besides its data."""

    answer_prompt: int = 700
    answer_output: int = 500
    judge_prompt: int = 350
    judge_output: int = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Projection:
    """An upper bound: one answer and its verdicts for each question."""

    questions: int
    answer: Tokens
    judge: Tokens
    judges: int
    cost_usd: float | None
    """None where a price is not known."""

    @property
    def calls(self) -> int:
        """How many calls."""
        return self.questions * (1 + self.judges)


def projected(
    sizes: Iterable[tuple[int, int]],
    answering: Model,
    judges: tuple[Model, ...],
    overheads: Overheads,
) -> Projection:
    """Project what questions cost.

    Args:
        sizes: Of each question, the characters of its context and its own.
        answering: The model that answers.
        judges: The models that judge, one or two.
        overheads: What a call has besides.
    """
    answer = Tokens()
    judged = [Tokens() for _ in judges]
    number = 0
    for context, question in sizes:
        number += 1
        chars = context + question
        answer += Tokens(
            int(chars / answering.chars_per_token) + overheads.answer_prompt,
            overheads.answer_output,
        )
        for at, model in enumerate(judges):
            tokens = (
                int(chars / model.chars_per_token)
                + overheads.answer_output
                + overheads.judge_prompt
            )
            judged[at] += Tokens(tokens, overheads.judge_output)
    priced = [(answering, answer), *zip(judges, judged, strict=True)]
    costs = [model.price.of(tokens) if model.price else None for model, tokens in priced]
    known = [cost for cost in costs if cost is not None]
    return Projection(
        questions=number,
        answer=answer,
        judge=sum(judged, Tokens()),
        judges=len(judges),
        cost_usd=sum(known) if len(known) == len(costs) else None,
    )
