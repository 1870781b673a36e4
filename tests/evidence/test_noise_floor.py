"""The noise floor is the given package's, bit for bit."""

from __future__ import annotations

import json
import math
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from knobctl.evidence import noise_floor as ours
from knobctl.evidence.noise_floor import (
    Measurement,
    clamp_sigma,
    cosine,
    default_dispersion,
    default_noise_floor,
    is_tight,
    measure,
    relevance,
)

GIVEN: dict[str, Any] = json.loads(
    (Path(__file__).parent.parent / "data" / "noisefloor.json").read_bytes()
)


def number(value: Any) -> float:
    """A number of the vectors; those that are none are spelled."""
    return float(value.replace("Inf", "inf")) if isinstance(value, str) else float(value)


def same(one: float, other: float) -> bool:
    """Equal bits, as far as numbers go: zeros of one sign, and all that is no number alike."""
    if math.isnan(one) or math.isnan(other):
        return math.isnan(one) and math.isnan(other)
    return one == other and math.copysign(1, one) == math.copysign(1, other)


@pytest.mark.parametrize(
    "name", ["relevance_grid", "relevance_boundaries", "relevance_exact_dyadic"]
)
def test_every_label_is_the_given_one(name: str) -> None:
    """z to the bit with its sign, and the tier, for every row and whatever is not finite."""
    wrong = []
    for row in GIVEN[name]:
        *arguments, z, tier = row
        got = relevance(*map(number, arguments))
        if not same(got.z, number(z)) or got.tier != tier:
            wrong.append((row, got))
    assert wrong == []


@pytest.mark.parametrize("row", GIVEN["published_probe"])
def test_the_published_probes_get_their_tiers(row: dict[str, Any]) -> None:
    """On both corpora; no real query is silenced."""
    got = relevance(row["cosine"], row["N"], row["sigma"], row["default_N"])
    assert (got.z, got.tier) == (row["z"], row["tier"])


def test_the_constants_and_defaults_are_the_given_ones() -> None:
    """Names of the public API, and what is shipped by dimensions."""
    given = GIVEN["constants"]
    for name in ("sigma_floor", "sigma_ceil", "min_calib_notes", "min_calib_pairs", "floor_sigma_margin",
                 "weak_max_z", "moderate_max_z", "probe_set_version", "max_pairs"):  # fmt: skip
        assert getattr(ours, name.upper()) == given[name]
    assert given["tight_mu"] == ours.TIGHT_VAULT_MU
    assert len(ours.DEFAULT_PROBES) == given["probe_count"]
    for row in GIVEN["defaults_by_dims"]:
        assert default_noise_floor(row["dims"]) == row["N"]
        assert default_dispersion(row["dims"]) == row["sigma"]
        assert clamp_sigma(default_dispersion(row["dims"])) == row["sigma_clamped"]


def test_sigma_is_clamped_and_tightness_told_as_given() -> None:
    """Whatever goes in."""
    assert [clamp_sigma(number(value)) for value, _ in GIVEN["clamp_sigma"]] == [
        number(want) for _, want in GIVEN["clamp_sigma"]
    ]
    assert [is_tight(number(value)) for value, _ in GIVEN["is_tight"]] == [
        want for _, want in GIVEN["is_tight"]
    ]


@pytest.mark.parametrize("case", GIVEN["cosine"], ids=range(len(GIVEN["cosine"])))
def test_a_cosine_is_the_given_one(case: dict[str, Any]) -> None:
    """To the bit: in index order, nothing clipped, 0 where there is none."""
    got = cosine(*([number(value) for value in case[side]] for side in "ab"))
    assert same(got, number(case["cosine"]))


def measured(case: dict[str, Any], chance: Random) -> Measurement:
    """What we measure, the notes in some order."""
    rows = chance.sample(case["rows_in_storage_order"], len(case["rows_in_storage_order"]))
    cycled = case["probe_vectors_cycled_over_8_calls"]
    probes = [[number(value) for value in cycled[at % len(cycled)]] for at in range(8)]
    return measure(
        {name: [number(value) for value in row] for name, row in rows},
        probes,
        case["embedder_dims"],
    )


@pytest.mark.parametrize("case", GIVEN["measure"], ids=lambda case: case["name"])
def test_a_measurement_is_the_given_one(case: dict[str, Any]) -> None:
    """N to the bit, mu and sigma to 1e-12, whatever the order; refused where the given package refuses."""
    if case.get("embedder_fails"):
        return
    if case.get("N") is None:
        with pytest.raises(ValueError, match=r"dimensions|no vectors"):
            measured(case, Random(1))
        return
    got, again = measured(case, Random(1)), measured(case, Random(2))
    assert same(got.noise_floor, number(case["N"]))
    for ours_, given in ((got.mu, case["mu"]), (got.sigma, case["sigma"])):
        assert same(ours_, number(given)) or abs(ours_ - number(given)) < 1e-12
    assert str(got) == str(again)


def test_the_kept_pairs_are_as_many_as_given() -> None:
    """All up to 200,000, of more every so-manieth."""
    for row in GIVEN["pair_counts"]:
        if 2 <= row["notes"] <= 1_200:
            vectors = {
                f"{at:05}": row_ for at, row_ in enumerate(np.ones((row["notes"], 1)).tolist())
            }
            assert measure(vectors, [[1.0]] * 8).pairs == row["sampled"]
