"""The policies: each is its own test, the arithmetic is exact, and the words say what a person loses."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks import check
from knobctl.checks.built_in import built_in_documents
from knobctl.checks.examples import run_examples
from knobctl.checks.judging import check_repository
from knobctl.checks.policies import Policy, load_policies
from knobctl.documents.settings import SeverityOverride
from knobctl.errors import InputError
from knobctl.finding import Severity
from knobctl.knobs import Knob, KnobType, load_catalogue
from knobctl.shipped import shipped
from tests.checks.documents import TODAY, acme, by_rule, checked, place, repository
from tests.knobs.foreign import foreign_schema, write_foreign_schema

CATALOGUE = load_catalogue()
POLICIES = load_policies(CATALOGUE).in_force
CEILING = "floor-above-vector-ceiling"
DIVERGES = "floor-diverges-from-expanded-floor"
EDGE = "floor-on-the-edge"
OF_FIELD_REPORTS = {
    "written-but-switched-off",
    "vector-floor-without-evidence",
    "duplicates-may-disagree",
}
"""Rules that are not in the specification: silent faults that people reported."""


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: policy.id)
def test_a_policy_does_what_its_own_examples_say(policy: Policy) -> None:
    """Each has documents that pass and documents that fail, and is right about all of them."""
    examples = list(run_examples(policy, CATALOGUE))
    assert {example.must_fail for example in examples} == {True, False}
    for example in examples:
        assert example.holds, (example.place.line, [hit.message for hit in example.hits])


def test_every_rule_of_the_specification_is_a_file_of_its_own() -> None:
    """One file each, named as its rule; those about evidence come with evidence."""
    files = sorted(path.stem for path in shipped("policies").glob("*.yaml"))
    assert files == [document.name for document in built_in_documents()]
    assert set(files) == {
        CEILING, "floor-above-two-ranker-ceiling", DIVERGES, EDGE, "floor-cuts-candidates",
        "floor-never-binds", "floor-admits-the-merely-recent", "gate-order", "gate-always-expands",
        "weights-spread", "rank-constant-moves-depth", "rankers-changed", "pipeline-width",
        "zero-means-default", "no-match-cannot-bind", "redundant-default", "reset-by-omission",
        *OF_FIELD_REPORTS,
    }  # fmt: skip


def test_the_severities_are_those_of_the_contract() -> None:
    """Only a pipeline that cannot work is an error; what merely informs never fails a run."""
    by_severity: dict[Severity, set[str]] = {severity: set() for severity in Severity}
    for policy in POLICIES:
        by_severity[policy.severity].add(policy.id)
    assert by_severity[Severity.ERROR] == {"pipeline-width"}
    assert by_severity[Severity.INFO] == {
        "floor-cuts-candidates", "floor-never-binds", "floor-admits-the-merely-recent",
        "gate-always-expands", "no-match-cannot-bind", "redundant-default",
        *OF_FIELD_REPORTS - {"duplicates-may-disagree"},
    }  # fmt: skip


def test_a_built_in_policy_is_a_document_like_any_other() -> None:
    """The schema for policies accepts them, and each has a title."""
    from knobctl.checks.schema import Judge

    judge = Judge(CATALOGUE)
    for document in built_in_documents():
        assert judge.accepts(document), judge.refusal(document)
        assert document.value["title"]


@given(
    floor=st.integers(1, 1000).map(lambda n: Fraction(n, 1000)) | st.integers(1, 10**6).map(lambda n: Fraction(n, 10**6)),
    weights=st.tuples(*[st.integers(1, 10000).map(lambda n: Fraction(n, 100))] * 3),
    recency=st.booleans(),
)  # fmt: skip
@settings(max_examples=150)
def test_the_ceilings_come_from_the_tenants_own_weights_exactly(
    floor: Fraction, weights: tuple[Fraction, Fraction, Fraction], recency: bool
) -> None:
    """Above, equal or below is decided in fractions of the decimals as they are written."""
    text = acme(
        retrieval_min_score=f"{float(floor):.6f}",
        rrf_weight_vector=f"{float(weights[0]):.2f}",
        rrf_weight_bm25=f"{float(weights[1]):.2f}",
        rrf_weight_recency=f"{float(weights[2]):.2f}",
        recency_ranker_mode="ENABLED" if recency else "DISABLED",
    )
    enabled = weights if recency else weights[:2]
    ceiling = weights[0] / sum(enabled)
    best_two = sum(sorted(enabled)[-2:]) / sum(enabled)
    found = by_rule(checked(text))
    assert (CEILING in found) is (floor > ceiling)
    assert ("floor-above-two-ranker-ceiling" in found) is (floor > best_two)


@pytest.mark.parametrize(
    ("written", "above", "edge"),
    [
        ("0.33", False, False),
        ("0.3333333", False, False),
        ("0.333333333", False, True),  # within 1e-9
        ("0.33333333333333333", False, True),  # 17 digits: under 1/3 as it is written
        ("0.3333333333333334", True, True),
        ("0.34", True, False),
    ],
)
def test_a_floor_counts_as_it_is_written(written: str, above: bool, edge: bool) -> None:
    """Two spellings of one double can lie on either side of 1/3."""
    found = by_rule(checked(acme(retrieval_min_score=written)))
    assert ((CEILING in found), (EDGE in found)) == (above, edge)


def test_the_floor_above_the_ceiling_says_what_a_person_loses() -> None:
    """The numbers are the tenant's own; the standard is specs/voice.md."""
    finding = by_rule(checked(acme(retrieval_min_score=0.45)))[CEILING]
    assert finding.message.splitlines() == [
        "retrieval_min_score 0.45 is above 1/3, the most that a match found by vector search alone can score.",
        "lost: every paraphrase that BM25 does not find, however relevant",
        "kept: found by two rankers: to rank 30 each; by all three: to rank 75",
    ]
    assert finding.hint == "write 0.33 or less; the platform default is 0.3"
    assert (place(finding), finding.value, finding.severity) == ("3:24", 0.45, Severity.WARNING)


