"""The push of a plan: its steps as they are taken, and every way in which it does not go as planned."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes.outcomes import Outcome
from knobctl.shipped import shipped
from knobctl.text import INVISIBLE
from knobctl.tui.push_view import Mark, steps
from knobctl.tui.screens.confirm import ConfirmScreen
from knobctl.tui.screens.plan import PlanScreen
from knobctl.tui.screens.push import PushScreen
from knobctl.tui.screens.tenant import TenantScreen
from tests.cli.engines import embedded
from tests.engine.cutting import Cut
from tests.given_engine import Fault, GivenEngine
from tests.tui.between import engine_behind
from tests.tui.desks import NOW
from tests.tui.hostile import HOSTILE
from tests.tui.pictures import assert_picture, strips
from tests.tui.planning import FILE, LIVE, Planner, acme, at_once, planning

if TYPE_CHECKING:
    from tests.tui.desks import Desk


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    at_once(monkeypatch)


async def confirmed(planner: Planner) -> PushScreen:
    """Plan a change of one knob, and push it."""
    await planner.plan(mmr_lambda="0.6")
    await planner.acknowledge_all()
    await planner.press("enter")
    await planner.until(lambda: isinstance(planner.app.screen, PushScreen))
    screen = planner.app.screen
    assert isinstance(screen, PushScreen)
    return screen


def marks(screen: PushScreen) -> dict[str, Mark]:
    """How far each step is."""
    return dict(steps(screen.push))


def test_a_conflict_shows_what_the_other_person_did(desk: Desk) -> None:
    """Who, when, and what differs from what the plan was made of; `n` plans again, and the draft is kept."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        desk.live({"acme": LIVE | {"dedup_min_similarity": 0.97}}, at=NOW)
        await planner.press("enter")
        screen = await planner.pushed()
        assert screen.push.outcome is not None
        assert screen.push.outcome.outcome is Outcome.CONFLICT
        shown = planner.picture
        assert "x conflict: it was changed since the plan; nothing was written" in shown
        assert "anna wrote" in shown
        assert "dedup_min_similarity" in shown
        kept = planner.app.workplace.draft("acme")
        assert kept is not None
        assert kept.literals == {"mmr_lambda": "0.6"}
        await planner.press("n")
        await planner.planned()
        assert "live r2" in planner.picture
        assert "2 resets by omission" in planner.picture

    planning(desk, act)
    assert desk.knobs("acme") == LIVE | {"dedup_min_similarity": 0.97}


