"""The tenant's screen: edited in place, judged with every key, kept on the disk, written after a look."""

from __future__ import annotations

import json
import shutil
import stat
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from knobctl.changes.limits import Limits
from knobctl.tui.actions import Action, action_called
from knobctl.tui.screens.confirm import ConfirmScreen
from knobctl.tui.screens.fleet import FleetScreen
from knobctl.tui.screens.preview import PreviewScreen
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import Choices, Field
from knobctl.tui.widgets.knob_field import KnobField
from knobctl.tui.widgets.knob_table import KnobTable
from tests.cli.engines import Clock
from tests.knobs.foreign import write_foreign_schema
from tests.tui.desks import NOW, Desk
from tests.tui.hostile import HOSTILE, hostile_engine, hostile_fleet, unseen
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture
from tests.tui.tenants import at, screen

Act = Callable[[Person], Awaitable[None]]
LIVE = {"bolt": {"retrieval_min_score": 0.3, "retrieval_vector_top_k": 32}}


def row(person: Person, knob: str) -> str:
    """The row of a knob as it is seen."""
    return next(line for line in person.picture.splitlines() if line[3:].startswith(f"{knob} "))


def cells(person: Person, knob: str) -> tuple[str, str, str]:
    """What a knob is in the files, in the draft, on the engine."""
    rows = {row.knob.name: row for row in screen(person).query_one(KnobTable).rows}
    return rows[knob].repo, rows[knob].draft, rows[knob].live


def entries(person: Person) -> dict[str, Any]:
    """What the draft says."""
    draft = screen(person).draft
    assert draft is not None
    return draft.entries


def drafts(desk: Desk) -> list[Path]:
    return list((desk.folder.parent / "home/state/knobctl/drafts").glob("*.json"))


async def arm(person: Person) -> None:
    """As `:arm` does."""
    person.app.arming = person.app.arming.arm("recall", None, Limits(), NOW)
    await person.press()


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_a_tenant_looks_like_this(desk: Desk, size: tuple[int, int]) -> None:
    """Before an edit, while a floor is typed, and with a wrong value."""
    desk.live(LIVE)
    name = f"tenant-{size[0]}x{size[1]}"

    async def act(person: Person) -> None:
        assert_picture(name, person.picture)
        await person.press("e", *"0.40")
        assert_picture(f"{name}-typing", person.picture)
        await person.press("backspace", "backspace", "7", "5", "0", "enter", "x")
        await person.press("e", *"4", "enter")
        assert_picture(f"{name}-wrong", person.picture)

    sit_down(desk, at("bolt", act), size=size)


def test_what_follows_is_said_with_every_key_before_enter(desk: Desk) -> None:
    """Type, range, policies, the consequence, in the pane and in the header."""
    desk.live(LIVE)
    heads = {}

    async def act(person: Person) -> None:
        await person.press("e")
        for key in ("4", "x", "backspace", "backspace", "0", "full_stop", "4", "5"):
            await person.press(key)
            text = person.app.screen.query_one(Field).value
            heads[text] = next(
                " ".join(line.split()[1:])
                for line in person.picture.splitlines()
                if line.startswith("retrieval_min_score = ")
            )
        assert "1 edit" in person.header
        assert entries(person) == {}
        await person.press("escape")
        assert "1 edit" not in person.header
        assert row(person, "retrieval_min_score").endswith("reset")

    sit_down(desk, at("bolt", act))
    assert heads == {
        "4": "= 4 type ok x range",
        "4x": "= 4x x type",
        "": "= - type ok range ok policies ok",
        "0": "= 0 = default 0.3 type ok range ok policies ok",
        "0.": "= 0. = default 0.3 type ok range ok policies ok",
        "0.4": "= 0.4 type ok range ok ! 2 warnings",
        "0.45": "= 0.45 type ok range ok x 1 error ! 2 warnings",
    }


