"""The base revision, judged as what it was: which findings it had, and which of them counted."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from knobctl.checks.asking import Asking
from knobctl.checks.placing import finding_of
from knobctl.checks.subjects import subject_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.checks.subject import Subject
    from knobctl.checks.telling import Hit
    from knobctl.documents.model import Document
    from knobctl.finding import Finding

_Key: TypeAlias = tuple[object, ...]


class Stood(NamedTuple):
    """What was found of one tenant at the base."""

    subject: Subject
    found: Mapping[_Key, Finding]
    """With the waivers that covered them there."""

    def has(self, finding: Finding, hit: Hit, subject: Subject) -> bool:
        """Whether it has a finding too: as grave, with equal values of every knob that the rule reads.

        What was waived there and is not any more is new; what is waived now was there, waived or not.
        """
        stood = self.found.get(_key(finding))
        if stood is None or stood.severity.rank > finding.severity.rank:
            return False
        if stood.waived_by is not None and finding.waived_by is None:
            return False
        reads = subject.values if hit.policy.reads_all else (*hit.policy.reads, hit.words.place)
        then = self.subject.values
        return all(then.get(name) == subject.values.get(name) for name in reads if name)


class Earlier:
    """The base of a run."""

    def __init__(
        self,
        then: Grounds,
        now: Grounds,
        moment: Moment,
        asking: Callable[..., Asking] = Asking,
    ) -> None:
        """Take the two states.

        Args:
            then: The base.
            now: The present state.
            moment: The day, and what the engine holds: facts for both.
            asking: Makes what asks policies, or has it from an earlier run.
        """
        self.then, self.now, self.moment = then, now, moment
        self.asking = asking
        self._asking = asking(then.policies.in_force, alone=moment.live is None)
        self._waiving = then.waiving(moment.today)
        self._other_layers = now.repository.layers_unlike(then.repository)
        self._documents: dict[int, Document | None] = {}
        self._seen: set[int] = set()

    def document(self, tenant: Document) -> Document | None:
        """The base's document of a tenant."""
        if id(tenant) not in self._documents:
            found = self.then.repository.counterpart(tenant, self.now.repository)
            self._documents[id(tenant)] = found
        return self._documents[id(tenant)]

    def is_unchanged(self, tenant: Document) -> bool:
        """Whether nothing that decides what is said of a tenant has changed."""
        if not self.then.is_as_now or self.document(tenant) is not tenant:
            return False
        if not self._other_layers.isdisjoint(tenant.layers):
            return False
        if not self.now.repository.evidence_of(tenant):
            return True
        return self.now.evidences.alike(tenant, self.then.evidences)

    def stood(self, tenant: Document) -> Stood | None:
        """What the base said of a tenant; None where it has no such tenant."""
        document = self.document(tenant)
        return self._judged(document) if document else None

    def _judged(self, document: Document) -> Stood:
        self._seen.add(id(document))
        subject = subject_of(self.then, document, self.moment)
        found = [finding_of(hit, subject) for hit in self._asking.hits(subject)]
        told = self._waiving.waived(found, document, subject.exact)
        return Stood(subject, {_key(one): one for one in told})

    def same(self, findings: list[Finding], subject: Subject) -> list[Finding]:
        """Mark the findings of an unchanged tenant: all of them stand, by the same waivers."""
        self.noted(findings, subject)
        return [replace(one, standing=True) for one in findings]

    def noted(self, findings: list[Finding], subject: Subject) -> None:
        """Let the base's waivers see findings that the base has too and nobody is shown."""
        self._waiving.waived(findings, subject.document, subject.exact)

    def stale(self, unchanged: Iterable[Document]) -> list[Finding]:
        """What was wrong with the base's waivers already."""
        if not self.then.repository.waivers:
            return []
        seen = self._seen | set(map(id, unchanged))
        for document in self.then.repository.tenants:
            if id(document) not in seen:
                self._judged(document)
        return self.then.weighed(self.then.stale(self._waiving))


def _key(finding: Finding) -> _Key:
    # A policy that cannot be asked says in its words which one it is.
    words = finding.message if finding.rule == "policy-error" else ""
    return finding.rule, finding.field_path, words
