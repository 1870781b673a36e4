"""One tenant: its knobs in the files, in a draft, on the engine and in force, and what follows of each edit."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from textual.containers import Vertical, VerticalScroll

from knobctl.finding import Severity
from knobctl.report.changes import live_words
from knobctl.text import count
from knobctl.tui.actions import TENANT, bindings_of
from knobctl.tui.detail import detail_lines
from knobctl.tui.judging import Judgement, TenantJudge
from knobctl.tui.knob_rows import KnobRow, knob_rows, unread_rows
from knobctl.tui.screens.place import Place
from knobctl.tui.screens.tenant_editing import TenantEditing
from knobctl.tui.tenant_words import lock_words, state_lines
from knobctl.tui.ui import Words, line, lines, tell
from knobctl.tui.widgets.knob_field import KnobField
from knobctl.tui.widgets.knob_table import KnobTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

    from knobctl.engine.interface import LiveSet
    from knobctl.errors import KnobctlError
    from knobctl.tui.detail import Line
    from knobctl.tui.draft import Draft


class View(NamedTuple):
    """What was found of one state of the draft, made where nothing is drawn."""

    judgement: Judgement
    rows: list[KnobRow]
    detail: list[Line]
    width: int


class TenantScreen(TenantEditing):
    """The knobs of one tenant, edited in place."""

    PLACE = TENANT
    BINDINGS = bindings_of(TENANT)
    CSS: ClassVar[str] = """
    TenantScreen {
        & #state { height: auto; max-height: 5; }
        & #split { height: 1fr; }
        & #knobs-side { height: 3fr; }
        & #titles { height: 1; text-wrap: nowrap; }
        &.-low.-typing #knobs-side { height: 1fr; }
        &.-low.-typing #detail-side { height: 1fr; }
        & #detail-side { height: 2fr; border-top: solid $border; }
        & #detail { height: 1fr; scrollbar-size-vertical: 1; background: $background; }
        & #detail:focus { background: $surface; }
        &.-wide #split { layout: horizontal; }
        &.-wide #knobs-side { width: 70%; height: 100%; }
        &.-wide #detail-side { width: 30%; height: 100%; border-top: none; border-left: solid $border; }
    }
    """

    def __init__(self, tenant: str) -> None:
        super().__init__(tenant)
        self._unheard = ""
        """Why the engine's set is not known."""
        self._judged_by: TenantJudge | None = None
        """Who found `judgement`."""
        self._left = False
        """Whether another place has been over this one."""

    # What is drawn.

    def body(self) -> ComposeResult:
        """The state, the table, and what is to be said of the knob under the cursor."""
        yield Words(id="state")
        with Vertical(id="split"):
            with Vertical(id="knobs-side"):
                yield Words(id="titles")
                yield KnobTable(id="knobs")
            with Vertical(id="detail-side"):
                yield KnobField(id="field")
                with VerticalScroll(id="detail"):
                    yield Words(id="detail-text")

    def on_mount(self) -> None:
        """Read the tenant."""
        if not self.stands:
            return
        table = self.query_one(KnobTable)
        table.focus()
        table.show(unread_rows(self.workplace.catalogue))
        self.query_one("#titles", Words).update(table.head())
        self.query_one("#state", Words).update(line((f" reading {self.tenant} ...", "muted")))
        self.read()

    def notes(self) -> Iterable[str]:
        """Whose knobs these are, and how many edits and findings there are."""
        yield self.tenant
        if self.judgement is None:
            return
        yield count(len(self.edited), "edit") if self.edited else ""
        for severity in (Severity.ERROR, Severity.WARNING):
            if number := self.judgement.counting(severity):
                yield count(number, severity.value)

    def draw(self) -> None:
        """Draw what is known, and judge what stands there now."""
        judge, draft = self.judge, self.trial
        if judge is None or draft is None:
            if self.unread:
                self.query_one(KnobTable).show(())
            self._draw_state()
            return
        table = self.query_one(KnobTable)
        width = self._pane_width
        name, clearance = table.knob, self.clearance
        knob = judge.catalogue[name] if name in judge.catalogue else next(iter(judge.catalogue))

        known = self._known_of(judge, draft)

        def view() -> View:
            judgement = known or judge.judge(draft)
            rows = knob_rows(judge, judgement, clearance=clearance)
            shown = knob if name else rows[0].knob
            locked = lock_words(shown, clearance)
            detail = detail_lines(judge, judgement, shown, width=width - 1, locked=locked)
            return View(judgement, rows, detail, width)

        self.ask("judge", view, lambda view: self._seen(judge, view))

    def _known_of(self, judge: TenantJudge, draft: Draft) -> Judgement | None:
        """What was found of the same state of the draft before: another knob is looked at."""
        found = self.judgement
        return found if found and self._judged_by is judge and found.draft == draft else None

    def _seen(self, judge: TenantJudge, view: View) -> None:
        self.judgement, self._judged_by = view.judgement, judge
        table = self.query_one(KnobTable)
        table.show(view.rows, self.typing)
        self.query_one("#titles", Words).update(table.head(), layout=False)
        self.query_one("#detail-text", Words).update(lines(*(line(*one) for one in view.detail)))
        self._draw_state()
        self.refresh_frame()
        if self._pane_width != view.width:  # it was not laid out yet, or is another one now
            self.draw()

    @property
    def _pane_width(self) -> int:
        return self.query_one("#detail-side").size.width or self.size.width

    def on_resize(self) -> None:
        """Break the pane's lines anew."""
        super().on_resize()
        self.call_after_refresh(self.draw)

    def _draw_state(self) -> None:
        told = state_lines(
            self.tenant,
            self.judge,
            self.judgement,
            live=live_words(self.live, self.workplace.now()) if self.live else "",
            unread=self.unread,
            unheard=self._unheard,
        )
        self.query_one("#state", Words).update(lines(*(line(*one) for one in told)))

    # What is read.

    def read(self) -> None:
        """Read the tenant's files, then its draft and its live set."""
        tenant, workplace, live = self.tenant, self.workplace, self.live

        def judge() -> TenantJudge:
            return TenantJudge(workplace.subject(tenant), live, workplace.today())

        self.ask("tenant", judge, self._found, failed=self._not_found)

    def _not_found(self, error: KnobctlError) -> None:
        self.unread = error.message
        self.draw()

    def _found(self, judge: TenantJudge) -> None:
        self.unread = ""
        self._judge_by(judge.beside(self.live))
        if self.draft is None:
            self.ask(
                "draft", lambda: self.workplace.draft(self.tenant), self._resume, failed=self._lost
            )
        self._hear_live()

    def _judge_by(self, judge: TenantJudge) -> None:
        self.judge = judge
        if self.draft and self.draft.is_empty:
            self.draft = judge.draft(self.workplace.engine_key)
        self.draw()

    def _hear_live(self) -> None:
        tenant, workplace = self.tenant, self.workplace
        self.ask(
            "live",
            lambda: (workplace.read(tenant), workplace.clearance()),
            self._heard,
            failed=self._not_heard,
        )

    def _heard(self, found: tuple[LiveSet, int | None]) -> None:
        self.live, self.clearance = found
        self._unheard = ""
        if self.judge:
            self._judge_by(self.judge.beside(self.live))

    def _not_heard(self, error: KnobctlError) -> None:
        self._unheard = f"the engine could not be asked: {error.message}"
        self.draw()

    def _resume(self, draft: Draft | None) -> None:
        assert self.judge is not None
        first = self.draft is None
        self.draft = draft or self.judge.draft(self.workplace.engine_key)
        if draft and draft.entries and first:
            tell(
                self.app, f"the draft of {self.tenant} goes on: {count(len(draft.entries), 'edit')}"
            )
        self.draw()

    def _lost(self, error: KnobctlError) -> None:
        """Go on without the draft that lies there: it is not touched."""
        assert self.judge is not None
        self.unread, self.keeps = error.message, False
        self.draft = self.judge.draft(self.workplace.engine_key)
        self.draw()

    def on_screen_suspend(self) -> None:
        """Note whether another place comes over this one, or only a box."""
        self._left = isinstance(self.app.screen, Place)

    def on_screen_resume(self) -> None:
        """See what became of the tenant in another place."""
        super().on_screen_resume()
        if self.judge and self._left:
            self._hear_live()
            if self.keeps:
                self.ask("draft", self._kept, self._resume)

    def _kept(self) -> Draft | None:
        """The draft on the disk, once what is meant here lies there too."""
        self.keep()
        return self.workplace.draft(self.tenant)
