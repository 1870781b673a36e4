"""Reads an answer from bytes, in every shape in which people have one at hand."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.diagnosis.answer import (
    Answer,
    CallError,
    Omitted,
    Outcome,
    RankerState,
    Row,
    Surface,
)
from knobctl.diagnosis.fields import Fields, folded
from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BYTES: Final = 64 * 1024 * 1024
BANDS: Final = 20
ENUM_PREFIX: Final = "retrieval_outcome_"
_ASSEMBLE: Final = frozenset(
    map(folded, ("quality", "prompt", "chunks", "retrievalOutcome", "fallbackUsed"))
)
_SURE: Final = _ASSEMBLE | set(
    map(folded, ("results", "effectiveMinScore", "resultsBelowThreshold"))
)
"""Fields of answers and of nothing else."""
_REQUEST: Final = frozenset(map(folded, ("query", "queries", "task", "topK", "scope")))
_OURS: Final = frozenset(map(folded, ("command", "exit_code")))
DEEPEST_WRAPPING: Final = 3
_VERBOSE: Final = "Response contents:"
"""What `grpcurl -v` writes before the answer."""
_MUST: Final = "it must be the JSON of one Search or AssembleContext answer"
_GRPC_CODES: Final = (
    "ok", "canceled", "unknown", "invalid_argument", "deadline_exceeded", "not_found",
    "already_exists", "permission_denied", "resource_exhausted", "failed_precondition", "aborted",
    "out_of_range", "unimplemented", "internal", "unavailable", "data_loss", "unauthenticated",
)  # fmt: skip


def read_answer(content: bytes, source: str) -> Answer:
    """Read what a file, a pipe or an engine gave.

    Args:
        content: JSON in UTF-8, 16 or 32: a Search or AssembleContext answer, a Connect or gRPC error, or
            one of these inside another object, or as `grpcurl -v` prints it.
        source: Its name, for people.

    Raises:
        InputError: If it is none of them; says what it is instead.
    """
    return from_object(_the_object(_parsed(content, source), source), source)


def from_object(value: Mapping[str, Any], source: str) -> Answer:
    """Read an answer from its JSON object.

    Raises:
        InputError: If the object is none.
    """
    oddities: list[str] = []
    found = _unwrapped(value)
    if found is None:
        raise InputError(f"{visible(source)} {_instead(value)}", hint=_MUST)
    names = {folded(name) for name in found}
    fields = Fields(found, "", oddities)
    if names & _ASSEMBLE:
        return _assembled(fields, source, oddities)
    if _is_answer(found) or not found:
        return _searched(fields, source, oddities)
    return Answer(source=source, error=_error(fields), oddities=tuple(oddities))


def _parsed(content: bytes, source: str) -> Any:  # noqa: ANN401  any JSON may come
    name = visible(source)
    if len(content) > MAX_BYTES:
        raise InputError(f"{name} is larger than {MAX_BYTES >> 20} MiB", hint=_MUST)
    try:
        text = content.decode(json.detect_encoding(content), "strict")
    except UnicodeDecodeError as error:
        raise InputError(f"{name} is no text, so no JSON", hint=_MUST) from error
    text = _contents(text.lstrip("\ufeff").strip())
    if not text:
        raise InputError(f"{name} is empty", hint=_MUST)
    try:
        value, end = json.JSONDecoder(object_pairs_hook=_once_each).raw_decode(text)
    except RecursionError as error:
        raise InputError(f"{name} is JSON nested too deeply", hint=_MUST) from error
    except _TwiceError as error:
        raise InputError(f"{name}: the field {error} stands there twice", hint=_MUST) from error
    except json.JSONDecodeError as error:
        raise InputError(f"{name} {_no_json(text, error)}", hint=_MUST) from error
    except ValueError as error:  # a number of thousands of digits
        raise InputError(f"{name} holds a number that is too long", hint=_MUST) from error
    _assert_alone(text[end:].strip(), name)
    return value


class _TwiceError(Exception):
    """A field that stands twice in one object."""


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        raise _TwiceError(visible(next(name for name in names if names.count(name) > 1)[:80]))
    return found


def _contents(text: str) -> str:
    """The answer in what `grpcurl -v` prints."""
    if text[:1] in {"{", "["} or _VERBOSE not in text:
        return text
    after = text.partition(_VERBOSE)[2].lstrip()
    return after.partition("\nResponse trailers received:")[0].strip()


def _no_json(text: str, error: json.JSONDecodeError) -> str:
    start = " ".join(text[:200].split())[:40]
    if text[:1] in {"{", "["}:
        return f"is broken JSON: {error.msg.lower()} at line {error.lineno}, column {error.colno}"
    return f"is no JSON; it begins with {visible(start)}"


def _assert_alone(rest: str, name: str) -> None:
    if not rest:
        return
    if rest[0] in "{[":
        one = "sed -n 1p FILE | knobctl diagnose -"
        raise InputError(
            f"{name} holds several JSON documents; diagnose explains one answer",
            hint=f"one a line? {one}; two to compare: knobctl diagnose A.json B.json",
        )
    start = visible(" ".join(rest[:200].split())[:40])
    raise InputError(f"{name}: after the JSON there is more: {start}", hint=_MUST)


def _the_object(value: Any, source: str) -> Mapping[str, Any]:  # noqa: ANN401  any JSON may come
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, dict):
        return value
    name = visible(source)
    if isinstance(value, list) and value:
        raise InputError(
            f"{name} is a list of {len(value):,}; diagnose explains one answer",
            hint="take one out: jq '.[0]' FILE | knobctl diagnose -",
        )
    raise InputError(f"{name} is JSON, but no object", hint=_MUST)


def _unwrapped(value: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The answer in an object: itself, or the only one inside it; else the error that came instead."""
    return _found(value, _is_answer) or _found(value, _is_error) or (value if not value else None)


