"""`knobctl explain`: what a knob is, what is known of its default, and what a value of it does."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from knobctl.knobs import Catalogue, KnobType, load_catalogue
from knobctl.report.explaining import explanation
from tests.cli.outputs import faults_of
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.documents.model import Effective
    from knobctl.knobs import KnobValue
    from tests.cli.inside import Inside

GOLDEN: Final = Path(__file__).parent / "golden"
CATALOGUE: Final = load_catalogue()
SCHEMA: Final = "output-explain.v1.schema.json"


@dataclass(frozen=True)
class Defaults:
    """The platform defaults, as a question's surroundings."""

    catalogue: Catalogue = CATALOGUE
    effective: Effective | None = None

    @property
    def values(self) -> Mapping[str, KnobValue]:
        return self.catalogue.defaults

    def exact(self, name: str) -> Fraction:
        return Fraction(str(self.values[name]))


def said(knob: str, value: str) -> dict[str, str]:
    """The statements about a value at the defaults, by what they are about; the headline under ''."""
    answer = explanation(Defaults(), knob, value).answer
    assert answer is not None
    return {"": answer.headline, **dict(answer.statements)}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("explain", []),
        ("explain-floor", ["retrieval_min_score"]),
        ("explain-mode", ["recency_ranker_mode"]),
        ("explain-floor-0.45", ["retrieval_min_score", "0.45"]),
        ("explain-floor-0.15", ["retrieval_min_score", "0.15"]),
        ("explain-floor-0", ["retrieval_min_score", "0"]),
        ("explain-expanded-0.6", ["gate_expanded_floor", "0.6"]),
        ("explain-confident-0.3", ["gate_min_confident", "0.3"]),
        ("explain-weight-2", ["rrf_weight_vector", "2"]),
        ("explain-k-10", ["rrf_k", "10"]),
        ("explain-depth-200", ["retrieval_vector_top_k", "200"]),
        ("explain-ranker-off", ["recency_ranker_mode", "DISABLED"]),
        ("explain-budget", ["assembly_token_budget", "256"]),
    ],
)
def test_the_screen_reads_as_agreed(inside: Inside, name: str, arguments: list[str]) -> None:
    """The answer first, then the table, then what follows; 80 columns."""
    result = inside("explain", *arguments)
    assert (result.code, result.err) == (0, "")
    assert result.out == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    assert max(map(len, result.out.splitlines())) <= 80


def test_the_default_floor_is_said_to_be_not_tuned(inside: Inside) -> None:
    """What is known of 0.3, what is not, and the trap that Search has a floor of its own."""
    out = re.sub(r"\s+", " ", inside("explain", "retrieval_min_score").out)
    assert "It is not tuned" in out
    assert "0.3 equals the default of gate_expanded_floor" in out
    assert "lies under 1/3" in out
    assert "with minScore 0, negative or absent it applies 0.7" in out
    assert "AssembleContext only" in out
    assert "not tuned" in inside("explain", "retrieval_min_score", "0.3").out


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_knob_is_explained_whole(knob: Any) -> None:
    """Title, words, range, unit, default, what is known of it, zero, off, wire name and clearances."""
    text = explanation(Defaults(), knob.name, None).text()
    flat = re.sub(r"\s+", " ", text)
    parts = [
        knob.title,
        knob.description,
        knob.known,
        knob.unit,
        knob.range_text,
        knob.json_name,
        knob.off,
    ]
    for part in (*parts, "read L3, edit L4", *knob.interacts_with):
        assert part in flat, part
    assert max(map(len, text.splitlines())) <= 80


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_value_of_every_knob_has_an_answer_that_fits_its_schema(knob: Any) -> None:
    """Default, both ends, the unset value, outside, and what is no value."""
    ends = ["" if end is None else str(end) for end in (knob.minimum, knob.maximum)]
    for literal in {
        str(knob.default),
        str(knob.unset),
        *ends,
        *knob.choices,
        "-1",
        "1e9",
        "nonsense",
        ".nan",
    }:
        found = explanation(Defaults(), knob.name, literal)
        answer = found.as_json()
        assert faults_of(answer, SCHEMA) == [], literal
        accepted = answer["value"]["meaning"] != "refused"
        assert (answer["exit_code"] == 0) == accepted
        value: Any = literal if knob.type is KnobType.MODE else number(literal)
        assert accepted == knob.accepts(value), literal
        assert max(map(len, found.text().splitlines())) <= 80


