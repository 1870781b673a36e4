"""The comment: rendered as code hosts render it, within its length, and nothing in it is more than text."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import cmarkgfm
import pytest
from cmarkgfm.cmark import Options
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.comparing import TenantDiff
from knobctl.changes.diff import Change, Op
from knobctl.checks.report import Report
from knobctl.errors import ExitCode
from knobctl.finding import Finding, Location, Severity
from knobctl.report.changes_comment import diff_comment
from knobctl.report.comment import MOST
from knobctl.report.formats import FindingsAnswer
from knobctl.report.markup import cell, code, fence, prose
from tests.checks.documents import acme
from tests.cli.inside import ENGINE, Inside
from tests.report.rendering import FILE, WORDS, answer_of, findings, rendered

OURS = {
    "h3", "p", "details", "summary", "code", "pre", "strong", "ul", "li",
    "table", "thead", "tbody", "tr", "th", "td",
}  # fmt: skip
REFERENCE = re.compile(
    r"[@#]\w|://|\bwww\.|\bGH-\d|!\d|^/\w|:\w+:|\b[0-9a-f]{7,40}\b", re.IGNORECASE | re.MULTILINE
)
"""What a code host makes a link, a message or a picture of, outside code."""


class Page(HTMLParser):
    """A rendered comment: its tags, and its text outside code."""

    def __init__(self, markdown: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.attributes: set[str] = set()
        self.html = cmarkgfm.github_flavored_markdown_to_html(
            markdown, Options.CMARK_OPT_UNSAFE | Options.CMARK_OPT_VALIDATE_UTF8
        )
        self.feed(self.html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open.append(tag)
        self.attributes |= {f"{tag} {name}" for name, _ in attrs}

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        # References are looked for in each piece of text by itself: code between two parts them.
        self.text += data if "code" not in self.open else "\N{OBJECT REPLACEMENT CHARACTER}"


def page_of(comment: str) -> Page:
    """A comment as rendered, after it was found harmless: no tag but ours, no reference outside code."""
    page = Page(comment)
    assert set(page.tags) <= OURS
    assert page.attributes <= {"details open", "code class", "pre lang"}
    assert page.open == []
    assert not REFERENCE.search(page.text), page.text
    return page


def test_the_hard_report_is_text_and_nothing_else(hard: FindingsAnswer) -> None:
    """No link, no picture, no mention, no tag that is not ours; every part that opens closes."""
    page = page_of(rendered("markdown", hard))
    assert page.tags.count("details") == 13
    assert page.tags.count("table") == 4


def test_the_verdict_leads(hard: FindingsAnswer) -> None:
    """The mark by which the comment is found again, then what it means, in the first words."""
    lines = rendered("markdown", hard).splitlines()
    assert lines[0] == "<!-- knobctl check -->"
    assert lines[1] == "### Fails: 6 errors, 11 warnings, 1 info"
    assert lines[3].startswith(
        "`knobctl check` of 8 tenants, 20 policies against `main`; 1 standing"
    )
    passing = rendered("markdown", answer_of([], base="main")).splitlines()
    assert passing[1] == "### Passes: no new findings"


def test_the_worst_comes_first_and_what_stands_is_folded_last(hard: FindingsAnswer) -> None:
    """Errors, then warnings; what changes, what the floors reach; then waived, standing, infos."""
    text = rendered("markdown", hard)
    order = [
        "**error** `audit-chain-broken`",
        "**error** `unknown-knob`",
        "**warning** `floor-above-vector-ceiling`",
        "| **reset** | `retrieval_vector_top_k` | `32` | default `50` | `acme` |",
        "| change | `retrieval_min_score` | `0.3` | `0.45` | `acme`, `bolt`, `core`, `dune` |",
        "<summary>Reach of <code>bolt</code>, <code>core</code>, <code>dune</code></summary>",
        "| vector alone, bm25 alone | 1/3 | 7 of 50 | never |",
        "<summary>1 waived</summary>",
        "<summary>1 standing, in the base too</summary>",
        "<summary>1 info</summary>",
    ]
    places = [text.index(part) for part in order]
    assert places == sorted(places)
    assert "No document any more: `gone`; unmanaged from now on, not reset" in text


def test_tenants_that_share_a_finding_share_its_part(hard: FindingsAnswer) -> None:
    """A layer's value is told once, by its line, for all whom it hits."""
    text = rendered("markdown", hard)
    who = "<code>acme</code>, <code>bolt</code>, <code>core</code>, <code>dune</code>"
    assert f"<summary>{who}: 2 warnings</summary>" in text
    assert text.count("**warning** `floor-above-vector-ceiling`") == 1
    assert "at `layers/wide.yaml:3:24`" in text


