"""Tenants that stay as they are: what the policies say of them is counted, and known from before."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from knobctl.documents.index import Verdict
from knobctl.documents.model import RULE_KINDS, Kind
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.checks.subject import Subject
    from knobctl.checks.waivers import Waiving
    from knobctl.documents.filing import Filing
    from knobctl.documents.model import Document

_ERROR: Final = Severity.ERROR.value


class Staying:
    """Of the tenants that stay, what is said: by the index where it knows, else by asking."""

    def __init__(
        self, names: Collection[str], now: Grounds, waiving: Waiving, moment: Moment
    ) -> None:
        """Take what they are judged by.

        Args:
            names: The tenants. Where live is known, it holds what their documents want.
            now: The documents, and what they are judged by.
            waiving: The waivers.
            moment: The day, and whether live is known.
        """
        self.names = names
        self.counts: Counter[str] = Counter()
        """By severity, what counts of what is said of them; errors are told instead."""
        self._now, self._waiving = now, waiving
        self._filing = now.repository.filing
        self._ground = _common_ground(now, waiving, moment) if self._filing else b""
        self._by_ground: dict[object, tuple[str, Mapping[str, Verdict]]] = {}
        self._known: list[Verdict] = []
        # Where there are fleets, each tenant may be under one of its own.
        self._has_own_fleets = now.fleet is None and bool(now.repository.fleets)

    def is_settled(self, tenant: Document) -> bool:
        """Whether the index knows what is said of a tenant, and no error is."""
        verdict = self.known(tenant) if tenant.name in self.names else None
        if verdict is None or _ERROR in verdict.counts:
            return False
        self._known.append(verdict)
        return True

    def known(self, tenant: Document) -> Verdict | None:
        """What the index knows of what is said of a tenant; None where it knows nothing."""
        filing = self._filing
        if filing is None or self._now.repository.evidence_of(tenant):
            return None
        return self._ground_of(tenant, filing)[1].get(filing.content_of(tenant) or "")

    def finish(self) -> None:
        """Count what the index knew, and note which waivers have a use by it."""
        verdicts = dict(zip(map(id, self._known), self._known, strict=True))
        for one, times in Counter(map(id, self._known)).items():
            for severity, number in verdicts[one].counts.items():
                self.counts[severity] += number * times
            for waiver, carrier in verdicts[one].waivers:
                self._waiving.note(waiver, carrier)
        self._known = []

    def settle(self, subject: Subject, findings: list[Finding]) -> list[Finding]:
        """Count what was said of a tenant just now, and let the index know.

        Args:
            subject: The tenant.
            findings: What was said.

        Returns:
            What is to be told: errors.
        """
        counting = [one for one in self.judged(subject, findings) if one.counts]
        counts = Counter(one.severity.value for one in counting)
        del counts[_ERROR]
        self.counts.update(counts)
        return [one for one in counting if one.severity is Severity.ERROR]

    def judged(self, subject: Subject, findings: list[Finding]) -> list[Finding]:
        """Let the index know what was said of a tenant just now; gives it weighed, with the waivers that cover it."""
        tenant = subject.document
        self._waiving.noted.clear()
        told = self._now.weighed(self._waiving.waived(findings, tenant, subject.exact))
        verdict = self._verdict(told)
        filing = self._filing
        content = filing and filing.content_of(tenant)
        if filing and content and not self._now.repository.evidence_of(tenant):
            filing.index.judge(content, self._ground_of(tenant, filing)[0], verdict)
        return told

    def _verdict(self, told: list[Finding]) -> Verdict:
        counting = [one for one in told if one.counts]
        counts = Counter(one.severity.value for one in counting)
        grave = [one for one in counting if one.severity is not Severity.INFO]
        grave.sort(key=lambda one: one.severity.rank)
        rules = tuple(dict.fromkeys(one.rule for one in grave))
        return Verdict(dict(counts), tuple(dict.fromkeys(self._waiving.noted)), rules)

    def _ground_of(self, tenant: Document, filing: Filing) -> tuple[str, Mapping[str, Verdict]]:
        """What stands for all that a tenant is judged by besides its own document, and the verdicts by that."""
        fleet = self._now.fleet_of(tenant) if self._has_own_fleets else self._now.fleet
        key = (tenant.layers, id(fleet))
        known = self._by_ground.get(key)
        if known is None:
            whole = blake2b(self._ground, digest_size=12)
            for document in (*self._now.repository.layers_of(tenant), *([fleet] if fleet else [])):
                _take(whole, document)
            by = whole.hexdigest()
            known = self._by_ground[key] = by, filing.index.verdicts(by)
        return known


def _common_ground(now: Grounds, waiving: Waiving, moment: Moment) -> bytes:
    """What stands for all that every tenant is judged by: policies, waivers, severities, the day."""
    found = blake2b(digest_size=16)
    repository = now.repository
    severities = sorted((rule, str(one)) for rule, one in repository.settings.severities.items())
    expired = [one.name for one in waiving.waivers if one.has_expired(moment.today)]
    reads_the_day = any("today" in one.depends.variables for one in now.policies.in_force)
    day = str(moment.today) if reads_the_day else None
    found.update(json.dumps([severities, expired, day, moment.live is None]).encode())
    for kind in (*RULE_KINDS, Kind.FLEET):
        for document in repository.of_kind(kind):
            _take(found, document)
    return found.digest()


def _take(found: blake2b, document: Document) -> None:
    text = document.text.text
    spot = document.tree.spot
    raw = text[spot.start : spot.end].encode("utf-8", "surrogatepass")
    found.update(b"%d:%b" % (len(raw), raw))
