"""Options that commands which put many questions to an engine have in common."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from knobctl.cli.output_files import EVIDENCE, file_of

if TYPE_CHECKING:
    from collections.abc import Callable

F = TypeVar("F", bound="Callable[..., Any]")
MOST_QUESTIONS: Final = 1_000_000
MOST_CALLS: Final = 64


def limit_option(function: F) -> F:
    """Give a command `--limit`: None where all are asked."""
    return click.option(
        "--limit",
        type=click.IntRange(1, MOST_QUESTIONS),
        metavar="N",
        help="So many questions at most, of each source its share; the same ones each time.",
    )(function)


def calls_option(function: F) -> F:
    """Give a command `--parallelism`: None where the settings say."""
    return click.option(
        "--parallelism",
        type=click.IntRange(1, MOST_CALLS),
        metavar="N",
        help="Calls at a time. concurrency of knobctl.toml, else 4.",
    )(function)


def evidence_output(function: F) -> F:
    """Give a command `--output` as `output_`, which replaces nothing but an earlier record."""
    return click.option(
        "--output",
        "output_",
        type=click.Path(path_type=Path),
        callback=file_of(EVIDENCE),
        metavar="EVIDENCE",
        help="Write a record that documents and plans can name: aggregates, no question.",
    )(function)
