"""What the fleet's screen reads in the background: documents, then verdicts and live sets, and live again and again.

What reads is loaded by who reads: until then the screen is drawn.
"""

from __future__ import annotations

import gc
from concurrent.futures import wait
from dataclasses import dataclass
from math import nan
from time import perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from knobctl.tui.closer import Closer, Looking, at_stranger
from knobctl.tui.fleet import Chunk, Fleet, Mark
from knobctl.tui.ui import tell
from knobctl.tui.working import begun

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from textual.timer import Timer

    from knobctl.checks.one_by_one import OneByOne
    from knobctl.documents.repository import Repository
    from knobctl.errors import KnobctlError
    from knobctl.tui.fleet import Held, Verdict
    from knobctl.tui.fleet_steps import LiveReading
    from knobctl.tui.screens.fleet import FleetScreen

T = TypeVar("T")

OFTEN_S: Final = 15.0
"""How long after live was read it is read again, at the least."""
SHARE: Final = 20
"""Reading live takes at most one part in so many of the time."""
WAIT_S: Final = 0.2
FEW: Final = 2_000
"""So many documents are read in a moment: rows that are half known would only delay them, and flicker."""


@dataclass(frozen=True, slots=True)
class Begun:
    """Documents are read; their rows come."""

    repository: Repository
    is_whole: bool = True
    """Whether all of them are read; if not, some come before that, to be replaced."""


