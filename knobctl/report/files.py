"""Edits of files for people and machines: a unified diff, and what was decided on the way."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

import click

from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from knobctl.changes.file_edits import FileEdit


def files_text(edits: Sequence[FileEdit], *, colored: bool = False) -> str:
    """Write the edits as one unified diff a file, each followed by its notes."""
    lines: list[str] = []
    for edit in edits:
        lines += [_painted(line, colored) for line in diff_lines(edit)]
        lines += [f"  note: {visible(note)}" for note in edit.notes]
    return "\n".join(lines)


def diff_lines(edit: FileEdit) -> list[str]:
    """The unified diff of one edit, safe for a terminal, without line ends."""
    before = (edit.before or b"").decode("utf-8", "replace").splitlines()
    after = edit.after.decode("utf-8", "replace").splitlines()
    old = edit.name if edit.before is not None else "(new file)"
    found = difflib.unified_diff(before, after, old, edit.name, lineterm="", n=2)
    return [visible(line) for line in found]


def _painted(line: str, colored: bool) -> str:
    if not colored or line[:3] in {"---", "+++"}:
        return line
    colour = {"+": "green", "-": "red", "@": "cyan"}.get(line[:1])
    return click.style(line, fg=colour) if colour else line


def files_json(edits: Sequence[FileEdit], *, written: Collection[FileEdit]) -> list[dict[str, Any]]:
    """The edits as machine-readable output shows them; `written` are those that were made."""
    return [
        {
            "file": edit.name,
            "tenants": list(edit.tenants),
            "created": edit.before is None,
            "written": edit in written,
            "diff": diff_lines(edit),
            "notes": list(edit.notes),
        }
        for edit in edits
    ]
