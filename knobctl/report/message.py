"""The words of a finding in their parts: what is, what it costs, what to do about it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from knobctl.finding import Finding

LONGEST_LABEL: Final = 6


def headline(message: str) -> str:
    """What is: the first line."""
    return message.partition("\n")[0]


def costs(message: str) -> list[tuple[str, str]]:
    """What it costs: the other lines, each with its label where it has one, as `lost: every paraphrase` has."""
    return [_labelled(line) for line in message.split("\n")[1:]]


def _labelled(line: str) -> tuple[str, str]:
    label, colon, words = line.partition(": ")
    return (
        (label, words) if colon and label.isalpha() and len(label) <= LONGEST_LABEL else ("", line)
    )


def advice(finding: Finding) -> list[tuple[str, str]]:
    """What to `write` instead, or to `do`."""
    lines = filter(None, (finding.hint or "").split("\n"))
    return [
        ("write", line.removeprefix("write ")) if line.startswith("write ") else ("do", line)
        for line in lines
    ]
