"""What a document is: one of ours, somebody else's, or a mistake; and how grave trouble is in it."""

from __future__ import annotations

import pytest

from knobctl.documents.kinds import Sorted, sort_documents
from knobctl.documents.model import Kind
from knobctl.documents.reader import read_bytes, read_text
from knobctl.finding import Finding, Severity
from knobctl.knobs import load_catalogue

CATALOGUE = load_catalogue()


def sorted_text(text: str, *, named: bool = True, tenant: str | None = None) -> Sorted:
    """Sort one text."""
    return sort_documents(read_text(text, "t.yaml"), named=named, tenant=tenant)


def finding(text: str, *, named: bool = True) -> Finding:
    """The one finding of a text."""
    (found,) = sorted_text(text, named=named).findings
    return found


def at(found: Finding) -> str:
    """Its line and column."""
    assert found.primary is not None
    return f"{found.primary.line}:{found.primary.column}"


@pytest.mark.parametrize("kind", list(Kind))
def test_one_kind_key_says_what_a_document_is(kind: Kind) -> None:
    """Wherever among the keys it stands."""
    (document,) = sorted_text(f"version: 1\n{kind}: some-name\n").documents
    assert (document.kind, document.name) == (kind, "some-name")


def test_several_documents_each_have_their_kind() -> None:
    """One file may hold a tenant, a layer and somebody else's document."""
    found = sorted_text("tenant: a\n---\nlayer: b\n---\nservices: {}\n", named=False)
    assert [(document.kind, document.name, document.index) for document in found.documents] == [
        (Kind.TENANT, "a", 0),
        (Kind.LAYER, "b", 1),
    ]
    assert (found.findings, found.strangers) == ([], 1)


@pytest.mark.parametrize("text", ["", "# comment\n", "null\n", "~", "---\n", "tenant: a\n---\n"])
@pytest.mark.parametrize("named", [True, False])
def test_emptiness_is_an_error(text: str, named: bool) -> None:
    """Never a target: a reset has its own command."""
    found = finding(text, named=named)
    assert (found.rule, found.severity) == ("empty-document", Severity.ERROR)
    assert found.hint is not None
    assert "knobctl reset" in found.hint


@pytest.mark.parametrize(
    "text", ["services: {}\n", "[1, 2]\n", "just text\n", '{"name": "x"}', "later: on\nx: y\n"]
)
def test_other_peoples_documents_are_passed_over_in_folders_only(text: str) -> None:
    """Named on the command line, a file is meant to be ours."""
    passed = sorted_text(text, named=False)
    assert (passed.documents, passed.findings, passed.strangers) == ([], [], 1)
    assert sorted_text(text).findings[0].rule == "unknown-document"


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("tennant: acme\nknobs: {}\n", "1:1", "did you mean tenant?"),
        ("\ufefftennant: acme\nknobs: {}\n", "1:1", "did you mean tenant?"),
        ("version: 1\nTenant: acme\nlayers: [x]\n", "2:1", "did you mean tenant?"),
        ("polcy: x\nwhen: 'true'\nmessage: x\n", "1:1", "did you mean policy?"),
        ("waver: x\n", "1:1", "did you mean waiver?"),
        ("tenants: acme\nknobs: {}\n", "2:1", "write tenant: NAME or layer: NAME"),
        ("owner: x\nknobs: {}\n", "2:1", "write tenant: NAME or layer: NAME"),
        ("tenant: a\nlayer: b\nknobs: {}\n", "2:1", "exactly one"),
        ("layer: a\nknobs: {}\ntenant: b\n", "3:1", "exactly one"),
    ],
)
@pytest.mark.parametrize("named", [True, False])
def test_a_mistyped_kind_is_told_in_folders_too(
    text: str, place: str, words: str, named: bool
) -> None:
    """Nothing is lost by a typing error."""
    found = sort_documents(read_bytes(text.encode(), "t.yaml"), named=named).findings[0]
    assert (found.rule, found.severity, at(found)) == ("unknown-document", Severity.ERROR, place)
    assert found.hint is not None
    assert words in found.hint


@pytest.mark.parametrize(
    "text", ["player: x\nteam: y\n", "layers:\n  - a\n", "tenants: [a]\n", "policies: x\n"]
)
def test_other_peoples_words_are_no_typing_errors(text: str) -> None:
    """A word like ours in the company of foreign keys, or its plural, is not ours."""
    assert sorted_text(text, named=False).findings == []


@pytest.mark.parametrize("name", ["acme", "a", "0", "a.b_c-d", "x" * 63, "a--b"])
def test_a_tenants_name_is_plain(name: str) -> None:
    """1 to 63 of a-z 0-9 . _ -."""
    assert sorted_text(f"tenant: '{name}'\n").findings == []


@pytest.mark.parametrize(
    "name", ["", "Acme", "-a", "a-", ".a", "a/b", "../a", "a b", "x" * 64, "ä", "a\\n"]
)
def test_another_name_is_an_error_at_its_place(name: str) -> None:
    """So that a name fits in a URL, a file name and a log line."""
    found = finding(f'tenant: "{name}"\n')
    assert (found.rule, at(found)) == ("invalid-name", "1:9")


