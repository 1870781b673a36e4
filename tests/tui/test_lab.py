"""The floor lab: everything moves with the floor, evidence that does not hold is not drawn, what is taken is an edit."""

from __future__ import annotations

import shutil
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl import load_catalogue
from knobctl.errors import UsageError
from knobctl.tui.draft import UNSET, Begun, Draft
from knobctl.tui.lab import LARGE, SMALL, Lab, floor_in_force, lab_of
from knobctl.tui.screens.lab import LabScreen
from tests.evidence.recordings import CATALOGUE, SHIPPED, WITHOUT_RECENCY, read
from tests.knobs.foreign import write_foreign_schema
from tests.tui.persons import sit_down
from tests.tui.pictures import assert_picture

if TYPE_CHECKING:
    from pathlib import Path

    from tests.tui.desks import Desk
    from tests.tui.persons import Person

TENANT = """tenant: squad2-dev
evidence: [evidence/scores.jsonl]
knobs:
  retrieval_min_score: 0.4
"""


def draft(**edits: str) -> Draft:
    """A draft of a tenant whose set is the platform defaults."""
    found = Draft(engine="embedded:e", tenant="squad2-dev", begun=Begun(repo={}, live={}))
    for name, literal in edits.items():
        found = found.put(name, literal)
    return found


def lab(**edits: str) -> Lab:
    """Its lab, with the shipped recording."""
    return lab_of(draft(**edits), CATALOGUE, now=Fraction("0.3"), recording=read(SHIPPED))


def lay(desk: Desk) -> None:
    """The shipped recordings, and a tenant that names one of them as evidence."""
    desk.write("fleet/tenants/squad2-dev.yaml", TENANT)
    (desk.folder / "fleet" / "evidence").mkdir(parents=True, exist_ok=True)
    shutil.copy(SHIPPED, desk.folder / "fleet" / "evidence" / "scores.jsonl")
    shutil.copy(WITHOUT_RECENCY, desk.folder / "old.jsonl")


def below(person: Person) -> str:
    """What is seen below the header, which is the same everywhere."""
    return person.picture.partition("\n")[2]


async def calm(person: Person) -> None:
    """Wait until nothing is asked any more: one answer asks for the next, and a new width draws anew."""
    before = ""
    while before != person.picture or "reading" in before:
        before = person.picture
        for _ in range(3):
            await person.press()


def opened(desk: Desk, act: Any, *, tenant: str = "squad2-dev", **options: Any) -> None:
    """Sit down, lay the evidence out, open the lab of a tenant, and do something there."""

    async def there(person: Person) -> None:
        lay(desk)
        person.app.workplace.reload()
        await person.say(f"tenant {tenant}")
        await person.press("2")
        assert isinstance(person.app.screen, LabScreen)
        await calm(person)
        await act(person)

    desk.live({"squad2-dev": {"retrieval_min_score": 0.3}, "acme": {"retrieval_min_score": 0.3}})
    sit_down(desk, there, **options)


# What is moved, without a screen.


@given(st.lists(st.sampled_from((SMALL, -SMALL, LARGE, -LARGE)), max_size=40))
@settings(deadline=None, max_examples=50)
def test_the_floor_stays_on_its_grid_and_in_its_range(steps: list[int]) -> None:
    """Hundredths, from 0.01 to 1; a step down and a step up again lead back."""
    moved = lab()
    for step in steps:
        moved = moved.moved(step)
        floor = moved.view.floor
        assert (floor * 100).denominator == 1
        assert Fraction(1, 100) <= floor <= 1
    if Fraction("0.1") <= moved.view.floor <= Fraction("0.9"):
        assert moved.moved(LARGE).moved(-LARGE).view.floor == moved.view.floor


def test_between_two_lines_of_the_grid_the_first_step_goes_to_the_next() -> None:
    """From a third up to 0.34, down to 0.33."""
    third = lab().typed("1/3")
    assert third.moved(SMALL).view.floor == Fraction("0.34")
    assert third.moved(-SMALL).view.floor == Fraction("0.33")


