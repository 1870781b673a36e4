"""A recommended floor, or why none can be named yet, as text: what is guaranteed of it, and what it costs."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from knobctl.evidence.bounded_floor import smallest_bound
from knobctl.evidence.rates import Rate, exact_interval
from knobctl.evidence.recommending import NO_BETTER, WELL, caveats, silenced_at
from knobctl.evidence.sweeping import Signal
from knobctl.fusion import exact, reach
from knobctl.report.floor_words import floor_table
from knobctl.report.plot import Mark, Role
from knobctl.report.reach_words import emptiness, recency
from knobctl.report.sweep import floor_text, interval, percent, plots
from knobctl.text import count, ends_in_percent, joined, spelled, stated_in_percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.evidence.recommending import Recommended
    from knobctl.evidence.sweep import JudgedFloor
    from knobctl.fusion import Reach

BESIDE: Final = 4
"""Floors on either side of the chosen one that the table shows."""
_WIDE: Final = 100
FLOORS: Final = {Signal.COSINE: "cosine floor", Signal.FUSED: "fused floor"}


def recommend_text(found: Recommended, *, width: int, plan_with: str) -> str:
    """Tell people: the floor, what is guaranteed, what it costs and brings, the curve, how to plan it.

    Args:
        found: What the questions say.
        width: Of the plots.
        plan_with: The command that plans it.
    """
    parts = [[wrapped(line) for line in answer(found)]]
    parts += [[wrapped(guarantee(found))]] if found.chosen else []
    parts += [
        [*_curve(found)],
        plots(found.swept, width, marks(found), "Share under the floor"),
        [*reach_lines(found)],
    ]
    parts += [[measured(found), *([f"plan it: {plan_with}"] if found.chosen else [])]]
    parts += [[wrapped(f"! {caveat}") for caveat in caveats(found)]]
    return "\n\n".join("\n".join(part) for part in parts if part)


def wrapped(text: str) -> str:
    """Break a sentence where a terminal would."""
    return textwrap.fill(
        text, _WIDE, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False
    )


def answer(found: Recommended) -> Iterator[str]:
    """The recommendation or the refusal, and what the floor can do at all."""
    yield from _recommendation(found) if found.chosen else _refusal(found)
    yield from _separation(found)


def _recommendation(found: Recommended) -> Iterator[str]:
    chosen, bound = found.chosen, found.bound
    assert chosen is not None
    low, high = chosen.interval
    emptied = found.signal is Signal.FUSED and not found.by_answer
    loses = (
        f"leaves at most {stated_in_percent(bound.max_loss)} of answerable questions without any context"
        if emptied
        else f"loses at most {stated_in_percent(bound.max_loss)} of answerable questions"
    )
    yield (
        f"{visible(found.knob)} {spelled(chosen.floor)}: {loses} ({stated_in_percent(bound.confidence)} confidence; {chosen.lost.numerator:,} of {chosen.lost.denominator:,} seen, "
        f"{ends(low, high)})."
    )
    if emptied:
        yield "What it takes from the others is not in that figure: a question that keeps some chunk and loses the one that answers it. Say which chunks answer what: --questions FILE --qrels FILE."
    if found.held_out:
        yield f"Held out: {told(found.held_out)} lost, each tenth of the questions under the floor that the other nine choose."
    else:
        yield "Held out: not measurable; nine tenths of the questions are too few to choose a floor."
    if (silenced := found.silenced) and silenced.denominator:
        does = (
            'answer "nothing relevant" to'
            if found.signal is Signal.COSINE
            else "leave without context"
        )
        yield f"It would {does} {told(silenced)} of the unanswerable ones."
    if found.on_average is not None and found.on_average > chosen.floor:
        yield f"Without a confidence, on average over such samples, {spelled(found.on_average)} keeps to {stated_in_percent(bound.max_loss)} (conformal risk control)."


def _refusal(found: Recommended) -> Iterator[str]:
    bound, number = found.bound, len(found.answerable)
    lowest = bound.floors[0]
    lost = found.row(lowest).answerable_refused.numerator
    yield (
        f"No value of {visible(found.knob)} can be recommended: {count(found.missing, 'labelled answerable question')} missing. "
        f"{number:,} have a score, {lost:,} of them under {spelled(lowest)}, and it takes {number + found.missing:,}, "
        f"none of the further ones under it, before a loss of at most {stated_in_percent(bound.max_loss)} can be told with {stated_in_percent(bound.confidence)} confidence."
    )
    bounded = smallest_bound(lost, number, bound.confidence)
    if bounded < 1:
        yield f"What these {number:,} can bound is {stated_in_percent(bounded)} at best: --max-loss {stated_in_percent(bounded)}"


def _separation(found: Recommended) -> Iterator[str]:
    kind, area = FLOORS[found.signal], found.area
    if area is None:
        yield f"No question is labelled unanswerable: what a {kind} would silence is not known."
        return
    if area < NO_BETTER:
        yield f"No {kind} can separate the answerable from the unanswerable: AUC {area:.2f}, where 0.5 is a coin's."
    elif area < WELL:
        yield f"No {kind} separates the two well (AUC {area:.2f})."
    else:
        yield f"It separates the two well (AUC {area:.2f})."
    fused, cosine = found.areas[Signal.FUSED], found.areas[Signal.COSINE]
    if found.signal is Signal.COSINE and fused is not None and fused < area:
        yield f"The fused floor cannot do this job: {_never_empty(found)}, and its AUC is {fused:.2f}."
    if found.signal is Signal.FUSED and cosine is not None and cosine > area:
        yield f"What separates better is the cosine of the nearest chunk (AUC {cosine:.2f}), which no_match_min_cosine reads: --signal cosine"


def _never_empty(found: Recommended) -> str:
    """Up to where no fused floor empties a result while the measured rankers are live."""
    reached = _reached(found, found.bound.floors[0])
    most = reached.told(reached.best(reached.enabled))
    return f"with {joined(reached.enabled)} live none up to {most} ever empties a result"


def guarantee(found: Recommended) -> str:
    """What the bound says, as a statement on what is random."""
    bound = found.bound
    lost = (
        "no chunk that answers it passes"
        if found.by_answer
        else "it scores under the floor and gets nothing"
    )
    return (
        f"What is random is which questions were labelled. In at least {stated_in_percent(bound.confidence)} of such samples, the floor "
        f"that comes out loses at most {stated_in_percent(bound.max_loss)} of all answerable questions like these; one is lost where "
        f"{lost}. {', '.join(map(spelled, bound.floors[:2]))}, ... were tried upwards, until the exact interval of the loss "
        f"ended above {stated_in_percent(bound.max_loss)}. It says nothing of another kind of questions, corpus or embedder."
    )


def reach_lines(found: Recommended) -> Iterator[str]:
    """What a fused floor reaches: down to which rank which hits pass, and what it cannot do."""
    if found.signal is not Signal.FUSED or found.chosen is None:
        return
    reached = _reached(found, found.chosen.floor)
    yield from floor_table("floor.fused", reached).split("\n")
    yield from map(wrapped, (*emptiness(reached), *recency(reached)))


def _reached(found: Recommended, floor: float) -> Reach:
    return reach(found.heading.setup(exact(floor)))


def _curve(found: Recommended) -> Iterator[str]:
    rows = found.curve(BESIDE)
    lost, of = "answerable lost", f"{stated_in_percent(found.bound.confidence)} interval"
    yield f"  {'floor':<9}{lost:<22}{of:<16}unanswerable silenced"
    for row in rows:
        yield f"{sign(found, row)} {floor_text(row.floor):<9}{percent(row.answerable_refused):<22}{bounds(found, row):<16}{percent(silenced_at(row))}".rstrip()
    if found.swept.configured is not None:
        yield f"  in force when it was measured: {spelled(found.swept.configured)}"


def bounds(found: Recommended, row: JudgedFloor) -> str:
    """The interval of a floor's loss by which it stands or falls."""
    lost = row.answerable_refused
    return ends(*exact_interval(lost.numerator, lost.denominator, found.bound.confidence))


