"""`knobctl diagnose`: what one answer of an engine means, and what to do about it."""

from __future__ import annotations

import json

import click

from knobctl.cli.completing import complete_assignments
from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import complete_tenants
from knobctl.errors import ExitCode


@click.command()
@click.argument("files", nargs=-1, metavar="[FILE [FILE]]", type=click.Path())
@click.option(
    "--ask", "question", metavar="QUESTION", help="Ask the engine, and explain its answer."
)
@click.option(
    "--tenant",
    metavar="NAME",
    help="Whose question it is, or whose live set explains the answer.",
    shell_complete=complete_tenants,
)
@click.option(
    "--surface",
    type=click.Choice(["assemble", "search"]),
    help="What --ask calls; search where its options are given, else assemble.",
)
@click.option(
    "--min-score", metavar="NUMBER", help="Search's own floor for --ask; without it, 0.7."
)
@click.option(
    "--top-k",
    metavar="N",
    type=click.IntRange(1, 500),
    help="How many results --ask wants of Search.",
)
@click.option(
    "--source",
    "sources",
    metavar="ID",
    multiple=True,
    help="Ask about this source only; repeatable.",
)
@click.option(
    "--with",
    "proposed",
    metavar="KNOB=VALUE",
    multiple=True,
    shell_complete=complete_assignments,
    help="Ask under the live set and under it with this knob so, side by side; nothing is written. Repeatable.",
)
@click.option("--floor", metavar="NUMBER", help="How many candidates would another floor keep?")
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False),
    help="Keep the answer to --ask, to compare with later.",
)
@common_options(engine=True)
def command(
    settings: Settings,
    files: tuple[str, ...],
    question: str | None,
    tenant: str | None,
    surface: str | None,
    min_score: str | None,
    top_k: int | None,
    sources: tuple[str, ...],
    proposed: tuple[str, ...],
    floor: str | None,
    save: str | None,
) -> ExitCode:
    """Explain a Search or AssembleContext answer: which floor bound, and what to change.

    FILE holds the answer as JSON; - or no FILE reads standard input. Two FILEs are compared.
    With --ask the engine is asked now, which is a retrieval of its own; with --with, what a model
    would get if the tenant's set were another is compared with what it gets.
    """
    from knobctl.cli.diagnosing import Wanted, diagnosed
    from knobctl.cli.session import Session
    from knobctl.report.diagnosis import diagnoses_json, diagnoses_text

    wanted = Wanted(
        files=files,
        question=question,
        tenant=tenant,
        surface=surface,
        min_score=min_score,
        top_k=top_k,
        sources=sources,
        proposed=proposed,
        floor=floor,
        save=save,
    )
    with Session(settings) as session:
        found = diagnosed(session, wanted)
        settings.answer(
            {
                "text": lambda: diagnoses_text(
                    found.diagnoses,
                    found.comparison,
                    drawing=found.drawing,
                    place=session.typed_place,
                ),
                "json": lambda: json.dumps(
                    diagnoses_json(found.diagnoses, found.comparison), indent=2
                ),
            }
        )
    return ExitCode.OK
