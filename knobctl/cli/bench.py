"""`knobctl bench`: the relevance-floor benchmark, on questions that people really asked."""

from __future__ import annotations

import click

from knobctl.cli.bench_harvest import harvest
from knobctl.cli.bench_judge import judge
from knobctl.cli.bench_replay import replay
from knobctl.cli.bench_sweep import sweep


@click.group()
def command() -> None:
    """What a relevance floor refuses, measured on questions that people really asked.

    A question that a floor refuses wrongly is seen by nobody: the answer says that nothing bears
    on it. Begin with the questions: knobctl bench harvest.
    """


command.add_command(harvest)
command.add_command(replay)
command.add_command(judge)
command.add_command(sweep)
