"""The canonical form: names, order and spelling; comments, layout and values stay."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings

from knobctl.documents.canonical import canonical_text
from knobctl.documents.kinds import sort_documents
from knobctl.documents.reader import read_bytes, read_text
from knobctl.knobs import load_catalogue
from tests.documents.generating import files

CATALOGUE = load_catalogue()


def canonical(text: str) -> str:
    """The canonical form; twice is once."""
    once = canonical_text(read_text(text, "t.yaml"), CATALOGUE)
    assert canonical_text(read_text(once, "t.yaml"), CATALOGUE) == once
    return once


def test_everything_at_once() -> None:
    """Keys, knobs, names, numbers, quotes; every comment beside what it explains."""
    assert canonical(
        """# yaml-language-server: $schema=x.json
# about this tenant
version: 1
knobs:
  # sixty
  rrfK: 6e1   # exactly

  # the floor
  retrieval_min_score: .30
layers: [a, on]
owner: >-
  search
  relevance
# who
tenant: no
labels: {b: c, yes: 1:30}
"""
    ) == (
        """# yaml-language-server: $schema=x.json
# about this tenant
# who
tenant: 'no'
version: 1
labels: {b: c, 'yes': '1:30'}
owner: >-
  search
  relevance
layers: [a, 'on']
knobs:
  # the floor
  retrieval_min_score: 0.3

  # sixty
  rrf_k: 60   # exactly
"""
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("0.30", "0.3"),
        (".5", "0.5"),
        ("1.0", "1"),
        ("1e-3", "0.001"),
        ("1E-3", "0.001"),
        ("+0.25", "0.25"),
        ("0.33333333333333333", "0.33333333333333333"),
        ("0.333333333333333333330", "0.33333333333333333333"),
        ("0.00001", "0.00001"),
        ("1e-30", "0.000000000000000000000000000001"),
        ("1e-300", "1e-300"),
        ("0", "0"),
        ("0.0", "0"),
        ("00", "0"),
        ("0e7", "0"),
        ("0x1", "1"),
        ("7", "7"),
        ("1.50", "1.50"),
        ("'0.30'", "'0.30'"),
        ("true", "true"),
        ("", ""),
    ],
)
def test_numbers_are_spelled_digit_for_digit(before: str, after: str) -> None:
    """The exact decimal stays; what the knob does not accept is left for the checks to tell."""
    text = "tenant: a\nknobs:\n  retrieval_min_score: {}\n"
    assert canonical(text.format(before)) == text.format(after)


def test_a_whole_number_of_an_integer_knob_has_no_point() -> None:
    """8.0 is legal, and 8 is how it is written."""
    assert (
        canonical("tenant: a\nknobs: {rrf_k: 8.0, rrf_k_x: 8.0}\n")
        == "tenant: a\nknobs: {rrf_k: 8, rrf_k_x: 8.0}\n"
    )


def test_both_spellings_of_a_knob_stay_for_the_checks_to_tell() -> None:
    """Renaming one would make a duplicate key."""
    text = "tenant: a\nknobs: {rrf_k: 8, rrfK: 9}\n"
    assert canonical(text) == text


def test_json_is_ordered_in_its_own_layout() -> None:
    """Names and order; line ends and indentation stay where they are."""
    assert canonical(
        '{\n  "knobs": {\n    "rrfK": 60.0,\n    "retrievalMinScore": 0.30\n  },\n  "tenant": "x"\n}\n'
    ) == (
        '{\n  "tenant": "x",\n  "knobs": {\n    "retrieval_min_score": 0.3,\n    "rrf_k": 60\n  }\n}\n'
    )


@pytest.mark.parametrize(
    "text",
    [
        "x-a: &a\n  rrf_k: 3\nknobs:\n  <<: *a\n  mmr_lambda: 0.5\n  retrieval_min_score: 0.5\ntenant: x\n",
        "tenant: x\nknobs: {rrf_k: 3, # k\n  retrieval_min_score: 0.5}\n",
        "services: {web: {image: x}}\n",
        "tenant: x\nknobs:\n  ? rrf_k\n  : 3\n  retrieval_min_score: 0.5\n",
    ],
)
def test_what_cannot_be_moved_safely_stays(text: str) -> None:
    """Aliases behind their anchors, comments inside braces, other people's documents."""
    assert canonical(text) == text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "message: |\n  a\n\n  b\nwhen: 'true'\n# id\npolicy: x\nhint: |+\n  c\n\n",
            "# id\npolicy: x\nwhen: 'true'\nmessage: |\n  a\n\n  b\nhint: |+\n  c\n\n",
        ),
        ("knobs: {}\ntenant: a", "tenant: a\nknobs: {}"),
        ("knobs: {}\r\ntenant: a\r\n", "tenant: a\r\nknobs: {}\r\n"),
        (
            "knobs: {}\ntenant: a\n...\n---\nknobs: {}\nlayer: b\n",
            "tenant: a\nknobs: {}\n...\n---\nlayer: b\nknobs: {}\n",
        ),
        (
            "knobs:\n  rrf_k: 1\n    # below\ntenant: a\n# end\n",
            "tenant: a\nknobs:\n  rrf_k: 1\n    # below\n# end\n",
        ),
        ("tenant: a\n\nknobs: {}\n\nlabels: {}\n", "tenant: a\n\nlabels: {}\n\nknobs: {}\n"),
        ("x-y: 1\ntenant: a\nknobs: {}\nfoo: 2\n", "tenant: a\nx-y: 1\nfoo: 2\nknobs: {}\n"),
        ('{"tenant": "a", "$schema": "x"}', '{"$schema": "x", "tenant": "a"}'),
    ],
)
def test_keys_move_with_their_lines(before: str, after: str) -> None:
    """Block scalars whole, groups with their blank lines, the head of the file on top."""
    assert canonical(before) == after


def _said(text: str) -> list[Any]:
    found = sort_documents(read_text(text, "t.yaml"), named=True)
    return [
        (
            document.kind,
            {key: value for key, value in document.value.items() if key != "knobs"},
            {
                name: (written.value, None if isinstance(written.value, str) else written.exact)
                for name, written in document.written(CATALOGUE).items()
            },
        )
        for document in found.documents
    ]


@given(raw=files())
@settings(max_examples=150)
def test_values_and_comments_stay_and_twice_is_once(raw: bytes) -> None:
    """For every way in which people write documents."""
    text = read_bytes(raw, "t.yaml")
    after = canonical(text.text)
    assert _said(after) == _said(text.text)
    assert _comments(after) == _comments(text.text)
    assert ("\r\n" in text.text) >= ("\r\n" in after)
    assert after.count("\r") == after.count("\r\n")
    keys = [
        list(document.value)
        for document in sort_documents(read_text(after, "t"), named=True).documents
    ]
    assert all(key[0] in {"tenant", "layer"} for key in keys)


def _comments(text: str) -> Counter[str]:
    return Counter(
        line.split(" #", 1)[1] if " #" in line else line
        for line in text.splitlines()
        if "#" in line
    )
