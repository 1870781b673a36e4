"""JSON read strictly, whole or step by step."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.documents.strict_json import JsonCursor, read_json

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=12,
)


def walked(text: str) -> Any:
    """The value of a text, of which the two outermost levels are walked through."""

    def step(depth: int) -> Any:
        if depth and cursor.stands_at("{"):
            return {key: step(depth - 1) for key in cursor.members()}
        if depth and cursor.stands_at("["):
            return [step(depth - 1) for _ in cursor.elements()]
        return cursor.value()

    cursor = JsonCursor(text)
    found = step(2)
    cursor.end()
    return found


@settings(max_examples=50, deadline=None)
@given(plain, st.sampled_from([None, 1]))
def test_step_by_step_it_is_the_same_value(value: Any, indent: int | None) -> None:
    """Whatever stands between its parts."""
    text = f" \t\r\n{json.dumps(value, indent=indent)}\n"
    assert walked(text) == read_json(text.encode()) == value


WRONG = {
    "nothing": "",
    "cut": '{"a": [1, 2',
    "cut key": '{"a',
    "no colon": '{"a" 1}',
    "no comma": '{"a": 1 "b": 2}',
    "comma at the end": '{"a": 1,}',
    "comma in a list": "[1,]",
    "two values": "{} {}",
    "no key": "{1: 2}",
    "key twice": '{"a": 1, "a": 2}',
    "key twice inside": '{"a": {"b": {"c": 1, "c": 2}}}',
    "no number": '{"a": NaN}',
    "infinite": "[[[-Infinity]]]",
    "too deep": '{"a": ' + "[" * 100_000,
    "wrong end": '{"a": [1}',
    "other space": "{\u00a0}",
}


@pytest.mark.parametrize("text", WRONG.values(), ids=WRONG)
def test_what_is_wrong_is_refused_in_either_way(text: str) -> None:
    """With words, and never with another value."""
    for read in (walked, lambda text: read_json(text.encode())):
        with pytest.raises(ValueError, match=r"."):
            read(text)


def test_a_value_can_be_skipped() -> None:
    """And the next one read, from where it stands."""
    text = '[{"a": [1, {"b": "]"}]}, 2]'
    cursor = JsonCursor(text)
    for number, _ in enumerate(cursor.elements()):
        if number:
            assert JsonCursor(text, cursor.at).value() == cursor.value() == 2
        else:
            cursor.skip()
    cursor.end()
