"""Policies: one rule each in data form, built in or the repository's own, compiled when they are loaded."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from knobctl.checks.built_in import built_in_documents
from knobctl.checks.expressions import Expression, ExpressionError, compile_condition
from knobctl.checks.fact_roles import with_rank_constant
from knobctl.checks.inside_text import policy_error
from knobctl.checks.reading import Reading, UnknownRoleError, reading_of, resolved
from knobctl.checks.rules import RULES
from knobctl.checks.templates import Template, compile_template
from knobctl.checks.terms import BEFORE
from knobctl.errors import InputError
from knobctl.finding import Finding, Related, Severity
from knobctl.knobs.catalogue import Same
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from knobctl.documents.model import Document
    from knobctl.documents.settings import SeverityOverride
    from knobctl.knobs import Catalogue


class Each(StrEnum):
    """The knobs for each of which a policy is asked."""

    WRITTEN = "written"
    RESET = "reset"


@dataclass(frozen=True, slots=True, eq=False)
class Policy:
    """One compiled rule."""

    id: str
    severity: Severity
    document: Document
    when: Expression
    message: Template
    hint: Template | None
    at: str | Template | None
    """The knob whose place is shown, or what gives its name; None for the first that the rule reads."""
    each: Each | None
    on_change: bool
    reads: tuple[str, ...]
    """The knobs that decide it, as it says itself or as its expressions show."""
    asks: Reading
    """What its condition can see."""
    depends: Reading
    """What all of its expressions can see: equal values give an equal outcome."""
    reads_all: bool
    built_in: bool = False
    override: SeverityOverride | None = None
    """How the repository weighs it, and why; `severity` is that already."""

    @property
    def title(self) -> str:
        """The rule in one sentence."""
        return title_of(self.document)

    @property
    def is_about_change(self) -> bool:
        """Whether it speaks only where what was before is known: silent at the next change, for instance."""
        return self.on_change or self.each is Each.RESET or bool(self.asks.variables & BEFORE)

    def looks_at(self, names: Iterable[str]) -> bool:
        """Whether one of these knobs is among those that decide it."""
        return self.reads_all or any(name in self.reads for name in names)


class NotOffered(NamedTuple):
    """A built-in policy about knobs that this engine's schema does not have."""

    document: Document
    why: str

    @property
    def name(self) -> str:
        """Its rule id."""
        return self.document.name


@dataclass(slots=True)
class Policies:
    """The policies in force, and what is wrong with the others."""

    in_force: list[Policy] = field(default_factory=list)
    not_offered: list[NotOffered] = field(default_factory=list)
    broken: list[tuple[Document, Finding]] = field(default_factory=list)
    """Policies of the repository that do not compile or take another rule's id, and why."""

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with the repository's policies."""
        return [finding for _, finding in self.broken]

    @property
    def ids(self) -> list[str]:
        """The rule ids, in force or not."""
        return [policy.id for policy in self.in_force] + [one.name for one in self.not_offered]


def title_of(document: Document) -> str:
    """The title of a policy's document; its id where it has none."""
    return " ".join(str(document.value.get("title", document.name)).split())


def load_policies(
    catalogue: Catalogue,
    documents: Iterable[Document] = (),
    severities: Mapping[str, SeverityOverride] | None = None,
) -> Policies:
    """Compile the built-in policies and the repository's own.

    Args:
        catalogue: The knobs of the engine; a built-in policy is in force where it has those that the
            policy is about.
        documents: The repository's policies that the schema accepts.
        severities: Rules that weigh more or less in this repository.
    """
    in_force, not_offered = _built_in(Same(catalogue))
    policies = Policies(list(in_force), list(not_offered))
    own = {document.name: document for document in built_in_documents()}
    for document in documents:
        if document.name in own or document.name in RULES:
            policies.broken.append((document, _taken(document, own.get(document.name))))
            continue
        try:
            policies.in_force.append(_own(document, Same(catalogue)))
        except _BrokenPolicyError as error:
            policies.broken.append((document, policy_error(document, error.path, error.error)))
    if severities:
        policies.in_force = [_weighed(policy, severities) for policy in policies.in_force]
    return policies


@lru_cache(maxsize=8)
def _built_in(same: Same) -> tuple[Sequence[Policy], Sequence[NotOffered]]:
    """Compile the built-in policies, and find those about knobs that the schema does not have."""
    in_force: list[Policy] = []
    not_offered: list[NotOffered] = []
    for document in built_in_documents():
        try:
            in_force.append(_compiled(document, same.catalogue, built_in=True))
        except UnknownRoleError as error:
            not_offered.append(NotOffered(document, error.message))
    return in_force, not_offered


@lru_cache(maxsize=256)
def _own(document: Document, same: Same) -> Policy:
    """Compile a policy of a repository; the same document of the same knobs stays the same policy."""
    return _compiled(document, same.catalogue)


