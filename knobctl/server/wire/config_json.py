"""The JSON of the wire, with every fault of a config named before the mapping could hide it.

The proto3 JSON mapping drops an unknown name of an enum, rounds `1e-400` to 0 and lets the last of
two spellings win. In a full replace each of these would silently reset a knob, so they are refused.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final, TypeVar

from connectrpc.code import Code
from connectrpc.codec import proto_json_codec
from connectrpc.errors import ConnectError

from knobctl.knobs import KnobType
from knobctl.server.refusal import Violation, invalid
from knobctl.server.requests import value_violation
from knobctl.server.wire.errors import connect_error
from knobctl.server.wire.knobs_service_pb import UpdateContextEngineKnobsConfigRequest
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from protobuf import Message

    from knobctl.knobs import Catalogue, Knob

    M = TypeVar("M", bound=Message)

_NUMBER: Final = re.compile(r"-?(?:[0-9]+)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_NOT_FINITE: Final = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


class _Pairs(list[tuple[str, Any]]):
    """An object of JSON, its repeated keys kept."""


class _Literal(str):
    """A number with a fraction or an exponent, as it was written."""

    __slots__ = ()


class ConfigJsonCodec:
    """The JSON codec of the knobs service."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._mapping = proto_json_codec()

    def name(self) -> str:
        """The name that the content type carries: `application/json`."""
        return self._mapping.name()

    def encode(self, message: Message) -> bytes:
        """Write a message."""
        return self._mapping.encode(message)

    def decode(self, data: bytes | bytearray, message_class: type[M]) -> M:
        """Read a message.

        Raises:
            ConnectError: `invalid_argument`, with a violation for each knob at fault.
        """
        if message_class is UpdateContextEngineKnobsConfigRequest:
            violations = tuple(config_violations(self._catalogue, bytes(data)))
            if violations:
                raise connect_error(invalid(*violations))
        try:
            message: M = self._mapping.decode(data, message_class)
        except (ValueError, TypeError, OverflowError, RecursionError) as error:
            raise ConnectError(
                Code.INVALID_ARGUMENT,
                f"the body is no JSON of this request: {visible(str(error)[:200])}",
            ) from error
        return message


def config_violations(catalogue: Catalogue, body: bytes) -> Iterator[Violation]:
    """Look at the `config` of an Update's JSON; what is no such JSON is left to the mapping to refuse."""
    try:
        request = json.loads(body, object_pairs_hook=_Pairs, parse_float=_Literal)
    except (ValueError, RecursionError):
        return
    if not isinstance(request, _Pairs):
        return
    configs = [value for key, value in request if key == "config"]
    if len(configs) > 1:
        yield Violation("config", "config is given twice")
    if configs and isinstance(configs[-1], _Pairs):
        yield from _knob_violations(catalogue, configs[-1])


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
    if value == 0 and isinstance(written, str) and re.match(r"[^eE]*[1-9]", written):
        yield Violation(
            knob.name,
            f"{knob.name} is {visible(written[:80])}, too small for a double: it would become 0",
        )
    elif violation := value_violation(knob, value):
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
