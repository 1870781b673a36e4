"""The JSON form of drafts, as they lie in the user's folder. Pure."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError
from knobctl.tui.draft import BEGUN, UNSET, As, Begun, Draft, Edit

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from knobctl.knobs import KnobValue
    from knobctl.tui.draft import Entry

VERSION: Final = 1


def draft_bytes(draft: Draft, saved_at: datetime) -> bytes:
    """Write a draft down."""
    form = {
        "version": VERSION,
        "engine": draft.engine,
        "tenant": draft.tenant,
        "saved_at": saved_at.isoformat(),
        "begun": {
            "repo": draft.begun.repo,
            "live": draft.begun.live,
            "revision": draft.begun.revision,
        },
        "settled": {knob: _entry_form(entry) for knob, entry in draft.settled.items()},
        "done": [_edit_form(edit) for edit in draft.done],
        "undone": [_edit_form(edit) for edit in draft.undone],
    }
    return json.dumps(form, default=dict, indent=1).encode() + b"\n"


def read_draft(content: bytes, place: str) -> Draft:
    """Read a draft.

    Args:
        content: What lies on the disk.
        place: Where, for people.

    Raises:
        InputError: If it is no draft; it is left where it lies.
    """
    try:
        form = json.loads(content, parse_constant=_refuse)
        return _draft(form)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise InputError(
            f"the draft in {place} cannot be read: {error}",
            hint="move it away; it is not touched meanwhile",
        ) from error


def _draft(form: Mapping[str, Any]) -> Draft:
    if form["version"] != VERSION:
        raise ValueError(f"it is of version {form['version']}")
    begun = form["begun"]
    return Draft(
        engine=_text(form["engine"]),
        tenant=_text(form["tenant"]),
        begun=Begun(
            repo=_set(begun["repo"]),
            live=_set(begun["live"]),
            revision=None if begun["revision"] is None else _text(begun["revision"]),
        ),
        settled={knob: _entry(entry) for knob, entry in form["settled"].items()},
        done=tuple(map(_edit, form["done"])),
        undone=tuple(map(_edit, form["undone"])),
    )


def _entry_form(entry: Entry) -> object:
    return {"as": entry.value} if isinstance(entry, As) else {"write": entry}


def _edit_form(edit: Edit) -> dict[str, object]:
    form = {"knob": edit.knob, "old": _entry_form(edit.old), "new": _entry_form(edit.new)}
    return {**form, "by_step": True} if edit.by_step else form


def _edit(form: Mapping[str, Any]) -> Edit:
    return Edit(
        _text(form["knob"]),
        _entry(form["old"]),
        _entry(form["new"]),
        bool(form.get("by_step", False)),
    )


def _entry(form: Mapping[str, Any]) -> Entry:
    if "write" in form:
        return _text(form["write"])
    return {BEGUN.value: BEGUN, UNSET.value: UNSET}[form["as"]]


def _set(form: object) -> dict[str, KnobValue] | None:
    if form is None:
        return None
    if not isinstance(form, dict):
        raise TypeError("a set is no mapping")
    return {_text(name): _value(value) for name, value in form.items()}


def _value(value: object) -> KnobValue:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{value!r} is no value of a knob")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{value!r} is no value of a knob")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _refuse(constant: str) -> object:
    raise ValueError(f"{constant} is no value of a knob")