class _BrokenPolicyError(Exception):
    """An expression of the repository's own policy does not compile."""

    def __init__(self, path: tuple[str | int, ...], error: ExpressionError) -> None:
        super().__init__(error.message)
        self.path = path
        self.error = error


def _compiled(document: Document, catalogue: Catalogue, *, built_in: bool = False) -> Policy:
    """Compile one policy.

    Raises:
        UnknownRoleError: If a built-in one is about knobs that the schema does not have.
        _BrokenPolicyError: If one of the repository does not compile.
    """
    value = document.value
    step: tuple[str | int, ...] = ("when",)
    try:
        when = compile_condition(str(value["when"]))
        asked = depends = reading_of(when.text, catalogue)
        _assert_each(value, asked, when.text)
        step = ("message",)
        message, seen = _template(str(value["message"]), catalogue)
        _assert_each(value, seen, str(value.get("message")))
        depends += seen
        step = ("hint",)
        hint, seen = _template(str(value.get("hint", "")), catalogue)
        _assert_each(value, seen, str(value.get("hint")))
        depends += seen
        step = ("at",)
        at, seen = _place(value.get("at"), catalogue)
        depends += seen
        step = ("reads",)
        written = value.get("reads")
        entries = written if isinstance(written, list) else []
        reads: dict[str, None] = {}
        for index, entry in enumerate(entries):
            step = ("reads", index)
            reads |= dict.fromkeys(resolved(str(entry), catalogue))
    except ExpressionError as error:
        if built_in and isinstance(error, UnknownRoleError):
            raise
        raise _BrokenPolicyError(step, error) from error
    return Policy(
        id=document.name,
        severity=Severity(str(value["severity"])),
        document=document,
        when=when,
        message=message,
        hint=hint if hint.parts else None,
        at=at,
        each=Each(str(value["each"])) if "each" in value else None,
        on_change="trigger" in value,
        reads=with_rank_constant(tuple(reads) or asked.knobs, catalogue),
        asks=asked,
        depends=depends,
        reads_all=not reads and asked.everything,
        built_in=built_in,
    )


def _assert_each(value: Mapping[str, Any], reading: Reading, text: str) -> None:
    """See that `knob` is known: without `each` no policy is asked for a knob."""
    if "knob" in reading.variables and "each" not in value:
        raise ExpressionError(
            "knob is known only where the policy is asked for each knob (each: written or reset)",
            max(text.find("knob"), 0),
        )


def _template(text: str, catalogue: Catalogue) -> tuple[Template, Reading]:
    template = compile_template(text)
    reading = Reading()
    for offset, part in template.expressions():
        try:
            reading += reading_of(part.text, catalogue)
        except ExpressionError as error:
            raise type(error)(error.message, offset + error.offset) from error
    return template, reading


_ASKED: Final = "knob"


def _place(at: object, catalogue: Catalogue) -> tuple[str | Template | None, Reading]:
    if at is None or at == _ASKED:
        return None, Reading()
    text = str(at)
    if "{" in text:
        return _template(text, catalogue)
    return resolved(text, catalogue)[0], Reading()


def _taken(document: Document, own: Document | None) -> Finding:
    """Refuse an id that is a rule already: of a policy that ships, or of reading and validating."""
    hint = "choose another id"
    related: tuple[Related, ...] = ()
    if own:
        hint += "; to weigh the built-in one otherwise: [severity] in knobctl.toml"
        title = own.value.get("title", own.name)
        related = (Related(f"built in: {title}", own.location("policy")),)
    return Finding(
        rule="duplicate-policy",
        severity=Severity.ERROR,
        message=f"{document.name} is a built-in rule",
        hint=hint,
        field_path="policy",
        value=document.name,
        primary=document.location("policy"),
        related=related,
    )


def _weighed(policy: Policy, severities: Mapping[str, SeverityOverride]) -> Policy:
    override = severities.get(policy.id)
    return policy if override is None else _overridden(policy, override)


@lru_cache(maxsize=256)
def _overridden(policy: Policy, override: SeverityOverride) -> Policy:
    return replace(policy, severity=override.severity, override=override)


def verify_overrides(severities: Mapping[str, SeverityOverride], known: Iterable[str]) -> None:
    """Refuse to weigh a rule that does not exist: a wish that nobody would hear.

    Raises:
        InputError: Naming the rule and the nearest one.
    """
    names = sorted(known)
    for rule in severities:
        if rule not in names:
            close = nearest(rule, names)
            raise InputError(
                f"knobctl.toml: severity.{rule} is no rule that can be weighed",
                hint=f"did you mean {close}?"
                if close
                else "policies can be, by the name that stands in the finding",
            )


def rule_ids(documents: Iterable[Document] = ()) -> list[str]:
    """Every rule id that a finding can carry: those of reading and validating, and the policies'."""
    return [*RULES, *(document.name for document in (*built_in_documents(), *documents))]
