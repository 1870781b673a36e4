"""Sets that no file holds, written as documents for the policies."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from knobctl.changes.stand_in import stand_in

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


@settings(deadline=None, max_examples=200)
@given(labels=st.dictionaries(TEXTS, TEXTS, max_size=3), owner=TEXTS)
@example(labels={"mood": "\U0001f600"}, owner='\x7f \x85 \u2028 \ufeff \uffff \\ "')
def test_labels_and_owner_arrive_whatever_they_hold(labels: dict[str, str], owner: str) -> None:
    """Emoji, controls and the line ends of YAML included; nothing breaks the document."""
    document = stand_in("acme", {"rrf_k": 30}, source="acme (live)", labels=labels, owner=owner)
    assert document.value.get("labels", {}) == labels
    assert document.value.get("owner", "") == owner
    assert document.value["knobs"] == {"rrf_k": 30}