@pytest.mark.parametrize(
    ("knobs", "kept"),
    [
        ({"retrieval_min_score": 0.7}, "kept: found by all three: to rank 27 each"),
        (
            {"retrieval_min_score": 0.6, "recency_ranker_mode": "DISABLED"},
            "kept: found by both rankers: to rank 41 each",
        ),
        (
            {"retrieval_min_score": 0.3, "rrf_weight_vector": 0.5},
            "kept: found by bm25 and recency: to rank 102 each; by all three: to rank 143",
        ),
    ],
)
def test_what_is_kept_follows_from_the_rankers(knobs: dict[str, object], kept: str) -> None:
    """Two rankers, or uneven weights, give other words and other ranks."""
    assert kept in by_rule(checked(acme(**knobs)))[CEILING].message


def test_a_diverging_floor_says_which_results_it_strands() -> None:
    """Above and below the expanded floor are different losses; with the gate off it is none yet."""
    above = by_rule(checked(acme(retrieval_min_score=0.45)))[DIVERGES].message
    assert "fetched and thrown away" in above
    assert "from 0.3 up to 0.45" in above
    below = by_rule(checked(acme(retrieval_min_score=0.15)))[DIVERGES].message
    assert "cannot rescue it" in below
    assert "from 0.15 up to 0.3" in below
    off = by_rule(checked(acme(retrieval_min_score=0.15, gate_mode="DISABLED")))[DIVERGES].message
    assert "strands nothing until the gate comes back" in off


def test_a_floor_that_is_one_double_with_the_expanded_floor_does_not_diverge() -> None:
    """0.30 is 0.3, and so is what rounds to the same double: the engine compares doubles."""
    for written in ("0.30", "3e-1", "0.300000000000000000001"):
        assert DIVERGES not in by_rule(checked(acme(retrieval_min_score=written)))


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_a_literal_zero_warns_exactly_where_it_means_something_else(knob: Knob) -> None:
    """It names the default that it becomes, and what to write instead; a zero whose default is 0 is fine."""
    unset = 0 if knob.type is not KnobType.MODE else knob.unset
    found = by_rule(checked(acme(**{knob.name: unset}))).get("zero-means-default")
    if not knob.zero_surprises:
        assert found is None
        return
    assert found is not None
    assert f"it means the platform default, {knob.default}".removesuffix(".0") in found.message
    assert "leave the line out to follow the default" in (found.hint or "")
    assert (place(found), found.value) == (f"3:{len(knob.name) + 5}", 0)


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("retrieval_min_score", 'is no "no floor"'),
        ("rrf_weight_recency", 'is no "off"'),
        ("rrf_weight_vector", 'is no "off"'),
        ("result_cache_ttl_seconds", 'is no "off"'),
        ("rrf_k", "is not zero"),
    ],
)
def test_a_literal_zero_says_what_it_is_not(knob: str, words: str) -> None:
    """What the author may have meant decides the words."""
    assert words in by_rule(checked(acme(**{knob: 0})))["zero-means-default"].message


