"""Asks a person on a terminal; never reads consent from a pipe."""

from __future__ import annotations

import sys

import click

from knobctl.errors import RefusedError


def has_terminal() -> bool:
    """Whether there is a person to ask: what is typed and what is asked both go to a terminal."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def require_consent(*, yes: bool, what: str) -> None:
    """Refuse at once where nobody said yes and nobody can be asked.

    Raises:
        RefusedError: Naming the flag.
    """
    if not yes and not has_terminal():
        raise RefusedError(
            f"{what} needs consent, and there is no terminal to ask on.",
            hint="Nothing was written. To consent on the command line, resets included: --yes",
        )


def confirmed(question: str) -> bool:
    """Ask on the terminal; anything but yes, the end of the input included, is a no.

    Raises:
        KeyboardInterrupt: If the person interrupts instead of answering.
    """
    click.echo(f"{question} [y/N] ", nl=False, err=True)
    answer = sys.stdin.readline()
    if not answer.endswith("\n"):
        click.echo(err=True)
    return answer.strip().lower() in {"y", "yes"}