def sign(found: Recommended, row: JudgedFloor) -> str:
    """Marks the recommended floor."""
    return "*" if found.chosen and row.floor == found.chosen.floor else " "


def marks(found: Recommended) -> Sequence[Mark]:
    """Where the recommended floor lies in a plot."""
    if found.chosen is None:
        return ()
    floor = found.chosen.floor
    return (Mark(at=exact(floor), label=f"{spelled(floor)} here", role=Role.FLOOR),)


def measured(found: Recommended) -> str:
    """On what it rests."""
    heading = found.heading
    return (
        f"n {count(len(found.swept.rows), 'question')}, {len(found.answerable):,} answerable and {found.unanswerable:,} not, "
        f"encoder {visible(heading.encoder)}, {count(heading.corpus.chunks, 'chunk')}, {heading.made_at:%Y-%m-%d}, parts by seed {found.bound.seed}"
    )


def ends(low: float, high: float) -> str:
    """An interval of shares by which a floor stands or falls: finer than others, rounded outwards as they are."""
    down, up = ends_in_percent(low, high, digits=2)
    return f"{down}..{up}%"


def told(rate: Rate) -> str:
    """A rate in a sentence, with its counts and interval: `1.2% (25/2,153, 0.7..1.8%)`."""
    return f"{percent(rate)[:-1]}, {interval(rate)})" if rate.denominator else percent(rate)


def markdown_rows(found: Recommended) -> Sequence[Sequence[str]]:
    """The curve as cells."""
    return [
        [
            floor_text(row.floor),
            percent(row.answerable_refused),
            bounds(found, row),
            percent(silenced_at(row)),
            "recommended" if sign(found, row) == "*" else "",
        ]
        for row in found.curve(BESIDE)
    ]
