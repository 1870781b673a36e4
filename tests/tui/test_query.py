"""The words of the fleet's filter, against the same question asked of each row alone."""

from __future__ import annotations

import operator
from collections.abc import Callable
from fractions import Fraction
from math import nan
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.knobs import Catalogue, load_catalogue
from knobctl.tui.fleet import About, Chunk, Fleet, Held, Mark, Row, Verdict
from knobctl.tui.query import FIELDS, read_query, without, words_of
from tests.tui.hostile import HOSTILE

CATALOGUE = load_catalogue()
PRO = About(("base", "eu"), {"plan": "pro", "note": "two words"}, "Search Team")
FREE = About((), {"plan": "free"}, "")
FLOOR, VECTOR = "retrieval_min_score", "retrieval_vector_top_k"
ROWS = [
    Row("acme-eu", "tenants/eu/acme.yaml", PRO, {FLOOR: 0.7, VECTOR: 32, "gate_mode": "DISABLED"}),
    Row("acme-us", "tenants/us/acme.yaml", FREE, {FLOOR: 1 / 3}),
    Row("bolt", "tenants/eu/bolt.yaml", PRO, {VECTOR: 10}),
    Row("calm", "tenants/us/calm.yaml", FREE, {}),
    Row("torn", "torn.yaml", FREE, {}, int(Mark.NO_TENANT)),
    Row("who", "", FREE, {}, int(Mark.UNMANAGED)),
]


def fleet() -> Fleet:
    """The rows, judged and compared, but for one of each."""
    found = Fleet(CATALOGUE)
    found.add(Chunk(ROWS))
    found.judge(
        [
            Verdict(0, 0, 2, ("floor-above-vector-ceiling", "zero-means-default")),
            Verdict(1, 0, 0, ()),
            Verdict(2, 1, 0, ("out-of-range",)),
            Verdict(4, 1, 0, ("yaml-syntax",)),
        ]
    )
    found.hold(
        [
            Held("acme-eu", 0.3, 9.0, "anna", True),
            Held("acme-us", 1 / 3, 5.0, "ci bot", False),
            Held("bolt", nan, nan, "", False),
            Held("who", 0.5, 2.0, "Anna", False),
        ]
    )
    return found


FLEET = fleet()


def kept(text: str) -> list[str]:
    """The names of the rows that a filter keeps."""
    query = read_query(text, CATALOGUE)
    assert not query.faults, query.faults
    return [FLEET.names[row] for row in query.rows(FLEET, range(len(FLEET)))]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", ["acme-eu", "acme-us", "bolt", "calm", "torn", "who"]),
        ("acme", ["acme-eu", "acme-us"]),
        ("ACME us", ["acme-us"]),
        ("!acme", ["bolt", "calm", "torn", "who"]),
        ("!acme !o", ["calm"]),
        ("!", ["acme-eu", "acme-us", "bolt", "calm", "torn", "who"]),
        ("state:ok", ["acme-us"]),
        ("state:warn", ["acme-eu"]),
        ("state:drift", ["acme-eu"]),
        ("state:error", ["bolt", "torn"]),
        ("state:x", ["bolt", "torn"]),
        ("state:drift|error", ["acme-eu", "bolt", "torn"]),
        ("!state:error", ["acme-eu", "acme-us", "calm", "who"]),
        ("state:unreadable", ["torn"]),
        ("state:unmanaged", ["who"]),
        ("state:waiting", ["calm"]),
        ("set:retrieval_min_score", ["acme-eu", "acme-us"]),
        ("set:floor", ["acme-eu", "acme-us"]),
        ("set:retrievalVectorTopK", ["acme-eu", "bolt"]),
        ("set:floor|topk", ["acme-eu", "acme-us", "bolt"]),
        ("!set:floor acme", []),
        ("label:plan=pro", ["acme-eu", "bolt"]),
        ("label:plan=pro|plan=free acme", ["acme-eu", "acme-us"]),
        ("label:note", ["acme-eu", "bolt"]),
        ('label:"note=two words"', ["acme-eu", "bolt"]),
        ("owner:search", ["acme-eu", "bolt"]),
        ("layer:eu", ["acme-eu", "bolt"]),
        ("layer:e", []),
        ("rule:zero", ["acme-eu"]),
        ("file:/us/", ["acme-us", "calm"]),
        ("by:anna", ["acme-eu", "who"]),
        ('by:"ci bot"', ["acme-us"]),
        ("set>1", ["acme-eu"]),
        ("warnings>=1", ["acme-eu"]),
        ("warnings=0 acme", ["acme-us"]),
        ("gate_mode=DISABLED", ["acme-eu"]),
        ("gate_mode!=disabled acme", ["acme-us"]),
        ("gate_mode=ENABLED acme", ["acme-us"]),
        ("floor>1/3", ["acme-eu"]),
        ("floor>=1/3", ["acme-eu", "acme-us"]),
        ("live>0.3", ["acme-us", "who"]),
        ("live<=0.3", ["acme-eu", "bolt"]),
        ("rrf_k=60 acme-eu", ["acme-eu"]),
        ("rrf_k>60", []),
    ],
)
def test_words_keep_what_they_say(text: str, names: list[str]) -> None:
    """Every word must hold; what is not set is compared by what is in force."""
    assert kept(text) == names


