"""What a run's journal says: its records, the chain of their checksums, and the run that they tell of. Pure."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.outcomes import Outcome, TenantOutcome

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

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
    def sent(self) -> dict[str, Intent]:
        """By tenant, the writes of which it is not known what became: of a run that goes back, those that take back."""
        goes_back = self.taking_back is not None
        return {
            name: one.intent
            for name, one in self.tenants.items()
            if one.intent and one.may_be_written and one.takes_back == goes_back
        }

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