@pytest.mark.slow
def test_the_consequence_moves_with_the_value(desk: Desk) -> None:
    """From a floor that nothing of one ranker passes to one that everything does."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        told = {}
        for value in ("0.34", "0.33", "0.7", "0.0001"):
            await person.press("e")
            person.app.screen.query_one(Field).value = value
            await person.press("enter")
            told[value] = " ".join(person.picture.split())
        assert "A match found by vector search alone can never pass." in told["0.34"]
        assert "passes down to rank 1" in told["0.33"]
        assert "x 1 error" in told["0.7"]
        assert "Removes nothing while all rankers are live." in told["0.0001"]

    sit_down(desk, at("bolt", act), size=(80, 40))


def test_a_wrong_value_stays_and_cannot_be_written(desk: Desk) -> None:
    """The row says so, the file and the plan are refused in words."""

    async def act(person: Person) -> None:
        await arm(person)
        await person.press("e", *"abc", "enter")
        assert row(person, "retrieval_min_score").endswith("no value")
        await person.press("w")
        assert 'it cannot be written: retrieval_min_score is the text "abc"' in person.told
        assert isinstance(person.app.screen, TenantScreen)
        await person.press("u")
        assert "no value" not in row(person, "retrieval_min_score")

    sit_down(desk, at("fjord", act))


def test_undo_says_what_it_undid_and_redo_does_it_again(desk: Desk) -> None:
    """Back to nothing, and forth to the end."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter", "j", "plus", "plus", "plus", "j", "x")
        await person.press("u", "u")
        assert "undone: vector_min_cosine, 0.03 -> as begun" in person.told
        assert screen(person).query_one(KnobTable).knob == "vector_min_cosine"
        await person.press("u", "u")
        assert "undone: retrieval_min_score, 0.2 -> as begun" in person.told
        assert "nothing to undo" in person.told
        await person.press("U", "U")
        assert "redone: vector_min_cosine, as begun -> 0.03" in person.told
        assert screen(person).edited == ("retrieval_min_score", "vector_min_cosine")

    sit_down(desk, at("fjord", act))


def test_unset_revert_and_the_engines_value(desk: Desk) -> None:
    """Each by its key, and by its command for a knob that is named."""
    desk.live({"acme": {"retrieval_min_score": 0.6}})

    async def act(person: Person) -> None:
        await person.press("t")
        assert cells(person, "retrieval_min_score") == ("0.45", "0.6", "0.6")
        await person.press("x")
        assert cells(person, "retrieval_min_score") == ("0.45", "-", "0.6")
        await person.press("r")
        assert cells(person, "retrieval_min_score") == ("0.45", "0.45", "0.6")
        await person.say("unset gate_expanded_floor")
        assert screen(person).edited == ("gate_expanded_floor",)
        await person.say("revert gate_expanded_floor")
        assert screen(person).edited == ()
        await person.press("e", "enter")
        assert len(entries(person)) == 0
        await person.say("edit nonsense")
        assert "'nonsense' is no knob" in person.told

    sit_down(desk, at("acme", act))


def test_a_mode_is_chosen_from_a_list_or_by_space(desk: Desk) -> None:
    """What the cursor is on is judged before Enter; a number is no list."""

    async def act(person: Person) -> None:
        await person.press("space")
        assert "retrieval_min_score is a number: e edits it, + and - step" in person.told
        await person.say("edit recency_ranker_mode")
        assert person.app.screen.query_one(Choices).has_focus
        assert "ENABLED" in person.picture
        await person.press("down")
        assert "recency takes no part" in " ".join(person.picture.split()).lower()
        await person.press("enter")
        assert cells(person, "recency_ranker_mode")[1] == "DISABLED"
        await person.press("space")
        assert cells(person, "recency_ranker_mode")[1] == "ENABLED"
        await person.press("plus")
        assert "has a few values" in person.told

    sit_down(desk, at("fjord", act), size=(100, 40))


