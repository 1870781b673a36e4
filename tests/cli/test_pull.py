"""`knobctl pull`: live sets into files; layers kept, only deltas, nothing without consent."""

from __future__ import annotations

from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of
from tests.cli.terminal import on_terminal
from tests.given_engine import GivenEngine

SCHEMA = "output-pull.v1.schema.json"


def test_tenants_without_a_document_get_a_file_each(inside: Inside) -> None:
    """In the folder `tenants` where there is one; a second pull finds nothing to do."""
    inside.hold("acme", retrieval_min_score=0.15, rrf_k=30)
    inside.hold("no", mmr_lambda=0.5)
    (inside.folder / "tenants").mkdir()

    result = inside("pull", "--yes", "--format", "json", *ENGINE)

    assert result.code == 0, result
    assert faults_of(result.json, SCHEMA) == []
    assert (
        inside.read("tenants/acme.yaml")
        == "tenant: acme\nknobs:\n  retrieval_min_score: 0.15\n  rrf_k: 30\n"
    )
    assert inside.read("tenants/no.yaml").startswith("tenant: 'no'\n")
    assert inside("diff", "--exit-code", *ENGINE).code == 0
    again = inside("pull", "--yes", *ENGINE)
    assert again.out == "2 tenants: 0 written to 0 files, 2 as the files have them\n"


def test_documents_are_edited_byte_by_byte(inside: Inside) -> None:
    """Only the values that differ; two tenants of one file in one edit; a comment of a removed knob goes with it."""
    inside.hold("a", rrf_k=31)
    inside.hold("b", mmr_lambda=0.25, rrf_k=5)
    text = "# both\r\ntenant: a\r\nknobs:\r\n  rrf_k: 30  # k\r\n---\r\ntenant: b\r\nknobs: {mmr_lambda:   0.250, gate_mode: DISABLED}\r\n"
    inside.write("both.yaml", text)
    assert inside("pull", "--yes", *ENGINE).code == 0
    assert inside.read("both.yaml") == text.replace("30  #", "31  #").replace(
        "gate_mode: DISABLED", "rrf_k: 5"
    ).replace("mmr_lambda:   0.250, rrf_k: 5", "rrf_k: 5, mmr_lambda:   0.250")
    assert inside("diff", "--exit-code", *ENGINE).code == 0


def test_layers_are_kept_and_only_deltas_written(inside: Inside) -> None:
    """What the layer gives is not written; what it sets and the engine does not is hidden by 0, and said."""
    inside.hold("acme", rrf_k=30, mmr_lambda=0.5)
    inside.write("layer.yaml", "layer: gold\nknobs: {rrf_k: 30, retrieval_vector_top_k: 32}\n")
    inside.write("acme.yaml", "tenant: acme\nlayers: [gold]\nknobs:\n  rrf_k: 40\n")
    result = inside("pull", "acme", "--yes", *ENGINE)
    assert result.code == 0
    assert inside.read("acme.yaml") == (
        "tenant: acme\nlayers: [gold]\nknobs:\n  retrieval_vector_top_k: 0\n  mmr_lambda: 0.5\n"
    )
    assert "it would follow layer gold (32)" in result.out
    assert inside("diff", "--exit-code", *ENGINE).code == 0


def test_nothing_is_written_without_consent(inside: Inside) -> None:
    """The diff is shown first; no terminal and no --yes: refused at once."""
    inside.hold("acme", rrf_k=31)
    text = "tenant: acme\nknobs: {rrf_k: 30}\n"
    inside.write("acme.yaml", text)
    result = inside("pull", *ENGINE)
    assert (result.code, result.out, "--yes" in result.err) == (6, "", True)
    for answer, code in (("n", 6), ("y", 0)):
        with on_terminal(inside.folder, "pull", *ENGINE) as terminal:
            terminal.expect("Write 1 file? [y/N]")
            assert "+knobs: {rrf_k: 31}" in terminal.shown
            terminal.type(f"{answer}\r")
            assert terminal.end() == code
        assert (inside.read("acme.yaml") == text) is (answer == "n")


def test_a_dry_run_shows_and_writes_nothing(inside: Inside) -> None:
    """It needs no consent."""
    inside.hold("acme", rrf_k=31)
    result = inside("pull", "--dry-run", "--format", "json", *ENGINE)
    assert (result.code, faults_of(result.json, SCHEMA)) == (0, [])
    assert [(one["created"], one["written"]) for one in result.json["files"]] == [(True, False)]
    assert not (inside.folder / "acme.yaml").exists()


