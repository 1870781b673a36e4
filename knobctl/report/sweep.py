"""What floors would have refused, as text: aggregates only, never a question."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from knobctl.evidence.harvest.asked import fingerprint_of
from knobctl.evidence.rates import rule_of_three
from knobctl.evidence.sweep import QUANTILES
from knobctl.evidence.sweeping import Signal
from knobctl.report.plot import (
    GUTTER,
    Frame,
    Ink,
    Mark,
    Role,
    Scores,
    Steps,
    histogram,
    line_plot,
    text_of,
)
from knobctl.text import count, ends_in_percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.evidence.rates import Rate
    from knobctl.evidence.sweeping import Compared, Swept

SIGNALS = {
    Signal.COSINE: "the largest cosine among the best {top_k} results",
    Signal.FUSED: "the best fused score",
}
JUDGED = (
    ("answerable_refused", "answerable -> refused"),
    ("unanswerable_passed", "unanswerable -> passed"),
    ("refused_answerable", "refused that were answerable"),
    ("passed_unanswerable", "passed that were unanswerable"),
    ("declined", "of those declined by the answer step"),
)
_BANDS = 25
_ENOUGH = 30
"""Of fewer the rule of three says next to nothing."""


def sweep_text(swept: Swept, *, width: int, compare: Sequence[Compared] = ()) -> str:
    """Tell people: what it was measured on, quantiles, the refusal curve, the judged sweep, caveats."""
    parts = [[*heading_lines(swept)], [*_quantile_lines(swept)], plots(swept, width)]
    parts += [[*_curve_lines(swept)], [*_judged_lines(swept)]]
    if compare:
        parts.append([*_compared_lines(compare)])
    parts.append([f"! {caveat}" for caveat in swept.caveats])
    return "\n\n".join("\n".join(part) for part in parts if part)


def heading_lines(swept: Swept) -> Iterator[str]:
    """What was measured, and on what."""
    heading, questions = swept.heading, swept.recording.questions
    sources = ", ".join(f"{number:,} {source}" for source, number in swept.by_source.items())
    yield f"{count(len(swept.rows), 'question')}: {sources}; fingerprint {fingerprint_of(one.id for one in questions)}"
    yield (
        f"{visible(heading.tenant)}: {count(heading.corpus.chunks, 'chunk')}, {visible(heading.encoder)}, "
        f"measured {heading.made_at:%Y-%m-%d} by {visible(heading.made_by)}"
    )
    yield f"floors on {SIGNALS[swept.signal].format(top_k=heading.top_k)}"
    if swept.answerable.denominator:
        yield f"answerable: {percent(swept.answerable)} of the labelled"
    for numbers in (swept.unscored, swept.excluded):
        for why, number in numbers.items():
            yield f"{count(number, 'question')} in no rate: {why.replace('_', ' ')}"


def judged_columns(swept: Swept) -> list[tuple[str, str, str]]:
    """The rates of the judged sweep: name, title, and what there is none of where it is empty.

    What the answer step declined is known only where one answered.
    """
    by_models = any(row.declined for row in swept.rows)
    return [
        (name, title, {"refused_answerable": "refused", "declined": "passed"}.get(name, "eligible"))
        for name, title in JUDGED
        if name != "declined" or by_models
    ]


def percent(rate: Rate, nothing: str = "eligible") -> str:
    """A rate as people read it: `12.3% (n/d)`; `n/a (0 eligible)` where there is none."""
    if rate.value is None:
        return f"n/a (0 {nothing})"
    return f"{100 * rate.value:.1f}% ({rate.numerator:,}/{rate.denominator:,})"


def difference_text(one: Compared) -> str:
    """By how much two reports differ at a floor, with its interval."""
    low, high = map(float, ends_in_percent(one.low, one.high))
    return f"{100 * one.difference:+.1f} points ({low:+.1f}..{high:+.1f})"


def floor_text(floor: float) -> str:
    """A floor as tables have it: two decimals, more where it has more."""
    return f"{floor:.2f}" if round(floor, 2) == floor else repr(floor)


def _column(floors: Iterable[float]) -> int:
    """How wide the column of the floors is."""
    return max(7, *(len(floor_text(floor)) + 2 for floor in floors))


def interval(rate: Rate) -> str:
    """Its exact interval, the ends rounded outwards; empty where there is no rate."""
    if rate.low is None or rate.high is None:
        return ""
    low, high = ends_in_percent(rate.low, rate.high)
    return f"{low}..{high}%"


def _quantile_lines(swept: Swept) -> Iterator[str]:
    yield f"{'quantiles':<13} {'n':>9}" + "".join(f"{f'p{q}':>8}" for q in QUANTILES)
    for group, (number, found) in swept.quantiles.items():
        yield f"{group:<13} {number:>9,}" + "".join(f"{found[f'p{q}']:>8.3f}" for q in QUANTILES)


def plots(
    swept: Swept, width: int, marks: Sequence[Mark] = (), share: str = "Refused share"
) -> list[str]:
    """The curve of a share, and the scores by label, with the floor in force and other marks."""
    scores = sorted(row.max_similarity for row in swept.rows if row.max_similarity is not None)
    columns = max((width - GUTTER) // _BANDS * _BANDS, _BANDS)
    axis = Scores(most=Fraction(1), columns=columns)
    frame = Frame(
        title=f"{share} of {len(scores):,} questions by floor, {swept.heading.made_at:%Y-%m-%d}",
        sentence="",
        width=width,
        height=7,
        ink=Ink.FINE,
        marks=[*_marks(swept), *marks],
    )
    curve = Steps(scores=scores, of=len(scores), role=Role.DATA)
    rows = line_plot([curve], axis, frame)
    bands = {
        name: _bands([row.max_similarity for row in swept.rows if row.answerable is label])
        for name, label in (("answerable", True), ("unanswerable", False), ("not labelled", None))
    }
    panels = Frame(
        title="Scores by label", sentence="", width=width, height=3, ink=Ink.FINE, marks=frame.marks
    )
    drawn = {name: numbers for name, numbers in bands.items() if any(numbers)}
    rows = [*rows, (), *histogram(drawn, axis, panels, floor=None)]
    return text_of(rows).rstrip().split("\n")


def _marks(swept: Swept) -> Iterator[Mark]:
    if swept.configured is not None:
        yield Mark(at=Fraction(swept.configured), label=f"now {swept.configured:g}", role=Role.NOW)


def _bands(scores: Sequence[float | None]) -> list[int]:
    numbers = [0] * _BANDS
    for score in scores:
        if score is not None:
            numbers[min(max(int(score * _BANDS), 0), _BANDS - 1)] += 1
    return numbers


def _curve_lines(swept: Swept) -> Iterator[str]:
    sources = sorted({source for one in swept.curve for source in one.refused_by_source})
    sources = sources if len(sources) > 1 else []
    widths = [max(len(source), 18) + 2 for source in sources]
    floors = _column(one.floor for one in swept.curve)
    head = f"  {'floor':<{floors}}{'refused':<22}{'95% interval':<16}"
    if swept.answer_usd is not None:
        head += f"{'saved':<12}"
    yield (head + "".join(map(str.ljust, sources, widths))).rstrip()
    for one in swept.curve:
        columns = [percent(one.refused_by_source[source]) for source in sources]
        line = f"{_sign(swept, one.floor)} {floor_text(one.floor):<{floors}}{percent(one.refused):<22}{interval(one.refused):<16}"
        if (usd := swept.saved_usd(one.refused)) is not None:
            line += f"{f'${usd:.2f}':<12}"
        yield (line + "".join(map(str.ljust, columns, widths))).rstrip()
    if swept.configured is not None:
        yield f"* the floor in force when it was measured: {swept.configured:g}"
    saved = swept.answer_usd
    price = "" if saved is None else f": ${saved:.4f} on average"
    yield f"each refused question saves the call that would have answered it{price}"


def _sign(swept: Swept, floor: float) -> str:
    return "*" if swept.marks(floor) else " "


def _judged_lines(swept: Swept) -> Iterator[str]:
    if not swept.judged:
        yield "judged sweep: not run; put labels on the questions: knobctl bench judge"
        return
    floors = _column(one.floor for one in swept.judged)
    for number, (name, title, nothing) in enumerate(judged_columns(swept)):
        yield from [""] * bool(number)
        yield f"  {'floor':<{floors}}{title}"
        for one in swept.judged:
            rate: Rate = getattr(one, name)
            named = f"{_sign(swept, one.floor)} {floor_text(one.floor):<{floors}}"
            line = f"{named}{percent(rate, nothing):<24}"
            yield f"{line}{interval(rate):<16}{_bound(rate)}".rstrip()


def _bound(rate: Rate) -> str:
    """The rule of three where nothing was counted."""
    if rate.numerator or rate.denominator < _ENOUGH:
        return ""
    return f"below {100 * rule_of_three(rate.denominator):.1f}% by the rule of three"


def _compared_lines(compare: Sequence[Compared]) -> Iterator[str]:
    questions = compare[0].refused[0].denominator
    floors = _column(one.floor for one in compare)
    yield f"compared over the {count(questions, 'question')} of both reports; differences with their 95% intervals"
    yield f"  {'floor':<{floors}}{'refused here':<20}{'refused there':<20}{'difference':<30}answerable refused, here and there"
    for one in compare:
        here, there = one.refused
        lost = " ".join(percent(rate) for rate in one.answerable_refused)
        change = difference_text(one)
        yield f"  {floor_text(one.floor):<{floors}}{percent(here):<20}{percent(there):<20}{change:<30}{lost}"