def number(literal: str) -> Any:
    """The literal as a number, where it is one."""
    try:
        return float(literal)
    except ValueError:
        return literal


@given(
    st.sampled_from(list(CATALOGUE)),
    st.text(max_size=12) | st.floats().map(str) | st.integers().map(str),
)
@example(CATALOGUE["rrf_k"], "&a [*a]")
@example(CATALOGUE["rrf_k"], "1 --- 2")
@example(CATALOGUE["rrf_k"], "%YAML 1.1\n--- 1")
@example(CATALOGUE["retrieval_min_score"], "1e-999999999")
@example(CATALOGUE["retrieval_min_score"], "9" * 5000)
def test_no_value_makes_it_fall(knob: Any, literal: str) -> None:
    """Whatever is typed, there is an answer, and nothing in it drives the terminal."""
    text = explanation(Defaults(), knob.name, literal).text()
    assert text
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text)


@pytest.mark.parametrize(
    ("value", "rule", "write"),
    [
        ("0,3", "wrong-type", "a decimal point, not a comma: 0.3"),
        ('"0.3"', "wrong-type", "remove the quotes: 0.3"),
        ("true", "wrong-type", "a number without quotes"),
        ("", "wrong-type", "leave the key out to inherit"),
        ("[0.3]", "wrong-type", "remove the brackets: 0.3"),
        ("1/3", "wrong-type", "0.3333; to ask about a fraction: knobctl reach --floor 1/3"),
        (".nan", "not-finite", "a number inside the range"),
        ("-.inf", "not-finite", "a number inside the range"),
        ("1e-400", "underflow-to-zero", "0.0001 for practically none"),
        ("-0.0", "negative-zero", "0.0001 for practically none"),
        ("1_000", "ambiguous-scalar", "1_000"),
        ("010", "ambiguous-scalar", "10 or 0o10"),
        ("30", "out-of-range", "if 30 % is meant, write 0.3"),
        ("-0.1", "out-of-range", "0.0001 for practically no floor"),
        ("!!python/object:x {}", "unsupported-yaml", "remove the tag"),
        ("{a", "yaml-syntax", ""),
    ],
)  # fmt: skip
def test_what_is_no_value_is_refused_by_the_rule_that_check_names(
    inside: Inside, value: str, rule: str, write: str
) -> None:
    """The same reader, the same rules, the same words; exit 4."""
    answer = explanation(Defaults(), "retrieval_min_score", value).answer
    assert answer is not None
    assert (answer.rule, answer.meaning, answer.value) == (rule, "refused", None)
    assert write in dict(answer.statements).get("write", "")
    if value in {"-0.1", ".nan"}:
        result = inside("explain", "retrieval_min_score", value, "--format", "json")
        assert (result.code, result.json["outcome"], result.json["value"]["rule"]) == (
            4,
            "findings",
            rule,
        )


def test_a_floor_above_a_third_is_told_with_what_it_costs() -> None:
    """0.45: above 1/3, under 2/3; lost, kept, what to write, and what expansion admits in vain."""
    told = said("retrieval_min_score", "0.45")
    assert (
        told[""] == "retrieval_min_score 0.45: a match found by vector search alone can never pass."
    )
    assert told["exactly"].startswith(
        "0.45 is above 1/3, the most that a hit of one ranker can score; under 2/3"
    )
    assert told["lost"] == "every paraphrase that BM25 does not find, however relevant"
    assert told["kept"] == "found by two rankers: to rank 30 each; by all three: to rank 75"
    assert told["write"] == "0.33 or less; the platform default is 0.3"
    assert "what expansion admits from 0.3 up to 0.45 is thrown away" in told["expansion"]


def test_a_floor_under_the_expanded_floor_cannot_rescue_an_expanded_query() -> None:
    """0.15: cut at 0.3 first."""
    assert (
        "an expanded query is cut at 0.3 first, which 0.15 cannot rescue"
        in said("retrieval_min_score", "0.15")["expansion"]
    )
    assert said("retrieval_min_score", "0.3")["expansion"].startswith(
        "equal to gate_expanded_floor"
    )


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0.33", "under 1/3, the most that a hit of one ranker"),
        ("0.3333333333333333", "under 1/3 by less than 1e-9"),
        ("0.3333333333333334", "above 1/3 by less than 1e-9"),
        ("0.33334", "above 1/3, the most that a hit of one ranker"),
        ("0.66", "under 2/3, the most that a hit of two"),
        ("0.6666666666666666", "under 2/3 by less than 1e-9"),
        ("0.7", "above 2/3, the most that a hit of two"),
    ],
)
def test_the_relation_to_a_third_and_two_thirds_is_exact(value: str, words: str) -> None:
    """The decimal as typed, not the double beside it."""
    told = said("retrieval_min_score", value)
    assert words in told["exactly"]
    assert ("edge" in told) == ("1e-9" in words)


