"""`knobctl bench replay`: what each question scores, without an LLM call."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.output_files import SCORES, file_of
from knobctl.cli.question_options import MOST_QUESTIONS, calls_option, limit_option
from knobctl.errors import ExitCode, InputError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.cli.session import Session
    from knobctl.evidence.harvest.asked import Question as Asked
    from knobctl.evidence.recording import Heading, Question
    from knobctl.evidence.replaying import Replay

MOST_RESULTS = 500


@click.command(short_help="Record what each question scores; nothing is written to the engine.")
@click.option(
    "--questions",
    "questions_file",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The held-out set of bench harvest; its usual place if not given.",
)
@click.option("--tenant", required=True, metavar="TENANT", help="Whose corpus is asked.")
@click.option(
    "--top-k",
    type=click.IntRange(1, MOST_RESULTS),
    help="So many of the best results go into the cosines. top_k of knobctl.toml, else 40.",
)
@limit_option
@click.option(
    "--output",
    "output_",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    required=True,
    callback=file_of(SCORES, in_new_folders=True),
    help="Where the scores are written; no question stands in it.",
)
@click.option("--resume", is_flag=True, help="Go on where an interrupted replay into REPORT ended.")
@click.option(
    "--replay-from",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    help="Take over the scores of an earlier replay of the same corpus; the rest is asked.",
)
@calls_option
@common_options(engine=True, rate=True, copies=False)
def replay(
    settings: Settings,
    questions_file: Path | None,
    tenant: str,
    top_k: int | None,
    limit: int | None,
    output_: Path,
    resume: bool,
    replay_from: Path | None,
    parallelism: int | None,
) -> ExitCode:
    """Put each question to the engine's ranking half under open floors, and record what it scores.

    The best fused score and its ranks per ranker, the largest cosine among the best results, the
    nearest chunk, the margin: so that floors of either kind can be swept afterwards. It goes through
    Evaluate: no LLM is called, and the tenant's set stays as it is. A question that cannot be asked
    is counted and ends nothing.
    """
    from knobctl.cli.bench_settings import heldout_path, settings_of
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import stopping_on_signals
    from knobctl.evidence.question_file import read_questions
    from knobctl.evidence.recording import Why
    from knobctl.evidence.replaying import Replay, heading_for
    from knobctl.evidence.sampling import sampled
    from knobctl.report.replay import replay_json, replay_text

    with Session(settings) as session, stopping_on_signals(session.stop) as stopping:
        bench = settings_of(session)
        path = questions_file or heldout_path(session, bench)
        questions = read_questions(path)
        if not questions:
            raise InputError(
                f"{visible(str(path))} holds no question", hint="gather some: knobctl bench harvest"
            )
        asked = sampled(questions, limit or MOST_QUESTIONS, seed=bench.sample_seed)
        engine, catalogue = session.engine, session.catalogue
        way = Replay(
            engine=engine,
            catalogue=catalogue,
            live=engine.read(tenant),
            top_k=top_k or bench.top_k,
            parallelism=parallelism or bench.concurrency,
            stop=stopping.requested,
        )
        heading = heading_for(
            way,
            kind=session.target.kind,
            made_at=session.now().replace(microsecond=0),
            questions=len(asked),
        )
        found = _scores(session, way, heading, asked, output_, resume=resume, earlier=replay_from)
        if found is None:
            settings.say(
                f"stopped; go on with it: knobctl bench replay --resume, and the same options. What was scored is in {visible(str(output_))}.partial"
            )
            return stopping.code or ExitCode.INTERRUPTED
    # Every question refused is no measurement: what looks like success would be a gap nobody sees.
    code = ExitCode.ENGINE if all(one.why is Why.FAILED for one in found) else ExitCode.OK
    settings.answer(
        {
            "text": lambda: replay_text(heading, found, str(output_)),
            "json": lambda: replay_json(heading, found, str(output_), code),
        }
    )
    return code


def _scores(
    session: Session,
    way: Replay,
    heading: Heading,
    asked: Sequence[Asked],
    output: Path,
    *,
    resume: bool,
    earlier: Path | None,
) -> list[Question] | None:
    """Ask what is not known, and write all of it; None where it was stopped."""
    from knobctl.evidence.partial import noting, partial_path
    from knobctl.evidence.private_files import write_private
    from knobctl.evidence.recording import written
    from knobctl.evidence.replaying import replayed
    from knobctl.report.progress import progress

    partial = partial_path(output)
    known = _known(heading, asked, partial if resume else None, earlier)
    rest = [one for one in asked if one.question_id not in known]
    if known:
        session.settings.say(
            f"{count(len(asked), 'question')}, {len(known):,} of them scored already"
        )
    shows = session.settings.shows_progress
    with (
        noting(partial, heading, known.values()) as note,
        progress(len(rest), "asking", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):

        def tell(question: Question) -> None:
            note(question)
            step()

        found = {one.id: one for one in replayed(way, heading, rest, tell)} | known
    if way.failures:
        session.notice(
            f"{count(len(way.failures), 'question')} without a score; the first of them: {way.failures[0]}"
        )
    if len(found) < len(asked):
        return None
    scores = [found[one.question_id] for one in asked]
    write_private(output, (line.encode() for line in written(heading, scores)))
    partial.unlink(missing_ok=True)
    return scores


def _known(
    heading: Heading, asked: Sequence[Asked], partial: Path | None, earlier: Path | None
) -> dict[str, Question]:
    from knobctl.evidence.partial import known_scores

    ids = [one.question_id for one in asked]
    known: dict[str, Question] = {}
    if earlier:
        known |= known_scores(earlier, heading, ids, whole=True)
    if partial:
        if not partial.exists():
            raise UsageError(f"there is no {visible(str(partial))} to go on with")
        known |= known_scores(partial, heading, ids, whole=False)
    return known
