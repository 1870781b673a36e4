"""A desk at which the terminal UI is opened: a folder with documents, an engine's file, an empty home."""

from __future__ import annotations

import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from textual.worker import WorkerCancelled

from knobctl.cli.options import Settings
from knobctl.cli.session import Session
from knobctl.cli.workplace import SessionWorkplace
from knobctl.tui.app import KnobctlApp
from tests.cli.engines import Clock, embedded, write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from textual.pilot import Pilot

    from knobctl.knobs import KnobValue

NOW: Final = datetime(2026, 11, 30, 9, 0, tzinfo=UTC)
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "fleet"
ENGINE: Final = "embedded:engine.db"


@dataclass(frozen=True, slots=True)
class Desk:
    """The folder, which is the working folder too."""

    folder: Path

    def example(self, name: str = "fleet") -> Path:
        """Lay the shipped example of a fleet there."""
        return Path(shutil.copytree(EXAMPLE, self.folder / name))

    def write(self, name: str, text: str) -> Path:
        """Write a file, byte for byte."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return path

    def live(
        self, sets: Mapping[str, Mapping[str, KnobValue]], at: datetime = NOW - timedelta(days=2)
    ) -> None:
        """Put sets into the engine's file, a minute after one another."""
        with embedded(self.folder / "engine.db", Clock(at)) as engine:
            for tenant, knobs in sets.items():
                write(engine, tenant, knobs)

    def revision(self, tenant: str) -> str | None:
        """What the engine holds for a tenant."""
        with embedded(self.folder / "engine.db") as engine:
            return engine.read(tenant).revision

    def knobs(self, tenant: str) -> Mapping[str, KnobValue]:
        """What the engine holds for a tenant."""
        with embedded(self.folder / "engine.db") as engine:
            return engine.read(tenant).knobs

    @contextmanager
    def app(
        self,
        path: str = "fleet",
        *,
        read_only: bool = False,
        clock: Callable[[], datetime] = lambda: NOW,
        engine: str | None = ENGINE,
        **options: Any,
    ) -> Iterator[KnobctlApp]:
        """The terminal UI over the documents of a path, as the command makes it; its clock stands."""
        settings = Settings(command="tui", engine=engine, **options)
        with Session(settings, clock=clock) as session:
            yield KnobctlApp(SessionWorkplace(session, path, read_only=read_only))


async def settled(pilot: Pilot[Any]) -> None:
    """Wait until nothing is asked in the background and what came of it is drawn."""
    while asked := [one for one in pilot.app.workers if not one.is_finished]:
        with suppress(WorkerCancelled):  # a later question makes an earlier one's answer stale
            await pilot.app.workers.wait_for_complete(asked)
        await pilot.pause()
    await pilot.pause()
