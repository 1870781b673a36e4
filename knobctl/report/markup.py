"""Markdown out of outside text: it reads as written, and makes no markup, link, mention or reference.

A code host turns `@name`, `#12`, commit ids and addresses into links and messages even where they
are escaped; only code is left alone. So a word that could become anything stands in a code span.
"""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

from knobctl.text import printable, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

CUT: Final = "…"
_QUOTED: Final = re.compile("`([^`]+)`")
_AROUND: Final = re.compile(r"""^([("']*)(.*?)([.,;:!?)"']*)$""", re.DOTALL)
_MARKUP: Final = re.compile(
    r"""[_@\#<>|`*\[\]{}~&\\$^]        # Markdown, HTML, mentions, references
    | ://|^www\.|^(?:mailto|xmpp):    # addresses
    | ^/                              # a quick action
    | ^GH-\d | ![\d\[]                # references, images
    | :[\w+-]+:                       # emoji
    | (?<![0-9a-z])[0-9a-f]{7,40}(?![0-9a-z])   # a commit""",
    re.VERBOSE | re.IGNORECASE,
)
_MARKER: Final = re.compile(r"^(\d*)([.)+=-])(?=[ =-]|$)")
"""What begins a list, a heading's underline or a rule at the beginning of a line."""
_TICKS: Final = re.compile("`+")
_SIGNS: Final = {"->": "-&gt;", "<": "&lt;", ">": "&gt;", "<=": "&lt;=", ">=": "&gt;=", "!=": "!="}


def shortened(text: str, most: int) -> str:
    """A text of so many characters at most, its end cut off visibly."""
    return text if len(text) <= most else text[: most - 1] + CUT


def code(text: str, *, most: int = 200) -> str:
    """A text as a code span: nothing in it is read as anything."""
    plain = shortened(printable(text), most)
    if not plain.strip():
        return f"<code>{plain.replace(' ', '&nbsp;')}</code>"
    ticks = "`" * (max((len(run) for run in _TICKS.findall(plain)), default=0) + 1)
    pad = " " if plain[0] in "` " or plain[-1] in "` " else ""
    return f"{ticks}{pad}{plain}{pad}{ticks}"


def html_code(text: str, *, most: int = 200) -> str:
    """A text as code in a summary, which is HTML."""
    return f"<code>{escape(shortened(printable(text), most))}</code>"


def cell(text: str, *, most: int = 200) -> str:
    """A text as code in a cell of a table: a bar would end the cell, so it is shown by its escape."""
    return code(text.replace("|", "\\x7c"), most=most)


def prose(text: str, *, most: int = 1000) -> str:
    """A sentence of outside text in one line, words that could become markup as code."""
    parts = _QUOTED.split(shortened(text, most))
    told = ""
    for at, part in enumerate(parts):
        more = code(part) if at % 2 else _words(visible(part.replace("\n", " ")))
        touch = told.endswith("`") and more.startswith("`")  # runs of backticks would become one
        told += f" {more}" if touch else more
    return _MARKER.sub(r"\1\\\2", told.strip())


def _words(text: str) -> str:
    return "".join(
        word if not word or word.isspace() else _word(word) for word in re.split(r"( +)", text)
    )


def _word(word: str) -> str:
    if word in _SIGNS:
        return _SIGNS[word]
    if not _MARKUP.search(word):
        return word
    around = _AROUND.match(word)
    before, core, after = around.groups() if around else ("", word, "")
    if "(" in core and after.startswith(")"):
        core, after = core + ")", after[1:]
    if not core or _MARKUP.search(after) or (word[:1] == ":" and word != core):
        return code(word)
    return f"{before}{code(core)}{after}"


def fence(lines: Iterable[str]) -> str:
    """Lines as a block of code that nothing in them can end."""
    text = "\n".join(map(printable, lines))
    ticks = "`" * max(3, 1 + max((len(run) for run in _TICKS.findall(text)), default=0))
    return f"{ticks}text\n{text}\n{ticks}"


def collapsed(summary: str, body: str, *, is_open: bool = False) -> str:
    """A part that opens on a click. The summary is HTML, the body Markdown."""
    return f"<details{' open' if is_open else ''}>\n<summary>{summary}</summary>\n\n{body}\n\n</details>"


def row(cells: Sequence[str]) -> str:
    """A row of a table; each cell is Markdown without bars."""
    return f"| {' | '.join(cells)} |"


def table_head(cells: Sequence[str]) -> str:
    """The head of a table."""
    return f"{row(cells)}\n{row(['---'] * len(cells))}"
