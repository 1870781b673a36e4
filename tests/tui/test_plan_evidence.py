"""Evidence in the plan of a push: the sentence of what the tenant names, and a file attached with :evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.checks.evidence_record import measured_knobs
from tests.checks.evidence_records import CATALOGUE, record_text
from tests.cli.engines import embedded
from tests.tui.planning import LIVE, Planner, acme, at_once, planning

if TYPE_CHECKING:
    from tests.tui.desks import Desk

VALUES = {**LIVE, "retrieval_min_score": 0.32}
"""What is pushed: the draft keeps what the engine holds."""


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


def record(**knobs: float) -> str:
    """A record of acme at some values."""
    values = CATALOGUE.effective({"retrieval_min_score": 0.32, "mmr_lambda": 0.7, **knobs})
    before = measured_knobs(CATALOGUE, CATALOGUE.effective(LIVE))
    return record_text(tenant="acme", knobs=measured_knobs(CATALOGUE, values), before=before)


def test_a_plan_shows_what_its_evidence_says(desk: Desk) -> None:
    """By the file that is attached, and no more where it is taken away; the audit event has it in short."""
    acme(desk)
    desk.write("e.json", record())

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        assert "evidence" not in planner.picture
        for _ in range(2):
            await planner.say("evidence e.json")
            screen = await planner.planned()
            shown = " ".join(planner.picture.split())
            assert "evidence 1.2% of 2,153 answerable questions lose their document" in shown
            assert "--evidence e.json" in screen.twin()
            await planner.say("evidence e.json")
            screen = await planner.planned()
            assert "evidence" not in planner.picture
        await planner.say("evidence e.json")
        await planner.planned()
        await planner.acknowledge_all()
        await planner.press("enter")
        assert (await planner.pushed()).push.is_good

    planning(desk, act, size=(140, 40))
    with embedded(desk.folder / "engine.db") as engine:
        *_, event = engine.audit_events("acme")
    assert "[evidence: 1.2% of 2,153 answerable questions lose their document" in event["reason"]


def test_what_is_no_evidence_is_told_and_taken_away_again(desk: Desk) -> None:
    """There is no plan with it; named again it is gone."""
    acme(desk)
    desk.write("e.json", "{}")

    async def act(planner: Planner) -> None:
        await planner.plan(retrieval_min_score="0.32")
        await planner.say("evidence e.json")
        await planner.until(lambda: "e.json is no evidence" in planner.picture)
        await planner.say("evidence e.json")
        await planner.planned()
        assert "PUSH PLAN" in planner.picture

    planning(desk, act)


def test_what_the_tenant_names_is_told_without_asking(desk: Desk) -> None:
    """Of other values, that it says nothing of this change."""
    acme(desk)
    file = (desk.folder / "fleet/acme.yaml").read_text(encoding="utf-8")
    desk.write("fleet/acme.yaml", file.replace("knobs:", "evidence: [e.json]\nknobs:"))
    desk.write("fleet/e.json", record(retrieval_min_score=0.34))
    desk.write("e.json", record(retrieval_min_score=0.34))

    async def act(planner: Planner) -> None:
        await planner.plan(retrieval_min_score="0.32")
        shown = " ".join(planner.picture.split())
        assert "says nothing of this change: it measured retrieval_min_score 0.34" in shown

    planning(desk, act, size=(140, 40))
