"""How large corpora are now, as an engine says that may say anything."""

from __future__ import annotations

from typing import Any

import pytest

from knobctl.changes.corpora import Corpora
from knobctl.errors import EngineError
from tests.evidence.test_corpus_calibration import answering


def test_the_corpora_of_several_tenants_are_counted_together() -> None:
    """Each tenant is asked about once."""
    with answering({"chunks": 3}, {"chunks": 4}) as (engine, _):
        corpora = Corpora(lambda: engine)
        for _ in range(2):
            found = corpora(["acme", "bolt"])
            assert not isinstance(found, str)
            assert found.chunks == 7


@pytest.mark.parametrize("described", [{"chunks": "many"}, {"chunks": [1]}])
def test_a_description_that_is_none_is_said(described: Any) -> None:
    """And no traceback, whatever was to be planned."""
    with answering(described) as (engine, _), pytest.raises(EngineError, match="nonsense"):
        Corpora(lambda: engine)(["acme"])
