"""`knobctl recommend`: the largest floor that loses few of the questions that can be answered."""

from __future__ import annotations

import shlex
import shutil
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.options import FiniteRange, Settings, common_options
from knobctl.cli.question_options import calls_option, evidence_output
from knobctl.cli.selection import complete_tenants
from knobctl.errors import ExitCode, UsageError
from knobctl.text import spelled

if TYPE_CHECKING:
    from knobctl.cli.recommending import Scored
    from knobctl.evidence.recommending import Recommended
    from knobctl.evidence.sweeping import Signal

FILE = click.Path(path_type=Path)
WIDEST = 120
LEAST_SHARE = Fraction(1, 10_000)
"""Of a bound or a doubt: a smaller one takes more questions than anybody labels."""

_MOST_PERCENT: Final = 100


def _share(_ctx: click.Context, option: click.Parameter, text: str) -> float:
    """Read a share, written as `2%` or `0.02`."""
    number = text.strip().removesuffix("%")
    try:
        # As a double first: of 1e999999999 there is no exact form in any reasonable time.
        share = Fraction(number if 0 < float(number) <= _MOST_PERCENT else 0)
    except ValueError as error:
        raise UsageError(f"{option.opts[0]} {text} is no share; write it as 2% or 0.02") from error
    if "%" in text:
        share /= 100
    if not LEAST_SHARE <= share <= 1 - LEAST_SHARE:
        meant = 1 <= share < _MOST_PERCENT
        raise UsageError(
            f"{option.opts[0]} {text} must lie between 0.01% and 99.99%",
            hint=f"if {text}% is meant, write {text}% or {float(share / 100):g}" if meant else None,
        )
    return float(share)


@click.command(name="recommend")
@click.option(
    "--tenant", metavar="TENANT", shell_complete=complete_tenants, help="Whose corpus is asked."
)
@click.option(
    "--questions",
    "questions_file",
    type=FILE,
    metavar="FILE",
    help="The held-out set of bench harvest, asked here and now.",
)
@click.option(
    "--report",
    type=FILE,
    metavar="REPORT",
    help="Instead: what bench replay wrote, or bench judge with its labels.",
)
@click.option(
    "--labels",
    "labels_file",
    type=FILE,
    metavar="FILE",
    help="Which questions the corpus can answer, as for bench judge; qrels say by what as well.",
)
@click.option(
    "--qrels",
    type=FILE,
    metavar="FILE",
    help="Which documents or chunks answer which question: for a fused floor, a question is lost with them.",
)
@click.option(
    "--queries",
    type=FILE,
    metavar="FILE",
    help="JSON Lines with id and text, where labels or qrels name queries by ids of their own.",
)
@click.option(
    "--signal",
    type=click.Choice(["cosine", "fused"]),
    default="cosine",
    show_default=True,
    help="cosine: no_match_min_cosine, the gate that can say nothing is relevant. fused: retrieval_min_score.",
)
@click.option(
    "--max-loss",
    callback=_share,
    default="2%",
    show_default=True,
    metavar="P%",
    help="Of all answerable questions, the largest share that may be lost.",
)
@click.option(
    "--confidence",
    callback=_share,
    default="95%",
    show_default=True,
    metavar="P%",
    help="How often samples of questions give a floor that keeps to it, at least.",
)
@click.option(
    "--step",
    type=FiniteRange(0.0001, 0.5),
    metavar="F",
    help="Floors that are tried: its multiples. 0.01, finer on an engine whose scores are smaller.",
)
@click.option(
    "--seed",
    type=click.IntRange(0),
    metavar="N",
    help="Of the tenths that are held out; sample_seed of knobctl.toml if not given.",
)
@click.option(
    "--limit",
    type=click.IntRange(1),
    metavar="N",
    help="So many questions at most, of each source its share; the same ones each time.",
)
@evidence_output
@calls_option
@common_options(engine=True, rate=True, formats=("text", "json", "markdown"), copies=False)
def command(
    settings: Settings,
    tenant: str | None,
    questions_file: Path | None,
    report: Path | None,
    labels_file: Path | None,
    qrels: Path | None,
    queries: Path | None,
    signal: str,
    max_loss: float,
    confidence: float,
    step: float | None,
    seed: int | None,
    limit: int | None,
    output_: Path | None,
    parallelism: int | None,
) -> ExitCode:
    """Name the largest floor that loses at most a stated share of answerable questions, or what is missing.

    Floors are tried from the lowest up, in an order fixed beforehand, until the exact interval of the
    loss no longer ends at or under --max-loss: so the bound holds with the stated confidence however
    many are tried. How many questions are lost is told of held-out ones besides, each judged by a floor
    in whose choice it had no part. Where too few questions are labelled, none is named (exit 6), and the
    answer says how many are missing.

    The questions are put to the engine's ranking half under open floors; nothing is written.
    """
    from knobctl.cli.bench_settings import settings_of
    from knobctl.cli.recommending import Sources, scores_of
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import stopping_on_signals
    from knobctl.evidence.bounded_floor import Bound
    from knobctl.evidence.evidence_file import write_evidence
    from knobctl.evidence.recommendation_record import record_of
    from knobctl.evidence.recommending import recommended
    from knobctl.evidence.sweeping import ROLES, Signal

    if bool(report) == bool(questions_file):
        raise UsageError(
            "scores come from --questions FILE with --labels FILE, or from --report REPORT",
            hint="choose one of the two",
        )
    sources = Sources(
        tenant=tenant,
        questions=questions_file,
        report=report,
        labels=labels_file,
        qrels=qrels,
        queries=queries,
        limit=limit,
        parallelism=parallelism,
    )
    by = Signal(signal)
    with Session(settings, engine=report is None) as session:
        bench, catalogue = settings_of(session), session.catalogue
        if ROLES[by] not in catalogue.by_role:
            raise UsageError(f"this engine's schema has no knob that is a {signal} floor")
        with stopping_on_signals(session.stop) as stopping:
            scores = scores_of(session, bench, sources)
        if scores is None:
            settings.say("stopped; nothing was written")
            return stopping.code or ExitCode.INTERRUPTED
        bound = Bound(
            max_loss=max_loss,
            confidence=confidence,
            floors=_floors(scores, by, step),
            seed=bench.sample_seed if seed is None else seed,
        )
        knob = catalogue.by_role[ROLES[by]].name
        found = recommended(scores.recording, by, bound, knob=knob, answers=scores.answers)
        if output_ and found.chosen:
            write_evidence(output_, record_of(found, catalogue))
    return _answer(settings, found, output_)


