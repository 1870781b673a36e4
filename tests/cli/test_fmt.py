"""`knobctl fmt`: canonical form, in place or as a check."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of
from tests.running import Knobctl

UNTIDY = "# head\nknobs:\n  rrfK: 6e1\n  retrieval_min_score: .30 # floor\ntenant: no\n"
TIDY = "# head\ntenant: 'no'\nknobs:\n  retrieval_min_score: 0.3 # floor\n  rrf_k: 60\n"


def test_files_are_brought_into_form(inside: Inside) -> None:
    """Named on stdout; a second run finds nothing to do."""
    untidy = inside.write("a.yaml", UNTIDY)
    tidy = inside.write("b/b.yaml", TIDY.replace("'no'", "b"))
    result = inside("fmt")
    assert (result.code, result.out, result.err) == (0, "a.yaml\n", "1 of 2 files written\n")
    assert untidy.read_text() == TIDY
    stamp = tidy.stat().st_mtime_ns
    again = inside("fmt")
    assert (again.code, again.out) == (0, "")
    assert tidy.stat().st_mtime_ns == stamp


def test_check_writes_nothing_and_names_the_first_place(inside: Inside) -> None:
    """Exit 4 for CI, with the command that repairs it."""
    untidy = inside.write("a.yaml", UNTIDY)
    result = inside("fmt", "--check", "--format", "json")
    assert (result.code, untidy.read_text()) == (4, UNTIDY)
    answer = result.json
    assert faults_of(answer, "output-fmt.v1.schema.json") == []
    assert (answer["changed"], answer["written"]) == (["a.yaml"], False)
    (finding,) = answer["findings"]
    assert (finding["rule"], finding["severity"], finding["line"], finding["column"]) == (
        "not-canonical",
        "error",
        2,
        1,
    )
    assert finding["hint"] == "run: knobctl fmt a.yaml"
    shown = inside("fmt", "--check")
    assert shown.code == 4
    assert "a.yaml:2:1  error  not-canonical" in shown.out
    inside("fmt")
    assert inside("fmt", "--check").code == 0


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("knobs: {rrf_k: 1, rrf_k: 2}\ntenant: a\n", "duplicate-key"),
        ("knobs: {rrfK: 1, rrf_k: 2}\ntenant: a\n", "unknown-knob"),
        ("knobs: {rrf_k: 010}\ntenant: a\n", "ambiguous-scalar"),
        ("knobs: {rrf_k: .nan}\ntenant: a\n", "not-finite"),
        ("knobs: {}\ntenant: a\n---\ntenant: [\n", "yaml-syntax"),
        ("knobs: {}\ntennant: a\n", "unknown-document"),
        ("", "empty-document"),
    ],
)
def test_a_file_with_errors_is_left_alone_and_told(inside: Inside, text: str, rule: str) -> None:
    """The others are written all the same."""
    broken = inside.write("broken.yaml", text)
    untidy = inside.write("untidy.yaml", UNTIDY)
    result = inside("fmt", "--format", "json")
    assert (result.code, result.rules[0], result.json["changed"]) == (4, rule, ["untidy.yaml"])
    assert (broken.read_text(), untidy.read_text()) == (text, TIDY)


def test_claims_of_files_on_one_another_do_not_stop_it(inside: Inside) -> None:
    """A missing layer or a tenant claimed twice is no question of form."""
    for name in ("a.yaml", "b.yaml"):
        inside.write(name, "layers: [nowhere]\ntenant: a\n")
    assert inside("fmt").code == 0


def test_marks_line_ends_and_modes_stay(inside: Inside) -> None:
    """A byte-order mark, CRLF, permission bits; a link stays a link."""
    path = inside.write("a.yaml", "\ufeff" + UNTIDY.replace("\n", "\r\n"))
    path.chmod(0o600)
    link = inside.folder / "link.yaml"
    link.symlink_to("a.yaml")
    assert inside("fmt", "link.yaml").code == 0
    assert path.read_bytes() == ("\ufeff" + TIDY.replace("\n", "\r\n")).encode()
    assert path.stat().st_mode & 0o777 == 0o600
    assert link.is_symlink()
    assert sorted(one.name for one in inside.folder.iterdir()) == ["a.yaml", "link.yaml"]


def test_standard_input_is_answered_on_standard_output(knobctl: Knobctl) -> None:
    """For editors; with errors nothing is printed that could be taken for the text."""
    result = knobctl("fmt", "-", stdin=UNTIDY)
    assert (result.code, result.out, result.err) == (0, TIDY, "")
    checked = knobctl("fmt", "-", "--check", stdin=UNTIDY)
    assert checked.code == 4
    broken = knobctl("fmt", "-", stdin="tenant: [\n")
    assert broken.code == 4
    assert "yaml-syntax" in broken.out


def test_other_peoples_files_are_not_touched(inside: Inside) -> None:
    """A compose file beside the tenants keeps its order."""
    other = inside.write("compose.yaml", "services: {web: {image: no}}\nversion: 3.0\n")
    inside.write("a.yaml", TIDY)
    assert inside("fmt").code == 0
    assert other.read_text() == "services: {web: {image: no}}\nversion: 3.0\n"


def test_the_case_of_the_tenant_named_no(inside: Inside) -> None:
    """Case yaml-norway-tenant-key, in the contract's shape: quoted, so that YAML 1.1 readers see no False."""
    path = inside.write("no.yaml", "tenant: no\nknobs:\n  retrieval_min_score: 0.3\n")
    assert inside("fmt", path).code == 0
    assert path.read_text() == "tenant: 'no'\nknobs:\n  retrieval_min_score: 0.3\n"


def test_the_example_is_in_canonical_form(inside: Inside) -> None:
    """Its own CI asks for it."""
    fleet = Path(__file__).parents[2] / "examples" / "fleet"
    assert inside("fmt", fleet, "--check").code == 0
