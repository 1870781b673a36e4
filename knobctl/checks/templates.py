"""Texts with expressions in braces: messages, hints, places."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.checks.expressions import (
    Expression,
    ExpressionError,
    compile_expression,
    refuse_length,
)
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST: Final = 2000
"""How many characters of a message are shown: an expression can make millions."""


@dataclass(frozen=True)
class Template:
    """A text with expressions in braces."""

    parts: tuple[str | Expression, ...]
    offsets: tuple[int, ...] = ()
    """Where each part begins in the text."""

    def expressions(self) -> Iterator[tuple[int, Expression]]:
        """The expressions, with their offsets in the text."""
        for offset, part in zip(self.offsets, self.parts, strict=True):
            if isinstance(part, Expression):
                yield offset, part

    def text(self, shown: Callable[[Expression], str]) -> str:
        """Fill the braces.

        Args:
            shown: Gives what stands for an expression; what it raises, this raises.
        """
        text = "".join(part if isinstance(part, str) else shown(part) for part in self.parts)
        return text if len(text) <= LONGEST else f"{text[:LONGEST]}... ({len(text):,} characters)"


def shown_value(value: object) -> str:
    """Write what an expression gave, for a message."""
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown_value, value))
    if isinstance(value, dict):  # whose order in CEL is another in every run
        return ", ".join(f"{key}: {shown_value(value[key])}" for key in sorted(value, key=str))
    return spelled(value)


def compile_template(text: str) -> Template:
    """Compile a text with expressions in braces; `{{` and `}}` are braces.

    Raises:
        ExpressionError: With the offset of the first error in the text.
    """
    refuse_length(text)
    parts: list[str | Expression] = []
    offsets: list[int] = []
    for start, part, is_expression in _pieces(text):
        offsets.append(start)
        if not is_expression:
            parts.append(part)
            continue
        try:
            parts.append(compile_expression(part))
        except ExpressionError as error:
            raise ExpressionError(error.message, start + error.offset) from error
    return Template(tuple(parts), tuple(offsets))


_PIECE: Final = re.compile(r"\{\{|\}\}|[{}]|[^{}]+")


def _pieces(text: str) -> Iterator[tuple[int, str, bool]]:
    """Divide a template into plain text and expressions, each with its offset."""
    at = 0
    while at < len(text):
        found = _PIECE.match(text, at)
        assert found is not None
        piece = found[0]
        if piece == "{":
            end = _closing(text, at + 1)
            yield at + 1, text[at + 1 : end], True
            at = end + 1
            continue
        if piece == "}":
            raise ExpressionError("a } without its {; write }} for a brace", at)
        yield at, piece[0] if piece in {"{{", "}}"} else piece, False
        at = found.end()


_TOKEN: Final = re.compile(r""""(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|.""", re.DOTALL)


def _closing(text: str, start: int) -> int:
    """The brace that closes an expression; quotes and maps inside it are passed over."""
    depth = 0
    for token in _TOKEN.finditer(text, start):
        if token[0] == "{":
            depth += 1
        elif token[0] == "}":
            if depth == 0:
                return token.start()
            depth -= 1
    raise ExpressionError("a { without its }; write {{ for a brace", start - 1)
