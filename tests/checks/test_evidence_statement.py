"""The sentence of a record: what decides first, with its interval, then the day and how many were asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.checks.evidence_record import Estimate, Kind, Sample, Share
from knobctl.checks.evidence_statement import spoken_figures, statement
from knobctl.text import ends_in_percent
from tests.checks.evidence_records import RECORD, SENTENCE, changed

if TYPE_CHECKING:
    from knobctl.checks.evidence_record import Figure

DAY = f"{RECORD.made_at.date()}"


def test_a_simulation_says_who_loses_what() -> None:
    """The share with its interval, and what only vector search had found."""
    assert statement(RECORD) == SENTENCE
    assert set(spoken_figures(RECORD)) == RECORD.figures.keys()


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"answerable_lost": Share(0, 300, 0.0, 0.0, 0.0122)}, "none of 300 answerable questions loses its context (0.0..1.3%)"),
        ({"answerable_cut": Share(1, 3034, 1 / 3034, 0.0, 0.002)}, "1 of 3,034 answerable questions loses its document to the floors (0.0..0.2%)"),
        ({"answerable_lost": Share(115, 3034, 115 / 3034, 0.0314, 0.0453)}, "3.8% of 3,034 answerable questions lose their context (3.1..4.6%)"),
        ({"emptied": Share(20, 100, 0.2, 0.127, 0.292)}, "20% of 100 questions get nothing any more (12.7..29.2%)"),
        ({"changed": Share(20, 100, 0.2, None, None)}, "20% of 100 questions get another context"),
        ({"answerable_lost": Share(0, 0, None, None, None)}, "simulated"),
        ({"tokens_before": 3.0}, "simulated"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_said(figures: dict[str, Figure], words: str) -> None:
    """Of a few questions the number stands, which a rounded percentage would hide."""
    assert statement(changed(figures=figures)) == f"{words}; {DAY}, 6,065 questions"


def test_a_recommendation_says_what_it_promises() -> None:
    """The bound, how sure, on how many, and what is won."""
    record = changed(
        kind=Kind.RECOMMENDATION,
        figures={
            "floor": 0.29,
            "max_loss": 0.02,
            "confidence": 0.95,
            "answerable_lost": Share(11, 1420, 11 / 1420, 0.004, 0.014),
            "unanswerable_silenced": Share(239, 2650, 239 / 2650, 0.08, 0.102),
        },
    )
    assert statement(record) == (
        "at most 2% of answerable questions lost with 95% confidence at floor 0.29 (11 of 1,420 seen); "
        f"9% of 2,650 unanswerable questions get nothing (8.0..10.2%); {DAY}, 6,065 questions"
    )
    fused = {"floor": 0.31, "max_emptied": 0.02, "answerable_lost": None, "confidence": 0.95}
    assert statement(changed(record, figures=fused)).startswith(
        "at most 2% of answerable questions left with nothing with 95% confidence at floor 0.31; "
    )
    assert statement(changed(record, figures={})) == f"recommended; {DAY}, 6,065 questions"


def test_what_was_chosen_is_not_rounded_to_more_than_it_promises() -> None:
    """A bound is no 0% and a confidence no 100%."""
    figures = {"floor": 0.1, "max_loss": 0.0004, "confidence": 0.9999}
    record = changed(kind=Kind.RECOMMENDATION, figures=figures)
    assert statement(record).startswith(
        "at most 0.04% of answerable questions lost with 99.99% confidence at floor 0.1; "
    )


def test_a_calibration_says_where_noise_ends() -> None:
    """With the rate at which it lets noise through, and on how large a corpus."""
    figures = {"noise_floor": 0.348, "false_accept": Estimate(0.05, 0.016, 0.113), "probes": 99}
    record = changed(kind=Kind.CALIBRATION, figures=figures, questions=0)
    words = "noise reaches cosine 0.348; 5% of off-topic questions pass (1.6..11.3%); 99 probes"
    assert statement(record) == f"{words}; {DAY}, 100 chunks"
    assert statement(changed(record, figures={})) == f"calibrated; {DAY}, 100 chunks"


def test_a_sample_says_how_many_of_how_many() -> None:
    """It speaks for more than it measured."""
    sample = Sample(tenants=("acme", "bolt"), layer="standard", of=812, seed=1)
    assert "; 2 tenants of layer standard, of 812; " in statement(
        changed(tenant=None, sample=sample)
    )


@pytest.mark.parametrize(
    ("low", "high", "digits", "ends"),
    [
        (0.0288, 0.0501, 1, ("2.8", "5.1")),
        (0.29, 0.57, 1, ("29.0", "57.0")),
        (0.0029, 0.0057, 2, ("0.29", "0.57")),
        (-0.0001, 1.0, 1, ("-0.1", "100.0")),
    ],
)
def test_the_ends_of_an_interval_are_rounded_outwards(
    low: float, high: float, digits: int, ends: tuple[str, str]
) -> None:
    """What is written holds all of the interval, and an end that is round stays as it is."""
    assert ends_in_percent(low, high, digits) == ends