def many(tenants: int, words: str) -> FindingsAnswer:
    """A fleet in which each tenant has a finding, a reset and a change of its own."""
    found, changes = [], []
    for number in range(tenants):
        name, file = f"tenant-{number}", f"tenants/{number}.yaml"
        found.append(
            Finding(
                rule="floor-above-vector-ceiling",
                severity=Severity.WARNING,
                message=f"{number} {words}",
                hint=words,
                tenant=name,
                primary=Location(file, 3, 1, 3, 2),
            )
        )
        changes.append(
            TenantDiff(
                tenant=name,
                after=file,
                changes=(
                    change("retrieval_vector_top_k", Op.RESET, number + 1, 0),
                    change("rrf_k", Op.CHANGE, 60, number + 1),
                ),
            )
        )
    report = Report(command="check", pressing=found, files=tenants, tenants=tenants, policies=20)
    return FindingsAnswer(report=report, code=ExitCode.OK, base="main", changes=changes)


def change(knob: str, op: Op, before: float | str, after: float | str) -> Change:
    """A change of a knob."""
    return Change(
        steps=(knob,), op=op, before=before, after=after, effective_before=before,
        effective_after=after,
    )  # fmt: skip


@pytest.mark.parametrize("words", ["short", "long " * 2000, "|`@x " * 2000])
def test_a_fleet_fits_and_keeps_what_matters(words: str) -> None:
    """5,000 tenants, texts of 10,000 characters: the counts, the worst, the resets, what was left out."""
    comment = rendered("markdown", many(5000, words))
    assert MOST * 0.8 < len(comment) <= MOST
    page_of(comment)
    assert comment.startswith("<!-- knobctl check -->\n### Passes: 5,000 warnings\n")
    assert "In force: 5,000 tenants, 10,000 fields, 5,000 of them resets" in comment
    assert "**warning** `floor-above-vector-ceiling` at `tenants/0.yaml:3:1`" in comment
    assert comment.count("| **reset** |") > 50
    last = comment.splitlines()[-1]
    assert re.match(r"Left out: 4,\d{3} findings, 9,\d{3} changes", last)
    assert ("the ends of long texts" in last) == (len(words) > 1000)
    assert last.endswith("The full report: `knobctl check --base main --output json=FILE`")


def test_what_is_left_out_and_what_is_told_add_up() -> None:
    """The number in the last line is the number that the comment does not tell."""
    comment = rendered("markdown", many(5000, "short"))
    left_out = re.search(r"Left out: ([\d,]+) findings, ([\d,]+) changes", comment)
    assert left_out
    findings_left, changes_left = (int(text.replace(",", "")) for text in left_out.groups())
    assert comment.count("**warning**") == 5000 - findings_left
    rows = comment.count("| **reset** |") + comment.count("| change |")
    assert rows == 10_000 - changes_left


@given(st.lists(findings(), max_size=5), st.lists(WORDS, max_size=3))
@settings(max_examples=40, deadline=None)
def test_whatever_a_finding_says_it_is_text(found: list[Finding], removed: list[str]) -> None:
    """Tags, tables, fences, links, mentions, references and addresses are shown and do nothing."""
    answer = replace(answer_of(found, base="main"), removed=removed)
    comment = rendered("markdown", answer)
    assert comment.count("<!--") - comment.count("`<!--") >= 1
    page_of(comment)


@given(st.lists(WORDS, min_size=1, max_size=4))
@settings(max_examples=40, deadline=None)
def test_whatever_a_value_is_a_table_keeps_its_columns(words: list[str]) -> None:
    """A bar, a line break or a backtick in a value, a knob or a tenant ends no cell."""
    diffs = [
        TenantDiff(
            tenant=word or "t",
            after=word,
            changes=(change(word or "k", Op.CHANGE, word, f"{word}|`"),),
        )
        for word in words
    ]
    page = page_of(diff_comment(diffs))
    assert page.tags.count("td") == 6 * (page.tags.count("tr") - 1)


