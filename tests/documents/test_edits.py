"""Edits change the bytes that they mean to change, and no others."""

from __future__ import annotations

from itertools import takewhile

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from knobctl.documents.edits import EditRefusedError, edit_knobs, set_knobs, unset_knobs
from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Document
from knobctl.documents.reader import read_bytes
from knobctl.errors import ExitCode
from knobctl.knobs import load_catalogue
from tests.documents.generating import NUMBERS, files, literals

CATALOGUE = load_catalogue()


def documents_of(raw: bytes) -> list[Document]:
    """The documents of a file."""
    return sort_documents(read_bytes(raw, "t.yaml"), named=True).documents


def edited(
    text: str, *, index: int = 0, write: dict[str, str] | None = None, remove: tuple[str, ...] = ()
) -> str:
    """The text after one edit."""
    document = documents_of(text.encode())[index]
    return edit_knobs(document, CATALOGUE, write=write, remove=remove).decode()


# The round trips of the cases


def test_crlf_and_comments_stay() -> None:
    """Case yaml-crlf-roundtrip."""
    before = "tenant: acme\r\nknobs:\r\n  retrieval_min_score: 0.3 # agreed with support\r\n"
    assert edited(before, write={"retrieval_min_score": "0.2"}) == before.replace("0.3", "0.2")


def test_a_deleted_knob_takes_its_own_comments_and_no_others() -> None:
    """Case roundtrip-delete-key-comment, with a knob of ours for rerank_top_k."""
    before = (
        "tenant: acme\nknobs:\n  retrieval_min_score: 0.15\n  # temporary: load test until Friday\n"
        "  retrieval_vector_top_k: 200\n  # agreed in the June review\n  rrf_k: 8\n"
    )
    assert edited(before, remove=("retrieval_vector_top_k",)) == (
        "tenant: acme\nknobs:\n  retrieval_min_score: 0.15\n  # agreed in the June review\n  rrf_k: 8\n"
    )


@pytest.mark.parametrize("literal", ["0.3", "0.30", "3e-1", ".3"])
def test_setting_what_is_already_there_changes_no_byte(literal: str) -> None:
    """Case roundtrip-noop-is-byte-identical."""
    before = "---\ntenant:   acme\nknobs: {retrieval_min_score: 0.30,   retrieval_vector_top_k: 32}\n...\n"
    assert edited(before, write={"retrieval_min_score": literal}) == before


def test_quotes_elsewhere_stay() -> None:
    """Case roundtrip-quotes-guard-other-readers, with a label for the unknown key."""
    before = 'tenant: acme\nlabels: {mode: "on"}\nknobs:\n  retrieval_min_score: 0.3\n'
    assert edited(before, write={"retrieval_min_score": "0.2"}) == before.replace("0.3", "0.2")


@pytest.mark.parametrize("literal", ["0.00001", "1e-5", "0.10", "+0.5"])
def test_the_spelling_that_was_typed_is_written(literal: str) -> None:
    """Case roundtrip-small-float-spelling."""
    before = "tenant: acme\nknobs:\n  retrieval_min_score: 0.3\n"
    assert edited(before, write={"retrieval_min_score": literal}) == before.replace("0.3", literal)


def test_another_decimal_of_the_same_double_is_another_value() -> None:
    """A floor is compared exactly as written."""
    before = "tenant: a\nknobs: {retrieval_min_score: 0.3333333333333333}\n"
    assert "0.33333333333333333}" in edited(
        before, write={"retrieval_min_score": "0.33333333333333333"}
    )