def _kept(made: Callable[[], T]) -> T:
    """Make what is kept as long as the session: it is not looked through for garbage, which stops all that draws."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        thing = made()
        gc.freeze()
    finally:
        if was_on:
            gc.enable()
    return thing


def _has_many_left(opening: Repository) -> bool:
    return opening.files > 0 and opening.listed - opening.files >= FEW


class FleetReading:
    """The state of reading. What it finds goes to the screen, in the thread that draws."""

    def __init__(self, screen: FleetScreen) -> None:
        self._screen = screen
        self._repository: Repository | None = None
        self._looking: Looking | None = None
        self._checks: OneByOne | None = None
        self._live: LiveReading | None = None
        self._coming: Fleet | None = None
        self._began_s = nan
        self._every_s = OFTEN_S
        self._next: Timer | None = None
        self._phase = "reading"
        self._judged = ""
        self._live_words = ""
        self._is_reading_live = self._has_strangers = False
        self.is_paused = False
        self.knows_live = False
        """Whether live was read the last time that it was tried."""
        self.trouble = ""
        """Why there is no fleet."""
        self._seen: Sequence[int] = ()

    @property
    def words(self) -> str:
        """How far it is, for the header."""
        if self.is_paused:
            return "paused: p goes on"
        return "  ".join(filter(None, (self._phase, self._judged, self._live_words)))

    @property
    def is_busy(self) -> bool:
        """Whether documents are read or judged."""
        return bool(self._phase or self._judged) and not self.is_paused

    @property
    def is_reading_rows(self) -> bool:
        """Whether not all rows are there."""
        return bool(self._phase)

    @property
    def is_done(self) -> bool:
        """Whether all is known that was asked for."""
        return not (self._phase or self._judged or self._is_reading_live)

    @property
    def can_look(self) -> bool:
        """Whether a closer look is possible yet."""
        return self._looking is not None and not self.is_paused

    # Documents.

    def begin(self) -> None:
        """Read the documents."""
        self._phase, self.trouble = "reading", ""
        self._screen.follow(
            "rows", self._rows, self._take, done=self._rows_done, failed=self._no_rows
        )

    def _rows(self) -> Iterator[str | Begun | Chunk]:
        from knobctl.tui.fleet_steps import row_steps, rows_so_far

        workplace, seen = self._screen.workplace, 0
        opened = begun(lambda: _kept(workplace.repository))
        while not wait((opened,), timeout=WAIT_S).done:
            opening = workplace.begun()
            # Those that an index knows come first, and at once: where it is warm, nothing is left then.
            if opening is None or not (seen or _has_many_left(opening)):
                yield "reading"
                continue
            if not seen:
                yield Begun(opening, is_whole=False)
            if opening.listed:
                yield f"read {opening.files:,} of {max(opening.listed, opening.files):,}"
            seen, chunk = rows_so_far(opening, seen)
            yield chunk
        repository = opened.result()
        yield Begun(repository)
        yield from row_steps(repository)

    def _take(self, step: str | Begun | Chunk) -> None:
        match step:
            case str():
                self._phase = step
            case Begun():
                self._begin_rows(step)
            case Chunk():
                self._add(step)

    def _begin_rows(self, step: Begun) -> None:
        screen = self._screen
        self._coming = Fleet(step.repository.catalogue)
        if step.is_whole:
            self._repository = step.repository
        elif screen.fleet.names:
            return  # those of before are better than half of them
        if not screen.fleet.names:
            screen.take_fleet(self._coming)

    def _add(self, chunk: Chunk) -> None:
        coming = self._coming
        assert coming is not None
        before = len(coming)
        coming.add(chunk)
        if coming is self._screen.fleet:
            self._screen.take_more(before)

    def _rows_done(self) -> None:
        self._phase = ""
        coming = self._coming
        assert coming is not None
        if coming is not self._screen.fleet:
            self._screen.take_fleet(coming)
        self._screen.draw_news()  # before what is judged takes its share of the interpreter
        self._screen.sort_rows()
        self._looking = self._checks = self._live = None
        self.judge()

    def _no_rows(self, error: KnobctlError) -> None:
        self._phase = ""
        self.trouble = error.message
        tell(self._screen.app, error.message, "error")
        self._screen.draw_news()

    # Verdicts.

    def judge(self) -> None:
        """Find out what the checks say."""
        self._judged = "judging"
        self._screen.follow(
            "verdicts",
            self._verdicts,
            self._take_verdicts,
            done=self._all_judged,
            failed=self._not_judged,
        )

    def _verdicts(self) -> Iterator[list[Verdict] | None]:
        from knobctl.tui.fleet_steps import Judging

        repository = self._repository
        assert repository is not None
        if self._checks is None:
            checks = _kept(lambda: self._made_checks(repository))
            self._looking, self._checks = Looking(repository, checks), checks
        judging = Judging(self._checks, repository, lambda: self._seen)
        yield from judging.known()
        yield None
        yield from judging.asked()

    def _made_checks(self, repository: Repository) -> OneByOne:
        from knobctl.changes.preparing import validated
        from knobctl.checks.one_by_one import OneByOne

        workplace = self._screen.workplace
        validated(repository)
        return OneByOne(repository, today=workplace.today(), fleet=workplace.fleet())

    def _take_verdicts(self, verdicts: list[Verdict] | None) -> None:
        screen = self._screen
        if (
            verdicts is None
        ):  # one after the other: each of them takes the interpreter from what draws
            self.read_live()
            return
        screen.fleet.judge(verdicts)
        self._seen = list(screen.table.seen)

    def _not_judged(self, error: KnobctlError) -> None:
        self._judged = f"not judged: {error.message}"
        tell(self._screen.app, error.message, "error")
        self.read_live()

    def _all_judged(self) -> None:
        self._judged = ""
        self._screen.take_news()

    # Live.

    def read_live(self) -> None:
        """Read what the engine holds, and again after a while."""
        if self._next:
            self._next.stop()
        self._began_s = perf_counter()
        self._live_words, self._is_reading_live = "reading live", True
        self._screen.follow(
            "live", self._held, self._take_held, done=self._live_read, failed=self._no_live
        )

    def _held(self) -> Iterator[list[Held]]:
        from knobctl.tui.fleet_steps import LiveReading

        repository = self._repository
        assert repository is not None
        if self._live is None:
            workplace, fleet = self._screen.workplace, self._screen.fleet
            self._live = LiveReading(repository, workplace.engine, fleet.at)
        yield from self._live.steps()

    def _take_held(self, held: list[Held]) -> None:
        from knobctl.tui.fleet_steps import strangers

        fleet = self._screen.fleet
        unknown = fleet.hold(held)
        if unknown:
            before = len(fleet)
            fleet.add(strangers(unknown))
            fleet.hold(unknown)
            self._screen.take_more(before)
            self._has_strangers = True

    def _live_read(self) -> None:
        took, self.knows_live = perf_counter() - self._began_s, True
        self._every_s = max(OFTEN_S, SHARE * took)
        self._live_words = f"live every {self._every_s:.0f} s"
        # Those without a document stand at the end so far.
        self._screen.take_news(in_order=not self._has_strangers)
        self._has_strangers = False
        self._later()

    def _no_live(self, error: KnobctlError) -> None:
        self._live_words, self.knows_live = f"live not read: {error.message}", False
        self._later()

    def _later(self) -> None:
        self._is_reading_live = False
        if not self.is_paused:
            self._next = self._screen.set_timer(self._every_s, self._again)

    def _again(self) -> None:
        if self._screen.is_current:
            self.read_live()
        else:
            self._later()

    # What a person asks for.

    def pause(self) -> None:
        """Stop, or go on."""
        self.is_paused = not self.is_paused
        workers = self._screen.workers
        if self.is_paused:
            for worker in list(workers):
                if worker.node is self._screen:
                    worker.cancel()
            if self._next:
                self._next.stop()
        elif self._phase:
            self.begin()
        else:
            self.judge()

    def refresh(self) -> None:
        """Read everything anew."""
        self.is_paused = False
        self._screen.workplace.reload()
        self.begin()

    def reread(self, tenant: str) -> None:
        """Look again at a tenant that somebody had open: its set or its file may have been written."""
        workplace, live = self._screen.workplace, self._live

        def read() -> Held | None:
            if workplace.repository() is not self._repository:
                return None
            return live.held(workplace.read(tenant)) if live else None

        def take(held: Held | None) -> None:
            if held:
                self._take_held([held])
            else:
                self.begin()

        if self._repository is not None:
            self._screen.ask("reread", read, take)

    # The closer look.

    def look(self, row: int) -> Closer:
        """Look more closely at a row; takes its time."""
        fleet, looking, repository = self._screen.fleet, self._looking, self._repository
        if looking is None or repository is None:
            return Closer()
        engine = self._screen.workplace.engine
        if fleet.marks[row] & Mark.UNMANAGED:
            return at_stranger(fleet.names[row], engine)
        if row < len(repository.tenants):
            return looking.at(repository.tenants[row], engine)
        return looking.at_file(fleet.sources[row])
