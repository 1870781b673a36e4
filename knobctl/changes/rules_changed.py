"""What a branch changes of that which judges it: policies, severities, waivers, fleets, the knob schema."""

from __future__ import annotations

import json
import math
import posixpath
import re
from dataclasses import dataclass
from enum import Enum, StrEnum, auto
from fractions import Fraction
from itertools import zip_longest
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.documents.model import Kind, exact_number
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

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


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field of a rule that is another now. Of a list, what went and what came."""

    field: str
    before: str | None
    after: str | None


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


class _Tighter(Enum):
    """In which direction a field lets less pass."""

    LESS = auto()
    MORE = auto()
    LONGER = auto()
    SHORTER = auto()
    STATED = auto()


class _Leaf(NamedTuple):
    """A value that holds no further ones: its text, and what it is compared as."""

    text: str
    value: object


_Leaves: TypeAlias = "dict[str, _Leaf]"

_SILENT: Final = re.compile(
    r"(version|\$schema|x-.*|title|description|message|hint|examples|reason|approved_by)(\.|$)"
)
"""Fields that decide nothing."""
_TELLING: Final = {
    Kind.POLICY: ("severity",),
    Kind.WAIVER: ("rule", "expires"),
    Kind.FLEET: (),
}
"""By kind, the fields that are told of what came or went."""
_TIGHTER: Final[Mapping[str, _Tighter]] = {
    "waiver.expires": _Tighter.LESS,
    "waiver.up_to": _Tighter.LESS,
    "waiver.tenants": _Tighter.SHORTER,
    "waiver.labels": _Tighter.STATED,
    "fleet.limits.max_tenants": _Tighter.LESS,
    "fleet.limits.max_share": _Tighter.LESS,
    "fleet.limits.largest_step": _Tighter.LESS,
    "fleet.protected": _Tighter.LONGER,
    "fleet.freeze": _Tighter.STATED,
    "fleet.evidence.required_for": _Tighter.LONGER,
    "fleet.evidence.max_age_days": _Tighter.LESS,
    "fleet.evidence.min_questions": _Tighter.MORE,
    "fleet.evidence.encoder": _Tighter.STATED,
    "fleet.evidence.max_corpus_change": _Tighter.LESS,
    "fleet.evidence.sample_tenants": _Tighter.MORE,
    "fleet.reason_required": _Tighter.STATED,
}
"""Where one direction lets less pass: such a change is not told. Of all other fields each change is."""
_SHARE: Final = re.compile(r"(\d{1,3}(?:\.\d{1,20})?)%")


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
                {f"{name}.{path}": leaf for path, leaf in _leaves(one) if not _SILENT.match(path)}
                for one in (before, after)
            )
            yield from _changes(there, here, "")


def _settings(now: Repository, base: Repository) -> Iterator[RuleChange]:
    """Which files are passed over, and which fleet bounds a tenant of several."""
    then, today = (
        dict(_leaves({"skip": [*one.skip], "default_fleet": one.default_fleet or "default"}))
        for one in (base.settings, now.settings)
    )
    for change in _changes(then, today, ""):
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
        return tuple(_changes(then, today, f"{kind.value}."))
    told = _TELLING[kind]
    return tuple(one for one in _changes(then, today, "") if one.field in told)


def _deciding(document: Document) -> _Leaves:
    """What a document says that decides something."""
    return {
        path: leaf
        for path, leaf in _leaves(document.value, document)
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


def _leaves(
    value: object,
    document: Document | None = None,
    path: str = "",
    steps: tuple[str | int, ...] = (),
) -> Iterator[tuple[str, _Leaf]]:
    """The values that hold no further ones, by their paths; a list of plain values is one of them."""
    parts: Iterable[tuple[str, str | int, object]]
    if isinstance(value, dict):
        parts = ((str(key), key, part) for key, part in value.items())
    elif isinstance(value, list) and value and all(map(_name_in, value)):
        parts = ((_name_in(part), index, part) for index, part in enumerate(value))
    else:
        yield path, _leaf(value, document.literal(*steps) if document else "")
        return
    for name, step, part in parts:
        yield from _leaves(part, document, f"{path}.{name}" if path else name, (*steps, step))


def _name_in(value: object) -> str:
    """The name by which one of several is told; empty where it has none."""
    return str(value.get("name", "")) if isinstance(value, dict) else ""


def _leaf(value: object, literal: str) -> _Leaf:
    if isinstance(value, list):
        items = tuple(map(_text, value))
        return _Leaf(", ".join(items), items)
    text = _text(value)
    if share := _SHARE.fullmatch(text):
        return _Leaf(text, Fraction(share[1]))
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return _Leaf(literal or text, exact_number(literal, value))
    return _Leaf(text, text)


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, (dict, list)) else spelled(value)


def _changes(then: _Leaves, today: _Leaves, kind: str) -> Iterator[FieldChange]:
    """The fields that are others now, without those in which only less passes."""
    for path in dict.fromkeys((*then, *today)):
        before, after = then.get(path), today.get(path)
        if before and after and before.value == after.value:
            continue
        if not _lets_less_pass(f"{kind}{path}", before, after):
            yield FieldChange(path, *_told(before, after))


def _told(before: _Leaf | None, after: _Leaf | None) -> tuple[str | None, str | None]:
    if before and after and isinstance(before.value, tuple) and isinstance(after.value, tuple):
        lost = [one for one in before.value if one not in set(after.value)]
        gained = [one for one in after.value if one not in set(before.value)]
        if lost or gained:
            return ", ".join(lost) or None, ", ".join(gained) or None
    return before and before.text, after and after.text


def _lets_less_pass(path: str, before: _Leaf | None, after: _Leaf | None) -> bool:
    tighter = next(
        (way for known, way in _TIGHTER.items() if f"{path}.".startswith(f"{known}.")), None
    )
    if tighter is None or after is None:
        return False
    if before is None:
        return tighter is not _Tighter.SHORTER
    then, today = before.value, after.value
    if isinstance(then, tuple) and isinstance(today, tuple):
        longer, shorter = set(then) <= set(today), set(then) >= set(today)
        return longer if tighter is _Tighter.LONGER else shorter and tighter is _Tighter.SHORTER
    for known in (Fraction, str):
        if isinstance(then, known) and isinstance(today, known):
            less, more = today < then, today > then  # type: ignore[operator]  # of one type
            return less if tighter is _Tighter.LESS else more and tighter is _Tighter.MORE
    return False
