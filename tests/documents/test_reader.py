"""Reading: the values of YAML 1.2, where everything stands, and every trap that other readers fall into."""

from __future__ import annotations

import json
import math
import re
import time
import tracemalloc
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from knobctl.documents.reader import MAX_BYTES, MAX_DEPTH, MAX_NODES, Text, read_bytes, read_text

if TYPE_CHECKING:
    from knobctl.documents.tree import Tree


def only(text: str) -> Tree:
    """The one document of a readable text."""
    read = read_text(text, "t.yaml")
    assert not read.troubles, read.troubles
    (tree,) = read.trees
    return tree


def value(text: str) -> Any:
    """The value of the key `a` in a text."""
    tree = only(text)
    assert isinstance(tree.value, dict)
    return tree.value["a"]


def rules(text: str | bytes) -> list[str]:
    """The rules of all troubles, those of the documents first."""
    read = read_text(text, "t.yaml") if isinstance(text, str) else read_bytes(text, "t.yaml")
    return [trouble.rule for tree in read.trees for trouble in tree.troubles] + [
        trouble.rule for trouble in read.troubles
    ]


def place(text: str, rule: str) -> str:
    """Line and column of the first trouble of a rule."""
    read = read_text(text, "t.yaml")
    found = [trouble for tree in read.trees for trouble in tree.troubles] + read.troubles
    trouble = next(one for one in found if one.rule == rule)
    location = read.location(trouble.start, trouble.end)
    return f"{location.line}:{location.column}"


SILENT = [
    ("1e-3", 0.001),
    ("1e3", 1000.0),
    ("1E3", 1000.0),
    ("0.3", 0.3),
    (".5", 0.5),
    ("5.", 5.0),
    ("+5", 5),
    ("0", 0),
    ("0.0", 0.0),
    ("00", 0),
    ("8.0", 8.0),
    ("0o14", 12),
    ("0x1F", 31),
    ("123456789012", 123456789012),
    ("18446744073709551615", 18446744073709551615),
    ("123456789012345678901234567890", 123456789012345678901234567890.0),
    ("true", True),
    ("FALSE", False),
    ("null", None),
    ("~", None),
    ("", None),
    ("2024-01-02", "2024-01-02"),
    ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
    ("0,3", "0,3"),
    ("30%", "30%"),
    ("1.2.3", "1.2.3"),
    ("0x", "0x"),
    ("0b2", "0b2"),
    ("NaN", "NaN"),
    ("Infinity", "Infinity"),
    ("inf", "inf"),
    (".Nan", ".Nan"),
    ("yEs", "yEs"),
    ("y", "y"),
    ("nothing", "nothing"),
    ("=", "="),
    ("'0.3'", "0.3"),
    ('"0.3"', "0.3"),
    ("'no'", "no"),
    ("!!str 0.3", "0.3"),
    ("!!float 1", 1.0),
    ("!!int 1", 1),
    ("&x 0.3", 0.3),
]


@pytest.mark.parametrize(("scalar", "expected"), SILENT)
def test_a_scalar_is_read_by_the_core_schema_of_yaml_1_2(scalar: str, expected: object) -> None:
    """Value and type are those of YAML 1.2, and nothing is said."""
    found = value(f"a: {scalar}\n")
    assert (found, type(found)) == (expected, type(expected))
    assert rules(f"a: {scalar}\n") == []


@pytest.mark.parametrize(
    ("scalar", "expected", "rule"),
    [
        ("no", "no", "ambiguous-scalar"),
        ("Yes", "Yes", "ambiguous-scalar"),
        ("ON", "ON", "ambiguous-scalar"),
        ("off", "off", "ambiguous-scalar"),
        ("010", 10, "ambiguous-scalar"),
        ("014", 14, "ambiguous-scalar"),
        ("-010", -10, "ambiguous-scalar"),
        ("089", 89, "ambiguous-scalar"),
        ("1:30", "1:30", "ambiguous-scalar"),
        ("12:30:45", "12:30:45", "ambiguous-scalar"),
        ("1_000", "1_000", "ambiguous-scalar"),
        ("0b11", "0b11", "ambiguous-scalar"),
        (".nan", math.nan, "not-finite"),
        (".inf", math.inf, "not-finite"),
        ("-.INF", -math.inf, "not-finite"),
        ("1e400", math.inf, "not-finite"),
        ("-1e400", -math.inf, "not-finite"),
        ("9" * 5000, math.inf, "not-finite"),
        ("0x" + "f" * 5000, math.inf, "not-finite"),
        ("1e-400", 0.0, "underflow-to-zero"),
        ("0.0000001e-400", 0.0, "underflow-to-zero"),
        ("-0.0", 0.0, "negative-zero"),
        ("-0", 0.0, "negative-zero"),
        ("-0e5", 0.0, "negative-zero"),
        ("!!int x", "x", "yaml-syntax"),
        ("!!float true", True, "yaml-syntax"),
    ],
)
def test_a_trap_is_read_and_named(scalar: str, expected: Any, rule: str) -> None:
    """What another reader takes for something else, or what is no finite number, is said at its place."""
    text = f"tenant: acme\na: {scalar}\n"
    found = value(text)
    assert repr(found) == repr(expected) or (found, found == 0) == (expected, True)
    assert rules(text) == [rule]
    assert place(text, rule) == "2:4" if not scalar.startswith("!!") else True


