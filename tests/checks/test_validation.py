"""What is wrong with a document, in words and at its place."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import knobctl
from knobctl.checks import validate
from knobctl.checks.judging import validate_repository
from knobctl.checks.rules import RULES
from knobctl.finding import Finding, Severity
from knobctl.knobs import load_catalogue
from tests.checks.documents import place, repository

FLOOR = "tenant: acme\nknobs:\n  retrieval_min_score: {}\n"


def found(text: str) -> list[Finding]:
    """The findings of a text."""
    return validate(text, "t.yaml")


@pytest.mark.parametrize(
    ("written", "rule", "words"),
    [
        ("true", "wrong-type", "is true, a truth value"),
        ('"0.3"', "wrong-type", "remove the quotes: 0.3"),
        ("0,3", "wrong-type", "write a decimal point, not a comma: 0.3"),
        ("null", "wrong-type", "leave the key out to inherit"),
        ("", "wrong-type", "write the value to pin it"),
        ("[0.3]", "wrong-type", "remove the brackets: 0.3"),
        ("[]", "wrong-type", "is a list"),
        ("{}", "wrong-type", "is a mapping"),
        ("30%", "wrong-type", "write 0.3"),
        ("high", "wrong-type", 'is the text "high"'),
        ("1.5", "out-of-range", "the platform default is 0.3"),
        ("20", "out-of-range", "if 20 % is meant, write 0.2"),
        ("-0.1", "out-of-range", "write 0.0001 for practically no floor"),
        ("1.0000001", "out-of-range", "in 0 .. 1 (normalised fused score)"),
        (".nan", "not-finite", ".nan"),
        ("1e400", "not-finite", "1e400"),
        ("1e-400", "underflow-to-zero", "platform default"),
        ("-0.0", "negative-zero", "platform default"),
        ("no", "ambiguous-scalar", "YAML 1.1"),
        ("off", "ambiguous-scalar", "what this one takes: knobctl explain retrieval_min_score"),
        ("010", "ambiguous-scalar", "0o10"),
        ("1:30", "ambiguous-scalar", "90"),
    ],
)
def test_a_value_that_is_none_has_one_finding_at_the_value(
    written: str, rule: str, words: str
) -> None:
    """One fault, one finding: whatever the reader tells, the schema does not tell again."""
    (finding,) = found(FLOOR.format(written))
    assert (finding.rule, finding.severity) == (rule, Severity.ERROR)
    assert place(finding) == ("3:24" if written else "3:23")
    assert (finding.tenant, finding.field_path) == ("acme", "retrieval_min_score")
    assert words in f"{finding.message} {finding.hint}"


@pytest.mark.parametrize(
    "written", ["0.0001", "1e-3", "0", "0.0", "1", ".5", "0.33333333333333333", "0.30", "+0.3"]
)
def test_a_legal_number_has_no_finding(written: str) -> None:
    """Every spelling of a number inside the range is fine, a literal 0 included."""
    assert found(FLOOR.format(written)) == []


@pytest.mark.parametrize(
    ("knob", "words"),
    [
        ("rrf_k: 8.5", "it must be a whole number in 1 .. 1000"),
        ("rrf_k: 1001", "or 0 for the default"),
        (
            "rrf_weight_vector: 0.001",
            "practically off: write 0.01 to make the ranker nearly silent",
        ),
        ("rrf_weight_recency: 0.001", "practically off: recency_ranker_mode DISABLED"),
        ("recency_ranker_mode: enabled", "write ENABLED, in capitals"),
        ("recency_ranker_mode: off-ish", "it must be ENABLED or DISABLED"),
        ("recency_ranker_mode: false", "write DISABLED"),
        ("recency_ranker_mode: 1", "is the number 1; it must be ENABLED or DISABLED"),
        ("recency_ranker_mode:", "leave the key out to inherit"),
    ],
)
def test_the_words_know_the_knob(knob: str, words: str) -> None:
    """Range, unit, default, modes and the way to switch off come from the schema."""
    (finding,) = found(f"tenant: a\nknobs:\n  {knob}\n")
    assert words in f"{finding.message} {finding.hint}"


def test_a_whole_number_may_have_a_point() -> None:
    """8.0 is a legal value of an integer knob."""
    assert found("tenant: a\nknobs: {retrieval_vector_top_k: 8.0}\n") == []


def test_an_unknown_knob_names_the_nearest_one_at_its_key() -> None:
    """The place is the key, and so is the field path."""
    (finding,) = found("tenant: a\nknobs:\n  retrieval_min_scroe: 0.3\n")
    assert (finding.rule, place(finding), finding.hint) == (
        "unknown-knob",
        "3:3",
        "did you mean retrieval_min_score?",
    )
    assert finding.primary is not None
    assert finding.primary.end_column == 22


def test_letters_that_only_look_alike_are_named() -> None:
    """A Cyrillic letter would give "unknown X, did you mean X": its code point is told."""
    (finding,) = found("tenant: a\nknobs:\n  r\u0435trieval_min_score: 0.3\n")
    assert "\u0435 is U+0435 CYRILLIC SMALL LETTER IE" in finding.message
    assert finding.hint == "did you mean retrieval_min_score?"


def test_both_spellings_of_one_knob_are_an_error() -> None:
    """The wire's name and ours are one knob; neither value is used."""
    (finding,) = found("tenant: a\nknobs:\n  rrf_k: 30\n  rrfK: 60\n")
    assert (finding.rule, place(finding), finding.field_path) == ("unknown-knob", "4:3", "rrf_k")
    assert [(related.location.line, related.location.column) for related in finding.related] == [
        (3, 3)
    ]