def test_who_changed_the_file_meanwhile_is_planned_with(desk: Desk) -> None:
    """Nothing is written over a file that moved; the plan that is made anew reads it."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        desk.write("fleet/acme.yaml", FILE + "  rrf_k: 70\n")
        await planner.press("enter")
        screen = await planner.pushed()
        assert screen.push.error is not None
        assert "was changed meanwhile and was not edited" in planner.picture
        await planner.press("n")
        await planner.planned()
        assert "70" in planner.picture

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


def test_the_steps_are_told_as_they_are_taken(desk: Desk) -> None:
    """A write that the engine sits on is journalled and sent, and nothing more; then it is done."""
    acme(desk)

    async def act(planner: Planner) -> None:
        between.let_go.clear()
        screen = await confirmed(planner)
        await planner.until(between.reached.is_set)
        assert marks(screen) == {
            "checked": Mark.DONE,
            "journalled": Mark.DONE,
            "sent": Mark.DONE,
            "read back": Mark.NOW,
            "audit event": Mark.TO_COME,
            "file": Mark.TO_COME,
        }
        assert "Esc leaves this screen; the push goes on" in planner.picture
        await planner.press("n")
        assert "the push is under way" in planner.told
        between.let_go.set()
        await planner.pushed()
        assert set(marks(screen).values()) == {Mark.DONE}

    with engine_behind(desk) as (between, options):
        planning(desk, act, **options)


def test_leaving_the_screen_does_not_stop_the_push(desk: Desk) -> None:
    """It goes on, the header says so, quitting asks, and its end is told wherever one is."""
    acme(desk)

    async def act(planner: Planner) -> None:
        between.let_go.clear()
        screen = await confirmed(planner)
        await planner.until(between.reached.is_set)
        await planner.press("escape")
        assert isinstance(planner.app.screen, TenantScreen)
        assert "pushing acme" in planner.header
        await planner.say("push")
        await planner.planned()
        await planner.acknowledge_all()
        assert "a push of this tenant is under way" in planner.picture
        await planner.press("escape", "q")
        assert isinstance(planner.app.screen, ConfirmScreen)
        assert "acme: a push is under way, it will be finished" in planner.picture
        await planner.press("escape")
        await planner.say("pushes")
        assert isinstance(planner.app.screen, PushScreen)
        between.let_go.set()
        await planner.until(lambda: screen.push.is_over)
        await planner.until(lambda: "acme: pushed, r2" in planner.told)
        assert "pushing" not in planner.header
        assert "ok pushed: acme is at revision r2" in planner.picture
        assert screen.twin() == f"knobctl runs {screen.push.run}"  # to look at it, not to undo it
        await planner.press("escape")
        tenant = planner.app.screen
        assert isinstance(tenant, TenantScreen)
        await planner.until(lambda: tenant.draft is not None and tenant.draft.is_empty)

    with engine_behind(desk) as (between, options):
        planning(desk, act, size=(120, 30), **options)
    assert desk.knobs("acme")["mmr_lambda"] == 0.6


def test_an_edit_made_meanwhile_stays_in_the_draft(desk: Desk) -> None:
    """A push takes away what it pushed, and nothing else."""
    acme(desk)

    async def act(planner: Planner) -> None:
        between.let_go.clear()
        screen = await confirmed(planner)
        await planner.until(between.reached.is_set)
        await planner.press("escape")
        tenant = planner.app.screen
        assert isinstance(tenant, TenantScreen)
        assert tenant.draft is not None
        tenant.take(tenant.draft.put("rrf_k", "70"))
        await planner.press()
        between.let_go.set()
        await planner.until(lambda: screen.push.is_over)
        kept = planner.app.workplace.draft("acme")
        assert kept is not None
        assert kept.literals == {"mmr_lambda": "0.6", "rrf_k": "70"}

    with engine_behind(desk) as (between, options):
        planning(desk, act, **options)


def test_an_audit_event_with_other_fields_is_an_error(desk: Desk) -> None:
    """What was planned and what the log says stand beside each other; the state is an error, and stays."""
    acme(desk)

    def lie(event: dict[str, Any]) -> None:
        event["changedFieldPaths"] = ["rrf_k"]

    async def act(planner: Planner) -> None:
        between.changed = lie
        await confirmed(planner)
        screen = await planner.pushed()
        assert marks(screen)["audit event"] is Mark.WRONG
        shown = planner.picture
        assert "x planned 2, and others: mmr_lambda, rrf_k" in shown
        assert "x written, and not all of it is as planned" in shown
        assert planner.app.workplace.draft("acme") is not None

    with engine_behind(desk) as (between, options):
        planning(desk, act, **options)


def test_an_audit_log_without_the_event_is_an_error(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is waited for, and then said that there is none."""
    acme(desk)
    monkeypatch.setattr("knobctl.changes.witness.READ_BACK_PAUSES_S", (0.01,))

    def hide(event: dict[str, Any]) -> None:
        event["revision"] = "r0"

    async def act(planner: Planner) -> None:
        between.changed = hide
        await confirmed(planner)
        screen = await planner.pushed()
        assert marks(screen)["audit event"] is Mark.WRONG
        assert "x no audit event of this write was found" in planner.picture

    with engine_behind(desk) as (between, options):
        planning(desk, act, **options)


def test_what_an_audit_log_says_is_shown_and_never_obeyed(desk: Desk) -> None:
    """An actor and field paths of escape sequences, markup and endless lines drive neither screen nor terminal."""
    acme(desk)
    short = "".join(text for text in HOSTILE.values() if len(text) < 1_000)

    def lie(event: dict[str, Any]) -> None:
        event["actor"], event["type"] = short, short
        event["changedFieldPaths"] = [*HOSTILE.values()]

    async def act(planner: Planner) -> None:
        between.changed = lie
        await confirmed(planner)
        screen = await planner.pushed()
        assert marks(screen)["audit event"] is Mark.WRONG
        assert not INVISIBLE.search(planner.picture.replace("\n", ""))
        await planner.press("home", "pagedown", "end")
        assert not INVISIBLE.search(planner.picture.replace("\n", ""))
        clicks = [
            segment.style.meta
            for strip in strips(planner.app)
            for segment in strip
            if segment.style
        ]
        assert not any("@click" in meta for meta in clicks)

    with engine_behind(desk) as (between, options):
        planning(desk, act, size=(140, 40), **options)


def test_a_refusal_by_the_engine_names_the_fields(desk: Desk) -> None:
    """The engine's schema is narrower than the repository's: nothing is written, and the draft is kept."""
    acme(desk)
    schema = json.loads((shipped("schemas") / "context-engine-knobs.v1.schema.json").read_text())
    schema["properties"]["mmr_lambda"]["anyOf"][1]["maximum"] = 2
    wide = desk.write("wide.schema.json", json.dumps(schema))

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="1.5")
        await planner.acknowledge_all()
        await planner.press("enter")
        screen = await planner.pushed()
        assert screen.push.outcome is not None
        assert screen.push.outcome.outcome is Outcome.FAILED
        shown = planner.picture
        assert "x refused, nothing was written" in shown
        assert "mmr_lambda" in shown
        kept = planner.app.workplace.draft("acme")
        assert kept is not None
        assert kept.literals == {"mmr_lambda": "1.5"}

    with engine_behind(desk) as (_, options):
        planning(desk, act, schema=wide, **options)
    assert desk.knobs("acme") == LIVE


