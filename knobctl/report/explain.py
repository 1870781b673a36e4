"""What a knob is, for people and machines."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from knobctl.documents.model import exact_number
from knobctl.fusion import Scale, reach
from knobctl.fusion.numbers import number_text
from knobctl.fusion.reach import EDGE
from knobctl.knobs import KnobType
from knobctl.knobs.fusion_setup import fusion_setup
from knobctl.report.bound_words import bound_words, stage_words
from knobctl.report.reach import aligned, passes
from knobctl.report.score_words import ranks_from
from knobctl.text import spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable

    from knobctl.documents.model import Effective
    from knobctl.fusion import Reach, Setup
    from knobctl.knobs import Catalogue, Knob

WIDTH: Final = 80
MARGIN: Final = 10
"""Columns that a topic takes on the left."""
EVIDENCE_DUE: Final = "due evidence: the number is bound to the embedder and the corpus"
_RUNGS: Final = ("0.0001", "0.15", "0.2", "0.25", "0.33", "0.34", "0.5", "0.7", "1")


def knobs_text(catalogue: Catalogue, effective: Effective | None = None) -> str:
    """Write the table of all knobs: two lines each, grouped in the order of the schema."""
    width = max(len(knob.name) for knob in catalogue)
    groups = [
        "\n".join(
            [visible(group) or "knobs", *(_in_table(knob, width, effective) for knob in knobs)]
        )
        for group, knobs in groupby(_by_group(catalogue), key=lambda knob: knob.group)
    ]
    more = "One of them: knobctl explain KNOB; what a value does: knobctl explain KNOB VALUE"
    return "\n\n".join([*groups, *_across(catalogue), more])


def _across(catalogue: Catalogue) -> list[str]:
    """What holds for several knobs: which calls obey them, and which numbers another embedder unsettles."""
    obeyed: dict[str, list[str]] = {}
    for knob in catalogue:
        obeyed.setdefault(surface(knob), []).append(knob.name)
    measured = [knob.name for knob in catalogue if knob.needs_evidence]
    where = [(calls, ", ".join(names)) for calls, names in obeyed.items() if calls]
    blocks = [
        ("obeyed by", topical(where)),
        ("due evidence, and anew when the embedder changes", topical([("", ", ".join(measured))])),
    ]
    return [f"{title}\n{block}" for title, block in blocks if block.strip()]


def surface(knob: Knob) -> str:
    """The calls that obey a knob, without what else is to be said of them."""
    return knob.scope.partition(".")[0].partition(";")[0]


def _by_group(catalogue: Catalogue) -> list[Knob]:
    order = list(dict.fromkeys(knob.group for knob in catalogue))
    return sorted(catalogue, key=lambda knob: order.index(knob.group))


def _in_table(knob: Knob, width: int, effective: Effective | None) -> str:
    unit = f" {visible(knob.unit)}" if knob.unit else ""
    value = f"default {spelled(knob.default)}"
    if effective and knob.name in effective.desired:
        value += f", {visible(effective.tenant)} {spelled(effective.values[knob.name])}"
    takes = knob.range_text.replace(", ", " or ")
    return f"  {knob.name:{width}}  {visible(knob.title)}\n      {takes}{unit}, {value}"


def knob_text(knob: Knob, catalogue: Catalogue, effective: Effective | None = None) -> str:
    """Write everything that is known of one knob."""
    lines = [("", knob.description), *_facts(knob, catalogue)]
    if effective is not None:
        lines.insert(1, (effective.tenant, in_force(knob, effective)))
    if knob.role == "fusion.k" and isinstance(knob.default, int):
        lines.append(("ranks", ranks_from(catalogue, knob.default)))
    blocks = [f"{knob.name}: {visible(knob.title)}\n{topical(lines)}"]
    if knob.role == "floor.fused" and (ladder := floor_ladder(knob, catalogue)):
        blocks.append(ladder)
    return "\n\n".join([*blocks, _continue(knob, catalogue)])


def _facts(knob: Knob, catalogue: Catalogue) -> list[tuple[str, str]]:
    kind = {KnobType.DOUBLE: "a number", KnobType.INT32: "a whole number", KnobType.MODE: "one"}[
        knob.type
    ]
    says = catalogue.schema["properties"][knob.name].get("x-knob", {})
    takes = f"{kind} {'of' if knob.type is KnobType.MODE else 'in'} {knob.range_text}"
    return [
        ("takes", takes),
        ("unit", knob.unit),
        ("scale", knob.scale or ""),
        ("equal", bound_words(knob)),
        ("stage", stage_words(knob, catalogue)),
        ("default", f"{spelled(knob.default)}. {knob.known}".removesuffix(" ")),
        ("zero", zero_words(knob)),
        ("off", knob.off),
        ("scope", knob.scope),
        ("evidence", f"a change is {EVIDENCE_DUE}" if knob.needs_evidence else ""),
        ("acts with", ", ".join(name for name in knob.interacts_with if name in catalogue)),
        (
            "wire",
            f"{knob.json_name}, {knob.type}, field {knob.field_number}" if "proto" in says else "",
        ),
        (
            "clearance",
            f"read L{knob.read_clearance}, edit L{knob.edit_clearance}"
            if "clearance" in says
            else "",
        ),
        ("role", knob.role or ""),
        ("origin", knob.origin),
    ]


def floor_ladder(knob: Knob, catalogue: Catalogue) -> str:
    """What some floors do at the defaults: how deep a hit of the first ranker alone passes, by live rankers."""
    setup = _at_defaults(catalogue)
    if setup is None:
        return ""
    names = tuple(setup.weights)
    lives = [names[:size] for size in range(len(names), 0, -1)]
    head = ("value", *(f"{len(live)} live" for live in lives))
    if setup.formula.scale is Scale.RAW:  # who else is live changes nothing
        lives, head = lives[:1], ("value", "to rank")
    own = {setup.floor} if knob.default else set()
    floors = sorted({*(Fraction(text) for text in _rungs(reach(setup))), *own})
    rows = [
        (
            number_text(floor),
            *(passes(reach(replace(setup, floor=floor)).row(live, live[:1])) for live in lives),
        )
        for floor in floors
        if knob.accepts(float(floor))
    ]
    title = f"A hit found by {visible(names[0])} alone passes down to rank, at the defaults:"
    return f"{title}\n{indented(aligned([head, *rows]))}"


def _at_defaults(catalogue: Catalogue) -> Setup | None:
    """What fusion does at the platform defaults; under the least floor where none is in force."""
    values = catalogue.defaults

    def exact(name: str) -> Fraction:
        return exact_number("", values[name])

    least = fusion_setup(catalogue, values, exact, floor=EDGE)
    return fusion_setup(catalogue, values, exact) or least


def _rungs(reached: Reach) -> Iterable[str]:
    """The floors of the ladder: given ones, or on a raw sum those that keep the first so many rows."""
    if reached.setup.formula.scale is Scale.NORMALISED:
        return _RUNGS
    live = reached.enabled
    kept = [reached.down(reached.score_at(live, live[0], rank)) for rank in (100, 50, 20, 10, 5, 1)]
    return [*kept, reached.down(reached.best_score)]


def zero_words(knob: Knob) -> str:
    """Say what the unset value of a knob means."""
    if knob.unset is None:
        return knob.zero
    if knob.zero_surprises:
        return f'0 means the platform default, {spelled(knob.default)}, like leaving the knob out; it is no "none" and no "off"'
    if knob.type is KnobType.MODE:
        return f"{knob.unset} means the platform default, {spelled(knob.default)}, like leaving the knob out"
    return knob.zero


def in_force(knob: Knob, effective: Effective) -> str:
    """Say what is in force for a tenant, who writes it, and what that hides."""
    value = spelled(effective.values[knob.name])
    written = effective.origin(knob.name)
    if written is None:
        return f"{value}, the platform default; nothing writes it"
    place = f"{written.location.file}:{written.location.line}"
    meaning = (
        ""
        if knob.name in effective.desired
        else f", written as {written.literal}, which means the default"
    )
    hidden = "".join(
        f"; hides {other.literal} of {other.location.file}:{other.location.line}"
        for other in effective.hidden(knob.name)
    )
    return f"{value} from {place}{meaning}{hidden}"


def _floor_example(catalogue: Catalogue) -> str:
    """A floor worth asking about: above what one ranker can give, or on a raw sum just what it can."""
    setup = _at_defaults(catalogue)
    if setup is None or setup.formula.scale is Scale.NORMALISED:
        return "0.45"
    reached = reach(setup)
    return reached.under(reached.share(reached.enabled, reached.enabled[0]))


def _continue(knob: Knob, catalogue: Catalogue) -> str:
    example = {"floor.fused": _floor_example(catalogue), "fusion.k": "10"}.get(knob.role or "", "")
    value = example or (knob.choices[-1] if knob.type is KnobType.MODE else "VALUE")
    reach = "\nevery set of live rankers: knobctl reach" if knob.role == "floor.fused" else ""
    return f"what a value does: knobctl explain {knob.name} {value}{reach}"


def topical(lines: Iterable[tuple[str, str]]) -> str:
    """Write texts with their topics on the left, broken at 80 columns; empty texts are left out."""
    return "\n".join(_topic(topic, text) for topic, text in lines if text)


def _topic(topic: str, text: str) -> str:
    label = visible(topic)
    head = f"  {label:{MARGIN}} " if topic else "  "
    indent = " " * (MARGIN + 3) if topic else "  "
    if len(head) > MARGIN + 3:
        head = f"  {label}: "
    return textwrap.fill(
        visible(text),
        WIDTH,
        initial_indent=head,
        subsequent_indent=indent,
        break_on_hyphens=False,
        break_long_words=False,
    )


def indented(block: str) -> str:
    """Move a table two columns to the right."""
    return textwrap.indent(block, "  ")


def knob_json(knob: Knob, effective: Effective | None = None) -> dict[str, Any]:
    """One knob as data; with a tenant, what is in force for it and where that is written."""
    written = effective.origin(knob.name) if effective else None
    return {
        "name": knob.name,
        "json_name": knob.json_name,
        "field_number": knob.field_number,
        "title": knob.title,
        "description": knob.description,
        "type": knob.type.value,
        "minimum": knob.minimum,
        "maximum": knob.maximum,
        "choices": list(knob.choices),
        "unit": knob.unit,
        "scale": knob.scale,
        "group": knob.group,
        "role": knob.role,
        "default": knob.default,
        "known": knob.known,
        "zero": zero_words(knob),
        "off": knob.off,
        "scope": knob.scope,
        "clearance": {"read": f"L{knob.read_clearance}", "edit": f"L{knob.edit_clearance}"},
        "needs_evidence": knob.needs_evidence,
        "interacts_with": list(knob.interacts_with),
        "origin": knob.origin,
        "effective": effective.values[knob.name] if effective else None,
        "written_at": f"{written.location.file}:{written.location.line}" if written else None,
    }
