"""Reads a run's journal back: its records, whole or torn off at the end, and what they make of each tenant. Pure."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from knobctl.changes.journal import (
    FORMAT,
    FORMAT_VERSION,
    Chain,
    Ended,
    Heading,
    Intent,
    Progress,
    Run,
)
from knobctl.changes.outcomes import Outcome, TenantOutcome, taken_back
from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

_END: Final = b'{"kind": "end", '
_RESUMED: Final = b'{"kind": "resume", '


class DamagedJournalError(InputError):
    """A journal that does not say what was written into it."""


class EmptyJournalError(InputError):
    """A journal whose run was killed before it had noted what it was about; nothing was sent."""


def read_run(lines: Iterable[bytes], source: str) -> Run:
    """Read a journal, whole or torn off at its end.

    A run that is killed leaves a last line without an end: it was not yet noted, and counts for
    nothing. Whatever else is not as it was written is damage, of which nothing is believed.

    Args:
        lines: The file, open, or all its lines with their ends.
        source: Its name.

    Raises:
        EmptyJournalError: If the run had not yet noted what it was to write: then nothing was sent.
        DamagedJournalError: If a record is not what was written, or one is missing before it.
    """
    run: Run | None = None
    size = 0
    for number, (body, last, length) in enumerate(_bodies(lines, source), 1):
        record = json.loads(body)
        size += length
        if run is None:
            heading = _heading(record, source)
            run = Run(heading=heading, allowed=set(heading.allowed), last=last, size=size)
        else:
            try:
                _take(run, record, body)
            except (KeyError, TypeError, ValueError) as error:
                raise InputError(f"{source}:{number} is no record of this knobctl") from error
            run.last, run.size = last, size
    if run is None or not run.plan or run.awaited:
        raise EmptyJournalError(
            f"{source} ends before it says what was to be written: nothing was sent",
            hint="apply again",
        )
    return run


def read_listed(file: BinaryIO, source: str) -> Run | Ended:
    """Read as much of a journal as a list of runs needs; every checksum is looked at all the same.

    Args:
        file: The journal, at its beginning.
        source: Its name.

    Raises:
        EmptyJournalError: As `read_run`.
        DamagedJournalError: As `read_run`.
    """
    first = last = b""
    is_resumed = False
    for body, _, _ in _bodies(file, source):
        first, last = first or body, body
        is_resumed |= body.startswith(_RESUMED)
    if last.startswith(_END) and not is_resumed:
        end = json.loads(last)
        if end["left"] == 0:
            return Ended(heading=_heading(json.loads(first), source), outcomes=end["outcomes"])
    file.seek(0)
    return read_run(file, source)


def _bodies(lines: Iterable[bytes], source: str) -> Iterator[tuple[bytes, str, int]]:
    """The records that have an end; each with its checksum, and the length of its line.

    Raises:
        DamagedJournalError: If one is not what was written, or is missing before another.
    """
    chain = Chain()
    for number, line in enumerate(lines, 1):
        if not line.endswith(b"\n"):
            return  # torn off: it was not yet noted
        body = chain.body(line[:-1])
        if body is None:
            raise DamagedJournalError(
                f"{source}:{number} is damaged: its checksum is not that of what stands there and before it",
                hint="what the tenants hold now: knobctl get; to go on, apply again: it writes only what differs",
            )
        yield body, chain.last, len(line)


def _heading(record: Mapping[str, Any], source: str) -> Heading:
    version = record.get("format_version")
    if record.get("format") != FORMAT or version != FORMAT_VERSION:
        raise InputError(
            f"{source} has the journal format {visible(str(version))}; this knobctl reads format {FORMAT_VERSION}",
            hint="resume it with the knobctl that wrote it",
        )
    try:
        return Heading.of(record)
    except (KeyError, TypeError) as error:
        raise InputError(f"{source}:1 is no record of this knobctl") from error


def _take(run: Run, record: Mapping[str, Any], body: bytes) -> None:
    match record["kind"]:
        case "plan":
            run.plan = {**record["plan"], "tenants": []}
            run.awaited = record.get("more", 0) + len(record["plan"]["tenants"])
            _take_tenants(run, record["plan"]["tenants"], body)
        case "tenants":
            _take_tenants(run, record["tenants"], body)
        case "intent":
            intent = Intent(**{key: part for key, part in record.items() if key != "kind"})
            takes_back = run.taking_back is not None
            run.tenants[intent.tenant] = Progress(intent=intent, takes_back=takes_back)
        case "outcome":
            _take_outcome(run.tenants[record["tenant"]], _outcome(record))
        case "rollout":
            run.rollout = record
        case "judged":
            run.judged += 1
        case "taking_back":
            run.taking_back = record["why"]
        case "rolled_back":
            run.rolled_back = True
        case "resume":
            run.allowed |= set(record["allowed"])
        case _:
            pass  # how an attempt ended; the outcomes say it


def _take_tenants(run: Run, planned: Sequence[Mapping[str, Any]], body: bytes) -> None:
    run.tenants |= {entry["tenant"]: Progress() for entry in planned}
    run.planned.append(body)
    run.awaited -= len(planned)


def _take_outcome(progress: Progress, outcome: TenantOutcome) -> None:
    if progress.takes_back and progress.intent:
        outcome = taken_back(outcome, progress.intent.base_revision)
    progress.outcome = outcome
    progress.drop_intent()


def _outcome(record: Mapping[str, Any]) -> TenantOutcome:
    """What was noted of a tenant, without the fields that others changed: they were shown then."""
    return TenantOutcome(
        tenant=record["tenant"],
        outcome=Outcome(record["outcome"]),
        changed_field_paths=tuple(record["changed_field_paths"]),
        revision=record["revision"],
        message=record["message"],
        by=record["changed_by"],
        at=record["changed_at"],
    )
