"""What to do about an answer: most useful first, with a command wherever there is one."""

from __future__ import annotations

import shlex
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.case import Action, Case, Verdict
from knobctl.diagnosis.floor_remarks import letting_through
from knobctl.diagnosis.pipeline_remarks import all_cut_by_cosine, holds_nothing
from knobctl.fusion.numbers import number_text, safely_below
from knobctl.fusion.reach import EDGE
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

FAN_OUT_WARNING: Final = "retrieval: fan-out produced zero rows or had searcher failures"
"""The words to look for in an engine's log; the number behind them differs by engine."""
ALMOST_NONE: Final = "0.0001"
"""Practically no floor."""
LOW: Final = "0.01"
"""A floor at which the distribution shows, from the given page."""
_EMBEDDED: Final = "embedded:"
"""How the name of an engine begins that runs in this process."""
_ERRORS: Final = {
    "unauthenticated": "give the call a token that the engine knows",
    "permission_denied": "the token lets its holder into the engine but not into this call: ask for more clearance",
    "not_found": "name a tenant that the token holds, or call another address",
    "unimplemented": "the address has no such method: call an engine that retrieves",
    "invalid_argument": "mend the request; nothing of it ran",
    "resource_exhausted": "the engine wants fewer calls: ask again later",
    "unavailable": "the engine could not retrieve just then: ask again",
    "deadline_exceeded": "no answer came in time: ask again, or allow more time",
    "internal": "an error inside the engine: its log has the request's id",
}


def advice(case: Case, verdict: Verdict) -> Iterator[Action]:
    """Give the actions for a verdict; none where nothing is to be done."""
    return iter(_ADVICE.get(verdict, _nothing)(case))


def _nothing(_case: Case) -> Iterator[Action]:
    yield from ()


def _after_an_error(case: Case) -> Iterator[Action]:
    code = case.answer.error.code if case.answer.error else ""
    yield Action(_ERRORS.get(code, "ask the engine's owner with this message"))


def _report(_case: Case) -> Iterator[Action]:
    yield Action("report it to the engine's owner with the ids of these rows")


def _ask_the_source(_case: Case) -> Iterator[Action]:
    yield Action("ask the owner of the source; no floor and no knob brings it back")


def target_floor(case: Case) -> Fraction | None:
    """The floor to go to: the knob's, the platform's, else just what the best removed passes."""
    best = case.answer.best_removed
    limit = None if best is None else Fraction(best) - EDGE
    usual = [case.knobs.number("floor.fused")] if not case.assembled else []
    usual += [case.knobs.number("floor.expansion"), case.knobs.default("floor.fused")]
    for floor in usual:
        if floor and (limit is None or floor <= limit) and (not case.floor or floor < case.floor):
            return floor
    through = letting_through(case)
    return Fraction(through) if through and Fraction(through) > 0 else None


def _lower(case: Case) -> Iterator[Action]:
    target = target_floor(case)
    if not case.makes_sense:
        yield from _probe(case)
    elif target is None:
        yield from _ask_low(case)
    elif case.assembled:
        yield from _lower_the_knob(case, target)
    else:
        floor = number_text(target)
        again = _ask(case, floor) if case.asked else ""
        yield Action(f"send minScore {floor}, or call AssembleContext", again, asks_engine=True)


def _lower_the_knob(case: Case, target: Fraction) -> Iterator[Action]:
    knob, floor = case.knobs.name("floor.fused"), number_text(target)
    expanded, name = case.knobs.number("floor.expansion"), case.knobs.name("floor.expansion")
    both = f" {name}={floor}" if expanded and target < expanded else ""
    why = f", and {name} with it: an expanded query is cut there first" if both else ""
    yield Action(
        f"lower the knob{why}", f"knobctl set {case.tenant} {knob}={floor}{both}", asks_engine=True
    )
    yield Action("see first what that keeps", f"knobctl explain {knob} {floor}")


def _lower_both(case: Case) -> Iterator[Action]:
    ran = case.floor or case.knobs.default("floor.fused")
    best = case.answer.best_removed
    limit = None if best is None else Fraction(safely_below(Fraction(best), EDGE))
    target = min(filter(None, (ran, limit, Fraction(1, 3) - EDGE)), default=Fraction(3, 10))
    floor = number_text(target) if target == ran else safely_below(target, EDGE)
    names = [case.knobs.name("floor.expansion")]
    if case.floor is not None and Fraction(floor) < case.floor:
        names.append(case.knobs.name("floor.fused"))
    pairs = " ".join(f"{name}={floor}" for name in names if name)
    yield Action(
        "lower the floor of the expansion pass",
        f"knobctl set {case.tenant} {pairs}",
        asks_engine=True,
    )


def _look(case: Case) -> Iterator[Action]:
    """Where a floor costs some and not all: what it costs, and the way down where it is above all sense."""
    expanded = case.knobs.number("floor.expansion")
    if case.assembled and case.floor and expanded and case.floor > expanded and not case.off_scale:
        yield from _lower_the_knob(case, expanded)
    elif case.answer.inherits_search_floor and case.makes_sense:
        yield from _lower(case)
    elif case.floor is not None and case.assembled and case.knobs.name("floor.fused"):
        floor = number_text(case.floor)
        yield Action(
            "what this floor keeps and loses",
            f"knobctl explain {case.knobs.name('floor.fused')} {floor}",
        )
    elif case.floor is not None:
        yield Action("what this floor reaches", f"knobctl reach --floor {number_text(case.floor)}")


