"""Ask: what a model would get under the live set and under the draft, side by side, and nothing written."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.diagnosis.evaluated import read_evaluations
from knobctl.diagnosis.side_by_side import Side, SideBySide
from knobctl.diagnosis.tenant_knobs import TenantKnobs
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from knobctl.tui.answered import Answered
from knobctl.tui.draft import Begun, Draft
from knobctl.tui.screens.ask import VIEWS, AskScreen
from knobctl.tui.screens.tenant import TenantScreen
from knobctl.tui.ui import Field
from knobctl.tui.widgets.virtual_table import VirtualTable
from tests.cli.inside import Inside
from tests.cli.serving import serving
from tests.given_engine import GivenEngine
from tests.tui.desks import settled
from tests.tui.hostile import HOSTILE, unseen
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import assert_picture

if TYPE_CHECKING:
    from tests.tui.desks import Desk

EXAMPLES = Path(__file__).parents[2] / "examples"
QUESTION = "how do I pause a workflow"


@pytest.fixture(scope="module")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that holds the examples' corpus for acme, and hostile texts for bolt."""
    folder = tmp_path_factory.mktemp("corpora")
    services = open_services(
        f"embedded:{folder / 'engine.db'}", load_catalogue(), clock=lambda: datetime.now(UTC)
    )
    assert services.ingest is not None
    caller = local_caller("test")
    examples = map(json.loads, (EXAMPLES / "corpus.jsonl").read_text().splitlines())
    texts = [
        Text(
            document_id=one["documentId"],
            source_id=one["sourceId"],
            text=one["text"],
            created_at=one["createdAt"],
        )
        for one in examples
    ]
    services.ingest.upsert(caller, "acme", texts)
    services.ingest.upsert(caller, "bolt", [Text(document_id="long", text="workflow " * 1_500)])
    services.close()
    return folder


@pytest.fixture
def loaded(desk: Desk, stores: Path) -> Desk:
    """A desk with that engine; acme's live set asks for the floor 0.3."""
    shutil.copytree(stores, desk.folder, dirs_exist_ok=True)
    desk.live({"acme": {"retrieval_min_score": 0.3}})
    return desk


def keep_draft(person: Person, tenant: str = "acme", **edits: str) -> None:
    """Leave a draft of the tenant's live set with edits."""
    draft = Draft(
        engine=person.app.workplace.engine_key,
        tenant=tenant,
        begun=Begun(repo={"retrieval_min_score": 0.3}, live={"retrieval_min_score": 0.3}),
    )
    for knob, literal in edits.items():
        draft = draft.put(knob, literal)
    person.app.workplace.keep_draft(draft)


async def ask(person: Person, question: str = QUESTION, tenant: str = "acme") -> AskScreen:
    """Ask in the place."""
    await person.say(f"tenant {tenant}")
    await person.press("4")
    screen = person.app.screen
    assert isinstance(screen, AskScreen)
    screen.query_one("#question", Field).value = question
    await person.press("enter")
    return screen


@pytest.mark.parametrize("size", [(80, 24), (140, 40)])
def test_both_answers_stand_beside_each_other(loaded: Desk, size: tuple[int, int]) -> None:
    """What is lost, by which floor, with ranks, cosines and scores; tokens before and after."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.6", vector_min_cosine="0.2")
        await ask(person)
        assert "live r1 | draft (2 edits)" in person.header
        assert "2 gained, 7 lost, 0 moved; in the prompt 12 -> 7 chunks, 196 -> 156 tokens" in (
            person.picture
        )
        assert "the floor 0.6 removed 17 and kept 7" in person.picture
        await person.press(*"jjjjjjj")
        assert "- lost" in person.picture
        person.app.clear_notifications()
        await settled(person.pilot)
        assert_picture(f"ask-{size[0]}x{size[1]}", person.picture)

    sit_down(loaded, act, size=size)


def test_every_view_is_one_key_away_where_there_is_no_room_for_all(loaded: Desk) -> None:
    """The chunk, what each step did, the scores as bands."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.6", vector_min_cosine="0.2")
        await ask(person)
        await person.press("v")
        assert f"view: {VIEWS[1]}" in person.header
        assert "none -> 34 of vector under vector_min_cosine 0.2" in person.picture
        await person.press("v")
        assert "1/3 by one, 2" in person.picture
        await person.press("v")
        assert f"view: {VIEWS[0]}" in person.header

    sit_down(loaded, act)


