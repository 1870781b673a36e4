"""The command lines that push one tenant's set, edit its file, and take it back: what a screen did, for a script."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from knobctl.changes.diff import Op
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.changes.diff import Change
    from knobctl.changes.file_edits import Wish


def push_commands(  # noqa: PLR0913  all that a command line names
    tenant: str,
    changes: Sequence[Change],
    *,
    literals: Mapping[str, str],
    wish: Wish | None,
    reason: str,
    ticket: str | None,
    allowances: Sequence[str],
    place: str,
    evidence: Sequence[str] = (),
) -> str:
    """Write the command lines that come to the same set and the same file, joined by `&&`.

    Args:
        tenant: Whose set.
        changes: What changes on the engine.
        literals: What was typed, by knob.
        wish: What the tenant's file shall say otherwise; None where it is left alone.
        reason: Why.
        ticket: The ticket, if one was named.
        allowances: What is acknowledged, as `--allow` names it.
        place: The options that lead to the same engine, to be appended.
        evidence: Files of evidence that are attached.
    """
    also = " --also-file" if wish else ""
    said = _said(reason, ticket, allowances)
    said += "".join(f" --evidence {shlex.quote(one)}" for one in evidence)
    name = shlex.quote(tenant)
    written = [
        _assignment(one.knob, literals.get(one.knob) or spelled(one.after))
        for one in changes
        if one.op is not Op.RESET
    ]
    removed = [one.knob for one in changes if one.op is Op.RESET]
    commands = []
    if written:
        commands.append(f"knobctl set {name} {' '.join(written)}{also}{said}{place}")
    if removed:
        commands.append(f"knobctl unset {name} {' '.join(removed)}{also}{said}{place}")
    if wish:
        live = {one.knob for one in changes}
        alone = [_assignment(*each) for each in wish.write.items() if each[0] not in live]
        commands += [f"knobctl set {name} {' '.join(alone)} --file{place}"] if alone else []
        gone = [knob for knob in wish.remove if knob not in live]
        commands += [f"knobctl unset {name} {' '.join(gone)} --file{place}"] if gone else []
    return " && ".join(commands) or f"knobctl get {name}{place}"


def undo_command(tenant: str, *, run: str | None, has_revisions: bool, place: str) -> str:
    """The command that takes a push back.

    Args:
        tenant: Whose set.
        run: The run that wrote it, where it is known by now.
        has_revisions: Whether the engine has them: without, only the journal knows what was there.
        place: The options that lead to the same engine, to be appended.
    """
    if has_revisions:
        return f"knobctl rollback {shlex.quote(tenant)}{place}"
    return f"knobctl rollback --run {run or 'RUN'}{place}"


def _assignment(knob: str, literal: str) -> str:
    return shlex.quote(f"{knob}={literal}")


def _said(reason: str, ticket: str | None, allowances: Sequence[str]) -> str:
    words = [f" --reason {shlex.quote(reason)}"] if reason else []
    words += [f" --ticket {shlex.quote(ticket)}"] if ticket else []
    words += [f" --allow {shlex.quote(one)}" for one in allowances]
    return "".join(words)
