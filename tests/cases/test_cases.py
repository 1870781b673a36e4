"""The traps from public bug reports of peers (tests/data/cases.json), each through the real command.

A case's input is a translation; where it uses an option or a shape that the contract does not have,
its essence is kept and the docstring says how.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from knobctl.report.formats import FORMATS
from tests.report.hard import git
from tests.running import Knobctl, Result

CASES: dict[str, dict[str, Any]] = {
    case["id"]: case
    for case in json.loads((Path(__file__).parent.parent / "data" / "cases.json").read_text())
}
ELSEWHERE = {
    "diff-number-type-in-list": "tests/changes/test_diff.py: no knob is a list; the differ is tested on plain values",
    "diff-list-reorder": "no knob is a list, and a schema that declares one is refused",
    "diff-double-underscore-key": "tests/changes/test_diff.py",
    "diff-none-versus-missing": "tests/changes/test_diff.py",
    "diff-significant-digits-hides-sentinel": "tests/changes/test_diff.py",
    "pipe-two-runs-at-once": "tests/cli/test_apply.py",
    "pipe-partial-apply": "tests/cli/test_apply.py; --resume comes with fleets",
    "pipe-timeout-after-send": "tests/engine: the connection is cut after the write",
    "pipe-retry-does-not-duplicate": "tests/engine: 503, then a cut connection, then an answer",
    "pipe-conflict-does-not-teach-clobbering": "tests/cli/test_apply.py",
    "pipe-edit-keeps-hash-lines": "tests/cli/test_edit.py",
    "term-tui-markup-crash": "the terminal UI has its own issue",
    "term-tui-markup-action": "the terminal UI has its own issue",
}
HERE: dict[str, Callable[[Knobctl], None]] = {}


def case(function: Callable[[Knobctl], None]) -> Callable[[Knobctl], None]:
    """Register a test under its case's id: `yaml_nan` is `yaml-nan`."""
    HERE[function.__name__.replace("_", "-")] = function
    return function


def validated(knobctl: Knobctl, text: str, *options: str) -> Result:
    """Validate one document as JSON."""
    return knobctl("validate", knobctl.write("t.yaml", text), "--format", "json", *options)


def places(result: Result, rule: str) -> set[str]:
    """Every line:column that the findings of a rule name, related places included."""
    found = set()
    for finding in result.json["findings"]:
        if finding["rule"] == rule:
            found.add(f"{finding['line']}:{finding['column']}")
            found |= {f"{other['line']}:{other['column']}" for other in finding["related"]}
    return found


def finding(result: Result, rule: str) -> dict[str, Any]:
    """The first finding of a rule."""
    return next(one for one in result.json["findings"] if one["rule"] == rule)


def yaml_of(name: str) -> str:
    """A case's document."""
    text: str = CASES[name]["input"]["tenant_yaml"]
    return text


def given(knobctl: Knobctl, **knobs: object) -> list[str]:
    """An engine that holds a set for acme; the options that lead to it."""
    engine = ["--engine", f"embedded:{knobctl.folder}/e.db"]
    if knobs:
        path = knobctl.write("given/acme.yaml", json.dumps({"tenant": "acme", "knobs": knobs}))
        assert knobctl("apply", path, "--yes", "--reason", "given", *engine).code == 0
        path.unlink()
    return engine


def events(knobctl: Knobctl, engine: list[str]) -> list[dict[str, Any]]:
    """The audit events of acme."""
    found: list[dict[str, Any]] = knobctl("history", "acme", "--format", "json", *engine).json[
        "events"
    ]
    return found


def test_every_case_is_here_or_says_where() -> None:
    """No case is forgotten, and none is claimed twice."""
    assert HERE.keys() | ELSEWHERE.keys() == CASES.keys()
    assert not HERE.keys() & ELSEWHERE.keys()


@pytest.mark.parametrize("name", [name for name in CASES if name not in ELSEWHERE])
def test_case(name: str, knobctl: Knobctl) -> None:
    """The case has the outcome that its report asked for."""
    HERE[name](knobctl)


