"""What a draft would change: on the engine, in three kinds, and in the tenant's file. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.changes.diff import Op
from knobctl.report.changes import unknown_words, value_words
from knobctl.report.files import diff_lines
from knobctl.text import count
from knobctl.tui.draft import Cause
from knobctl.tui.signs import CAUSES

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.file_edits import FileEdit
    from knobctl.tui.detail import Line
    from knobctl.tui.draft import Due
    from knobctl.tui.judging import Judgement, TenantJudge
    from knobctl.tui.ui import Role

_WORDS: Final = {
    Cause.RESET: "RESET: neither the draft nor the files have it",
    Cause.EDIT: "edit",
    Cause.DRIFT: "drift: the files have it, the engine has not",
}
_PAINT: Final[dict[str, Role]] = {"+": "good", "-": "error", "@": "muted"}


def preview_lines(judge: TenantJudge, judgement: Judgement) -> Iterator[Line]:
    """Say what a push would change, then how the file would be edited."""
    yield from _push_lines(judge, judgement)
    if judgement.edit:
        yield ("",)
        yield (("in the file", "strong"),)
        yield from edit_lines(judgement.edit)
    elif judgement.refused:
        yield ((f"! {judgement.refused}", "warn"),)


def _push_lines(judge: TenantJudge, judgement: Judgement) -> Iterator[Line]:
    if judge.live is None:
        yield (("! it is not known what the engine holds", "warn"),)
        return
    if not judgement.due:
        yield ("the engine holds what the draft says; a push would change nothing",)
        return
    number = {cause: sum(one.cause is cause for one in judgement.due) for cause in Cause}
    parts = [
        count(amount, noun)
        for noun, amount in (
            ("edit", number[Cause.EDIT]),
            ("reset", number[Cause.RESET]),
            ("drift", number[Cause.DRIFT]),
        )
        if amount
    ]
    yield (
        ("on the engine", "strong"),
        f"  {count(len(judgement.due), 'field')}: {', '.join(parts)}; a push replaces the whole set",
    )
    if judge.live.unknown:
        yield ((unknown_words(judge.live.unknown).strip(), "warn"),)
    yield from _due_lines(judgement.due)
    left = len(judge.catalogue) - len(judgement.due)
    yield ((f"= {count(left, 'field')} unchanged", "muted"),)


def _due_lines(due: Sequence[Due]) -> Iterator[Line]:
    rows = [(_before(one), _after(one)) for one in due]
    path = max(len(one.change.field_path) for one in due)
    width = max(len(before) for before, _ in rows)
    other = max(len(after) for _, after in rows)
    for one, (before, after) in zip(due, rows, strict=True):
        sign, role = CAUSES[one.cause]
        yield (
            (f"{sign} ", role),
            f"{one.change.field_path:{path}}  {before:{width}} -> {after:{other}}  ",
            (_WORDS[one.cause], role),
        )


def _before(due: Due) -> str:
    one = due.change
    return value_words(one.before, one.effective_before, unset=one.op is Op.SET)


def _after(due: Due) -> str:
    one = due.change
    return value_words(one.after, one.effective_after, unset=one.op is Op.RESET)


def edit_lines(edit: FileEdit) -> Iterator[Line]:
    """The unified diff of the file."""
    for row in diff_lines(edit):
        yield ((row, _PAINT.get(row[:1], "") if row[:3] not in {"---", "+++"} else "muted"),)
    for note in edit.notes:
        yield ((f"note: {note}", "muted"),)
