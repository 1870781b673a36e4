"""Answers each question with the floors open, and has the answer judged; bounded in calls and money."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event, Lock
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError
from knobctl.evidence.judging.checkpoint import Outcome
from knobctl.evidence.judging.cost import Tokens
from knobctl.evidence.judging.models import ModelError, NoTextError
from knobctl.evidence.judging.prompts import answer_prompt, judge_prompt
from knobctl.evidence.judging.verdict import declines, verdict_of
from knobctl.evidence.recording import Excluded, Label

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from knobctl.evidence.harvest.asked import Question as Asked
    from knobctl.evidence.judging.checkpoint import Checkpoint
    from knobctl.evidence.judging.cost import Model
    from knobctl.evidence.judging.models import Endpoint, Reply
    from knobctl.evidence.judging.prompts import Prompt
    from knobctl.evidence.recording import Question
    from knobctl.evidence.replaying import Replay

ANSWER_TOKENS: Final = 1_024
JUDGE_TOKENS: Final = 1_024
"""Room for a model that thinks before it says one word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """Who answers and who judges."""

    endpoint: Endpoint
    answering: Model
    judges: tuple[Model, ...]
    """One, or two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What a run may spend."""

    dollars: float | None
    """None for no bound."""
    calls: int | None


@dataclass(slots=True)
class Spent:
    """What a run spent so far; from any thread."""

    bounds: Bounds
    calls: int = 0
    dollars: float = 0.0
    exhausted: Event = field(default_factory=Event)
    """Set where another question might go beyond a bound."""
    _lock: Lock = field(default_factory=Lock)

    def add(self, model: Model, tokens: Tokens) -> None:
        """Count one call."""
        with self._lock:
            self.calls += 1
            self.dollars += model.price.of(tokens) if model.price else 0.0
            over = self.bounds.dollars is not None and self.dollars >= self.bounds.dollars
            if over or (self.bounds.calls is not None and self.calls >= self.bounds.calls):
                self.exhausted.set()


def passages_of(replay: Replay, question: str) -> list[str]:
    """The texts that the model would get for a question under open floors.

    Raises:
        EngineError: If the engine cannot be asked.
    """
    request = {"config": replay.knobs, "queries": [question], "includeText": True}
    (answer,) = replay.engine.evaluate(replay.tenant, request)["evaluations"]
    return [str(hit.get("text", "")) for hit in answer.get("chunks", [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run over some questions."""

    replay: Replay
    """The engine and the tenant."""
    panel: Panel
    checkpoint: Checkpoint
    """Where outcomes are kept; those of it are taken over."""
    spent: Spent
    nonce: Callable[[], str]
    """Gives a word that no text can know."""
    tell: Callable[[], object]
    """Told of each question that is done."""
    failures: list[str] = field(default_factory=list)
    """Why questions could not be judged, in the words of whoever failed."""


def judged(run: Run, questions: Sequence[Asked]) -> dict[str, Outcome | Excluded]:
    """Judge questions that have a score; one that fails ends no run, and none is paid for twice.

    Returns:
        By question id; a question that was not begun is not there.
    """
    replay, checkpoint = run.replay, run.checkpoint
    known = checkpoint.outcomes()
    rest = [one for one in questions if one.question_id not in known]

    def work(asked: Asked) -> Outcome | Excluded | None:
        if replay.stop.is_set() or run.spent.exhausted.is_set():
            return None
        found = _judge(run, asked.question)
        if isinstance(found, Outcome):
            checkpoint.note(asked.question_id, found)
        run.tell()
        return found

    with ThreadPoolExecutor(replay.parallelism, thread_name_prefix="judge") as pool:
        results = list(pool.map(work, rest))
    done: dict[str, Outcome | Excluded] = {
        one.question_id: known[one.question_id] for one in questions if one.question_id in known
    }
    for asked, found in zip(rest, results, strict=True):
        if found is not None:
            done[asked.question_id] = found
    return done


def _judge(run: Run, question: str) -> Outcome | Excluded:
    calls, nonce = _Calls(run.panel.endpoint, run.spent), run.nonce()
    try:
        passages = passages_of(run.replay, question)
        answer = calls.ask(
            run.panel.answering, answer_prompt(question, passages, nonce), ANSWER_TOKENS
        )
        if declines(answer.text):
            return calls.outcome((False,), declined=True)
        prompt = judge_prompt(question, passages, answer.text, nonce)
        verdicts = [
            verdict_of(calls.ask(model, prompt, JUDGE_TOKENS).text) for model in run.panel.judges
        ]
        return calls.outcome(verdicts, declined=False)
    except NoTextError as error:
        run.failures.append(str(error))
        return Excluded.BUDGET
    except (ModelError, EngineError) as error:
        run.failures.append(str(error))
        answering = isinstance(error, ModelError) and error.refused and not calls.number
        return Excluded.ANSWER_FAILED if answering else Excluded.INFRA


class _Calls:
    """The calls of one question."""

    def __init__(self, endpoint: Endpoint, spent: Spent) -> None:
        self._endpoint, self._spent = endpoint, spent
        self._tokens = Tokens()
        self._costs: list[float | None] = []

    @property
    def number(self) -> int:
        """How many were answered."""
        return len(self._costs)

    def ask(self, model: Model, prompt: Prompt, max_tokens: int) -> Reply:
        """Make one, and count it."""
        try:
            reply = self._endpoint.complete(model, prompt, max_tokens=max_tokens)
        except ModelError as error:
            self._spent.add(model, error.tokens)
            raise
        self._spent.add(model, reply.tokens)
        self._tokens += reply.tokens
        self._costs.append(model.price.of(reply.tokens) if model.price else None)
        return reply

    def outcome(self, verdicts: Sequence[bool | None], *, declined: bool) -> Outcome:
        """What they came to."""
        known = [cost for cost in self._costs if cost is not None]
        return Outcome(
            answerable=verdicts[0],
            declined=declined,
            second=verdicts[1] if len(verdicts) > 1 else None,
            input_tokens=self._tokens.input,
            output_tokens=self._tokens.output,
            calls=self.number,
            cost_usd=sum(known) if len(known) == self.number else None,
            answer_cost_usd=self._costs[0],
        )


def with_labels(
    questions: Sequence[Question], outcomes: Mapping[str, Outcome | Excluded]
) -> list[Question]:
    """Put what was judged on what was scored: the first judge's verdict; a second one tells how sure it is."""
    return [_with_label(one, outcomes.get(one.id)) for one in questions]


def _with_label(question: Question, found: Outcome | Excluded | None) -> Question:
    if not isinstance(found, Outcome):
        return replace(question, label=None, declined=False, excluded=found)
    if found.answerable is None:
        return replace(question, label=None, declined=False, excluded=Excluded.UNPARSED)
    label = Label.ANSWERABLE if found.answerable else Label.UNANSWERABLE
    return replace(question, label=label, declined=found.declined, excluded=None)


def agreement_of(outcomes: Mapping[str, Outcome | Excluded]) -> tuple[int, int]:
    """How often both judges said the same, of how often both said something."""
    both = [
        one
        for one in outcomes.values()
        if isinstance(one, Outcome) and one.second is not None and one.answerable is not None
    ]
    return sum(one.second == one.answerable for one in both), len(both)
