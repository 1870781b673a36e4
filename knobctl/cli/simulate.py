"""`knobctl simulate`: what another set would do to questions, before it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.completing import complete_assignments
from knobctl.cli.options import Settings, common_options
from knobctl.cli.output_files import RANKINGS, file_of
from knobctl.cli.question_options import MOST_QUESTIONS, calls_option, evidence_output, limit_option
from knobctl.cli.selection import complete_tenants, selection_of, selection_options
from knobctl.errors import EngineError, ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.cli.session import Session
    from knobctl.cli.simulating import Found
    from knobctl.evidence.harvest.asked import Question
    from knobctl.evidence.ranking_measures import Measure
    from knobctl.evidence.simulating import Asked
    from knobctl.evidence.simulation import Summary

FILE = click.Path(path_type=Path)


@click.command(name="simulate")
@click.argument("paths", nargs=-1, metavar="[PATH...]")
@click.option(
    "--tenant", metavar="TENANT", shell_complete=complete_tenants, help="Whose live set is changed."
)
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KNOB=VALUE",
    shell_complete=complete_assignments,
    help="What would change in it; repeatable. 0 goes back to the platform default.",
)
@click.option(
    "--questions",
    "questions_file",
    type=FILE,
    metavar="FILE",
    help="The held-out set of bench harvest; its usual place if not given.",
)
@limit_option
@click.option(
    "--qrels",
    type=FILE,
    metavar="FILE",
    help="Which documents or chunks answer which question, as TREC writes it.",
)
@click.option(
    "--queries",
    type=FILE,
    metavar="FILE",
    help="JSON Lines with id and text, where qrels or labels name queries by ids of their own.",
)
@click.option(
    "--labels",
    "labels_file",
    type=FILE,
    metavar="FILE",
    help="Which questions the corpus can answer, as for bench judge; beside qrels these count.",
)
@click.option(
    "--metric",
    metavar="MEASURE,...",
    help="Measures of ranking over the qrels; recall@12,ndcg@10,rr@10 if not given.",
)
@click.option(
    "--trec-out",
    type=FILE,
    metavar="DIR",
    help="Write run.before, run.after and qrels there, for trec_eval and the like.",
)
@click.option(
    "--record",
    "record_",
    type=FILE,
    callback=file_of(RANKINGS),
    metavar="FILE",
    help="Record instead what the tenant's rankers find, under open floors: ids, ranks, scores, no text.",
)
@click.option(
    "--rankings",
    type=FILE,
    metavar="FILE",
    help="Simulate over such a recording, without an engine.",
)
@click.option(
    "--run",
    "runs",
    multiple=True,
    metavar="RANKER=FILE",
    help="The same over runs of TREC, one a ranker; repeatable. The other rankers and the expansion pass are off.",
)
@click.option("--layer", metavar="NAME", help="Of the documents, the tenants that take this layer.")
@click.option(
    "--sample",
    "most",
    type=click.IntRange(1),
    metavar="N",
    help="Of them so many, drawn by the seed; the evidence lists which.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Of the draw and of tests; sample_seed of knobctl.toml if not given.",
)
@evidence_output
@calls_option
@selection_options
@common_options(engine=True, rate=True, formats=("text", "json", "markdown"), copies=False)
def command(
    settings: Settings,
    paths: tuple[str, ...],
    tenant: str | None,
    assignments: tuple[str, ...],
    questions_file: Path | None,
    limit: int | None,
    qrels: Path | None,
    queries: Path | None,
    labels_file: Path | None,
    metric: str | None,
    trec_out: Path | None,
    record_: Path | None,
    rankings: Path | None,
    runs: tuple[str, ...],
    layer: str | None,
    most: int | None,
    seed: int | None,
    output_: Path | None,
    parallelism: int | None,
    labels: tuple[str, ...],
    where: str | None,
) -> ExitCode:
    """Put questions to the engine under two sets, and say what changes for them; nothing is written.

    The sets: what a tenant has live, and the same with --set; or, for the tenants of PATH, what they
    have live and what the documents say. What counts is what the model would get to see: the chunks of
    the prompt, as AssembleContext would put them.

    --record keeps what the rankers found, so that any set can be simulated over it later with --rankings.

    With --qrels: how many questions lose what answers them, by which rankers had found it, and measures
    of ranking. With --labels alone: how many lose their whole context. No question stands in the answer.
    """
    from knobctl.cli.bench_settings import settings_of
    from knobctl.cli.choosing import answer_errors
    from knobctl.cli.recorded_rankings import given_rankings, over_rankings, record
    from knobctl.cli.session import Session
    from knobctl.cli.simulating import (
        Drawing,
        asked_of_engine,
        document_sets,
        read_judged,
        typed_sets,
    )
    from knobctl.cli.stopping import stopping_on_signals

    given = rankings or runs
    typed = _assignments(paths, tenant or given, assignments)
    wanted = _Wanted(
        tenant=tenant, typed=typed, layer=layer, most=most, narrowed=bool(labels or where)
    )
    if record_:
        judging = qrels or queries or labels_file or metric or trec_out or output_
        _refuse_beside_record(wanted, given or judging or paths)
    elif given:
        _refuse_beside_rankings(wanted, questions_file or limit)
        if runs and output_:
            raise UsageError("runs are no evidence: they do not say of whose corpus they are")
    else:
        _refuse_mixed(wanted)
    with (
        Session(settings, engine=not given) as session,
        stopping_on_signals(session.stop) as stop,
    ):
        bench = settings_of(session)
        workers = parallelism or bench.concurrency
        if record_:
            asked = _questions(session, questions_file, limit)
            return record(session, str(tenant), asked, record_, parallelism=workers, stopping=stop)
        chance = bench.sample_seed if seed is None else seed
        judged = read_judged(qrels, labels_file, queries)
        measures = _measures(metric, has_qrels=judged.has_qrels)
        if given:
            source = given_rankings(session, rankings, runs, queries)
            found = over_rankings(session, source, tenant, typed, judged)
        else:
            drawing = Drawing(
                selection=selection_of((), labels, where), layer=layer, most=most, seed=chance
            )
            asked = _questions(session, questions_file, limit)
            found = asked_of_engine(
                session,
                typed_sets(session, tenant, typed)
                if tenant
                else document_sets(session, paths, drawing),
                asked,
                judged,
                parallelism=workers,
                stop=stop.requested,
            )
        if found.report:
            return answer_errors(session, "simulate", found.report)
        if stop.requested.is_set():
            settings.say("stopped; nothing was written")
            return stop.code or ExitCode.INTERRUPTED
        summaries = _summaries(session, found, measures, chance)
        _write_files(session, summaries, found, output=output_, trec_out=trec_out)
    _answer(settings, summaries, found)
    return ExitCode.OK


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What the command line asks to be compared."""

    tenant: str | None
    typed: tuple[str, ...]
    layer: str | None
    most: int | None
    narrowed: bool

    @property
    def chooses_documents(self) -> bool:
        """Whether it says of which documents."""
        return bool(self.layer or self.most or self.narrowed)


