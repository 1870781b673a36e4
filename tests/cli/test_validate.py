"""`knobctl validate`, as a user runs it."""

from __future__ import annotations

import json
import subprocess

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of
from tests.running import Knobctl

GOOD = "tenant: a\nknobs: {retrieval_min_score: 0.3}\n"
BAD = "tenant: b\nknobs: {retrieval_min_score: 1.7}\n"


def test_good_documents_are_told_in_one_line(inside: Inside) -> None:
    """The working folder is the default PATH; what was looked at is counted."""
    inside.write("tenants/a.yaml", GOOD)
    inside.write("layers/l.yaml", "layer: l\nknobs: {}\n")
    result = inside("validate")
    assert (result.code, result.out, result.err) == (0, "1 tenant in 2 files: no findings\n", "")


def test_a_fault_exits_4_and_names_its_place(inside: Inside) -> None:
    """File, line and column as an editor opens them."""
    inside.write("tenants/b.yaml", BAD)
    result = inside("validate", "tenants")
    assert result.code == 4
    assert result.out.startswith("tenants/b.yaml:2:30  error  out-of-range\n")


def test_the_json_is_the_contracts(inside: Inside) -> None:
    """Counts, outcome and code; the schema that ships accepts it."""
    inside.write("b.yaml", BAD)
    inside.write("a.yaml", GOOD)
    result = inside("validate", "--format", "json")
    answer = result.json
    assert faults_of(answer, "output-findings.v1.schema.json") == []
    assert (answer["command"], answer["outcome"], answer["exit_code"], result.code) == (
        "validate", "findings", 4, 4,
    )  # fmt: skip
    assert answer["summary"] == {
        "files": 2, "tenants": 2, "policies": 0, "errors": 1, "warnings": 0, "infos": 0, "waived": 0,
        "standing": 0,
    }  # fmt: skip
    (finding,) = answer["findings"]
    assert (finding["file"], finding["line"], finding["column"], finding["end_column"]) == (
        "b.yaml", 2, 30, 33,
    )  # fmt: skip


@pytest.mark.parametrize("order", [("a.yaml", "b.yaml"), ("b.yaml", "a.yaml")])
def test_the_order_of_files_decides_nothing(inside: Inside, order: tuple[str, str]) -> None:
    """One bad file fails the run, first or last; findings come in the order of the files' names."""
    inside.write("a.yaml", GOOD)
    inside.write("b.yaml", BAD)
    assert inside("validate", *order).code == 4


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ((), 4),
        (("--format", "json"), 4),
        (("-q",), 4),
        (("-v",), 4),
        (("--color", "always"), 4),
        (("--exit-zero",), 0),
        (("--ignore", "out-of-range"), 4),
        (("--select", "wrong-type"), 4),
    ],
)
def test_the_code_is_the_same_for_every_format_and_verbosity(
    inside: Inside, options: tuple[str, ...], code: int
) -> None:
    """What is shown decides nothing; --exit-zero alone does."""
    inside.write("b.yaml", BAD)
    assert inside("validate", *options).code == code


def test_select_and_ignore_are_for_display(inside: Inside) -> None:
    """The summary counts what is not shown; a rule that does not exist is a usage error with a hint."""
    inside.write("b.yaml", BAD + "ownr: x\n")
    selected = inside("validate", "--select", "unknown-field", "--format", "json").json
    assert [one["rule"] for one in selected["findings"]] == ["unknown-field"]
    assert selected["summary"]["errors"] == 2
    ignored = inside("validate", "--ignore", "unknown-field")
    assert "unknown-field" not in ignored.out
    assert "1 finding not shown, as asked" in ignored.out
    wrong = inside("validate", "--ignore", "unknown-feild")
    assert wrong.code == 2
    assert "did you mean unknown-field?" in wrong.err


def test_a_warning_fails_only_where_that_is_asked_for(inside: Inside) -> None:
    """A tenant called no is read differently by other tools."""
    inside.write("t.yaml", "tenant: no\nknobs: {}\n")
    assert inside("validate").code == 0
    assert inside("validate", "--fail-on", "warning").code == 5
    assert inside("validate", "--fail-on", "warning", "--exit-zero").code == 0


@pytest.mark.parametrize("path", ["tenats", "empty", "stranger.json"])
def test_nothing_to_validate_is_a_usage_error(inside: Inside, path: str) -> None:
    """A misspelt folder, an empty one, and a file that is none of ours are no pass."""
    (inside.folder / "empty").mkdir()
    inside.write("stranger.json", '{"name": "x"}\n')
    result = inside("validate", path)
    assert result.code in {2, 4}
    assert (result.code == 4) is (path == "stranger.json")
    assert path in result.err + result.out


def test_what_is_not_ours_is_passed_over_and_listed_with_v(inside: Inside) -> None:
    """A package.json beside the tenants is nobody's fault."""
    inside.write("package.json", '{"name": "x"}\n')
    inside.write("a.yaml", GOOD)
    assert "package.json" not in inside("validate").err
    assert "package.json" in inside("validate", "-v").err


