"""What stands under the table of a tenant: all that is to be said of one knob at the draft's value. Pure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from knobctl.finding import Severity
from knobctl.report.explain import zero_words
from knobctl.report.tick_bar import FLOOR, NOW, tick_bar
from knobctl.text import count, printable, spelled
from knobctl.tui.draft import As
from knobctl.tui.signs import SEVERITIES

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.finding import Finding
    from knobctl.knobs import Knob
    from knobctl.report.explain_value import Answer
    from knobctl.tui.judging import Judgement, TenantJudge
    from knobctl.tui.ui import Part, Role

    Line = tuple[Part, ...]

MARGIN: Final = 10
"""Columns that a topic takes on the left."""
MOST_BAR: Final = 61
_NARROW: Final = 60
_MOST: Final = 1_000
"""So many characters of one text are shown."""
_FIRST: Final = ("warning", "lost", "kept", "write", "note", "exactly")
"""Topics in falling order of need; the others follow in theirs."""
_SAID: Final = frozenset({"off", "default"})
"""Topics of a value that stand in the pane whatever the value."""


def detail_lines(
    judge: TenantJudge, judgement: Judgement, knob: Knob, *, width: int, locked: str = ""
) -> list[Line]:
    """Say it, the verdict first.

    Args:
        judge: The tenant.
        judgement: What was found of the draft.
        knob: The knob under the cursor.
        width: Columns.
        locked: Why it cannot be edited, if it cannot.
    """
    answer = judge.answer(judgement, knob)
    found = judgement.of(knob.name)
    lines = _head(judgement, knob, found, width)
    if locked:
        lines += _topic("locked", f"# {locked}", width, "warn")
    for one in judgement.understood.faults.get(knob.name, ()):
        lines += _topic("refused", one.message, width, "error")
        lines += _topic("write", _hint(one), width) if one.hint else []
    statements = sorted(answer.statements, key=_need) if answer else []
    told = {text for _, text in statements}
    if answer:
        lines += _bar(judge, answer, width)
        lines += _plain(_consequence(answer, knob), width)
        lines += _topics((one for one in statements if one[0] in _FIRST), width)
    lines += _findings(found, told, judgement, knob, width)
    lines += _topics(_facts(judge, judgement, knob), width)
    lines += _topics((one for one in statements if one[0] not in {*_FIRST, *_SAID}), width)
    if answer and answer.effect:
        lines += [(f"  {row}",) for row in answer.effect.table.splitlines()]
    lines += _topics((("about", f"{knob.title}. {knob.description}"),), width)
    return lines


def _head(judgement: Judgement, knob: Knob, found: Sequence[Finding], width: int) -> list[Line]:
    """The value and the verdict, in one line where they fit."""
    faults = judgement.understood.faults.get(knob.name, ())
    in_range = all(one.rule != "out-of-range" for one in faults)
    of_type = all(one.rule == "out-of-range" for one in faults)
    verdict: list[tuple[str, Role]] = [
        ("type ok  " if of_type else "x type  ", "good" if of_type else "error")
    ]
    if of_type:
        verdict.append(("range ok  " if in_range else "x range  ", "good" if in_range else "error"))
    if not faults:
        verdict += _policies(found)
    value = printable(draft_text(judgement, knob)[:_MOST])
    named: Part = (f"{knob.name} = {value}", "strong")
    if len(named[0]) + 3 + sum(len(text) for text, _ in verdict) <= width:
        return [(named, "   ", *verdict)]
    return [(named,), ("  ", *verdict)]


def _policies(found: Sequence[Finding]) -> list[tuple[str, Role]]:
    """How many findings of policies there are, the gravest first; those that fail nothing are told apart."""
    parts: list[tuple[str, Role]] = []
    for severity in (Severity.ERROR, Severity.WARNING):
        sign, role = SEVERITIES[severity]
        if number := sum(one.severity is severity and one.counts for one in found):
            parts.append((f"{sign} {count(number, severity.value)}  ", role))
    waived = sum(one.waived_by is not None for one in found)
    before = sum(one.standing and one.waived_by is None for one in found)
    aside = [f"{waived} waived"] * bool(waived) + [f"{before} as before"] * bool(before)
    if not parts:
        parts.append(("policies ok  ", "good"))
    return [*parts, (", ".join(aside), "muted")]


def draft_text(judgement: Judgement, knob: Knob) -> str:
    """The draft's value as the table shows it: never a plain 0 where that means a default that is none."""
    entry = judgement.draft.entry(knob.name)
    if isinstance(entry, As):
        value = judgement.understood.desired.get(knob.name)
        return "-" if value is None else spelled(value)
    if knob.name in judgement.understood.faults or knob.name in judgement.understood.desired:
        return entry
    return zero_text(knob, entry)


