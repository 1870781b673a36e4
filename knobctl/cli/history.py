"""`knobctl history`: the engine's audit events, and the proof of their chain."""

from __future__ import annotations

import re
import sys
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import click

from knobctl.cli.options import Settings, common_options
from knobctl.cli.selection import selection_of, selection_options, tenants_argument
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knobctl.cli.session import Session
    from knobctl.engine.verifying import Verified

_AGE = re.compile(r"([1-9][0-9]{0,5})(s|min|h|d|w)\Z")
_UNITS = {"s": 1, "min": 60, "h": 3600, "d": 86400, "w": 604800}


@click.command()
@tenants_argument
@selection_options
@click.option(
    "--since",
    metavar="TIME",
    help="Only events from then on: 2026-11-29T20:00:00Z, 2026-11-29, 2h, 7d.",
)
@click.option(
    "--verify",
    "wants_proof",
    is_flag=True,
    help="Prove that the events continue each other; exit 4 where not.",
)
@click.option(
    "--head",
    "heads",
    multiple=True,
    metavar="TENANT=HEAD",
    help="With --verify: the head of an earlier run, so that a cut tail is seen; repeatable.",
)
@common_options(engine=True)
def command(
    settings: Settings,
    tenants: tuple[str, ...],
    labels: tuple[str, ...],
    where: str | None,
    since: str | None,
    wants_proof: bool,
    heads: tuple[str, ...],
) -> ExitCode:
    """Show who changed what, when and why: the audit events, oldest first.

    Without TENANT, those of every tenant that the token opens.
    """
    from knobctl.cli.session import Session
    from knobctl.report.history import history_json, history_text

    kept = _kept_heads(heads, wants_proof=wants_proof)
    with Session(settings) as session:
        start = _start(since, session.now())
        names = _names(session, tenants, labels, where)
        # A chain is proved from its first event on, so the time limit then counts for display only.
        events = list(_events(session, names, None if wants_proof else start))
        verified = _proof(events, names, kept) if wants_proof else None
        shown = [event for event in events if _is_since(event["occurred_at"], start)]
        broken = verified is not None and any(one.findings for one in verified)
        code = ExitCode.FINDINGS if broken else ExitCode.OK
        settings.answer(
            {
                "text": lambda: history_text(
                    shown,
                    verified,
                    session.catalogue,
                    now=session.now(),
                    colored=settings.colored(sys.stdout),
                ),
                "json": lambda: history_json(shown, verified, code),
            }
        )
    return code


def _names(
    session: Session, tenants: tuple[str, ...], labels: tuple[str, ...], where: str | None
) -> Sequence[str] | None:
    """The tenants meant; None for every tenant that the token opens."""
    selection = selection_of(tenants, labels, where)
    if labels or where:
        from knobctl.cli.live import live_sets

        return [one.live.tenant for one in live_sets(session, selection)]
    return selection.names or None


def _events(
    session: Session, names: Sequence[str] | None, start: datetime | None
) -> Iterable[dict[str, Any]]:
    from knobctl.engine.interface import TenantNotFoundError
    from knobctl.engine.reading import read_events

    since = start.isoformat() if start else None
    try:
        yield from read_events(session.engine, names, since=since)
    except TenantNotFoundError as error:
        raise UsageError(error.message, hint=error.hint) from error


def _proof(
    events: Sequence[dict[str, Any]], names: Sequence[str] | None, kept: dict[str, str]
) -> list[Verified]:
    from knobctl.engine.verifying import verify

    if names is not None and (other := next((name for name in kept if name not in names), None)):
        raise UsageError(f"--head names {other}, which is not among the tenants asked for")
    return verify(events, kept)


def _kept_heads(heads: tuple[str, ...], *, wants_proof: bool) -> dict[str, str]:
    if heads and not wants_proof:
        raise UsageError("--head says nothing without --verify")
    kept = {}
    for text in heads:
        tenant, _, head = text.partition("=")
        if not tenant or not re.fullmatch(r"[0-9a-f]{64}", head):
            raise UsageError(
                f"--head {text!r} must be TENANT=HEAD, the 64 digits that --verify printed"
            )
        kept[tenant] = head
    return kept


def _start(since: str | None, now: datetime) -> datetime | None:
    """Read `--since`: an age, a day in the user's time zone, or a time."""
    if since is None:
        return None
    if age := _AGE.match(since):
        return now - timedelta(seconds=int(age[1]) * _UNITS[age[2]])
    try:
        moment = datetime.fromisoformat(since)
    except ValueError as error:
        raise UsageError(
            f"--since {since!r} is no time",
            hint="2026-11-29T20:00:00Z, 2026-11-29, 90min, 2h, 7d, 4w",
        ) from error
    return moment if moment.tzinfo else moment.astimezone()


def _is_since(occurred_at: str, start: datetime | None) -> bool:
    if start is None:
        return True
    try:
        return datetime.fromisoformat(occurred_at) >= start
    except (ValueError, TypeError):
        return True  # an event whose time cannot be read is shown rather than hidden