def test_nothing_is_written_and_what_was_asked_stands_in_the_log(loaded: Desk) -> None:
    """Two evaluations, no write, no event."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.6", recency_ranker_mode="DISABLED")
        await ask(person)
        calls = [e.text for e in person.app.workplace.log.entries() if e.kind == "engine"]
        assert calls.count("evaluate acme") == 2
        assert not any(call.startswith("replace") for call in calls)
        await person.press("Y")
        twin = f"knobctl diagnose --tenant acme --ask '{QUESTION}' --with retrieval_min_score=0.6"
        assert f"{twin} --with recency_ranker_mode=DISABLED" in person.told.replace(
            "--with recency_ranker_mode=DISABLED --with retrieval_min_score=0.6",
            "--with retrieval_min_score=0.6 --with recency_ranker_mode=DISABLED",
        )

    sit_down(loaded, act)
    assert loaded.revision("acme") == "r1"


def test_sets_that_are_alike_are_asked_once(loaded: Desk) -> None:
    """And said to be."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.3")
        await ask(person)
        calls = [e.text for e in person.app.workplace.log.entries() if e.kind == "engine"]
        assert calls.count("evaluate acme") == 1
        assert "asks for the live set: one answer" in person.picture

    sit_down(loaded, act)


def test_without_edits_the_files_are_the_other_side(loaded: Desk) -> None:
    """They are what a push would bring."""

    async def act(person: Person) -> None:
        await ask(person)
        assert "live r1 | files" in person.header
        assert "the floor 0.45 removed 17" in person.picture

    sit_down(loaded, act)


def test_a_value_that_is_none_is_left_out_and_said(loaded: Desk) -> None:
    """The rest of the draft is asked."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.6", rrf_k="many")
        await ask(person)
        assert "! rrf_k in the draft is no value: asked without it" in person.picture
        assert "the floor 0.6" in person.picture

    sit_down(loaded, act)


def test_asking_again_takes_the_draft_as_it_is_by_then(loaded: Desk) -> None:
    """R after an edit; `:question` asks another one; Esc goes back to the tenant."""

    async def act(person: Person) -> None:
        keep_draft(person, retrieval_min_score="0.6")
        await ask(person)
        keep_draft(person, retrieval_min_score="0.99")
        await person.press("R")
        assert "the floor 0.99" in person.picture
        await person.say("question soup")
        assert "canteen" in person.picture
        await person.press("slash", "escape", "escape")
        assert isinstance(person.app.screen, TenantScreen)

    sit_down(loaded, act)


def test_a_tenant_without_a_corpus_gets_nothing_whatever_is_asked(loaded: Desk) -> None:
    """No floor is at fault; a question may be as long as it likes."""

    async def act(person: Person) -> None:
        await ask(person, "soup", "delta")
        assert "the files change nothing that a model gets: 0 chunks" in person.picture
        assert "live never written | files" in person.header
        await person.say("question " + "x" * 100_000)
        assert "no_results" in person.picture

    sit_down(loaded, act, size=(100, 30))


def test_an_engine_without_evaluate_is_told_of_with_what_to_use(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command that asks it as it is."""

    async def act(person: Person) -> None:
        await ask(person)
        assert "does not offer Evaluate" in person.picture.replace("\n", " ")
        assert "knobctl diagnose --tenant acme" in person.picture
        await person.press("v", "j", "R", "Y")
        assert person.app.is_running

    monkeypatch.setenv("KNOBCTL_TOKEN", "acme-token")
    with GivenEngine() as given:
        sit_down(desk, act, engine=given.url)


