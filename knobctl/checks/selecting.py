"""Chooses tenants: by name, by label, by a CEL condition."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from knobctl.documents.kinds import TENANT_NAME
from knobctl.errors import UsageError
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.checks.expressions import Expression
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.knobs import KnobValue

VARIABLES: Final = "effective, knobs, labels, tenant, owner"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A tenant that may be chosen."""

    tenant: str
    knobs: Mapping[str, KnobValue]
    """The set knobs, in the documents or on the engine: whichever the command is about."""
    effective: Mapping[str, KnobValue]
    labels: Mapping[str, str] = field(default_factory=dict)
    owner: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which tenants are meant."""

    names: tuple[str, ...] = ()
    labels: tuple[tuple[str, str], ...] = ()
    """All of them must fit."""
    where: str | None = None
    condition: Expression | None = None
    """`where`, compiled."""

    @property
    def is_open(self) -> bool:
        """Whether nothing is said, so that every tenant is meant."""
        return not (self.names or self.labels or self.condition)

    @property
    def needs_labels(self) -> bool:
        """Whether labels or the owner decide, which only documents know."""
        return bool(self.labels) or any(word in (self.where or "") for word in ("labels", "owner"))

    def takes_name(self, tenant: str) -> bool:
        """Whether the names allow a tenant."""
        return not self.names or tenant in self.names

    def takes_labels(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels allow a tenant."""
        return all(labels.get(label) == value for label, value in self.labels)

    def takes(self, candidate: Candidate) -> bool:
        """Whether a tenant is meant.

        Raises:
            UsageError: If the condition cannot be evaluated for it: it is then neither in nor out.
        """
        if not self.takes_name(candidate.tenant) or not self.takes_labels(candidate.labels):
            return False
        return self.condition is None or self._holds(self.condition, candidate)

    def _holds(self, condition: Expression, candidate: Candidate) -> bool:
        from knobctl.checks.expressions import ExpressionError, activation

        variables = {
            "effective": dict(candidate.effective),
            "knobs": dict(candidate.knobs),
            "labels": dict(candidate.labels),
            "tenant": candidate.tenant,
            "owner": candidate.owner,
        }
        try:
            return condition.holds(activation(variables))
        except ExpressionError as error:
            raise UsageError(
                f"--where cannot be decided for {candidate.tenant}: {error.message}",
                hint=f"it sees {VARIABLES}; ask for a key before its value: has(knobs.rrf_k) && knobs.rrf_k > 60",
            ) from error


def make_selection(
    names: Iterable[str] = (), labels: Iterable[str] = (), where: str | None = None
) -> Selection:
    """Read what a command line says about tenants.

    Args:
        names: Tenants.
        labels: `LABEL=VALUE` each.
        where: A CEL condition.

    Raises:
        UsageError: If a name can name no tenant, a label has no value, or the condition does not compile.
    """
    chosen = tuple(dict.fromkeys(names))
    for name in chosen:
        if not TENANT_NAME.match(name):
            raise UsageError(
                f"{name!r} can name no tenant",
                hint="1 to 63 of a-z 0-9 . _ -, first and last a letter or digit",
            )
    pairs = tuple(_label(text) for text in labels)
    condition = _compiled(where) if where is not None else None
    return Selection(names=chosen, labels=pairs, where=where, condition=condition)


def _label(text: str) -> tuple[str, str]:
    label, sign, value = text.partition("=")
    if not sign or not label:
        raise UsageError(f"-l {text!r} must be LABEL=VALUE, such as -l tier=enterprise")
    return label, value


def _compiled(where: str) -> Expression:
    from knobctl.checks.expressions import ExpressionError, compile_expression

    try:
        return compile_expression(where)
    except ExpressionError as error:
        raise UsageError(
            f"--where does not compile: {error.message}\n  {where}\n  {' ' * error.offset}^",
            hint=f"it is a CEL condition over {VARIABLES}, such as effective.retrieval_min_score > 0.3",
        ) from error


def candidate_of(repository: Repository, document: Document) -> Candidate:
    """A tenant as its document and layers have it."""
    effective = repository.effective(document)
    return Candidate(
        tenant=document.name,
        knobs=effective.desired,
        effective=effective.values,
        labels=document.labels,
        owner=document.owner or "",
    )


def choose_documents(
    repository: Repository, selection: Selection, documents: Sequence[Document] | None = None
) -> list[Document]:
    """Choose among tenant documents, in their order.

    Args:
        repository: Resolves their layers.
        selection: Which are meant.
        documents: Those to choose from; the repository's judged tenants if None.

    Raises:
        UsageError: If a named tenant has no document, or none is chosen though some were asked for.
    """
    documents = repository.tenants if documents is None else documents
    if selection.is_open:
        return list(documents)
    assert_known(
        selection.names, [document.name for document in documents], "no document of it was read"
    )
    chosen = [
        document
        for document in documents
        if selection.takes_name(document.name)
        and selection.takes_labels(document.labels)
        and (selection.condition is None or selection.takes(candidate_of(repository, document)))
    ]
    assert_some(chosen, selection)
    return chosen


def assert_known(names: Iterable[str], known: Iterable[str], why: str) -> None:
    """See that every named tenant exists.

    Raises:
        UsageError: Naming the first that does not, and the name most like it.
    """
    existing = set(known)
    for name in names:
        if name not in existing:
            close = nearest(name, existing)
            hint = f"did you mean {close}?" if close else None
            raise UsageError(f"unknown tenant {name}: {why}", hint=hint)


def assert_some(chosen: Sequence[object], selection: Selection) -> None:
    """See that a condition chose somebody: nothing done is no success.

    Raises:
        UsageError: If it chose nobody.
    """
    if not chosen and not selection.is_open:
        asked = [f"-l {label}={value}" for label, value in selection.labels]
        asked += [f"--where {selection.where!r}"] if selection.where else []
        raise UsageError(f"no tenant is chosen by {' '.join(asked) or 'these names'}")
