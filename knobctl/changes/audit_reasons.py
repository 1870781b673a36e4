"""What an audit event says a push was for: why, the ticket, and what was acknowledged. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from knobctl.checks.carried_evidence import CarriedEvidence

_TICKET: Final = re.compile(r"[!-Z\\^-~]{1,100}")
_TAGS: Final = ("[ticket:", "[allowed:", "[acknowledged:", "[evidence:")
"""How what knobctl itself puts into an audit reason begins."""
_ROOM: Final = 400
"""So many characters the names of what was acknowledged take at most."""
_ADDED: Final = re.compile(
    r" ?\[(?P<name>ticket|allowed|acknowledged|evidence): (?P<text>[^\[\]]*)\]\Z"
)


_MOST: Final = 1000
"""Characters of a reason beyond which no evidence is put into it: engines take reasons of some length."""
_PREFIX: Final = 12
"""Characters of a digest by which a record is told."""
_NAMED: Final = 5
"""So many records are named."""


def audit_reason(given: str | None, ticket: str | None, allowed: Sequence[str] = ()) -> str:
    """Write an audit reason: `why [ticket: OPS-7] [allowed: max_tenants=812]`, each part where there is one."""
    parts = [given or ""]
    parts += [f"[ticket: {ticket}]"] if ticket else []
    parts += [f"[allowed: {', '.join(allowed)}]"] if allowed else []
    return " ".join(filter(None, parts))


def with_acknowledged(reason: str, rules: Sequence[str]) -> str:
    """A reason, with the warnings that somebody acknowledged one by one: `why [acknowledged: floor-above-...]`.

    Engines take reasons of some length: of many the first are named, and the others counted.
    """
    named = list(dict.fromkeys(rules))
    told: list[str] = []
    while named and len(", ".join([*told, named[0]])) <= _ROOM:
        told.append(named.pop(0))
    told += [f"and {len(named)} more"] if named else []
    return f"{reason} [acknowledged: {', '.join(told)}]".strip() if told else reason


def with_evidence(reason: str, carried: Iterable[CarriedEvidence]) -> str:
    """A reason, with the evidence of the push where there is room: `why [evidence: 3.8% of ..., 9f86d081884c]`.

    Of several records the digests alone are named: the reason is that of every tenant's event.
    """
    said = {one.digest: one.statement for one in carried if one.digest and one.statement}
    if not said:
        return reason
    digests = [digest[:_PREFIX] for digest in said]
    told = ", ".join(digests[:_NAMED])
    if len(said) == 1:
        (sentence,) = said.values()
        told = f"{_plain(sentence.partition(';')[0])}, {told}"
    elif len(said) > _NAMED:
        told += f" and {len(said) - _NAMED} more"
    whole = f"{reason} [evidence: {told}]".strip()
    return whole if len(whole) <= _MOST else reason


def _plain(text: str) -> str:
    """A text without what ends a part of an audit reason."""
    return text.replace("[", "(").replace("]", ")")


def reason_parts(reason: str) -> tuple[str, dict[str, str]]:
    """Take an audit reason apart: why, and by name what knobctl added: `ticket`, `allowed`, `acknowledged`."""
    added: dict[str, str] = {}
    while (found := _ADDED.search(reason)) and found["name"] not in added:
        added[found["name"]] = found["text"]
        reason = reason[: found.start()]
    return reason, dict(reversed(added.items()))


def read_ticket(text: str) -> str:
    """Read `--ticket ID`.

    Raises:
        UsageError: If it could not be told from what stands around it in an audit reason.
    """
    if not _TICKET.fullmatch(text):
        raise UsageError(
            f"--ticket {text!r} must be 1 to 100 visible ASCII characters, none of them a space, [ or ]"
        )
    return text


def read_reason(text: str) -> str:
    """Read `--reason TEXT`.

    Raises:
        UsageError: If it would pass for what knobctl itself puts into an audit reason.
    """
    found = next((tag for tag in _TAGS if tag in text), None)
    if found:
        raise UsageError(
            f"--reason holds {found!r}, which in an audit event stands for what knobctl was told otherwise",
            hint="name a ticket with --ticket ID, acknowledge with --allow GUARD=VALUE",
        )
    return text
