"""The plan of a push: three kinds of change, one acknowledgement at a time, and a consent that nobody gives by accident."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from textual import events

from knobctl.tui import frame as frame_module
from knobctl.tui.screens import plan as plan_module
from knobctl.tui.screens.plan import PlanScreen
from knobctl.tui.screens.push import PushScreen
from knobctl.tui.ui import Field
from knobctl.tui.widgets.plan_parts import TypedName
from tests.cli.engines import embedded
from tests.given_engine import GET, Fault, GivenEngine
from tests.tui.pictures import assert_picture
from tests.tui.planning import FILE, LIVE, Planner, acme, at_once, planning

if TYPE_CHECKING:
    from tests.tui.desks import Desk


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("production", [False, True], ids=["plain", "production"])
def test_three_kinds_of_change_are_told_apart(
    desk: Desk, size: tuple[int, int], production: bool
) -> None:
    """An edit, a reset by omission and a drift have a sign, a word and a count each; production looks like it."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(retrieval_min_score="0.32")
        shown = planner.picture
        assert "1 edit, 1 reset by omission, 1 drift, 22 unchanged" in shown
        assert ("PROD" in shown.splitlines()[0]) is production
        name = f"plan-{'production-' if production else ''}{size[0]}x{size[1]}"
        assert_picture(name, shown)

    planning(desk, act, size=size, production=production)


def test_nothing_is_pushed_before_all_is_acknowledged(desk: Desk) -> None:
    """Enter does nothing until then; then it writes, reads back, sees the audit event, and edits the file."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.45")
        count = len(screen.left)
        assert count >= 3
        for number in range(count):
            assert f"{count - number} to acknowledge" in planner.picture
            await planner.press("enter")
            assert isinstance(planner.app.screen, PlanScreen)
            await planner.press("tab", "a")
        await planner.press("enter")
        push = (await planner.pushed()).push
        assert push.is_good
        assert "ok pushed: acme is at revision r2" in planner.picture
        assert "planned 3, listed 3: the same set" in planner.picture
        await planner.press("escape")
        tenant = await planner.open()
        assert tenant.draft is not None
        assert tenant.draft.is_empty
        assert planner.app.workplace.draft("acme") is None

    planning(desk, act)
    assert desk.knobs("acme") == {"retrieval_min_score": 0.45, "mmr_lambda": 0.7}
    text = (desk.folder / "fleet/acme.yaml").read_text(encoding="utf-8")
    assert text == FILE.replace("0.3 ", "0.45 ")
    with embedded(desk.folder / "engine.db") as engine:
        *_, event = engine.audit_events("acme")
    assert event["reason"].startswith("lower floors [acknowledged: reset rrf_k, drift mmr_lambda, ")
    assert "floor-above-vector-ceiling" in event["reason"]


def test_a_reset_can_be_kept_by_one_key(desk: Desk) -> None:
    """The live value goes into the draft, in the user's folder too, and the knob is then unchanged."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        await planner.press("k")
        await planner.until(lambda: screen.is_open)
        assert "1 edit, 1 drift, 23 unchanged" in planner.picture
        assert "RESET" not in planner.picture
        kept = planner.app.workplace.draft("acme")
        assert kept is not None
        assert kept.literals == {"retrieval_min_score": "0.32", "rrf_k": "50"}
        await planner.press("k")
        await planner.until(lambda: screen.is_open)
        assert "1 edit, 24 unchanged" in planner.picture
        await planner.acknowledge_all()
        await planner.press("enter")
        await planner.pushed()

    planning(desk, act)
    assert desk.knobs("acme") == LIVE | {"retrieval_min_score": 0.32}
    text = (desk.folder / "fleet/acme.yaml").read_text(encoding="utf-8")
    assert "rrf_k: 50" in text
    assert "mmr_lambda: 0.5" in text


def test_the_file_can_be_left_alone(desk: Desk) -> None:
    """`f` says that the file is not edited, and what follows from that; the command line says it too."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        assert "--also-file" in screen.twin()
        await planner.press("f")
        await planner.planned()
        assert "is left alone: GitOps may undo the push" in planner.picture
        assert "--also-file" not in screen.twin()
        await planner.acknowledge_all()
        await planner.press("enter")
        await planner.pushed()

    planning(desk, act)
    assert (desk.folder / "fleet/acme.yaml").read_text(encoding="utf-8") == FILE
    assert desk.knobs("acme")["retrieval_min_score"] == 0.32


def test_knobs_that_stay_are_folded(desk: Desk) -> None:
    """`v` shows them, and folds them again."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(retrieval_min_score="0.32")
        assert "recency_ranker_mode" not in planner.picture
        await planner.press("v")
        assert "recency_ranker_mode" in planner.picture
        await planner.press("v")
        assert "recency_ranker_mode" not in planner.picture

    planning(desk, act, size=(100, 60))


