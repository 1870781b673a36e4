"""The audit: every change of a tenant, or of all of them, newest first; going back to an earlier set."""

from __future__ import annotations

import gc
import shlex
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from textual.containers import VerticalScroll
from textual.worker import get_current_worker

from knobctl.documents.garbage import collector_paused
from knobctl.engine.interface import NotOfferedError
from knobctl.engine.verifying import Verifying
from knobctl.errors import UsageError
from knobctl.text import count, joined
from knobctl.tui.actions import AUDIT, bindings_of
from knobctl.tui.audit import Proof, found_by, left_out, proof_of, read_rows, restored
from knobctl.tui.audit_lines import EventLines
from knobctl.tui.event_detail import event_lines, fields_text, head_lines
from knobctl.tui.screens.listing import Listing
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import Field, Told, Words, error_lines, line, lines, tell
from knobctl.tui.widgets.virtual_table import VirtualTable
from knobctl.tui.working import words_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult

    from knobctl.errors import KnobctlError
    from knobctl.tui.actions import Action
    from knobctl.tui.audit import EventRow, EventRows, Mine

RECENT: Final = timedelta(days=1)
MOST_RECENT: Final = 2_000
"""The events of the last day are shown before all are read, where they are no more than these."""


class AuditScreen(Listing):
    """Audit events, newest first; under them the one of the cursor."""

    PLACE = AUDIT
    BINDINGS = bindings_of(AUDIT)
    DEFAULT_CSS = """
    AuditScreen {
        #words { height: 1; border: none; padding: 0 1; background: $panel; color: $text; }
        #event {
            height: auto; max-height: 45%; padding: 0 1;
            border-top: solid $border-blurred; scrollbar-size-vertical: 1;
        }
    }
    """

    def __init__(self, tenant: str = "") -> None:
        """Take whose changes are shown; all that the caller may see where no tenant is named."""
        super().__init__()
        self.tenant = tenant
        self._events = EventLines(with_tenant=not tenant)
        self._read = 0
        """How many were read so far; 0 where all are there."""
        self._proof: Proof | None = None
        self._opened: tuple[str, Mapping[str, Any]] | None = None
        """The id of the event that was read in full, and the event."""

    def body(self) -> ComposeResult:
        """Words to look for, the list, the event."""
        yield Field(id="words", placeholder="words that an event must hold; !word for none of it")
        yield VirtualTable(self._events, id="events")
        with VerticalScroll(id="event"):
            yield Words(id="said")

    def on_mount(self) -> None:
        """Read them."""
        if not self.stands:
            return
        self.table.focus()
        self._read = 1
        # Once the place stands: what reads would take its turns from what draws it.
        self.call_after_refresh(self._ask, proves=False)

    def _ask(self, *, proves: bool) -> None:
        """Read all events anew, and prove their chains if that is wanted."""
        workplace, tenant, now = self.workplace, self.tenant or None, self.workplace.now()
        verifying = Verifying() if proves else None
        heard = self._heard
        self._read, self._proof = 1, None

        def question() -> tuple[EventRows, Mine, Proof | None]:
            engine, mine = workplace.engine, workplace.mine()
            if not (tenant or self._events.rows):
                since = (now - RECENT).isoformat()
                recent = list(islice(engine.audit_events(since=since), MOST_RECENT + 1))
                if len(recent) <= MOST_RECENT:
                    rows = read_rows(recent, mine, goes_on=lambda _: True)
                    self.app.call_from_thread(self._take, rows, mine)
            with collector_paused():
                events = engine.audit_events(tenant)
                rows = read_rows(events, mine, goes_on=heard, verifying=verifying)
            gc.freeze()  # a look through 100,000 rows for garbage would stop the screen each time
            return rows, mine, proof_of(verifying.verified()) if verifying else None

        # What fails is said where the events would stand: a message would lie over it.
        self.follow("events", lambda: [question()], self._show, failed=self._cannot)

    def _heard(self, number: int) -> bool:
        """Tell how far the reading is, in its thread: whether to go on."""
        if get_current_worker().is_cancelled:
            return False
        self.app.call_from_thread(self._progress, number)
        return True

    def _progress(self, number: int) -> None:
        self._read = number
        self.refresh_frame()

    def _show(self, found: tuple[EventRows, Mine, Proof | None]) -> None:
        rows, mine, self._proof = found
        self._read = 0
        self._take(rows, mine)
        if self._proof:
            proof = self._proof
            tell(self.app, proof.words, "information" if proof.is_unbroken else "error")

    def _take(self, rows: EventRows, mine: Mine) -> None:
        if not self.is_attached:
            return
        before = self._events.rows[self.table.row].event_id if self.table.row is not None else ""
        self._events.take(rows, mine, self.workplace.now())
        self._filter(keep=rows.place_of(before) if before else None)
        self.table.lay_out()

    def _cannot(self, error: KnobctlError) -> None:
        self._read = 0
        self.app.post_message(Told(words_of(error), "error"))
        said = error_lines(error)
        if isinstance(error, NotOfferedError):
            said.append(line("what this machine wrote stands in its runs: knobctl runs"))
        self.query_one("#said", Words).update(lines(*said))
        self.refresh_frame()

    def on_input_changed(self) -> None:
        """Show what holds the words, with each key."""
        self._filter(keep=self.table.row)

    def on_input_submitted(self) -> None:
        """Go to the list."""
        self.table.focus()

    def _filter(self, *, keep: int | None = None) -> None:
        words = self.query_one("#words", Field).value
        self.table.show(found_by(self._events.rows, words), keep=keep)
        self._explain()
        self.refresh_frame()

    def on_virtual_table_moved(self) -> None:
        """Say what is known of the event."""
        self._explain()

    @property
    def row(self) -> EventRow | None:
        """The event under the cursor."""
        at = self.table.row
        return None if at is None else self._events.rows[at]

    def _explain(self) -> None:
        row, said = self.row, self.query_one("#said", Words)
        if row is None:
            nothing = "no event holds these words" if self._events.rows else "no events"
            said.update(line((nothing if not self._read else "reading", "muted")))
            return
        head = head_lines(row, self._events.mine, self.workplace.now())
        if self._opened and self._opened[0] == row.event_id:
            said.update(lines(*head, *event_lines(self._opened[1], self.workplace.catalogue)))
        else:
            rest = line(
                ("what  ", "muted"), fields_text(row.paths), ("  Enter shows each", "muted")
            )
            said.update(lines(*head, rest))

    async def on_virtual_table_opened(self) -> None:
        """Show the event in full."""
        self.action_event()

    def action_event(self) -> None:
        """Read the event under the cursor in full."""
        row = self.row
        if row:
            self.ask("event", lambda: self._event(row), self._open)

    def _event(self, row: EventRow) -> Mapping[str, Any]:
        """Read one event anew, in a thread.

        Raises:
            UsageError: If the engine has it no more.
        """
        events = self.workplace.engine.audit_events(row.tenant, since=row.occurred_at or None)
        found = next((one for one in events if one.get("event_id") == row.event_id), None)
        if found is None:
            raise UsageError(
                f"the engine does not give event {row.event_id} any more: R reads anew"
            )
        return found

    def _open(self, event: Mapping[str, Any]) -> None:
        self._opened = str(event.get("event_id")), event
        self._explain()

    def action_restore(self) -> None:
        """Let the draft of the tenant ask for the set that the event under the cursor left."""
        row = self.row
        if row is None:
            raise UsageError("there is no event under the cursor")
        workplace = self.workplace

        def question() -> tuple[str, list[str]]:
            from knobctl.tui.judging import TenantJudge

            event = self._event(row)
            after = event.get("after")
            wanted = after if isinstance(after, dict) else {}
            subject = workplace.subject(row.tenant)
            judge = TenantJudge(subject, workplace.read(row.tenant), workplace.today())
            draft = workplace.draft(row.tenant) or judge.draft(workplace.engine_key)
            workplace.keep_draft(restored(draft, wanted, judge.catalogue))
            return row.tenant, left_out(wanted, judge.catalogue)

        self.ask("restore", question, lambda found: self._restored(row, *found))

    def _restored(self, row: EventRow, tenant: str, missing: Sequence[str]) -> None:
        if missing:
            them = joined(missing)
            tell(
                self.app,
                f"{row.revision} held what a draft cannot: {them}; it is left out",
                "warning",
            )
        tell(
            self.app, f"the draft of {tenant} asks for the set of {row.revision}; nothing is pushed"
        )
        below = self.app.screen_stack[-2:-1]
        if below and isinstance(below[0], TenantScreen) and below[0].tenant == tenant:
            self.app.pop_screen()  # it reads its draft anew
        else:
            self.app.push_screen(TenantScreen(tenant))

    def action_verify(self) -> None:
        """Prove that the events of each tenant continue each other, from the first on."""
        self._ask(proves=True)

    def action_again(self) -> None:
        """Read the events anew."""
        self._ask(proves=False)

    def action_words(self, words: str = "") -> None:
        """Type words that an event must hold."""
        field = self.query_one("#words", Field)
        if words:
            field.value = words
        else:
            field.focus()

    async def action_back(self) -> None:
        """Leave the words, take them away, or go back to where one was."""
        field = self.query_one("#words", Field)
        if field.has_focus or field.value:
            field.value = ""
            self.table.focus()
        else:
            await self.app.pop_screen()

    def refusal(self, action: Action) -> str | None:
        """Without an event there is nothing to open or to go back to."""
        if action.id in {"event", "restore"} and self.row is None:
            return "there is no event under the cursor"
        return super().refusal(action)

    def notes(self) -> Sequence[str]:
        """How many events there are, how many are shown, and what was proved."""
        if not self.is_mounted:
            return ()
        shown, all_ = len(self.table.view), len(self._events.rows)
        told = count(all_, "event") if shown == all_ else f"{shown:,} of {count(all_, 'event')}"
        whose = f"audit {self.tenant}" if self.tenant else "audit"
        reading = f"reading: {self._read:,}" if self._read > 1 else "reading" if self._read else ""
        proof = self._proof.headline if self._proof else ""
        return tuple(filter(None, (f"{whose}: {told}", reading, proof)))

    def twin(self) -> str:
        """The events; with the proof where it was asked for."""
        tenant = f" {shlex.quote(self.tenant)}" if self.tenant else ""
        proof = " --verify" if self._proof else ""
        return f"knobctl history{tenant}{proof}{self.workplace.where.typed}"

    def next_step(self) -> str:
        """What most people do next."""
        return "Enter shows each field of a change; :restore puts the set it left into the tenant's draft."
