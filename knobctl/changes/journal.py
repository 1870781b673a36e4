"""What a run's journal says: records, the chain of their checksums, and what they make of each tenant. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from knobctl.changes.outcomes import Outcome, TenantOutcome, taken_back
from knobctl.errors import InputError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from knobctl.changes.plan import TenantPlan

FORMAT: Final = "knobctl-run"
FORMAT_VERSION: Final = 1
_ENCODER: Final = json.JSONEncoder(allow_nan=False)
_START: Final = "0" * 64
"""What the first record is chained to."""
_HEAD: Final = b'{"chain": "'
_MIDDLE: Final = b'", "record": '
_TAIL: Final = b"}"
_BODY: Final = len(_HEAD) + len(_START) + len(_MIDDLE)
SETTLED: Final = frozenset(
    {Outcome.APPLIED, Outcome.UNCHANGED, Outcome.CONFLICT, Outcome.ROLLED_BACK}
)
"""The outcomes after which a run has nothing left to do for a tenant."""


class DamagedJournalError(InputError):
    """A journal that does not say what was written into it."""


class EmptyJournalError(InputError):
    """A journal whose run was killed before it had noted what it was about; nothing was sent."""


class Chain:
    """Makes lines of records. Each carries a checksum of itself and all before it."""

    def __init__(self, last: str = _START) -> None:
        self.last = last

    def line(self, record: Mapping[str, Any]) -> bytes:
        """The line of the next record, its end included."""
        body = _ENCODER.encode(record).encode()
        self.last = _sum(self.last, body)
        return b"".join((_HEAD, self.last.encode(), _MIDDLE, body, _TAIL, b"\n"))

    def body(self, line: bytes) -> bytes | None:
        """The record of the next line, without the line's end; None where it is not what was written."""
        body = line[_BODY : -len(_TAIL)]
        found = _sum(self.last, body)
        if line != b"".join((_HEAD, found.encode(), _MIDDLE, body, _TAIL)):
            return None
        self.last = found
        return body