@pytest.mark.parametrize(
    ("text", "severity", "path", "tenant"),
    [
        ("tenant: a\nknobs:\n  rrf_k: 010\n", Severity.ERROR, "rrf_k", "a"),
        ("layer: a\nknobs:\n  rrf_k: 010\n", Severity.ERROR, "rrf_k", None),
        (
            "tenant: a\nknobs: {recency_ranker_mode: no}\n",
            Severity.ERROR,
            "recency_ranker_mode",
            "a",
        ),
        ("tenant: a\nlabels: {b: no}\n", Severity.WARNING, "labels.b", "a"),
        ("tenant: no\n", Severity.WARNING, "tenant", "no"),
        ("tenant: a\nlayers: [on]\n", Severity.WARNING, "layers.0", "a"),
        ("waiver: a\nup_to: 1_0\n", Severity.WARNING, "up_to", None),
    ],
)
def test_ambiguous_scalars_are_errors_as_knobs_and_warnings_elsewhere(
    text: str, severity: Severity, path: str, tenant: str | None
) -> None:
    """A value on which two readers disagree must not reach an engine."""
    found = finding(text)
    assert (found.rule, found.severity) == ("ambiguous-scalar", severity)
    assert (found.field_path, found.tenant) == (path, tenant)


def test_an_ambiguous_value_behind_an_alias_is_one_finding_at_its_place() -> None:
    """It stands once, and is grave because a knob has it."""
    found = sorted_text("x-a: &a 010\ntenant: a\nknobs: {rrf_k: *a}\n").findings
    assert [(one.severity, one.field_path, at(one)) for one in found] == [
        (Severity.ERROR, "rrf_k", "1:9")
    ]


def test_number_trouble_carries_tenant_knob_and_value() -> None:
    """For every format that groups by them."""
    found = finding("tenant: a\nknobs:\n  retrieval_min_score: -0.0\n")
    assert (found.rule, found.tenant, found.field_path, at(found)) == (
        "negative-zero",
        "a",
        "retrieval_min_score",
        "3:24",
    )
    assert str(found.value) == "-0.0"


def test_unreadable_text_in_a_folder_says_how_to_pass_it_over() -> None:
    """A chart's template may be somebody else's; nobody can know from broken text."""
    found = finding("{{- if .Values.x }}\na: b\n{{ end }}\n", named=False)
    assert (found.rule, found.severity) == ("unsupported-yaml", Severity.ERROR)
    assert found.hint is not None
    assert "skip in knobctl.toml" in found.hint
    assert "skip" not in (finding("a: [\n").hint or "")


def test_documents_before_a_fault_are_documents() -> None:
    """The fault is told, and what was readable is judged all the same."""
    found = sorted_text("tenant: a\n---\ntenant: [\n")
    assert [document.name for document in found.documents] == ["a"]
    assert [one.rule for one in found.findings] == ["yaml-syntax"]


# --tenant NAME


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("retrieval_min_score: 0.15\n", "1:22"),
        ('{"config": {"retrievalMinScore": 0.15}, "revision": "r7"}', "1:34"),
        ("owner: x\nknobs:\n  retrieval_min_score: 0.15\n", "3:24"),
    ],
)
def test_bare_knobs_and_the_wires_json_are_a_tenants(text: str, place: str) -> None:
    """`--tenant` says whose; places are those of the file."""
    (document,) = sorted_text(text, tenant="acme").documents
    written = document.written(CATALOGUE)["retrieval_min_score"]
    assert (document.kind, document.name, written.value) == (Kind.TENANT, "acme", 0.15)
    location = written.location
    assert f"{location.line}:{location.column}" == place
    assert document.location("tenant").line == 1
    key = next(iter(document.knobs))
    assert document.spot("knobs", key) is not None


@pytest.mark.parametrize("text", ["{}", "{}\n", "\n  {}  \n"])
def test_an_empty_map_is_nobodys_set(text: str) -> None:
    """A step of a pipeline that found nothing says `{}`: that resets no tenant."""
    found = sorted_text(text, tenant="acme")
    assert found.documents == []
    assert [one.rule for one in found.findings] == ["empty-document"]
    assert sorted_text('{"config": {}}', tenant="acme").documents[0].knobs == {}


def test_a_document_that_names_its_tenant_keeps_it() -> None:
    """`--tenant` is for what has no name."""
    (document,) = sorted_text("tenant: other\nknobs: {}\n", tenant="acme").documents
    assert document.name == "other"


def test_trouble_in_bare_knobs_is_a_knobs_trouble() -> None:
    """As grave as in a document."""
    (found,) = sorted_text("rrf_k: 010\n", tenant="acme").findings
    assert (found.severity, found.tenant, found.field_path) == (Severity.ERROR, "acme", "rrf_k")


def test_many_troubles_cost_no_more_than_many_values() -> None:
    """9,000 ambiguous knobs are told in a second, not in a minute."""
    text = "tenant: a\nknobs:\n" + "".join(f"  k{number}: 010\n" for number in range(4900))
    assert len(sorted_text(text).findings) == 4900


def test_places_of_what_is_not_there_are_those_around_it() -> None:
    """A finding about a missing value stands at the mapping that lacks it, else at the kind key."""
    (document,) = sorted_text("tenant: a\nlabels: {b: c}\nlayers: [x, y]\n").documents
    places = {
        path: (document.location(*path).line, document.location(*path).column)
        for path in (
            ("labels", "nothing"),
            ("nothing",),
            ("layers", 1),
            ("layers", 7),
            (),
            ("labels", "b", "c"),
        )
    }
    assert places == {
        ("labels", "nothing"): (2, 9),
        ("nothing",): (1, 9),
        ("layers", 1): (3, 13),
        ("layers", 7): (3, 9),
        (): (1, 9),
        ("labels", "b", "c"): (2, 13),
    }
    assert document.key_location("labels", "b").column == 10
    assert document.key_location("labels", "nothing").column == 9
    assert document.literal("labels", "b") == "c"
    assert document.literal("nothing") == ""
