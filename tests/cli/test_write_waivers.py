"""`knobctl check --write-waivers`: a team adopts the gate with old faults in place."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import pytest

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

TODAY = date.today()  # noqa: DTZ011  the day of the user's zone, as the command takes it
WRITE = ("check", "--write-waivers", "--expires", "2099-03-31")
FILE = f"waivers/adopted-{TODAY}.yaml"
CEILING = "floor-above-vector-ceiling"


def tenants(inside: Inside, **knobs: object) -> None:
    """Three tenants of different floors above the ceiling, and one without fault."""
    inside.write("knobctl.toml", "")
    more = "".join(f"  {name}: {value}\n" for name, value in knobs.items())
    for number in range(3):
        floor = f"0.4{number + 1}"
        inside.write(
            f"tenants/t{number}.yaml",
            f"tenant: t{number}\nknobs:\n  retrieval_min_score: {floor}\n  gate_expanded_floor: {floor}\n{more}",
        )
    inside.write("tenants/well.yaml", "tenant: well\nknobs: {}\n")


def written(inside: Inside, *options: str) -> dict[str, Any]:
    """What the run says that it wrote."""
    answer = inside(*WRITE, "--format", "json", *options).json
    assert faults_of(answer, "output-findings.v1.schema.json") == []
    found: dict[str, Any] = answer["adopted"]
    return found


def test_after_it_the_gate_passes_and_everything_stays_visible(inside: Inside) -> None:
    """Warnings fail nothing, they are waived by name, and the file is one that fmt leaves alone."""
    tenants(inside, assembly_max_chunks=150)
    inside("fmt")
    assert inside("check", "--fail-on", "warning").code == 4
    result = inside(*WRITE, "--fail-on", "warning")
    assert result.code == 0
    assert (
        f"wrote {FILE}: 4 waivers for 6 findings of 2 rules in 3 tenants, until 2099-03-31\n"
        in result.out
    )
    assert "waived by adopted-floor-above-vector-ceiling-1, until 2099-03-31" in result.out
    answer = inside("check", "--fail-on", "warning", "--format", "json").json
    assert (answer["exit_code"], answer["summary"]["waived"]) == (0, 6)
    assert inside("fmt", "--check").code == 0
    assert inside("validate").code == 0


def test_what_is_written_is_for_review(inside: Inside) -> None:
    """One waiver a rule and bound, by rule, with an editor's line and honest defaults."""
    tenants(inside)
    inside(*WRITE)
    text = inside.read(FILE)
    assert text.startswith("# yaml-language-server: $schema=../schemas/knob-set.v1.schema.json\n")
    first = text.split("---\n")[0]
    assert first.endswith(
        "waiver: adopted-floor-above-vector-ceiling-1\n"
        f"rule: {CEILING}\n"
        "tenants: [t0]\n"
        "up_to: 0.41\n"
        f"reason: 'stood here on {TODAY}, when the gate was adopted'\n"
        "approved_by: 'nobody yet: written by knobctl check --write-waivers'\n"
        "expires: '2099-03-31'\n"
    )
    assert [line for line in text.splitlines() if line.startswith("up_to")] == [
        "up_to: 0.41",
        "up_to: 0.42",
        "up_to: 0.43",
    ]


def test_the_reason_and_the_name_can_be_given(inside: Inside) -> None:
    """Whatever they hold, they are text; blanks are none."""
    tenants(inside)
    inside(*WRITE, "--reason", "old: #contract\n'x'", "--approved-by", "anna: lead")
    assert inside("validate").code == 0
    assert "approved_by: 'anna: lead'" in inside.read(FILE)
    (inside.folder / FILE).unlink()
    inside(*WRITE, "--reason", " ", "--approved-by", "")
    assert "reason: 'stood here" in inside.read(FILE)
    assert "approved_by: 'nobody yet" in inside.read(FILE)


