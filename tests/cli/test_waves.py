"""`apply --wave`, and several waves: by label, in order, simulated; who moved is left out."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.engine.embedded import EmbeddedEngine
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.cli.engines import embedded, write
from tests.cli.inside import ENGINE, Inside
from tests.cli.rollouts import (
    HARMLESS,
    NOW,
    SILENT,
    died,
    judged,
    labelled,
    listed,
    outcomes,
    pushed,
    state,
    wish,
)

if TYPE_CHECKING:
    from knobctl.engine.interface import Receipt


def test_a_dry_run_shows_the_waves_and_what_they_would_come_to(probed: Inside) -> None:
    """The planned sets are asked without being written."""
    wish(probed, acme=HARMLESS, bolt=SILENT)
    before = state(probed)
    options = ("--canary", "1", "--canary", "2", "--dry-run", *ENGINE)
    result = probed("apply", *options)
    assert result.code == 0
    assert result.out.splitlines()[-6:] == [
        "simulated: the probes were asked under the planned sets, nothing was written",
        "wave 1  canary 1  would hold           below_threshold 0 -> 0 of 3, 0 of 3 answers lost, empty contexts 0 -> 0 of 3",
        "wave 2  canary 2  would be taken back  below_threshold 0 -> 3 of 3, 3 of 3 answers lost, empty contexts 0 -> 3 of 3",
        "  bolt: 3 of 3 answers lost (100% worse, bound 2%)",
        "comes to: stopped in wave 2; 2 tenants written and taken back",
        "dry run: nothing was written",
    ]
    answer = pushed(probed, *options, code=0)
    assert sorted(one["verdict"] for one in answer["rollout"]["waves"]) == ["held", "worse"]
    assert state(probed) == before


@pytest.mark.parametrize("waves", [("--canary", "1"), ("--wave", "region=a")])
def test_a_plan_file_goes_in_waves_too(probed: Inside, waves: tuple[str, ...]) -> None:
    """As any other push; the plan knows the labels."""
    labelled(probed, acme=f"a: {SILENT}", bolt=f"b: {SILENT}")
    assert probed("plan", "-o", "p.json", *ENGINE).code == 0
    answer = pushed(probed, "p.json", *waves, *NOW, code=11)
    assert sorted(outcomes(answer).values()) == ["rolled_back", "skipped"]


def test_waves_go_by_label(probed: Inside) -> None:
    """In the order given, each watched; what has none of the labels comes after them."""
    labelled(
        probed,
        acme=f"us: {HARMLESS}",
        bolt=f"eu: {HARMLESS}",
        cork=f"eu: {HARMLESS}",
        delta=f"asia: {SILENT}",
    )
    waves = ("--wave", "region=eu", "--wave", "region=us", "--wave", "region=mars")
    told = pushed(probed, *waves, *NOW, code=0)["rollout"]
    assert [(one["name"], one["tenants"], one["verdict"]) for one in told["waves"]] == [
        ("region=eu", ["bolt", "cork"], "held"),
        ("region=us", ["acme"], "held"),
    ]
    assert (told["wave"], told["nobody"], told["rest"]) == (list(waves[1::2]), ["region=mars"], 1)
    assert probed.live("delta") == {"no_match_min_cosine": 0.99}


def test_a_wave_by_label_takes_the_earlier_ones_back(probed: Inside) -> None:
    """With a canary before it, of its own tenants; the last region is never touched."""
    labelled(
        probed,
        acme=f"us: {SILENT}",
        bolt=f"eu: {HARMLESS}",
        cork=f"eu: {HARMLESS}",
        delta=f"asia: {HARMLESS}",
    )
    before = state(probed)
    waves = ("--canary", "1", "--wave", "region=eu", "--wave", "region=us")
    answer = pushed(probed, *waves, *NOW, code=11)
    assert [(one["name"], one["verdict"]) for one in answer["rollout"]["waves"]] == [
        ("canary 1 of region=eu", "held"),
        ("region=eu", "held"),
        ("region=us", "worse"),
    ]
    assert outcomes(answer)["delta"] == "skipped"
    assert [knobs for knobs, _ in state(probed).values()] == [knobs for knobs, _ in before.values()]


def test_a_label_that_nobody_has_watches_nothing(probed: Inside) -> None:
    """Refused, for a misspelt label would write all at once; nothing is written."""
    labelled(probed, acme=f"us: {HARMLESS}")
    result = probed("apply", "--wave", "regoin=us", *NOW)
    assert result.code == 6
    assert result.err == (
        "refused: no tenant that changes has regoin=us: nothing would be watched.\n"
        "  Nothing was written. Name a label of tenants that change: --wave LABEL=VALUE\n"
    )


def test_a_wave_by_label_is_watched_by_those_of_its_tenants_that_have_probes(
    probed: Inside,
) -> None:
    """Without any it is refused; with some it says how many."""
    labelled(probed, acme=f"us: {HARMLESS}")
    probed.write(
        "tenants/bolt.yaml", f"tenant: bolt\nlabels: {{region: us}}\nknobs: {{{SILENT}}}\n"
    )
    probed.write(
        "tenants/cork.yaml", f"tenant: cork\nlabels: {{region: eu}}\nknobs: {{{SILENT}}}\n"
    )
    refused = probed("apply", "--wave", "region=us", "--wave", "region=eu", *NOW)
    assert refused.code == 6
    assert "for 1 of the 1 tenant of wave 2, region=eu (cork)" in refused.err
    result = probed("apply", "--wave", "region=us", *NOW)
    assert result.code == 0
    assert (
        "wave 1  region=us: 2 tenants (acme, bolt), 1 of them asked 3 questions, once" in result.out
    )
    assert "wave 1: 2 tenants written, 1 of them watched; asking 3 questions" in result.err


def test_no_more_tenants_of_a_wave_are_asked_than_is_said(probed: Inside) -> None:
    """The same ones when it is resumed; every kind of change is among them before one comes twice."""
    labelled(
        probed,
        acme=f"a: {HARMLESS}",
        bolt="a: rrf_k: 31",
        cork="a: mmr_lambda: 0.6",
        delta=f"b: {HARMLESS}",
    )
    waves = ("--wave", "region=a", "--watch", "2")
    run = died(probed, *waves, *NOW, at=judged(1), noted=False)
    answer = pushed(probed, "--resume", run["run"], *ENGINE, code=0)
    (told,) = answer["rollout"]["waves"]
    assert (answer["rollout"]["watch"], told["watched"], told["questions"]) == (2, 2, 6)
    assert len(told["tenants"]) == 3
    result = probed("apply", "--resume", run["run"], *ENGINE)
    assert "nothing is left" in result.out


def test_a_simulation_says_when_it_would_stop_and_what_it_would_cost(probed: Inside) -> None:
    """The waves after it are asked too; where all hold, the time of all bakes."""
    labelled(
        probed,
        acme=f"a: {HARMLESS}",
        bolt=f"b: {SILENT}",
        cork=f"c: {SILENT}",
        delta=f"d: {HARMLESS}",
    )
    waves = [part for region in "abcd" for part in ("--wave", f"region={region}")]
    result = probed("apply", *waves, "--dry-run", *ENGINE)
    said = [line.partition("  below")[0].rstrip() for line in result.out.splitlines()[-8:-1]]
    assert said == [
        "wave 1  region=a  would hold",
        "wave 2  region=b  would be taken back",
        "  bolt: 3 of 3 answers lost (100% worse, bound 2%)",
        "wave 3  region=c  not reached, worse",
        "  cork: 3 of 3 answers lost (100% worse, bound 2%)",
        "wave 4  region=d  not reached",
        "comes to: stopped in wave 2; 2 tenants written and taken back, 2 tenants never written",
    ]
    result = probed("apply", "--wave", "region=a", "--dry-run", "--bake", "2h", *ENGINE)
    assert (
        "comes to: 1 tenant in 1 wave, watched for 2h in all; then 3 tenants, not watched"
        in result.out
    )


def moving(monkeypatch: pytest.MonkeyPatch, probed: Inside, *tenants: str) -> None:
    """Let somebody else write some tenants just before this run does."""
    real, moved = EmbeddedEngine.replace, set[str]()

    def replace(self: EmbeddedEngine, tenant: str, *sent: Any, **options: Any) -> Receipt:
        if tenant in tenants and tenant not in moved:
            moved.add(tenant)
            with embedded(probed.folder / "e.db") as other:
                write(other, tenant, {"rrf_k": 77})
        return real(self, tenant, *sent, **options)

    monkeypatch.setattr(EmbeddedEngine, "replace", replace)


def test_who_moved_is_left_out_of_a_wave_where_that_is_asked_for(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A wave of which all had moved is passed over, and takes no other one back."""
    labelled(
        probed,
        acme=f"a: {HARMLESS}",
        bolt=f"a: {HARMLESS}",
        cork=f"b: {HARMLESS}",
        delta=f"c: {HARMLESS}",
    )
    moving(monkeypatch, probed, "bolt", "cork")
    waves = ("--wave", "region=a", "--wave", "region=b")
    answer = pushed(probed, *waves, "--on-conflict", "skip", *NOW, code=9)
    assert [one["verdict"] for one in answer["rollout"]["waves"]] == ["held", "passed_over"]
    assert outcomes(answer) == {
        "acme": "applied",
        "bolt": "conflict",
        "cork": "conflict",
        "delta": "applied",
    }
    assert listed(probed)["state"] == "finished"


