"""Where a fault of a policy is told: at its character, however YAML writes the text around it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.checks.documents import acme, by_rule, checked

if TYPE_CHECKING:
    from knobctl.finding import Location

HEAD: Final = "policy: p\nseverity: error\n"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")


def told(text: str) -> Location:
    """The place of the one policy that does not compile."""
    place = by_rule(checked(text))["policy-error"].primary
    assert place is not None
    return place


def shown(text: str) -> str:
    """What stands in the file from that place on, to the end of the line."""
    place = told(text)
    line = _LINE_END.split(text.removeprefix("\ufeff"))[place.line - 1]
    return line[place.column - 1 :]


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "when",
    [
        "nope > 1",
        "owner == 'é' || nope",
        "'owner == ''a'' || nope'",
        '"\'\\u00e9\\t\\"\' == owner || nope"',
        "\"'\\U0001F600\\x41\\/' == owner || nope\"",
        '"true \\\n   && nope"',
        '"true &&\n\n   nope"',
        "'true &&\n  nope'",
        "true &&\n  nope",
        "|\n    true &&\n\n    'é😀' == owner &&\n    \tnope",
        "|2-\n  true &&\n    nope",
        "|+ # a 'comment\n  true &&\n  nope\n\n\n# nope behind it",
        ">-\n    true &&\n\n    'é😀' == owner &&\n      nope\n    && true",
        "&anchor nope",
        '!!str "true && nope"',
        "&anchor !!str |\n  nope",
        "\"'\u2028' == owner || nope\"",
    ],
)
def test_a_name_that_does_not_exist_is_told_at_its_first_letter(when: str, ends: str) -> None:
    """Plain, quoted, literal and folded; escapes, blanks, letters of several bytes; any ends of lines, and a mark before."""
    text = f"{HEAD}when: {when}\nmessage: x\n---\n{acme()}".replace("\n", ends)
    assert shown(text).startswith("nope")
    assert shown(f"\ufeff{text}").startswith("nope")


@pytest.mark.parametrize(
    ("fields", "at"),
    [
        ("when: 'true'\nmessage: >-\n  a é {{brace}} {owner}\n  and {nope}\n", "nope}"),
        (
            "when: 'true'\nmessage: x\nhint: |\n  first\n  then {effective.rrf_q} words\n",
            "rrf_q} words",
        ),
        ("when: 'true'\nmessage: x\nat: \"{reach.nope}\"\n", 'nope}"'),
        ("when: reach.vector_celing > 0.1\nmessage: x\n", "vector_celing > 0.1"),
        ("when: reach.without_recency.vector_dept > 1\nmessage: x\n", "vector_dept > 1"),
        ("when: reach_before['nope'] > 1\nmessage: x\n", "nope'] > 1"),
        ("when: 'true'\neach: written\nmessage: '{knob.nam}'\n", "nam}'"),
        ("when: 'true'\nmessage: 'a {knob.name}'\n", "knob.name}'"),
        ("when: \"'rrf_q' in knobs\"\nmessage: x\n", "rrf_q' in knobs\""),
        ("when: 'true'\nmessage: a {owner + 1}\n", "+ 1}"),
        ("when: 'effective.rrf_k +'\nmessage: x\n", "'"),
        ("x-shared: &c nope\nwhen: *c\nmessage: x\n", "nope"),
        ("when: owner\nmessage: x\n", "owner"),
        ("when: '  [true]'\nmessage: x\n", "[true]'"),
    ],
)
def test_a_fault_of_each_text_is_told_at_its_place(fields: str, at: str) -> None:
    """In words, in the hint, in the place; a fact that is none, a knob that is none, a condition of another type."""
    assert shown(f"{HEAD}{fields}---\n{acme()}") == at


PARTS: Final = ["true", "'é'=='x'", "'😀 \t'==owner", "'a''b'==owner", '"q\\"x"==owner', "\n", "  ", "\t"]  # fmt: skip


@pytest.mark.parametrize("examples", [40, pytest.param(400, marks=pytest.mark.slow)])
def test_the_place_does_not_depend_on_how_the_text_is_written(examples: int) -> None:
    """Whatever stands before it: what is told is the letter at which the mistake begins."""

    @given(
        before=st.lists(st.sampled_from(PARTS), max_size=6),
        style=st.sampled_from("'\"|>"),
        ends=st.sampled_from(["\n", "\r\n"]),
    )
    @settings(max_examples=examples)
    def law(before: list[str], style: str, ends: str) -> None:
        condition = "".join(f"{part} && " if part.strip() else part for part in before) + "mistake"
        condition = condition.replace("'a''b'", "('a' + 'b')")
        if style in "|>":
            lines = "".join(f"  {line}\n" for line in condition.split("\n"))
            when = f"{style}2-\n{lines}"
        elif style == "'":
            folded = condition.replace("'", "''").replace("\n", "\n\n")
            when = f"'{folded}'\n"
        else:
            escaped = condition.replace("\\", "\\\\").replace('"', '\\"')
            when = '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"\n'
        text = f"{HEAD}message: x\nwhen: {when}---\n{acme()}".replace("\n", ends)
        assert shown(text).startswith("mistake")

    law()
