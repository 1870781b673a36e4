"""Finds the object of an answer in bytes: in any encoding, inside other objects, between other lines."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from knobctl.diagnosis.fields import folded
from knobctl.errors import InputError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

MAX_BYTES: Final = 64 * 1024 * 1024
ASSEMBLE: Final = frozenset(
    map(folded, ("quality", "prompt", "chunks", "retrievalOutcome", "fallbackUsed"))
)
_SURE: Final = ASSEMBLE | set(
    map(folded, ("results", "effectiveMinScore", "resultsBelowThreshold"))
)
"""Fields of answers and of nothing else."""
_REQUEST: Final = frozenset(map(folded, ("query", "queries", "task", "topK", "scope")))
_OURS: Final = frozenset(map(folded, ("command", "exit_code")))
DEEPEST_WRAPPING: Final = 3
_VERBOSE: Final = "Response contents:"
"""What `grpcurl -v` writes before the answer."""
_STATUS_LINE: Final = "HTTP/"
_HEADERS_END: Final = re.compile(r"\r?\n\r?\n")
_MUST: Final = "it must be the JSON of one Search or AssembleContext answer"


def object_in(content: bytes, source: str) -> Mapping[str, Any]:
    """Read the JSON object that a file or a pipe gave.

    Raises:
        InputError: If there is none, or more than one.
    """
    return _the_object(_parsed(content, source), source)


def unwrapped(value: Mapping[str, Any], source: str) -> Mapping[str, Any]:
    """Find the answer in an object: itself, or the only one inside it; else the error that came instead.

    Raises:
        InputError: If there is neither; says what the object is instead.
    """
    found = _found(value, is_answer) or _found(value, _is_error)
    if found is None and value:
        raise InputError(f"{visible(source)} {_instead(value)}", hint=_MUST)
    return found or value


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
    """The answer in what `grpcurl -v` prints, and under the headers that `curl -i` prints."""
    while text.startswith(_STATUS_LINE):
        text = _HEADERS_END.split(text, maxsplit=1)[1] if _HEADERS_END.search(text) else ""
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


def is_answer(value: Mapping[str, Any]) -> bool:
    """Whether an object itself is an answer."""
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
