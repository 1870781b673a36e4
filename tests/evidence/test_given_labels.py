"""What the given package makes of a measurement is what we make of it in compat mode."""

from __future__ import annotations

from typing import Any

import pytest

from knobctl.evidence.given_labels import delivery, gap_tier, in_use, z_words
from knobctl.evidence.noise_floor import Measurement, Tier, relevance
from tests.evidence.test_noise_floor import GIVEN, number, same


def snapshot(row: dict[str, Any]) -> Measurement | None:
    """The measurement of a row, where its lookup gives one."""
    kept = row["snapshot"]
    if kept is None or not row["store_open"] or row["lookup_error"]:
        return None
    return Measurement(
        noise_floor=number(kept["N"]),
        mu=number(kept["mu"]),
        sigma=number(kept["sigma"]),
        pairs=kept["pairs"],
        notes=kept["notes"],
        dims=kept["dims"],
        probes=8,
        probe_set_version=kept["probe_set_version"],
    )


@pytest.mark.parametrize("row", GIVEN["resolve"], ids=lambda row: row["name"])
def test_the_floor_in_use_is_the_given_one(row: dict[str, Any]) -> None:
    """What was measured where enough was, else what is shipped; sigma clamped, N whatever it is."""
    got = in_use(snapshot(row), row["query_dims"])
    assert same(got.noise_floor, number(row["N_used"]))
    assert (got.sigma, got.tight) == (row["sigma_used"], row["tight"])


def test_cold_starts_get_the_given_labels() -> None:
    """With nothing measured, for every length of a vector."""
    for row in GIVEN["cold_start"]:
        used = in_use(None, row["dims"])
        assert (used.noise_floor, used.sigma) == (row["N"], row["sigma"])
        got = relevance(row["cosine"], used.noise_floor, used.sigma, used.default_noise_floor)
        assert same(got.z, number(row["z"]))
        assert got.tier == row["tier"]


def test_text_is_given_out_and_withheld_as_given() -> None:
    """For every tier, tight or not, however many notes; and why not."""
    for tier, applied, tight, notes, ids_only, delivered, reason, too_small in GIVEN["delivery"]:
        got = delivery(
            Tier(tier) if tier else None,
            tight=tight,
            notes=notes,
            ids_only=ids_only,
            floor_applied=applied,
        )
        assert (got.delivered, got.reason, got.too_small) == (delivered, reason, too_small)


def test_the_gap_of_two_scores_gets_the_given_label() -> None:
    """Whatever is not finite; no label where there are not two."""
    for row in GIVEN["rank_gap_fallback"]:
        assert (gap_tier([*map(number, row["scores"])]) or "") == row["tier"], row


@pytest.mark.parametrize("row", GIVEN["z_text"], ids=lambda row: str(row["z"]))
def test_z_is_written_as_given(row: dict[str, Any]) -> None:
    """Two decimals with a sign, one without, and the side."""
    words = z_words(number(row["z"]))
    assert words.startswith(
        f"{row['signed_2dp']}, {row['magnitude_1dp']} sigma {row['direction']} "
    )