# Writing


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tenant: a\nknobs:\n  rrf_k: 1\n", "tenant: a\nknobs:\n  rrf_k: 1\n  mmr_lambda: 0.5\n"),
        ("tenant: a\nknobs:\n  rrf_k: 1", "tenant: a\nknobs:\n  rrf_k: 1\n  mmr_lambda: 0.5"),
        (
            "tenant: a\nknobs:\n    rrf_k: 1 # x\n# end\n",
            "tenant: a\nknobs:\n    rrf_k: 1 # x\n    mmr_lambda: 0.5\n# end\n",
        ),
        (
            "tenant: a\nknobs:\n  # c\n  assembly_max_chunks: 1\n",
            "tenant: a\nknobs:\n  # c\n  assembly_max_chunks: 1\n  mmr_lambda: 0.5\n",
        ),
        (
            "tenant: a\nknobs:\n  # c\n  ranker_timeout_ms: 100\n",
            "tenant: a\nknobs:\n  mmr_lambda: 0.5\n  # c\n  ranker_timeout_ms: 100\n",
        ),
        ("tenant: a\nknobs: {}\n", "tenant: a\nknobs: {mmr_lambda: 0.5}\n"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", "tenant: a\nknobs: {rrf_k: 1, mmr_lambda: 0.5}\n"),
        (
            "tenant: a\nknobs: { ranker_timeout_ms: 100 }\n",
            "tenant: a\nknobs: { mmr_lambda: 0.5, ranker_timeout_ms: 100 }\n",
        ),
        (
            "tenant: a\nknobs:  # none\nowner: x\n",
            "tenant: a\nknobs: {mmr_lambda: 0.5}  # none\nowner: x\n",
        ),
        ("tenant: a\nknobs: ~ # none\n", "tenant: a\nknobs: {mmr_lambda: 0.5} # none\n"),
        ("tenant: a\n", "tenant: a\nknobs:\n  mmr_lambda: 0.5\n"),
        ("tenant: a", "tenant: a\nknobs:\n  mmr_lambda: 0.5"),
        ("tenant: a # x\n...\n", "tenant: a # x\nknobs:\n  mmr_lambda: 0.5\n...\n"),
        (
            "tenant: a\nowner: |\n  x\n  y\n\n# end\n",
            "tenant: a\nowner: |\n  x\n  y\n\nknobs:\n  mmr_lambda: 0.5\n# end\n",
        ),
        ("{tenant: a}\n", "{tenant: a, knobs: {mmr_lambda: 0.5}}\n"),
        ('{"tenant": "a"}', '{"tenant": "a", "knobs": {"mmr_lambda": 0.5}}'),
        (
            '{\n  "tenant": "a",\n  "knobs": {\n    "rrf_k": 1\n  }\n}\n',
            '{\n  "tenant": "a",\n  "knobs": {\n    "rrf_k": 1,\n    "mmr_lambda": 0.5\n  }\n}\n',
        ),
        (
            "x-a: &a\n  rrf_k: 1\ntenant: a\nknobs:\n  <<: *a\n",
            "x-a: &a\n  rrf_k: 1\ntenant: a\nknobs:\n  <<: *a\n  mmr_lambda: 0.5\n",
        ),
        (
            "x-a: &a\n  mmr_lambda: 1\ntenant: a\nknobs:\n  <<: *a\n",
            "x-a: &a\n  mmr_lambda: 1\ntenant: a\nknobs:\n  <<: *a\n  mmr_lambda: 0.5\n",
        ),
        (
            "x-a: &a 1\ntenant: a\nknobs: {mmr_lambda: *a}\n",
            "x-a: &a 1\ntenant: a\nknobs: {mmr_lambda: 0.5}\n",
        ),
        ("tenant: a\nknobs:\n  mmrLambda: 0.70\n", "tenant: a\nknobs:\n  mmrLambda: 0.5\n"),
        (
            "tenant: a\nknobs:\n  mmr_lambda:  # todo\n",
            "tenant: a\nknobs:\n  mmr_lambda: 0.5  # todo\n",
        ),
        ('tenant: a\nknobs:\n  mmr_lambda: "0.7"\n', "tenant: a\nknobs:\n  mmr_lambda: 0.5\n"),
        (
            "tenant: a\nknobs:\n  ? mmr_lambda\n  : 0.7\n",
            "tenant: a\nknobs:\n  ? mmr_lambda\n  : 0.5\n",
        ),
    ],
)
def test_a_knob_is_written_where_it_belongs(before: str, after: str) -> None:
    """In schema order among its neighbours, in the style of the mapping; through merge keys and aliases only here."""
    assert edited(before, write={"mmr_lambda": "0.5"}) == after


def test_a_mode_keeps_its_quotes() -> None:
    """JSON has no other way, and YAML may have its reasons."""
    assert edited(
        '{"tenant": "a", "knobs": {"rrf_k": 1}}', write={"recency_ranker_mode": "DISABLED"}
    ) == ('{"tenant": "a", "knobs": {"rrf_k": 1, "recency_ranker_mode": "DISABLED"}}')
    before = "tenant: a\nknobs: {recency_ranker_mode: 'ENABLED'}\n"
    assert edited(before, write={"recency_ranker_mode": "DISABLED"}) == before.replace(
        "ENABLED", "DISABLED"
    )
    assert edited(before, write={"recency_ranker_mode": "ENABLED"}) == before


