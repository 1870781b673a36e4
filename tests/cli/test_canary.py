"""`apply --canary`: a first wave is watched by the fleet's questions, and taken back where they are answered worse."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from tests.cli.engines import embedded, write
from tests.cli.inside import ENGINE, Inside
from tests.cli.rollouts import (
    HARMLESS,
    NOW,
    SILENT,
    TENANTS,
    TEXTS,
    YES,
    asked_first,
    listed,
    outcomes,
    pushed,
    refusing,
    state,
    wish,
)
from tests.cli.terminal import on_terminal
from tests.given_engine import GivenEngine

if TYPE_CHECKING:
    pass


def test_a_set_that_silences_the_probes_is_taken_back(probed: Inside) -> None:
    """The exact earlier sets, by one more event a tenant with the reason; the rest is never written."""
    wish(probed, acme=SILENT, bolt=SILENT, cork=SILENT, delta=SILENT)
    before = state(probed)
    answer = pushed(probed, "--canary", "50%", *NOW, code=11)
    wave = answer["rollout"]["waves"][0]["tenants"]
    assert len(wave) == 2
    assert outcomes(answer) == {one: "rolled_back" if one in wave else "skipped" for one in TENANTS}
    assert answer["outcome"] == "rolled back"
    for tenant, (knobs, events) in state(probed).items():
        assert knobs == before[tenant][0]
        assert events == before[tenant][1] + (2 if tenant in wave else 0)
    last = probed.events(wave[0])[-1]
    assert last["reason"].startswith(f"taken back by the canary of run {answer['run']}: ")
    assert last["after"] == before[wave[0]][0]
    told = answer["rollout"]["waves"][0]
    assert (told["verdict"], told["rounds"], told["questions"]) == ("worse", 1, 6)
    assert told["metrics"] == [
        {"metric": "below_threshold", "questions": 6, "before": 0, "after": 6},
        {"metric": "answers_lost", "questions": 6, "before": 0, "after": 6},
        {"metric": "empty_contexts", "questions": 6, "before": 0, "after": 6},
    ]
    run = listed(probed)
    assert (run["state"], run["outcomes"]) == ("finished", {"rolled_back": 2, "skipped": 2})
    again = probed("apply", "--resume", answer["run"], *ENGINE)
    assert (again.code, "nothing is left" in again.out) == (11, True)


def test_text_says_what_is_watched_and_what_was_found(probed: Inside) -> None:
    """Before the writes the waves and the bounds; after them the metrics and why it goes back."""
    wish(probed, acme=SILENT)
    result = probed("apply", "--canary", "5", *NOW)
    assert result.code == 11
    lines = result.out.splitlines()
    assert lines[-8:-1] == [
        "wave 1  canary 5: 1 tenant (acme), asked 3 questions, once",
        "then    nothing: no tenant is left",
        "back    all of it, where a tenant loses more than 2% of its answers, or where below_threshold",
        "        or empty contexts grow by more than 2% of its questions",
        "wave 1  worse: below_threshold 0 -> 3 of 3, 3 of 3 answers lost, empty contexts 0 -> 3 of 3 (asked 1 time)",
        "taken back: acme: 3 of 3 answers lost (100% worse, bound 2%)",
        "rolled_back  acme  r3  mmr_lambda, no_match_min_cosine, rrf_k",
    ]
    assert "1 rolled_back (run " in lines[-1]
    assert "undo:" not in result.out
    assert "wave 1: 1 tenant written; asking 3 questions, once" in result.err


def test_on_a_terminal_what_is_said_does_not_mingle_with_the_bar(probed: Inside) -> None:
    """Each word of it begins a line."""
    wish(probed, acme=SILENT, bolt=SILENT, cork=SILENT)
    with on_terminal(probed.folder, "apply", "--canary", "1", *NOW) as terminal:
        assert terminal.end() == 11
    said = terminal.shown.replace("\r\n", "\n")
    assert said.count("note: ") == said.count("\nnote: ") == 2


def test_a_harmless_change_goes_on_to_the_rest(probed: Inside) -> None:
    """One event a tenant, exit 0."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS, cork=HARMLESS, delta=HARMLESS)
    answer = pushed(probed, "--canary", "1", *NOW, code=0)
    assert set(outcomes(answer).values()) == {"applied"}
    told = answer["rollout"]
    assert (told["waves"][0]["verdict"], told["rest"], told["taken_back"]) == ("held", 3, None)
    assert len(probed.events("delta")) == 1


