"""A full replace resets nothing in silence: what a file leaves out is named first, and unknown fields stop the push."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING

import pytest

from knobctl.changes.guards import judge
from knobctl.changes.limits import limits_of
from knobctl.changes.plan import Plan, plan_tenant
from knobctl.documents.repository import open_repository
from knobctl.engine.interface import LiveSet
from knobctl.knobs import load_catalogue
from knobctl.report.plan import plan_text
from tests.changes.generating import random_neighbour, random_set

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.changes.plan import TenantPlan
    from knobctl.knobs import KnobValue

CATALOGUE = load_catalogue()
BATCH = 500
RESET = re.compile(r"^  reset +(\S+) ", re.MULTILINE)
NAMES = re.compile(r"(?m)^(t\d{4})  live")


def written(folder: Path, stored: Mapping[str, Mapping[str, KnobValue]], random: Random) -> None:
    """For each tenant a file with some of what is stored, some of it changed."""
    for tenant, knobs in stored.items():
        wanted = random_neighbour(CATALOGUE, knobs, random)
        kept = {name: value for name, value in wanted.items() if random.random() < 0.8}
        lines = "".join(f"  {name}: {value}\n" for name, value in kept.items())
        (folder / f"{tenant}.yaml").write_text(f"tenant: {tenant}\nknobs:\n{lines or '  {}'}\n")


def planned(
    folder: Path, stored: Mapping[str, Mapping[str, KnobValue]], random: Random
) -> list[TenantPlan]:
    repository = open_repository(["."], catalogue=CATALOGUE, cwd=folder, stdin=lambda: b"")
    plans = []
    for tenant in repository.tenants:
        name = str(tenant.name)
        unknown = {"futureKnob": random.choice([0, 1, "x"])} if random.random() < 0.1 else {}
        live = LiveSet(tenant=name, knobs=stored[name], revision="r1", unknown=unknown)
        plans.append(plan_tenant(CATALOGUE, live, repository.effective(tenant).desired))
    assert len(plans) == len(stored)
    return plans


def named_resets(plans: list[TenantPlan]) -> dict[str, set[str]]:
    """By tenant, what the text that is shown before the write calls a reset."""
    limits = limits_of(None)
    plan = Plan(
        engine="e", fleet=None, schema_digest="", managed=1, limits=limits, tenants=tuple(plans)
    )
    parts = NAMES.split(plan_text(plan, None))
    return {
        name: set(RESET.findall(told))
        for name, told in zip(parts[1::2], parts[2::2], strict=True)
        if RESET.search(told)
    }


@pytest.mark.parametrize(
    "pairs",
    [
        BATCH,
        pytest.param(100_000, marks=[pytest.mark.slow, pytest.mark.timeout(3600)]),
    ],
)
def test_no_stored_knob_is_reset_without_being_named(tmp_path: Path, pairs: int) -> None:
    """P02: random stored sets against random files; a field that the schema does not know always blocks."""
    random = Random(5)
    resets = unknown = 0
    for batch in range(pairs // BATCH):
        (folder := tmp_path / str(batch)).mkdir()
        stored = {
            f"t{number:04}": CATALOGUE.canonical(random_set(CATALOGUE, random))
            for number in range(BATCH)
        }
        written(folder, stored, random)
        plans = planned(folder, stored, random)
        lost = {
            one.tenant: {name for name in stored[one.tenant] if name not in one.desired}
            for one in plans
        }
        assert named_resets(plans) == {name: gone for name, gone in lost.items() if gone}
        resets += sum(map(len, lost.values()))
        for one in plans:
            verdict = judge([one], limits_of(None), managed=1, now=datetime.now(UTC), reason="why")
            blocks = bool(one.unknown and one.changes)
            assert [each.value for each in verdict.refusals] == [None] * blocks
            unknown += blocks
    print(
        f"{pairs} pairs: {resets} resets, each named; {unknown} with an unknown field, each stopped"
    )
    assert resets > pairs / 2
    assert unknown > pairs / 20