def test_json_gets_numbers_that_json_has() -> None:
    """`.5` is a number in YAML alone."""
    assert '"rrf_k": 1, "mmr_lambda": 0.5' in edited(
        '{"tenant": "a", "knobs": {"rrf_k": 1}}', write={"mmr_lambda": ".5"}
    )


def test_only_the_named_document_of_a_file_changes() -> None:
    """The others keep every byte."""
    before = "tenant: a\nknobs: {rrf_k: 1}\n---\ntenant: b\nknobs: {rrf_k: 1}\n---\ntenant: c\nknobs: {rrf_k: 1}\n"
    after = edited(before, index=1, write={"rrf_k": "2"}, remove=("mmr_lambda",))
    assert after == before.replace("b\nknobs: {rrf_k: 1}", "b\nknobs: {rrf_k: 2}")


# Taking out


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("tenant: a\nknobs:\n  # why\n  rrf_k: 1 # x\n", "tenant: a\nknobs: {}\n"),
        ("tenant: a\nknobs: # all\n  rrf_k: 1\n", "tenant: a\nknobs: {} # all\n"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", "tenant: a\nknobs: {}\n"),
        ("tenant: a\nknobs: {rrf_k: 1, mmr_lambda: 1}\n", "tenant: a\nknobs: {mmr_lambda: 1}\n"),
        ("tenant: a\nknobs: {mmr_lambda: 1,   rrf_k: 1}\n", "tenant: a\nknobs: {mmr_lambda: 1}\n"),
        (
            "tenant: a\nknobs: {mmr_lambda: 1, rrf_k: 1, }\n",
            "tenant: a\nknobs: {mmr_lambda: 1, }\n",
        ),
        (
            "tenant: a\nknobs: {\n  mmr_lambda: 1, # l\n  # r\n  rrf_k: 1 # k\n}\n",
            "tenant: a\nknobs: {\n  mmr_lambda: 1 # l\n}\n",
        ),
        (
            "tenant: a\nknobs: {\n  rrf_k: 1, # k\n  # l\n  mmr_lambda: 1\n}\n",
            "tenant: a\nknobs: {\n  # l\n  mmr_lambda: 1\n}\n",
        ),
        (
            '{"tenant": "a", "knobs": {\n  "mmr_lambda": 1,\n  "rrf_k": 1\n}}',
            '{"tenant": "a", "knobs": {\n  "mmr_lambda": 1\n}}',
        ),
        (
            "tenant: a\nknobs:\n  mmr_lambda: 1\n\n  # the floor\n\n  # k\n  rrf_k: 1\n  # after\n",
            "tenant: a\nknobs:\n  mmr_lambda: 1\n\n  # the floor\n\n  # after\n",
        ),
        (
            "x-a: &a {mmr_lambda: 1}\ntenant: a\nknobs:\n  <<: *a\n  rrf_k: 1\n",
            "x-a: &a {mmr_lambda: 1}\ntenant: a\nknobs:\n  <<: *a\n",
        ),
        ("tenant: a\nknobs:\n  mmr_lambda: 1\n  rrf_k: 1", "tenant: a\nknobs:\n  mmr_lambda: 1\n"),
        ("tenant: a\nknobs: {mmr_lambda: 1}\n", "tenant: a\nknobs: {mmr_lambda: 1}\n"),
        ("tenant: a\n", "tenant: a\n"),
    ],
)
def test_a_knob_is_taken_out_with_its_comments(before: str, after: str) -> None:
    """Those directly above it and beside it."""
    assert edited(before, remove=("rrf_k",)) == after


# Refusals