def test_a_later_wave_takes_back_the_earlier_ones(probed: Inside) -> None:
    """All that the run has written, of whatever wave."""
    assert probed("unset", "acme", "mmr_lambda", *YES).code == 0
    wish(probed, acme=HARMLESS, bolt=HARMLESS, delta=SILENT)
    before = state(probed)
    answer = pushed(probed, "--canary", "1", "--canary", "100%", *NOW, code=11)
    waves = answer["rollout"]["waves"]
    assert [one["verdict"] for one in waves] == ["held", "worse"]
    assert waves[1]["breaches"][0]["tenant"] == "delta"
    assert set(outcomes(answer).values()) == {"rolled_back"}
    assert {name: knobs for name, (knobs, _) in state(probed).items()} == {
        name: knobs for name, (knobs, _) in before.items()
    }


def test_more_may_be_lost_where_it_is_said(probed: Inside) -> None:
    """The bound is the person's."""
    wish(probed, acme=SILENT)
    answer = pushed(probed, "--canary", "1", "--max-worse", "100%", *NOW, code=0)
    assert answer["rollout"]["waves"][0]["verdict"] == "held"


def test_a_wave_that_is_half_written_is_taken_back(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It shows nothing; 11 goes before 8."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS, cork=HARMLESS)
    before = state(probed)
    refusing(monkeypatch, "bolt")
    answer = pushed(probed, "--canary", "100%", *NOW, code=11)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "failed", "cork": "rolled_back"}
    assert answer["rollout"]["waves"][0]["verdict"] == "not_written"
    assert probed.live("acme") == before["acme"][0]
    assert probed.live("cork") == {}