def test_a_fraction_is_taken_as_the_decimal_below_it() -> None:
    """A knob's value is a decimal, and one that still reaches the ceiling."""
    taken = lab().typed("1/3").taken()
    assert taken.literals == {"retrieval_min_score": "0.3333"}
    assert lab().typed("0.25").taken().literals == {"retrieval_min_score": "0.25"}


@pytest.mark.parametrize("text", ["0", "-1", "1.5", "30%", "x", "1e-400"])
def test_what_is_no_floor_is_refused_in_words(text: str) -> None:
    """And what is meant is guessed."""
    with pytest.raises(UsageError):
        lab().typed(text)


def test_the_draft_s_own_weights_count() -> None:
    """Another arithmetic, and the evidence does not hold for it."""
    heavier = lab(rrf_weight_vector="2")
    assert heavier.view.reached.vector_ceiling == Fraction(1, 2)
    assert heavier.view.evidence is None
    assert lab().view.evidence is not None


def test_a_command_is_told_the_draft_s_fusion() -> None:
    """Only where the draft edits it; a ranker that is off is named so."""
    assert lab(retrieval_min_score="0.2").typed_setup == ["--floor", "0.2"]
    edited = lab(rrf_weight_vector="2", recency_ranker_mode="DISABLED", rrf_k="10")
    assert edited.typed_setup == [
        "--floor", "0.3", "--k", "10", "--weights", "2,1,off", "--depths", "50,50,1",
    ]  # fmt: skip


def test_without_a_floor_or_a_ranker_there_is_no_lab() -> None:
    """The floor in force of a set is that of its knob or the default's."""
    assert floor_in_force(CATALOGUE, {}) == Fraction("0.3")
    assert floor_in_force(CATALOGUE, {"retrieval_min_score": 0.7, "no_such": 1}) == Fraction("0.7")
    assert lab_of(draft().put("rrf_k", UNSET), CATALOGUE, now=None, recording=None).view.now is None


def test_another_engine_s_scale_has_steps_of_its_own(tmp_path: Path) -> None:
    """A raw sum of ranks from 0: the best score is 1/60, and the floor moves by parts of that."""
    floor = {"default": 0.01, "role": "floor.fused", "scale": "rrf_raw"}
    constant = {"default": 60, "role": "fusion.k", "first_rank": 0}
    bounds = {"type": "number", "minimum": 0, "maximum": 1}
    schema = write_foreign_schema(
        tmp_path,
        cutoff={**bounds, "x-knob": floor},
        constant={"type": "integer", "minimum": 0, "maximum": 1000, "x-knob": constant},
    )
    foreign = load_catalogue(schema)
    made = lab_of(draft(), foreign, now=None, recording=read(SHIPPED))
    assert made.view.reached.best_score == Fraction(1, 60)
    assert (made.unit, made.moved(SMALL).view.floor) == (Fraction(1, 10_000), Fraction("0.0101"))
    assert made.moved(10**6).view.floor == Fraction("0.0166")
    assert made.typed("1/80").taken().literals == {"cutoff": "0.0125"}
    with pytest.raises(UsageError, match="above 1/60"):
        made.typed("0.3")
    assert made.view.evidence is None


# On the screen.


def test_the_line_of_the_fleet_opens_it(desk: Desk) -> None:
    """Its tenant's lab; j and k move what is seen; Esc leads back."""

    async def act(person: Person) -> None:
        await person.press("2")
        await person.press("j")
        lab_screen = person.app.screen
        assert isinstance(lab_screen, LabScreen)
        assert f"LAB  {lab_screen.tenant}  floor" in person.picture
        assert lab_screen.tenant in {path.stem for path in desk.folder.rglob("tenants/*.yaml")}
        await person.press("G", "k", "g", "ctrl+d", "ctrl+u", "escape")
        assert not isinstance(person.app.screen, LabScreen)
        await person.say("lab acmee")
        assert "there is no tenant acmee; did you mean acme?" in person.told

    sit_down(desk, act)