def test_plus_and_minus_step_and_stop_before_a_zero_that_is_none(desk: Desk) -> None:
    """What a zero would mean is said."""

    async def act(person: Person) -> None:
        await person.press("plus", "plus", "minus")
        assert entries(person) == {"retrieval_min_score": "0.31"}
        await person.press("e")
        person.app.screen.query_one(Field).value = "0.01"
        await person.press("down", "enter", "minus")
        assert "0 would mean the platform default 0.3" in person.told
        await person.press("e", "up", "up", "enter")
        assert entries(person) == {"retrieval_min_score": "0.03"}

    sit_down(desk, at("fjord", act))


def test_a_draft_is_there_again_in_the_next_session(desk: Desk) -> None:
    """The user's own file, gone when nothing is edited any more; another engine's tenant has its own."""

    async def edit(person: Person) -> None:
        await person.press("e", *"0.2", "enter")

    async def see(person: Person) -> None:
        assert "the draft of fjord goes on: 1 edit" in person.told
        assert cells(person, "retrieval_min_score")[1] == "0.2"
        await person.press("escape")
        assert isinstance(person.app.screen, FleetScreen)
        await person.say("tenant fjord")
        assert cells(person, "retrieval_min_score")[1] == "0.2"
        await person.press("u", "u")

    async def not_there(person: Person) -> None:
        assert screen(person).edited == ()

    sit_down(desk, at("fjord", edit))
    (path,) = drafts(desk)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert json.loads(path.read_bytes())["tenant"] == "fjord"
    again(desk, at("fjord", not_there), engine="embedded:other.db")
    again(desk, at("fjord", see))


def again(desk: Desk, act: Act, **options: Any) -> None:
    """Sit down where one sat before."""
    shutil.rmtree(desk.folder / "fleet")
    sit_down(desk, act, **options)


def test_a_draft_whose_files_moved_is_shown_so_and_not_taken_over(desk: Desk) -> None:
    """Nothing is written before it was put on top of them by hand."""

    async def edit(person: Person) -> None:
        await person.say("edit rrf_k")
        person.app.screen.query_one(Field).value = "70"
        await person.press("enter")

    async def look(person: Person) -> None:
        await arm(person)
        desk.write("fleet/tenants/acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.2}\n")
        await person.press("R")
        assert (
            "assembly_max_chunks, assembly_token_budget, gate_expanded_floor, 1 more"
            in screen_state(person)
        )
        assert "moved since the draft was begun" in screen_state(person)
        await person.press("w")
        assert "it cannot be written: what the draft stands on moved" in person.told
        await person.press("b")
        assert "moved" not in screen_state(person)
        await person.press("w", "y")

    sit_down(desk, at("acme", edit))
    again(desk, at("acme", look))
    text = (desk.folder / "fleet/tenants/acme.yaml").read_text()
    assert text == "tenant: acme\nknobs: {retrieval_min_score: 0.2, rrf_k: 70}\n"
    assert drafts(desk) == []


def screen_state(person: Person) -> str:
    """The lines under the header."""
    return " ".join(" ".join(person.picture.splitlines()[1:6]).split())


