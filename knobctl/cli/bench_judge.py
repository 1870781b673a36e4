"""`knobctl bench judge`: which of the replayed questions the corpus can answer."""

from __future__ import annotations

from pathlib import Path

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, InputError

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
    required=True,
    help="Labels by people, JSON Lines or CSV with a question and whether it is answerable; or qrels.",
)
@click.option(
    "--queries",
    type=REPORT,
    metavar="FILE",
    help="JSON Lines with id and text, where the labels name queries by ids of their own.",
)
@click.option(
    "--output",
    "output_",
    type=REPORT,
    metavar="REPORT",
    required=True,
    help="Where the labelled scores are written; no question stands in it.",
)
@common_options(copies=False)
def judge(
    settings: Settings,
    replay_from: Path,
    labels_file: Path,
    queries: Path | None,
    output_: Path,
) -> ExitCode:
    """Put labels on what bench replay recorded: which questions the corpus can answer.

    A question that nobody labelled stays without one and is in no rate of the sweep.
    """
    from knobctl.evidence.labels import labelled, read_labels
    from knobctl.evidence.private_files import write_private
    from knobctl.evidence.reading import recording_at
    from knobctl.evidence.recording import written
    from knobctl.report.judge import judge_json, judge_text

    recording = recording_at(replay_from)
    labels = read_labels(labels_file, queries)
    heading, found = labelled(recording.heading, recording.questions, labels)
    if not any(one.label for one in found):
        raise InputError(
            f"none of the {len(found):,} replayed questions is among the {len(labels):,} labelled ones",
            hint="labels name a question by its text or its id; data sets with ids of their own need --queries",
        )
    write_private(output_, (line.encode() for line in written(heading, found)))
    settings.answer(
        {
            "text": lambda: judge_text(found, str(output_)),
            "json": lambda: judge_json(found, str(output_)),
        }
    )
    return ExitCode.OK
