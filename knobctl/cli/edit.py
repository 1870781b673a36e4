"""`knobctl edit`: the live set of one tenant in an editor."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from threading import Event
from typing import TYPE_CHECKING

import click

from knobctl.cli.changing import Place, Request, change_tenant, subject_of
from knobctl.cli.consent import confirmed, has_terminal, require_consent
from knobctl.cli.options import Settings, common_options
from knobctl.cli.push_options import PushOptions, consent_options
from knobctl.cli.selection import complete_tenants
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, InputError, RefusedError, UsageError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.changes.single import Subject
    from knobctl.checks.report import Report
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import KnobValue

LOOK_EVERY_S = 0.2
"""How often it is looked whether we were asked to end while the editor runs."""
FALLBACK_EDITORS = ("sensible-editor", "editor", "nano", "vi")


@click.command(name="edit")
@click.argument("tenant", shell_complete=complete_tenants)
@consent_options
@common_options(engine=True)
def command(
    settings: Settings,
    tenant: str,
    yes: bool,
    reason: str | None,
    ticket: str | None,
    allow: tuple[str, ...],
) -> ExitCode:
    """Edit the live set of one tenant in $VISUAL or $EDITOR, every knob explained.

    Findings are shown before the next round. The text is never lost: where it does not become the
    tenant's set, it is kept and its place is printed.
    """
    from knobctl.report.changes import live_words
    from knobctl.report.editing import edit_text

    editor = _editor()
    require_consent(yes=yes, what="edit")
    with Session(settings) as session:
        subject = subject_of(session, tenant, Place.LIVE)
        _refuse_what_is_unsaid(session, subject, reason, ticket)
        live = session.engine.read(tenant)
        text = edit_text(
            live,
            session.catalogue,
            where=f"{session.engine.name}, {live_words(live, session.now())}",
        )
        with _kept(session, tenant, text.encode()) as draft:
            desired = _edited(session, subject, live, draft, editor)
            if desired is None:
                settings.say("unchanged; nothing was written.")
                return draft.finished(ExitCode.OK)
            request = Request(command="edit", subject=subject, change=lambda _: desired, live=live)
            options = PushOptions(yes=yes, reason=reason, ticket=ticket, allow=allow)
            return draft.finished(change_tenant(session, request, Place.LIVE, options))


def _refuse_what_is_unsaid(
    session: Session, subject: Subject, reason: str | None, ticket: str | None
) -> None:
    """Look at what the push will demand before a person writes for an hour.

    Raises:
        RefusedError: If a reason or a ticket is demanded and missing.
    """
    from knobctl.changes.guards import unsaid
    from knobctl.cli.choosing import limits_for
    from knobctl.report.plan import refusal_words

    if refusals := tuple(unsaid(limits_for(session, subject.fleet), reason, ticket)):
        message, hint = refusal_words(refusals)
        raise RefusedError(message, hint=hint)


@dataclass(slots=True)
class _Draft:
    """The text while it is edited: a file that outlives everything but its own success."""

    path: Path
    original: bytes
    done: bool = False

    def saved(self) -> bytes:
        """The text as it stands now; nothing where the file was taken away."""
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def finished(self, code: ExitCode) -> ExitCode:
        """Note that the text is no longer needed, if all went well."""
        self.done = code is ExitCode.OK
        return code


def _not_kept(folder: Path, error: OSError) -> UsageError:
    return UsageError(f"the text cannot be kept in {folder}: {error.strerror}")


@contextmanager
def _kept(session: Session, tenant: str, text: bytes) -> Iterator[_Draft]:
    folder = session.state_folder / "edits"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=folder, prefix=f"{tenant}-", suffix=".yaml")
    except OSError as error:
        raise _not_kept(folder, error) from error
    draft = _Draft(Path(name), text)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text)
    except OSError as error:
        draft.path.unlink()
        raise _not_kept(folder, error) from error
    try:
        yield draft
    finally:
        if draft.done or draft.saved() == draft.original:
            draft.path.unlink(missing_ok=True)
        elif draft.path.exists():
            click.echo(f"your text is kept in {draft.path}", err=True)


def _edited(
    session: Session, subject: Subject, live: LiveSet, draft: _Draft, editor: list[str]
) -> Mapping[str, KnobValue] | None:
    """Let the person edit until the text is a set that the checks accept; None where it is unchanged.

    Raises:
        InputError: If they give up on a text with errors.
        RefusedError: If they emptied it, or the editor failed.
    """
    from knobctl.changes.edited import is_empty, read_edited
    from knobctl.changes.single import LiveChange, check_live_changes

    while True:
        _run(editor, draft.path)
        raw = draft.saved()
        if raw == draft.original:
            return None
        if is_empty(raw):
            raise RefusedError(
                "the text is empty; nothing was written.",
                hint=f"to send every knob back to its default: knobctl reset {subject.tenant}",
            )
        edited = read_edited(raw, subject)
        report = edited.report
        if not report.errors:
            change = LiveChange(subject=subject, live=live, desired=edited.knobs)
            report = check_live_changes([change], today=session.today)
        if not report.errors:
            return None if dict(edited.knobs) == dict(live.knobs) else edited.knobs
        _show_errors(report)
        if not (has_terminal() and confirmed("Edit again?")):
            raise InputError(f"{count(report.errors, 'error')}; nothing was written.")


def _show_errors(report: Report) -> None:
    """Findings go to the terminal, not into the text: a line that begins with # may be data."""
    from knobctl.report.findings import findings_text

    click.echo(findings_text(report), err=True)


def _editor() -> list[str]:
    """The editor's command line.

    Raises:
        RefusedError: If none is named and there is no terminal to open one on.
        UsageError: If the variable is no command line, or there is no editor at all.
    """
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR")
    if named:
        try:
            words = shlex.split(named)
        except ValueError as error:
            raise UsageError(f"$EDITOR is no command line: {error}") from error
        if words:
            return words
    if not has_terminal():
        raise RefusedError(
            "edit needs an editor, and there is no terminal to open one on.",
            hint="Nothing was written. Name one that needs none: EDITOR=...; or use knobctl set",
        )
    for name in FALLBACK_EDITORS:
        if found := which(name):
            return [found]
    raise UsageError("there is no editor", hint="name one: EDITOR=...")


def _run(editor: list[str], path: Path) -> None:
    sys.stdout.flush()
    with _signals_for_the_editor() as asked:
        try:
            process = subprocess.Popen([*editor, str(path)])  # noqa: S603  the user's own editor
        except OSError as error:
            raise UsageError(
                f"the editor {editor[0]} cannot be started: {error.strerror}"
            ) from error
        while (code := _ended(process)) is None:
            if asked.is_set():
                process.terminate()
                code = process.wait()
                break
    if asked.is_set():
        signal.raise_signal(signal.SIGTERM)
    if code == -signal.SIGINT:
        raise KeyboardInterrupt
    if code:
        raise RefusedError(f"the editor ended with {code}; nothing was written.")


def _ended(process: subprocess.Popen[bytes]) -> int | None:
    try:
        return process.wait(LOOK_EVERY_S)
    except subprocess.TimeoutExpired:
        return None


@contextmanager
def _signals_for_the_editor() -> Iterator[Event]:
    """Ctrl-C on its screen is the editor's own; where we must end, it ends first and in peace.

    Handlers, unlike ignored signals, are not handed on to the editor.

    Yields:
        Whether we were asked to end.
    """
    asked = Event()
    before = {
        signal.SIGINT: signal.signal(signal.SIGINT, lambda *_: None),
        signal.SIGTERM: signal.signal(signal.SIGTERM, lambda *_: asked.set()),
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