def test_bare_maps_and_the_wires_json_need_a_tenant(inside: Inside) -> None:
    """--tenant says whose they are."""
    bare = inside.write("bare.yaml", "retrieval_min_score: 0.15\nrrf_k: 0.5\n")
    wire = inside.write("wire.json", '{"config": {"retrievalMinScore": 7}}\n')
    assert inside("validate", bare).code == 4
    result = inside("validate", bare, "--tenant", "acme", "--format", "json")
    (finding,) = result.json["findings"]
    assert (finding["rule"], finding["tenant"], finding["line"], finding["column"]) == (
        "wrong-type", "acme", 2, 8,
    )  # fmt: skip
    (finding,) = inside("validate", wire, "--tenant", "acme", "--format", "json").json["findings"]
    assert (finding["rule"], finding["field_path"]) == ("out-of-range", "retrieval_min_score")


def test_standard_input_is_a_path(knobctl: Knobctl) -> None:
    """- reads it; its findings say so."""
    result = knobctl("validate", "-", "--format", "json", stdin=BAD)
    assert result.code == 4
    assert result.json["findings"][0]["file"] == "<stdin>"
    assert knobctl("validate", "-", stdin=GOOD).code == 0


def test_an_answer_goes_to_a_file_as_well(inside: Inside) -> None:
    """--output writes another format beside what is printed."""
    inside.write("t/b.yaml", BAD)
    result = inside("validate", "t", "--output", "json=report.json")
    assert result.out.startswith("t/b.yaml:2:30")
    assert json.loads(inside.read("report.json"))["exit_code"] == 4


def test_layers_of_other_files_are_found_and_missing_ones_told(inside: Inside) -> None:
    """One file is judged by itself, and knows what it names."""
    inside.write("knobctl.toml", "")
    inside.write("layers/l.yaml", "layer: here\nknobs: {}\n")
    tenant = inside.write("tenants/a.yaml", "tenant: a\nlayers: [here, hree]\n")
    result = inside("validate", tenant, "--format", "json")
    (finding,) = result.json["findings"]
    assert (finding["rule"], finding["hint"]) == ("unknown-layer", "did you mean here?")
    assert result.json["summary"]["files"] == 1


def test_hostile_text_comes_out_as_escapes(inside: Inside) -> None:
    """A YAML escape that loads as a real one cannot repaint the report."""
    inside.write("t.yaml", 'tenant: "a\\e[2K\\r\\e[32mno changes\\e[0m"\nknobs: {}\n')
    result = inside("validate")
    assert result.code == 4
    assert "\x1b" not in result.out + result.err
    assert "\r" not in result.out + result.err


def test_another_engines_schema_decides_what_a_knob_is(inside: Inside) -> None:
    """--schema, or the repository's own."""
    schema = {
        "type": "object", "additionalProperties": False,
        "properties": {"cutoff": {"type": "number", "minimum": 0, "maximum": 1, "default": 0.4}},
    }  # fmt: skip
    inside.write("engine.json", json.dumps(schema))
    inside.write("t/a.yaml", "tenant: a\nknobs: {cutoff: 0.5}\n")
    assert inside("validate", "t", "--schema", "engine.json").code == 0
    assert inside("validate", "t").code == 4
    inside.write("knobctl.toml", 'schema = "engine.json"\n')
    assert inside("validate", "t").code == 0


def test_the_modeline_of_the_examples_leads_to_the_schema() -> None:
    """What an editor would load is there."""
    from pathlib import Path

    root = Path(__file__).parent.parent.parent
    for file in sorted((root / "examples" / "fleet").rglob("*.yaml")):
        first = file.read_text().splitlines()[0]
        if "$schema=" in first:
            assert (file.parent / first.partition("$schema=")[2].strip()).resolve().is_file(), file


def test_help_names_what_is_read_and_nothing_that_is_not_there(inside: Inside) -> None:
    """The way to adopt findings has its own issue."""
    text = inside("validate", "--help").out
    assert "line:column" in text
    assert "write-waivers" not in text


def test_a_closed_pipe_is_no_crash(inside: Inside) -> None:
    """`knobctl validate | head -1` ends quietly."""
    for number in range(300):
        inside.write(f"t{number}.yaml", f"tenant: t{number}\nknobs: {{rrf_k: 0.5}}\n")
    import os
    import sys
    from pathlib import Path

    program = "from knobctl.cli.main import main; main()"
    done = subprocess.run(
        f'{sys.executable} -c "{program}" validate | head -1',
        shell=True, cwd=inside.folder, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
    )  # fmt: skip
    assert "internal error" not in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("command", [("validate",), ("fmt", "--check", "--format", "json")])
def test_a_narrow_encoding_of_the_output_is_no_crash(
    knobctl: Knobctl, command: tuple[str, ...]
) -> None:
    """A letter that it lacks is escaped; the verdict stays."""
    (knobctl.folder / "ü.yaml").write_text(BAD)
    result = knobctl(*command, PYTHONIOENCODING="ascii")
    assert result.code == 4
    assert result.out.startswith((r"\xfc.yaml:2:30  error", "{"))


@pytest.mark.parametrize(
    "more", [{}, {"additionalProperties": True, "patternProperties": {"": {}}}]
)
def test_no_schema_lets_a_misspelt_knob_through(inside: Inside, more: dict[str, object]) -> None:
    """A knob is a property of the schema, whatever that says of other names, or does not say."""
    floor = {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": 0.3}}
    inside.write("knobs.json", json.dumps({"properties": {"floor": floor}, **more}))
    inside.write("knobctl.toml", 'schema = "knobs.json"\n')
    inside.write("t.yaml", "tenant: t\nknobs: {flor: 0.9}\n")
    for command in ("validate", "check"):
        result = inside(command, "--format", "json")
        assert (result.code, result.rules) == (4, ["unknown-knob"])
        assert "did you mean floor?" in result.out
