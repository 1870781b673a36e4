"""The formats together: one hard report in each, the same exit codes in all, nothing that starts a command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from knobctl import __version__
from knobctl.report.formats import FORMATS, FindingsAnswer
from tests.cli.inside import Inside
from tests.report.rendering import rendered

GOLDEN = Path(__file__).parent / "golden" / "hard"
ENDINGS = {"text": "txt", "junit": "xml", "github": "txt", "markdown": "md"}
COMMAND = re.compile(r"^\s*::|##(vso|teamcity)?\[", re.MULTILINE)
"""What a CI runner takes as a command in a log."""

TENANT = "tenant: acme\nknobs: {retrieval_vector_top_k: 32}\n"
WARNED = "tenant: acme\nknobs: {retrieval_min_score: 0.45, gate_expanded_floor: 0.45}\n"
LOOPS = "effective.all(a, " * 8 + "true" + ")" * 8
POLICY = "policy: p\ntitle: T\nseverity: error\nwhen: {}\nmessage: m\nexamples: {{pass: [{{knobs: {{}}}}], fail: []}}\n"
WAIVER = (
    "waiver: w\nrule: floor-above-vector-ceiling\ntenants: [acme]\nreason: r\napproved_by: p\n"
    "expires: 2020-01-01\n"
)
RUNS: dict[str, tuple[int, dict[str, str]]] = {
    "no file": (2, {}),
    "nothing of ours": (2, {"a.yaml": "name: x\n"}),
    "an unreadable policy": (4, {"t.yaml": TENANT, "p.yaml": "policy: p\nwhen: [\n"}),
    "an unknown variable": (4, {"t.yaml": TENANT, "p.yaml": POLICY.format("nope > 1")}),
    "an endless loop": (4, {"t.yaml": TENANT, "p.yaml": POLICY.format(LOOPS)}),
    "an expired waiver": (4, {"t.yaml": WARNED, "w.yaml": WAIVER}),
    "warnings": (5, {"t.yaml": WARNED}),
    "nothing to say": (0, {"t.yaml": TENANT}),
}


def golden(name: str, answer: FindingsAnswer) -> str:
    """The answer as its golden file holds it: without the version."""
    return rendered(name, answer).replace(f'"{__version__}"', '"VERSION"').rstrip("\n") + "\n"


@pytest.mark.parametrize("name", FORMATS)
def test_the_hard_report_in_every_format(name: str, hard: FindingsAnswer) -> None:
    """Errors, warnings, infos, waived and standing, shared and lonely, at lines, files and nowhere."""
    path = GOLDEN / f"{name}.{ENDINGS.get(name, 'json')}"
    assert golden(name, hard) == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "text"])
def test_every_rule_and_tenant_is_in_every_format(name: str, hard: FindingsAnswer) -> None:
    """Nothing is told in one format only; text folds what stands and what many share."""
    told = rendered(name, hard)
    for one in hard.findings:
        assert one.rule in told
        assert one.tenant is None or one.tenant in told


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "github"])
def test_no_line_of_a_format_is_a_command_to_a_runner(name: str, hard: FindingsAnswer) -> None:
    """A log is read for commands: what a document or a file's name says starts none."""
    answer = replace(hard, everything=True)
    assert "set-output" in rendered(name, answer)
    assert not COMMAND.search(rendered(name, answer))


@pytest.mark.parametrize("run", RUNS)
def test_the_exit_code_is_the_same_in_every_format(run: str, inside: Inside) -> None:
    """A format renders; it decides nothing. Without a verdict nothing is answered, but by JSON that it was stopped."""
    code, files = RUNS[run]
    for name, text in files.items():
        inside.write(name, text)
    for name in FORMATS:
        result = inside("check", ".", "--format", name, "--fail-on", "warning")
        assert result.code == code, (name, result.err)
        assert bool(result.out) == (code != 2 or name == "json")
        if code != 2:
            assert result.err == ""


@pytest.mark.parametrize("command", [["check"], ["validate"], ["fmt", "--check"]])
def test_files_beside_the_answer_hold_what_the_format_prints(
    command: list[str], inside: Inside
) -> None:
    """`--output FORMAT=FILE` writes exactly what `--format FORMAT` prints, and changes no answer."""
    inside.write("in/a.yaml", "tenant: acme\nknobs: {rrf_k: 99999,  retrieval_min_score: 0.45}\n")
    inside.write("in/b.yaml", "tenant:   bolt\nknobs: {}\n")
    outputs = [option for name in FORMATS for option in ("--output", f"{name}=out.{name}")]
    beside = inside(*command, "in", *outputs)
    assert beside.code == 4
    for name in FORMATS:
        alone = inside(*command, "in", "--format", name)
        assert alone.code == 4
        assert alone.out == inside.read(f"out.{name}")
        assert alone.out == inside(*command, "in", "--format", name, "--quiet").out
    assert beside.out == inside.read("out.text")


@pytest.mark.parametrize("name", FORMATS)
def test_exit_zero_changes_the_code_and_what_names_it(name: str, inside: Inside) -> None:
    """The findings, and what the run would have failed for, are told as before."""
    inside.write("a.yaml", WARNED)
    options = ("a.yaml", "--format", name, "--fail-on", "warning")
    failing, passing = inside("check", *options), inside("check", *options, "--exit-zero")
    assert (failing.code, passing.code) == (5, 0)
    coded = {"json": ('"outcome"', '"exit_code"'), "sarif": ('"exitCode',)}.get(name, ())
    kept = [
        [line for line in told.splitlines() if not line.strip().startswith(coded or ("\0",))]
        for told in (failing.out, passing.out)
    ]
    assert kept[0] == kept[1]
    if coded:
        assert failing.out != passing.out


def test_what_is_hidden_is_counted(inside: Inside) -> None:
    """`--ignore` hides from the eye: the code stays, and each format says so where it can."""
    inside.write("a.yaml", WARNED)
    for name in ("text", "sarif", "github", "markdown"):
        result = inside(
            "check", "a.yaml", "--format", name, "--ignore", "floor-above-vector-ceiling",
            "--fail-on", "warning",
        )  # fmt: skip
        assert result.code == 5
        assert "1 finding not shown, as asked" in result.out
        assert "is above 1/3" not in result.out


def test_names_are_those_of_the_checkout_wherever_the_command_runs(inside: Inside) -> None:
    """A code host knows files from the top of the checkout; people, from where they stand."""
    inside.write("infra/knobs/knobctl.toml", "")
    inside.write("infra/knobs/t.yaml", WARNED)
    (inside.folder / ".git").mkdir()
    run = inside("check", "infra/knobs", "--format", "text")
    assert "infra/knobs/t.yaml:2:" in run.out
    import os

    os.chdir(inside.folder / "infra")
    assert "knobs/t.yaml:2:" in inside("check", "knobs").out
    sarif = json.loads(inside("check", "knobs", "--format", "sarif").out)
    place = sarif["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "infra/knobs/t.yaml"
    assert "file=infra/knobs/t.yaml," in inside("check", "knobs", "--format", "github").out
    entry = json.loads(inside("check", "knobs", "--format", "gitlab").out)[0]
    assert entry["location"]["path"] == "infra/knobs/t.yaml"
