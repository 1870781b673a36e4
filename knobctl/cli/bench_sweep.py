"""`knobctl bench sweep`: what each of several floors would have refused."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from knobctl.evidence.sweeping import Compared


@click.command(short_help="What each of several floors would have refused.")
@click.argument("report", type=click.Path(path_type=Path), metavar="REPORT")
@click.option(
    "--floor",
    "floors",
    multiple=True,
    type=float,
    metavar="F",
    help="A floor to look at; repeatable. floors of knobctl.toml, else 0.10 to 0.40.",
)
@click.option(
    "--signal",
    type=click.Choice(["cosine", "fused"]),
    default="cosine",
    show_default=True,
    help="The score that the floors are held against.",
)
@click.option(
    "--source", metavar="SOURCE", help="Only questions of this source, such as mcp_query."
)
@click.option(
    "--compare",
    type=click.Path(path_type=Path),
    metavar="REPORT",
    help="Set another report over the same questions beside it.",
)
@common_options(formats=("text", "markdown", "json", "html"))
def sweep(
    settings: Settings,
    report: Path,
    floors: tuple[float, ...],
    signal: str,
    source: str | None,
    compare: Path | None,
) -> ExitCode:
    """Count what floors would have refused, over the scores that bench replay recorded.

    The refusal curve needs no labels. With labels (bench judge): of the questions that can be
    answered, the refused; of those that cannot, the passed; and both the other way around. A score
    equal to a floor passes. Every rate has its counts and its exact 95% interval; there is no
    aggregate score. No question stands in the answer.
    """
    from knobctl.cli.bench_settings import settings_of
    from knobctl.cli.session import Session
    from knobctl.evidence.reading import recording_at
    from knobctl.evidence.sweeping import ROLES, Signal, compared, configured_floor, swept
    from knobctl.report.sweep import sweep_text
    from knobctl.report.sweep_html import sweep_html
    from knobctl.report.sweep_json import sweep_json
    from knobctl.report.sweep_markdown import sweep_markdown

    with Session(settings, engine=False) as session:
        bench, catalogue = settings_of(session), session.catalogue
    recording, by = recording_at(report), Signal(signal)
    knob = catalogue.by_role[ROLES[by]].name if ROLES[by] in catalogue.by_role else None
    now = configured_floor(recording, knob)
    wanted = floors or (*bench.floors, *(() if now is None else (now,)))
    found = swept(recording, wanted, by, knob=knob, source=source)
    beside: tuple[Compared, ...] = ()
    if compare:
        other = swept(recording_at(compare), wanted, by, knob=knob, source=source)
        beside = tuple(compared(found, other))
    width = min(shutil.get_terminal_size((100, 24)).columns, 120)
    settings.answer(
        {
            "text": lambda: sweep_text(found, width=width, compare=beside),
            "markdown": lambda: sweep_markdown(found, compare=beside),
            "json": lambda: sweep_json(found, compare=beside),
            "html": lambda: sweep_html(found, compare=beside),
        }
    )
    return ExitCode.OK