@pytest.mark.parametrize("size", [(80, 24), (140, 40)], ids=lambda size: f"{size[0]}x{size[1]}")
def test_it_opens_with_the_evidence_that_the_tenant_names(
    desk: Desk, size: tuple[int, int]
) -> None:
    """Curve, scores and reach under the floor of the file, the floor in force marked."""

    async def act(person: Person) -> None:
        await calm(person)
        assert_picture(f"lab-{size[0]}x{size[1]}", below(person))

    opened(desk, act, size=size)


def test_everything_moves_with_the_floor(desk: Desk) -> None:
    """The headline, the marks, the sentences, the bars."""

    async def act(person: Person) -> None:
        await person.press("]", "]", "]", "]", "]", ">", ">")
        assert "floor 0.67  now 0.3" in person.picture
        assert "281 of 400 get no context (70.2%); 138 of 200 answerable lost" in person.picture
        await person.press("<", "[")
        assert "floor 0.61  now 0.3" in person.picture
        await person.say("floor 2/3")
        assert "148 of 400 get no context (37.0%)" in person.picture
        await calm(person)
        assert_picture("lab-two-thirds-140x40", below(person))

    opened(desk, act, size=(140, 40))


def test_without_evidence_there_is_only_arithmetic(desk: Desk) -> None:
    """It says so, and how a file is opened; no curve."""

    async def act(person: Person) -> None:
        assert_picture("lab-no-evidence-80x24", below(person))
        await person.say("evidence fleet/evidence/scores.jsonl")
        assert "Questions that get no context, by floor: n 400" in person.picture

    opened(desk, act, tenant="acme")


def test_evidence_that_does_not_hold_is_not_drawn(desk: Desk) -> None:
    """Of other rankers it is named; a broken file is told with its line, and changes nothing."""

    async def act(person: Person) -> None:
        sound = SHIPPED.read_text(encoding="utf-8")
        desk.write("bad.jsonl", sound.replace('"fused":0', '"fused":9', 1))
        await person.say("evidence bad.jsonl")
        assert "bad.jsonl:2: fused: 9.6" in person.told
        await person.say("evidence no-such.jsonl")
        assert "no-such.jsonl: no such file" in person.told
        assert "n 400" in person.picture
        await person.say("evidence old.jsonl")
        assert (
            "No curve of old.jsonl: it was measured with vector and bm25 taking" in person.picture
        )
        assert "⠤" not in person.picture

    opened(desk, act)


def test_what_is_taken_is_an_edit_of_the_tenant_s_draft(desk: Desk) -> None:
    """On the tenant's screen it can be undone; nothing is written."""

    async def act(person: Person) -> None:
        await person.press(">", "enter")
        assert "retrieval_min_score 0.41 is in the draft of squad2-dev" in person.told
        await person.press("enter")
        assert "has retrieval_min_score 0.41 already" in person.told
        await person.press("escape")
        assert "0.41" in person.picture
        assert "1 edit" in person.header
        await person.press("u")
        assert "1 edit" not in person.header
        assert (desk.folder / "fleet/tenants/squad2-dev.yaml").read_text() == TENANT

    opened(desk, act)


def test_a_second_tenant_and_an_older_file_are_laid_under_the_first(desk: Desk) -> None:
    """`c` asks for it, and takes it away again; what is on another scale is not drawn."""

    async def act(person: Person) -> None:
        await person.press("c", *"squad2-dev", "enter")
        assert "dotted: squad2-dev, n 400" in person.picture
        await person.press("c")
        assert "dotted" not in person.picture
        await person.say("compare old.jsonl")
        assert "old.jsonl is not drawn" in person.picture
        await person.press("c")
        await person.say("compare acme")
        assert "acme names no recorded scores as evidence" in person.told

    opened(desk, act, size=(120, 40))


