"""The measures that rankings are judged by, over two runs and their qrels; reckoned by ir_measures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.errors import EngineError, UsageError
from knobctl.evidence.paired import Shift, holm, shift_of
from knobctl.text import joined, nearest, visible

try:
    import ir_measures
except ImportError as error:
    raise EngineError(
        "measures of ranking need ir_measures", hint="pip install 'knobctl[engine]'"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.evidence.simulating import Pair, Simulated

DEFAULT: Final = "recall@12,ndcg@10,rr@10"
_NAME: Final = re.compile(r"([a-z]+)(?:@([1-9][0-9]{0,3}))?")
_OFFERED: Final[Mapping[str, Any]] = {
    "ap": ir_measures.AP,
    "bpref": ir_measures.Bpref,
    "map": ir_measures.AP,
    "mrr": ir_measures.RR,
    "ndcg": ir_measures.nDCG,
    "p": ir_measures.P,
    "precision": ir_measures.P,
    "r": ir_measures.R,
    "recall": ir_measures.R,
    "rprec": ir_measures.Rprec,
    "rr": ir_measures.RR,
    "success": ir_measures.Success,
}
"""By what people type. All of them are trec_eval's but RR with a depth, which it does not know."""
_PROVIDER: Final = ir_measures.providers.FallbackProvider(  # type: ignore[no-untyped-call]  # half typed
    [ir_measures.pytrec_eval, ir_measures.msmarco]
)


ByQuestion: TypeAlias = "tuple[Mapping[str, float], Mapping[str, float]]"
"""The values of one measure by question, before and after."""


@dataclass(frozen=True, slots=True)
class Measure:
    """One measure."""

    name: str
    """As it was typed, in small letters: `ndcg@10`."""
    reckoned: Any
    """What ir_measures calls it."""


@dataclass(frozen=True, slots=True)
class Moved:
    """How a measure moved."""

    measure: str
    shift: Shift
    corrected: float
    """The p-value, corrected for the measures that were tested beside it."""


def measures_named(text: str) -> list[Measure]:
    """Read a list of measures, such as `recall@12,ndcg@10`.

    Raises:
        UsageError: If one is unknown, or its depth is missing or makes no sense; with what is offered.
    """
    names = dict.fromkeys(name.strip().lower() for name in text.split(",") if name.strip())
    if not names:
        raise UsageError("--metric names no measure", hint=f"such as {DEFAULT}")
    return [_measure(name) for name in names]


def _measure(name: str) -> Measure:
    match = _NAME.fullmatch(name)
    word = match[1] if match else name
    if match is None or word not in _OFFERED:
        close = nearest(word, _OFFERED)
        raise UsageError(
            f"--metric {visible(name)} is no measure",
            hint=f"did you mean {close}?" if close else f"there are: {joined([*_OFFERED])}",
        )
    kind = _OFFERED[word]
    depth = kind.SUPPORTED_PARAMS.get("cutoff")
    if match[2] and depth is None:
        raise UsageError(f"--metric {visible(name)}: {word} has no depth", hint=f"write {word}")
    if not match[2] and depth is not None and depth.required:
        raise UsageError(f"--metric {word} needs a depth", hint=f"such as {word}@10")
    return Measure(name, kind @ int(match[2]) if match[2] else kind)


def reckoned(simulated: Simulated, measures: Sequence[Measure]) -> dict[str, ByQuestion]:
    """Reckon measures before and after, of each question that can be answered and of which it is known by what.

    Args:
        simulated: With qrels.
        measures: What is reckoned.

    Returns:
        By measure. A question for which nothing was assembled counts, with the least there is.
    """
    qrels = simulated.judged.qrels
    pairs = simulated.labelled(answerable=True)
    judged = {one.asked.id: dict(qrels.by_question[one.asked.id]) for one in pairs}
    evaluator = _PROVIDER.evaluator([one.reckoned for one in measures], judged)
    ranked = {one.asked.id: simulated.ranked(one) for one in pairs}
    sides = [
        _values(evaluator, {id_: both[side] for id_, both in ranked.items()}) for side in (0, 1)
    ]
    return {
        one.name: (sides[0].get(one.reckoned, {}), sides[1].get(one.reckoned, {}))
        for one in measures
    }


def _values(evaluator: Any, rankings: Mapping[str, Sequence[str]]) -> dict[Any, dict[str, float]]:  # noqa: ANN401  the library's types are loose
    run = {
        id_: {name: float(len(names) - place) for place, name in enumerate(names)}
        for id_, names in rankings.items()
        if names
    }
    found: dict[Any, dict[str, float]] = {}
    for each in evaluator.iter_calc(run):
        found.setdefault(each.measure, {})[each.query_id] = float(each.value)
    return found


def moved(pairs: Sequence[Pair], by_measure: Mapping[str, ByQuestion], *, seed: int) -> list[Moved]:
    """Say how measures moved over some questions.

    Args:
        pairs: The questions; those that were not reckoned are in no measure.
        by_measure: See `reckoned`.
        seed: Of the tests.

    Returns:
        In the order of the measures; empty where none of the questions was reckoned.
    """
    ids = [one.asked.id for one in pairs]
    shifts = {}
    for name, (before, after) in by_measure.items():
        known = [one for one in ids if one in before]
        shift = shift_of(
            [before[one] for one in known], [after[one] for one in known], span=1.0, seed=seed
        )
        if shift:
            shifts[name] = shift
    corrected = holm([one.p_value for one in shifts.values()])
    return [
        Moved(name, shift, p_value)
        for (name, shift), p_value in zip(shifts.items(), corrected, strict=True)
    ]
