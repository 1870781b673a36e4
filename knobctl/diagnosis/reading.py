"""Reads an answer from bytes, in every shape in which people have one at hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.diagnosis.answer import (
    BANDS,
    Answer,
    CallError,
    Corpus,
    Omitted,
    Outcome,
    RankerState,
    Relevance,
    Row,
    Surface,
)
from knobctl.diagnosis.fields import Fields, folded
from knobctl.diagnosis.unwrapping import ASSEMBLE, is_answer, object_in, unwrapped

if TYPE_CHECKING:
    from collections.abc import Mapping

ENUM_PREFIX: Final = "retrieval_outcome_"
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
    return from_object(object_in(content, source), source)


def from_object(value: Mapping[str, Any], source: str) -> Answer:
    """Read an answer from its JSON object.

    Raises:
        InputError: If the object is none.
    """
    oddities: list[str] = []
    found = unwrapped(value, source)
    names = {folded(name) for name in found}
    fields = Fields(found, "", oddities)
    if names & ASSEMBLE:
        return _assembled(fields, source, oddities)
    if is_answer(found) or not found:
        return _searched(fields, source, oddities)
    return Answer(source=source, error=_error(fields), oddities=tuple(oddities))


def read_corpus(value: Mapping[str, Any]) -> Corpus:
    """Read how much there is to find from the answer to Describe."""
    fields = Fields(value, "", [])
    return Corpus(
        documents=fields.count("documents") or 0,
        chunks=fields.count("chunks") or 0,
        sources=tuple(filter(None, (one.text("sourceId") for one in fields.objects("sources")))),
    )


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
        relevance=_relevance(quality.object("relevance")) if "relevance" in quality else None,
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


def _relevance(fields: Fields) -> Relevance | None:
    tier = fields.text("tier").lower()
    if not tier:
        return None
    return Relevance(
        tier=tier,
        p_value=fields.number("pValue"),
        z=fields.number("z"),
        cosine=fields.number("cosine"),
        cut_off=fields.number("cutOff"),
        probes=fields.count("probes") or 0,
        chunks=fields.count("chunks") or 0,
    )


def _outcome(fields: Fields, name: str) -> str | None:
    """The classification; an engine that states its floor and no outcome says `unspecified`, which proto3 leaves out."""
    found = fields.word(name, tuple(Outcome), ENUM_PREFIX)
    return found or (Outcome.UNSPECIFIED.value if _states_floor(fields) else None)


def _states_floor(fields: Fields) -> bool:
    return "effectiveMinScore" in fields or "fallbackUsed" in fields


def _shared(fields: Fields) -> dict[str, Any]:
    """What both surfaces say in the same fields."""
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
    return tuple(read_row(one) for one in fields.objects(name))


def read_row(fields: Fields) -> Row:
    """Read one returned chunk."""
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