UNREADABLE = object()
SILENT_DISAGREEMENTS = (
    r"[-+]?(\.[0-9]+|[0-9]+\.?[0-9]*)[eE][-+]?[0-9]+",  # 1e-3: a number here, text there; the contract has it silent
    r"[-+]\.[0-9]+",  # a sign before a point: text there
    r"0o[0-7]+",  # octal of YAML 1.2, text there
    r"[0-9]{4}-[0-9][0-9]?-[0-9][0-9]?([Tt \t].*)?",  # dates: text here, and every document writes them
)
"""Where PyYAML reads otherwise and nothing is said."""


@given(scalar=st.text(st.sampled_from("0123456789+-._:eExob7f"), min_size=1, max_size=8))
@settings(max_examples=1500)
def test_a_number_that_another_reader_sees_is_told_or_on_the_list(scalar: str) -> None:
    """Against PyYAML for YAML 1.1, and against ruamel.yaml for YAML 1.2, which must agree with us."""
    _compare(scalar)


@pytest.mark.parametrize(
    "scalar",
    [
        "yes",
        "no",
        "on",
        "off",
        "true",
        "True",
        "TRUE",
        "null",
        "Null",
        "~",
        "y",
        "n",
        "Y",
        "N",
        "nO",
        "oFF",
        "1:30",
        "1_000",
        "010",
        "0b101",
        "-1:30:00",
        "0b_",
        "1_",
        "0x_1",
        "-0x1f",
        "0x1F",
        "1:30.5",
        "01:02",
        "1:60",
        "0:0",
        ".5_0",
        "1_0.5",
        "0.1_",
        "1__0",
        "08",
        "09.5",
        "0_8",
        "_1",
        "+1",
        "-1",
        "+.5",
        "-.5",
        "5.",
        "+5.",
        "0.",
        "00.5",
        "1e3",
        "1e-3",
        "1.5e3",
        "1.5e+3",
        ".1e+2",
        ".inf",
        "-.inf",
        "+.inf",
        ".Inf",
        ".nan",
        ".NaN",
        ".NAN",
        "nan",
        "inf",
        "infinity",
        "2024-01-02",
        "2024-1-2",
        "2024-01-02T03:04:05Z",
        "0o14",
        "0o18",
        "0x",
        "0b",
        "=",
        "<<",
        "-",
        "?",
        "1,5",
        "1.2.3",
    ],
)
def test_the_known_words_are_told_or_on_the_list(scalar: str) -> None:
    """The spellings of bug reports."""
    _compare(scalar)


def _compare(scalar: str) -> None:
    text = read_text(f"a: {scalar}", "t.yaml")
    if text.troubles or not isinstance(text.trees[0].value, dict):
        return  # such as `- x`: no scalar
    found = text.trees[0].value["a"]
    if not isinstance(found, (dict, list)):
        told = {trouble.rule for trouble in text.trees[0].troubles}
        modern = _read(YAML(typ="safe", pure=True).load, scalar)
        if type(modern) in {int, float, bool, type(None)} and not re.search("_|^[-+]0o", scalar):
            assert repr(found) == repr(modern) or told, (found, modern)
        old = _read(yaml.safe_load, scalar)
        if old is not UNREADABLE and repr(old) != repr(found) and old != found:
            listed = any(re.fullmatch(pattern, scalar) for pattern in SILENT_DISAGREEMENTS)
            assert told or listed, (found, old)