def test_the_wires_spelling_is_read_and_judged() -> None:
    """lowerCamelCase is a second spelling of every knob, in YAML and in JSON; its values are judged alike."""
    catalogue = load_catalogue()
    knobs = {knob.json_name: knob.default for knob in catalogue}
    assert found(json.dumps({"tenant": "a", "knobs": knobs})) == []
    (finding,) = found("tenant: a\nknobs: {retrievalMinScore: 1.5}\n")
    assert (finding.rule, finding.field_path) == ("out-of-range", "retrieval_min_score")


def test_a_value_through_an_alias_is_told_at_its_anchor_and_where_it_arrives() -> None:
    """A merged key has no place of its own; nothing crashes over it."""
    text = (
        "x-t: &t\n  retrieval_min_score: 7\n  rrf_k: 3\ntenant: a\nknobs:\n  <<: *t\n  rrf_k: 16\n"
    )
    (finding,) = found(text)
    assert (finding.rule, place(finding)) == ("out-of-range", "2:24")
    assert [related.message for related in finding.related] == [
        "the value arrives through the merge or alias at 6:3"
    ]


@pytest.mark.parametrize(
    ("text", "rule", "at", "words"),
    [
        ("tenant: a\n", "missing-field", "1:9", "neither knobs nor layers"),
        ("tenant: a\nknobs:\n", "wrong-type", "2:7", "knobs: {}"),
        ("tenant: a\nknobs: []\n", "wrong-type", "2:8", "must be a mapping"),
        ("tenant: 3\nknobs: {}\n", "wrong-type", "1:9", "quote it: '3'"),
        ("tenant: a\nknobs: {}\nownr: b\n", "unknown-field", "3:1", "did you mean owner?"),
        ("tenant: a\nknobs: {}\nrrf_k: 3\n", "unknown-field", "3:1", "it is a knob"),
        ("tenant: a\nknobs: {}\nversion: 2\n", "bad-value", "3:10", "it must be 1"),
        ("tenant: a\nknobs: {}\nlabels: {a: 1}\n", "wrong-type", "3:13", "quote it: '1'"),
        ("tenant: a\nknobs: {}\nevidence: [../x]\n", "bad-value", "3:12", "inside the repository"),
        ("tenant: a\nknobs: {}\nevidence: [/x]\n", "bad-value", "3:12", "inside the repository"),
        ("layer: a\n", "missing-field", "1:8", "has no knobs"),
        ("layer: a\nknobs: {}\nlayers: [b]\n", "unknown-field", "3:1", "layers"),
        ("fleet: a\nlimits: {max_share: 10}\n", "wrong-type", "2:21", "such as 10%"),
        ("fleet: a\nlimits: {max_tenant: 1}\n", "unknown-field", "2:10", "max_tenants"),
        ("fleet: a\nlimits: {largest_step: {rrf_q: 1}}\n", "unknown-knob", "2:25", "rrf_k"),
        ("fleet: a\nevidence: {required_for: [rrf_q]}\n", "unknown-knob", "2:27", "rrf_k"),
        ("fleet: a\nfreeze: [{name: x, from: 2020-01-01, to: 2020-01-02}]\n", "bad-value", "2:26", "zone"),
        (
            "fleet: a\nfreeze: [{name: x, from: 2099-01-02T00:00:00Z, to: 2099-01-01T00:00:00Z}]\n",
            "bad-value", "2:52", "ends before it begins",
        ),
        (
            "fleet: a\nfreeze: [{name: x, from: 2099-02-30T00:00:00Z, to: 2099-03-01T00:00:00Z}]\n",
            "bad-value", "2:26", "no such time",
        ),
    ],
)  # fmt: skip
def test_every_other_field_is_judged_at_its_place(
    text: str, rule: str, at: str, words: str
) -> None:
    """What is, what must be, what to write, and where."""
    report = validate_repository(repository(text))
    assert (rule, at) in [(finding.rule, place(finding)) for finding in report.findings]
    assert any(words in f"{finding.message} {finding.hint}" for finding in report.findings)
    assert all(finding.severity is Severity.ERROR for finding in report.findings)


WAIVER = "waiver: w\nrule: {rule}\ntenants: [a]\nreason: r\napproved_by: p\nexpires: {expires}\n"


