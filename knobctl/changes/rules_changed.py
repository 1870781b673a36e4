"""What a branch changes of that which judges it: policies, severities, waivers, fleets, the knob schema."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass
from enum import StrEnum
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from knobctl.changes.rule_fields import FieldChange, field_changes, leaves
from knobctl.documents.model import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from knobctl.changes.rule_fields import Leaves
    from knobctl.documents.model import Document
    from knobctl.documents.repository import Repository
    from knobctl.documents.settings import SeverityOverride


class Ruling(StrEnum):
    """What kind of thing judges."""

    SCHEMA = "schema"
    SETTING = "setting"
    SEVERITY = "severity"
    POLICY = "policy"
    WAIVER = "waiver"
    FLEET = "fleet"


class RuleOp(StrEnum):
    """What became of it."""

    ADDED = "added"
    CHANGED = "changed"
    GONE = "gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleChange:
    """One thing that judges otherwise now, newly or no longer."""

    ruling: Ruling
    name: str
    op: RuleOp
    fields: tuple[FieldChange, ...] = ()
    """Of what came or went, what says most of it."""
    file: str
    """Where it stands; of what is gone, where it stood."""
    line: int = 1


_SILENT: Final = re.compile(
    r"(version|\$schema|x-.*|title|message|hint|examples|reason|approved_by)(\.|$)"
)
"""Fields of documents that decide nothing."""
_WORDS: Final = re.compile(r"(title|description|examples|\$comment)(\.|$)")
"""The same of a knob's property; what begins with x-knob decides much."""
_TELLING: Final = {
    Kind.POLICY: ("severity",),
    Kind.WAIVER: ("rule", "expires"),
    Kind.FLEET: (),
}
"""By kind, the fields that are told of what came or went."""


def rules_changed(now: Repository, base: Repository) -> list[RuleChange]:
    """Compare what judges two states of a repository.

    A waiver or fleet that only became tighter is left out: it lets nothing pass that did not pass.

    Args:
        now: The present state.
        base: The earlier one; documents that both have just so are the same ones.
    """
    found = [*_schema(now, base), *_settings(now, base), *_severities(now, base)]
    for kind in _TELLING:
        found += _documents(now, base, kind)
    return found


def _schema(now: Repository, base: Repository) -> Iterator[RuleChange]:
    if now.catalogue is base.catalogue:
        return
    fields = tuple(_of_knobs(*(one.catalogue.schema["properties"] for one in (base, now))))
    if fields:
        state = now if now.settings.schema or not base.settings.schema else base
        path = state.settings.schema
        name = path.relative_to(state.root.resolve()).as_posix() if path else "of the knobs"
        file = posixpath.join(posixpath.dirname(state.settings_source), name)
        yield RuleChange(
            ruling=Ruling.SCHEMA, name=name, op=RuleOp.CHANGED, fields=fields, file=file
        )


def _of_knobs(
    then: Mapping[str, Mapping[str, object]], today: Mapping[str, Mapping[str, object]]
) -> Iterator[FieldChange]:
    """What is another in the properties of the knobs; of a knob that came or went, only that."""
    for name in dict.fromkeys((*then, *today)):
        before, after = then.get(name), today.get(name)
        if before is None or after is None:
            words = ("a knob" if one is not None else None for one in (before, after))
            yield FieldChange(name, *words)
        elif before != after:
            there, here = (
                {f"{name}.{path}": leaf for path, leaf in leaves(one) if not _WORDS.match(path)}
                for one in (before, after)
            )
            yield from field_changes(there, here, "")


def _settings(now: Repository, base: Repository) -> Iterator[RuleChange]:
    """Which files are passed over, and which fleet bounds a tenant of several."""
    then, today = (
        dict(leaves({"skip": [*one.skip], "default_fleet": one.default_fleet or "default"}))
        for one in (base.settings, now.settings)
    )
    for change in field_changes(then, today, ""):
        yield RuleChange(
            ruling=Ruling.SETTING,
            name=change.field,
            op=RuleOp.CHANGED,
            fields=(change,),
            file=now.settings_source,
        )


def _severities(now: Repository, base: Repository) -> Iterator[RuleChange]:
    then, today = base.settings.severities, now.settings.severities
    for rule in sorted({*then, *today}):
        before, after = then.get(rule), today.get(rule)
        weights = [one.severity.value if one else None for one in (before, after)]
        if weights[0] == weights[1]:
            continue
        override: SeverityOverride | None = after or before
        assert override is not None
        yield RuleChange(
            ruling=Ruling.SEVERITY,
            name=rule,
            op=_op(before, after),
            fields=(FieldChange("severity", *weights),),
            file=(now if after else base).settings_source,
            line=override.line,
        )


def _documents(now: Repository, base: Repository, kind: Kind) -> Iterator[RuleChange]:
    """The documents of a kind, by name; of several of a name, in their order."""
    then, today = _by_name(base.of_kind(kind)), _by_name(now.of_kind(kind))
    for name in sorted({*then, *today}):
        for before, after in zip_longest(then.get(name, ()), today.get(name, ())):
            if before is after:
                continue
            fields = _of_documents(before, after, kind)
            if before and after and not fields:
                continue
            op = _op(before, after)
            state, document = (base, before) if after is None else (now, after)
            assert document is not None
            yield RuleChange(
                ruling=Ruling(kind.value),
                name=name,
                op=op,
                fields=fields,
                file=state.place_of(document),
                line=_line(document, fields if op is RuleOp.CHANGED else ()),
            )


def _of_documents(
    before: Document | None, after: Document | None, kind: Kind
) -> tuple[FieldChange, ...]:
    then, today = (_deciding(one) if one else {} for one in (before, after))
    if before and after:
        return tuple(field_changes(then, today, f"{kind.value}."))
    told = _TELLING[kind]
    return tuple(one for one in field_changes(then, today, "") if one.field in told)


def _deciding(document: Document) -> Leaves:
    """What a document says that decides something."""
    return {
        path: leaf
        for path, leaf in leaves(document.value, document)
        if not _SILENT.match(path) and path != document.kind.value
    }


def _line(document: Document, fields: Iterable[FieldChange]) -> int:
    """Where the first changed field stands, or what is around it."""
    path = next((one.field.split(".") for one in fields), ())
    return document.location(*path).line


def _by_name(documents: Iterable[Document]) -> dict[str, list[Document]]:
    found: dict[str, list[Document]] = {}
    for document in documents:
        found.setdefault(document.name, []).append(document)
    return found


def _op(before: object, after: object) -> RuleOp:
    if before is None:
        return RuleOp.ADDED
    return RuleOp.GONE if after is None else RuleOp.CHANGED
