"""Questions in what a person typed to an agent: sentences that ask, wrappers and code aside. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from knobctl.evidence.harvest.asked import Names

_SLASH_COMMAND: Final = re.compile(r"/[A-Za-z][\w:-]*(?:\s|$)")
_TAG: Final = re.compile(r"<([A-Za-z][\w:-]{0,60})(?:\s[^<>]{0,500})?>")
_HTML: Final = frozenset(
    [
        "a",
        "abbr",
        "article",
        "aside",
        "b",
        "blockquote",
        "body",
        "br",
        "button",
        "caption",
        "cite",
        "code",
        "dd",
        "del",
        "details",
        "div",
        "dl",
        "dt",
        "em",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "head",
        "header",
        "hr",
        "html",
        "i",
        "iframe",
        "img",
        "input",
        "ins",
        "kbd",
        "label",
        "li",
        "link",
        "main",
        "mark",
        "meta",
        "nav",
        "ol",
        "option",
        "p",
        "path",
        "pre",
        "q",
        "s",
        "samp",
        "script",
        "section",
        "select",
        "small",
        "span",
        "strong",
        "style",
        "sub",
        "summary",
        "sup",
        "svg",
        "table",
        "tbody",
        "td",
        "textarea",
        "th",
        "thead",
        "title",
        "tr",
        "u",
        "ul",
        "var",
        "video",
    ]
)
"""Markup that a person types and asks about; any other element is what a program wrapped around its own."""
_FENCE: Final = "```"
_MARKS: Final = "?\uff1f\u061f"
"""What ends a question: also full-width, and Arabic."""
_FULL_STOPS: Final = "\u3002\uff1f\uff01\u061f"
_CLOSING: Final = "\"'\u201d\u2019)\\]*_\u00bb\u300d\u300f`"
"""What may stand behind the end of a sentence, inside brackets of a pattern."""
_MARKER: Final = re.compile(r"\s*(?:(?:[-*+•>]|\d{1,3}[.)])\s+|#{1,6}\s+)+")
_END: Final = re.compile(
    rf"(?<=[.?!])[{_CLOSING}]{{0,3}}\s+|(?<=[{_FULL_STOPS}])[{_CLOSING}]{{0,3}}\s*"
)
_ABBREVIATED: Final = re.compile(
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|no|fig|resp|incl)\.$", re.IGNORECASE
)
_ASKS: Final = re.compile(rf"[{_MARKS}][{_CLOSING}]{{0,4}}$")
_UNSPACED: Final = re.compile(
    "[\u0e00-\u0e7f\u0e80-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
)
"""Scripts that put no spaces between words."""
_LINE_SEPARATORS: Final = str.maketrans(
    {"\u2028": " ", "\u2029": " ", "\x85": " ", "\x0b": " ", "\x0c": " "}
)


def may_ask(text: str) -> bool:
    """Whether there is a question mark in it, of whatever script."""
    return any(mark in text for mark in _MARKS)


def questions_typed(text: str, names: Names, left_out: Counter[str]) -> Iterator[str]:
    """Find the sentences of a prompt that ask something.

    Args:
        text: What was typed, secrets taken out.
        names: The bounds.
        left_out: Told why a sentence that asks was left out.
    """
    text = without_fences(without_wrappers(text.translate(_LINE_SEPARATORS))).strip()
    if not text or _SLASH_COMMAND.match(text):
        return
    for sentence in _sentences(text):
        if not _ASKS.search(sentence):
            continue
        if len(sentence) < names.min_question_chars or not _has_words(sentence, names.min_words):
            left_out["question too short"] += 1
        elif len(sentence) > names.max_question_chars:
            left_out["question too long"] += 1
        else:
            yield sentence


def without_wrappers(text: str) -> str:
    """Take out the elements that a program wrapped around what it added to a prompt."""
    kept: list[str] = []
    at = 0
    endless: set[str] = set()
    for tag in _TAG.finditer(text):
        name = tag[1]
        if tag.start() < at or name in endless or name.lower() in _HTML:
            continue
        end = text.find(f"</{name}>", tag.end())
        if end < 0:
            endless.add(name)  # looked for once: a thousand of them are not looked for each
            continue
        kept.append(text[at : tag.start()])
        at = end + len(name) + 3
    return "\n".join([*kept, text[at:]])


def without_fences(text: str) -> str:
    """Take out what stands between triple backticks; one without its end goes to the end."""
    return "\n".join(text.split(_FENCE)[::2])


def _sentences(text: str) -> Iterator[str]:
    for line in _joined_lines(text):
        start = 0
        for end in _END.finditer(line):
            if _ABBREVIATED.search(line[max(start, end.start() - 12) : end.start()]):
                continue
            yield line[start : end.end()].strip()
            start = end.end()
        yield line[start:].strip()


def _joined_lines(text: str) -> Iterator[str]:
    """The lines of a text, without list marks; a line that goes on in the next one is joined to it."""
    open_line = ""
    for raw in text.split("\n"):
        marker = _MARKER.match(raw)
        line = raw[marker.end() :].strip() if marker else raw.strip()
        if open_line and line and not marker and line[0].islower():
            open_line = f"{open_line} {line}"
        else:
            if open_line:
                yield open_line
            open_line = line
        if open_line and open_line[-1] in f".?!:{_FULL_STOPS}":
            yield open_line
            open_line = ""
    if open_line:
        yield open_line


def _has_words(sentence: str, least: int) -> bool:
    return len(sentence.split()) >= least or len(_UNSPACED.findall(sentence)) >= 2 * least
