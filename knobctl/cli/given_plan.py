"""The plan that `apply` is given: a file, standard input, or another pipe."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from knobctl.cli.session import Session

_HEAD_BYTES = 4096


@dataclass(frozen=True, slots=True)
class GivenPlan:
    """A plan, not yet believed."""

    name: str
    """How people see where it comes from."""
    read: Callable[[], bytes]
    """Gives all of it; a large plan is not kept."""


def given_plan(session: Session, paths: Sequence[str]) -> GivenPlan | None:
    """Look at the only PATH: whether what it leads to says of itself that it is a plan.

    Raises:
        UsageError: If it is a pipe that holds no plan: documents are read from `-`.
        InputError: If it cannot be read.
    """
    from knobctl.changes.plan import is_plan

    if len(paths) != 1:
        return None
    path = Path(paths[0])
    if paths[0] == "-":
        is_given = is_plan(session.input_begins(_HEAD_BYTES))
        return GivenPlan("standard input", session.read_input) if is_given else None
    if path.is_fifo():
        raw = _read(path)
        if is_plan(raw):
            return GivenPlan(str(path), lambda: raw)
        raise UsageError(
            f"{path} is a pipe that holds no plan",
            hint="to read documents from a pipe: knobctl apply -",
        )
    if path.is_file() and is_plan(_read(path, _HEAD_BYTES)):
        return GivenPlan(str(path), partial(_read, path))
    return None


def _read(path: Path, most: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
