"""The JSON of the wire, with every fault of a request named before the mapping could hide it.

The proto3 JSON mapping drops an unknown name of an enum, rounds `1e-400` to 0 and lets the last of
two spellings win. In a full replace each of these would silently reset a knob, and a floor of 0 means
another floor, so they are refused.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from protobuf import DescFieldValueMessage, DescFieldValueScalar, ScalarType

from knobctl.knobs import KnobType
from knobctl.server.refusal import Violation, invalid
from knobctl.server.requests import value_violation
from knobctl.server.wire.bad_request_pb import BadRequest
from knobctl.server.wire.bounded_json import BoundedJsonCodec
from knobctl.server.wire.context_pb import (
    AssembleContextRequest,
    EvaluateRequest,
    SearchRequest,
)
from knobctl.server.wire.errors import connect_error
from knobctl.server.wire.knobs_service_pb import UpdateContextEngineKnobsConfigRequest
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from protobuf import DescField, Message

    from knobctl.knobs import Catalogue, Knob

    M = TypeVar("M", bound=Message)

_NUMBER: Final = re.compile(r"-?(?:[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_FIELD: Final = re.compile(r"for field [\w.]*?(\w+)$")
_TYPE: Final = re.compile(r"<class '(\w+)'>")
_IN_JSON: Final = {
    "int": "a number",
    "float": "a number",
    "str": "a string",
    "bool": "true or false",
    "list": "a list",
    "dict": "an object",
    "NoneType": "null",
}
_FURTHER: Final = "further_configs"
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON, its repeated keys kept."""


class _Literal(str):
    """A number with a fraction or an exponent, as it was written."""

    __slots__ = ()


LOOKED_AT: Final = frozenset(
    [
        UpdateContextEngineKnobsConfigRequest,
        SearchRequest,
        AssembleContextRequest,
        EvaluateRequest,
    ]
)
"""The requests whose JSON is read twice. Chunks are not: they are large, and hold no number."""


class StrictJsonCodec(BoundedJsonCodec):
    """The JSON codec of the services."""

    def __init__(self, catalogue: Catalogue) -> None:
        super().__init__()
        self._catalogue = catalogue

    def decode(self, data: bytes | bytearray, message_class: type[M]) -> M:
        """Read a message.

        Raises:
            ConnectError: `invalid_argument`, with a violation for each field at fault.
        """
        if message_class in LOOKED_AT:
            violations = tuple(request_violations(self._catalogue, bytes(data), message_class))
            if violations:
                raise connect_error(invalid(*violations))
        try:
            message: M = super().decode(data, message_class)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise _no_request(str(error)[:200]) from error
        return message


def _no_request(reason: str) -> ConnectError:
    """Say why a body is no request, and which field it is that is at fault if the mapping names one."""
    said = _TYPE.sub(lambda named: _IN_JSON.get(named[1], named[1]), reason)
    message = f"the body is no JSON of this request: {visible(said)}"
    named = _FIELD.search(reason)
    violations = [BadRequest.FieldViolation(field=named[1], description=message)] if named else []
    details = [BadRequest(field_violations=violations)] if violations else []
    return ConnectError(Code.INVALID_ARGUMENT, message, details)


def request_violations(
    catalogue: Catalogue, body: bytes, message_class: type[Message]
) -> Iterator[Violation]:
    """Look at a request's JSON; what is no such JSON is left to the mapping to refuse."""
    try:
        request = json.loads(body, object_pairs_hook=_Pairs, parse_float=_Literal)
    except (ValueError, RecursionError):
        return
    if not isinstance(request, _Pairs):
        return
    fields = message_class.desc().fields
    yield from _repeated(request, fields)
    names = {field.json_name: field for field in fields} | {field.name: field for field in fields}
    for key, written in request:
        if key in names:
            yield from _field_violations(catalogue, names[key], written)


def _field_violations(
    catalogue: Catalogue, field: DescField, written: object
) -> Iterator[Violation]:
    if field.name == _FURTHER and type(written) is list:
        for number, one in enumerate(written):
            if isinstance(one, _Pairs):
                for fault in _knob_violations(catalogue, one):
                    yield replace(fault, field=f"{_FURTHER}[{number}].{fault.field}")
    elif isinstance(written, _Pairs):
        if field.name == "config":
            yield from _knob_violations(catalogue, written)
        elif isinstance(field.value, DescFieldValueMessage):
            yield from _repeated(written, field.value.message.fields, within=f"{field.name}.")
    elif _is_double(field) and (violation := _too_small(field.name, written)):
        yield violation


def _repeated(
    written: _Pairs, fields: Iterable[DescField], *, within: str = ""
) -> Iterator[Violation]:
    """The fields that are given more than once, in whatever spelling."""
    names = {field.json_name: field.name for field in fields}
    known = names | {name: name for name in names.values()}
    times = Counter(known[key] for key, _ in written if key in known)
    for name, count in times.items():
        if count > 1:
            yield Violation(f"{within}{name}", f"{within}{name} is given twice")


def _is_double(field: DescField) -> bool:
    return isinstance(field.value, DescFieldValueScalar) and field.value.scalar is ScalarType.DOUBLE


def _too_small(name: str, written: object) -> Violation | None:
    """Whether a number is so small that a double has no room for it, and 0 would be read."""
    if not isinstance(written, str) or not _NUMBER.fullmatch(written):
        return None
    if float(written) or not re.match(r"[^eE]*[1-9]", written):
        return None
    said = visible(written[:80])
    return Violation(name, f"{name} is {said}, too small for a double: it would become 0")


def _knob_violations(catalogue: Catalogue, config: _Pairs) -> Iterator[Violation]:
    seen: set[str] = set()
    for key, written in config:
        knob = catalogue.by_any_name.get(key)
        if knob is None:
            continue
        if knob.name in seen:
            yield Violation(knob.name, f"{knob.name} is given twice")
        seen.add(knob.name)
        yield from _value_violations(knob, written)


def _value_violations(knob: Knob, written: object) -> Iterator[Violation]:
    if written is None:
        return
    value = _mode(knob, written) if knob.type is KnobType.MODE else _number(written)
    if violation := _too_small(knob.name, written) or value_violation(knob, value):
        yield violation


def _number(written: object) -> object:
    """The number that a JSON value is to the mapping; the value itself where it is none."""
    if not isinstance(written, str):
        return written
    if _NUMBER.fullmatch(written):
        return float(written)
    return _NOT_FINITE.get(written, f'"{written}"')


def _mode(knob: Knob, written: object) -> object:
    """The name that a JSON value is to the mapping: a name or its number."""
    if (
        isinstance(written, int)
        and not isinstance(written, bool)
        and 0 <= written < len(knob.choices)
    ):
        return knob.choices[written]
    return written