def test_a_refusal_names_the_flag_that_lifts_it(desk: Desk) -> None:
    """Each guard stands on its line with its flag and number; what was acknowledged is in the audit reason."""
    acme(desk)
    desk.write(
        "fleet/fleet.yaml",
        "fleet: default\nlimits:\n  max_tenants: 1\n  largest_step: {retrieval_min_score: 0.01}\n",
    )

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        await planner.acknowledge_all()
        shown = screen.twin()
        assert "--allow largest_step=retrieval_min_score:0.02" in shown
        await planner.press("enter")
        assert (await planner.pushed()).push.is_good

    planning(desk, act, fleet="default")
    with embedded(desk.folder / "engine.db") as engine:
        *_, event = engine.audit_events("acme")
    assert "[allowed: largest_step=retrieval_min_score:0.02]" in event["reason"]


def test_an_error_stops_the_push(desk: Desk) -> None:
    """What the checks call an error cannot be acknowledged away; the line says why."""
    acme(desk)
    desk.write(
        "fleet/policies/low.yaml",
        "policy: no-low-floor\ntitle: The floor is too low\nseverity: error\nwhen: effective.retrieval_min_score < 0.2\n"
        "at: retrieval_min_score\nmessage: too low\n"
        "examples: {pass: [{knobs: {}}], fail: [{knobs: {retrieval_min_score: 0.1}}]}\n",
    )

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.1")
        while screen.left:
            await planner.press("tab", "a")
        assert "nothing lifts here" in planner.picture
        await planner.press("enter")
        assert isinstance(planner.app.screen, PlanScreen)

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


def test_without_arming_the_plan_is_seen_and_cannot_be_confirmed(desk: Desk) -> None:
    """Looking needs no reason; once the session is armed the plan is made again with it."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        await planner.acknowledge_all()
        assert "read-only: type :arm to write" in planner.picture
        await planner.press("enter")
        assert planner.app.screen is screen
        await planner.say("arm")
        planner.app.screen.query_one("#reason", Field).value = "because"
        await planner.press("enter")
        await planner.until(lambda: planner.app.screen is screen)
        await planner.planned()
        assert "because" in planner.picture
        assert not screen.left  # what was looked at is still the same
        await planner.press("enter")
        await planner.pushed()

    planning(desk, act, armed=False)
    assert desk.knobs("acme")["retrieval_min_score"] == 0.32


def test_in_production_the_name_is_typed(desk: Desk) -> None:
    """The field opens after the last acknowledgement; an incomplete name, Enter alone and a paste push nothing."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        field = screen.query_one(TypedName)
        assert [field.display, field.has_focus] == [False, False]
        await planner.press("enter")
        await planner.acknowledge_all()
        assert [field.display, field.has_focus] == [True, True]
        await planner.press("enter", *"acm", "enter")
        assert planner.app.screen is screen
        planner.app.post_message(events.Paste("e"))
        await planner.until(lambda: "typed, not pasted" in planner.told)
        assert field.value == "acm"
        await planner.press("e", "enter")
        assert (await planner.pushed()).push.is_good

    planning(desk, act, production=True)
    with embedded(desk.folder / "engine.db") as engine:
        *_, event = engine.audit_events("acme")
    assert "[ticket: OPS-7]" in event["reason"]


def test_no_command_confirms_in_production(desk: Desk) -> None:
    """`:confirm` says that the name is typed."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        await planner.acknowledge_all()
        await planner.app.action_perform("confirm")
        await planner.press()
        assert "type the tenant id into the field" in planner.told
        assert planner.app.screen is screen

    planning(desk, act, production=True)
    assert desk.knobs("acme") == LIVE


def test_a_command_confirms_what_was_seen(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """`:confirm` is as good as Enter, at once: whoever types it has seen the plan."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        monkeypatch.setattr(plan_module, "MOMENT_S", 3_600.0)
        await planner.say("confirm")
        assert (await planner.pushed()).push.is_good

    planning(desk, act)


def test_a_key_for_what_lay_above_confirms_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second Enter that was meant for a box that is closed already waits too."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        monkeypatch.setattr(plan_module, "MOMENT_S", 3_600.0)
        await planner.say("theme knobctl-light")
        await planner.press("enter", "enter")
        assert isinstance(planner.app.screen, PlanScreen)
        assert "came too soon" in planner.told

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


def test_what_was_typed_ahead_confirms_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """A plan that nobody had the time to read is not confirmed."""
    acme(desk, FILE.replace("0.7", "0.5") + "  rrf_k: 50\n")
    monkeypatch.setattr(plan_module, "MOMENT_S", 3_600.0)

    async def act(planner: Planner) -> None:
        screen = await planner.open()
        assert screen.draft is not None
        screen.take(screen.draft.put("mmr_lambda", "0.6"))
        await planner.say("push")
        await planner.until(lambda: "Enter pushes" in planner.picture)
        await planner.press("enter", "enter")
        assert isinstance(planner.app.screen, PlanScreen)
        assert not planner.app.pushes.all

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