def test_a_new_fault_is_not_let_off(inside: Inside) -> None:
    """Neither of another tenant, nor a value beyond the one that stood there."""
    tenants(inside)
    inside(*WRITE)
    inside.write(
        "tenants/t0.yaml",
        "tenant: t0\nknobs: {retrieval_min_score: 0.42, gate_expanded_floor: 0.42}\n",
    )
    inside.write(
        "tenants/well.yaml",
        "tenant: well\nknobs: {retrieval_min_score: 0.4, gate_expanded_floor: 0.4}\n",
    )
    answer = inside("check", "--format", "json").json
    counting = {
        one["tenant"]
        for one in answer["findings"]
        if one["rule"] == CEILING and one["waived_by"] is None
    }
    assert counting == {"t0", "well"}


def test_a_second_run_without_news_writes_nothing(inside: Inside) -> None:
    """And says so; the file that exists is no obstacle then."""
    tenants(inside)
    assert written(inside)["files"] == [FILE]
    before = inside.read(FILE)
    result = inside(*WRITE)
    assert (result.code, inside.read(FILE)) == (0, before)
    assert "nothing to let off: no waiver was written" in result.out
    assert written(inside) == {
        "files": [], "waivers": 0, "findings": 0, "rules": 0, "tenants": 0, "expires": "2099-03-31",
    }  # fmt: skip


def test_a_file_that_exists_is_not_written_over(inside: Inside) -> None:
    """6, and nothing else was written either; under another name it is kept, and its names are taken."""
    tenants(inside)
    inside(*WRITE)
    before = inside.read(FILE)
    inside.write("tenants/new.yaml", "tenant: new\nknobs: {retrieval_min_score: 0.45}\n")
    result = inside(*WRITE)
    assert (result.code, inside.read(FILE)) == (6, before)
    assert f"{FILE} exists; nothing was written" in result.err
    (inside.folder / FILE).rename(inside.folder / "waivers/first.yaml")
    assert written(inside)["findings"] == 2
    assert "waiver: adopted-floor-above-vector-ceiling-4\n" in inside.read(FILE)
    assert inside("check", "--fail-on", "warning").code == 0


def test_what_no_waiver_can_let_off_stays_and_decides(inside: Inside) -> None:
    """A value that the engine refuses, a policy that does not compile, a waiver that has expired."""
    tenants(inside)
    inside.write("tenants/bad.yaml", "tenant: bad\nknobs: {retrieval_min_score: 3}\n")
    inside.write("p.yaml", 'policy: p\nseverity: error\nwhen: "nope > 1"\nmessage: m\n')
    result = inside(*WRITE)
    assert result.code == 4
    assert f"wrote {FILE}: 3 waivers for 3 findings" in result.out
    assert "2 findings no waiver can let off: out-of-range, policy-error" in result.out.replace(
        "\n", " "
    )


def test_rules_of_the_repository_are_let_off_too(inside: Inside) -> None:
    """With a long id the name of the waiver is still one."""
    rule = "a-rule-with-a-very-long-name-that-leaves-no-room-for-what-comes-x"[:63].rstrip("-")
    inside.write("knobctl.toml", "")
    inside.write("p.yaml", f'policy: {rule}\nseverity: error\nwhen: "true"\nmessage: m\n')
    inside.write("a.yaml", "tenant: a\nknobs: {rrf_k: 60}\n")
    assert written(inside)["rules"] == 1
    assert inside("check").code == 0


def test_a_value_is_bounded_as_it_is_written(inside: Inside) -> None:
    """With more digits than a double holds the bound is not below it."""
    inside.write("knobctl.toml", "")
    inside.write(
        "a.yaml",
        "tenant: a\nknobs: {retrieval_min_score: 0.4500000000000000001, gate_expanded_floor: 0.45}\n",
    )
    inside(*WRITE)
    assert inside("check", "--fail-on", "warning").code == 0


