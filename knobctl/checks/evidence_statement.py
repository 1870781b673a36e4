"""What a record says in one sentence, from its figures: the same wherever a change shows its evidence. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.checks.evidence_json import figure_json
from knobctl.checks.evidence_record import Estimate, Kind, Share, measured_for
from knobctl.text import count, ends_in_percent, spelled, stated_in_percent, visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.checks.evidence_record import Figure, Record

_SPOKEN: Final = {
    Kind.SIMULATION: (
        *("answerable_cut", "answerable_lost", "vector_only_best_lost", "emptied", "changed"),
    ),
    Kind.RECOMMENDATION: (
        *("floor", "max_loss", "max_emptied", "confidence"),
        *("answerable_lost", "answerable_emptied", "unanswerable_silenced", "auc"),
    ),
    Kind.CALIBRATION: ("noise_floor", "false_accept", "probes"),
}
"""The figures that the sentence is made of."""
_FEW: Final = 10


def statement(record: Record) -> str:
    """Say what was measured: the figures with their intervals, the day, how many questions.

    `1.2% of 2,153 answerable questions lose their document to the floors (0.7..1.8%); 3 of 2,153 in the
    prompt; 24 of 24 vector-only best matches under them; 2026-11-30, 6,065 questions`.
    """
    return "; ".join([finding(record), *_more(record), _asked(record)])


def finding(record: Record) -> str:
    """The first part of the sentence: what decides."""
    match record.kind:
        case Kind.SIMULATION:
            return _simulated(record)
        case Kind.RECOMMENDATION:
            return _recommended(record)
        case Kind.CALIBRATION:
            return _calibrated(record)


def spoken_figures(record: Record) -> dict[str, Any]:
    """The figures that the sentence is made of, as their JSON."""
    known = record.figures
    return {name: figure_json(known[name]) for name in _SPOKEN[record.kind] if name in known}


def _simulated(record: Record) -> str:
    if cut := _share(record, "answerable_cut"):
        verb = "loses its" if cut.numerator <= 1 else "lose their"
        return f"{_part(cut, 'answerable question')} {verb} document to the floors{_interval(cut)}"
    if lost := _share(record, "answerable_lost"):
        verb = "loses its" if lost.numerator <= 1 else "lose their"
        return f"{_part(lost, 'answerable question')} {verb} context{_interval(lost)}"
    if emptied := _share(record, "emptied"):
        verb = "gets" if emptied.numerator <= 1 else "get"
        return f"{_part(emptied, 'question')} {verb} nothing any more{_interval(emptied)}"
    if changed := _share(record, "changed"):
        verb = "gets" if changed.numerator <= 1 else "get"
        return f"{_part(changed, 'question')} {verb} another context{_interval(changed)}"
    return "simulated"


def _more(record: Record) -> Iterator[str]:
    if record.kind is Kind.SIMULATION:
        cut, lost = _share(record, "answerable_cut"), _share(record, "answerable_lost")
        if cut and lost:
            yield f"{lost.numerator:,} of {lost.denominator:,} in the prompt"
        if one := _share(record, "vector_only_best_lost"):
            yield f"{one.numerator:,} of {one.denominator:,} vector-only best matches under them"
    silenced = _share(record, "unanswerable_silenced")
    if record.kind is Kind.RECOMMENDATION and silenced:
        verb = "gets" if silenced.numerator <= 1 else "get"
        yield f"{_part(silenced, 'unanswerable question')} {verb} nothing{_interval(silenced)}"
    if sample := record.sample:
        of = f", of {sample.of:,}" if sample.of is not None and sample.layer else ""
        yield f"{visible(measured_for(record))}{of}"


def _recommended(record: Record) -> str:
    floor, most, sure = (_number(record, name) for name in ("floor", "max_loss", "confidence"))
    lost, how = _share(record, "answerable_lost"), "lost"
    if (
        most is None
    ):  # nobody said by what a question is answered: what is bounded is an empty answer
        most, lost = _number(record, "max_emptied"), _share(record, "answerable_emptied")
        how = "left with nothing"
    seen = f"{lost.numerator:,} of {lost.denominator:,} seen" if lost else ""
    held = " at" if sure is None else f" with {stated_in_percent(sure)} confidence at"
    bound = (
        f"at most {stated_in_percent(most)} of answerable questions {how}{held}"
        if most is not None
        else "recommended"
    )
    named = f"{bound} floor {spelled(floor)}" if floor is not None else bound.removesuffix(" at")
    return f"{named} ({seen})" if seen else named


def _calibrated(record: Record) -> str:
    floor, passed, probes = (_number(record, one) for one in _SPOKEN[Kind.CALIBRATION])
    told = "calibrated" if floor is None else f"noise reaches cosine {floor:.3f}"
    if passed is not None:
        told += f"; {_percent(passed)} of off-topic questions pass{_interval(record.figures['false_accept'])}"
    return told if probes is None else f"{told}; {count(int(probes), 'probe')}"


def _asked(record: Record) -> str:
    day = f"{record.made_at.date()}"
    if record.kind is Kind.CALIBRATION:
        return f"{day}, {count(record.corpus.chunks, 'chunk')}"
    return f"{day}, {count(record.questions, 'question')}"


def _share(record: Record, name: str) -> Share | None:
    figure = record.figures.get(name)
    return figure if isinstance(figure, Share) and figure.denominator else None


def _number(record: Record, name: str) -> float | None:
    figure = record.figures.get(name)
    return figure.value if isinstance(figure, (Share, Estimate)) else figure


def _part(share: Share, noun: str) -> str:
    """`3.8% of 3,034 answerable questions`; of a few how many, as a percentage would hide them."""
    few = f"{share.numerator}" if share.numerator else "none"
    part = _percent(share.numerator / share.denominator) if share.numerator >= _FEW else few
    return f"{part} of {count(share.denominator, noun)}"


def _interval(figure: Figure) -> str:
    if not isinstance(figure, (Share, Estimate)) or figure.low is None or figure.high is None:
        return ""
    low, high = ends_in_percent(figure.low, figure.high)
    return f" ({low}..{high}%)"


def _percent(share: float) -> str:
    return f"{100 * share:.1f}".removesuffix(".0") + "%"