def _found(
    value: Mapping[str, Any], fits: Callable[[Mapping[str, Any]], bool], depth: int = 0
) -> Mapping[str, Any] | None:
    if fits(value):
        return value
    if depth == DEEPEST_WRAPPING:
        return None
    inside = [
        found
        for one in value.values()
        if isinstance(one, dict) and (found := _found(one, fits, depth + 1)) is not None
    ]
    return inside[0] if len(inside) == 1 else None


def _is_answer(value: Mapping[str, Any]) -> bool:
    names = {folded(name) for name in value}
    if names & _SURE:
        return True
    return "outcome" in names and not names & (_REQUEST | _OURS)


def _is_error(value: Mapping[str, Any]) -> bool:
    code = value.get("code", value.get("Code"))
    return isinstance(code, (str, int)) and not isinstance(code, bool)


def _instead(value: Mapping[str, Any]) -> str:
    """What an object is that is no answer."""
    names = {folded(name) for name in value}
    if "evaluations" in names:
        return "is an Evaluate answer, about a set that is not in force; diagnose explains one of a call"
    if names & _REQUEST:
        return "is a request, not its answer"
    if names >= _OURS:
        return f"is what knobctl {visible(str(value.get('command'))[:20])} printed"
    if names & {"config", "knobs", "tenants"}:
        return "is about knobs, no answer of retrieval"
    some = ", ".join(visible(name[:20]) for name in list(value)[:4])
    return f"is JSON of something else ({some})"


def _error(fields: Fields) -> CallError:
    code = fields.word("code", _GRPC_CODES, "") or "unknown"
    return CallError(code=code.replace(" ", "_"), message=fields.text("message"))


def _searched(fields: Fields, source: str, oddities: list[str]) -> Answer:
    return Answer(
        source=source,
        surface=Surface.SEARCH,
        outcome=_outcome(fields, "outcome"),
        rows=_rows(fields, "results"),
        **_shared(fields),
        oddities=tuple(oddities),
    )


