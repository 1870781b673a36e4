"""Judges tenants one at a time, in any order: for whoever looks at one now, and at the others when there is time."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock
from typing import TYPE_CHECKING

from knobctl.checks.asking import Asking
from knobctl.checks.grounds import Moment, grounds_of
from knobctl.checks.placing import finding_of
from knobctl.checks.staying import Staying
from knobctl.checks.subjects import subject_of
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from knobctl.documents.index import Verdict
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.finding import Finding


class OneByOne:
    """What the checks say of each tenant's documents alone, as `check` does: the engine is not asked.

    Safe to call from several threads.
    """

    def __init__(self, repository: Repository, *, today: date, fleet: Document | None) -> None:
        """Validate the documents, and take what they are judged by.

        Args:
            repository: The documents.
            today: The day, for waivers.
            fleet: The fleet of all judged tenants; None for each tenant's own.

        Raises:
            UsageError: If the default fleet does not exist, or no policy is in force.
        """
        self._now = now = grounds_of(repository, fleet)
        if not now.policies.in_force:
            raise UsageError("0 policies are in force; nothing would be checked")
        self._moment, waiving = Moment(today), now.waiving(today)
        self._staying = Staying((), now, waiving, self._moment)
        self._asking = Asking(now.policies.in_force)
        self._judging = Lock()
        found = defaultdict(list)
        for one in now.weighed([*now.findings, *now.strangers()]):
            found[one.primary.file if one.primary else ""].append(one)
        self.by_file: Mapping[str, Sequence[Finding]] = dict(found)
        """What is wrong with documents and files as such, by file."""

    def known(self, tenant: Document) -> Verdict | None:
        """What the index knows to be said of a tenant by policies; None where it must be asked about."""
        if tenant.source in self.by_file:
            return None
        with self._judging:
            return self._staying.known(tenant)

    def verdict(self, tenant: Document) -> Sequence[Finding]:
        """Judge a tenant as `findings`; what was read of its file is not kept: there may be many."""
        filing = self._now.repository.filing
        is_whole = tenant.source in self._now.repository.texts
        found = self.findings(tenant)
        if filing and not is_whole:
            filing.forget(tenant)
        return found

    def findings(self, tenant: Document) -> list[Finding]:
        """Judge a tenant; what the policies say is known to the index from now on."""
        subject = subject_of(self._now, tenant, self._moment)
        with self._judging:
            said = [finding_of(hit, subject) for hit in self._asking.hits(subject)]
            told = self._staying.judged(subject, said)
        of_file = self.by_file.get(tenant.source, ())
        return [*(one for one in of_file if one.tenant in {None, tenant.name}), *told]
