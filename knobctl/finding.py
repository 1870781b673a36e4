"""Findings: what every stage that looks at user data answers with."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple


class Severity(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @property
    def rank(self) -> int:
        """0 for the gravest; sorts findings worst first."""
        return ("error", "warning", "info").index(self.value)


class Location(NamedTuple):
    """A place in a text. Lines and columns count from 1, columns in characters; the end is exclusive."""

    file: str
    line: int
    column: int
    end_line: int
    end_column: int


class Related(NamedTuple):
    """Another place that helps to understand a finding."""

    message: str
    location: Location


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something wrong, or worth knowing, in what the user wrote.

    `message` is plain text of one or more lines: the first says what is; further lines have the
    form `lost: ...`, `kept: ...` and say what it costs a person. `hint` says what to write instead.
    """

    rule: str
    severity: Severity
    message: str
    hint: str | None = None
    tenant: str | None = None
    field_path: str | None = None
    value: object = None
    primary: Location | None = None
    related: tuple[Related, ...] = field(default=())
    standing: bool = False
    waived_by: str | None = None

    @property
    def counts(self) -> bool:
        """Whether the finding can fail a run: neither waived nor standing."""
        return self.waived_by is None and not self.standing

    def as_json(self) -> dict[str, Any]:
        """The finding in the shape of the contract, section 3."""
        place = self.primary
        return {
            "rule": self.rule,
            "severity": self.severity.value,
            "tenant": self.tenant,
            "field_path": self.field_path,
            "value": json_value(self.value),
            "message": self.message,
            "hint": self.hint,
            "file": place.file if place else None,
            "line": place.line if place else None,
            "column": place.column if place else None,
            "end_line": place.end_line if place else None,
            "end_column": place.end_column if place else None,
            "related": [
                {
                    "message": other.message,
                    "file": other.location.file,
                    "line": other.location.line,
                    "column": other.location.column,
                }
                for other in self.related
            ],
            "standing": self.standing,
            "waived_by": self.waived_by,
        }


def json_value(value: object) -> object:
    """Make a document's value fit for JSON: NaN and the infinities become their YAML names."""
    if isinstance(value, float) and (value != value or value in {float("inf"), float("-inf")}):  # noqa: PLR0124  NaN is the one value unequal to itself
        return ".nan" if value != value else (".inf" if value > 0 else "-.inf")  # noqa: PLR0124  as above
    return value
