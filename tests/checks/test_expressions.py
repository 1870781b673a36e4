"""CEL as policies use it."""

from __future__ import annotations

import pytest

from knobctl.checks.expressions import ExpressionError, activation, compile_expression
from knobctl.checks.reading import UnknownRoleError, reading_of
from knobctl.checks.templates import compile_template, shown_value
from knobctl.knobs import load_catalogue

CATALOGUE = load_catalogue()


@pytest.mark.parametrize(
    ("template", "text"),
    [
        ("plain", "plain"),
        ("", ""),
        ("{owner}", "x"),
        ("a {{b}} {owner} c", "a {b} x c"),
        ("{effective.a < 0.1 ? 'a}' : 'b'}", "a}"),
        ("{effective.a}", "0.00001"),
        ("{[1, 2].map(n, n * 2)}", "2, 4"),
        ("{{'a': owner}}", "{'a': owner}"),
        ('{"}" + owner}', "}x"),
        ("{effective.a > 1.0}", "false"),
        ("{effective.whole}", "3"),
    ],
)
def test_braces_hold_expressions(template: str, text: str) -> None:
    """Numbers are spelled as documents spell them, lists with commas; doubled braces are braces."""
    variables = activation({"owner": "x", "effective": {"a": 0.00001, "whole": 3.0}})
    made = compile_template(template).text(lambda one: shown_value(one.value(variables)))
    assert made == text


@pytest.mark.parametrize(
    ("template", "offset"), [("a {b", 2), ("a } b", 2), ("x {nope}", 3), ("{owner} {1 +}", 12)]
)
def test_a_template_says_where_it_is_wrong(template: str, offset: int) -> None:
    """The offset counts from the start of the whole text."""
    with pytest.raises(ExpressionError) as caught:
        compile_template(template)
    assert caught.value.offset == offset


def test_the_place_of_an_error_counts_lines() -> None:
    """CEL names line and column; the offset is theirs in the text."""
    with pytest.raises(ExpressionError) as caught:
        compile_expression("true &&\n  nope")
    assert caught.value.offset == 10
    assert caught.value.message.startswith("undeclared reference to 'nope'; known are effective, ")


def test_a_runaway_expression_is_stopped() -> None:
    """Eight nested loops over twenty items end at once, as an error."""
    loops = "effective.all(a, " * 8 + "true" + ")" * 8
    variables = activation({"effective": {f"k{number}": number for number in range(20)}})
    with pytest.raises(ExpressionError, match="more steps than an expression may"):
        compile_expression(loops).value(variables)


def test_messages_are_optional_but_conditions_give_truth_values() -> None:
    """A text is not true."""
    with pytest.raises(ExpressionError, match="not true or false"):
        compile_expression("owner").holds(activation({"owner": "x"}))


@pytest.mark.parametrize(
    ("text", "knobs", "everything", "variables"),
    [
        ("effective.rrf_k > 1", ("rrf_k",), False, {"effective"}),
        ("effective['rrf_k'] > 1", ("rrf_k",), False, {"effective"}),
        ("'rrf_k' in knobs", ("rrf_k",), False, {"knobs"}),
        ("has(live.rrf_k) && live.rrf_k > 1", ("rrf_k",), False, {"live"}),
        ("role['fusion.k'] > 1", ("rrf_k",), False, {"role"}),
        ("effective.exists(k, true)", (), True, {"effective"}),
        ("effective[tenant] > 1", (), True, {"effective", "tenant"}),
        ("labels.effective == 'x'", (), False, {"labels"}),
        ("owner == 'effective.nope'", (), False, {"owner"}),
        ("'x' in labels", (), False, {"labels"}),
    ],
)
def test_what_an_expression_reads_is_found_in_its_text(
    text: str, knobs: tuple[str, ...], everything: bool, variables: set[str]
) -> None:
    """A key that is written out is one knob; anything else may be all of them."""
    reading = reading_of(text, CATALOGUE)
    assert (reading.knobs, reading.everything) == (knobs, everything)
    assert reading.variables == variables


def test_the_arithmetic_reads_the_knobs_that_it_stands_on() -> None:
    """A ceiling stands on weights and modes, a depth on floor and rank constant too, a verdict on all."""
    shares = {"rrf_weight_vector", "rrf_weight_bm25", "rrf_weight_recency", "recency_ranker_mode"}
    depths = {"retrieval_vector_top_k", "retrieval_bm25_top_k", "retrieval_recency_top_k"}
    ranks = {*shares, "retrieval_min_score", "rrf_k"}
    for text, knobs in (
        ("reach.vector_ceiling > 0.1", shares),
        ("reach.vector_depth > 1", ranks),
        ("reach['vacuous']", ranks | depths),
        ("reach.without_recency.vector_depth > 1", ranks | depths),
        ("reach.exists(k, true)", ranks | depths),
    ):
        assert set(reading_of(text, CATALOGUE).knobs) == knobs, text
    two = reading_of("reach.on_edge || reach['vacuous']", CATALOGUE)
    assert sorted(two.keys_of("reach") or ()) == ["on_edge", "vacuous"]
    assert reading_of("reach.exists(k, true)", CATALOGUE).keys_of("reach") is None


@pytest.mark.parametrize(
    ("text", "offset"), [("effective.rrf_q > 1", 10), ("'rrf_q' in knobs", 1), ("role['x']", 6)]
)
def test_a_knob_or_role_that_does_not_exist_is_told_with_its_place(text: str, offset: int) -> None:
    """CEL cannot know the keys of a map; the catalogue does."""
    with pytest.raises(UnknownRoleError) as caught:
        reading_of(text, CATALOGUE)
    assert caught.value.offset == offset