SIGNS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from([FLOOR, VECTOR, "mmr_lambda"]),
    st.sampled_from(list(SIGNS)),
    st.sampled_from(["0", "0.3", "1/3", "0.7", "10", "32", "50", "1e-3", "-1"]),
)
def test_comparisons_are_those_of_what_is_in_force(knob: str, sign: str, number: str) -> None:
    """The default counts where nothing is set, whatever the sign."""
    wanted = float(Fraction(number))
    default = CATALOGUE[knob].default
    names = [row.name for row in ROWS if SIGNS[sign](float(row.desired.get(knob, default)), wanted)]
    assert kept(f"{knob}{sign}{number}") == names
    others = [row.name for row in ROWS if row.name not in names]
    assert kept(f"!{knob}{sign}{number}") == others


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("state:drfit", "there is no state drfit; did you mean drift?"),
        ("state:", "state: takes ok, warn, drift, error"),
        ("stat:ok", "there is no filter stat; did you mean state?"),
        ("flor>0.3", "there is no knob flor; did you mean floor?"),
        ("floor>", "floor> takes a number, such as 0.33 or 1/3"),
        ("floor>high", "floor> takes a number"),
        ("floor>1/0", "floor> takes a number"),
        ("floor>nan", "floor> takes a number"),
        ("floor>1e999999999", "floor> takes a number"),
        ("set:nothing", "there is no knob nothing"),
        ("gate_mode>1", "gate_mode is a mode: only = and != compare it"),
        ("gate_mode=on", "there is no value of gate_mode on"),
        ('label:"a', "the quote is not closed"),
        ("!state:x|y", "there is no state y"),
    ],
)
def test_what_cannot_be_understood_is_told_and_filters_nothing(word: str, message: str) -> None:
    """The other words hold all the same."""
    query = read_query(f"acme {word}", CATALOGUE)
    assert [fault.word for fault in query.faults] == [word]
    assert query.faults[0].message.startswith(message)
    assert [FLEET.names[row] for row in query.rows(FLEET, range(len(FLEET)))] == [
        "acme-eu",
        "acme-us",
    ]


def test_another_engine_s_knobs_can_have_no_fused_floor() -> None:
    """Its floor is then nothing that can be compared."""
    query = read_query("live>0.3 floor>0.3", Catalogue(knobs=(), schema={}))
    assert [fault.message.split(";")[0] for fault in query.faults] == [
        "these knobs have no fused floor",
        "there is no knob floor",
    ]


@settings(deadline=None, max_examples=300)
@given(st.text(max_size=60) | st.sampled_from(list(HOSTILE.values())))
def test_whatever_is_typed_is_read(text: str) -> None:
    """A bracket, a quote, a control: no text ends the program, and each filters or is told."""
    query = read_query(text, CATALOGUE)
    assert len(query.terms) + len(query.faults) == len(words_of(text))
    query.rows(FLEET, range(len(FLEET)))


def test_a_word_is_taken_away_where_it_was_typed_last() -> None:
    """Chips are removed one by one."""
    assert without("a b a", "a") == "a b"
    assert without("a b", "c") == "a b"
    assert words_of('label:"note=two words" !x') == ['label:"note=two words"', "!x"]
    assert all(field.takes for field in FIELDS.values())