def zero_text(knob: Knob, literal: str) -> str:
    """A literal that means the default, with the default that it means."""
    return f"{literal} = default {spelled(knob.default)}"


def _bar(judge: TenantJudge, answer: Answer, width: int) -> Iterator[Line]:
    """The floor among the ceilings."""
    reached = answer.effect.reached if answer.effect else None
    if reached is None or answer.knob.role != "floor.fused":
        return
    now = judge.now.live or {}
    held = now.get(answer.knob.name, answer.knob.default)
    drawn = tick_bar(
        reached, width=max(min(width - 22, MOST_BAR), 20), now=judge.exact_number(held)
    )
    yield ("  ", *_bar_parts(drawn.bar))
    yield (f"  {drawn.labels}", ("   o in force now" if NOW in drawn.bar else "", "muted"))


def _bar_parts(bar: str) -> Iterator[Part]:
    before, sign, after = bar.partition(FLOOR)
    yield before, "muted"
    yield sign, "edited"
    yield after, "muted"


def _consequence(answer: Answer, knob: Knob) -> str:
    """The headline without the name and the value that stand above it."""
    value = "" if answer.value is None else spelled(answer.value)
    text = answer.headline.removeprefix(f"{knob.name} {value}: ")
    return text if text.startswith(knob.name) else text[:1].upper() + text[1:]


def _need(statement: tuple[str, str]) -> int:
    return _FIRST.index(statement[0]) if statement[0] in _FIRST else len(_FIRST)


def _hint(finding: Finding) -> str:
    hint = finding.hint or ""
    return hint.removeprefix("write ").split("; knobctl explain")[0]


def _findings(
    found: Sequence[Finding], told: set[str], judgement: Judgement, knob: Knob, width: int
) -> Iterator[Line]:
    """What the policies say, but for what the statements have said already."""
    faults = judgement.understood.faults.get(knob.name, ())
    for one in found:
        if one in faults:
            continue
        sign, role = SEVERITIES[one.severity]
        first, *more = one.message.splitlines() or [""]
        aside = (
            f" (waived by {one.waived_by})"
            if one.waived_by
            else " (as before)"
            if one.standing
            else ""
        )
        yield from _topic(
            "policy", f"{sign} {one.rule}: {first}{aside}", width, role if one.counts else "muted"
        )
        for text in more:
            topic, _, rest = text.partition(": ")
            if rest not in told:
                yield from _topic(topic, rest, width)
        if one.hint and _hint(one) not in told:
            yield from _topic("do", one.hint, width)


def _facts(judge: TenantJudge, judgement: Judgement, knob: Knob) -> Iterator[tuple[str, str]]:
    """What holds whatever the value: zero, default, range, evidence, layers."""
    unit = f" {knob.unit}" if knob.unit else ""
    yield "zero", zero_words(knob)
    yield "default", f"{spelled(knob.default)}; takes {knob.range_text}{unit}"
    yield "off", knob.off
    for text in judge.evidence(judgement, knob):
        yield "evidence", text
    for number, text in enumerate(judge.layers(knob)):
        yield ("" if number else "layers"), text
    notes = judgement.wish.notes if judgement.wish else ()
    for note in notes:
        if note.startswith(f"{knob.name} "):
            yield "file", note


def _topics(statements: Iterable[tuple[str, str]], width: int) -> Iterator[Line]:
    for topic, text in statements:
        if text:
            yield from _topic(topic, text, width)


def _topic(topic: str, text: str, width: int, role: Role = "") -> Iterator[Line]:
    """A text with its topic on the left, broken at the width; where that is little, the topic only begins it."""
    if width < _NARROW:
        label = "" if topic == "policy" else f"{topic or '-'}: "
        first, *more = _wrapped(f"{label}{text}", max(width - 4, 20))
        yield (f"  {first[: len(label)]}", "muted"), (first[len(label) :], role)
        for row in more:
            yield ((f"    {row}", role),)
        return
    for number, row in enumerate(_wrapped(text, max(width - MARGIN - 4, 20))):
        label = printable(topic) if number == 0 else ""
        yield (f"  {label:{MARGIN}} ", "muted"), (row, role)


def _plain(text: str, width: int) -> Iterator[Line]:
    for row in _wrapped(text, max(width - 3, 20)):
        yield ((f"  {row}", "strong"),)


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(printable(text[:_MOST]), width, break_on_hyphens=False)