def _assignments(paths: Sequence[str], one: object, assignments: Sequence[str]) -> tuple[str, ...]:
    """What is to be set: what follows the first of them is one of them too, unless it is a file."""
    if not (one and assignments):
        return tuple(assignments)
    files = [path for path in paths if "=" not in path or Path(path).exists()]
    if files:
        raise UsageError(
            f"{files[0]} and --set exclude each other",
            hint="name documents, or one tenant's change",
        )
    return (*assignments, *paths)


def _refuse_mixed(wanted: _Wanted) -> None:
    if bool(wanted.tenant) != bool(wanted.typed):
        raise UsageError(
            "--tenant and --set go together",
            hint="knobctl simulate --tenant acme --set retrieval_min_score=0.34, or name documents: knobctl simulate tenants/",
        )
    if wanted.tenant and (wanted.layer or wanted.narrowed):
        raise UsageError("--layer, -l and --where choose among documents; --tenant names one")
    if wanted.most and not wanted.layer:
        raise UsageError("--sample says nothing without --layer")
    if wanted.layer and wanted.narrowed:
        raise UsageError(
            "a part of a layer's tenants, chosen by -l or --where, does not stand for all of them",
            hint="leave them out; --sample draws by lot",
        )


def _refuse_beside_record(wanted: _Wanted, others: object) -> None:
    if others or wanted.typed or wanted.chooses_documents or not wanted.tenant:
        raise UsageError(
            "--record takes a --tenant and its questions; what would change, and by what it is judged, is said later",
            hint="knobctl simulate --tenant acme --record FILE, then: knobctl simulate --rankings FILE --set KNOB=VALUE",
        )


