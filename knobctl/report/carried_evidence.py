"""The evidence that changes carry, as text, for a comment, for machines."""

from __future__ import annotations

from itertools import chain, repeat
from textwrap import wrap
from typing import TYPE_CHECKING, Any, Final

from knobctl.report.comment import Block, Section
from knobctl.report.folding import NAMED_IN_REVIEW, listed
from knobctl.report.markup import code, prose
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.checks.carried_evidence import CarriedEvidence

_WIDTH: Final = 80
"""Columns of a line."""


def evidence_lines(carried: Iterable[CarriedEvidence]) -> list[str]:
    """Of each file the sentence of its record, or why it says nothing of the change, broken at the width of findings."""
    return [line for words in evidence_words(carried) for line in _broken(visible(words))]


def evidence_words(carried: Iterable[CarriedEvidence]) -> list[str]:
    """The same unbroken, one text a file."""
    return [words for words in map(_words, carried) if words]


def _broken(words: str) -> Iterator[str]:
    heads = chain(("  evidence  ",), repeat(" " * 12))
    for head, line in zip(heads, wrap(words, _WIDTH - 12, break_on_hyphens=False), strict=False):
        yield f"{head}{line}"


def evidence_json(carried: Iterable[CarriedEvidence]) -> list[dict[str, Any]]:
    """For machines: every file, also one in which no record stands."""
    return [one.as_json() for one in carried]


def evidence_section(
    changing: Iterable[tuple[str, Sequence[CarriedEvidence]]], *, share: float
) -> Section:
    """The evidence of changes in a comment: what is the same for several tenants is said once.

    Args:
        changing: By tenant, what its change carries.
        share: The part of the comment that it may take in any case.
    """
    same: dict[tuple[str, str], list[str]] = {}
    for tenant, carried in changing:
        for one in carried:
            if words := _said(one):
                same.setdefault((one.path, words), []).append(tenant)
    return Section(
        noun="statement of evidence",
        total=len(same),
        share=share,
        before="**Evidence**\n\n",
        between="\n",
        blocks=_blocks(same),
    )


def _blocks(same: dict[tuple[str, str], list[str]]) -> Iterator[Block]:
    for (path, words), tenants in same.items():
        names = listed(tenants, most=NAMED_IN_REVIEW, spell=code)
        yield Block(f"- {names}: {prose(words)} ({code(path)})")


def _words(one: CarriedEvidence) -> str:
    words = _said(one)
    return f"{words} ({one.path})" if words else ""


def _said(one: CarriedEvidence) -> str:
    """The sentence, or why there is none; empty for a file in which no record stands: the rules tell of it."""
    if one.digest is None:
        return ""
    return one.statement or f"says nothing of this change: {one.why}"
