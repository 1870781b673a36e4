"""What a branch changes of that which judges it, for people and machines: a line each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.rules_changed import RuleOp, Ruling
from knobctl.report.markup import shortened
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.changes.rule_fields import FieldChange
    from knobctl.changes.rules_changed import RuleChange

HEADING: Final = "the rules change, and this run judges by the new ones; review these first"
MOST_RULES: Final = 20
"""So many are told, unless all are asked for: one branch may adopt hundreds of waivers."""
_MOST_FIELDS: Final = 4
_LONGEST: Final = 40
"""Characters of a value that is written out; of a longer one, such as a condition, only the field is named."""
_LONGEST_NAME: Final = 80
_NOUNS: Final = {
    Ruling.SCHEMA: "the knob schema",
    Ruling.SETTING: "the setting",
    Ruling.SEVERITY: "the severity of",
    Ruling.POLICY: "policy",
    Ruling.WAIVER: "waiver",
    Ruling.FLEET: "fleet",
}


def rule_lines(
    changes: Sequence[RuleChange], *, everything: bool = False
) -> Iterator[tuple[str, str]]:
    """A line each: where, and what; the last one counts those that are left out, nowhere."""
    most = len(changes) if everything else MOST_RULES
    for one in changes[:most]:
        yield f"{one.file}:{one.line}", _words(one)
    if len(changes) > most:
        yield "", f"and {len(changes) - most:,} more; --format json has all"


def _words(one: RuleChange) -> str:
    told = [_field_words(field, one) for field in one.fields[:_MOST_FIELDS]]
    if len(one.fields) > _MOST_FIELDS:
        told.append(f"and {len(one.fields) - _MOST_FIELDS:,} more")
    name = f"{_NOUNS[one.ruling]} {shortened(one.name or 'without a name', _LONGEST_NAME)}"
    match one.op:
        case RuleOp.CHANGED:
            return f"{name}: {', '.join(told)}"
        case RuleOp.ADDED:
            name += " is new"
        case RuleOp.GONE:
            name += " is gone"
    return f"{name} ({', '.join(told)})" if told else name


def _field_words(field: FieldChange, of: RuleChange) -> str:
    name = (
        ""
        if of.ruling in {Ruling.SETTING, Ruling.SEVERITY}
        else f"{shortened(field.field, _LONGEST_NAME)} "
    )
    values = [value for value in (field.before, field.after) if value is not None]
    if not values or any(not value or len(value) > _LONGEST for value in values):
        return name.strip() or "another"
    if len(values) == 1 and of.op is RuleOp.CHANGED:
        name += "+ " if field.before is None else "- "
    return name + " -> ".join(values)


def rules_text(changes: Sequence[RuleChange], *, everything: bool = False) -> str:
    """The block for people."""
    from knobctl.report.findings import wrapped

    lines = [f"{HEADING}:"]
    for where, words in rule_lines(changes, everything=everything):
        told = f"{visible(where)}  {visible(words)}" if where else words
        lines += wrapped(told, "  ", "    ")
    return "\n".join(lines)


def rules_json(changes: Sequence[RuleChange]) -> list[dict[str, Any]]:
    """The same for machines, all of it."""
    return [
        {
            "ruling": one.ruling.value,
            "name": one.name,
            "op": one.op.value,
            "fields": [
                {"field": field.field, "before": field.before, "after": field.after}
                for field in one.fields
            ],
            "file": one.file,
            "line": one.line,
        }
        for one in changes
    ]