def test_the_file_is_written_after_its_diff_was_seen(desk: Desk) -> None:
    """Armed; by another key than the one that led there; comments stay, the engine is left alone."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await person.press("e", *"0.25", "enter", "w")
        assert "read-only: type :arm to write" in person.told
        await arm(person)
        await person.press("w", "w", "enter")
        assert isinstance(person.app.screen, PreviewScreen)
        assert "+  retrieval_min_score: 0.25" in person.picture
        await person.press("n")
        assert b": 0 " in before.read_bytes()
        await person.press("w", "y")
        assert isinstance(person.app.screen, TenantScreen)
        assert screen(person).edited == ()
        assert cells(person, "retrieval_min_score") == ("0.25", "0.25", "0.3")
        assert row(person, "retrieval_min_score").endswith("drift")
        await person.press("w")
        assert "nothing to write" in person.told

    before = desk.folder / "fleet/tenants/bolt.yaml"
    sit_down(desk, at("bolt", act))
    assert "retrieval_min_score: 0.25       # warns" in before.read_text()
    assert desk.knobs("bolt") == LIVE["bolt"]
    assert drafts(desk) == []


def test_arming_that_ended_meanwhile_writes_nothing(desk: Desk) -> None:
    """However long the diff was looked at."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter")
        await arm(person)
        await person.press("w")
        person.app.arming = person.app.arming.disarm()
        await person.press("y")
        assert "read-only" in person.told
        assert screen(person).edited == ("retrieval_min_score",)

    sit_down(desk, at("fjord", act))
    assert "knobs: {}" in (desk.folder / "fleet/tenants/fjord.yaml").read_text()


def test_a_file_that_somebody_changed_meanwhile_is_not_written(desk: Desk) -> None:
    """Their change stays, and so does the draft."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter")
        await arm(person)
        await person.press("w")
        desk.write("fleet/tenants/fjord.yaml", "tenant: fjord\n")
        await person.press("y")
        assert "was changed meanwhile" in person.told
        assert screen(person).edited == ("retrieval_min_score",)

    sit_down(desk, at("fjord", act))
    assert (desk.folder / "fleet/tenants/fjord.yaml").read_text() == "tenant: fjord\n"


@pytest.mark.slow
def test_a_session_without_writing_has_drafts_all_the_same(desk: Desk) -> None:
    """They are nobody else's business."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter", "w")
        assert "read-only" in person.told
        assert screen(person).edited == ("retrieval_min_score",)
        assert "w write file" not in person.picture

    sit_down(desk, at("fjord", act), read_only=True, size=(140, 40))


@pytest.mark.slow
def test_what_would_change_is_shown_in_three_kinds(desk: Desk) -> None:
    """And closes again."""
    desk.live(LIVE)

    async def act(person: Person) -> None:
        await person.say("edit rrf_k")
        person.app.screen.query_one(Field).value = "70"
        await person.press("enter", "d")
        assert "3 fields: 1 edit, 2 resets" in person.picture
        assert "RESET" in person.picture
        await person.press("j", "y", "escape")
        assert isinstance(person.app.screen, TenantScreen)

    sit_down(desk, at("bolt", act))


@pytest.mark.slow
def test_the_command_that_does_the_same_is_handed_out(desk: Desk) -> None:
    """As `set` with the file."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter", "Y")
        assert "knobctl set fjord retrieval_min_score=0.2 --also-file" in person.told

    sit_down(desk, at("fjord", act))


@pytest.mark.slow
def test_leaving_with_a_draft_open_asks(desk: Desk) -> None:
    """And says that it is kept."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter", "q")
        assert isinstance(person.app.screen, ConfirmScreen)
        assert "fjord: 1 edit in a draft, kept for the next session" in person.picture

    sit_down(desk, at("fjord", act))


