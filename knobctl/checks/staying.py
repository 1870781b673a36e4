"""Tenants that a change leaves as they are: what the policies say of them is counted, and known from before."""

from __future__ import annotations

import json
from collections import Counter
from hashlib import blake2b
from typing import TYPE_CHECKING

from knobctl.documents.index import Verdict
from knobctl.documents.model import RULE_KINDS, Kind
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection

    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.checks.waivers import Waiving
    from knobctl.documents.model import Document


class Staying:
    """Of the tenants that stay, what is said: by the index where it knows, else by asking."""

    def __init__(
        self, names: Collection[str], now: Grounds, waiving: Waiving, moment: Moment
    ) -> None:
        """Take what they are judged by.

        Args:
            names: The tenants. Live holds what their documents want.
            now: The documents, and what they are judged by.
            waiving: The waivers.
            moment: The day.
        """
        self.names = names
        self.counts: Counter[str] = Counter()
        """By severity, what counts of what is said of them."""
        self._now, self._waiving = now, waiving
        self._filing = now.repository.filing
        self._ground = _ground_of(now, waiving, moment) if self._filing else b""
        self._grounds: dict[object, str] = {}
        self._heard: dict[int, Verdict] = {}

    def is_settled(self, tenant: Document) -> bool:
        """Whether the index knows what is said of a tenant, and no error is: then it is counted."""
        if not self._filing or tenant.name not in self.names or tenant.evidence:
            return False
        content = self._filing.contents.get(tenant.source)
        verdict = content and self._filing.index.verdict(content, self._by(tenant))
        if not verdict or Severity.ERROR.value in verdict.counts:
            return False
        self._count(verdict)
        return True

    def settle(self, tenant: Document, findings: list[Finding]) -> list[Finding]:
        """Count what was said of a tenant just now, and let the index know.

        Args:
            tenant: Of whom.
            findings: With the waivers that cover them, which are the last that were noted.

        Returns:
            What is to be told: errors.
        """
        counting = [one for one in self._now.weighed(findings) if one.counts]
        errors = [one for one in counting if one.severity is Severity.ERROR]
        counts = Counter(one.severity.value for one in counting)
        verdict = Verdict(dict(counts), tuple(dict.fromkeys(self._waiving.noted)))
        self._waiving.noted.clear()
        content = self._filing and self._filing.contents.get(tenant.source)
        if self._filing and content and not tenant.evidence:
            self._filing.index.judge(content, self._by(tenant), verdict)
        self.counts.update(counts)
        self.counts[Severity.ERROR.value] = 0
        return errors

    def _count(self, verdict: Verdict) -> None:
        if id(verdict) not in self._heard:
            self._heard[id(verdict)] = verdict
            for waiver, carrier in verdict.waivers:
                self._waiving.note(waiver, carrier)
            self._waiving.noted.clear()
        for severity, number in verdict.counts.items():
            self.counts[severity] += number

    def _by(self, tenant: Document) -> str:
        """What stands for all that a tenant is judged by, besides its own document."""
        fleet = self._now.fleet_of(tenant)
        key = (tenant.layers, fleet and id(fleet))
        if key not in self._grounds:
            found = blake2b(self._ground, digest_size=12)
            for document in (*self._now.repository.layers_of(tenant), *([fleet] if fleet else [])):
                _take(found, document)
            self._grounds[key] = found.hexdigest()
        return self._grounds[key]


def _ground_of(now: Grounds, waiving: Waiving, moment: Moment) -> bytes:
    """What stands for all that every tenant is judged by: policies, waivers, severities, the day."""
    found = blake2b(digest_size=16)
    repository = now.repository
    severities = sorted((rule, str(one)) for rule, one in repository.settings.severities.items())
    expired = [one.name for one in waiving.waivers if one.has_expired(moment.today)]
    reads_the_day = any("today" in one.depends.variables for one in now.policies.in_force)
    day = str(moment.today) if reads_the_day else None
    found.update(json.dumps([severities, expired, day]).encode())
    for kind in (*RULE_KINDS, Kind.FLEET):
        for document in repository.of_kind(kind):
            _take(found, document)
    return found.digest()


def _take(found: blake2b, document: Document) -> None:
    text = document.text.text
    spot = document.tree.spot
    raw = text[spot.start : spot.end].encode("utf-8", "surrogatepass")
    found.update(b"%d:%b" % (len(raw), raw))
