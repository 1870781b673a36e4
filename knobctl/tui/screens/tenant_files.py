"""What becomes of a tenant's draft in files: written into the tenant's own, or edited as text in $EDITOR."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from textual.app import SuspendNotSupported

from knobctl.changes.edited import EditedFile, is_empty, read_edited, read_edited_file
from knobctl.changes.single import check_file_change
from knobctl.finding import Severity
from knobctl.report.editing import edit_text
from knobctl.text import count, spelled
from knobctl.tui.draft import UNSET
from knobctl.tui.preview import edit_lines
from knobctl.tui.screens.preview import PreviewScreen
from knobctl.tui.ui import tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.finding import Finding
    from knobctl.knobs import KnobValue
    from knobctl.tui.detail import Line
    from knobctl.tui.draft import Draft
    from knobctl.tui.judging import Judgement, TenantJudge
    from knobctl.tui.screens.tenant_editing import TenantEditing
    from knobctl.tui.workplace import KeptText


def offer_write(
    screen: TenantEditing,
    edit: FileEdit,
    *,
    written: Callable[[], object],
    left: Callable[[], object] = lambda: None,
) -> None:
    """Show how a file would be edited, and edit it where somebody agrees.

    Args:
        screen: The tenant.
        edit: The edit.
        written: Called when it is done.
        left: Called where nobody agreed.
    """

    def write() -> None:
        screen.knobctl.armed()  # it may have ended while the diff was read
        screen.workplace.write_file(edit)

    def answered(agreed: bool | None) -> None:
        if agreed:
            screen.ask("write", write, lambda _: written(), failed=lambda _: left())
        else:
            left()

    title = f"Write {edit.name}? The engine is left alone."
    screen.app.push_screen(
        PreviewScreen(title, edit_lines(edit), yes=f"writes {edit.name}"), answered
    )


class Taken(NamedTuple):
    """What an edited text comes to."""

    errors: Sequence[Finding]
    draft: Draft
    """With what the text says of knobs."""
    file: EditedFile | None = None
    """The file, where its text changes more than knobs."""


class EditorRound:
    """One text in the user's editor, as often as it takes."""

    def __init__(self, screen: TenantEditing) -> None:
        """Take the tenant as it is: its file as the draft would have it, or the set where it has no file."""
        assert screen.judge is not None
        assert screen.draft is not None
        assert screen.judgement is not None
        self._screen = screen
        self._judge: TenantJudge = screen.judge
        self._draft: Draft = screen.draft
        self._judgement: Judgement = screen.judgement
        self._kept: KeptText = screen.workplace.keep_text(screen.tenant, self._text())

    def _text(self) -> bytes:
        document, live = self._judge.subject.document, self._judge.live
        if document is not None:
            edit = self._judgement.edit
            return edit.after if edit else document.text.encoded(document.text.text)
        assert live is not None
        held = live._replace(knobs=self._judgement.understood.desired)
        where = f"{self._screen.workplace.where.engine}, as the draft has it"
        return edit_text(held, self._judge.catalogue, where=where).encode()

    def edit(self) -> None:
        """Give the terminal to the editor, and read what was saved."""
        screen, said = self._screen, list[str]()
        try:
            with screen.app.suspend(), screen.telling(said.append):
                screen.workplace.edit(self._kept)
        except SuspendNotSupported:
            said.append("an editor needs the terminal, and there is none to give it")
        if said:
            tell(screen.app, f"{said[0]}{self._place()}", "error")
            return
        raw = self._kept.saved()
        if raw == self._kept.original or is_empty(raw):
            what = "the text is empty; nothing" if raw and is_empty(raw) else "nothing"
            tell(screen.app, f"{what} was changed{self._place()}")
            return
        screen.ask("edited", lambda: self._read(raw), self._take)

    def _place(self) -> str:
        """Where the text lies, if it does."""
        path = self._kept.left()
        return f"; the text is kept in {path}" if path else ""

    def _read(self, raw: bytes) -> Taken:
        judge, document = self._judge, self._judge.subject.document
        if document is None:
            edited = read_edited(raw, judge.subject)
            return Taken(_errors(edited.report.findings), self._with(edited.knobs, {}))
        before = document.text.encoded(document.text.text)
        found = read_edited_file(raw, before, judge.subject)
        errors = _errors(found.report.findings)
        if errors:
            return Taken(errors, self._draft)
        draft = self._with(found.desired, found.literals)
        edit = judge.judge(draft).edit
        # A document with errors is mended by its file alone: no draft of it is ever written.
        if raw == (edit.after if edit else before) and not judge.troubles:
            return Taken((), draft)
        checked = check_file_change(judge.subject, found.edit, today=judge.today)
        return Taken(_errors(checked.findings), draft, found)

    def _with(self, desired: Mapping[str, KnobValue], literals: Mapping[str, str]) -> Draft:
        """The draft with another set: what differs is an edit each."""
        draft, understood = self._draft, self._judgement.understood
        for knob in self._judge.catalogue:
            value = desired.get(knob.name)
            if value == understood.desired.get(knob.name) and knob.name not in understood.faults:
                continue
            written = literals.get(knob.name)
            entry = written if written and value is not None else value
            draft = draft.put(knob.name, UNSET if entry is None else spelled(entry))
        return draft

    def _take(self, taken: Taken) -> None:
        screen = self._screen
        if taken.errors:
            title = f"{count(len(taken.errors), 'error')} in the text; nothing was taken from it"
            shown = PreviewScreen(title, _finding_lines(taken.errors), yes="edits it again")
            screen.app.push_screen(shown, self._again)
            return
        if taken.file is None:
            self._done(taken.draft)
        elif screen.knobctl.arming.refusal(screen.workplace.now()):
            what = "this needs the file written"
            if not self._judge.troubles:
                screen.take(taken.draft)
                what = "the draft has its knobs; what else it changes needs the file written"
            tell(screen.app, f"{what}: :arm, then o{self._place()}", "warning")
        else:
            offer_write(
                screen, taken.file.edit, written=self._written, left=lambda: self._leave(taken)
            )

    def _again(self, agreed: bool | None) -> None:
        if agreed:
            self.edit()
        else:
            tell(self._screen.app, f"nothing was changed{self._place()}")

    def _done(self, draft: Draft) -> None:
        self._kept.done = True
        self._kept.left()
        self._screen.take(draft)
        tell(self._screen.app, "what was saved stands in the draft")

    def _written(self) -> None:
        self._kept.done = True
        self._kept.left()
        self._screen.file_written()

    def _leave(self, taken: Taken) -> None:
        what = "the file was not written"
        if not self._judge.troubles:
            self._screen.take(taken.draft)
            what = f"the draft has its knobs; {what}"
        tell(self._screen.app, f"{what}{self._place()}")


def _errors(findings: Sequence[Finding]) -> list[Finding]:
    return [one for one in findings if one.severity is Severity.ERROR and one.counts]


def _finding_lines(findings: Sequence[Finding]) -> Iterator[Line]:
    for one in findings:
        place = f"{one.primary.line}:{one.primary.column}  " if one.primary else ""
        yield (place, (f"x {one.rule}  ", "error"), one.message)
        if one.hint:
            yield ((f"   {one.hint}", "muted"),)