def test_seven_tenths_asks_for_recency() -> None:
    """Above 2/3, relevant then also means recent."""
    found = explanation(Defaults(), "retrieval_min_score", "0.7").answer
    assert found is not None
    lost = [text for about, text in found.statements if about == "lost"]
    assert (
        lost[1] == 'everything that is relevant but not recent: "relevant" then also means "recent"'
    )


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("retrieval_min_score", '0 is no "no floor": it means the platform default, 0.3'),
        ("rrf_weight_recency", '0 is no "none": it means the platform default, 1'),
        ("result_cache_ttl_seconds", '0 is no "none": it means the platform default, 300'),
        ("vector_min_cosine", "0 = platform default = no filter"),
    ],
)
def test_zero_is_the_platform_default(knob: str, words: str) -> None:
    """Never "no floor" and never "off", except where both readings agree."""
    told = said(knob, "0")
    assert words in told[""]
    assert ("warning" in told) == CATALOGUE[knob].zero_surprises
    assert told["write"] == "leave the line out to follow the default"


def test_unspecified_is_the_platform_default_of_a_mode() -> None:
    """The enum's zero."""
    assert "means the platform default, ENABLED" in said("gate_mode", "KNOB_MODE_UNSPECIFIED")[""]


@pytest.mark.parametrize(
    ("knob", "value", "about", "words"),
    [
        ("gate_expanded_floor", "0.6", "order", "is above gate_min_confident 0.5"),
        ("gate_expanded_floor", "0.2", "assembly", "below retrieval_min_score 0.3"),
        ("gate_expanded_floor", "0.3", "assembly", "equal to retrieval_min_score"),
        ("gate_expanded_floor", "0.4", "depths", "widens the lists 2 times"),
        ("gate_min_confident", "0.2", "order", "gate_expanded_floor 0.3 is above gate_min_confident 0.2"),
        ("gate_min_confident", "0.0001", "", "every first pass is accepted"),
        ("gate_min_confident", "0.5", "", "never confident; it always expands"),
        ("gate_min_confident", "0.3", "gate", "the best row always reaches it"),
        ("gate_mode", "DISABLED", "", "no query is expanded"),
        ("gate_mode", "ENABLED", "", "under gate_min_confident 0.5 is expanded, and what comes back is cut at gate_expanded_floor 0.3"),
        ("rrf_weight_vector", "100", "lost", "every hit that bm25 or recency alone finds"),
        ("rrf_weight_vector", "100", "gate", "can now reach gate_min_confident 0.5"),
        ("rrf_weight_vector", "1", "", "in force already"),
        ("rrf_k", "10", "", "ceilings stay"),
        ("retrieval_vector_top_k", "200", "", "7 of 200 rows pass"),
        ("retrieval_vector_top_k", "200", "lowest", "0.0782"),
        ("recency_ranker_mode", "DISABLED", "", "the same floor is looser"),
        ("retrieval_min_score", "0.0001", "note", "practically no floor"),
        ("mmr_lambda", "1", "", "the most that may be set"),
        ("dedup_min_similarity", "0.9", "evidence", "due evidence"),
    ],
)  # fmt: skip
def test_what_a_value_does_by_role(knob: str, value: str, about: str, words: str) -> None:
    """Floors, gate, weights, rank constant, depths, rankers, and the rest by the schema's words."""
    assert words in said(knob, value)[about]


def test_a_spread_of_weights_is_told(inside: Inside) -> None:
    """More than a hundred times: the light ranker is noise."""
    inside.write("a.yaml", "tenant: acme\nknobs: {rrf_weight_bm25: 0.1}\n")
    result = inside("explain", "rrf_weight_vector", "50", "--tenant", "acme")
    assert (result.code, "500 times the lightest" in result.out) == (0, True)


