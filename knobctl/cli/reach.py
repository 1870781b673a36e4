"""`knobctl reach`: ceilings and deepest ranks of a floor, for every set of live rankers."""

from __future__ import annotations

import json

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import complete_tenants
from knobctl.errors import ExitCode


@click.command()
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--floor", metavar="NUMBER", help="The fused floor, such as 0.3 or 1/3.")
@click.option("--k", "rank_constant", metavar="INTEGER", help="The rank constant of fusion.")
@click.option(
    "--weights", metavar="V,B,R", help="One weight a ranker; off for one that takes no part."
)
@click.option("--depths", metavar="V,B,R", help="How many rows each ranker contributes.")
@click.option(
    "--tenant",
    metavar="NAME",
    help="Start from this tenant's documents in PATH.",
    shell_complete=complete_tenants,
)
@click.option("--plot", is_flag=True, help="Draw it instead: bars of what passes.")
@click.option(
    "--evidence",
    metavar="FILE",
    type=click.Path(),
    help="Draw what this file of recorded scores says of the floor too.",
)
@click.option("--ascii", "plain", is_flag=True, help="Draw with ASCII characters alone.")
@common_options()
def command(
    settings: Settings,
    paths: tuple[str, ...],
    floor: str | None,
    rank_constant: str | None,
    weights: str | None,
    depths: str | None,
    tenant: str | None,
    plot: bool,
    evidence: str | None,
    plain: bool,
) -> ExitCode:
    """Ceilings, deepest passing ranks and edges of a floor, for every set of live rankers.

    What is not given is the platform default, or what the tenant's documents resolve to. Recorded
    scores hold only for the rankers, weights and rank constant that they were measured with.
    """
    from knobctl.cli.asking import surroundings
    from knobctl.cli.plotting import floor_view, plotted
    from knobctl.fusion import reach
    from knobctl.knobs.asked_setup import Asked, asked_setup
    from knobctl.report.reach import reach_json, reach_text

    around = surroundings(settings, tenant, paths)
    asked = Asked(floor=floor, k=rank_constant, weights=weights, depths=depths)
    reached = reach(asked_setup(around.catalogue, around.values, around.exact, asked))
    view = floor_view(reached, around, evidence) if plot or plain or evidence else None
    settings.answer(
        {
            "text": lambda: (
                plotted(settings, view, title=around.title, plain=plain)
                if view
                else reach_text(reached, title=around.title)
            ),
            "json": lambda: json.dumps(reach_json(reached, tenant=tenant, view=view), indent=2),
        }
    )
    return ExitCode.OK
