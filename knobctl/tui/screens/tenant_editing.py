"""Edits of one tenant's draft: what can be done now, why not, and the doing."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Final

from knobctl.changes.single import knob_named
from knobctl.errors import RefusedError, UsageError
from knobctl.text import count, spelled
from knobctl.tui.actions import TENANT, Danger
from knobctl.tui.draft import BEGUN, UNSET, As, Draft, Edit, Entry
from knobctl.tui.preview import preview_lines
from knobctl.tui.screens.place import Place
from knobctl.tui.screens.preview import PreviewScreen
from knobctl.tui.screens.tenant_files import EditorRound, offer_write
from knobctl.tui.steps import stepped
from knobctl.tui.tenant_words import entry_words, lock_words, twin_of, write_refusal, zero_hint
from knobctl.tui.ui import tell
from knobctl.tui.widgets.knob_field import KnobField
from knobctl.tui.widgets.knob_table import KnobTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import Knob
    from knobctl.tui.actions import Action
    from knobctl.tui.judging import Judgement, TenantJudge
    from knobctl.tui.pushes import Push

_OF_A_KNOB: Final = frozenset(
    {"edit", "unset", "revert", "take_live", "next_value", "more", "less"}
)
"""Actions about the knob under the cursor, or the one that is named."""


class TenantEditing(Place):
    """A place whose draft of one tenant is edited. Drawing and reading are the screen's."""

    def __init__(self, tenant: str) -> None:
        super().__init__()
        self.tenant = tenant
        self.judge: TenantJudge | None = None
        self.draft: Draft | None = None
        """What is meant; what is only typed is on top of it in `trial`."""
        self.judgement: Judgement | None = None
        """Of `trial`, as soon as it is known."""
        self.live: LiveSet | None = None
        self.clearance: int | None = None
        """The caller's, where it is known."""
        self.unread = ""
        """Why the tenant, or its draft, cannot be read."""
        self.keeps = True
        """Whether the draft is kept on the disk."""
        self._is_kept, self._keeping = True, Lock()
        self.typing: str | None = None
        """What stands in the field; None where nobody types."""
        self._stood = ""
        """What stood there when it was opened."""

    def draw(self) -> None:
        """Judge what stands there now, and draw what is known."""
        raise NotImplementedError

    def read(self) -> None:
        """Read the tenant's files and its live set."""
        raise NotImplementedError

    @property
    def edited(self) -> tuple[str, ...]:
        """The knobs whose value the draft changes."""
        found = self.judgement.understood if self.judgement else None
        return (*found.edited, *found.strangers) if found else ()

    @property
    def trial(self) -> Draft | None:
        """The draft with what is being typed."""
        knob = self.query_one(KnobField).knob
        if self.draft is None or knob is None or not self.typing:
            return self.draft
        return self.draft.put(knob.name, self.typing)

    # What can be done.

    def refusal(self, action: Action) -> str | None:
        """Why an action cannot be done now."""
        if TENANT not in action.places or action.id in {"back", "reread"}:
            return super().refusal(action)
        if self.judge is None or self.draft is None or self.judgement is None:
            return f"{self.tenant} is not read yet" if not self.unread else self.unread
        if action.id != "editor" and self.judge.troubles and action.danger is not Danger.VIEW:
            trouble = self.judge.troubles[0]
            return f"{self.tenant} cannot be edited here: {trouble.message}; o opens its file"
        if (
            action.id in _OF_A_KNOB
        ):  # what a knob itself stands against, its action says: it may be named
            unknown = action.id == "take_live" and self.live is None
            return "it is not known what the engine holds" if unknown else None
        return self._refusal_of_draft(action) or super().refusal(action)

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
            case "editor" if self.live is None and self.judge and not self.judge.subject.document:
                return "it is not known what the engine holds"
            case "write":
                assert self.judge is not None
                return write_refusal(self.judge, self.judgement)
            case _:
                return None

    @property
    def _has_moved(self) -> bool:
        moved, found = (
            (self.judgement.moved, self.judgement.understood) if self.judgement else ((), None)
        )
        return bool(found and (any(moved) or found.strangers))

    def next_step(self) -> str:
        """What most people do next."""
        if self.unread or (self.judge and self.judge.troubles):
            return "o opens the file in $EDITOR; Esc goes back."
        if not self.edited:
            return "e edits the knob under the cursor; what follows is said with every key."
        if self.judgement and self.judgement.obstacle:
            return f"{self.judgement.obstacle}."
        return "d shows what would change; :push leads to the plan, w writes the file."

    def unfinished(self) -> Iterable[str]:
        """The edits of the draft."""
        if self.edited and self.tenant not in self.workplace.unkept_drafts():
            kept = "kept for the next session" if self.keeps else "LOST by leaving"
            yield f"{self.tenant}: {count(len(self.edited), 'edit')} in a draft, {kept}"

    def twin(self) -> str:
        """The command line that makes the draft's edits; the tenant's set where there are none."""
        typed = self.workplace.where.typed
        has_file = bool(self.judge and self.judge.subject.document)
        return twin_of(self.tenant, self.judgement, has_file=has_file, typed=typed)

    # What is done.

    def _knob(self, name: str) -> Knob:
        """The knob that is named, else the one under the cursor; the cursor goes there.

        Raises:
            UsageError: If there is none of that name.
            RefusedError: If the caller may not edit it.
        """
        assert self.judge is not None
        table = self.query_one(KnobTable)
        found = knob_named(self.judge.catalogue, name or table.knob)
        if locked := lock_words(found, self.clearance):
            raise RefusedError(locked)
        table.choose(found.name, quietly=True)
        return found

    def _put(self, knob: Knob, entry: Entry, *, by_step: bool = False) -> None:
        assert self.draft is not None
        self.take(self.draft.put(knob.name, entry, by_step=by_step))

    def take(self, draft: Draft) -> None:
        """Have another draft, on the screen and on the disk."""
        if draft.is_empty and self.judge:
            draft = self.judge.draft(self.workplace.engine_key)
        self.draft, self._is_kept = draft, False
        self.draw()
        if self.keeps:
            self.ask("keep", self.keep, lambda _: None)

    def keep(self) -> None:
        """Write down the draft as it is when its turn comes: an older one never comes later."""
        with self._keeping:
            if self.draft and not self._is_kept:
                self._is_kept = True
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
        self.typing = self._stood = text
        self.add_class("-typing")
        self.query_one(KnobField).begin(knob, text, in_force)
        self.draw()

    def on_knob_field_typed(self, event: KnobField.Typed) -> None:
        """Say what would follow of what stands in the field."""
        self.typing = event.text.strip()
        table = self.query_one(KnobTable)
        table.show(table.rows, self.typing)
        self.draw()

    def on_knob_field_meant(self, event: KnobField.Meant) -> None:
        """Have it in the draft; a wrong value stays there, and cannot be written."""
        knob = self.query_one(KnobField).knob
        self._end_typing()
        text = event.text.strip()
        if knob and text and text != self._stood:
            self._put(knob, text)
        else:
            self.draw()

    def on_knob_field_left(self) -> None:
        """Have what was there before."""
        self._end_typing()
        self.draw()

    def _end_typing(self) -> None:
        self.typing = None
        self.remove_class("-typing")
        self.query_one(KnobField).end()
        self.query_one(KnobTable).focus()

    def action_down(self) -> None:
        """A knob down."""
        self.query_one(KnobTable).move(1)

    def action_up(self) -> None:
        """A knob up."""
        self.query_one(KnobTable).move(-1)

    def action_page_down(self) -> None:
        """As many knobs down as are seen."""
        self.query_one(KnobTable).page(1)

    def action_page_up(self) -> None:
        """As many knobs up as are seen."""
        self.query_one(KnobTable).page(-1)

    def action_top(self) -> None:
        """The first knob."""
        self.query_one(KnobTable).move(-len(self.query_one(KnobTable).rows))

    def action_bottom(self) -> None:
        """The last knob."""
        self.query_one(KnobTable).move(len(self.query_one(KnobTable).rows))

    def on_knob_table_chosen(self) -> None:
        """Say what is to be said of another knob."""
        if self.query_one(KnobField).knob:
            self._end_typing()
        self.query_one("#detail").scroll_home(animate=False)
        self.draw()

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
        assert self.live is not None
        knob = self._knob(name)
        value = self.live.knobs.get(knob.name)
        self._put(knob, UNSET if value is None else spelled(value))

    def action_next_value(self, name: str = "") -> None:
        """Take the next value of a mode.

        Raises:
            UsageError: If it is a number.
        """
        assert self.judge is not None
        assert self.judgement is not None
        knob = self._knob(name)
        if not knob.choices:
            raise UsageError(f"{knob.name} is a number: e edits it, + and - step")
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
        if knob.choices:
            raise UsageError(f"{knob.name} has a few values: Space takes the next one")
        entry = self.draft.entry(knob.name)
        base = self.draft.begun.base.get(knob.name, knob.default)
        value = knob.default if entry is UNSET else base
        further = stepped(knob, "" if isinstance(entry, As) else entry, value, by)
        if further is None:
            tell(self.app, f"{knob.name} takes {knob.range_text}{zero_hint(knob)}", "warning")
            return
        self._put(knob, further, by_step=True)

    def action_copy(self) -> None:
        """Send the knob's value to the clipboard.

        Raises:
            UsageError: If it has none.
        """
        knob = self._knob("")
        text = self._text_of(knob)
        if not text:
            raise UsageError(f"{knob.name} is not set: the platform default holds, {knob.default}")
        self.knobctl.hand_out(text)

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
        tell(self.app, f"{what}: {edit.knob}, {entry_words(before)} -> {entry_words(after)}")
        self.query_one(KnobTable).choose(edit.knob, quietly=True)
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
        self.read()

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
        self.read()

    def action_editor(self) -> None:
        """Open the file, or the set, in the user's editor."""
        EditorRound(self).edit()

    def action_reread(self) -> None:
        """Read files and engine again."""
        self.workplace.reload()
        self.read()

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
