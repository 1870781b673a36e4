"""Lines of a file are looked at one by one, and what is wrong is placed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.server.retrieval.corpus_file import read_lines
from knobctl.server.retrieval.model import Text


def read(*lines: str | bytes | dict[str, Any]) -> list[Any]:
    """Read lines: texts where they are good, else (line, column, rule, message) of each finding."""
    raw = [
        line
        if isinstance(line, bytes)
        else (line if isinstance(line, str) else json.dumps(line)).encode()
        for line in lines
    ]
    found: list[Any] = []
    for line in read_lines([one + b"\n" for one in raw], "f.jsonl"):
        found += [line.text] if line.text else []
        for one in line.findings:
            assert one.primary
            found.append((one.primary.line, one.primary.column, one.rule, one.message))
    return found


def test_both_spellings_are_read() -> None:
    """lowerCamelCase and snake_case, as on the wire; null is left out."""
    text = Text(
        document_id="d",
        chunk_id="c",
        source_id="s",
        text="t",
        created_at="2026-01-01T00:00:00Z",
        metadata={"k": "v"},
    )
    names = ("Id", "_id")
    for camel, at in zip(names, ("createdAt", "created_at"), strict=True):
        fields = {f"document{camel}": "d", f"chunk{camel}": "c", f"source{camel}": "s"}
        assert read(fields | {"text": "t", at: "2026-01-01T00:00:00Z", "metadata": {"k": "v"}}) == [
            text
        ]
    assert read({"documentId": "d", "text": "t", "chunkId": None}) == [
        Text(document_id="d", text="t")
    ]


def test_only_a_line_feed_ends_a_line() -> None:
    """Blank lines, a byte order mark and carriage returns are no fault; U+2028 is text."""
    found = read(
        b'\xef\xbb\xbf{"documentId": "a", "text": "one\xe2\x80\xa8two"}\r',
        b" \r",
        b"",
        {"documentId": "b", "text": "x"},
    )
    assert [text.document_id for text in found] == ["a", "b"]
    assert found[0].text == "one\u2028two"


@pytest.mark.parametrize(
    ("line", "column", "rule", "said"),
    [
        ('{"documentId": "a", text}', 21, "json-syntax", "no JSON: Expecting property name"),
        ("not json", 1, "json-syntax", "no JSON"),
        ('{"documentId": "a"} {}', 21, "json-syntax", "Extra data"),
        ("[" * 200_000, 1, "json-syntax", "nested too deeply"),
        ('{"documentId": ' + "9" * 5000 + "}", 1, "json-syntax", "number that is too long"),
        (b'{"text": "\xff"}', 11, "text-encoding", "no UTF-8"),
        ('["a", "b"]', 1, "wrong-type", "is no object"),
        ('"text"', 1, "wrong-type", "is no object"),
        ({"documentId": 7, "text": "x"}, 1, "wrong-type", "documentId must be text, in quotes"),
        ({"documentId": "a", "text": ["x"]}, 1, "wrong-type", "text must be text"),
        ({"documentId": "a", "text": "x", "metadata": "m"}, 1, "wrong-type", "metadata must be an object"),
        ({"documentId": "a", "text": "x", "metadata": {"page": 3}}, 1, "wrong-type", "metadata.page must be text"),
        ({"documentId": "a", "text": "x", "metadata": {"a": {"b": 1}}}, 1, "wrong-type", "metadata.a must be text"),
        ({"documentId": "a", "text": "x", "chunkID": "c"}, 1, "unknown-field", "chunkID is no field"),
        ({"documentId": "a", "text": "x", "\x1b[31m": 1}, 1, "unknown-field", "\\x1b[31m is no field"),
        ('{"documentId": "a", "text": "x", "text": "y"}', 1, "duplicate-key", "text comes twice"),
        ('{"documentId": "a", "text": "x", "document_id": "b"}', 1, "duplicate-key", "also as documentId"),
        ({"text": "x"}, 1, "invalid-field", "document_id is missing"),
        ({"documentId": "a"}, 1, "invalid-field", "text is missing"),
        ({"documentId": "a", "text": " "}, 1, "invalid-field", "text is blank"),
        ('{"documentId": "a", "text": "\\ud800"}', 1, "invalid-field", "no valid Unicode"),
        ({"documentId": "ok", "text": "again"}, 1, "invalid-field", "came with line 1 already"),
    ],
)  # fmt: skip
def test_a_bad_line_is_placed(line: Any, column: int, rule: str, said: str) -> None:
    """At its line, and its column where it has one; the good line before it is read."""
    good, (number, at, found, message) = read({"documentId": "ok", "text": "x"}, line)
    assert good.document_id == "ok"
    assert (number, at, found) == (2, column, rule)
    assert said in message


def test_parts_of_one_document_are_no_fault() -> None:
    """Each with a chunkId; a chunkId that comes twice is one, in another document too."""
    parts = [{"documentId": "d", "chunkId": name, "text": "x"} for name in "abc"]
    assert len(read(*parts)) == 3
    (*_, (_, _, _, said)) = read(*parts, {"documentId": "e", "chunkId": "b", "text": "x"})
    assert said == "chunk b came with line 2 already"


@given(st.lists(st.binary(max_size=60), max_size=5))
@settings(deadline=None, max_examples=200)
def test_any_bytes_are_texts_or_findings(lines: list[bytes]) -> None:
    """Never a crash, and every byte is counted."""
    raw = [line.replace(b"\n", b"") + b"\n" for line in lines]
    found = list(read_lines(raw, "f"))
    assert all(bool(line.text) != bool(line.findings) for line in found)
    if raw and raw[-1].strip():
        assert sum(line.size for line in found) == sum(map(len, raw))


@pytest.mark.parametrize(
    ("first", "said"),
    [
        (b"\x1f\x8b\x08\x00\x93", "gunzip -c"),
        (b"PK\x03\x04\xff", "unpack it first"),
        ('{"documentId": "a"}'.encode("utf-16"), "iconv -f UTF-16"),
        (b"[", "jq -c '.[]'"),
        (b' [{"documentId": "a"},', "jq -c '.[]'"),
        (b"{", "jq -c ."),
        (b"{\r", "jq -c ."),
    ],
)
def test_a_file_of_another_format_is_told_how_to_become_lines(first: bytes, said: str) -> None:
    """By its first line; where that is merely mistyped, nothing is guessed."""
    (line,) = read_lines([first + b"\n"], "f")
    assert said in (line.findings[0].hint or "")
    (line,) = read_lines([b'{"documentId": "a" "text": "t"}\n'], "f")
    assert line.findings[0].hint is None


def test_what_the_parser_says_is_whole() -> None:
    """No words that wait for others."""
    found = read('{"documentId": "a\tb"}', '{"documentId": "\\q"}')
    (half,) = read_lines([b'{"documentId": "a'], "f")
    assert [*(message for *_, message in found), half.findings[0].message] == [
        "the line is no JSON: Invalid control character",
        "the line is no JSON: Invalid \\escape",
        "the line is no JSON: Unterminated string",
    ]
