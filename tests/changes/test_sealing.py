"""The digests of a plan, made piece by piece."""

from __future__ import annotations

import hashlib
from typing import Any

import rfc8785
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.sealing import Seal, digest
from tests.test_canonical import plain

contents = st.dictionaries(
    st.sampled_from(["a", "diges", "digesta", "digest_", "set", "tenant"]), plain, max_size=6
)


@settings(max_examples=50, deadline=None)
@given(contents, st.lists(contents, max_size=4))
def test_a_seal_is_the_digest_of_the_whole(around: dict[str, Any], tenants: list[Any]) -> None:
    """Although nobody ever held the text of the whole."""
    plan = {**around, "tenants": [], "hazards": []}
    document = {"format": "f", "made_by": "\u00e4", "plan": plan}
    seal = Seal(document)
    sealed = [{**content, "digest": seal.add(content)} for content in tenants]
    assert [one["digest"] for one in sealed] == [digest(content) for content in tenants]
    whole: Any = {**document, "plan": {**plan, "tenants": sealed}}
    assert seal.digest() == hashlib.sha256(rfc8785.dumps(whole)).hexdigest()
