"""`knobctl edit`: the live set of one tenant in an editor."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from knobctl.cli.changing import Place, Request, change_tenant, subject_of
from knobctl.cli.consent import confirmed, has_terminal, require_consent
from knobctl.cli.editors import KeptText, editor_command, keep_text, run_editor
from knobctl.cli.options import Settings, common_options
from knobctl.cli.push_options import PushOptions, consent_options
from knobctl.cli.selection import complete_tenants
from knobctl.cli.session import Session
from knobctl.errors import ExitCode, InputError, RefusedError
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.changes.single import Subject
    from knobctl.checks.report import Report
    from knobctl.engine.interface import LiveSet
    from knobctl.knobs import KnobValue


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

    editor = editor_command()
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


@contextmanager
def _kept(session: Session, tenant: str, text: bytes) -> Iterator[KeptText]:
    kept = keep_text(session.state_folder / "edits", tenant, text)
    try:
        yield kept
    finally:
        if place := kept.left():
            click.echo(f"your text is kept in {place}", err=True)


def _edited(
    session: Session, subject: Subject, live: LiveSet, draft: KeptText, editor: list[str]
) -> Mapping[str, KnobValue] | None:
    """Let the person edit until the text is a set that the checks accept; None where it is unchanged.

    Raises:
        InputError: If they give up on a text with errors.
        RefusedError: If they emptied it, or the editor failed.
    """
    from knobctl.changes.corpora import Corpora
    from knobctl.changes.edited import is_empty, read_edited
    from knobctl.changes.single import LiveChange, check_live_changes

    while True:
        run_editor(editor, draft.path)
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
            corpora = Corpora(lambda: session.engine)
            report = check_live_changes([change], today=session.today, corpora=corpora)
        if not report.errors:
            return None if dict(edited.knobs) == dict(live.knobs) else edited.knobs
        _show_errors(report)
        if not (has_terminal() and confirmed("Edit again?")):
            raise InputError(f"{count(report.errors, 'error')}; nothing was written.")


def _show_errors(report: Report) -> None:
    """Findings go to the terminal, not into the text: a line that begins with # may be data."""
    from knobctl.report.findings import findings_text

    click.echo(findings_text(report), err=True)
