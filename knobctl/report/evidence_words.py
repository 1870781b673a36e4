"""Sentences about a floor and what was measured: each made from the numbers, none without them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.evidence.recording import Label, Why
from knobctl.fusion.numbers import number_text
from knobctl.fusion.reach import EDGE
from knobctl.report.reach_words import emptiness
from knobctl.text import all_of, count, joined, visible

if TYPE_CHECKING:
    from knobctl.evidence.curve import RefusalCurve
    from knobctl.evidence.measured import Measured
    from knobctl.report.floor_view import Compared, FloorView

NO_EVIDENCE: Final = (
    "No evidence: what is shown is arithmetic alone, right for every question and measured on none."
)
_LEFT_OUT: Final = {Why.EMPTY: "found no row", Why.FAILED: "could not be asked"}


def refusal(view: FloorView) -> str:
    """How many questions get nothing at the floor that is looked at, and at the one in force."""
    if view.evidence is None:
        return no_curve(view)
    curve, floor = view.evidence.curve, view.floor
    here = number_text(floor)
    if not curve.knows(floor):
        return (
            f"Nothing is known at {here}: it was measured under a floor of {curve.known_from:g}, "
            "and what scored below that is not in the file."
        )
    refused, now = curve.refused(floor), view.now
    text = f"At {here}, {_part(refused, curve.counted)} would get no context"
    if not refused:
        text = f"At {here}, {_every(curve.counted)} would get context"
    if now is None or now == floor or not curve.knows(now):
        return f"{text}."
    before = curve.refused(now)
    if not refused:
        told = f"{before:,} would get none" if before else "too"
    else:
        told = f"it is {before:,}"
    return f"{text}; at {number_text(now)}, in force now, {told}."


def figures(view: FloorView) -> str:
    """The same in a few words, to stand beside a floor that is being moved."""
    evidence, floor = view.evidence, view.floor
    can_be = view.reached.can_be_empty(view.reached.enabled)
    rankers = all_of(len(view.reached.enabled)) if len(view.reached.enabled) > 1 else "its ranker"
    live = f"with {rankers} live an answer {'can' if can_be else 'cannot'} be empty"
    if evidence is None:
        return (
            f"{'no evidence' if view.measured is None else 'no evidence that holds here'}; {live}"
        )
    if not evidence.curve.knows(floor):
        return f"nothing is known at this floor; {live}"
    refused, asked = evidence.curve.refused(floor), evidence.curve.counted
    told = [f"{refused:,} of {asked:,} get no context{_percent(refused, asked)}"]
    lost = evidence.by_label.get(Label.ANSWERABLE)
    if lost:
        told.append(f"{lost.refused(floor):,} of {lost.counted:,} answerable lost")
    return "; ".join(told if can_be else [*told, live])


def no_curve(view: FloorView) -> str:
    """Why there is no curve."""
    if view.measured is None:
        return NO_EVIDENCE
    source = visible(view.measured.recording.source)
    if view.measured.fit.refusals:
        return f"No curve of {source}: {'; '.join(view.measured.fit.refusals)}."
    return f"No curve of {source}: it has no question that a floor decides about."


def labels(view: FloorView) -> str:
    """What the floor costs of each label; empty where nothing is labelled or known."""
    evidence, floor = view.evidence, view.floor
    if evidence is None or not evidence.curve.knows(floor):
        return ""
    told = []
    for label, curve in evidence.by_label.items():
        refused = curve.refused(floor)
        if label is Label.ANSWERABLE:
            told.append(f"Of {_of(curve, label)}, {_share(refused, curve.counted)} would be lost")
        else:
            passed = curve.counted - refused
            told.append(
                f"of {_of(curve, label)}, {_share(passed, curve.counted)} would still get context"
            )
    text = "; ".join(told)
    return f"{text[0].upper()}{text[1:]}." if text else ""


def spread(view: FloorView) -> str:
    """Where the best scores lie, in one sentence."""
    evidence = view.evidence
    if evidence is None or not evidence.curve.scores:
        return ""
    scores = evidence.curve.scores
    low, middle, high = (scores[(len(scores) - 1) * part // 2] for part in range(3))
    text = f"Best fused scores of questions: from {low:.3f} to {high:.3f}, the middle one {middle:.3f}."
    on_it = evidence.within(view.floor, EDGE)
    if on_it:
        text += f" {count(on_it, 'question')} {_score(on_it)} the floor itself: whether {_they(on_it)} can turn on the order in which an engine sums."
    return text


def arithmetic(view: FloorView) -> str:
    """Whether the floor can empty an answer at all."""
    reached = view.reached
    live = reached.enabled
    if len(live) > 1 and not reached.can_be_empty(live):
        limit = reached.told(reached.best(live))
        return (
            f"With {joined(live)} live no floor up to {limit} empties an answer, whatever is asked."
        )
    return emptiness(reached)[0]


def origin(measured: Measured) -> str:
    """Of when, of whom, with which rankers a recording is."""
    heading = measured.heading
    weights = " ".join(number_text(one) for one in heading.weights.values())
    made = f"Measured {heading.made_at.date()} for {visible(heading.tenant)} by {visible(heading.made_by)}"
    over = f"{count(heading.questions, 'question')} over {count(heading.corpus.chunks, 'chunk')}"
    fused = f"{joined(heading.rankers)} taking part (weights {weights}, k {heading.k})"
    parts = [f"{made}: {over}, {fused}, embedder {visible(heading.encoder)}."]
    parts += [
        f"{visible(name)} returned nothing for {number:,} of them."
        for name, number in measured.silent.items()
    ]
    out = [f"{number:,} {_LEFT_OUT[why]}" for why, number in measured.left_out.items()]
    if out:
        parts.append(f"{' and '.join(out)}: in no figure.")
    if measured.curve.refused_anyway:
        parts.append(f"{measured.curve.refused_anyway:,} are refused by another gate at any floor.")
    return " ".join(parts)


def cautions(measured: Measured) -> list[str]:
    """What else differs between the recording and the tenant."""
    return [f"{text[0].upper()}{text[1:]}." for text in map(str, measured.fit.cautions)]


def comparison(view: FloorView) -> str:
    """What the other one gets at the same floor, or why it is not drawn."""
    other = view.other
    if other is None:
        return ""
    name = visible(other.name)
    if view.beside is None:
        return f"{name} is not drawn: {'; '.join(_why_not(other))}."
    curve = other.measured.curve
    if not curve.knows(view.floor):
        return f"Nothing is known of {name} at {number_text(view.floor)}."
    refused, here = curve.refused(view.floor), number_text(view.floor)
    if not refused:
        return f"Of {name}, {_every(curve.counted)} would get context at {here}."
    return f"Of {name}, {_part(refused, curve.counted)} would get no context at {here}."


def _why_not(other: Compared) -> tuple[str, ...]:
    if other.measured.fit.refusals:
        return other.measured.fit.refusals
    if not other.measured.curve.counted:
        return ("it has no question that a floor decides about",)
    return ("its scores are on another scale",)


def _part(number: int, of: int) -> str:
    return f"{number:,} of {count(of, 'question')}{_percent(number, of)}"


def _every(number: int) -> str:
    return "the one question" if number == 1 else f"all {number:,} questions"


def _share(number: int, of: int) -> str:
    if number == of > 1:
        return "all"
    return f"{number:,}{_percent(number, of)}" if number else "none"


def _percent(number: int, of: int) -> str:
    return f" ({number / of:.1%})" if of and number else ""


def _of(curve: RefusalCurve, label: Label) -> str:
    return f"{curve.counted:,} {label.value} {'one' if curve.counted == 1 else 'ones'}"


def _score(number: int) -> str:
    return "scores" if number == 1 else "score"


def _they(number: int) -> str:
    return "it passes" if number == 1 else "they pass"