def _assembled(fields: Fields, source: str, oddities: list[str]) -> Answer:
    # Some keep the quality block alone.
    quality = fields.object("quality") if "quality" in fields else fields
    omitted = quality.object("omitted")
    return Answer(
        source=source,
        surface=Surface.ASSEMBLE,
        outcome=_outcome(quality, "retrievalOutcome"),
        rows=_rows(fields, "chunks"),
        **_shared(quality),
        fallback_used=quality.flag("fallbackUsed"),
        fallback_reason=quality.text("fallbackReason"),
        expanded=quality.flag("expanded"),
        rewrites=tuple(one for one in quality.items("rewrites") if isinstance(one, str)),
        removed_by_expansion=quality.count("removedByExpansionFloor") or 0,
        best_cosine=quality.number("bestCosine"),
        no_match=quality.flag("noMatch"),
        nearest=tuple(
            (near.text("chunkId") or near.text("documentId"), near.number("cosine"))
            for near in quality.objects("nearest")
        ),
        omitted=Omitted(
            duplicates=omitted.count("duplicates") or 0,
            per_document=omitted.count("perDocument") or 0,
            max_chunks=omitted.count("maxChunks") or 0,
            token_budget=omitted.count("tokenBudget") or 0,
        ),
        prompt_tokens=quality.count("promptTokens"),
        oddities=tuple(oddities),
    )


def _outcome(fields: Fields, name: str) -> str | None:
    """The classification; an engine that states its floor and no outcome says `unspecified`, which proto3 leaves out."""
    found = fields.word(name, tuple(Outcome), ENUM_PREFIX)
    return found or (Outcome.UNSPECIFIED.value if _states_floor(fields) else None)


def _states_floor(fields: Fields) -> bool:
    return "effectiveMinScore" in fields or "fallbackUsed" in fields


def _shared(fields: Fields) -> dict[str, Any]:
    """What both surfaces say of the floor."""
    removed = fields.count("resultsBelowThreshold")
    floor = fields.number("effectiveMinScore")
    if floor is None:
        floor = fields.number("minScore")  # what an older engine repeated of the request
    return {
        "floor": floor if floor is None or floor > 0 else None,
        "removed": 0 if removed is None and _states_floor(fields) else removed,
        "rankers": _rankers(fields) if "rankers" in fields else None,
        "best_removed": fields.number("bestRemovedScore"),
        "corpus_version": fields.text("corpusVersion") or None,
        "bands": _bands(fields),
        "last_good_knobs": fields.flag("lastGoodKnobs"),
    }


def _rankers(fields: Fields) -> dict[str, RankerState]:
    inside = fields.object("rankers")
    found = {}
    for name in fields.mapping("rankers"):
        one = inside.object(name)
        found[name] = RankerState(
            rows=one.count("rows") or 0,
            error=one.text("error"),
            timed_out=one.flag("timedOut"),
            removed_by_cosine=one.count("removedByCosineFloor") or 0,
        )
    return {name: found[name] for name in sorted(found, key=_order)}


def _bands(fields: Fields) -> tuple[int, ...] | None:
    found = fields.items("scoreHistogram")
    if not found:
        return None
    one_each = Fields({str(at): number for at, number in enumerate(found)}, "scoreHistogram.", [])
    counts = [one_each.count(str(at)) for at in range(len(found))]
    if len(counts) != BANDS or None in counts:
        fields.odd("scoreHistogram", f"is no list of {BANDS} counts; left out")
        return None
    return tuple(number or 0 for number in counts)


def _rows(fields: Fields, name: str) -> tuple[Row, ...]:
    return tuple(_row(one) for one in fields.objects(name))


def _row(fields: Fields) -> Row:
    inside = fields.object("ranks")
    ranks = {name: inside.count(name) for name in fields.mapping("ranks")}
    known = {name: rank for name, rank in ranks.items() if rank}
    return Row(
        chunk_id=fields.text("chunkId") or fields.text("id") or fields.text("documentId"),
        score=fields.number("score"),
        ranks={name: known[name] for name in sorted(known, key=_order)},
    )


def _order(ranker: str) -> tuple[int, str]:
    known = ("vector", "bm25", "recency")
    return (known.index(ranker) if ranker in known else len(known), ranker)
