"""`knobctl engine migrate`: all that one store holds into another."""

from __future__ import annotations

import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import EngineError, ExitCode, UsageError

if TYPE_CHECKING:
    from knobctl.server.moving import Moved
    from knobctl.server.store.interface import Store

BETWEEN_LINES_S: Final = 15.0
ON_A_TERMINAL_S: Final = 2.0


@click.command(short_help="Move all that a store holds into another.")
@click.option(
    "--from",
    "source",
    required=True,
    metavar="URL",
    help="The store to read: embedded:FILE or postgresql://HOST/DATABASE.",
)
@click.option(
    "--to",
    "target",
    required=True,
    metavar="URL",
    help="The store to fill, which holds nothing; its tables, or its file, are made where they are missing.",
)
@click.option(
    "--candidates-to",
    "candidates",
    metavar="URL",
    help="milvus:URL of a Milvus to fill as well; left out, engines fill it with their first calls.",
)
@common_options(formats=())
def migrate(settings: Settings, source: str, target: str, candidates: str | None) -> ExitCode:
    """Move all that a store holds into another.

    Sets with their revisions, audit events byte for byte, tokens, texts with their vectors.

    Stop the engines first: what is written to the source meanwhile is not moved. The target is read
    back, and every audit chain checked, before the move counts; one that is cut off leaves nothing
    behind. The source keeps what it holds.
    """
    from knobctl.knobs import load_catalogue
    from knobctl.server.moving import move
    from knobctl.server.store import embedded_file, open_store, shown

    file = embedded_file(source)
    if file and not file.exists():
        raise UsageError(f"there is no store at {source}", hint="--from names the store to read")
    catalogue = load_catalogue(settings.schema)
    with ExitStack() as stack:
        read = stack.enter_context(closing(open_store(source, catalogue)))
        filled = stack.enter_context(closing(open_store(target, catalogue)))
        told = _Telling(settings)
        moved = move(read, filled, catalogue, progress=told)
        settings.answer({"text": lambda: _text(moved, shown(source), shown(target))})
        if candidates:
            _fill(filled, candidates, told)
    return ExitCode.OK


class _Telling:
    """Says now and then how far it is."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._rows: dict[str, int] = {}
        self._last = time.monotonic()
        self._between_s = ON_A_TERMINAL_S if sys.stderr.isatty() else BETWEEN_LINES_S

    def __call__(self, what: str, rows: int) -> None:
        """So many rows more of something."""
        self._rows[what] = self._rows.get(what, 0) + rows
        now = time.monotonic()
        if self._settings.shows_progress and now - self._last >= self._between_s:
            self._last = now
            self._settings.say(f"{what}: {self._rows[what]:,}")


def _fill(store: Store, url: str, told: _Telling) -> None:
    from knobctl.server.candidates.interface import CandidatesUnavailableError
    from knobctl.server.candidates.milvus import MilvusCandidates
    from knobctl.server.moving import fill
    from knobctl.server.store.interface import StoreUnavailableError

    with closing(MilvusCandidates(store, url)) as candidates:
        try:
            fill(candidates, store, progress=told)
        except (CandidatesUnavailableError, StoreUnavailableError) as error:
            raise EngineError(
                f"the store was moved, the index was not filled: {error}",
                hint="engines that are started with --candidates fill it with their first calls",
            ) from error


def _text(moved: Moved, source: str, target: str) -> str:
    from knobctl.text import count

    corpora = f"{count(moved.chunks, 'chunk')} of {count(moved.corpora, 'tenant')}"
    return (
        f"moved {count(moved.sets, 'set')}, {count(moved.events, 'audit event')},"
        f" {count(moved.principals, 'token')}, {corpora}: {source} -> {target}\n"
        "read back equal; every audit chain is whole"
    )
