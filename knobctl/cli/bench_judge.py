"""`knobctl bench judge`: which of the replayed questions the corpus can answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import FiniteRange, Settings, common_options
from knobctl.cli.output_files import SCORES, file_of
from knobctl.errors import ExitCode, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.evidence.recording import Heading, Question, Recording

REPORT = click.Path(path_type=Path)


@click.command(short_help="Say which replayed questions the corpus can answer.")
@click.option(
    "--replay-from", type=REPORT, metavar="REPORT", required=True, help="What bench replay wrote."
)
@click.option(
    "--labels",
    "labels_file",
    type=REPORT,
    metavar="FILE",
    help="Labels by people, JSON Lines or CSV with a question and whether it is answerable; or qrels.",
)
@click.option(
    "--queries",
    type=REPORT,
    metavar="FILE",
    help="JSON Lines with id and text, where the labels name queries by ids of their own.",
)
@click.option(
    "--base-url",
    metavar="URL",
    help="An OpenAI-compatible endpoint, such as https://api.example/v1. Its key: KNOBCTL_LLM_KEY, or --key-file.",
)
@click.option("--answer-model", metavar="NAME", help="Answers each question, the floors open.")
@click.option("--judge-model", metavar="NAME", help="Judges each answer.")
@click.option(
    "--second-judge-model",
    metavar="NAME",
    help="Judges them too; how often both agree is reported.",
)
@click.option("--key-file", type=REPORT, metavar="FILE", help="File that holds the endpoint's key.")
@click.option(
    "--questions",
    "questions_file",
    type=REPORT,
    metavar="FILE",
    help="The held-out set that was replayed; its usual place if not given.",
)
@click.option("--estimate", is_flag=True, help="Print what it would cost, and stop.")
@click.option("--yes", is_flag=True, help="Do not ask before the calls.")
@click.option(
    "--budget",
    type=FiniteRange(min=0, min_open=True),
    metavar="DOLLARS",
    help="Begin no question once so much is spent; needs the models' prices.",
)
@click.option(
    "--max-calls",
    type=click.IntRange(1),
    metavar="N",
    help="Begin no question after so many calls.",
)
@click.option(
    "--checkpoint",
    type=REPORT,
    metavar="FILE",
    help="Where paid labels are kept, so that none is paid for twice; beside the report if not given.",
)
@click.option(
    "--output",
    "output_",
    type=REPORT,
    metavar="REPORT",
    callback=file_of(SCORES, in_new_folders=True),
    help="Where the labelled scores are written; no question stands in it.",
)
@common_options(engine=True, rate=True, copies=False)
def judge(
    settings: Settings,
    replay_from: Path,
    labels_file: Path | None,
    queries: Path | None,
    base_url: str | None,
    answer_model: str | None,
    judge_model: str | None,
    second_judge_model: str | None,
    key_file: Path | None,
    questions_file: Path | None,
    estimate: bool,
    yes: bool,
    budget: float | None,
    max_calls: int | None,
    checkpoint: Path | None,
    output_: Path | None,
) -> ExitCode:
    """Put labels on what bench replay recorded: which questions the corpus can answer.

    Labels come from people (--labels), or from language models: one answers each question from what
    the tenant's engine finds under open floors, another judges whether the answer is supported and
    settles the question. The tenant's set is never written. What it may cost is printed before the
    first call, and prices stand in knobctl.toml (llm.price_per_mtok).

    A question that nobody labelled stays without a label and is in no rate of the sweep.
    """
    from knobctl.cli.judging import Wanted, by_models
    from knobctl.evidence.reading import recording_at

    models = (base_url, answer_model, judge_model)
    if bool(labels_file) == any(models):
        raise UsageError(
            "labels come from --labels FILE, or from --base-url, --answer-model and --judge-model",
            hint="choose one of the two",
        )
    if output_ is None and not estimate:
        raise UsageError("--output REPORT is missing: where the labelled scores are written")
    recording = recording_at(replay_from)
    if labels_file:
        heading, found = _by_people(recording, labels_file, queries)
        return _write(settings, heading, found, output_, ExitCode.OK)
    if not all(models):
        raise UsageError("models judge with --base-url, --answer-model and --judge-model together")
    wanted = Wanted(
        base_url=base_url or "",
        answer_model=answer_model or "",
        judge_models=tuple(filter(None, (judge_model, second_judge_model))),
        key_file=key_file,
        questions=questions_file,
        estimate=estimate,
        yes=yes,
        dollars=budget,
        calls=max_calls,
        checkpoint=checkpoint or replay_from.with_name(f"{replay_from.name}.judged"),
    )
    judged = by_models(settings, recording, wanted)
    if judged.heading is None:
        return judged.code
    return _write(settings, judged.heading, judged.questions, output_, judged.code)


def _by_people(
    recording: Recording, labels_file: Path, queries: Path | None
) -> tuple[Heading, list[Question]]:
    from knobctl.evidence.labels import labelled, read_labels

    labels = read_labels(labels_file, queries)
    heading, found = labelled(recording.heading, recording.questions, labels)
    if not any(one.label for one in found):
        raise InputError(
            f"none of the {len(found):,} replayed questions is among the {len(labels):,} labelled ones",
            hint="labels name a question by its text or its id; data sets with ids of their own need --queries",
        )
    return heading, found


def _write(
    settings: Settings,
    heading: Heading,
    questions: Sequence[Question],
    output: Path | None,
    code: ExitCode,
) -> ExitCode:
    from knobctl.evidence.private_files import write_private
    from knobctl.evidence.recording import written
    from knobctl.report.judge import judge_json, judge_text

    assert output is not None
    write_private(output, (line.encode() for line in written(heading, questions)))
    settings.answer(
        {
            "text": lambda: judge_text(heading, questions, str(output)),
            "json": lambda: judge_json(heading, questions, str(output), code),
        }
    )
    return code