def test_the_rest_is_not_written_where_no_wave_was(
    probed: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every tenant of the waves had moved: nothing was watched, so nothing goes on."""
    labelled(probed, acme=f"a: {HARMLESS}", delta=f"c: {HARMLESS}")
    moving(monkeypatch, probed, "acme")
    answer = pushed(probed, "--wave", "region=a", "--on-conflict", "skip", *NOW, code=7)
    assert outcomes(answer) == {"acme": "conflict", "delta": "skipped"}
    assert probed.live("delta") == {}


@pytest.mark.slow
def test_two_hundred_tenants_stop_in_the_second_wave_and_are_back_as_they_were(
    inside: Inside,
) -> None:
    """A floor that refuses three questions of ten: every touched tenant holds what it held, the others were not touched."""
    subjects = (
        *("approval gates", "monday soup", "billing cycles", "search ranking", "audit events"),
        *("token rotation", "disk quotas", "holiday freezes", "rate limits", "backup windows"),
    )
    names = [f"t{number:03}" for number in range(200)]
    services = open_services("embedded:e.db", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    texts = [Text(document_id=one, text=f"All about {one}.") for one in subjects]
    for name in names:
        services.ingest.upsert(local_caller("test"), name, texts)
    services.close()
    asked = [
        f"What about {one}{', and what else' * number}?" for number, one in enumerate(subjects)
    ]
    inside.write("knobctl.toml", "")
    inside.write("q.jsonl", "".join(f"{json.dumps({'question': one})}\n" for one in asked))
    inside.write("fleet.yaml", "fleet: default\nprobes: [{questions: q.jsonl}]\n")
    with embedded(inside.folder / "e.db") as engine:
        for name in names:
            write(engine, name, {"rrf_k": 50, "no_match_min_cosine": 0.01})
        found = engine.evaluate("t000", {"config": {}, "queries": asked})["evaluations"]
    best = sorted(one["bestCosine"] for one in found)
    refusing_three = f"{(best[2] + best[3]) / 2:.6f}"

    def wishes(bad: set[str]) -> None:
        for name in names:
            floor = refusing_three if name in bad else "0.02"
            knobs = f"rrf_k: 50, no_match_min_cosine: {floor}"
            inside.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{{knobs}}}\n")

    waves = ("--canary", "5%", "--canary", "20%")
    wishes(set())
    dry = pushed(inside, *waves, "--dry-run", *ENGINE, code=0)["rollout"]["waves"]
    assert [len(one["tenants"]) for one in dry] == [10, 30]
    second = dry[1]["tenants"]
    wishes(set(second))
    before = inside("get", "--format", "json", *ENGINE).json["tenants"]
    answer = pushed(inside, *waves, *NOW, code=11)
    told = answer["rollout"]["waves"]
    assert [(one["tenants"], one["verdict"]) for one in told] == [
        (dry[0]["tenants"], "held"),
        (second, "worse"),
    ]
    assert told[1]["metrics"][1] == {
        "metric": "answers_lost",
        "questions": 300,
        "before": 0,
        "after": 90,
    }
    assert answer["outcomes"] == {"rolled_back": 40, "skipped": 160}
    touched = {*dry[0]["tenants"], *second}
    after = inside("get", "--format", "json", *ENGINE).json["tenants"]
    for old, new in zip(before, after, strict=True):
        assert json.dumps(new["knobs"]) == json.dumps(old["knobs"])
        assert (new["revision"] != old["revision"]) == (new["tenant"] in touched)
    events = inside("history", "--format", "json", *ENGINE).json["events"]
    assert len(events) == 200 + 2 * len(touched)
    assert inside("history", "--verify", *ENGINE).code == 0