def test_what_to_write_for_off_comes_from_the_schema() -> None:
    """A ranker is switched off by its mode, a cache by its mode, a floor by a small number."""
    hints = {
        name: by_rule(checked(acme(**{name: 0})))["zero-means-default"].hint
        for name in (
            "retrieval_min_score",
            "rrf_weight_recency",
            "result_cache_ttl_seconds",
            "rrf_k",
        )
    }
    assert hints["retrieval_min_score"] == (
        "write 0.0001 for practically no floor, or leave the line out to follow the default"
    )
    assert (hints["rrf_weight_recency"] or "").startswith("write recency_ranker_mode: DISABLED")
    assert (hints["result_cache_ttl_seconds"] or "").startswith("write result_cache_mode: DISABLED")
    assert (hints["rrf_k"] or "").startswith("it cannot be off; leave the line out")


def test_infos_are_silent_where_nothing_they_look_at_is_written() -> None:
    """A fleet at the defaults is silent, although the default floor lets the newest chunks pass."""
    assert checked(acme()).findings == []
    assert checked(acme(max_chunks_per_document=8)).findings == []
    assert set(by_rule(checked(acme(rrf_k=50)))) == {
        "floor-cuts-candidates", "floor-admits-the-merely-recent",
    }  # fmt: skip


def test_a_default_that_overrides_a_layer_is_not_redundant() -> None:
    """Left out, the layer's value would be in force."""
    layer = "layer: l\nknobs: {rrf_k: 30}\n---\n"
    text = layer + "tenant: acme\nlayers: [l]\nknobs: {rrf_k: 60}\n"
    assert "redundant-default" not in by_rule(checked(text))
    assert "redundant-default" in by_rule(checked(acme(rrf_k=60)))


def test_a_finding_stands_at_the_written_knob_that_the_rule_reads() -> None:
    """The floor is unwritten; the weight that lowers the ceiling is where the reader must look."""
    finding = by_rule(checked(acme(rrf_k=60, rrf_weight_vector=0.5)))[CEILING]
    assert (place(finding), finding.field_path, finding.value) == (
        "4:22",
        "retrieval_min_score",
        0.3,
    )


def test_a_finding_about_what_no_file_writes_stands_at_the_tenant() -> None:
    """A knob that is reset by omission has no place of its own."""
    report = checked(acme(), live={"retrieval_vector_top_k": 32})
    finding = by_rule(report)["reset-by-omission"]
    assert (place(finding), finding.field_path, finding.value) == (
        "1:9",
        "retrieval_vector_top_k",
        32,
    )
    assert "goes back to the platform default, 50" in finding.message


def test_a_value_in_a_layer_is_told_there_for_each_tenant() -> None:
    """The place is the layer's; the tenant's own line is related."""
    layer = "layer: l\nknobs: {retrieval_min_score: 0.4, gate_expanded_floor: 0.4}\n---\n"
    text = layer + "tenant: a\nlayers: [l]\n---\ntenant: b\nlayers: [l]\nknobs: {mmr_lambda: 0.6}\n"
    found = [one for one in checked(text).findings if one.rule == CEILING]
    assert [(one.tenant, place(one)) for one in found] == [("a", "2:30"), ("b", "2:30")]
    assert [one.related[0].location.line for one in found] == [4, 7]


def test_a_value_that_is_none_silences_what_it_decides_and_nothing_else() -> None:
    """No verdict on a floor that nobody knows; the others are given."""
    report = checked(acme(retrieval_min_score=1.7, result_cache_ttl_seconds=0))
    assert set(by_rule(report)) == {"out-of-range", "zero-means-default"}
    assert {one.field_path for one in report.findings} == {
        "retrieval_min_score",
        "result_cache_ttl_seconds",
    }


