"""`simulate --record` and `--rankings`: what rankers find, kept, and sets simulated over it."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

from knobctl.cli.simulating import Found, assert_known_questions
from knobctl.errors import EngineError, ExitCode, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from knobctl.cli.session import Session
    from knobctl.cli.stopping import Stopping
    from knobctl.evidence.harvest.asked import Question
    from knobctl.evidence.rankings import Rankings
    from knobctl.evidence.simulating import Asked, Judged


def record(
    session: Session,
    tenant: str,
    asked: Sequence[tuple[Question, Asked]],
    output: Path,
    *,
    parallelism: int,
    stopping: Stopping,
) -> ExitCode:
    """Ask what the rankers find and keep it, for its owner alone; nothing where it was stopped.

    Raises:
        EngineError: If no question got an answer: then there is nothing to keep.
    """
    from knobctl.evidence.private_files import write_private
    from knobctl.evidence.rankings import written
    from knobctl.evidence.recording_rankings import Recorder, recorded
    from knobctl.report.progress import progress
    from knobctl.report.simulate_json import recorded_json

    recorder = Recorder(
        engine=session.engine,
        catalogue=session.catalogue,
        live=session.engine.read(tenant),
        parallelism=parallelism,
        stop=stopping.requested,
    )
    made_at = session.now().replace(microsecond=0)
    shows = session.settings.shows_progress
    with (
        progress(len(asked), "asking", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):
        heading, found = recorded(
            recorder, asked, kind=session.target.kind, made_at=made_at, tell=step
        )
    if stopping.requested.is_set():
        session.settings.say("stopped; nothing was written")
        return stopping.code or ExitCode.INTERRUPTED
    if recorder.failures:
        session.notice(
            f"{count(len(recorder.failures), 'question')} without an answer; the first of them: {visible(recorder.failures[0])}"
        )
    if not found:
        raise EngineError(f"{session.engine.name} answered none of the questions")
    write_private(output, (line.encode() for line in written(heading, found)))
    told = f"{count(len(found), 'question')} of {visible(tenant)}: what the rankers found under open floors"
    session.settings.answer(
        {
            "text": lambda: f"{told}\n{visible(str(output))}",
            "markdown": lambda: f"{told}\n",
            "json": lambda: recorded_json(heading, str(output), failed=len(asked) - len(found)),
        }
    )
    return ExitCode.OK


def given_rankings(
    session: Session, path: Path | None, runs: Sequence[str], queries: Path | None
) -> Rankings:
    """Read a recording, or runs of TREC.

    Raises:
        UsageError: If both are given, or a run is not named with its ranker.
    """
    from pathlib import Path

    from knobctl.evidence.judged_files import query_ids
    from knobctl.evidence.rankings import read_rankings
    from knobctl.evidence.trec_runs import rankings_of

    if path and runs:
        raise UsageError("--rankings and --run exclude each other")
    if path:
        return read_rankings(path, session.catalogue)
    named = dict(one.split("=", 1) for one in runs if "=" in one)
    if len(named) < len(runs):
        raise UsageError(
            "--run takes RANKER=FILE, each ranker once", hint="--run vector=run.vector"
        )
    return rankings_of(
        {name: Path(file) for name, file in named.items()},
        session.catalogue,
        ids=query_ids(queries) if queries else {},
        made_at=session.now().replace(microsecond=0),
    )


def over_rankings(
    session: Session, rankings: Rankings, tenant: str | None, typed: Sequence[str], judged: Judged
) -> Found:
    """Simulate what was typed over recorded rankings.

    Raises:
        UsageError: If the recording is of another tenant, or nothing would differ.
    """
    from knobctl.changes.single import judge_literals, read_assignments
    from knobctl.evidence.over_rankings import caveats, simulated_over

    catalogue = session.catalogue
    heading = rankings.heading
    if tenant not in {None, heading.tenant}:
        raise UsageError(f"{visible(rankings.source)} is a recording of {visible(heading.tenant)}")
    values, report = judge_literals(heading.tenant, read_assignments(typed, catalogue), catalogue)
    if report.errors:
        return Found(made_at=heading.made_at, report=report)
    before = catalogue.canonical(heading.configured)
    after = catalogue.canonical({**before, **values})
    if catalogue.effective(before) == catalogue.effective(after):
        raise UsageError(
            f"{visible(heading.tenant)} had these values when it was recorded: both sets would be the same"
        )
    assert_known_questions(judged, [one.asked for one in rankings.questions])
    found = simulated_over(rankings, catalogue, before, after, judged)
    return Found(
        made_at=heading.made_at,
        simulated=[found],
        digest=rankings.digest,
        caveats=[*caveats(rankings)],
    )
