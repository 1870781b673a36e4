"""One tenant: its knobs in the files, in a draft, on the engine and in force, and what follows of each edit."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar, Final, NamedTuple

from textual.containers import Vertical, VerticalScroll

from knobctl.errors import RefusedError, UsageError
from knobctl.finding import Severity
from knobctl.report.changes import live_words
from knobctl.text import count, spelled
from knobctl.tui.actions import TENANT, Danger, bindings_of
from knobctl.tui.detail import detail_lines
from knobctl.tui.draft import BEGUN, UNSET, As, Draft, Edit, Entry
from knobctl.tui.judging import Judgement, TenantJudge
from knobctl.tui.knob_rows import KnobRow, is_locked, knob_rows
from knobctl.tui.preview import preview_lines
from knobctl.tui.screens.place import Place
from knobctl.tui.screens.preview import PreviewScreen
from knobctl.tui.screens.tenant_files import EditorRound, offer_write
from knobctl.tui.steps import stepped
from knobctl.tui.ui import Words, line, lines, tell
from knobctl.tui.widgets.knob_field import KnobField
from knobctl.tui.widgets.knob_table import KnobTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

    from knobctl.changes.single import Subject
    from knobctl.engine.interface import LiveSet
    from knobctl.errors import KnobctlError
    from knobctl.knobs import Knob
    from knobctl.tui.actions import Action
    from knobctl.tui.detail import Line
    from knobctl.tui.pushes import Push
    from knobctl.tui.ui import Part

_OF_A_KNOB: Final = frozenset(
    {"edit", "unset", "revert", "take_live", "next_value", "more", "less"}
)
"""Actions about the knob under the cursor, or the one that is named."""


class View(NamedTuple):
    """What was found of one state of the draft, made where nothing is drawn."""

    judgement: Judgement
    rows: list[KnobRow]
    detail: list[Line]
    knob: str
    width: int


class TenantScreen(Place):
    """The knobs of one tenant, edited in place."""

    PLACE = TENANT
    BINDINGS = bindings_of(TENANT)
    CSS: ClassVar[str] = """
    TenantScreen {
        & #state { height: auto; max-height: 5; }
        & #split { height: 1fr; }
        & #knobs-side { height: 3fr; }
        & #titles { height: 1; text-wrap: nowrap; }
        & #detail-side { height: 2fr; border-top: solid $border; }
        & #detail { height: 1fr; scrollbar-size-vertical: 1; background: $background; }
        & #detail:focus { background: $surface; }
        &.-wide #split { layout: horizontal; }
        &.-wide #knobs-side { width: 70%; height: 100%; }
        &.-wide #detail-side { width: 30%; height: 100%; border-top: none; border-left: solid $border; }
    }
    """

    def __init__(self, tenant: str) -> None:
        super().__init__()
        self.tenant = tenant
        self.judge: TenantJudge | None = None
        self.draft: Draft | None = None
        """What is meant; what is only typed is on top of it in `trial`."""
        self.judgement: Judgement | None = None
        """Of `trial`, as soon as it is known."""
        self._typing: str | None = None
        self._live: LiveSet | None = None
        self._unheard = ""
        """Why the engine's set is not known."""
        self._unread = ""
        """Why the tenant cannot be read, or its draft cannot."""
        self._clearance: int | None = None
        self._keeps = True

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
        self.query_one(KnobTable).focus()
        self.query_one("#state", Words).update(line((f" reading {self.tenant} ...", "muted")))
        self._read()

    def notes(self) -> Iterable[str]:
        """Whose knobs these are, and how many edits and findings there are."""
        yield self.tenant
        if self.judgement is None:
            return
        yield count(len(self.edited), "edit") if self.edited else ""
        for severity in (Severity.ERROR, Severity.WARNING):
            if number := self.judgement.counting(severity):
                yield count(number, severity.value)

    @property
    def edited(self) -> tuple[str, ...]:
        """The knobs whose value the draft changes."""
        found = self.judgement.understood if self.judgement else None
        return (*found.edited, *found.strangers) if found else ()

    @property
    def trial(self) -> Draft | None:
        """The draft with what is being typed."""
        knob = self.query_one(KnobField).knob
        if self.draft is None or self._typing is None or knob is None or not self._typing:
            return self.draft
        return self.draft.put(knob.name, self._typing)

    def _draw(self) -> None:
        """Draw what is known, and judge what stands there now."""
        judge, draft = self.judge, self.trial
        if judge is None or draft is None:
            self._draw_state()
            return
        table = self.query_one(KnobTable)
        width = self.query_one("#detail").size.width or self.size.width
        name, clearance = table.knob, self._clearance
        knob = judge.catalogue[name] if name in judge.catalogue else next(iter(judge.catalogue))

        def view() -> View:
            judgement = judge.judge(draft)
            rows = knob_rows(judge, judgement, clearance=clearance)
            shown = knob if name else rows[0].knob
            locked = self._locked(shown, clearance)
            detail = detail_lines(judge, judgement, shown, width=width - 1, locked=locked)
            return View(judgement, rows, detail, shown.name, width)

        self.ask("judge", view, self._seen)

    def _seen(self, view: View) -> None:
        self.judgement = view.judgement
        table = self.query_one(KnobTable)
        table.show(view.rows, self._typing)
        self.query_one("#titles", Words).update(table.head())
        self.query_one("#detail-text", Words).update(lines(*(line(*one) for one in view.detail)))
        self._draw_state()
        self.refresh_frame()

    def _draw_state(self) -> None:
        self.query_one("#state", Words).update(lines(*(line(*one) for one in self._state_lines())))

    def _state_lines(self) -> Iterable[tuple[Part, ...]]:
        """Where the sets come from, and then what stands in the way."""
        judge = self.judge
        if judge is None:
            yield (
                (
                    f" x {self._unread}" if self._unread else f" reading {self.tenant} ...",
                    "error" if self._unread else "muted",
                ),
            )
            return
        document = judge.subject.document
        file = document.source if document else "no document"
        live = live_words(self._live, self.workplace.now()) if self._live else "live: not known"
        yield ((f" {file}   {live}", "muted"),)
        for text in self._obstacles(judge):
            yield ((f" {text}", "warn"),)

    def _obstacles(self, judge: TenantJudge) -> Iterable[str]:
        if self._unread:
            yield f"x {self._unread}"
        if self._unheard:
            yield f"! {self._unheard}; the draft is kept, R asks again"
        for trouble in judge.troubles[:2]:
            yield f"x {trouble.message}: o opens the file"
        moved = self.judgement.moved if self.judgement and self.edited else None
        if moved and moved.base:
            what = ", ".join(change.field_path for change in moved.repo[:3]) or "the document"
            yield f"! the base moved since the draft was begun ({what}); b puts the edits on top of what is there now"
        elif moved and moved.live:
            what = ", ".join(change.field_path for change in moved.live[:3])
            yield f"! the engine's set moved since the draft was begun: {what}"
        if self.judgement and self.judgement.refused:
            yield f"! {self.judgement.refused}"

    # What is read.

    def _read(self) -> None:
        tenant, workplace = self.tenant, self.workplace
        self.ask("tenant", lambda: workplace.subject(tenant), self._found, failed=self._not_found)

    def _not_found(self, error: KnobctlError) -> None:
        self._unread = error.message
        self._draw()

    def _found(self, subject: Subject) -> None:
        self._unread = ""
        self._judge_by(subject)
        if self.draft is None:
            self.ask(
                "draft", lambda: self.workplace.draft(self.tenant), self._resume, failed=self._lost
            )
        self._hear_live()

    def _judge_by(self, subject: Subject) -> None:
        today = self.workplace.now().astimezone().date()
        self.judge = TenantJudge(subject, self._live, today)
        if self.draft and self.draft.is_empty:
            self.draft = self.judge.draft(self.workplace.engine_key)
        self._draw()

    def _hear_live(self) -> None:
        tenant, workplace = self.tenant, self.workplace
        self.ask(
            "live",
            lambda: (workplace.read(tenant), workplace.clearance()),
            self._heard,
            failed=self._not_heard,
        )

    def _heard(self, found: tuple[LiveSet, int | None]) -> None:
        self._live, self._clearance = found
        self._unheard = ""
        if self.judge:
            self._judge_by(self.judge.whole)

    def _not_heard(self, error: KnobctlError) -> None:
        self._unheard = f"the engine could not be asked: {error.message}"
        self._draw()

    def _resume(self, draft: Draft | None) -> None:
        assert self.judge is not None
        first = self.draft is None
        self.draft = draft or self.judge.draft(self.workplace.engine_key)
        if draft and draft.entries and first:
            tell(
                self.app, f"the draft of {self.tenant} goes on: {count(len(draft.entries), 'edit')}"
            )
        self._draw()

    def _lost(self, error: KnobctlError) -> None:
        """Go on without the draft that lies there: it is not touched."""
        assert self.judge is not None
        self._unread, self._keeps = error.message, False
        self.draft = self.judge.draft(self.workplace.engine_key)
        self._draw()

    def on_screen_resume(self) -> None:
        """See what became of the tenant meanwhile."""
        super().on_screen_resume()
        if self.judge:
            self._hear_live()
            if self._keeps:
                self.ask("draft", lambda: self.workplace.draft(self.tenant), self._resume)

    # What can be done.

    def refusal(self, action: Action) -> str | None:
        """Why an action cannot be done now."""
        if TENANT not in action.places or action.id in {"back", "reread"}:
            return super().refusal(action)
        if self.judge is None or self.draft is None or self.judgement is None:
            return f"{self.tenant} is not read yet" if not self._unread else self._unread
        if action.id != "editor" and self.judge.troubles and action.danger is not Danger.VIEW:
            trouble = self.judge.troubles[0]
            return f"{self.tenant} cannot be edited here: {trouble.message}; o opens its file"
        if action.id in _OF_A_KNOB:
            return self._refusal_of_knob(action)
        return self._refusal_of_draft(action) or super().refusal(action)

    def _refusal_of_knob(self, action: Action) -> str | None:
        row = self.query_one(KnobTable).row
        knob = row.knob if row else None
        if knob is None:
            return "there is no knob under the cursor"
        if locked := self._locked(knob, self._clearance):
            return locked
        if action.id == "next_value" and not knob.choices:
            return f"{knob.name} is a number: e edits it, + and - step"
        if action.id in {"more", "less"} and knob.choices:
            return f"{knob.name} has a few values: Space takes the next one"
        if action.id == "take_live" and self._live is None:
            return "it is not known what the engine holds"
        return None

    def _refusal_of_draft(self, action: Action) -> str | None:
        assert self.draft is not None
        assert self.judgement is not None
        match action.id:
            case "undo" if not self.draft.done:
                return "nothing to undo"
            case "redo" if not self.draft.undone:
                return "nothing to redo"
            case "rebase" if not self._has_moved:
                return "nothing moved under the draft"
            case "editor" if self._live is None and self.judge and not self.judge.subject.document:
                return "it is not known what the engine holds"
            case "write":
                return self._refusal_of_write(self.judgement)
            case _:
                return None

    @property
    def _has_moved(self) -> bool:
        moved, found = (
            (self.judgement.moved, self.judgement.understood) if self.judgement else ((), None)
        )
        return bool(found and (any(moved) or found.strangers))

    def _refusal_of_write(self, judgement: Judgement) -> str | None:
        assert self.judge is not None
        if self.judge.subject.document is None:
            return f"{self.tenant} has no document; one is made by: knobctl pull {self.tenant}"
        if judgement.obstacle:
            return f"it cannot be written: {judgement.obstacle}"
        if judgement.refused:
            return judgement.refused
        return None if judgement.edit else "the file says what the draft says; nothing to write"

    @staticmethod
    def _locked(knob: Knob, clearance: int | None) -> str:
        if not is_locked(knob, clearance):
            return ""
        return f"editing {knob.name} needs clearance L{knob.edit_clearance}, you have L{clearance}"

    def next_step(self) -> str:
        """What most people do next."""
        if self._unread or (self.judge and self.judge.troubles):
            return "o opens the file in $EDITOR; Esc goes back."
        if not self.edited:
            return "e edits the knob under the cursor; what follows is said with every key."
        if self.judgement and self.judgement.obstacle:
            return f"{self.judgement.obstacle}."
        return "d shows what would change; :push leads to the plan, w writes the file."

    def unfinished(self) -> Iterable[str]:
        """The edits of the draft."""
        if self.edited:
            yield f"{self.tenant}: {count(len(self.edited), 'edit')} in a draft, kept for the next session"

    def twin(self) -> str:
        """The command line that makes the draft's edits; the tenant's set where there are none."""
        typed = self.workplace.where.typed
        if self.draft is None or self.judgement is None or not self.edited:
            return f"knobctl get {shlex.quote(self.tenant)}{typed}"
        place = " --also-file" if self.judge and self.judge.subject.document else ""
        name = shlex.quote(self.tenant)
        said = {knob: self.draft.entry(knob) for knob in self.judgement.understood.edited}
        written = [
            shlex.quote(f"{knob}={entry}")
            for knob, entry in said.items()
            if not isinstance(entry, As)
        ]
        unset = [knob for knob, entry in said.items() if entry is UNSET]
        commands = [f"knobctl set {name} {' '.join(written)}{place}{typed}"] if written else []
        commands += [f"knobctl unset {name} {' '.join(unset)}{place}{typed}"] if unset else []
        return " && ".join(commands) or f"knobctl get {name}{typed}"

    # What is done.

    def _knob(self, name: str) -> Knob:
        """The knob that is named, else the one under the cursor; the cursor goes there.

        Raises:
            UsageError: If there is none of that name.
        """
        assert self.judge is not None
        table = self.query_one(KnobTable)
        if name:
            from knobctl.changes.single import knob_named

            found = knob_named(self.judge.catalogue, name)
            if locked := self._locked(found, self._clearance):
                raise RefusedError(locked)
            table.choose(found.name)
            return found
        if table.row is None:
            raise UsageError("there is no knob under the cursor")
        return table.row.knob

    def _put(self, knob: Knob, entry: Entry, *, by_step: bool = False) -> None:
        assert self.draft is not None
        self.take(self.draft.put(knob.name, entry, by_step=by_step))

    def take(self, draft: Draft) -> None:
        """Have another draft, on the screen and on the disk."""
        if draft.is_empty and self.judge:
            draft = self.judge.draft(self.workplace.engine_key)
        self.draft = draft
        self._draw()
        if self._keeps:
            self.ask("keep", self._keep, lambda _: None)

    def _keep(self) -> None:
        """Write down the draft as it is when its turn comes: an older one never comes later."""
        if self.draft:
            self.workplace.keep_draft(self.draft)

    def _text_of(self, knob: Knob) -> str:
        """What stands in the field when an edit begins."""
        assert self.draft is not None
        assert self.judgement is not None
        entry = self.draft.entry(knob.name)
        if not isinstance(entry, As):
            return entry
        value = self.judgement.understood.desired.get(knob.name)
        return "" if value is None else spelled(value)

    def action_edit(self, name: str = "") -> None:
        """Edit a knob."""
        assert self.judgement is not None
        assert self.judge is not None
        knob = self._knob(name)
        in_force = self.judge.catalogue.effective(self.judgement.understood.desired)[knob.name]
        text = self._text_of(knob)
        self._typing = text
        self.query_one(KnobField).begin(knob, text, in_force)
        self._draw()

    def on_knob_field_typed(self, event: KnobField.Typed) -> None:
        """Say what would follow of what stands in the field."""
        self._typing = event.text
        table = self.query_one(KnobTable)
        table.show(table.rows, event.text)
        self._draw()

    def on_knob_field_meant(self, event: KnobField.Meant) -> None:
        """Have it in the draft; a wrong value stays there, and cannot be written."""
        knob = self.query_one(KnobField).knob
        self._end_typing()
        if knob and event.text:
            self._put(knob, event.text)
        else:
            self._draw()

    def on_knob_field_left(self) -> None:
        """Have what was there before."""
        self._end_typing()
        self._draw()

    def _end_typing(self) -> None:
        self._typing = None
        self.query_one(KnobField).end()
        self.query_one(KnobTable).focus()

    def on_knob_table_chosen(self) -> None:
        """Say what is to be said of another knob."""
        if self.query_one(KnobField).knob:
            self._end_typing()
        self.query_one("#detail").scroll_home(animate=False)
        self._draw()

    async def on_knob_table_entered(self) -> None:
        """Edit the row that was clicked."""
        await self.knobctl.action_perform("edit")

    def action_unset(self, name: str = "") -> None:
        """Send a knob back to its default."""
        self._put(self._knob(name), UNSET)

    def action_revert(self, name: str = "") -> None:
        """Have a knob as it was begun."""
        self._put(self._knob(name), BEGUN)

    def action_take_live(self, name: str = "") -> None:
        """Copy the engine's value."""
        assert self._live is not None
        knob = self._knob(name)
        value = self._live.knobs.get(knob.name)
        self._put(knob, UNSET if value is None else spelled(value))

    def action_next_value(self, name: str = "") -> None:
        """Take the next value of a mode."""
        assert self.judge is not None
        assert self.judgement is not None
        knob = self._knob(name)
        now = str(self.judge.catalogue.effective(self.judgement.understood.desired)[knob.name])
        settable = knob.settable
        at = settable.index(now) + 1 if now in settable else 0
        self._put(knob, settable[at % len(settable)])

    def action_more(self, name: str = "") -> None:
        """A step up."""
        self._step(name, 1)

    def action_less(self, name: str = "") -> None:
        """A step down."""
        self._step(name, -1)

    def _step(self, name: str, by: int) -> None:
        assert self.judge is not None
        assert self.draft is not None
        knob = self._knob(name)
        entry = self.draft.entry(knob.name)
        base = self.draft.begun.base.get(knob.name, knob.default)
        value = knob.default if entry is UNSET else base
        further = stepped(knob, "" if isinstance(entry, As) else entry, value, by)
        if further is None:
            tell(self.app, f"{knob.name} takes {knob.range_text}{_and_zero(knob)}", "warning")
            return
        self._put(knob, further, by_step=True)

    def action_undo(self) -> None:
        """Take the last edit back, and say which."""
        assert self.draft is not None
        draft, edit = self.draft.undo()
        self._back_or_forth(draft, edit, "undone")

    def action_redo(self) -> None:
        """Do it again."""
        assert self.draft is not None
        draft, edit = self.draft.redo()
        self._back_or_forth(draft, edit, "redone")

    def _back_or_forth(self, draft: Draft, edit: Edit | None, what: str) -> None:
        if edit is None:
            return
        before, after = (edit.new, edit.old) if what == "undone" else (edit.old, edit.new)
        tell(self.app, f"{what}: {edit.knob}, {_entry_words(before)} -> {_entry_words(after)}")
        self.query_one(KnobTable).choose(edit.knob)
        self.take(draft)

    def action_rebase(self) -> None:
        """Put the edits on top of what is there now."""
        assert self.draft is not None
        assert self.judge is not None
        draft = self.draft.on(self.judge.now)
        for name in self.judgement.understood.strangers if self.judgement else ():
            draft = draft.put(name, BEGUN)
        self.take(draft)

    def action_diff(self) -> None:
        """Show what would change."""
        assert self.judge is not None
        assert self.judgement is not None
        shown = preview_lines(self.judge, self.judgement)
        self.app.push_screen(PreviewScreen(f"{self.tenant}: what the draft changes", shown))

    def action_write(self) -> None:
        """Show the diff of the file, and write it where somebody agrees."""
        assert self.judgement is not None
        assert self.judgement.edit is not None
        offer_write(self, self.judgement.edit, written=self.file_written)

    def file_written(self) -> None:
        """Begin anew from the file as it is: it says what the draft said."""
        assert self.draft is not None
        tell(self.app, f"the file of {self.tenant} is written; the engine is as it was")
        self.take(self.draft.emptied())
        self._read()

    def action_push(self) -> None:
        """Show the plan of a push; nothing is written by it."""
        from knobctl.tui.screens.plan import PlanScreen

        if self.draft:
            self.app.push_screen(PlanScreen(self.draft, self.take))

    def moved(self, push: Push) -> None:
        """Begin anew from what the engine and the file hold, where this tenant's draft was pushed."""
        if push.tenant != self.tenant or not (push.is_over and push.is_good) or self.draft is None:
            return
        if self.draft.entries == push.draft.entries:  # else it was edited meanwhile
            self.draft = self.draft.emptied()
        self._read()

    def action_editor(self) -> None:
        """Open the file, or the set, in the user's editor."""
        EditorRound(self).edit()

    def action_reread(self) -> None:
        """Read files and engine again."""
        self.workplace.reload()
        self._read()

    def action_lab(self, tenant: str = "") -> None:
        """Move the floor with what is known of it; what is taken there is an edit of this draft."""
        from knobctl.tui.screens.lab import LabScreen

        if tenant and tenant != self.tenant:
            super().action_lab(tenant)
        else:
            self.app.push_screen(LabScreen(self.tenant, self.draft, self.take))

    async def action_back(self) -> None:
        """Go back to the fleet; the draft stays."""
        await self.app.pop_screen()


def _entry_words(entry: Entry) -> str:
    if isinstance(entry, As):
        return "unset" if entry is UNSET else "as begun"
    return entry


def _and_zero(knob: Knob) -> str:
    if not knob.zero_surprises:
        return ""
    return (
        f"; 0 would mean the platform default {spelled(knob.default)}, practically off: {knob.off}"
    )
