"""The canonical form that digests are made over."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import example, given, settings
from hypothesis import strategies as st

from knobctl.canonical import NoCanonicalFormError, canonical

texts = st.text(
    st.characters(exclude_categories=["Cs"])
    | st.sampled_from('"\\/\x00\x1f\x7f\u2028\ufffd\U0001f600')
)
numbers = (
    st.integers(1 - 2**53, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.sampled_from([0.0, -0.0, 1.0, -1.0, 1e-7, 1e-6, 0.0001, 1e16, 1e20, 1e21, 1e22, 5e-324])
)
plain = st.recursive(
    st.none() | st.booleans() | numbers | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=5),
    max_leaves=20,
)


@settings(deadline=None)
@given(plain)
@example({"\ue000": 1, "\U0001f600": 2, "a": 3})
@example([True, 1, 1.0, False, 0, 0.0])
def test_it_is_what_the_library_gives(value: Any) -> None:
    """Bit for bit: every number, every escape, the order of the keys."""
    assert canonical(value) == rfc8785.dumps(value)


def _deep() -> Any:
    value: Any = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [2**53, -(2**53), float("nan"), float("inf"), "\ud800", {"\ud800": 1}, {1: 2}, object(), _deep()],
    ids=["large", "small", "nan", "inf", "half", "half key", "no text", "object", "deep"],
)  # fmt: skip
def test_what_has_no_canonical_form_is_refused(value: Any) -> None:
    """A number beyond a double, half a character, a key that is no text, what no stack holds."""
    with pytest.raises(NoCanonicalFormError):
        canonical({"inside": [value]})