def test_a_wave_of_which_nothing_is_written_has_nothing_to_take_back(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It fails as any push does, and is resumed in waves."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    with monkeypatch.context() as during:
        refusing(during, "acme", "bolt")
        result = probed("apply", "--canary", "1", *NOW)
    assert result.code == 8
    assert "wave 1  not written" in result.out
    assert "taken back" not in result.out + result.err
    assert "nothing was written; to go on, run the same command again." in result.err
    answer = pushed(probed, "--resume", listed(probed)["run"], *ENGINE, code=0)
    assert answer["rollout"]["waves"][0]["verdict"] == "held"
    assert set(outcomes(answer).values()) == {"applied"}


def test_what_was_changed_since_is_left_alone(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody's later write is a conflict of the taking back; then not all is back: 9."""
    wish(probed, acme=SILENT, bolt=SILENT)

    def theirs(tenant: str) -> None:
        if tenant == "bolt":
            with embedded(probed.folder / "e.db") as other:
                write(other, tenant, {"rrf_k": 77, "no_match_min_cosine": 0.99})

    asked_first(monkeypatch, theirs)
    answer = pushed(probed, "--canary", "2", *NOW, code=9)
    assert outcomes(answer) == {"acme": "rolled_back", "bolt": "conflict"}
    assert probed.live("bolt") == {"rrf_k": 77, "no_match_min_cosine": 0.99}
    assert probed.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}
    assert listed(probed)["state"] == "finished"


def test_what_cannot_be_taken_back_is_said_and_can_be_resumed(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is applied still: 9; resumed, it goes back, and not forth."""
    wish(probed, acme=SILENT, bolt=SILENT)
    with monkeypatch.context() as during:
        refusing(during, "bolt", reasons="taken back")
        result = probed("apply", "--canary", "2", *NOW)
    assert result.code == 9
    assert "written, and not taken back: no" in result.out
    run = listed(probed)
    assert (run["state"], run["left"]) == ("unfinished", 1)
    assert f"to take back the rest: knobctl apply --resume {run['run']}" in result.err
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=11)
    assert set(outcomes(answer).values()) == {"rolled_back"}
    assert probed.live("bolt") == {"rrf_k": 50}
    assert listed(probed)["state"] == "finished"


def test_probes_that_cannot_be_asked_take_it_back(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not watched does not stay."""
    wish(probed, acme=HARMLESS)

    def gone(_: str) -> None:
        raise EngineError("the connection was refused")

    asked_first(monkeypatch, gone)
    answer = pushed(probed, "--canary", "1", *NOW, code=11)
    assert answer["rollout"]["taken_back"].startswith("the probes could not be asked: ")
    assert probed.live("acme") == {"rrf_k": 50, "mmr_lambda": 0.5}


def test_documents_that_go_meanwhile_are_not_held_against_the_set(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both sets are asked on what there is."""
    wish(probed, acme=HARMLESS)

    def emptied(tenant: str) -> None:
        services = open_services("embedded:e.db", load_catalogue(), clock=lambda: datetime.now(UTC))
        assert services.ingest is not None
        services.ingest.delete_documents(local_caller("test"), tenant, list(TEXTS))
        services.close()

    asked_first(monkeypatch, emptied)
    answer = pushed(probed, "--canary", "1", *NOW, code=0)
    metrics = answer["rollout"]["waves"][0]["metrics"]
    assert metrics[2] == {"metric": "empty_contexts", "questions": 3, "before": 3, "after": 3}


def test_a_canary_that_watches_nothing_is_refused(probed: Inside) -> None:
    """No probes at all; none for some of a wave; none that is answered. Nothing is written."""
    wish(probed, acme=HARMLESS, bolt=HARMLESS)
    probed.write("tenants/bolt.yaml", f"tenant: bolt\nknobs: {{{HARMLESS}}}\n")
    before = state(probed)
    some = probed("apply", "--canary", "2", *NOW)
    assert some.code == 6
    assert some.err == (
        "refused: no probe questions for 1 of the 2 tenants of wave 1, canary 2 (bolt); a wave that watches nothing"
        " is none.\n"
        "  Nothing was written. Add questions for them to the fleet's probes, or take no more tenants than have"
        " some: --canary 1\n"
    )
    probed.write("probes/q.jsonl", '{"question": "x", "relevant": ["nowhere"]}\n')
    none = probed("apply", "--canary", "1", *NOW)
    assert (none.code, "no question of wave 1 is answered now" in none.err) == (6, True)
    probed.write("fleet.yaml", "fleet: default\n")
    assert probed("apply", "--canary", "1", *NOW).code == 6
    assert state(probed) == before
    assert probed("apply", "--canary", "1", *NOW, "--dry-run").code == 6


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no question"),
        ('{"question": ""}\n', "probes/q.jsonl:1 must be an object with a question"),
        ("{\n", "probes/q.jsonl:1 is no JSON"),
        ('\n{"question": "x", "relevant": "y"}\n', "probes/q.jsonl:2: relevant must be a list"),
        ('{"question": "x", "answerable": false}\n', "holds no question"),
    ],
)
def test_questions_that_cannot_be_read_stop_it(probed: Inside, text: str, words: str) -> None:
    """Unreadable input: 4, with its place."""
    wish(probed, acme=HARMLESS)
    probed.write("probes/q.jsonl", text)
    result = probed("apply", "--canary", "1", *NOW)
    assert (result.code, words in result.err) == (4, True), result.err


def test_an_engine_that_answers_no_questions_is_refused(inside: Inside) -> None:
    """The given two methods alone: nothing can be watched, nothing is written."""
    inside.write("knobctl.toml", "")
    inside.write("probes/q.jsonl", '{"question": "x"}\n')
    inside.write("fleet.yaml", "fleet: default\nprobes: [{questions: probes/q.jsonl}]\n")
    wish(inside, acme=HARMLESS)
    with GivenEngine() as engine:
        inside.write("token", "acme-token")
        result = inside(
            "apply", "--canary", "1", "--yes", "--engine", engine.url, "--token-file", "token"
        )
    assert result.code == 6, result.err
    assert "a canary asks questions before and after" in result.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--canary", "0"), "'0' is no size of a wave"),
        (("--canary", "0%"), "'0%' is no size of a wave"),
        (("--canary", "many"), "'many' is no size of a wave"),
        (("--canary", "1", "--bake", "ten"), "'ten' is no duration"),
        (("--canary", "1", "--max-worse", "2"), "'2' is no share"),
        (("--bake", "10m"), "--bake says nothing without --canary or --wave"),
        (("--watch", "1"), "--watch says nothing without --canary or --wave"),
        (("--canary", "1", "--watch", "0"), "0 is not in the range"),
        (("--max-worse", "1%"), "--max-worse says nothing without --canary or --wave"),
        (("--canary", "1", "--resume", "abc"), "a run is resumed as it was begun"),
        (("--wave", "region"), "'region'"),
        (("--wave", "ring=1", "--resume", "abc"), "a run is resumed as it was begun"),
    ],
)
def test_options_that_say_nothing_are_refused(
    inside: Inside, options: tuple[str, ...], words: str
) -> None:
    """Bad arguments: 2."""
    result = inside("apply", *options, *YES[:2], *ENGINE)
    assert (result.code, words in result.err) == (2, True), result.err