@pytest.mark.parametrize(
    ("rule", "expires", "expected", "at"),
    [
        ("gate-order", "2099-02-30", "bad-value", "6:10"),
        ("gate-order", "2099-3-1", "bad-value", "6:10"),
        ("gate-orders", "2099-03-01", "unknown-rule", "2:7"),
        ("out-of-range", "2099-03-01", "unknown-rule", "2:7"),
        ("evidence-missing", "2099-03-01", None, ""),
        ("gate-order", "2099-03-01", None, ""),
    ],
)
def test_a_waiver_names_a_rule_that_can_be_waived_and_a_day_that_exists(
    rule: str, expires: str, expected: str | None, at: str
) -> None:
    """What the engine would refuse cannot be waived, and a typing error in a rule is not silence."""
    report = validate_repository(repository(WAIVER.format(rule=rule, expires=expires)))
    assert [(finding.rule, place(finding)) for finding in report.findings] == (
        [(expected, at)] if expected else []
    )


def test_a_waiver_lacks_what_makes_it_one() -> None:
    """reason, approved_by and expires are mandatory, and it says for whom it is."""
    report = validate_repository(repository("waiver: w\nrule: gate-order\n"))
    messages = [finding.message for finding in report.findings]
    for missing in (
        "has no reason",
        "has no approved_by",
        "has no expires",
        "neither tenants nor labels",
    ):
        assert any(missing in message for message in messages), missing


def test_a_waiver_is_for_tenants_or_for_labels() -> None:
    """Both at once would leave open whether one or all of them must hold."""
    text = WAIVER.format(rule="gate-order", expires="2099-01-01") + "labels: {a: b}\n"
    (finding,) = validate_repository(repository(text)).findings
    assert (finding.rule, place(finding)) == ("bad-value", "7:1")


def test_a_broken_policy_is_found_by_validate() -> None:
    """Policies are compiled whenever they are looked at: the place is inside the YAML."""
    text = "policy: p\nseverity: error\nwhen: effective.rrf_kk > 3\nmessage: x\n"
    (finding,) = validate_repository(repository(text)).findings
    assert (finding.rule, place(finding)) == ("policy-error", "3:17")
    assert "did you mean rrf_k?" in finding.message


def test_every_document_of_a_file_is_judged() -> None:
    """The second of two documents is as good as the first."""
    findings = found("tenant: a\nknobs: {rrf_k: 0.5}\n---\ntenant: b\nknobs: {rrf_k: true}\n")
    assert [(finding.tenant, place(finding)) for finding in findings] == [
        ("a", "2:16"),
        ("b", "5:16"),
    ]


def test_findings_stand_in_the_order_of_the_text() -> None:
    """File, line, column; whoever found them."""
    findings = found("tenant: a\nknobs:\n  rrf_k: .nan\n  nope: 1\n  mmr_lambda: true\nextra: 1\n")
    lines = [finding.primary.line for finding in findings if finding.primary]
    assert lines == [3, 4, 5, 6]


def test_every_rule_that_validation_gives_is_in_the_table() -> None:
    """The table of rules is the reference: nothing is emitted that it does not explain."""
    texts = [
        FLOOR.format(value) for value in ("true", "1.5", ".nan", "1e-400", "-0.0", "no", "x\u200b")
    ]
    texts += [
        "", "- a\n", "tenant: a\n", "tenant: A\nknobs: {nope: 1}\n", "tenant: a\nknobs: [\n",
        "tenant: a\nknobs: {rrf_k: 1, rrf_k: 2}\n", "a: &a [*a]\n", "%YAML 1.1\n---\na: 1\n",
        "tenant: a\nlayers: [b, b]\nzz: 1\nversion: 3\n", "waiver: w\n",
    ]  # fmt: skip
    for text in texts:
        for finding in validate_repository(repository(text)).findings:
            assert finding.rule in RULES, finding.rule
            assert finding.severity in RULES[finding.rule].severities, finding


def test_the_python_door_is_typed_and_short() -> None:
    """`knobctl.validate(text, source=...)` gives findings; another schema is an argument."""
    (finding,) = knobctl.validate("tenant: a\nknobs: {rrf_k: 0.5}\n", source="tenants/acme.yaml")
    assert finding.primary is not None
    assert finding.primary.file == "tenants/acme.yaml"
    named: list[knobctl.Finding] = [finding]  # what callers annotate with
    assert isinstance(named[0], knobctl.Finding)
    assert isinstance(knobctl.load_catalogue(), knobctl.Catalogue)


def test_the_checkout_itself_checks_clean() -> None:
    """From its root as well: what lies there beside the example fleet is no knob repository."""
    root = Path(__file__).parents[2]
    report = knobctl.check(["."], cwd=root)
    assert (report.errors, report.tenants) == (0, 6)


def test_check_reads_files_as_the_command_does(tmp_path: Path) -> None:
    """`knobctl.check(paths)` gives the report, with places relative to the working folder."""
    (tmp_path / "a.yaml").write_text("tenant: a\nknobs: {retrieval_min_score: 0.45}\n")
    report = knobctl.check(["a.yaml"], cwd=tmp_path)
    assert isinstance(report, knobctl.Report)
    assert report.tenants == 1
    assert report.policies >= 17
    assert "floor-above-vector-ceiling" in [finding.rule for finding in report.findings]
    assert {finding.primary.file for finding in report.findings if finding.primary} == {"a.yaml"}