def test_without_what_retrieval_needs_it_is_said_what_to_install(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the base install."""

    async def act(person: Person) -> None:
        await ask(person)
        assert "retrieval needs no_such_module: pip install 'knobctl[engine]'" in person.picture
        assert "diagnose" not in person.picture

    monkeypatch.setattr("knobctl.server.opening._ENGINE", ("no_such_module",))
    sit_down(desk, act, size=(140, 40))


def test_an_engine_elsewhere_is_asked_in_the_same_way(
    loaded: Desk, capsys: pytest.CaptureFixture[str]
) -> None:
    """Over HTTP; what it refuses stands where the answer would."""
    inside = Inside(loaded.folder, capsys)
    store = ("--store", "embedded:engine.db")
    with serving(loaded.folder, *store) as (_, address):
        for subject, clearance in (("ci", "L4"), ("guest", "L2")):
            who = ("--subject", subject, "--clearance", clearance, "--tenant", "acme")
            loaded.write(subject, inside("engine", "token", *who, *store).out)

        async def act(person: Person) -> None:
            keep_draft(person, retrieval_min_score="0.6")
            await ask(person)
            assert "lost" in person.picture
            assert "the floor 0.6" in person.picture

        async def refused(person: Person) -> None:
            await ask(person)
            assert "permission_denied" in person.picture
            assert "lost" not in person.picture

        sit_down(loaded, act, engine=address, token_file=loaded.folder / "ci")
        shutil.rmtree(loaded.folder / "fleet")
        sit_down(loaded, refused, engine=address, token_file=loaded.folder / "guest")


def test_long_and_hostile_texts_are_shown_escaped_and_cut(loaded: Desk) -> None:
    """Questions, ids of chunks and their texts, errors of rankers."""

    async def act(person: Person) -> None:
        await person.say("tenant acme")
        await person.press("4")
        screen = person.app.screen
        assert isinstance(screen, AskScreen)
        screen.show(hostile_answer())
        table = screen.query_one(VirtualTable)
        for place in range(0, len(table.view), 3):
            table.move(place)
            await person.pilot.pause()
            assert unseen(person.picture.replace("\n", "")) == []
        await person.press("v")
        assert unseen(person.picture.replace("\n", "")) == []
        for text in HOSTILE.values():
            screen.query_one("#question", Field).value = text
            await person.pilot.pause()
            assert unseen(person.picture.replace("\n", "")) == []
        await person.press("enter")
        assert person.app.is_running

    sit_down(loaded, act, size=(100, 30))


def hostile_answer() -> Answered:
    """What an engine might answer that wants to be somebody else."""
    knobs = TenantKnobs.defaults(load_catalogue())
    chunks = [
        {
            "chunkId": text,
            "documentId": f"{kind} {text}",
            "text": text,
            "score": 0.5,
            "ranks": {text[:99]: 1},
        }
        for kind, text in HOSTILE.items()
    ]
    quality = {
        "retrievalOutcome": HOSTILE["title"],
        "effectiveMinScore": 0.3,
        "rankers": {HOSTILE["bidi"]: {"rows": 3, "error": HOSTILE["clear"]}},
        "corpusVersion": HOSTILE["leave"],
    }
    one = {
        "query": HOSTILE["click"],
        "candidates": chunks,
        "chunks": chunks[:9],
        "quality": quality,
    }
    two = one | {"chunks": chunks[5:12][::-1], "quality": quality | {"corpusVersion": "c2"}}
    found = read_evaluations({"evaluations": [one, two]}, HOSTILE["return"])
    return Answered(
        question=HOSTILE["lines"],
        found=SideBySide(*(Side.of(each, knobs) for each in found)),
        revision=HOSTILE["title-bell"],
        other="draft",
        edits=1,
        alike=False,
        remarks=(HOSTILE["zero-width"],),
    )
