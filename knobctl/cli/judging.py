"""Judging by models: what it would cost is shown, consent is asked, and no label is paid for twice."""

from __future__ import annotations

import os
import secrets
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.bench_settings import heldout_path, model_of, settings_of
from knobctl.cli.consent import confirmed, has_terminal
from knobctl.errors import ExitCode, InputError, RefusedError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from knobctl.cli.options import Settings
    from knobctl.cli.session import Session
    from knobctl.evidence.bench_settings import BenchSettings
    from knobctl.evidence.harvest.asked import Question as Asked
    from knobctl.evidence.judging.checkpoint import Outcome
    from knobctl.evidence.judging.cost import Projection
    from knobctl.evidence.judging.judging import Panel, Run
    from knobctl.evidence.recording import Excluded, Heading, Judging, Question, Recording
    from knobctl.evidence.replaying import Replay

KEY_VARIABLE: Final = "KNOBCTL_LLM_KEY"
"""Not an option: what stands on a command line is read by others."""
_PER_HIT: Final = 24
"""Characters that stand around each passage."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What the command line asks for."""

    base_url: str
    answer_model: str
    judge_models: tuple[str, ...]
    key_file: Path | None
    questions: Path | None
    estimate: bool
    yes: bool
    dollars: float | None
    calls: int | None
    checkpoint: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """What it came to."""

    code: ExitCode
    heading: Heading | None = None
    """None where nothing was judged."""
    questions: Sequence[Question] = ()


def by_models(settings: Settings, recording: Recording, wanted: Wanted) -> Judged:
    """Project, ask, judge what is not judged yet, and put the labels on.

    Raises:
        UsageError: If the questions are not those that were replayed, or there is no key.
        RefusedError: If nobody consents to the cost.
    """
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import stopping_on_signals
    from knobctl.evidence.judging.checkpoint import Checkpoint
    from knobctl.evidence.judging.judging import Bounds, Run, Spent, judged
    from knobctl.report.judge import projection_text
    from knobctl.report.progress import progress

    with Session(settings) as session, stopping_on_signals(session.stop):
        bench = settings_of(session)
        asked = _asked(session, bench, recording, wanted)
        panel = _panel(session, bench, wanted)
        way = _replay(session, bench, recording)
        checkpoint = Checkpoint(wanted.checkpoint, _about(way, recording, wanted, bench))
        known = checkpoint.outcomes()
        rest = [one for one in asked if one.question_id not in known]
        projection = _projection(way, panel, bench, rest)
        click.echo(projection_text(projection, len(asked) - len(rest)), err=True)
        if wanted.estimate:
            return Judged(code=ExitCode.OK)
        _consent(wanted, bench, projection)
        spent = Spent(bounds=Bounds(dollars=wanted.dollars, calls=wanted.calls))
        shows = settings.shows_progress
        with (
            checkpoint,
            progress(len(rest), "judging", sys.stderr, clock=time.monotonic, wanted=shows) as step,
            session.beside(step.make_room),
        ):
            run = Run(
                replay=way,
                panel=panel,
                checkpoint=checkpoint,
                spent=spent,
                nonce=lambda: secrets.token_hex(8),
                tell=step,
            )
            outcomes = judged(run, asked)
        return _judged(session, recording, panel, run, outcomes, len(asked), bench)


def _judged(
    session: Session,
    recording: Recording,
    panel: Panel,
    run: Run,
    outcomes: Mapping[str, Outcome | Excluded],
    asked: int,
    bench: BenchSettings,
) -> Judged:
    from knobctl.evidence.judging.checkpoint import Outcome
    from knobctl.evidence.judging.judging import with_labels

    if run.failures:
        session.notice(
            f"{count(len(run.failures), 'question')} without a verdict, the next run asks again; the first of them: {run.failures[0]}"
        )
    left = asked - len(outcomes)
    if left:
        why = "the bound is reached" if run.spent.exhausted.is_set() else "stopped"
        session.settings.say(
            f"{why}; {count(left, 'question')} not judged. Run it again with more to go on: what is paid for is kept"
        )
    heading = replace(recording.heading, judging=_judging(panel, outcomes, bench))
    code = ExitCode.PARTIAL if left else ExitCode.OK
    if run.failures and not any(isinstance(one, Outcome) for one in outcomes.values()):
        code = ExitCode.ENGINE  # nobody answered: what looks like success would be no label at all
    return Judged(
        code=code,
        heading=heading,
        questions=with_labels(recording.questions, outcomes),
    )


def _asked(
    session: Session, bench: BenchSettings, recording: Recording, wanted: Wanted
) -> list[Asked]:
    """The texts of the questions that have a score."""
    from knobctl.evidence.question_file import read_questions

    path = wanted.questions or heldout_path(session, bench)
    scored = {one.id for one in recording.questions if one.why is None}
    found = [one for one in read_questions(path) if one.question_id in scored]
    if len(found) < len(scored):
        raise InputError(
            f"{visible(str(path))} holds {len(found):,} of the {len(scored):,} questions that were replayed and scored",
            hint="a report holds no text; name the set that it was made of: --questions FILE",
        )
    return found


