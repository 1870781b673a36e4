"""Asks the policies of every judged tenant."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from knobctl.checks.asking import Asking
from knobctl.checks.placing import finding_of
from knobctl.checks.subjects import subject_of
from knobctl.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from knobctl.checks.earlier import Earlier
    from knobctl.checks.grounds import Grounds, Moment
    from knobctl.checks.staying import Staying
    from knobctl.checks.subject import Subject
    from knobctl.checks.telling import Hit
    from knobctl.checks.waivers import Waiving
    from knobctl.documents.model import Document


class Answers(NamedTuple):
    """What the policies say of one tenant."""

    subject: Subject
    findings: list[Finding]
    """With the waivers that cover them."""
    infos: tuple[Hit, ...] = ()
    """Infos that are not made yet: a fleet has tens of thousands that nobody wants one by one."""

    @property
    def tenant(self) -> str:
        """Whom they are about."""
        return self.subject.document.name

    @property
    def rules(self) -> list[str]:
        """The rule of each info."""
        return [hit.policy.id for hit in self.infos]

    def message(self, index: int) -> str:
        """The message of one of the infos."""
        return self.infos[index].words.message

    def made(self) -> list[Finding]:
        """Make the infos, with their places."""
        return [finding_of(hit, self.subject) for hit in self.infos]


def policy_findings(
    now: Grounds,
    waiving: Waiving,
    moment: Moment,
    tenants: Iterable[Document],
    staying: Staying | None = None,
) -> Iterator[Answers]:
    """Ask every policy of every judged tenant, where there is no base.

    Args:
        now: The documents, and what they are judged by.
        waiving: The waivers.
        moment: The day, and what the engine holds.
        tenants: The judged tenants.
        staying: Counts what is said of tenants that stay as they are; None where all is told.

    Yields:
        What is said of each tenant of which anything is.
    """
    asking = Asking(now.policies.in_force, alone=moment.live is None)
    for tenant in tenants:
        if staying and staying.is_settled(tenant):
            continue
        subject = subject_of(now, tenant, moment)
        hits = asking.hits(subject)
        if staying and tenant.name in staying.names:
            told = staying.settle(subject, [finding_of(hit, subject) for hit in hits])
            if told:
                yield Answers(subject, told)
            continue
        if not hits:
            continue
        quiet: tuple[Hit, ...] = ()
        if not subject.faulty:
            quiet = tuple(hit for hit in hits if _is_quiet(hit, waiving.rules))
            hits = [hit for hit in hits if not _is_quiet(hit, waiving.rules)]
        found = [finding_of(hit, subject) for hit in hits]
        yield Answers(subject, waiving.waived(found, tenant, subject.exact), quiet)
    if staying:
        staying.finish()


def _is_quiet(hit: Hit, loud: Collection[str]) -> bool:
    """Whether it is an info that is made where somebody looks."""
    if hit.policy.severity is not Severity.INFO or hit.policy.id in loud:
        return False
    return hit.is_sure or hit.words.failed is None


class Comparing:
    """Asks the policies of a branch: in full of what it changes, and of the rest what was said before."""

    def __init__(self, earlier: Earlier, waiving: Waiving) -> None:
        """Take the two states.

        Args:
            earlier: The base, with the present state.
            waiving: The present waivers.
        """
        self._earlier, self._waiving = earlier, waiving
        self._subject = partial(subject_of, earlier.now, moment=earlier.moment)
        policies = earlier.now.policies.in_force
        heavy = [one for one in policies if one.severity is not Severity.INFO]
        asking = earlier.asking
        self._of_changed = asking(policies, alone=False)
        self._of_same = asking(
            [one for one in heavy if not one.on_change], alone=earlier.moment.live is None
        )
        waived_infos = [
            one for one in policies if one.severity is Severity.INFO and one.id in waiving.rules
        ]
        self._of_waivers = (
            asking(waived_infos, alone=earlier.moment.live is None) if waived_infos else None
        )
        self.same: list[Document] = []
        """The tenants that are unchanged."""

    def answers(self) -> Iterator[Answers]:
        """Give what is said of each tenant of which anything is."""
        for tenant in self._earlier.now.repository.tenants:
            is_same = self._earlier.is_unchanged(tenant)
            if self._of_waivers:
                self._note(self._of_waivers, tenant, is_same=is_same)
            subject, found = self._same(tenant) if is_same else self._changed(tenant)
            if found:
                yield Answers(subject, found)

    def _same(self, tenant: Document) -> tuple[Subject, list[Finding]]:
        self.same.append(tenant)
        subject = self._subject(tenant, unchanged=True)
        found = [finding_of(hit, subject) for hit in self._of_same.hits(subject)]
        if not found:
            return subject, found
        return subject, self._earlier.same(self._waived(found, subject), subject)

    def _changed(self, tenant: Document) -> tuple[Subject, list[Finding]]:
        stood = self._earlier.stood(tenant)
        subject = self._subject(
            tenant,
            base=stood.subject.effective if stood else None,
            revision=self._earlier.then.repository.revision,
        )
        hits = self._of_changed.hits(subject)
        found = self._waived([finding_of(hit, subject) for hit in hits], subject)
        if stood is None:
            return subject, found
        return subject, [
            replace(one, standing=True) if stood.has(one, hit, subject) else one
            for one, hit in zip(found, hits, strict=True)
        ]

    def _waived(self, findings: list[Finding], subject: Subject) -> list[Finding]:
        return self._waiving.waived(findings, subject.document, subject.exact)

    def _note(self, asking: Asking, tenant: Document, *, is_same: bool) -> None:
        """Let the waivers see the infos that are told without a base only: none of them is unused for that."""
        subject = self._subject(tenant)
        found = [finding_of(hit, subject) for hit in asking.hits(subject)]
        self._waived(found, subject)
        if is_same:
            self._earlier.noted(found, subject)