def _sum(last: str, body: bytes) -> str:
    return hashlib.sha256(last.encode() + body).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """A write that was about to be sent, as it was about to be sent."""

    tenant: str
    base_revision: str | None
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    idempotency_key: str
    reason: str

    @classmethod
    def of(cls, tenant: TenantPlan, *, idempotency_key: str, reason: str) -> Intent:
        """The write of one planned tenant."""
        return cls(
            tenant=tenant.tenant,
            base_revision=tenant.base_revision,
            before=tenant.existing,
            after=tenant.desired,
            idempotency_key=idempotency_key,
            reason=reason,
        )

    def as_record(self) -> dict[str, Any]:
        """The intent as the journal has it."""
        return {
            "kind": "intent",
            "tenant": self.tenant,
            "base_revision": self.base_revision,
            "before": dict(self.before),
            "after": dict(self.after),
            "idempotency_key": self.idempotency_key,
            "reason": self.reason,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a run is, before it writes."""

    run: str
    command: str
    started_at: str
    """RFC 3339, for people: nothing is decided by it."""
    made_by: str
    actor: str
    folder: str
    """Where it was started: relative names, an embedded engine's too, mean what they mean there."""
    engine: str
    place: str
    """The options that lead another command to the same engine, as text to append."""
    fleet: str | None
    reason: str
    """As it was given; what was acknowledged is added to it in audit events."""
    ticket: str | None = None
    """As it was named."""
    allowed: tuple[str, ...] = ()
    """What was acknowledged, `max_tenants=812`: it stays acknowledged when the run is resumed."""
    aside: Mapping[str, int] = field(default_factory=dict)
    """By outcome, tenants that the plan of the journal leaves out: they held what they shall already,
    or had moved and were skipped."""
    files: tuple[str, ...] = ()
    """Files to be edited once their tenants are written."""
    number: int = 0
    """Greater than that of every run before it: what orders runs, whatever the clock did meanwhile."""

    def as_record(self) -> dict[str, Any]:
        """The first record of a journal."""
        return {
            "kind": "run",
            "format": FORMAT,
            "format_version": FORMAT_VERSION,
            "run": self.run,
            "command": self.command,
            "started_at": self.started_at,
            "made_by": self.made_by,
            "actor": self.actor,
            "folder": self.folder,
            "engine": self.engine,
            "place": self.place,
            "fleet": self.fleet,
            "reason": self.reason,
            "ticket": self.ticket,
            "allowed": list(self.allowed),
            "aside": dict(self.aside),
            "files": list(self.files),
            "number": self.number,
        }

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Heading:
        """Read the first record of a journal back."""
        return cls(
            run=record["run"],
            command=record["command"],
            started_at=record["started_at"],
            made_by=record["made_by"],
            actor=record["actor"],
            folder=record["folder"],
            engine=record["engine"],
            place=record["place"],
            fleet=record["fleet"],
            reason=record["reason"],
            ticket=record.get("ticket"),  # older journals have none
            allowed=tuple(record["allowed"]),
            aside=record["aside"],
            files=tuple(record["files"]),
            number=record.get("number", 0),
        )


@dataclass(slots=True)
class Progress:
    """How far one tenant is."""

    intent: Intent | None = None
    """The last write that was about to be sent; None where none was, or where it is known what became of it
    and it is not one that takes back."""
    outcome: TenantOutcome | None = None
    """What became of it; None where the journal does not say."""
    takes_back: bool = False
    """Whether that write takes back what the run had written."""

    @property
    def is_to_be_taken_back(self) -> bool:
        """Whether a run that goes back has to write the tenant's earlier set, or to find out about it."""
        return self.may_be_written or self.is_written

    @property
    def is_written(self) -> bool:
        """Whether it holds what the run wrote, as far as the run knows."""
        return self.outcome is not None and self.outcome.outcome is Outcome.APPLIED

    @property
    def is_done(self) -> bool:
        """Whether the run has nothing left to do for the tenant."""
        return self.outcome is not None and self.outcome.outcome in SETTLED

    @property
    def may_be_written(self) -> bool:
        """Whether a write was about to be sent of which it is not known what became."""
        if self.outcome is None:
            return self.intent is not None
        return self.outcome.outcome is Outcome.UNKNOWN

    def drop_intent(self) -> None:
        """Forget a write that nobody sends again: of many tenants they take much room."""
        if not (self.takes_back or self.may_be_written):
            self.intent = None

    def seen(self, tenant: str) -> TenantOutcome:
        """What the journal says became of the tenant."""
        if self.outcome is not None:
            return self.outcome
        if self.intent is not None:
            return not_established(self.intent)
        return TenantOutcome(tenant=tenant, outcome=Outcome.SKIPPED)


@dataclass(slots=True, kw_only=True)
class Run:
    """A run as its journal tells it."""

    heading: Heading
    plan: Mapping[str, Any] = field(default_factory=dict)
    """What it was to write, all but the tenants, see `planfile.recorded_plan`."""
    planned: list[bytes] = field(default_factory=list)
    """The records in which its tenants stand: as text they take a tenth of the room."""
    awaited: int = 0
    """How many tenants of the plan have not been read yet."""
    tenants: dict[str, Progress] = field(default_factory=dict)
    """By tenant of the plan, in its order."""
    allowed: set[str]
    """All that was acknowledged, in any attempt."""
    last: str
    """The checksum of the last record."""
    rollout: Mapping[str, Any] | None = None
    """Its waves, see `rollout.Rollout.as_record`; None where all was written at once."""
    judged: int = 0
    """How many waves were found well, from the first on."""
    taking_back: str | None = None
    """Why the run takes back what it has written; None where it does not."""
    rolled_back: bool = False
    """Whether a rollback has taken back what it had written, so that nobody writes its rest."""
    size: int
    """Bytes up to the end of the last record: what stands beyond was torn off."""

    def planned_tenants(self) -> Iterator[dict[str, Any]]:
        """What was planned for each tenant, see `plan.TenantPlan.content`."""
        for body in self.planned:
            record = json.loads(body)
            yield from (record["plan"] if record["kind"] == "plan" else record)["tenants"]

    @property
    def left(self) -> list[str]:
        """The tenants that the run still has to write, or to find out about."""
        if self.rolled_back:
            return []
        if self.taking_back is not None:
            return [name for name, one in self.tenants.items() if one.is_to_be_taken_back]
        return [name for name, progress in self.tenants.items() if not progress.is_done]

    @property
    def is_in_waves(self) -> bool:
        """Whether it has waves that were not all found well: what is left of it goes in waves too."""
        waves = len(self.rollout["waves"]) if self.rollout else 0
        return not self.rolled_back and self.taking_back is None and self.judged < waves

    @property
    def written_in_waves(self) -> list[str]:
        """The tenants of its waves that it has written, while those are not all found well."""
        if not (self.is_in_waves and self.rollout):
            return []
        return self._written(self.rollout["waves"])

    @property
    def unjudged(self) -> list[str]:
        """Those of them that are written and not found well yet."""
        if not (self.is_in_waves and self.rollout):
            return []
        return self._written(self.rollout["waves"][self.judged :])

    def _written(self, waves: Sequence[Mapping[str, Any]]) -> list[str]:
        names = [name for wave in waves for name in wave["tenants"]]
        return [name for name in names if self.tenants[name].is_written]

    @property
    def is_finished(self) -> bool:
        """Whether nothing is left to write, to find out about, or to judge."""
        return not (self.left or self.unjudged)

    def outcomes(self) -> list[TenantOutcome]:
        """What became of each tenant of the plan."""
        return [progress.seen(name) for name, progress in self.tenants.items()]

    def tally(self) -> dict[str, int]:
        """Count outcomes by name, those of tenants that it left aside included."""
        counts = Counter(one.outcome.value for one in self.outcomes())
        counts.update(self.heading.aside)
        return {outcome.value: counts[outcome] for outcome in Outcome if counts[outcome]}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """A run that went through in one attempt and left nothing, by what its last record says of it."""

    heading: Heading
    outcomes: Mapping[str, int]

    @property
    def is_finished(self) -> bool:
        """Nothing is left."""
        return True

    def tally(self) -> dict[str, int]:
        """Count outcomes by name, as `Run.tally` does."""
        return {
            one.value: self.outcomes[one.value] for one in Outcome if one.value in self.outcomes
        }


def not_established(intent: Intent) -> TenantOutcome:
    """The outcome of a write that was about to be sent when its run ended."""
    message = "it was being written when the run ended; what became of it is not established yet"
    return TenantOutcome(tenant=intent.tenant, outcome=Outcome.UNKNOWN, message=message)


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


_END: Final = b'{"kind": "end", '
_RESUMED: Final = b'{"kind": "resume", '


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


def left_words(run: Run) -> str:
    """What is left of a run: `3 tenants left, 1 of them sent and not established`."""
    unsure = sum(run.tenants[name].may_be_written for name in run.left)
    what = "left to be taken back" if run.taking_back is not None else "left"
    left = f"{count(len(run.left), 'tenant')} {what}"
    left += f", {unsure:,} of them sent and not established" if unsure else ""
    return f"{left}, {len(run.unjudged):,} written and to be judged again" if run.unjudged else left
