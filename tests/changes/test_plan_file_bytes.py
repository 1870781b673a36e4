"""A plan file of which a byte is missing or a bit is wrong is refused, or says what it said."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.limits import limits_of
from knobctl.changes.plan import Plan, plan_tenant, schema_digest
from knobctl.changes.plan_writing import PlanFile
from knobctl.changes.planfile import read_plan
from knobctl.engine.interface import LiveSet
from knobctl.errors import InputError
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator

CATALOGUE = load_catalogue()


@pytest.fixture(scope="module")
def raw() -> bytes:
    """A plan of one tenant, as `plan -o` writes it."""
    live = LiveSet(tenant="acme", knobs={"rrf_k": 30, "mmr_lambda": 0.1}, revision="r1")
    plan = Plan(
        engine="embedded:e.db",
        fleet=None,
        schema_digest=schema_digest(CATALOGUE),
        managed=1,
        limits=limits_of(None),
        tenants=(plan_tenant(CATALOGUE, live, {"mmr_lambda": 0.1 + 0.2}),),
    )
    file = PlanFile(plan, made_at="2026-11-30T00:00:00+00:00", made_by="knobctl")
    return b"".join(file.pieces())


def flipped(raw: bytes) -> Iterator[bytes]:
    """One bit of every byte, each of the eight in turn."""
    for at in range(len(raw)):
        yield raw[:at] + bytes([raw[at] ^ 1 << (at % 8)]) + raw[at + 1 :]


def test_cut_at_every_byte_it_is_refused(raw: bytes) -> None:
    """P09: with words and no traceback; the line end after it says nothing."""
    whole = read_plan(raw, "p.json", CATALOGUE)
    assert read_plan(raw[:-1], "p.json", CATALOGUE) == whole
    for size in range(len(raw) - 1):
        with pytest.raises(InputError, match=r"^p\.json"):
            read_plan(raw[:size], "p.json", CATALOGUE)


def test_with_a_flipped_bit_anywhere_it_is_refused(raw: bytes) -> None:
    """P09: or it says the same: a double has more digits than it needs."""
    whole = read_plan(raw, "p.json", CATALOGUE)
    same = 0
    for changed in flipped(raw):
        with suppress(InputError):
            assert read_plan(changed, "p.json", CATALOGUE) == whole
            same += 1
    assert same < 10