def test_where_the_tenant_cannot_be_read_it_says_why(desk: Desk) -> None:
    """Two files that claim it: the reason stands where the plots would be, and keys give it too."""

    async def act(person: Person) -> None:
        await person.press("escape")
        desk.write("fleet/tenants/again.yaml", TENANT)
        person.app.workplace.reload()
        await person.press("2")
        assert "squad2-dev stands in" in " ".join(person.picture.split())
        await person.press(">")
        assert "is being read" in person.told
        assert person.app.place is not None
        assert person.app.place.twin() == "knobctl reach --plot --tenant squad2-dev fleet"

    opened(desk, act)


def test_the_table_has_the_same_numbers(desk: Desk) -> None:
    """`t` shows it, `t` takes it away."""

    async def act(person: Person) -> None:
        await person.press("t")
        await calm(person)
        assert_picture("lab-table-80x24", below(person))
        await person.press("t")
        assert "Questions that get no context" in person.picture
        await person.say("ascii")
        assert "0%+*****************" in person.picture
        await person.say("ascii")
        assert "0%┤⣀⣀⣀⣀⣀" in person.picture

    opened(desk, act)


def test_plots_and_numbers_are_exported_once(desk: Desk) -> None:
    """Whole files, never over another one; what a session without writes refuses."""

    async def act(person: Person) -> None:
        await person.say("floor 0.65")
        await person.say("export lab.svg")
        await person.say("export lab.csv")
        svg = ET.fromstring((desk.folder / "lab.svg").read_text(encoding="utf-8"))
        texts = ["".join(one.itertext()) for one in svg.iter("{http://www.w3.org/2000/svg}text")]
        assert "squad2-dev: floor 0.65" in texts
        assert any("58 of 400 questions (14.5%) would get no context" in text for text in texts)
        rows = (desk.folder / "lab.csv").read_text(encoding="utf-8").splitlines()
        assert "refused,all,0.65,,58,400" in rows
        assert "refused,answerable,0.65,,17,200" in rows
        desk.write("there.svg", "mine")
        await person.say("export there.svg")
        assert (desk.folder / "there.svg").read_text() == "mine"
        assert "is there already; nothing was written" in person.told
        await person.say("export lab.png")
        assert "must end in .svg (the plots) or .csv (the numbers)" in person.told
        await person.say("export no-folder/lab.svg")
        assert "cannot be written" in person.told
        assert sorted(one.name for one in desk.folder.iterdir() if "lab" in one.name) == [
            "lab.csv",
            "lab.svg",
        ]

    opened(desk, act)


def test_a_read_only_session_exports_nothing(desk: Desk) -> None:
    """It writes nothing at all; what `Y` prints names floor, evidence and tenant."""

    async def act(person: Person) -> None:
        await person.say("export lab.svg")
        assert not (desk.folder / "lab.svg").exists()
        assert "started read-only" in person.told
        await person.press("]")
        assert person.app.place is not None
        assert person.app.place.twin() == (
            "knobctl reach --plot --floor 0.45 --evidence fleet/evidence/scores.jsonl"
            " --tenant squad2-dev fleet"
        )

    opened(desk, act, read_only=True)


def test_a_line_that_is_typed_is_left_with_escape(desk: Desk) -> None:
    """First the line, then the lab; letters in it are no keys."""

    async def act(person: Person) -> None:
        await person.press("e", "t", "c", "escape")
        assert isinstance(person.app.screen, LabScreen)
        assert "Questions that get no context" in person.picture
        await person.press("e", "0", ".", "5", "enter")
        assert "floor 0.5  now 0.3" in person.picture
        await person.press("escape")
        assert not isinstance(person.app.screen, LabScreen)

    opened(desk, act)
