"""The proto3 JSON mapping for bodies that anybody may send.

Its parser follows lists to any depth, and 100,000 of them are the end of the stack and so of the process:
how deeply a body nests is looked at before it is parsed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypeVar

from connectrpc.code import Code
from connectrpc.codec import Codec, proto_binary_codec, proto_json_codec
from connectrpc.errors import ConnectError

if TYPE_CHECKING:
    from protobuf import Message

    M = TypeVar("M", bound=Message)

DEEPEST: Final = 100
"""Levels of lists and objects together; as many as the binary form may have. A request of ours has 5."""
# Linear whatever the body is: a text without an end reaches to the end of the body.
_TEXT: Final = re.compile(rb'"(?:[^"\\]++|\\.)*+(?:"|\\?\Z)', re.DOTALL)
_ALL_BUT_BRACKETS: Final = bytes(set(range(256)) - set(b"[]{}"))
_ALIKE: Final = bytes.maketrans(b"{}", b"[]")


class BoundedJsonCodec:
    """The JSON codec of services whose requests need no closer look."""

    def __init__(self) -> None:
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
            ConnectError: `invalid_argument` for a body that nests too deeply.
            ValueError: For what else is no JSON of the message.
        """
        if nests_too_deeply(data):
            raise ConnectError(
                Code.INVALID_ARGUMENT,
                f"the body is no JSON of this request: it nests more than {DEEPEST} levels deep",
            )
        message: M = self._mapping.decode(data, message_class)
        return message


def bounded_codecs() -> list[Codec]:
    """The codecs of such services."""
    return [proto_binary_codec(), BoundedJsonCodec()]


def nests_too_deeply(body: bytes | bytearray) -> bool:
    """Whether more lists and objects stand in each other than may; all of the time is spent in C.

    Every round takes the innermost level away. What is left of brackets that do not match is no JSON,
    and left to the parser where it is short enough.
    """
    left = _TEXT.sub(b"", body).translate(_ALIKE, _ALL_BUT_BRACKETS)
    for _ in range(DEEPEST):
        inner = left.replace(b"[]", b"")
        if len(inner) == len(left):
            return len(left) > DEEPEST
        left = inner
    return bool(left)
