"""Reads a file of texts: JSON objects, one a line, each looked at as a request's fields are."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from knobctl.finding import Finding, Location, Severity
from knobctl.server.retrieval.model import Text
from knobctl.server.retrieval.texts import TextsSeen, violations_of
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

LONGEST_LINE: Final = 100 << 20
"""In bytes; the largest text, every character of it escaped, fits."""
_FIELDS: Final = ("document_id", "chunk_id", "source_id", "text", "created_at", "metadata")
_SPELLINGS: Final = {
    spelling: field
    for field in _FIELDS
    for spelling in (
        field,
        field.split("_")[0] + "".join(part.title() for part in field.split("_")[1:]),
    )
}
_BLANK: Final = b" \t\r\n"
_DANGLING: Final = re.compile(r"( starting)? at$|: *$")
"""How the parser's words end where a place or a text would follow."""
_OTHER_FORMS: Final = (
    (b"\x1f\x8b", "the file is packed by gzip: gunzip -c FILE | knobctl engine load - ..."),
    (b"PK\x03\x04", "the file is a ZIP archive: unpack it first"),
    (b"\xff\xfe", "the file is UTF-16: iconv -f UTF-16 -t UTF-8 FILE | knobctl engine load - ..."),
    (b"\xfe\xff", "the file is UTF-16: iconv -f UTF-16 -t UTF-8 FILE | knobctl engine load - ..."),
    (b"[", "an array over several lines: jq -c '.[]' FILE | knobctl engine load - ..."),
    (b"{\n", "an object stands on one line: jq -c . FILE | knobctl engine load - ..."),
    (b"{\r\n", "an object stands on one line: jq -c . FILE | knobctl engine load - ..."),
)


@dataclass(frozen=True, slots=True)
class Line:
    """One line that is not blank."""

    number: int
    size: int
    """In bytes, and those of blank lines before it."""
    text: Text | None
    """None where findings say why."""
    findings: tuple[Finding, ...] = ()


def read_lines(raw: Iterable[bytes], file: str) -> Iterator[Line]:
    """Read the lines of a file, blank ones left out.

    Args:
        raw: The lines, each up to its line feed; U+2028 and the like end none.
        file: What to call it.
    """
    seen = TextsSeen("line {}")
    size = 0
    for number, line in enumerate(raw, 1):
        size += len(line)
        if line.strip(_BLANK):
            yield _read(line, number, size, file, seen)
            size = 0


def _read(line: bytes, number: int, size: int, file: str, seen: TextsSeen) -> Line:
    place = Location(file, number, 1, number, 2)
    fields = _parsed(line, number, place)
    if isinstance(fields, Finding):
        return Line(number, size, None, (fields,))
    values, findings = _values(fields, place)
    if findings:
        return Line(number, size, None, tuple(findings))
    text = Text(**values)
    faults = [*violations_of(text), *seen.violations_beside(text, number)]
    if not faults:
        return Line(number, size, text)
    found = (_finding(place, "invalid-field", one.description, field=one.field) for one in faults)
    return Line(number, size, None, tuple(found))


def _parsed(line: bytes, number: int, place: Location) -> _Pairs | Finding:
    """The object of a line, or why it is none."""
    try:
        fields = json.loads(
            line.decode("utf-8-sig" if number == 1 else "utf-8"), object_pairs_hook=_Pairs
        )
    except UnicodeDecodeError as error:
        place = _at(place, len(line[: error.start].decode("utf-8", "replace")) + 1)
        hint = _hint(line) if number == 1 else None
        return _finding(place, "text-encoding", "the line is no UTF-8", hint=hint)
    except json.JSONDecodeError as error:
        why = _DANGLING.sub("", error.msg)
        hint = _hint(line) if number == 1 else None
        place = _at(place, error.colno)
        return _finding(place, "json-syntax", f"the line is no JSON: {why}", hint=hint)
    except RecursionError:
        return _finding(place, "json-syntax", "the line is nested too deeply")
    except ValueError:  # a whole number of thousands of digits
        return _finding(place, "json-syntax", "the line holds a number that is too long")
    if isinstance(fields, _Pairs):
        return fields
    return _finding(place, "wrong-type", 'the line is no object: {"documentId": ..., "text": ...}')


def _hint(first: bytes) -> str | None:
    """What a file that is no JSON Lines is, by how it begins, and what makes some of it."""
    begins = (
        (start, hint) for start, hint in _OTHER_FORMS if first.lstrip(_BLANK).startswith(start)
    )
    return next(begins, (b"", None))[1]


def _at(place: Location, column: int) -> Location:
    return place._replace(column=column, end_column=column + 1)


class _Pairs(list[tuple[str, Any]]):
    """An object as it is written, so that a field that comes twice is seen."""


def _values(fields: _Pairs, place: Location) -> tuple[dict[str, Any], list[Finding]]:
    """The fields by name, and what is wrong with their names and types."""
    values: dict[str, Any] = {"document_id": "", "text": ""}
    findings: list[Finding] = []
    written: dict[str, str] = {}
    for name, value in fields:
        field = _SPELLINGS.get(name)
        if field is None:
            close = nearest(name, _SPELLINGS)
            hint = f"did you mean {close}?" if close else "what is yours belongs into metadata"
            findings.append(
                _finding(place, "unknown-field", f"{_named(name)} is no field of a text", hint=hint)
            )
        elif field in written:
            also = "" if written[field] == name else f", also as {written[field]}"
            findings.append(
                _finding(place, "duplicate-key", f"{name} comes twice{also}", field=field)
            )
        else:
            written[field] = name
            if value is not None:
                fault, values[field] = _accepted(field, name, value)
                findings += [_finding(place, "wrong-type", fault, field=field)] if fault else []
    return values, findings


def _accepted(field: str, name: str, value: object) -> tuple[str, object]:
    """What is wrong with a value, and the value."""
    if field != "metadata":
        return "" if isinstance(value, str) else f"{name} must be text, in quotes", value
    if not isinstance(value, _Pairs):
        return 'metadata must be an object of texts, such as {"page": "3"}', {}
    wrong = next((key for key, one in value if not isinstance(one, str)), None)
    if wrong is not None:
        return f"metadata.{_named(wrong)} must be text, in quotes", {}
    return "", dict(value)


def _named(name: str) -> str:
    return visible(name[:60]) or '""'


def _finding(
    place: Location, rule: str, message: str, *, hint: str | None = None, field: str | None = None
) -> Finding:
    return Finding(
        rule=rule,
        severity=Severity.ERROR,
        message=message,
        hint=hint,
        field_path=field,
        primary=place,
    )