def _read(load: Any, scalar: str) -> Any:
    try:
        return load(f"a: {scalar}")["a"]
    except (ValueError, yaml.YAMLError, YAMLError, AttributeError):
        return UNREADABLE


@pytest.mark.parametrize(
    "scalar", ["1:30", "1_000", "010", "no", "0b101", "-1:30:00", "1_", "-0x1f"]
)
def test_the_message_names_the_reading_of_pyyaml(scalar: str) -> None:
    """The most common YAML 1.1 reader."""
    (trouble,) = only(f"a: {scalar}").troubles
    other = yaml.safe_load(scalar)
    named = "a truth value" if isinstance(other, bool) else f"the number {other}"
    assert trouble.message.endswith(f" and as {named} by YAML 1.1 readers")


@pytest.mark.parametrize(
    ("text", "rule", "at"),
    [
        ("tenant: acme\nknobs:\n\ta: 1\n", "yaml-syntax", "3:1"),
        ("tenant: acme\nknobs: [\n", "yaml-syntax", "3:1"),
        ("a: 'x\n", "yaml-syntax", "2:1"),
        ("a: \x01\n", "yaml-syntax", "1:4"),
        ("a: \0\n", "yaml-syntax", "1:4"),
        ("a: b: c\n", "yaml-syntax", "1:5"),
        ("%YAML 1.1\n---\na: no\n", "unsupported-yaml", "1:1"),
        ("%TAG ! tag:x,2002:\n---\na: 1\n", "unsupported-yaml", "1:1"),
        ("knobs: !!python/object/apply:os.getcwd []\n", "unsupported-yaml", "1:8"),
        ("a: !foo 1\n", "unsupported-yaml", "1:4"),
        ("a: !!binary aGk=\n", "unsupported-yaml", "1:4"),
        ("a: !!set {x}\n", "unsupported-yaml", "1:4"),
        ("!!omap [a: 1]\n", "unsupported-yaml", "1:1"),
        ("!!int 1: 2\n", "unsupported-yaml", "1:1"),
        ("1: 2\n", "unsupported-yaml", "1:1"),
        ("a:\n  null: 2\n", "unsupported-yaml", "2:3"),
        ("~: 2\n", "unsupported-yaml", "1:1"),
        ("1.5: 2\n", "unsupported-yaml", "1:1"),
        ("true: 2\n", "unsupported-yaml", "1:1"),
        ("? [a]\n: 2\n", "unsupported-yaml", "1:3"),
        ("? {a: b}\n: 2\n", "unsupported-yaml", "1:3"),
        ("a: &x y\n*x : 2\n", "unsupported-yaml", "2:1"),
        ("on: 2\n", "ambiguous-scalar", "1:1"),
        ("a:\n  no: 2\n", "ambiguous-scalar", "2:3"),
        ("a: *x\n", "yaml-syntax", "1:4"),
        ("<<: 1\na: 2\n", "yaml-syntax", "1:5"),
        ("a: &a {b: *a}\n", "yaml-limits", "1:11"),
        ("a: &a\n  b: [*a]\n", "yaml-limits", "2:7"),
    ],
)
def test_what_cannot_be_read_is_named_at_its_place(text: str, rule: str, at: str) -> None:
    """One trouble, its rule, its line and column."""
    assert rules(text) == [rule]
    assert place(text, rule) == at


def test_a_tab_after_a_colon_is_legal() -> None:
    """A tab separates as a blank does; only indentation must not be tabs."""
    assert value("a:\t0.3\n") == 0.3


def test_a_tab_that_indents_is_called_a_tab() -> None:
    """libyaml says `cannot start any token`, which names neither the tab nor a remedy."""
    (trouble,) = read_text("knobs:\n\ta: 1\n", "t.yaml").troubles
    assert (trouble.message, trouble.hint) == ("a tab indents this line", "indent with spaces")


def test_a_duplicate_key_names_both_places() -> None:
    """The second is the fault, the first is beside it, and the first value stays."""
    text = read_text("a: 1\nb: 2\na: 3\n", "t.yaml")
    (trouble,) = text.trees[0].troubles
    assert (trouble.rule, trouble.start, trouble.related) == (
        "duplicate-key",
        10,
        (("written first here", 0),),
    )
    assert text.trees[0].value == {"a": 1, "b": 2}