@given(st.text("`@a_|:/!#<> \\\n.[](-1", max_size=30))
@settings(max_examples=300, deadline=None)
def test_no_mixture_of_backticks_lets_a_word_out(text: str) -> None:
    """Spans that touch would become one: each word stays in its own, in a sentence and in a list."""
    page_of(f"- **lost** {prose(text)}\n- {code(text)} {cell(text)}")
    page_of(prose(text))


@given(WORDS)
@settings(max_examples=100, deadline=None)
def test_code_reads_as_written(text: str) -> None:
    """What is shown as code is the text itself, its invisible characters by their escapes."""
    plain = text
    for shown in (code(plain), cell(plain)):
        assert (
            Page(f"| a |\n| --- |\n| {shown} |" if "|" not in shown else shown).tags[-1] == "code"
        )
    assert Page(fence([text])).tags == ["pre", "code"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("retrieval_min_score 0.45 is above 1/3.", "`retrieval_min_score` 0.45 is above 1/3."),
        ("write `knobs: {}` for @anna, or #12", "write `knobs: {}` for `@anna`, or `#12`"),
        ("floor 0.3 -> 0.45", "floor 0.3 -&gt; 0.45"),
        ("0.33 or less; (see rrf_k)", "0.33 or less; (see `rrf_k`)"),
        ("- no list", "\\- no list"),
        ("1. no list", "1\\. no list"),
        ("1.5 stays", "1.5 stays"),
        ("f(x_1) and [a](0)!", "`f(x_1)` and `[a](0)`!"),
        ("a\nb  c", "a b  c"),
    ],
)
def test_sentences_stay_readable(text: str, expected: str) -> None:
    """Only words that could become markup are code; quoted ones are as they were."""
    assert prose(text) == expected


def test_a_plan_is_a_comment_with_its_digest_resets_hazards_and_limits(inside: Inside) -> None:
    """What a reviewer needs before an apply: what stops it, what it resets, what the checks say."""
    inside.hold(retrieval_vector_top_k=32)
    inside.write("t.yaml", acme(retrieval_min_score=0.45))
    inside.write("f.yaml", "fleet: default\nlimits: {max_tenants: 5}\nprotected: [acme]\n")
    result = inside("plan", ".", "--format", "markdown", "-o", "p.json", *ENGINE)
    assert result.code == 0, result.err
    text = result.out
    page_of(text)
    assert text.startswith(
        "<!-- knobctl plan -->\n### 1 tenant: 2 fields, 1 reset; 3 warnings, no errors\n"
    )
    assert re.search(
        r"^Plan `[0-9a-f]{12}` for `embedded:e.db`, fleet `default`$", text, re.MULTILINE
    )
    assert "**Apply would be refused:**" in text
    assert "Limits: the largest number of tenants of fleet default is 5 (f.yaml:2)" in text
    assert text.index("| **reset** | `retrieval_vector_top_k`") < text.index("**warning**")
    assert "| vector alone" in text


def test_errors_that_stop_a_diff_or_a_plan_are_a_comment(inside: Inside) -> None:
    """The same sticky mark, so that the next push replaces it."""
    inside.write("t.yaml", acme(rrf_k=99999))
    for command in ("diff", "plan"):
        result = inside(command, "t.yaml", "--format", "markdown", *ENGINE)
        assert result.code == 4
        assert result.out.startswith(f"<!-- knobctl {command} -->\n### Fails: 1 error\n")


def test_a_place_without_a_file_and_many_findings_of_one_tenant_are_told() -> None:
    """A part tells a dozen findings and how many more there are."""
    found = [
        Finding(rule="r", severity=Severity.ERROR, message=f"m{number}", tenant="t",
                primary=Location(FILE, 1, 1, 1, 2))
        for number in range(15)
    ]  # fmt: skip
    comment = rendered("markdown", answer_of(found))
    assert "and 3 more findings" in comment
    assert comment.splitlines()[-1].startswith("Left out: 3 findings. The full report:")
