"""docs/calibration.md says what calibrate does: its options, limits and sentences are the command's own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from knobctl.cli.calibrate import EXPIRES_AFTER_DAYS
from knobctl.evidence.calibrating import probes_needed
from knobctl.evidence.chunk_pairs import MOST_PAIRS
from knobctl.evidence.noise_floor import TIGHT_VAULT_MU
from knobctl.evidence.resampling import RESAMPLES
from knobctl.report.calibrate import PROVISIONAL
from knobctl.server.retrieval.off_topic import ALPHA, FEWEST_CHUNKS, from_above

if TYPE_CHECKING:
    from tests.cli.inside import Inside

PAGE = (Path(__file__).parent.parent / "docs" / "calibration.md").read_text(encoding="utf-8")
WORDS = " ".join(PAGE.split())


def test_its_options_are_the_commands(inside: Inside) -> None:
    """Every one that it names is in a help text."""
    helped = "".join(
        inside("calibrate", *words, "--help").out for words in ((), ("show",), ("relevance",))
    )
    named = set(re.findall(r"--[a-z][a-z-]+", PAGE))
    assert len(named) > 8
    assert sorted(one for one in named if one not in helped) == []


def test_its_numbers_are_the_constants() -> None:
    """Fewest chunks and probes, resamples, pairs, days, and the place of the floor."""
    assert f"fewer than {FEWEST_CHUNKS} chunks" in WORDS
    assert f"{probes_needed(0.05)} are the fewest for 0.05, {probes_needed(0.01)} for 0.01" in WORDS
    assert f"over {RESAMPLES} resamples" in WORDS
    assert f"{MOST_PAIRS:,} pairs" in WORDS
    assert f"`--expires-after` ({EXPIRES_AFTER_DAYS} days)" in WORDS
    assert f"`--alpha` ({ALPHA}): of 99 the {from_above(ALPHA, 99)}th largest" in WORDS
    assert f"From mu {TIGHT_VAULT_MU} on" in WORDS
    assert PROVISIONAL in WORDS
