"""Renders answers in tests, and makes findings of any text."""

from __future__ import annotations

import string
from typing import TYPE_CHECKING

from hypothesis import strategies as st

from knobctl.checks.report import Report, ordered
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_text
from knobctl.finding import Finding, Location, Related, Severity
from knobctl.report import formats
from knobctl.report.formats import FindingsAnswer

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = "tenants/t.yaml"
TEXT = "tenant: t\nknobs:\n  rrf_k: 9\n"
WORDS = st.text(max_size=80) | st.sampled_from(
    (
        "::error::x\r\n::set-output name=a::b",
        "\u2028::error::y\x85::notice::z",
        "]]></failure><x>\x00\x0b\ufffe\ud800",
        "</details> <!-- knobctl check --> ``` `` ` | a | b |\n| - | - |",
        "@octocat #12 GH-12 owner/repo#3 https://a.example www.a.example a@b.example !5 /close",
        "%0A%0D% \\ [a](0) [b](https://x.example) {0} **x** _y_ # z",
    )
)


def rendered(name: str, answer: FindingsAnswer) -> str:
    """An answer in a format, as one text."""
    found = formats.render(name, answer)
    return found if isinstance(found, str) else "".join(found)


def answer_of(findings: Sequence[Finding], **options: object) -> FindingsAnswer:
    """An answer with some findings, of one file that holds one tenant."""
    text = read_text(TEXT, FILE)
    told = Report(
        command="check",
        pressing=ordered(findings),
        files=1,
        tenants=1,
        policies=20,
        texts={FILE: text},
        names={FILE: FILE},
        judged=sort_documents(text, named=False).documents,
    )
    return FindingsAnswer(report=told, code=told.exit_code(), **options)  # type: ignore[arg-type]  # named by the caller


@st.composite
def findings(draw: st.DrawFn) -> Finding:
    """A finding of hostile words, at a place of the file, at one of another file, or at none."""
    line = draw(st.integers(1, 4))
    place = Location(
        draw(st.sampled_from((FILE, "x.yaml"))), line, 1, line, draw(st.integers(1, 9))
    )
    slug = st.text(string.ascii_lowercase, min_size=1, max_size=8)
    return Finding(
        rule=draw(slug),
        severity=draw(st.sampled_from(Severity)),
        message=draw(WORDS),
        hint=draw(st.none() | WORDS),
        tenant=draw(st.none() | st.just("t") | WORDS),
        field_path=draw(st.none() | WORDS),
        value=draw(st.none() | WORDS | st.floats()),
        primary=draw(st.none() | st.just(place)),
        related=draw(st.just(()) | st.just((Related("here", place),))),
        standing=draw(st.booleans()),
        waived_by=draw(st.none() | WORDS),
    )
