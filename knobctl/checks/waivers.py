"""Waivers: one function decides what they cover, and on which day they still do."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from knobctl.checks.rules import RULES
from knobctl.documents.model import exact_number
from knobctl.finding import Finding, Severity
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence

    from knobctl.documents.model import Document

    Exact: TypeAlias = Callable[[str], Fraction]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Waiver:
    """One rule is let off for some tenants, until the end of a day."""

    name: str
    rule: str
    tenants: frozenset[str]
    labels: Mapping[str, str]
    up_to: Fraction | None
    expires: date
    """The last day on which it holds."""
    document: Document

    def has_expired(self, today: date) -> bool:
        """Whether its last day has passed; the last day counts."""
        return today > self.expires

    def concerns(self, tenant: str | None, labels: Mapping[str, str]) -> bool:
        """Whether a tenant is among those that it names, or carries all of its labels."""
        if tenant is None:
            return False
        if self.tenants:
            return tenant in self.tenants
        return all(labels.get(name) == value for name, value in self.labels.items())

    def covers(self, finding: Finding, labels: Mapping[str, str], exact: Exact) -> bool:
        """Whether a finding is one that it lets off, the day left aside.

        Args:
            finding: Of one tenant.
            labels: That the tenant carries.
            exact: Gives a knob's value in force exactly as it is written: the bound is no double either.
        """
        if finding.rule != self.rule or not self.concerns(finding.tenant, labels):
            return False
        if self.up_to is None:
            return True
        if not isinstance(finding.value, (int, float)) or finding.field_path is None:
            return False
        written = exact(finding.field_path)
        value = written if float(written) == finding.value else Fraction(finding.value)
        return value <= self.up_to


def waiver_of(document: Document) -> Waiver | None:
    """Read a waiver that the schema accepts; None where its day is none, which `fields_findings` tells."""
    value = document.value
    tenants, labels, up_to = value.get("tenants"), value.get("labels"), value.get("up_to")
    try:
        expires = date.fromisoformat(str(value["expires"]))
    except ValueError:
        return None
    return Waiver(
        name=document.name,
        rule=str(value["rule"]),
        tenants=frozenset(map(str, tenants)) if isinstance(tenants, list) else frozenset(),
        labels={key: str(label) for key, label in labels.items()}
        if isinstance(labels, dict)
        else {},
        up_to=exact_number(document.literal("up_to"), up_to)
        if isinstance(up_to, (int, float))
        else None,
        expires=expires,
        document=document,
    )


class _ForRule(NamedTuple):
    """The waivers of one rule: by the tenants that they name, and those that go by labels."""

    named: dict[str, list[Waiver]]
    labelled: list[Waiver]

    def about(self, tenant: str | None) -> Iterable[Waiver]:
        """Those that may concern a tenant."""
        return (*self.named.get(tenant or "", ()), *self.labelled)


@dataclass(slots=True)
class Waiving:
    """The waivers of one run: what they have covered, and what is wrong with them."""

    waivers: Sequence[Waiver]
    today: date
    _by_rule: Mapping[str, _ForRule]
    _used: dict[str, str | None] = field(default_factory=dict)
    """By waiver that covers something: for one that has expired, who covers all of it now, if anybody."""
    noted: list[tuple[str, str | None]] = field(default_factory=list)
    """The waivers that covered something, in the order of asking, each with who covers that now."""

    @classmethod
    def on(cls, today: date, documents: Iterable[Document]) -> Waiving:
        """Take the waivers that the schema accepts, as they stand on a day."""
        waivers = [waiver for waiver in map(waiver_of, documents) if waiver]
        by_rule: dict[str, _ForRule] = {}
        for waiver in waivers:
            of_rule = by_rule.setdefault(waiver.rule, _ForRule({}, []))
            for tenant in waiver.tenants:
                of_rule.named.setdefault(tenant, []).append(waiver)
            if not waiver.tenants:
                of_rule.labelled.append(waiver)
        return cls(waivers, today, by_rule)

    @property
    def rules(self) -> Collection[str]:
        """The rules that a waiver names."""
        return self._by_rule

    def waived(self, findings: list[Finding], tenant: Document, exact: Exact) -> list[Finding]:
        """Mark the findings of one tenant that a waiver covers today.

        This is the one place that answers "is this waived": every command asks here.
        """
        if not self._by_rule:
            return findings
        labels = tenant.labels
        return [self._marked(finding, labels, exact) for finding in findings]

    def note(self, waiver: str, carrier: str | None) -> None:
        """Note that a waiver covers something.

        Args:
            waiver: Its name.
            carrier: The waiver that holds and covers the same; None where there is none.
        """
        self.noted.append((waiver, carrier))
        before = self._used.get(waiver, carrier)
        self._used[waiver] = carrier if before is not None else None

    def _marked(self, finding: Finding, labels: Mapping[str, str], exact: Exact) -> Finding:
        if finding.rule not in self._by_rule:
            return finding
        about = self._by_rule[finding.rule].about(finding.tenant)
        covering = [waiver for waiver in about if waiver.covers(finding, labels, exact)]
        valid = [waiver for waiver in covering if not waiver.has_expired(self.today)]
        # Of several the one that holds longest carries it, so that the others can be removed.
        carrier = max(valid, key=lambda waiver: waiver.expires).name if valid else None
        for waiver in covering:
            self.note(waiver.name, carrier)
        return replace(finding, waived_by=carrier) if carrier else finding

    def findings(
        self, judged: Collection[Document], doubts: Doubts, *, whole: bool
    ) -> Iterator[Finding]:
        """What is wrong with the waivers themselves, once every finding has been asked about.

        Args:
            judged: The documents that the run is about.
            doubts: Of what this run cannot know whether a waiver has a use.
            whole: Whether the run is about the whole repository: else the use may lie outside it.
        """
        judged_ids = set(map(id, judged)) if self.waivers else ()
        for waiver in self.waivers:
            is_used, is_judged = waiver.name in self._used, id(waiver.document) in judged_ids
            if waiver.has_expired(self.today) and (is_judged or is_used):
                yield _expired(waiver, self.today, self._used)
            elif whole and is_judged and not is_used and not doubts.concern(waiver):
                yield _unused(waiver)


class Doubts(NamedTuple):
    """What a run does not ask, so that nothing follows from silence."""

    rules: Collection[str] = ()
    """Rules about a change: that nothing changed today says nothing of tomorrow."""
    tenants: Collection[Document] = ()
    """Tenants with errors, of which policies are not asked everything."""
    known: Collection[str] = ()
    """The tenants that have a document: that another has none is told by itself."""

    def concern(self, waiver: Waiver) -> bool:
        """Whether a waiver may have a use that the run does not see."""
        return (
            waiver.rule in self.rules
            or (bool(waiver.tenants) and waiver.tenants.isdisjoint(self.known))
            or any(waiver.concerns(one.name, one.labels) for one in self.tenants)
        )


def _expired(waiver: Waiver, today: date, used: Mapping[str, str | None]) -> Finding:
    still, hint = "it covers nothing any more", "remove it"
    if waiver.name in used:
        carrier = used[waiver.name]
        still = f"{carrier} covers the same now" if carrier else "what it covered counts again"
        if carrier is None:
            hint = "mend what it covered and remove it, or have it approved anew with a later day"
    return Finding(
        rule="waiver-expired",
        severity=Severity.ERROR,
        message=f"the waiver {waiver.name} expired: its last day was {waiver.expires}, today is {today}; {still}",
        hint=hint,
        field_path="expires",
        value=str(waiver.expires),
        primary=waiver.document.location("expires"),
    )


def _unused(waiver: Waiver) -> Finding:
    return Finding(
        rule="waiver-unused",
        severity=Severity.WARNING,
        message=f"the waiver {waiver.name} covers nothing: no finding of {waiver.rule} for its tenants",
        hint="remove it, or mend its rule, tenants or up_to",
        field_path="waiver",
        value=waiver.name,
        primary=waiver.document.location("waiver"),
    )


def waivable_rules(policy_ids: Iterable[str]) -> list[str]:
    """The rules that a waiver may name."""
    own = [name for name in policy_ids if name not in RULES]
    return [*own, *(rule for rule, about in RULES.items() if about.waivable)]


def rule_findings(documents: Iterable[Document], waivable: Collection[str]) -> Iterator[Finding]:
    """Waivers whose rule does not exist, or is one that no waiver can let off."""
    for document in documents:
        rule = str(document.value["rule"])
        if rule in waivable:
            continue
        close = nearest(rule, waivable)
        message = f"{rule} is no rule"
        hint = (
            f"did you mean {close}?" if close else "a rule is the name that stands in the finding"
        )
        if rule in RULES:
            message = f"{rule} cannot be waived: {RULES[rule].says}"
            hint = "only policies can be waived; mend the document"
        yield Finding(
            rule="unknown-rule",
            severity=Severity.ERROR,
            message=message,
            hint=hint,
            field_path="rule",
            value=rule,
            primary=document.location("rule"),
        )