@pytest.mark.parametrize(
    "floor", ["{retrieval_min_score: 1e-400}", "{retrieval_min_score: 010}", "[0.45]"]
)
def test_what_the_reader_refuses_is_not_judged_by_policies(floor: str) -> None:
    """An underflow reads as 0 and 010 as 10: neither is a value to reason about."""
    report = checked(f"tenant: acme\nknobs: {floor}\n")
    assert all(one.severity is Severity.ERROR for one in report.findings)


def test_of_a_key_written_twice_neither_value_is_judged() -> None:
    """The reader keeps one of them; no policy speaks of it."""
    report = checked("tenant: a\nknobs: {retrieval_min_score: 0.45, retrieval_min_score: 0.45}\n")
    assert [one.rule for one in report.findings] == ["duplicate-key"]


def test_a_tenant_whose_layer_is_missing_is_not_judged() -> None:
    """Nobody knows what is in force; the missing layer is an error already."""
    assert by_rule(checked("tenant: a\nlayers: [gone]\nknobs: {retrieval_min_score: 0.45}\n")) == {}


OWN = (
    "policy: floor-needs-two-people\nseverity: error\n"
    "when: \"effective.retrieval_min_score > 0.4 && !('reviewed_by' in labels)\"\n"
    'at: retrieval_min_score\nmessage: "floor {effective.retrieval_min_score} without a reviewer"\n'
    "hint: add labels.reviewed_by\n---\n"
)


def test_a_repositorys_own_policy_is_in_force_beside_the_built_in_ones() -> None:
    """It fails the run, at the knob, with the value filled in."""
    report = checked(OWN + acme(retrieval_min_score=0.45))
    finding = by_rule(report)["floor-needs-two-people"]
    assert finding.message == "floor 0.45 without a reviewer"
    assert (report.policies, report.errors, place(finding)) == (len(POLICIES) + 1, 1, "10:24")
    labelled = acme(retrieval_min_score=0.45) + "labels: {reviewed_by: me}\n"
    assert "floor-needs-two-people" not in by_rule(checked(OWN + labelled))


def test_a_policy_about_labels_answers_for_each_tenant_by_itself() -> None:
    """Tenants that write the same knobs and carry other labels are told other things, in any number."""
    tenants = "---\n".join(
        f"tenant: t{number}\nlabels: {{tier: t{number % 3}}}\nknobs: {{retrieval_min_score: 0.{30 + number % 4}}}\n"
        for number in range(60)
    )
    text = "policy: p\nseverity: warning\nwhen: labels.tier == 't1'\nmessage: '{tenant} {labels.tier}'\n---\n"
    found = [one for one in checked(text + tenants).findings if one.rule == "p"]
    assert [one.message for one in found] == [f"t{number} t1" for number in range(1, 60, 3)]
    ceilings = [one.tenant for one in checked(text + tenants).findings if one.rule == DIVERGES]
    assert ceilings == [f"t{number}" for number in range(60) if number % 4]