def _floors(scores: Scored, signal: Signal, step: float | None) -> tuple[float, ...]:
    """The floors to try: fixed by the scale alone, before a score is looked at."""
    from knobctl.evidence.bounded_floor import rounded_floors
    from knobctl.evidence.sweeping import Signal

    most = scores.best_score if signal is Signal.FUSED else Fraction(1)
    floors = rounded_floors(Fraction(repr(step)) if step else step_of(most), most)
    if not floors:
        raise UsageError(f"--step {step:g} is above the best score there is, {float(most):.3g}")
    return floors


def step_of(most: Fraction) -> Fraction:
    """A hundredth of the best score, or the power of ten below it."""
    step = Fraction(1, 100)
    while step * 100 > most:
        step /= 10
    return step


def _answer(settings: Settings, found: Recommended, output: Path | None) -> ExitCode:
    from knobctl.report.recommend import recommend_text
    from knobctl.report.recommend_json import recommend_json
    from knobctl.report.recommend_markdown import recommend_markdown

    code = ExitCode.OK if found.chosen else ExitCode.REFUSED
    width = min(shutil.get_terminal_size((100, 24)).columns, WIDEST)
    plan_with = _command(found, output)
    settings.answer(
        {
            "text": lambda: recommend_text(found, width=width, plan_with=plan_with),
            "json": lambda: recommend_json(found, code=code, plan_with=plan_with),
            "markdown": lambda: recommend_markdown(found, plan_with=plan_with),
        }
    )
    return code


def _command(found: Recommended, output: Path | None) -> str:
    """The commands that write the floor into the tenant's document and plan it, with its evidence."""
    if found.chosen is None:
        return ""
    assignment = f"{found.knob}={spelled(found.chosen.floor)}"
    evidence = ["--evidence", str(output)] if output else []
    write = ["knobctl", "set", found.heading.tenant, assignment, "--file", *evidence]
    return f"{shlex.join(write)} && {shlex.join(['knobctl', 'plan', *evidence])}"