@pytest.mark.parametrize("text", ["1: x\n'1': y\n", "{a: 1, 'a': 2}", 'a: 1\n"\\x61": 2\n'])
def test_keys_are_the_same_whatever_their_quotes(text: str) -> None:
    """A key is its text; another spelling of it is the same key."""
    assert "duplicate-key" in rules(text)


def test_two_merge_keys_are_a_duplicate_with_the_legal_form_beside() -> None:
    """PyYAML takes the last silently; the message gives the list of aliases."""
    read = read_text("x: &x {a: 1}\nk:\n  <<: *x\n  <<: *x\n", "t.yaml")
    (trouble,) = read.trees[0].troubles
    assert trouble.rule == "duplicate-key"
    assert trouble.hint is not None
    assert "<<: [*a, *b]" in trouble.hint
    assert read.location(trouble.start).line == 4


def test_a_merged_value_stands_at_its_anchor_and_tells_the_merge() -> None:
    """The own value wins; a merged one has the anchor's place and the place of the merge key."""
    tree = only("x: &x\n  a: 7\n  b: 32\nk:\n  <<: *x\n  b: 16\n")
    assert tree.value == {"x": {"a": 7, "b": 32}, "k": {"b": 16, "a": 7}}
    assert isinstance(tree.spot.children, dict)
    merged = tree.spot.children["k"].children
    assert isinstance(merged, dict)
    assert (merged["a"].start, merged["a"].via) == (11, 26)
    assert merged["b"].via == -1


def test_the_first_of_several_merged_mappings_wins() -> None:
    """As YAML's merge type has it; an own key before or behind the merge wins over all."""
    tree = only("x: &x {a: 1, b: 1}\ny: &y {a: 2, b: 2, c: 2}\nk: {c: 3, <<: [*x, *y]}\n")
    assert isinstance(tree.value, dict)
    assert tree.value["k"] == {"c": 3, "a": 1, "b": 1}


def test_a_key_may_carry_an_anchor() -> None:
    """Its place is that of the key; the anchor means the key's text."""
    tree = only("&k a: 1\nb: *k\n")
    assert tree.value == {"a": 1, "b": "a"}
    assert isinstance(tree.spot.children, dict)
    assert tree.spot.children["a"].key == 3


def test_a_quoted_merge_key_is_a_key() -> None:
    """Quotes make it text."""
    assert only("'<<': 1\n").value == {"<<": 1}


def test_an_alias_has_the_value_and_place_of_its_anchor() -> None:
    """And tells where the alias stands."""
    tree = only("a: &x 0.3\nb: *x\n")
    assert tree.value == {"a": 0.3, "b": 0.3}
    assert isinstance(tree.spot.children, dict)
    spot = tree.spot.children["b"]
    assert (spot.key, spot.start, spot.end, spot.via) == (10, 6, 9, 13)


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 0.3",
        "a: !!float 0.3",
        "a: &x !!float 0.3",
        "a: !!float   &x  0.3",
        "a: &x # why\n 0.3",
    ],
)
def test_a_place_is_that_of_the_value_not_of_its_anchor_or_tag(text: str) -> None:
    """The characters of a number are the number."""
    tree = only(text)
    assert isinstance(tree.spot.children, dict)
    spot = tree.spot.children["a"]
    assert text[spot.start : spot.end] == "0.3"


def test_places_count_characters_behind_marks_emoji_and_every_line_end() -> None:
    """A byte-order mark shifts nothing, CRLF is one line end, an emoji is one character."""
    raw = "\ufeffa: '\U0001f600', b: 1\r\n".replace("', b", "'\r\n# ä\rb").encode()
    text = read_bytes(raw, "t.yaml")
    tree = text.trees[0]
    assert text.has_bom
    assert tree.value == {"a": "\U0001f600", "b": 1}
    assert isinstance(tree.spot.children, dict)
    location = text.location(tree.spot.children["b"].start)
    assert (location.line, location.column) == (3, 4)
    assert text.line(2) == "# ä"
    assert text.encoded(text.text) == raw


def test_block_collections_end_with_their_last_line() -> None:
    """libyaml ends them where the next thing begins."""
    text = "a:\n  b: 1\n  c: 2   # x\n\n# y\nd: 3\n"
    tree = only(text)
    assert isinstance(tree.spot.children, dict)
    spot = tree.spot.children["a"]
    assert text[spot.start : spot.end].startswith("b: 1\n  c: 2")
    assert spot.end <= text.index("\nd")