def test_a_draft_that_cannot_be_kept_is_not_lost_by_going_back(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is there again on return; leaving the program says that it ends there."""
    monkeypatch.setenv("XDG_STATE_HOME", "/proc/nowhere")

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter")
        assert "it is lost when this session ends" in person.told
        await person.press("escape", "q")
        assert "fjord: a draft that could not be kept, LOST by leaving" in person.picture
        await person.press("escape")
        await person.say("tenant fjord")
        assert cells(person, "retrieval_min_score")[1] == "0.2"
        await person.press("q")
        assert "kept for the next session" not in person.picture

    sit_down(desk, at("fjord", act))


def test_an_engine_that_cannot_be_asked_leaves_the_draft(desk: Desk) -> None:
    """It says so, goes on with the files, and asks again on R."""

    async def act(person: Person) -> None:
        assert "the engine could not be asked" in screen_state(person)
        assert cells(person, "retrieval_min_score")[1:] == ("-", "?")
        await person.press("e", *"0.2", "enter")
        assert cells(person, "retrieval_min_score")[1] == "0.2"
        await person.press("t")
        assert "it is not known what the engine holds" in person.told
        await person.press("R")
        assert "the engine could not be asked" in screen_state(person)
        assert screen(person).edited == ("retrieval_min_score",)

    sit_down(desk, at("fjord", act), engine="http://127.0.0.1:9")
    assert len(drafts(desk)) == 1


def test_a_damaged_draft_is_told_and_left(desk: Desk) -> None:
    """The session goes on without it, and never writes over it."""

    async def edit(person: Person) -> None:
        await person.press("e", *"0.2", "enter")

    async def see(person: Person) -> None:
        assert "cannot be read" in screen_state(person)
        await person.press("e", *"0.3", "enter")
        assert screen(person).edited == ("retrieval_min_score",)

    sit_down(desk, at("fjord", edit))
    (path,) = drafts(desk)
    path.write_bytes(b"{")
    again(desk, at("fjord", see))
    assert path.read_bytes() == b"{"


@pytest.mark.slow
def test_another_session_with_the_same_draft_is_told(desk: Desk) -> None:
    """Who comes second keeps nothing over the first one's edits."""

    async def act(person: Person) -> None:
        await person.press("e", *"0.2", "enter")
        (path,) = drafts(desk)
        path.write_bytes(path.read_bytes().replace(b"0.2", b"0.1"))
        await person.press("plus")
        assert "another session changed the draft of fjord" in person.told
        assert b"0.1" in path.read_bytes()

    sit_down(desk, at("fjord", act))


def test_a_tenant_whose_document_has_errors_cannot_be_edited(desk: Desk) -> None:
    """It says what is wrong and that `o` opens the file."""

    async def act(person: Person) -> None:
        desk.write(
            "fleet/tenants/fjord.yaml", "tenant: fjord\nlayers: [nowhere]\nknobs: {rrf_k: x}\n"
        )
        await person.press("R")
        assert "o opens the file" in screen_state(person)
        await person.press("e")
        assert "fjord cannot be edited here" in person.told
        assert screen(person).query_one(KnobField).knob is None

    sit_down(desk, at("fjord", act))


@pytest.mark.parametrize("name", ["../x\u202eb", "x" * 80])
def test_a_tenant_whose_name_can_be_none_says_so_and_cannot_be_edited(
    desk: Desk, name: str
) -> None:
    """Nor does its name reach the screen as it is."""
    desk.write("odd/x.yaml", f"tenant: {json.dumps(name)}\nknobs: {{}}\n")
    desk.write("odd/acme.yaml", "tenant: acme\n")

    async def act(person: Person) -> None:
        await person.app.push_screen(TenantScreen(name))
        await person.press()
        assert unseen(person.picture.replace("\n", "")) == []
        assert "o opens the file" in screen_state(person)
        await person.press("e", "x", "plus")
        assert "cannot be edited here" in person.told
        assert entries(person) == {}

    sit_down(desk, act, path="odd", size=(100, 30))


@pytest.mark.slow
def test_an_edit_of_a_knob_that_is_gone_is_told_and_taken_out_by_hand(desk: Desk) -> None:
    """The schema may have lost it since; the draft is not written before."""

    async def edit(person: Person) -> None:
        await person.press("e", *"0.2", "enter")

    async def look(person: Person) -> None:
        assert "the schema has no gone_knob any more" in screen_state(person)
        await arm(person)
        await person.press("w")
        assert "it cannot be written: the schema has no gone_knob any more" in person.told
        await person.press("b")
        assert "gone_knob" not in screen_state(person)
        assert entries(person) == {}

    sit_down(desk, at("fjord", edit))
    (path,) = drafts(desk)
    path.write_bytes(path.read_bytes().replace(b"retrieval_min_score", b"gone_knob"))
    again(desk, at("fjord", look))


def test_a_locked_knob_has_its_sign_and_is_not_edited(desk: Desk) -> None:
    """The schema asks for more than the caller has."""
    schema = write_foreign_schema(
        desk.folder,
        secret_rows={
            "type": "integer",
            "minimum": 1,
            "maximum": 9,
            "x-knob": {"default": 3, "clearance": {"read": "L3", "edit": "L5"}},
        },
    )
    desk.write("other/acme.yaml", "tenant: acme\nknobs: {cutoff: 0.5}\n")

    async def act(person: Person) -> None:
        assert "cutoff" in person.picture
        assert row(person, "secret_rows").startswith(" # ")
        assert row(person, "secret_rows").endswith("locked")
        await person.press("G", "e")
        assert "editing secret_rows needs clearance L5, you have L4" in person.told
        await person.say("unset secret_rows")
        assert screen(person).edited == ()
        await person.press("g", "e", "0", "full_stop", "6", "enter")
        assert cells(person, "cutoff") == ("0.5", "0.6", "-")

    sit_down(desk, at("acme", act), path="other", schema=schema)


def test_the_mouse_is_as_good_as_the_keys(desk: Desk) -> None:
    """A click puts the cursor there, a second one edits."""

    async def act(person: Person) -> None:
        lines = person.picture.splitlines()
        y = next(n for n, line in enumerate(lines) if "vector_min_cosine" in line)
        await person.pilot.click(offset=(6, y))
        await person.press()
        assert screen(person).query_one(KnobTable).knob == "vector_min_cosine"
        await person.pilot.click(offset=(6, y))
        await person.press()
        assert screen(person).query_one(KnobField).knob is not None

    sit_down(desk, at("fjord", act))


@pytest.mark.parametrize(
    "kinds",
    [("title",), pytest.param(tuple(HOSTILE), marks=pytest.mark.slow)],
    ids=["one", "all"],
)
def test_hostile_texts_of_a_tenant_are_shown_escaped(desk: Desk, kinds: tuple[str, ...]) -> None:
    """Labels, comments, owners, actors: in the table, the pane, the diff, the messages."""
    hostile_fleet(desk.folder / "hostile")
    hostile_engine(desk.folder / "engine.db", Clock(NOW))

    async def act(person: Person) -> None:
        for kind in kinds:
            await person.say(f"tenant h-{kind}")
            await person.press("plus", "d")
            assert unseen(person.picture.replace("\n", "")) == [], kind
            await person.press("escape")
            assert unseen(person.picture.replace("\n", "")) == [], kind
            await person.press("escape")
        assert person.app.is_running

    sit_down(desk, act, path="hostile")


@pytest.mark.slow
@pytest.mark.parametrize("size", [(60, 16), (60, 20), (100, 30), (140, 40), (200, 60)])
def test_every_size_shows_rows_and_pane(desk: Desk, size: tuple[int, int]) -> None:
    """While editing too."""

    async def act(person: Person) -> None:
        for keys in ((), ("e", "1"), ("escape", "G", "k", "e", "9")):
            await person.press(*keys)
            knob = screen(person).query_one(KnobTable).knob
            assert f"{knob} = " in person.picture
            assert person.picture.splitlines()[-1].endswith("q quit")

    sit_down(desk, at("acme", act), size=size)


def test_refusals_are_sentences(desk: Desk) -> None:
    """Each action of the place either works or says why not, in the palette too."""

    async def act(person: Person) -> None:
        place = screen(person)
        for id_ in ("undo", "redo", "rebase", "write"):
            action: Action = action_called(id_)
            assert place.refusal(action), id_
        for id_ in ("edit", "unset", "diff", "editor", "reread"):
            assert place.refusal(action_called(id_)) is None, id_
        assert place.next_step().endswith(".")

    sit_down(desk, at("fjord", act))