def test_a_mode_has_no_bound(inside: Inside) -> None:
    """What is no number is let off for the tenant as it is."""
    inside.write("knobctl.toml", "")
    inside.write(
        "p.yaml", 'policy: p\nseverity: error\nwhen: "true"\nat: recency_ranker_mode\nmessage: m\n'
    )
    inside.write("a.yaml", "tenant: a\nknobs: {recency_ranker_mode: DISABLED}\n")
    inside(*WRITE)
    assert "up_to" not in inside.read(FILE)
    assert inside("check").code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--write-waivers",), "--expires YYYY-MM-DD"),
        (("--expires", "2099-03-31"), "add --write-waivers"),
        (("--reason", "x"), "add --write-waivers"),
        (("--approved-by", "x"), "add --write-waivers"),
        (("--write-waivers", "--expires", "soon"), "is no day"),
        (("--write-waivers", "--expires", "2099-02-30"), "is no day"),
        (("--write-waivers", "--expires", "20990331"), "is no day"),
        (("--write-waivers", "--expires", TODAY.isoformat()), "does not lie in the future"),
        (("--write-waivers", "--expires", (TODAY - timedelta(1)).isoformat()), "does not lie"),
        ((*WRITE[1:], "--base", "HEAD"), "leave out --base and --live"),
        ((*WRITE[1:], "--live", *ENGINE), "leave out --base and --live"),
        ((*WRITE[1:], "-"), "standard input is none"),
        ((*WRITE[1:], "--reason", "\x1b[2J"), "characters that nobody sees"),
        ((*WRITE[1:], "--approved-by", "\udcff"), "characters that nobody sees"),
    ],
)
def test_options_that_do_not_fit_are_usage_errors(
    inside: Inside, options: tuple[str, ...], words: str
) -> None:
    """Before anything is written."""
    tenants(inside)
    result = inside("check", *options)
    assert (result.code, words in result.err) == (2, True), result.err
    assert not (inside.folder / "waivers").exists()


def test_waivers_are_not_written_where_they_would_not_be_read(inside: Inside) -> None:
    """A skipped folder, a link, a file in its place."""
    tenants(inside)
    inside.write("knobctl.toml", 'skip = ["waivers"]\n')
    assert "knobctl.toml skips" in inside(*WRITE).err
    inside.write("knobctl.toml", "")
    (inside.folder / "waivers").symlink_to(inside.folder / "tenants")
    assert inside(*WRITE).code == 2
    (inside.folder / "waivers").unlink()
    inside.write("waivers", "")
    assert inside(*WRITE).code == 2
    assert sorted(path.name for path in (inside.folder / "tenants").iterdir()) == [
        "t0.yaml", "t1.yaml", "t2.yaml", "well.yaml",
    ]  # fmt: skip


def test_several_folders_without_a_repository_have_no_place_for_waivers(inside: Inside) -> None:
    """A file of either would not be read for the other; one folder is a repository by itself."""
    for name in ("a", "b"):
        inside.write(f"{name}/t.yaml", f"tenant: {name}\nknobs: {{assembly_max_chunks: 150}}\n")
    result = inside(*WRITE, "a", "b")
    assert (result.code, "in no repository" in result.err) == (2, True)
    assert not (inside.folder / "waivers").exists()
    assert written(inside, "a")["files"] == [f"a/{FILE}"]
    inside.write("knobctl.toml", "")
    assert written(inside, "b")["files"] == [FILE]
    assert inside("check").code == 0


def test_a_part_of_a_repository_is_adopted_by_itself(inside: Inside) -> None:
    """The PATHs say whose faults are let off; the file stands in the repository all the same."""
    tenants(inside)
    assert written(inside, "tenants/t0.yaml")["tenants"] == 1
    answer = inside("check", "--format", "json").json
    assert answer["summary"]["waived"] == 1


def test_a_fleet_is_adopted_by_itself(inside: Inside) -> None:
    """--fleet: only its tenants."""
    tenants(inside)
    inside.write("fleet.yaml", "fleet: one\ninclude: [tenants/t1.yaml]\n")
    assert written(inside, "--fleet", "one")["tenants"] == 1


@pytest.mark.slow
def test_many_tenants_fit_the_limits_of_a_document(inside: Inside) -> None:
    """More names than a document may have nodes are divided; what was written is read again."""
    inside.write("knobctl.toml", "")
    floors = "knobs: {retrieval_min_score: 0.45, gate_expanded_floor: 0.45}\n"
    for file in range(6):
        inside.write(
            f"tenants/f{file}.yaml",
            "---\n".join(
                f"tenant: {'t' * 50}{file}-{number:04}\n{floors}" for number in range(1000)
            ),
        )
    found = written(inside)
    assert (found["tenants"], found["waivers"]) == (6000, 2)
    assert inside("check", "--fail-on", "warning", "--format", "json").code == 0