@pytest.mark.parametrize(
    ("text", "write", "remove", "rule"),
    [
        ("x-a: &a\n  rrf_k: 1\ntenant: a\nknobs: *a\n", {"rrf_k": "2"}, (), "edit-through-alias"),
        (
            "x-a: &a\n  rrf_k: 1\ntenant: a\nknobs: *a\n",
            {"mmr_lambda": "1"},
            (),
            "edit-through-alias",
        ),
        ("x-a: &a\n  rrf_k: 1\ntenant: a\nknobs: *a\n", {}, ("rrf_k",), "edit-through-alias"),
        (
            "x-a: &a\n  rrf_k: 1\ntenant: a\nknobs:\n  <<: *a\n",
            {},
            ("rrf_k",),
            "edit-through-alias",
        ),
        (
            "x-a: &a\n  rrf_k: 1\ntenant: a\nknobs:\n  <<: *a\n  rrf_k: 2\n",
            {},
            ("rrf_k",),
            "edit-through-alias",
        ),
        ("tenant: a\nknobs: &k\n  rrf_k: 1\nx-a: *k\n", {"rrf_k": "2"}, (), "edit-through-alias"),
        ("tenant: a\nknobs: {rrf_k: &k 1}\nx-a: *k\n", {"rrf_k": "2"}, (), "edit-through-alias"),
        ("tenant: a\nknobs: {rrf_k: &k 1}\nx-a: *k\n", {}, ("rrf_k",), "edit-through-alias"),
        ("tenant: a\nknobs: [rrf_k]\n", {"rrf_k": "2"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1, rrfK: 1}\n", {"rrf_k": "2"}, (), "unknown-knob"),
        (
            "tenant: a\nknobs:\n  ? rrf_k\n  : 1\n  mmr_lambda: 1\n",
            {},
            ("rrf_k",),
            "unsupported-yaml",
        ),
        ("tenant: a\nknobs: {rrf_k: 1}\n", {"rrf_k": "1, mmr_lambda: 2"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", {"rrf_k": "2 # x"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", {"rrf_k": "010"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", {"rrf_k": "true"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1}\n", {"rrf_k": "[1]"}, (), "wrong-type"),
        ("tenant: a\nknobs: {rrf_k: 1}\n---\ntenant: [\n", {"rrf_k": "2"}, (), "unknown-document"),
    ],
)
def test_what_would_change_something_else_is_refused(
    text: str, write: dict[str, str], remove: tuple[str, ...], rule: str
) -> None:
    """Refused before any write, with the rule's name in the words."""
    with pytest.raises(EditRefusedError) as caught:
        edited(text, write=write, remove=remove)
    assert (caught.value.rule, caught.value.exit_code) == (rule, ExitCode.REFUSED)
    assert rule in caught.value.message


def test_bare_knobs_are_no_document_to_edit() -> None:
    """Whose they are stands on the command line only."""
    (document,) = sort_documents(
        read_bytes(b"rrf_k: 1\n", "t.yaml"), named=True, tenant="a"
    ).documents
    with pytest.raises(EditRefusedError):
        set_knobs(document, {"rrf_k": "2"}, CATALOGUE)


# Laws


@given(raw=files(), data=st.data())
@settings(max_examples=150)
def test_an_edit_changes_what_it_means_to_and_nothing_else(raw: bytes, data: st.DataObject) -> None:
    """The value reads back, every other value is as it was, and every line that stays is byte for byte the same."""
    documents = documents_of(raw)
    index = data.draw(st.integers(0, len(documents) - 1))
    before = documents[index]
    name = data.draw(st.sampled_from(sorted(NUMBERS)))
    literal = data.draw(literals(name))
    after_raw = set_knobs(before, {name: literal}, CATALOGUE)
    after = documents_of(after_raw)[index]
    expected = {
        key: (written.value, written.exact)
        for key, written in before.written(CATALOGUE).items()
        if key in NUMBERS
    }
    found = {
        key: (written.value, written.exact)
        for key, written in after.written(CATALOGUE).items()
        if key in NUMBERS
    }
    (value,) = (
        documents_of(f"tenant: x\nknobs: {{{name}: {literal}}}".encode())[0]
        .written(CATALOGUE)
        .values()
    )
    assert found == expected | {name: (value.value, value.exact)}
    gone, come = _changed_bytes(raw, after_raw)
    assert b"\n" not in gone
    assert come.count(b"\n") <= 2
    assert set_knobs(after, {name: literal}, CATALOGUE) == after_raw


@given(raw=files(), data=st.data())
@settings(max_examples=150)
def test_taking_out_what_was_put_in_gives_the_bytes_back(raw: bytes, data: st.DataObject) -> None:
    """Where the knob was not there before, and the mapping was."""
    documents = documents_of(raw)
    index = data.draw(st.integers(0, len(documents) - 1))
    before = documents[index]
    absent = sorted(set(NUMBERS) - set(before.written(CATALOGUE)))
    assume(before.knobs)
    name = data.draw(st.sampled_from(absent))
    put_in = documents_of(set_knobs(before, {name: "7"}, CATALOGUE))[index]
    assert unset_knobs(put_in, [name], CATALOGUE).rstrip(b"\r\n") == raw.rstrip(b"\r\n")


def _changed_bytes(before: bytes, after: bytes) -> tuple[bytes, bytes]:
    """What went and what came between the first and the last byte that differ."""
    head = _alike(before, after)
    tail = _alike(before[head:][::-1], after[head:][::-1])
    return before[head : len(before) - tail], after[head : len(after) - tail]


def _alike(one: bytes, other: bytes) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