def test_a_policy_about_the_fleet_answers_for_each_tenant_by_itself(tmp_path: Path) -> None:
    """A tenant outside the fleet may write the same characters as one within."""
    for name, text in {
        "p.yaml": "policy: p\nseverity: warning\nwhen: has(fleet.limits)\nmessage: in the fleet\n",
        "fleet.yaml": "fleet: f\ninclude: [in/*]\nlimits: {max_tenants: 9}\n",
        "in/a.yaml": "tenant: a\nknobs: {rrf_k: 10}\n",
        "out/b.yaml": "tenant: b\nknobs: {rrf_k: 10}\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    found = check(["."], cwd=tmp_path, today=TODAY, fleet="f").findings
    assert [one.tenant for one in found if one.rule == "p"] == ["a"]


def test_a_condition_that_fails_takes_no_other_answer_with_it() -> None:
    """All are evaluated in one step; the one that fails is told, the others answer as they would alone."""
    failing = policy("effective.rrf_k / 0 == 1")
    commented = policy('"effective.rrf_k == 10 // the least"').replace("policy: p", "policy: q")
    alone = checked(acme(rrf_k=10, mmr_lambda=0)).findings
    found = checked(failing + commented + acme(rrf_k=10, mmr_lambda=0)).findings
    assert {"p: divide by zero", "found"} <= {one.message for one in found}
    assert [one.message for one in found if one.rule not in {"policy-error", "q"}] == [
        one.message for one in alone
    ]


def policy(when: str, **fields: str) -> str:
    """A policy of a repository, followed by a tenant."""
    more = "".join(f"{name}: {value}\n" for name, value in fields.items())
    return f"policy: p\nseverity: warning\nwhen: {when}\nmessage: {{m: x}}\n{more}---\n".replace(
        "{m: x}", "found"
    )


@pytest.mark.parametrize(
    ("when", "found"),
    [
        ("tenant == 'acme'", True),
        ("owner == ''", True),
        ("'rrf_k' in knobs", True),
        ("'mmr_lambda' in knobs", False),
        ("knobs.rrf_k == 10", True),
        ("effective.exists(k, k == 'rrf_k')", True),
        ("reach.vector_depth == 2", True),
        ("reach.without_recency.vector_depth == 8", True),
        ("reach.vector_alone.vector_ceiling == 1.0", True),
        ("today == '2026-11-29'", True),
        ("evidence.size() == 0", True),
        ("has(fleet.limits)", False),
        ("'rrf_k' in changed", False),
        ("has(live.rrf_k)", False),
        ("role['fusion.k'] == 10", True),
    ],
)
def test_a_condition_sees_the_variables_of_the_contract(when: str, found: bool) -> None:
    """Knobs as written and in force, labels, reach with its subsets, the day; live only where it is known."""
    report = checked(policy(f'"{when}"') + acme(rrf_k=10))
    assert "policy-error" not in by_rule(report)
    assert ("p" in by_rule(report)) is found


def test_a_condition_about_the_engine_is_asked_only_where_it_is_known() -> None:
    """Without --live there is no answer, and no failure either."""
    text = policy("live.rrf_k > 3") + acme(rrf_k=10)
    assert "p" not in by_rule(checked(text))
    assert "p" in by_rule(checked(text, live={"rrf_k": 9}))
    assert by_rule(checked(text, live={}))["policy-error"].message == (
        'p: Key not found in map : "rrf_k"'
    )


@pytest.mark.parametrize(
    ("when", "words"),
    [
        ("effective.rrf_k / 0 == 1", "divide by zero"),
        ("effective.rrf_k", "gives 10, not true or false"),
        ("effective.rrf_k + 1.5 > 3.0", "No matching overloads"),
        ("labels.tier == 'x'", "Key not found"),
    ],
)
def test_what_fails_while_it_runs_is_an_error_and_never_a_pass(when: str, words: str) -> None:
    """The finding stands in the policy and names the tenant; the run fails."""
    report = checked(policy(f'"{when}"') + acme(rrf_k=10))
    finding = by_rule(report)["policy-error"]
    assert words in finding.message
    assert (finding.tenant, place(finding), finding.severity) == ("acme", "3:8", Severity.ERROR)


def test_a_message_that_cannot_be_filled_is_an_error_too() -> None:
    """The condition held, so something is wrong; it is not swallowed with its words."""
    text = policy("'true'").replace("found", '"{labels.tier}"') + acme(rrf_k=10)
    assert by_rule(checked(text))["policy-error"].field_path == "message"


@pytest.mark.parametrize(
    ("text", "at", "words"),
    [
        ("policy: p\nseverity: error\nwhen: foo > 3\nmessage: x\n", "3:7", "undeclared reference"),
        ("policy: p\nseverity: error\nwhen: \"'a' + 1 == 2\"\nmessage: x\n", "3:12", "no matching overload"),
        ('policy: p\nseverity: error\nwhen: "true && effective.rrf_q > 1"\nmessage: x\n', "3:26", "rrf_k"),
        ("policy: p\nseverity: error\nwhen: |\n  true &&\n  foo > 3\nmessage: x\n", "5:3", "undeclared"),
        ("policy: p\nseverity: error\nwhen: >-\n  true &&\n  foo > 3\nmessage: x\n", "5:3", "undeclared"),
        ("policy: p\nseverity: error\nwhen: 'true'\nmessage: a {foo} b\n", "4:13", "undeclared"),
        ("policy: p\nseverity: error\nwhen: 'true'\nmessage: a {tenant b\n", "4:12", "without its }"),
        ("policy: p\nseverity: error\nwhen: 'true'\nmessage: a } b\n", "4:12", "without its {"),
        ("policy: p\nseverity: error\nwhen: 'true'\nmessage: x\nat: rrf_q\n", "5:5", "rrf_q is no knob"),
        ("policy: p\nseverity: error\nwhen: 'true'\nmessage: x\nreads: [rrf_k, a.b]\n", "5:16", "the role a.b"),
        ("policy: p\nseverity: error\nwhen: \"role['x'] > 1\"\nmessage: x\n", "3:14", "the role x"),
    ],
)  # fmt: skip
def test_what_does_not_compile_is_told_at_its_line_and_column(
    text: str, at: str, words: str
) -> None:
    """In a plain, a quoted, a literal and a folded text, inside a message, at a name that does not exist."""
    finding = by_rule(checked(f"{text}---\n{acme()}"))["policy-error"]
    assert place(finding) == at
    assert words in finding.message


def test_a_policy_that_does_not_compile_fails_the_run_and_is_not_counted() -> None:
    """What is not in force passes nothing."""
    report = checked("policy: p\nseverity: info\nwhen: foo\nmessage: x\n---\n" + acme())
    assert (report.policies, report.errors) == (len(POLICIES), 1)


def test_a_built_in_rule_cannot_be_replaced_in_silence() -> None:
    """A policy with its id is an error; to weigh it otherwise there is a setting."""
    text = "policy: pipeline-width\nseverity: info\nwhen: 'false'\nmessage: x\n---\n" + acme()
    finding = by_rule(checked(text))["duplicate-policy"]
    assert "knobctl.toml" in (finding.hint or "")


def test_a_repository_weighs_rules_otherwise() -> None:
    """With a reason, in knobctl.toml; a rule that does not exist is refused."""
    heavy = {CEILING: SeverityOverride(severity=Severity.ERROR, reason="r")}
    report = checked(acme(retrieval_min_score=0.45), severities=heavy)
    assert by_rule(report)[CEILING].severity is Severity.ERROR
    with pytest.raises(InputError, match="is no rule that can be weighed") as caught:
        checked(acme(), severities={"floor-above-vector-ceilng": heavy[CEILING]})
    assert caught.value.hint == f"did you mean {CEILING}?"


def test_another_engine_gets_the_policies_by_role(tmp_path: Path) -> None:
    """What its schema has roles for is in force; what names a knob of ours is not, and says nothing."""
    file = tmp_path / "schema.json"
    file.write_text(json.dumps(foreign_schema()).replace("dense", "vector"))
    catalogue = load_catalogue(file)
    policies = load_policies(catalogue)
    assert CEILING in [policy.id for policy in policies.in_force]
    assert "pipeline-width" in [document.name for document in policies.not_offered]
    text = "tenant: a\nknobs: {cutoff: 0.99, vector_share: 0}\n"
    found = by_rule(check_repository(repository(text, catalogue), today=TODAY))
    assert found[CEILING].message.startswith("cutoff 0.99 is above 3/4, the most that a match")
    assert "no other ranker finds" in found[CEILING].message
    assert "zero-means-default" in found


def test_an_engine_without_a_vector_ranker_is_not_told_of_one(tmp_path: Path) -> None:
    """Its rankers are called otherwise: the policies about vector search are not in force."""
    policies = load_policies(load_catalogue(write_foreign_schema(tmp_path)))
    assert CEILING in [document.name for document in policies.not_offered]
    assert "floor-never-binds" in [policy.id for policy in policies.in_force]


@given(
    st.lists(
        st.dictionaries(
            st.sampled_from(["retrieval_min_score", "gate_expanded_floor", "rrf_weight_vector", "rrf_k", "retrieval_vector_top_k"]),
            st.sampled_from(["0", "0.3", "0.45", "1", "60", "7"]),
            max_size=3,
        ),
        min_size=2,
        max_size=5,
    )
)  # fmt: skip
@settings(max_examples=60)
def test_answers_that_are_remembered_are_those_that_would_be_given(
    sets: list[dict[str, str]],
) -> None:
    """A fleet is told of each tenant what the tenant alone is told: nothing leaks from one to the next."""
    texts = [
        f"tenant: t{number}\nknobs: {{{', '.join(f'{k}: {v}' for k, v in knobs.items())}}}\n"
        for number, knobs in enumerate(sets)
    ]
    together = checked("---\n".join(texts))
    for number, text in enumerate(texts):
        mine = [one for one in together.findings if one.tenant == f"t{number}"]
        alone = checked(text).findings
        assert [(one.rule, one.field_path, one.message, one.hint) for one in mine] == [
            (one.rule, one.field_path, one.message, one.hint) for one in alone
        ]


@pytest.mark.parametrize("rule", ["out-of-range", "yaml-syntax", "evidence-missing"])
def test_a_policy_cannot_take_the_id_of_another_rule(rule: str) -> None:
    """Else a waiver of the one could seem to be one of the other."""
    report = checked(policy('"false"').replace("policy: p", f"policy: {rule}") + acme())
    assert f"{rule} is a built-in rule" in by_rule(report)["duplicate-policy"].message


def test_a_message_of_millions_of_characters_is_cut() -> None:
    """Whoever wrote the policy finds out from its length."""
    tenfold = ".map(x, " + "+".join("x" * 10) + ")"
    message = "\"{['0123456789']" + tenfold * 4 + '}"'
    text = policy('"true"').replace("message: found", f"message: {message}")
    told = by_rule(checked(text + acme()))["p"].message
    assert told.endswith("... (100,000 characters)")
    assert len(told) < 2100


def test_a_number_of_a_thousand_digits_is_told_as_the_double_that_it_is() -> None:
    """The message is for people; the comparison stays exact."""
    report = checked(acme(retrieval_min_score="0." + "4" * 1000))
    assert (
        "retrieval_min_score 0.4444444444444444 is above 1/3"
        in by_rule(report)["floor-above-vector-ceiling"].message
    )


def test_a_policy_that_reads_the_engine_in_its_message_only_is_asked_without_it() -> None:
    """What decides is known, so nothing passes in silence."""
    text = policy("effective.rrf_k > 3").replace(
        "message: found", 'message: "live sets {live.size()} knobs"'
    )
    assert by_rule(checked(text + acme(rrf_k=10)))["p"].message == "live sets 0 knobs"


def test_an_engine_that_does_not_say_how_to_switch_off_gets_half_a_hint(tmp_path: Path) -> None:
    """And no comma in front of it."""
    file = tmp_path / "schema.json"
    file.write_text('{"properties": {"k": {"type": "number", "default": 3}}}', encoding="utf-8")
    report = check_repository(
        repository("tenant: acme\nknobs: {k: 0}\n", load_catalogue(file)), today=TODAY
    )
    assert by_rule(report)["zero-means-default"].hint == "leave the line out to follow the default"


def test_a_floor_near_zero_is_no_error_of_a_policy() -> None:
    """It reaches to ranks beyond all whole numbers of CEL."""
    report = checked(acme(retrieval_min_score="1e-300"))
    assert report.errors == 0
    assert "floor-never-binds" in by_rule(report)


def test_an_example_outside_the_range_is_told_the_range() -> None:
    """5000 is a whole number; what is wrong with it is its size."""
    text = policy('"true"', examples="{fail: [{knobs: {rrf_k: 5000}}]}") + acme()
    assert by_rule(checked(text))["bad-value"].message == (
        "examples.fail.0.knobs.rrf_k is 5000; it must be a whole number in 1 .. 1000"
    )


def test_infos_that_nobody_wants_are_not_kept() -> None:
    """They hold all that is known of their tenants; what presses is told all the same."""
    there = repository(acme(retrieval_min_score=0.1))
    whole, pressing = (check_repository(there, today=TODAY, infos=one) for one in (True, False))
    assert whole.later
    assert not pressing.later
    assert [one.rule for one in pressing.pressing] == ["floor-diverges-from-expanded-floor"]
    assert pressing.pressing == whole.pressing