def _refuse_beside_rankings(wanted: _Wanted, questions: object) -> None:
    if not wanted.typed or wanted.chooses_documents:
        raise UsageError("--rankings and --run take --set: what would change")
    if questions:
        raise UsageError("the questions are those of --rankings or --run")


def _questions(
    session: Session, path: Path | None, limit: int | None
) -> list[tuple[Question, Asked]]:
    from knobctl.cli.bench_settings import heldout_path, settings_of
    from knobctl.evidence.question_file import read_questions, read_tags
    from knobctl.evidence.sampling import sampled
    from knobctl.evidence.simulating import Asked
    from knobctl.text import visible

    bench = settings_of(session)
    path = path or heldout_path(session, bench)
    questions, tags = read_questions(path), read_tags(path)
    if not questions:
        raise InputError(
            f"{visible(str(path))} holds no question", hint="gather some: knobctl bench harvest"
        )
    asked = sampled(questions, limit or MOST_QUESTIONS, seed=bench.sample_seed)
    return [
        (
            one,
            Asked(id=one.question_id, source=one.source, tags=tags.get(one.question_id, ())),
        )
        for one in asked
    ]


def _measures(metric: str | None, *, has_qrels: bool) -> Sequence[Measure]:
    if metric and not has_qrels:
        raise UsageError(
            "--metric needs --qrels: without them nobody knows what answers a question"
        )
    if not has_qrels:
        return ()
    from knobctl.evidence.ranking_measures import DEFAULT, measures_named

    return measures_named(metric or DEFAULT)


def _summaries(
    session: Session, found: Found, measures: Sequence[Measure], seed: int
) -> list[Summary]:
    """All tenants together; then, where there are several, each by itself.

    Raises:
        EngineError: If no question got an answer: that is no measurement.
    """
    from knobctl.evidence.simulation import summed_up, together, unseen_knobs

    whole = together(found.simulated, session.catalogue.rankers)
    if not whole.pairs:
        raise EngineError("none of the questions got an answer under both sets")
    changed = sorted({name for one in found.simulated for name in one.changed_knobs})
    unseen = unseen_knobs(session.catalogue, changed)
    caveats = [
        *found.caveats,
        *(f"{name} changes nothing of what is simulated." for name in unseen),
    ]
    several = found.simulated if len(found.simulated) > 1 else ()
    if several:
        caveats.append(
            "Each tenant was asked the same questions; the intervals count every answer as one of its own, and tenants that resemble each other make them too narrow."
        )
    return [
        summed_up(whole, measures, seed=seed, caveats=caveats),
        *(summed_up(one, (), seed=seed) for one in several),
    ]


def _write_files(
    session: Session,
    summaries: Sequence[Summary],
    found: Found,
    *,
    output: Path | None,
    trec_out: Path | None,
) -> None:
    """Write the record of evidence, and the runs."""
    if output:
        from knobctl.evidence.evidence_file import write_evidence
        from knobctl.evidence.simulation_record import record_of

        record_ = record_of(
            summaries[0], session.catalogue, made_at=found.made_at, sample=found.sample
        )
        write_evidence(output, record_)
    if trec_out:
        from knobctl.evidence.trec_files import write_runs

        _, *tenants = summaries
        for one in tenants or summaries:
            folder = trec_out / one.simulated.tenant if tenants else trec_out
            write_runs(folder, one.simulated)


def _answer(settings: Settings, summaries: Sequence[Summary], found: Found) -> None:
    from knobctl.report.simulate import simulate_text
    from knobctl.report.simulate_json import simulate_json
    from knobctl.report.simulate_markdown import simulate_markdown

    made_at = found.made_at
    settings.answer(
        {
            "text": lambda: simulate_text(
                summaries, made_at=made_at, everything=bool(settings.verbose)
            ),
            "json": lambda: simulate_json(
                summaries, made_at=made_at, sample=found.sample, recorded=found.digest
            ),
            "markdown": lambda: simulate_markdown(summaries, made_at=made_at),
        }
    )
