"""The whole way by keys alone, in one session: find, edit, see the warning and the reset, keep it, push by name, see the event."""

from __future__ import annotations

import pytest

from knobctl.tui.screens.plan import PlanScreen
from tests.tui.desks import Desk
from tests.tui.planning import Planner, at_once, planning

LIVE = {"retrieval_min_score": 0.3, "retrieval_vector_top_k": 32, "rrf_k": 50}


def test_from_the_filter_to_the_audit_event(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What each place has to say on the way is said; nothing is written before the name is typed."""
    at_once(monkeypatch)
    desk.example()
    desk.live({"delta": LIVE})

    async def act(person: Planner) -> None:
        async def shows(*texts: str) -> None:
            await person.until(lambda: all(text in person.picture for text in texts))

        await shows("PROD", "6 tenants", "~ drift   delta", "RO")
        await person.press("slash", *"delta")
        await shows("[delta] 1 of 6")
        await person.press("enter", "enter")
        await shows("delta  2 warnings", "- rrf_k", "reset")
        await person.press("e", *"0.4")
        await shows("0.4_", "edited", "! 1 warning", "passes down to rank 12")
        await person.press("enter")
        await person.press("colon", *"arm after the recall report", "enter")
        await shows("Let this session write")
        await person.press("enter", *"OPS", "minus", "7", "enter")
        await shows("ARMED 15:00")
        await person.press("colon", *"push", "enter")
        await shows("PUSH PLAN", "RESET", "1 edit, 1 reset by omission", "ticket OPS-7")
        await person.press("k")
        await shows("to acknowledge", "1 edit, 3 drift")
        assert "RESET" not in person.picture
        await person.acknowledge_all()
        await shows("Type the tenant id")
        await person.press(*"delt", "enter")
        assert isinstance(person.app.screen, PlanScreen)
        assert desk.knobs("delta") == LIVE
        await person.press("a", "enter")
        assert (await person.pushed()).push.is_good
        await shows("ok pushed: delta is at revision r2", "the same set", "edited fleet/tenants")
        await person.press("3")
        await shows("2 events", "r2", "after the recall report")

    planning(desk, act, production=True, armed=False)
    assert desk.knobs("delta")["retrieval_min_score"] == 0.4
    assert desk.knobs("delta")["rrf_k"] == 50
    assert "rrf_k: 50" in (desk.folder / "fleet/tenants/delta.yaml").read_text(encoding="utf-8")