def test_several_documents_are_all_read() -> None:
    """Anchors end with their document."""
    text = read_text("a: &x 1\n---\nb: 2\n...\n---\nc: *x\n", "t.yaml")
    assert [tree.value for tree in text.trees] == [{"a": 1}, {"b": 2}]
    assert [trouble.rule for trouble in text.troubles] == ["yaml-syntax"]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_no_document_is_no_tree(text: str) -> None:
    """Emptiness is for the next stage to judge."""
    assert (read_text(text, "t.yaml").trees, rules(text)) == ([], [])


@pytest.mark.parametrize(
    ("raw", "at"),
    [
        (b"a: \xff\n", 3),
        (b"\xef\xbb\xbfa: \xff\n", 3),
        ("ä: ".encode() + b"\x80", 3),
        ("a: 1".encode("utf-16"), 0),
    ],
)
def test_other_encodings_are_refused_at_their_first_byte(raw: bytes, at: int) -> None:
    """UTF-16 too, which libyaml would read by its mark."""
    (trouble,) = read_bytes(raw, "t.yaml").troubles
    assert (trouble.rule, trouble.start) == ("yaml-syntax", at)
    assert "UTF-8" in trouble.message


# Limits

NINES = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{this}: &{this} [{','.join([f'*{last}'] * 9)}]\n"
    for last, this in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    "text",
    [
        NINES,
        "a: " + "[" * 10_000 + "]" * 10_000,
        "\n".join(f"{' ' * depth}a:" for depth in range(1000)),
        "- " * 5000 + "x",
        "a: [" + "1," * 20_000 + "1]",
        "".join(f"k{number}: 1\n" for number in range(20_000)),
        "a: &a {k: 1}\n" + "".join(f"k{number}: *a\n" for number in range(20_000)),
        "x" * (MAX_BYTES + 1),
        "a: &a0 []\n" + "".join(f"b{n}: &a{n + 1} [*a{n}]\n" for n in range(60)),
    ],
    ids=[
        "bomb",
        "flow",
        "block",
        "sequences",
        "list",
        "mapping",
        "aliases",
        "bytes",
        "alias depth",
    ],
)
def test_a_bomb_is_refused_at_once_in_bounded_memory(text: str) -> None:
    """Two seconds of the processor and 64 MiB at most, whatever the text asks for."""
    raw = text.encode()
    tracemalloc.start()
    began = time.thread_time()
    read = read_bytes(raw, "t.yaml")
    took = time.thread_time() - began
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [trouble.rule for trouble in read.troubles][-1] in {"yaml-limits", "yaml-syntax"}
    assert took < 2
    assert peak < 64 * 2**20


def test_the_limits_themselves_are_inside() -> None:
    """32 levels, 10,000 nodes and 1 MiB are read."""
    assert rules("[" * MAX_DEPTH + "]" * MAX_DEPTH) == []
    assert rules("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)) == ["yaml-limits"]
    assert rules("[" + "1," * (MAX_NODES - 1) + "]") == []
    assert rules("[" + "1," * MAX_NODES + "]") == ["yaml-limits"]
    assert rules(b"a: '" + b"x" * (MAX_BYTES - 5) + b"'") == []


def test_a_long_number_is_shortened_in_the_message() -> None:
    """A megabyte of digits does not go to the terminal."""
    (trouble,) = only("a: " + "9" * 100_000).troubles
    assert len(trouble.message) < 100


# Characters that nobody sees


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("owner: 'a\u202eb'\n", "1:8"),
        ("owner: a\u200bb\n", "1:8"),
        ('owner: "a\\u202eb"\n', "1:8"),
        ('owner: "a\\x1bb"\n', "1:8"),
        ("ow\u200bner: a\n", "1:1"),
        ("owner: a  # \u2066fine\n", "1:13"),
        ("# \u202e\nowner: a\n", "1:3"),
    ],
)
def test_characters_that_nobody_sees_are_told(text: str, at: str) -> None:
    """In values, keys and comments; at the value, the key, or the character of the comment."""
    assert rules(text) == ["invisible-characters"]
    assert place(text, "invisible-characters") == at


@pytest.mark.parametrize(
    "text", ["a: ä\u00a0 \U0001f600\n", 'a: "x\\ny\\t"\n', "a: |\n  ä\n  x\n", "a: 'ä'\r\n"]
)
def test_letters_of_every_script_and_line_ends_are_nothing_to_tell(text: str) -> None:
    """Only what hides is told."""
    assert rules(text) == []