def test_names_are_read_in_both_spellings_and_mistyped_ones_find_their_neighbour(
    inside: Inside,
) -> None:
    """camelCase as on the wire; an unknown knob is a usage error."""
    answer = inside("explain", "retrievalMinScore", "--format", "json").json
    assert answer["knobs"][0]["name"] == "retrieval_min_score"
    result = inside("explain", "retreival_min_score")
    assert (result.code, result.out) == (2, "")
    assert "did you mean retrieval_min_score?" in result.err
    assert "knobctl explain" in inside("explain", "banana").err
    assert "there is no option --bogus" in inside("explain", "rrf_k", "--bogus").err


def test_all_knobs_as_data(inside: Inside) -> None:
    """Twenty-five, in the order of the schema."""
    answer = inside("explain", "--format", "json").json
    assert [knob["name"] for knob in answer["knobs"]] == list(CATALOGUE.by_name)
    assert (answer["version"], answer["command"], answer["outcome"], answer["value"]) == (
        1,
        "explain",
        "ok",
        None,
    )
    assert faults_of(answer, SCHEMA) == []


def test_a_value_as_data_carries_the_reach(inside: Inside) -> None:
    """The same rows that `reach` gives."""
    answer = inside("explain", "retrieval_min_score", "3e-1", "--format", "json").json
    reach = inside("reach", "--floor", "0.3", "--format", "json").json
    assert answer["value"]["reach"]["rows"] == reach["rows"]
    assert (answer["value"]["meaning"], answer["value"]["value"]) == ("set", 0.3)
    assert faults_of(answer, SCHEMA) == []


def test_a_tenant_s_value_is_told_with_its_origin_and_what_it_hides(inside: Inside) -> None:
    """The layers, the line, and a literal 0 that means the default."""
    inside.write("knobctl.toml", "")
    inside.write("layers/eu.yaml", "layer: eu\nknobs: {retrieval_min_score: 0.2, rrf_k: 30}\n")
    inside.write(
        "tenants/acme.yaml",
        "tenant: acme\nlayers: [eu]\nknobs:\n  retrieval_min_score: 0.25\n  rrf_k: 0\n",
    )
    out = inside("explain", "retrieval_min_score", "--tenant", "acme").out
    assert "acme       0.25 from tenants/acme.yaml:4; hides 0.2 of layers/eu.yaml:2" in out
    zero = re.sub(r"\s+", " ", inside("explain", "rrf_k", "--tenant", "acme").out)
    assert "60 from tenants/acme.yaml:5, written as 0, which means the default; hides 30" in zero
    assert (
        "the platform default; nothing writes it"
        in inside("explain", "gate_mode", "--tenant", "acme").out
    )
    answer = inside("explain", "rrf_k", "--tenant", "acme", "--format", "json").json
    assert (
        answer["tenant"],
        answer["knobs"][0]["effective"],
        answer["knobs"][0]["written_at"],
    ) == ("acme", 60, "tenants/acme.yaml:5")
    assert faults_of(answer, SCHEMA) == []
    assert "acme 0.25" in inside("explain", "--tenant", "acme").out
    value = inside(
        "explain", "retrieval_min_score", "0.5", "tenants/acme.yaml", "--tenant", "acme"
    ).out
    assert value.startswith("acme: retrieval_min_score 0.5: ")
    assert "knobctl reach --floor 0.5 --tenant acme" in value


def test_another_engine_s_knobs_are_explained_by_role(inside: Inside) -> None:
    """Its own names, its own rankers, and no word of Search."""
    schema = write_foreign_schema(inside.folder)
    text = inside("explain", "cutoff", "0.8", "--schema", schema)
    assert text.code == 0
    assert text.out.startswith("cutoff 0.8: a match found by dense search alone can never pass.")
    assert "every hit that dense, sparse alone finds" in text.out
    assert "AssembleContext" not in text.out
    assert "Cut-off" in inside("explain", "cutoff", "--schema", schema).out
    for arguments in ([], ["retries", "3"], ["sparse_mode", "DISABLED"], ["dense_rows", "10"]):
        answer = inside("explain", *arguments, "--schema", schema, "--format", "json")
        assert (answer.code, faults_of(answer.json, SCHEMA)) == (0, [])


def test_where_no_floor_is_in_force_a_value_is_told_by_the_schema_s_words(inside: Inside) -> None:
    """A schema without a fused floor still explains its weights."""
    schema = write_foreign_schema(inside.folder, cutoff=None)
    result = inside("explain", "dense_share", "0.5", "--schema", schema)
    assert (result.code, "inside 0 .. 1" in result.out) == (0, True)