def test_a_file_that_is_somebody_elses_is_not_overwritten(inside: Inside) -> None:
    """Whatever stands there, and wherever a link would lead."""
    inside.hold("acme", rrf_k=31)
    inside.write("acme.yaml", "services: {}\n")
    assert inside("pull", "--yes", *ENGINE).code == 6
    assert inside.read("acme.yaml") == "services: {}\n"
    (inside.folder / "acme.yaml").unlink()
    (inside.folder / "acme.yaml").symlink_to("elsewhere.yaml")
    assert inside("pull", "--yes", *ENGINE).code == 6
    assert not (inside.folder / "elsewhere.yaml").exists()


def test_another_folder_for_new_files(inside: Inside) -> None:
    """It is made where it is not there."""
    inside.hold("acme", rrf_k=31)
    assert inside("pull", "--yes", "--into", "new/ones", *ENGINE).code == 0
    assert inside.read("new/ones/acme.yaml") == "tenant: acme\nknobs:\n  rrf_k: 31\n"


def test_documents_with_errors_stop_a_pull(inside: Inside) -> None:
    """Nothing is derived from a document that is not understood."""
    inside.hold("acme", rrf_k=31)
    inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 99999}\n")
    result = inside("pull", "--yes", "--format", "json", *ENGINE)
    assert (result.code, result.rules, faults_of(result.json, SCHEMA)) == (4, ["out-of-range"], [])


def test_an_alias_is_not_edited_through(inside: Inside) -> None:
    """Two places would change with one."""
    inside.hold("acme", rrf_k=31)
    text = "x-base: &base\n  rrf_k: 30\ntenant: acme\nknobs: *base\n"
    inside.write("acme.yaml", text)
    result = inside("pull", "--yes", *ENGINE)
    assert (result.code, "edit-through-alias" in result.err) == (6, True)
    assert inside.read("acme.yaml") == text


def test_what_no_file_can_hold_is_said(inside: Inside) -> None:
    """Fields that the schema does not know."""
    inside.write("token", "acme-token")
    with GivenEngine() as engine:
        engine.sets["acme"] = {"rrfK": 31, "newKnob": 3}
        result = inside("pull", "acme", "--yes", "--engine", engine.url, "--token-file", "token")
    assert (result.code, "acme holds newKnob" in result.out) == (0, True)


def test_an_unknown_tenant_is_a_usage_error(inside: Inside) -> None:
    """As a name that can be none."""
    assert inside("pull", "../acme", "--yes", *ENGINE).code == 2


def test_a_tenant_that_nobody_knows_is_not_made_a_file(inside: Inside) -> None:
    """A mistyped name beside a right one: nothing is written, and the name is said."""
    inside.hold("acme", rrf_k=31)
    result = inside("pull", "acme", "acne", "--yes", *ENGINE)
    assert (result.code, result.err.startswith("error: acne was never written")) == (2, True)
    assert not list(inside.folder.glob("*.yaml"))


def test_a_document_that_was_never_pushed_is_not_emptied(inside: Inside) -> None:
    """Its tenant has no set yet, which is said; the others are pulled."""
    inside.hold("acme", rrf_k=31)
    text = "tenant: new\nknobs: {rrf_k: 30}\n"
    inside.write("new.yaml", text)
    result = inside("pull", "acme", "new", "--yes", "--format", "json", *ENGINE)
    assert (result.code, faults_of(result.json, SCHEMA)) == (0, [])
    assert [one["tenant"] for one in result.json["tenants"]] == ["acme"]
    assert "1 tenant never written on the engine (new)" in result.err
    assert (inside.read("new.yaml"), inside.read("acme.yaml")) == (
        text,
        "tenant: acme\nknobs:\n  rrf_k: 31\n",
    )


def test_an_engine_without_revisions_has_no_set_of_a_tenant_that_nobody_knows(
    inside: Inside,
) -> None:
    """An empty set of a tenant without a document is no set."""
    inside.write("token", "acme-token")
    with GivenEngine() as engine:
        served = ("--engine", engine.url, "--token-file", "token")
        assert inside("pull", "acme", "--yes", *served).code == 2
        inside.write("acme.yaml", "tenant: acme\nknobs: {rrf_k: 30}\n")
        assert inside("pull", "acme", "--yes", *served).code == 0
    assert "rrf_k" not in inside.read("acme.yaml")