def test_many_of_them_are_told_once_a_line_and_cost_little() -> None:
    """A comment of 300,000 zero-width characters is one finding."""
    text = "a: b  # " + "\u200b" * 300_000 + "\n" + "b: ['" + "\u200b', '" * 9_000 + "']\n"
    began = time.perf_counter()
    found = rules(text)
    assert time.perf_counter() - began < 20
    assert found == ["invisible-characters"] * 9_001


# JSON


def test_json_reads_through_the_same_door_with_surrogate_pairs() -> None:
    """As `json.dumps` writes them, keys too; no column moves."""
    raw = '{"a\\ud83d\\ude00": "\\ud83d\\ude00\\ud83d\\ude01!", "b": 1}'
    tree = only(raw)
    assert tree.value == json.loads(raw)
    assert isinstance(tree.spot.children, dict)
    assert raw[tree.spot.children["b"].start] == "1"
    assert list(tree.spot.children) == ["a\U0001f600", "b"]


@pytest.mark.parametrize(
    "raw", ['{"a": "\\ud83d"}', '{"a": "\\ude00\\ud83d"}', 'a: "\\ud83d\\ude00"']
)
def test_a_lone_surrogate_is_no_character(raw: str) -> None:
    """Nor is a pair in what is no JSON: YAML has other escapes."""
    assert rules(raw) == ["yaml-syntax"]


def test_an_escaped_backslash_before_a_u_is_no_escape() -> None:
    """`\\\\ud83d` is text."""
    raw = '{"a": "\\\\ud83d\\\\ude00 \\ud83d\\ude00"}'
    assert only(raw).value == json.loads(raw)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63)
    | st.floats(allow_nan=False, allow_infinity=False).filter(
        lambda x: x != 0 or math.copysign(1, x) > 0
    )
    | st.text(st.characters(codec="utf-8", exclude_characters="\ufeff")),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8"), min_size=1, max_size=80), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(document=JSON, ascii_only=st.booleans(), indent=st.sampled_from([None, 2]))
@settings(max_examples=200)
def test_all_json_reads_as_json(document: Any, ascii_only: bool, indent: int | None) -> None:
    """Every value that `json.dumps` writes comes back equal, escapes, big numbers and all."""
    raw = json.dumps(document, ensure_ascii=ascii_only, indent=indent)
    if not ascii_only and not raw.replace("\n", "").isprintable():
        return  # raw control characters that JSON allows and YAML does not
    text = read_text(raw, "t.json")
    assert not text.troubles, (raw, text.troubles)
    assert text.trees[0].value == document


@given(
    text=st.text(
        st.sampled_from("ab:-{}[]&*!<>|'\"%#,?\n \t0.1e~\r\u0085\u2028\U0001f600\ufeff\\x"),
        max_size=40,
    )
)
@settings(max_examples=500)
def test_no_text_makes_the_reader_raise(text: str) -> None:
    """Bad input is trouble with a place inside the text, never an exception."""
    read = read_text(text, "t.yaml")
    for trouble in [*read.troubles, *(found for tree in read.trees for found in tree.troubles)]:
        assert 0 <= trouble.start <= len(text)
        read.location(trouble.start, trouble.end)
    _spots_mirror_values(read)


@given(raw=st.binary(max_size=40))
def test_no_bytes_make_the_reader_raise(raw: bytes) -> None:
    """Nor do bytes that are no text."""
    read_bytes(raw, "t.yaml")


def _spots_mirror_values(text: Text) -> None:
    for tree in text.trees:
        for path, spot in tree.spot.walk():
            found: Any = tree.value
            for step in path:
                found = found[step]
            assert isinstance(found, (dict, list)) == (spot.children is not None)
            assert 0 <= spot.key <= len(text.text)
            assert spot.start <= spot.end <= len(text.text)


@pytest.mark.parametrize("depth", [33, 40, 2000, 100_000])
@pytest.mark.parametrize("sign", ["[", "{a: ", "- "])
def test_depth_has_one_limit_and_one_rule(depth: int, sign: str) -> None:
    """Also where the parser gives up before us."""
    (trouble,) = read_text("a:\n  " + sign * depth, "t.yaml").troubles
    assert (trouble.rule, trouble.message) == ("yaml-limits", "nested deeper than 32 levels")
