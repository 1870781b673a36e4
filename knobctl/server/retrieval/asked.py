"""What the retrieval calls take: every field of a request is looked at."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from knobctl.server.refusal import ServiceError, Violation, invalid
from knobctl.server.requests import accepted_config
from knobctl.server.retrieval.model import SEARCH_FLOOR
from knobctl.server.retrieval.settings import settings_of
from knobctl.text import has_surrogates

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.knobs import Catalogue, KnobValue
    from knobctl.server.auth import Caller
    from knobctl.server.retrieval.settings import Settings

USUAL_TOP_K: Final = 10
LARGEST_TOP_K: Final = 500
MOST_QUERIES: Final = 100
MOST_SETS: Final = 8


def accepted_query(query: str, field: str = "query") -> str:
    """Give a query, if there is something in it.

    Raises:
        ServiceError: `invalid_argument`.
    """
    if not query.strip():
        raise invalid(Violation(field, f"{field} is blank; there is nothing to search for"))
    return accepted_text(query, field)


def accepted_text(text: str, field: str) -> str:
    """Give a text, if it is valid Unicode.

    Raises:
        ServiceError: `invalid_argument`.
    """
    if has_surrogates(text):
        raise invalid(Violation(field, f"{field} is no valid Unicode text"))
    return text


def accepted_queries(queries: Sequence[str]) -> tuple[str, ...]:
    """Give the queries of an evaluation.

    Raises:
        ServiceError: `invalid_argument`.
    """
    if len(queries) > MOST_QUERIES:
        raise invalid(
            Violation("queries", f"{len(queries)} queries; at most {MOST_QUERIES} in one call")
        )
    return tuple(accepted_query(query, f"queries[{index}]") for index, query in enumerate(queries))


def accepted_sets(catalogue: Catalogue, configs: Sequence[Mapping[str, object]]) -> list[Settings]:
    """Give what the proposed sets of an evaluation say.

    Raises:
        ServiceError: `invalid_argument`, with a violation for each knob at fault; one of a further set names that too.
    """
    if len(configs) > MOST_SETS:
        raise invalid(
            Violation("further_configs", f"{len(configs)} sets; at most {MOST_SETS} in one call")
        )
    return [
        settings_of(catalogue, _accepted_set(catalogue, config, number))
        for number, config in enumerate(configs)
    ]


def _accepted_set(
    catalogue: Catalogue, config: Mapping[str, object], number: int
) -> dict[str, KnobValue]:
    try:
        return accepted_config(catalogue, config)
    except ServiceError as error:
        if not number:
            raise
        at_fault = (
            Violation(f"further_configs[{number - 1}].{one.field}", one.description)
            for one in error.violations
        )
        raise invalid(*at_fault) from error


def accepted_top_k(top_k: int) -> int:
    """Give how many results are wanted: the usual number for 0.

    Raises:
        ServiceError: `invalid_argument`.
    """
    if not 0 <= top_k <= LARGEST_TOP_K:
        raise invalid(Violation("top_k", f"top_k is {top_k}; it must lie in 0 .. {LARGEST_TOP_K}"))
    return top_k or USUAL_TOP_K


def search_floor(min_score: float) -> float:
    """Give the floor of a search: the strictest there is for 0 and for a negative number.

    Raises:
        ServiceError: `invalid_argument`.
    """
    if not math.isfinite(min_score) or min_score > 1:
        raise invalid(
            Violation(
                "min_score",
                f"min_score is {min_score}; it must be a number up to 1, and 0 means {SEARCH_FLOOR}",
            )
        )
    return min_score if min_score > 0 else SEARCH_FLOOR


def effective_sources(caller: Caller, source_ids: Sequence[str]) -> frozenset[str] | None:
    """Give the sources that scope and ACL admit; None for all.

    A source outside the ACL is silently not there, like one that does not exist.
    """
    if not source_ids:
        return caller.sources
    wanted = frozenset(source_ids)
    return wanted if caller.sources is None else wanted & caller.sources
