"""Kills knobctl while it writes: a child of this process, at a record of its journal."""

from __future__ import annotations

import io
import itertools
import os
import signal
import sys
from typing import TYPE_CHECKING

import pytest

from knobctl.changes import run_folder
from knobctl.changes.journal_writing import Journal
from knobctl.cli.edge import run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from tests.cli.inside import Inside


def in_child(arguments: tuple[str, ...], prepare: Callable[[], None]) -> tuple[int, str]:
    """Run one command line in a child of this process.

    Returns:
        Its exit code, or minus the signal that killed it; what it said on stderr, if it came to its end.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        code = 70
        sys.stdin, sys.stdout, sys.stderr = io.StringIO(), io.StringIO(), io.StringIO()
        try:
            prepare()
            code = run(list(arguments))
        finally:
            os.write(writing, sys.stderr.getvalue().encode()[:60_000])
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        said = pipe.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), said


def dying_at(record: int, *, noted: bool) -> type[Journal]:
    """A journal at one record of which its process dies of SIGKILL, in whatever thread writes it.

    Args:
        record: Which, counted from 1.
        noted: Whether the record itself is written; else it dies in place of it.
    """
    records = itertools.count(1)

    class Dying(Journal):
        def _append(self, *said: Mapping[str, Any]) -> None:
            mine = [next(records) for _ in said]
            if record in mine:
                whole = mine.index(record) + noted
                super()._append(*said[:whole])
                os.kill(os.getpid(), signal.SIGKILL)
            super()._append(*said)

    return Dying


def killed_at(inside: Inside, record: int, *arguments: str, noted: bool) -> bool:
    """Run a command that is killed at a record of its journal, counted from 1.

    Args:
        inside: The working folder.
        record: Which.
        arguments: The command line.
        noted: Whether the record itself is written; else it dies in place of it.

    Returns:
        Whether it lived to write so many: False where it ended before.
    """

    def prepare() -> None:
        pytest.MonkeyPatch().setattr(
            run_folder, "Journal", dying_at(record, noted=noted)
        )  # the child is ours alone

    assert inside.folder.exists()
    code, said = in_child(arguments, prepare)
    assert code in {-signal.SIGKILL, 0}, said
    return code == -signal.SIGKILL
