"""Whose values a question about knobs starts from: the platform defaults, or one tenant's documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from knobctl.cli.session import Session
from knobctl.errors import UsageError
from knobctl.finding import Severity
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from fractions import Fraction

    from knobctl.cli.options import Settings
    from knobctl.documents.model import Document, Effective
    from knobctl.documents.repository import Repository
    from knobctl.knobs import Catalogue, KnobValue


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The knobs, and the values that are in force where nothing else is asked for."""

    catalogue: Catalogue
    effective: Effective | None = None
    """The tenant's; None for the platform defaults."""

    @property
    def values(self) -> Mapping[str, KnobValue]:
        """The effective value of every knob."""
        return self.effective.values if self.effective else self.catalogue.defaults

    def exact(self, name: str) -> Fraction:
        """A number's effective value exactly as it is written."""
        from knobctl.documents.model import exact_number

        return self.effective.exact(name) if self.effective else exact_number("", self.values[name])

    @property
    def title(self) -> str:
        """What stands before the answer: the tenant's name."""
        return f"{visible(self.effective.tenant)}: " if self.effective else ""


def surroundings(settings: Settings, tenant: str | None, paths: Sequence[str]) -> Surroundings:
    """Find the values that a question starts from, and say on stderr what was left out of them.

    Raises:
        UsageError: If the tenant is not there, is claimed more than once, or PATHs come without a tenant.
    """
    session = Session(settings, engine=False)
    if tenant is None:
        if paths:
            raise UsageError(
                f"{paths[0]} is read for a tenant only", hint="name one: --tenant NAME"
            )
        return Surroundings(session.catalogue)
    repository = session.repository(paths)
    effective = repository.effective(_claim(repository, tenant, settings.fleet))
    for words in _left_out(repository, effective):
        settings.say(words)
    return Surroundings(repository.catalogue, effective)


def _claim(repository: Repository, name: str, fleet: str | None) -> Document:
    """The one document of a tenant, in the fleet that the user names."""
    tenants = repository.tenants_of(repository.fleet(fleet)) if fleet else repository.tenants
    claims = [document for document in tenants if document.name == name]
    if len(claims) == 1:
        return claims[0]
    if claims:
        places = ", ".join(claim.source for claim in claims)
        raise UsageError(
            f"{name} stands in {places}", hint="name one of the files, or --fleet NAME"
        )

    near = nearest(name, [document.name for document in tenants])
    raise UsageError(
        f"there is no tenant {name} in the documents read",
        hint=f"did you mean {near}?"
        if near
        else "name the folder that holds it: --tenant NAME PATH",
    )


def _left_out(repository: Repository, effective: Effective) -> list[str]:
    """Faults of the tenant's documents, by which something that they write is not in force."""
    documents = (effective.document, *repository.layers_of(effective.document))
    sources = {document.source for document in documents}
    lines = [
        f"note: {visible(finding.primary.file)}: {visible(finding.message)}"
        for finding in repository.findings
        if finding.severity is Severity.ERROR
        and finding.primary
        and finding.primary.file in sources
    ]
    for document in documents:
        accepted = document.written(effective.catalogue)
        known = effective.catalogue.by_any_name
        wrong = [
            key for key in document.knobs if key not in known or known[key].name not in accepted
        ]
        lines += [
            f"note: {visible(document.source)}: {visible(key)} is left out, it is wrong as written; see: knobctl check"
            for key in wrong
        ]
    return lines