@case
def yaml_duplicate_key(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-duplicate-key"))
    assert result.code == 4
    assert places(result, "duplicate-key") == {"3:3", "5:3"}


@case
def yaml_two_merge_keys(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-two-merge-keys"))
    assert result.code == 4
    assert "6:3" in places(result, "duplicate-key")
    assert "list of aliases" in finding(result, "duplicate-key")["hint"]


@case
def yaml_merge_override_position(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-merge-override-position"))
    assert result.code == 4
    assert result.rules == ["out-of-range"]
    assert finding(result, "out-of-range")["field_path"] == "retrieval_min_score"
    assert places(result, "out-of-range") == {"2:24", "6:3"}


@case
def yaml_alias_shared_edit(knobctl: Knobctl) -> None:
    """Anchors end with their document, so two tenants cannot share one; the alias is inside one tenant here."""
    text = "x-base: &base\n  retrieval_min_score: 0.3\ntenant: b\nknobs: *base\n"
    path = knobctl.write("b.yaml", text)
    result = knobctl("set", "b", "retrieval_min_score=0.2", "--file", "--yes", *given(knobctl))
    if result.code == 0:
        assert path.read_text().startswith("x-base: &base\n  retrieval_min_score: 0.3\n")
    else:
        assert "edit-through-alias" in result.err + result.out
        assert path.read_text() == text


@case
def yaml_alias_bomb(knobctl: Knobctl) -> None:
    start = time.perf_counter()
    result = validated(knobctl, yaml_of("yaml-alias-bomb"))
    assert result.code == 4
    assert result.rules == ["yaml-limits"]
    assert time.perf_counter() - start < 5


@case
def yaml_alias_cycle(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-alias-cycle"))
    assert (result.code, result.rules) == (4, ["yaml-limits"])


@case
def yaml_octal_ambiguous(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-octal-ambiguous"))
    assert (result.code, result.rules) == (4, ["ambiguous-scalar"])
    one = finding(result, "ambiguous-scalar")
    assert "10" in one["message"]
    assert "8" in one["message"]
    assert "0o10" in one["hint"]


@case
def yaml_version_directive(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-version-directive"))
    assert (result.code, result.rules) == (4, ["unsupported-yaml"])
    assert places(result, "unsupported-yaml") == {"1:1"}


@case
def yaml_two_readings_warning(knobctl: Knobctl) -> None:
    """No --strict-yaml: `no` as a tenant warns, `1:30` as a knob's value is an error, `1e-3` is silently a number."""
    text = "tenant: no\nlabels: {window: 1:30}\nknobs:\n  retrieval_min_score: 1e-3\n"
    result = validated(knobctl, text)
    assert result.code == 0
    assert places(result, "ambiguous-scalar") == {"1:9", "2:18"}
    assert {one["severity"] for one in result.json["findings"]} == {"warning"}
    assert validated(knobctl, "tenant: a\nknobs: {rrf_k: 1:30}\n").code == 4


@case
def yaml_exponent_without_dot(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0.001)
    path = knobctl.write("acme.yaml", yaml_of("yaml-exponent-without-dot"))
    result = knobctl("diff", path, "--format", "json", *engine)
    assert result.code == 0
    assert result.json["tenants"][0]["changes"] == []


@case
def yaml_nan(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-nan"))
    assert (result.code, result.rules, places(result, "not-finite")) == (
        4,
        ["not-finite"],
        {"3:24"},
    )


@case
def yaml_overflow_literal(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-overflow-literal"))
    assert (result.code, result.rules) == (4, ["not-finite"])
    assert "1e400" in finding(result, "not-finite")["message"]


@case
def yaml_underflow_to_sentinel(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-underflow-to-sentinel"))
    assert (result.code, result.rules) == (4, ["underflow-to-zero"])
    assert "platform default" in finding(result, "underflow-to-zero")["message"]


@case
def yaml_norway_tenant_key(knobctl: Knobctl) -> None:
    """No `tenants:` map: the tenant id is the value of `tenant:`."""
    path = knobctl.write("t.yaml", "tenant: no\nknobs:\n  retrieval_min_score: 0.3\n")
    assert knobctl("fmt", path).code == 0
    assert path.read_text() == "tenant: 'no'\nknobs:\n  retrieval_min_score: 0.3\n"
    assert knobctl("resolve", "no", "--format", "json").json["tenants"][0]["tenant"] == "no"


@case
def yaml_tab_indent(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-tab-indent"))
    assert (result.code, result.rules, places(result, "yaml-syntax")) == (
        4,
        ["yaml-syntax"],
        {"3:1"},
    )
    assert "tab" in finding(result, "yaml-syntax")["message"]
    assert "spaces" in finding(result, "yaml-syntax")["hint"]


@case
def yaml_tab_separator(knobctl: Knobctl) -> None:
    assert validated(knobctl, yaml_of("yaml-tab-separator")).code == 0


@case
def yaml_bom(knobctl: Knobctl) -> None:
    """A near miss of a kind key is `unknown-document` by the contract."""
    result = validated(knobctl, "\ufeff" + yaml_of("yaml-bom"))
    assert (result.code, result.rules, places(result, "unknown-document")) == (
        4,
        ["unknown-document"],
        {"1:1"},
    )
    one = finding(result, "unknown-document")
    assert "tenant" in (one["hint"] or "") + one["message"].replace("tennant", "")


@case
def yaml_crlf_roundtrip(knobctl: Knobctl) -> None:
    path = knobctl.write("acme.yaml", yaml_of("yaml-crlf-roundtrip"))
    result = knobctl("set", "acme", "retrieval_min_score=0.2", "--file", "--yes")
    assert result.code == 0, result.err
    assert path.read_bytes().decode() == CASES["yaml-crlf-roundtrip"]["expected"]["file_after"]


@case
def yaml_multi_document(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-multi-document"))
    assert result.code == 0
    assert result.json["summary"]["tenants"] == 2


@case
def yaml_empty_file(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0.15, retrieval_vector_top_k=32)
    path = knobctl.write("acme.yaml", "")
    assert knobctl("apply", path, "--yes", "--reason", "x", *engine).code == 4
    assert len(events(knobctl, engine)) == 1
    assert validated(knobctl, "").rules == ["empty-document"]


@case
def yaml_broken_becomes_empty_target(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0.15)
    path = knobctl.write("acme.yaml", yaml_of("yaml-broken-becomes-empty-target"))
    assert knobctl("apply", path, "--yes", "--reason", "x", *engine).code == 4
    assert len(events(knobctl, engine)) == 1
    assert "yaml-syntax" in validated(knobctl, yaml_of("yaml-broken-becomes-empty-target")).rules


@case
def yaml_null_value(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-null-value"))
    assert (result.code, result.rules) == (4, ["wrong-type"])
    assert "leave" in finding(result, "wrong-type")["hint"]


@case
def yaml_executable_tag(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("yaml-executable-tag"))
    assert (result.code, result.rules, places(result, "unsupported-yaml")) == (
        4,
        ["unsupported-yaml"],
        {"2:8"},
    )


@case
def roundtrip_delete_key_comment(knobctl: Knobctl) -> None:
    """`rerank_top_k` is no knob of ours; `rrf_k` stands in."""
    text = yaml_of("roundtrip-delete-key-comment").replace("rerank_top_k", "rrf_k")
    path = knobctl.write("acme.yaml", text)
    result = knobctl("unset", "acme", "retrieval_vector_top_k", "--file", "--yes")
    assert result.code == 0, result.err
    wanted = CASES["roundtrip-delete-key-comment"]["expected"]["file_after"]
    assert path.read_text() == wanted.replace("rerank_top_k", "rrf_k")


@case
def roundtrip_noop_is_byte_identical(knobctl: Knobctl) -> None:
    text = yaml_of("roundtrip-noop-is-byte-identical")
    path = knobctl.write("acme.yaml", text)
    assert knobctl("set", "acme", "retrieval_min_score=0.3", "--file", "--yes").code == 0
    assert path.read_text() == text


@case
def roundtrip_quotes_guard_other_readers(knobctl: Knobctl) -> None:
    """`mode` is no field of ours; a label stands in."""
    text = yaml_of("roundtrip-quotes-guard-other-readers").replace(
        'mode: "on"', 'labels: {mode: "on"}'
    )
    path = knobctl.write("acme.yaml", text)
    assert knobctl("set", "acme", "retrieval_min_score=0.2", "--file", "--yes").code == 0
    changed = [
        number
        for number, (old, new) in enumerate(
            zip(text.splitlines(), path.read_text().splitlines(), strict=True), 1
        )
        if old != new
    ]
    assert changed == [4]


@case
def roundtrip_small_float_spelling(knobctl: Knobctl) -> None:
    path = knobctl.write("acme.yaml", yaml_of("roundtrip-small-float-spelling"))
    assert knobctl("set", "acme", "retrieval_min_score=0.00001", "--file", "--yes").code == 0
    assert "retrieval_min_score: 0.00001\n" in path.read_text()


@case
def number_bool_is_not_int(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("number-bool-is-not-int"))
    assert (result.code, result.rules) == (4, ["wrong-type"])


@case
def number_quoted(knobctl: Knobctl) -> None:
    """No --fix: the hint says what to do."""
    result = validated(knobctl, yaml_of("number-quoted"))
    assert (result.code, result.rules) == (4, ["wrong-type"])
    assert "quotes" in finding(result, "wrong-type")["hint"]


@case
def number_integer_valued_float(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_vector_top_k=8)
    path = knobctl.write("acme.yaml", yaml_of("number-integer-valued-float"))
    result = knobctl("diff", path, "--format", "json", *engine)
    assert (result.code, result.json["tenants"][0]["changes"]) == (0, [])


@case
def number_negative_zero(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("number-negative-zero"))
    assert (result.code, result.rules) == (4, ["negative-zero"])
    assert "platform default" in finding(result, "negative-zero")["message"]


@case
def number_decimal_comma(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("number-decimal-comma"))
    assert (result.code, result.rules, places(result, "wrong-type")) == (
        4,
        ["wrong-type"],
        {"3:24"},
    )
    assert "point" in finding(result, "wrong-type")["hint"]


@case
def diff_non_string_key(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("diff-non-string-key"))
    assert result.code == 4
    assert places(result, "unsupported-yaml") == {"3:13"}


@case
def diff_root_type_change(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("diff-root-type-change"))
    assert (result.code, result.rules, places(result, "unknown-document")) == (
        4,
        ["unknown-document"],
        {"1:1"},
    )


@case
def diff_defaults_filled_by_server(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0, retrieval_vector_top_k=32)
    path = knobctl.write("acme.yaml", yaml_of("diff-defaults-filled-by-server"))
    result = knobctl("diff", path, "--format", "json", *engine)
    assert (result.code, result.json["tenants"][0]["changes"]) == (0, [])
    assert (
        knobctl("get", "acme", "--format", "json", *engine).json["tenants"][0]["effective"][
            "retrieval_min_score"
        ]
        == 0.3
    )


@case
def diff_full_replace_omission(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0.15, retrieval_vector_top_k=32)
    path = knobctl.write("acme.yaml", yaml_of("diff-full-replace-omission"))
    change = knobctl("diff", path, "--format", "json", *engine).json["tenants"][0]["changes"]
    assert [(one["field_path"], one["op"], one["before"], one["after"]) for one in change] == [
        ("retrieval_vector_top_k", "reset", 32, 0)
    ]
    lines = knobctl("diff", path, *engine).out.splitlines()
    assert lines[1].split()[:2] == ["reset", "retrieval_vector_top_k"]


@case
def pipe_prompt_without_tty(knobctl: Knobctl) -> None:
    engine = given(knobctl)
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    result = knobctl("apply", path, *engine)
    assert result.code == 6
    assert "--yes" in result.err
    assert result.out == ""
    assert events(knobctl, engine) == []


@case
def pipe_prompt_answered_by_pipe(knobctl: Knobctl) -> None:
    engine = given(knobctl)
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    assert knobctl("apply", path, *engine, stdin="y\n").code == 6
    assert events(knobctl, engine) == []


@case
def pipe_exit_same_for_every_format(knobctl: Knobctl) -> None:
    """All formats, gitlab too."""
    path = knobctl.write("acme.yaml", yaml_of("pipe-exit-same-for-every-format"))
    asked = CASES["pipe-exit-same-for-every-format"]["input"]["formats"]
    assert {*asked, "gitlab"} == {*FORMATS}
    assert {knobctl("check", path, "--format", name).code for name in FORMATS} == {4}


@case
def pipe_pr_comment_limit(knobctl: Knobctl) -> None:
    """--format where the case says --output; 60,000 characters, as the contract has it.

    A diff has no findings: those that are kept are a check's.
    """
    tenants = CASES["pipe-pr-comment-limit"]["input"]["tenants_changed"]

    def lay(text: str) -> None:
        for start in range(0, tenants, 500):
            documents = (text.format(number) for number in range(start, start + 500))
            knobctl.write(f"tenants/{start}.yaml", "---\n".join(documents))

    lay("tenant: t{0}\nknobs: {{retrieval_vector_top_k: 32, rrf_k: 60}}\n")
    git(knobctl.folder, "init", "-q", ".")
    git(knobctl.folder, "add", ".")
    git(knobctl.folder, "commit", "-qm", "before")
    lay("tenant: t{0}\nknobs: {{retrieval_min_score: 0.4{0:04}, rrf_k: 60}}\n")
    for command, path, counts, findings in (
        ("diff", "tenants", "### 5,000 tenants, 10,000 fields, 5,000 of them resets", 0),
        ("check", "tenants/0.yaml", "### Passes: 1,500 warnings", 20),
    ):
        result = knobctl(command, path, "--base", "main", "--format", "markdown")
        assert result.code == 0, result.err
        assert len(result.out) <= 60_000
        assert counts in result.out
        assert "| **reset** | `retrieval_vector_top_k` | `32` | default `50` | `t0`, " in result.out
        assert result.out.count("**warning** `floor-above-vector-ceiling`") >= findings
        last = result.out.splitlines()[-1]
        assert last.startswith("Left out: ")
        assert re.search(rf"The full report: `knobctl {command}.* --output json=FILE`$", result.out)


@case
def pipe_sarif_position(knobctl: Knobctl) -> None:
    """An empty file has no line to point at."""
    knobctl.write("empty.yaml", "")
    knobctl.write("t.yaml", "tenant: t\nknobs: {retrieval_min_score: 0.45}\n")
    run = knobctl("check", ".", "--format", "sarif").json["runs"][0]
    places = {
        result["ruleId"]: result["locations"][0]["physicalLocation"] for result in run["results"]
    }
    assert places["empty-document"] == {
        "artifactLocation": {"uri": "empty.yaml", "uriBaseId": "%SRCROOT%"}
    }
    assert places["floor-above-vector-ceiling"]["region"]["startLine"] == 2
    assert min(place.get("region", {}).get("startLine", 1) for place in places.values()) == 1


@case
def pipe_exit_not_last_file_wins(knobctl: Knobctl) -> None:
    bad = knobctl.write("a.yaml", "tenant: a\nknobs: {retrieval_min_score: 1.7}\n")
    good = knobctl.write("b.yaml", "tenant: b\nknobs: {retrieval_min_score: 0.3}\n")
    assert knobctl("validate", bad, good).code == 4
    assert knobctl("validate", good, bad).code == 4


@case
def pipe_usage_error_is_not_a_diff(knobctl: Knobctl) -> None:
    assert knobctl("diff", "-f").code == 2
    assert knobctl("diff", "--format").code == 2


@case
def pipe_nothing_checked_is_not_ok(knobctl: Knobctl) -> None:
    """No --policy, and no option for a minimum: what ran on how many tenants is said, and counted in JSON.

    Zero policies cannot be: those that are built in are always there. A misspelt folder, a glob that
    matches nothing, and a folder without documents fail; a layer alone, of which no policy is asked, says so.
    """
    knobctl.write("empty/readme.txt", "nothing here")
    for path in ("tenats", "tenats/*.yaml", "empty"):
        result = knobctl("check", path)
        assert result.code == 2
        assert path in result.err
    knobctl.write("a.yaml", "tenant: a\nknobs: {rrf_k: 30}\n")
    assert re.search(r"^1 tenant, \d+ policies: ", knobctl("check", "a.yaml").out, re.MULTILINE)
    summary = knobctl("check", "a.yaml", "--format", "json").json["summary"]
    assert (summary["tenants"], summary["policies"] > 15) == (1, True)
    alone = knobctl("check", knobctl.write("l.yaml", "layer: l\nknobs: {rrf_k: 30}\n"))
    assert alone.out.startswith("0 tenants, ")
    assert "no policy was asked" in alone.err


@case
def pipe_plan_applied_twice(knobctl: Knobctl) -> None:
    engine = given(knobctl)
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    assert knobctl("plan", path, "-o", "p.json", "--exit-code", *engine).code == 3
    assert knobctl("apply", "p.json", *engine).code == 0
    assert knobctl("apply", "p.json", *engine).code == 7
    assert len(events(knobctl, engine)) == 1


@case
def pipe_plan_stale(knobctl: Knobctl) -> None:
    engine = given(knobctl, retrieval_min_score=0.15)
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    assert knobctl("plan", path, "-o", "p.json", *engine).code == 0
    assert (
        knobctl("set", "acme", "rrf_k=30", "--yes", "--reason", "somebody else", *engine).code == 0
    )
    result = knobctl("apply", "p.json", *engine)
    assert result.code == 7
    assert "rrf_k" in result.err + result.out
    assert len(events(knobctl, engine)) == 2


WAIVER = "waiver: w\nrule: {rule}\ntenants: [acme]\nreason: r\napproved_by: p\nexpires: {expires}\n"


@case
def pipe_waiver_expiry_everywhere(knobctl: Knobctl) -> None:
    """An expired waiver is an error wherever findings are made; the TUI has its own issue."""
    engine = given(knobctl)
    knobctl.write("w.yaml", WAIVER.format(rule="floor-above-vector-ceiling", expires="2020-01-31"))
    knobctl.write(
        "acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.45, gate_expanded_floor: 0.45}\n"
    )
    result = knobctl("check", ".", "--format", "json")
    assert result.code == 4
    assert finding(result, "waiver-expired")["severity"] == "error"
    assert knobctl("plan", ".", *engine).code == 4
    assert knobctl("apply", ".", "--yes", "--reason", "x", *engine).code == 4
    drift = knobctl("drift", ".", *engine)
    assert (drift.code, "waiver-expired" in drift.out) == (4, True)
    assert "the waiver w expired" in drift.out
    assert events(knobctl, engine) == []


@case
def pipe_waiver_unused(knobctl: Knobctl) -> None:
    knobctl.write("w.yaml", WAIVER.format(rule="floor-above-vector-ceiling", expires="2099-12-31"))
    knobctl.write(
        "acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2, gate_expanded_floor: 0.2}\n"
    )
    result = knobctl("check", ".", "--format", "json", "--fail-on", "warning")
    assert result.code == 5
    assert result.json["summary"]["waived"] == 0
    assert "waiver-unused" in result.rules


@case
def pipe_waiver_covers_warnings(knobctl: Knobctl) -> None:
    knobctl.write("w.yaml", WAIVER.format(rule="zero-means-default", expires="2099-12-31"))
    knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0}\n")
    result = knobctl("check", ".", "--format", "json", "--fail-on", "warning")
    assert result.code == 0
    assert [
        one["waived_by"] for one in result.json["findings"] if one["rule"] == "zero-means-default"
    ] == ["w"]


@case
def pipe_parallelism_bounds(knobctl: Knobctl) -> None:
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    for number in ("0", "-1", "ten"):
        assert knobctl("apply", path, "--parallelism", number).code == 2


@case
def pipe_environment_exfiltration(knobctl: Knobctl) -> None:
    """`reason` is no field of a tenant; `owner` stands in."""
    text = yaml_of("pipe-environment-exfiltration").replace("reason:", "owner:")
    path = knobctl.write("acme.yaml", text)
    result = knobctl("plan", path, "--format", "json", *given(knobctl), PROD_API_TOKEN="s3cret")
    assert result.code == 0
    assert "s3cret" not in result.out + result.err
    assert "${PROD_API_TOKEN}" in path.read_text()


@case
def pipe_second_apply_is_noop(knobctl: Knobctl) -> None:
    engine = given(knobctl)
    path = knobctl.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
    for _ in range(2):
        assert knobctl("apply", path, "--yes", "--reason", "x", *engine).code == 0
    assert len(events(knobctl, engine)) == 1


@case
def term_escape_in_value(knobctl: Knobctl) -> None:
    """`reason` is no field of a tenant; `owner` and a label stand in."""
    text = yaml_of("term-escape-in-value").replace("reason:", "owner:")
    path = knobctl.write("acme.yaml", text)
    engine = given(knobctl)
    for command in (
        ["validate", path],
        ["check", path],
        ["diff", path, *engine],
        ["resolve", "acme"],
    ):
        result = knobctl(*command)
        assert "\x1b" not in result.out + result.err
        assert "\r" not in result.out + result.err
    assert "invisible-characters" in validated(knobctl, text).rules


@case
def term_homoglyph_key(knobctl: Knobctl) -> None:
    result = validated(knobctl, yaml_of("term-homoglyph-key"))
    assert (result.code, result.rules) == (4, ["unknown-knob"])
    one = finding(result, "unknown-knob")
    assert "U+0435" in one["message"]
    assert "retrieval_min_score" in one["hint"] + one["message"]


@case
def term_markdown_injection(knobctl: Knobctl) -> None:
    """Such a name is refused, and shown; the diff, which has only real names, is stopped by it."""
    knobctl.write("t.yaml", yaml_of("term-markdown-injection"))
    for command in (["diff", "--base", "HEAD"], ["check"]):
        git(knobctl.folder, "init", "-q", ".")
        git(knobctl.folder, "commit", "-q", "--allow-empty", "-m", "before")
        result = knobctl(*command, "--format", "markdown")
        assert result.code == 4
        assert "@ops-team" in result.out
        outside = re.sub(r"```.*?```|`[^`\n]*`|<code>.*?</code>", "", result.out, flags=re.DOTALL)
        assert not re.search(r"@|://|<img|\]\(|\|", outside)