def _panel(session: Session, bench: BenchSettings, wanted: Wanted) -> Panel:
    from knobctl.evidence.judging.judging import Panel
    from knobctl.evidence.judging.models import Endpoint

    panel = Panel(
        endpoint=Endpoint(
            wanted.base_url,
            _key(wanted),
            retries=bench.call_retries,
            backoff_s=bench.call_retry_backoff_seconds,
        ),
        answering=model_of(session, wanted.answer_model),
        judges=tuple(model_of(session, name) for name in wanted.judge_models),
    )
    unpriced = [one.name for one in (panel.answering, *panel.judges) if one.price is None]
    if wanted.dollars is not None and unpriced:
        raise UsageError(
            f"--budget needs the price of {visible(unpriced[0])}",
            hint=f'in knobctl.toml: [llm.price_per_mtok] "{visible(unpriced[0])}" = [3.0, 15.0], dollars a million tokens read and written; or bound the calls: --max-calls',
        )
    return panel


def _key(wanted: Wanted) -> str | None:
    from knobctl.engine.tokens import TokenFile

    if wanted.key_file:
        return TokenFile(wanted.key_file, lambda _: None).token(None)
    return os.environ.get(KEY_VARIABLE) or None


def _replay(session: Session, bench: BenchSettings, recording: Recording) -> Replay:
    from knobctl.evidence.partial import assert_same_measurement
    from knobctl.evidence.replaying import Replay, heading_for

    heading, catalogue = recording.heading, session.catalogue
    way = Replay(
        engine=session.engine,
        catalogue=catalogue,
        live=session.engine.read(heading.tenant),
        top_k=heading.top_k,
        parallelism=bench.concurrency,
        stop=session.stop,
    )
    now = heading_for(
        way, kind=heading.engine, made_at=heading.made_at, questions=heading.questions
    )
    assert_same_measurement(recording, now)
    return way


def _about(
    way: Replay, recording: Recording, wanted: Wanted, bench: BenchSettings
) -> dict[str, object]:
    """All that a label depends on."""
    from knobctl.evidence.judging.prompts import prompt_digest

    heading = recording.heading
    return {
        "tenant": way.tenant,
        "encoder": heading.encoder,
        "corpus": heading.corpus.digest,
        "knobs": dict(heading.knobs),
        "top_k": heading.top_k,
        "answer_model": wanted.answer_model,
        "judge_models": list(wanted.judge_models),
        "base_url": wanted.base_url,
        "protocol": bench.judge_protocol,
        "prompts": prompt_digest(bench.judge_protocol),
    }


def _projection(
    way: Replay, panel: Panel, bench: BenchSettings, rest: Sequence[Asked]
) -> Projection:
    """Measure what each question's calls would read."""
    from knobctl.evidence.judging.cost import projected
    from knobctl.evidence.judging.judging import passages_of

    sizes = []
    for one in rest:
        passages = passages_of(way, one.question)
        context = sum(len(text) + _PER_HIT for text in passages)
        sizes.append((context, len(one.question)))
    return projected(sizes, panel.answering, panel.judges, bench.overheads)


def _consent(wanted: Wanted, bench: BenchSettings, projection: Projection) -> None:
    if wanted.yes or projection.calls <= bench.confirm_call_threshold:
        return
    if not has_terminal():
        raise RefusedError(
            f"{count(projection.calls, 'call')} need consent, and there is no terminal to ask on.",
            hint="No call was made. To consent on the command line: --yes; to see the cost alone: --estimate",
        )
    if not confirmed(f"Make {count(projection.calls, 'call')}?"):
        raise RefusedError("not confirmed; no call was made.")


def _judging(
    panel: Panel, outcomes: Mapping[str, Outcome | Excluded], bench: BenchSettings
) -> Judging:
    from knobctl.evidence.judging.checkpoint import Outcome
    from knobctl.evidence.judging.judging import agreement_of
    from knobctl.evidence.judging.prompts import prompt_digest
    from knobctl.evidence.recording import JudgedBy, Judging

    done = [one for one in outcomes.values() if isinstance(one, Outcome)]
    second = panel.judges[1].name if len(panel.judges) > 1 else None
    return Judging(
        by=JudgedBy.MODELS,
        digest=prompt_digest(bench.judge_protocol),
        protocol=bench.judge_protocol,
        answer_model=panel.answering.name,
        judge_model=panel.judges[0].name,
        second_judge_model=second,
        agreement=agreement_of(outcomes) if second else None,
        calls=sum(one.calls for one in done),
        input_tokens=sum(one.input_tokens for one in done),
        output_tokens=sum(one.output_tokens for one in done),
        cost_usd=_total(one.cost_usd for one in done),
        answer_cost_usd=_total(one.answer_cost_usd for one in done),
    )


def _total(costs: Iterable[float | None]) -> float | None:
    """Dollars of all; None where one is not known."""
    all_ = list(costs)
    known = [cost for cost in all_ if cost is not None]
    return round(sum(known), 6) if len(known) == len(all_) else None