def test_a_lost_answer_leaves_one_event(desk: Desk) -> None:
    """The connection is cut after the engine wrote: what was sent is sent again under its key, and found."""
    acme(desk)

    async def act(planner: Planner) -> None:
        between.cuts = [Cut.AFTER_SENDING]
        await confirmed(planner)
        screen = await planner.pushed()
        assert screen.push.is_good
        assert between.seen == 2

    with engine_behind(desk) as (between, options):
        planning(desk, act, **options)
    with embedded(desk.folder / "engine.db") as engine:
        assert [event["revision"] for event in engine.audit_events("acme")] == ["r1", "r2"]


def test_an_unknown_outcome_says_what_to_run(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """What reads back is not what was sent: what differs is shown, and the run to resume is named."""
    acme(desk)
    monkeypatch.setattr("knobctl.changes.read_back.READ_BACK_PAUSES_S", (0.01,))
    with GivenEngine(tenants={"t": "acme"}) as engine:
        engine.sets["acme"] = {"rrfK": 50}
        engine.fail(Fault.DROP_FIELD)
        token = desk.write("../home/token", "t")
        token.chmod(0o600)

        async def act(planner: Planner) -> None:
            await confirmed(planner)
            screen = await planner.pushed()
            assert screen.push.outcome is not None
            assert screen.push.outcome.outcome is Outcome.UNKNOWN
            assert screen.push.run is not None
            assert marks(screen)["read back"] is Mark.WRONG
            assert "x what became of the write is not known" in planner.picture
            assert f"knobctl apply --resume {screen.push.run}" in planner.picture.replace("\n", "")
            assert f"--resume {screen.push.run}" in screen.twin()

        planning(desk, act, size=(140, 40), engine=engine.url, token_file=token)


def test_an_engine_with_the_two_given_methods_is_pushed_to(desk: Desk) -> None:
    """Without revisions it is read again before the write, nothing is said of an audit event, and the journal undoes."""
    acme(desk)
    with GivenEngine(tenants={"t": "acme"}) as engine:
        engine.sets["acme"] = {"rrfK": 50}
        token = desk.write("../home/token", "t")
        token.chmod(0o600)

        async def act(planner: Planner) -> None:
            await planner.plan(mmr_lambda="0.6")
            assert "no revisions: it is read again just before the write" in planner.picture
            await planner.acknowledge_all()
            await planner.press("enter")
            screen = await planner.pushed()
            assert screen.push.is_good
            assert marks(screen)["audit event"] is Mark.NOT_DONE
            assert "no audit event: " in planner.picture
            assert f"knobctl rollback --run {screen.push.run}" in planner.picture

        planning(desk, act, size=(100, 30), engine=engine.url, token_file=token)
        assert engine.sets["acme"]["mmrLambda"] == 0.6


def test_a_stop_that_came_meanwhile_refuses_the_push(desk: Desk) -> None:
    """The guards judge again at the moment of the push; what nobody acknowledged stops it."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        desk.write("../home/state/knobctl/stop", "")
        await planner.press("enter")
        screen = await planner.pushed()
        assert screen.push.error is not None
        assert "x not pushed: all runs are stopped since" in planner.picture
        await planner.press("n")
        plan = await planner.planned()
        assert "--allow stop=" in planner.picture.replace("\n", " ")
        await planner.acknowledge_all()
        assert plan.left == []

    planning(desk, act, size=(140, 40))
    assert desk.knobs("acme") == LIVE


def test_a_file_that_was_changed_meanwhile_stops_the_push_before_it_is_sent(desk: Desk) -> None:
    """Nothing is written where the file's edit would be lost."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await planner.plan(mmr_lambda="0.6")
        await planner.acknowledge_all()
        desk.write("fleet/acme.yaml", "tenant: acme\nknobs: {rrf_k: 51}\n")
        await planner.press("enter")
        screen = await planner.pushed()
        assert "acme.yaml was changed meanwhile" in planner.picture
        assert not screen.push.is_good
        await planner.press("escape")
        assert isinstance(planner.app.screen, TenantScreen)

    planning(desk, act)
    assert desk.knobs("acme") == LIVE


@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_screen_of_a_push_that_is_done(desk: Desk, size: tuple[int, int]) -> None:
    """Steps, what was heard, the audit event beside the plan, how to take it back."""
    acme(desk)

    async def act(planner: Planner) -> None:
        screen = await confirmed(planner)
        await planner.pushed()
        assert screen.push.run is not None
        planner.app.clear_notifications()
        await planner.press()
        shown = planner.picture.replace(screen.push.run, "0f1e2d3c")
        assert_picture(f"push-{size[0]}x{size[1]}", shown)

    planning(desk, act, size=size)


def test_plan_again_is_refused_where_all_is_done(desk: Desk) -> None:
    """There is nothing left to plan."""
    acme(desk)

    async def act(planner: Planner) -> None:
        await confirmed(planner)
        await planner.pushed()
        await planner.press("n")
        assert not isinstance(planner.app.screen, PlanScreen)
        assert "nothing left to plan" in planner.told

    planning(desk, act)