def _look_for_rows(case: Case) -> Iterator[Action]:
    if all_cut_by_cosine(case):
        name = case.knobs.name("floor.vector") or "vector_min_cosine"
        yield Action(
            "lift the cosine filter", f"knobctl unset {case.tenant} {name}", asks_engine=True
        )
        return
    if holds_nothing(case):
        yield from _load_texts(case)
        return
    yield Action(
        f'look in the engine\'s log for "{FAN_OUT_WARNING}": rows and error of each ranker, and how many sources the token admits'
    )
    if case.asked is None or case.asked.corpus is None:
        describe = f"knobctl engine describe --tenant {case.tenant}"
        yield Action("see how much there is to find, on the engine's machine", describe)
    yield Action("compare scope.sourceIds of the request and the token's sources with these")


def _load_texts(case: Case) -> Iterator[Action]:
    """Where the store is in a file of this machine, it is the one that was asked."""
    store = case.answer.source if case.asked else ""
    load = ["knobctl", "engine", "load", "FILE.jsonl", "--tenant", case.tenant]
    if store.startswith(_EMBEDDED):
        yield Action("load texts", shlex.join([*load, "--store", visible(store)]))
    else:
        yield Action("load texts, on the engine's machine", shlex.join(load))


def _let_it_run(case: Case) -> Iterator[Action]:
    reason = case.answer.fallback_reason
    if reason == "no_query":
        yield Action("send a task that says what is wanted")
        return
    yield Action(f'look in the engine\'s log for "{FAN_OUT_WARNING}": it names what failed')
    limit = case.knobs.number("ranker.timeout")
    if reason == "retrieval_timeout" and limit is not None:
        longer = min(2 * limit, Fraction(30000))
        name = case.knobs.name("ranker.timeout")
        yield Action(
            "give rankers more time where they are slow and not broken",
            f"knobctl set {case.tenant} {name}={number_text(longer)}",
            asks_engine=True,
        )


def _open_the_gate(case: Case) -> Iterator[Action]:
    name, best = case.knobs.name("floor.no_match"), case.answer.best_cosine
    if not name or best is None or best <= 0:
        yield Action("read the closest chunks: if they do not answer the question, all is well")
        return
    floor = safely_below(Fraction(best), EDGE)
    yield Action("read the closest chunks: if they do not answer the question, all is well")
    yield Action(
        "to let this question through",
        f"knobctl set {case.tenant} {name}={floor}",
        asks_engine=True,
    )


def _room_in_the_prompt(case: Case) -> Iterator[Action]:
    omitted = case.answer.omitted
    knob = "assembly_token_budget" if omitted.token_budget else "assembly_max_chunks"
    if case.knobs.name(knob):
        yield Action("see what the limit does", f"knobctl explain {knob}")


def _ask_again_if_empty(case: Case) -> Iterator[Action]:
    if not case.answer.rows:
        yield from _ask_low(case)


def _ask_low(case: Case) -> Iterator[Action]:
    yield Action(
        "ask again at a low floor: it shows the scores. That is a second retrieval, so compare "
        "corpusVersion before believing it",
        _ask(case, LOW),
        asks_engine=True,
    )


def _probe(case: Case) -> Iterator[Action]:
    yield Action(
        f"ask at {ALMOST_NONE}: on the scale that the knobs are made for, that removes nothing",
        _ask(case, ALMOST_NONE),
        asks_engine=True,
    )


def _newer(_case: Case) -> Iterator[Action]:
    yield Action("read what the engine's documentation says of it; a newer knobctl may know it")


def _ask(case: Case, floor: str) -> str:
    question = case.asked.question if case.asked else "the query"
    words = ["knobctl", "diagnose", "--tenant", case.tenant, "--ask", visible(question)]
    words += ["--surface", "search", "--min-score", floor]
    for source in case.asked.sources if case.asked else ():
        words += ["--source", visible(source)]
    return shlex.join(words)


_ADVICE: Final[Mapping[Verdict, Callable[[Case], Iterator[Action]]]] = {
    Verdict.CALL_FAILED: _after_an_error,
    Verdict.FLOOR_REMOVED_ALL: _lower,
    Verdict.REMOVED_UNCOUNTED: _lower,
    Verdict.FLOOR_REMOVED_SOME: _look,
    Verdict.EXPANSION_FLOOR_REMOVED_ALL: _lower_both,
    Verdict.NO_RESULTS: _look_for_rows,
    Verdict.DID_NOT_RUN: _let_it_run,
    Verdict.NO_MATCH: _open_the_gate,
    Verdict.UNCLASSIFIED: _ask_again_if_empty,
    Verdict.PROMPT_EMPTY: _room_in_the_prompt,
    Verdict.ROW_BELOW_FLOOR: _report,
    Verdict.ACCESS_REVOKED_UPSTREAM: _ask_the_source,
    Verdict.SOURCE_UNAVAILABLE: _ask_the_source,
    Verdict.DOCUMENT_NO_LONGER_EXISTS: _ask_the_source,
    Verdict.DOCUMENT_REF_UNRESOLVED: _ask_the_source,
    Verdict.UNKNOWN_OUTCOME: _newer,
}