def test_keys_on_the_heels_of_others_confirm_nothing(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A burst of keys, as a paste without brackets is one, neither acknowledges nor pushes."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(retrieval_min_score="0.32")
        await planner.press("tab")
        monkeypatch.setattr(frame_module, "BURST_S", 3_600.0)
        left = len(screen.left)
        await planner.press("a", "a", "a", "enter")
        assert len(screen.left) == left
        monkeypatch.setattr(frame_module, "BURST_S", 0.0)
        await planner.acknowledge_all()
        monkeypatch.setattr(frame_module, "BURST_S", 3_600.0)
        await planner.press("enter")
        assert isinstance(planner.app.screen, PlanScreen)

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


def test_a_set_that_is_held_already_is_not_pushed(desk: Desk) -> None:
    """There is nothing to confirm."""
    acme(desk, FILE.replace("0.7", "0.5") + "  rrf_k: 50\n")

    async def act(planner: Planner) -> None:
        await planner.plan()
        assert "nothing to push" in planner.picture
        await planner.press("enter")
        assert not isinstance(planner.app.screen, PushScreen)

    planning(desk, act)


def test_a_tenant_without_a_file_is_pushed_alone(desk: Desk) -> None:
    """Its draft goes on top of what the engine holds now, whatever it was begun from."""
    desk.write("fleet/knobctl.toml", "")
    desk.write("fleet/bolt.yaml", "tenant: bolt\nknobs: {}\n")
    desk.live({"acme": LIVE})

    async def act(planner: Planner) -> None:
        from knobctl.tui.draft import Begun, Draft

        begun = Begun(repo=None, live={"rrf_k": 40}, revision="r0")
        draft = Draft(engine=planner.app.workplace.engine_key, tenant="acme", begun=begun)
        planner.app.push_screen(PlanScreen(draft.put("retrieval_min_score", "0.32")))
        screen = await planner.planned()
        assert "no file: the tenant has no document here" in planner.picture
        assert "1 edit, 24 unchanged" in planner.picture
        assert "--also-file" not in screen.twin()
        await planner.acknowledge_all()
        await planner.press("enter")
        assert (await planner.pushed()).push.is_good

    planning(desk, act)
    assert desk.knobs("acme") == LIVE | {"retrieval_min_score": 0.32}


def test_where_only_the_file_differs_only_the_file_is_edited(desk: Desk) -> None:
    """Nothing is sent, no run is begun, and the file says what the engine holds."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await planner.plan(mmr_lambda="0.5", rrf_k="50")
        assert "0 edits, 25 unchanged" in planner.picture
        await planner.acknowledge_all()
        assert screen.twin() == "knobctl set acme rrf_k=50 mmr_lambda=0.5 --file"
        await planner.press("enter")
        push = (await planner.pushed()).push
        assert push.is_good
        assert push.run is None
        assert "acme holds this set already; nothing was sent" in planner.picture
        assert "edited fleet/acme.yaml" in planner.picture

    planning(desk, act)
    text = (desk.folder / "fleet/acme.yaml").read_text(encoding="utf-8")
    assert "mmr_lambda: 0.5" in text
    with embedded(desk.folder / "engine.db") as engine:
        assert len(list(engine.audit_events("acme"))) == 1


def test_an_engine_that_cannot_be_read_gives_no_plan(desk: Desk) -> None:
    """It says so in the place of the plan; `R` reads again."""
    acme(desk)
    with GivenEngine(tenants={"t": "acme"}) as engine:
        engine.sets["acme"] = {"rrfK": 50}
        token = desk.write("../home/token", "t")
        token.chmod(0o600)

        async def act(planner: Planner) -> None:
            await planner.open()
            engine.fail(Fault.HTML, method=GET, times=9)
            await planner.say("push")
            await planner.until(lambda: "x no plan:" in planner.picture)
            await planner.press("enter")
            assert isinstance(planner.app.screen, PlanScreen)
            engine.troubles.clear()
            await planner.press("R")
            await planner.planned()
            assert "RESET" in planner.picture

        planning(desk, act, engine=engine.url, token_file=token)


def test_a_session_that_became_read_only_cannot_confirm(desk: Desk) -> None:
    """Fifteen minutes without a key: the line that says how to confirm says what is missing instead."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        assert "Enter pushes" in planner.picture
        planner.app.action_disarm()
        planner.app.refresh_frame()
        await planner.press()
        assert "read-only: type :arm to write" in planner.picture
        await planner.press("enter")
        assert isinstance(planner.app.screen, PlanScreen)

    planning(desk, act)
    assert desk.knobs("acme") == LIVE
