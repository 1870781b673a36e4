"""Where `knobctl recommend` has its scores from: a report, or the engine."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.errors import EngineError, InputError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction
    from pathlib import Path

    from knobctl.cli.session import Session
    from knobctl.evidence.bench_settings import BenchSettings
    from knobctl.evidence.harvest.asked import Question as Asked
    from knobctl.evidence.qrels import Qrels
    from knobctl.evidence.recording import Heading, Question, Recording
    from knobctl.evidence.replaying import Replay

_ALL = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """What the command line names."""

    tenant: str | None
    questions: Path | None
    report: Path | None
    labels: Path | None
    qrels: Path | None
    queries: Path | None
    limit: int | None
    parallelism: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """Labelled questions and what they scored."""

    recording: Recording
    answers: Mapping[str, float] | None = None
    """By question id, the best fused score of a chunk that answers it; None where nobody said which do."""

    @property
    def best_score(self) -> Fraction:
        """The best fused score that there is."""
        from knobctl.fusion import exact, reach

        heading = self.recording.heading
        return reach(heading.setup(exact(heading.floor))).best_score


def scores_of(session: Session, bench: BenchSettings, sources: Sources) -> Scored | None:
    """Read the scores, or ask for them; None where it was stopped.

    Raises:
        UsageError: If what is named does not go together.
        InputError: If a file is none, or no question of it is labelled.
        EngineError: If no question could be asked.
    """
    if sources.queries and not (sources.labels or sources.qrels):
        raise UsageError("--queries says nothing without --labels or --qrels")
    if sources.report:
        return _of_report(session, sources, sources.report)
    if not sources.tenant:
        raise UsageError("--questions needs --tenant: whose corpus is asked")
    if not (sources.labels or sources.qrels):
        raise UsageError(
            "--questions needs --labels or --qrels: which of them can be answered",
            hint='a line is {"question": "...", "answerable": true}; or let models judge: knobctl bench judge, then --report',
        )
    return _asked(session, bench, sources)


def _of_report(session: Session, sources: Sources, path: Path) -> Scored:
    from knobctl.evidence.reading import recording_at

    if sources.qrels or sources.limit or sources.parallelism:
        raise UsageError(
            "--qrels, --limit and --parallelism are for questions that are asked: --questions FILE",
            hint="a report says what the best chunk scored, not the one that answers",
        )
    recording = recording_at(path)
    if sources.tenant not in {None, recording.heading.tenant}:
        raise UsageError(
            f"{visible(str(path))} was measured for {visible(recording.heading.tenant)}, not for {visible(str(sources.tenant))}"
        )
    if sources.labels is None:
        return Scored(recording=recording)
    labels = _labels(session, sources, None, [one.id for one in recording.questions])
    return Scored(recording=_with_labels(recording, labels))


def _asked(session: Session, bench: BenchSettings, sources: Sources) -> Scored | None:
    from knobctl.evidence.labels import are_qrels
    from knobctl.evidence.qrels import read_qrels
    from knobctl.evidence.question_file import read_questions
    from knobctl.evidence.recording import Recording
    from knobctl.evidence.replaying import Replay, heading_for
    from knobctl.evidence.sampling import sampled

    assert sources.questions is not None
    assert sources.tenant is not None
    questions = sampled(
        read_questions(sources.questions), sources.limit or _ALL, seed=bench.sample_seed
    )
    if not questions:
        raise InputError(f"{visible(str(sources.questions))} holds no question")
    answers = sources.qrels or (
        sources.labels if sources.labels and are_qrels(sources.labels) else None
    )
    qrels = read_qrels(answers, sources.queries) if answers else None
    ids = [one.question_id for one in questions]
    labels = _labels(session, sources, qrels, ids)
    way = Replay(
        engine=session.engine,
        catalogue=session.catalogue,
        live=session.engine.read(sources.tenant),
        top_k=bench.top_k,
        parallelism=sources.parallelism or bench.concurrency,
        stop=session.stop,
        answering={one: qrels.relevant(one) for one in ids} if qrels else {},
    )
    made_at = session.now().replace(microsecond=0)
    heading = heading_for(way, kind=session.target.kind, made_at=made_at, questions=len(questions))
    found = _scores(session, way, heading, questions)
    if found is None:
        return None
    recording = Recording(
        source=str(sources.questions), digest="", heading=heading, questions=tuple(found)
    )
    return Scored(
        recording=_with_labels(recording, labels), answers=way.answer_scores if qrels else None
    )


def _scores(
    session: Session, way: Replay, heading: Heading, questions: Sequence[Asked]
) -> list[Question] | None:
    from knobctl.evidence.recording import Why
    from knobctl.evidence.replaying import replayed
    from knobctl.report.progress import progress

    shows = session.settings.shows_progress
    with (
        progress(len(questions), "asking", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):
        found = [*replayed(way, heading, questions, lambda _: step())]
    if way.failures:
        session.notice(
            f"{count(len(way.failures), 'question')} without a score; the first of them: {way.failures[0]}"
        )
    if len(found) < len(questions):
        return None
    if all(one.why is Why.FAILED for one in found):
        raise EngineError(f"{session.engine.name} answered none of the questions")
    return found


def _labels(
    session: Session, sources: Sources, qrels: Qrels | None, ids: Sequence[str]
) -> dict[str, bool]:
    """Which of the questions can be answered, by labels, and where there are none by qrels."""
    from knobctl.evidence.labels import read_labels
    from knobctl.evidence.simulating import NO_QRELS, Judged

    judged = Judged(
        qrels=qrels or NO_QRELS,
        labels=read_labels(sources.labels, sources.queries) if sources.labels else {},
    )
    stated = {one: judged.answerable(one) for one in ids}
    found = {one: label for one, label in stated.items() if label is not None}
    if not found:
        raise InputError(
            f"none of the {len(ids):,} questions is among the labelled ones",
            hint="labels name a question by its text or its id; data sets with ids of their own need --queries",
        )
    strangers = len({*judged.labels, *judged.qrels.by_question}.difference(ids))
    if strangers and not sources.limit:
        is_not = "is not" if strangers == 1 else "are not"
        session.notice(
            f"{count(strangers, 'labelled question')} {is_not} among the {len(ids):,} that were asked, and in no figure"
        )
    return found


def _with_labels(recording: Recording, labels: Mapping[str, bool]) -> Recording:
    from knobctl.evidence.labels import labelled

    heading, questions = labelled(recording.heading, recording.questions, labels)
    return replace(recording, heading=heading, questions=tuple(questions))
