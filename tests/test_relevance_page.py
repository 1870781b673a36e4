"""docs/relevance.md says what the engine does: its sessions, its answer and its numbers are the engine's own."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.server.retrieval.off_topic import (
    ALPHA,
    FEWEST_CHUNKS,
    MODERATE_MAX_Z,
    WEAK_MAX_Z,
    Tier,
    from_above,
)
from knobctl.server.retrieval.off_topic_probes import GIVEN_PROBES, PROBES
from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from tests.cli.inside import Inside

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "relevance.md").read_text(encoding="utf-8")
NUMBER = re.compile(r"\d\.\d+")


@pytest.fixture
def demo(inside: Inside) -> Inside:
    """An engine with the example corpus."""
    corpus = str(ROOT / "examples" / "corpus.jsonl")
    assert inside("engine", "load", corpus, "--tenant", "demo", "--store", ENGINE[1]).code == 0
    return inside


def test_its_sessions_and_its_answer_are_the_engines(demo: Inside) -> None:
    """Word for word, and number for number but for what another processor rounds otherwise."""
    sessions = re.findall(r'--ask "(.*?)" \| grep -A1 relevance\n((?:  .*\n)+)', PAGE)
    assert len(sessions) == 2
    for question, shown in sessions:
        asking = ("diagnose", "--tenant", "demo", "--ask", question, *ENGINE)
        (told,) = re.findall(r"  relevance .*\n.*\n", demo(*asking, "--save", "a.json").out)
        assert NUMBER.sub("#", told) == NUMBER.sub("#", shown)
        numbers = [[float(one) for one in NUMBER.findall(lines)] for lines in (told, shown)]
        assert numbers[0] == pytest.approx(numbers[1], abs=0.02)
        if question == sessions[0][0]:
            (answer,) = re.findall(r'```json\n"relevance": (\{.*?\})\n```', PAGE, re.DOTALL)
            given = json.loads(demo.read("a.json"))["quality"]["relevance"]
            printed = json.loads(answer)
            assert list(given) == list(printed)
            assert given == {
                name: pytest.approx(value, abs=0.05) if isinstance(value, float) else value
                for name, value in printed.items()
            }


def test_its_numbers_are_those_of_the_code() -> None:
    """Tiers, limits, probes, share."""
    table = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert table == ["tier", *map(str, Tier)]
    assert f"more than {MODERATE_MAX_Z} standard deviations" in PAGE
    assert f"more than {WEAK_MAX_Z:g} above it" in PAGE
    assert f"fewer than {FEWEST_CHUNKS} chunks" in PAGE
    assert f"There are {len(PROBES)}, the eight of the package first" in PAGE
    assert (len(GIVEN_PROBES), ALPHA, from_above(ALPHA, len(PROBES))) == (8, 0.05, 5)
    assert "`alpha` 0.05 is the 5th largest maximum" in PAGE
