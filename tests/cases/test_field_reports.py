"""Reports of people whom a threshold misled (tests/data/field_reports.json): what would have saved each is said, in these words.

The reports are of other projects. Each test is the smallest command of that person on that case; where
a knob has no twin here, the docstring says what stands in.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from shutil import copy
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.knobs import load_catalogue
from knobctl.text import spelled
from tests.cli.inside import ENGINE, Inside
from tests.diagnosis.answers import FIELD_REPORT, assembled, hit, rankers, search
from tests.given_engine import Fault, GivenEngine

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.running import Result

DATA = Path(__file__).parents[1] / "data" / "field_reports.json"
EXAMPLES = Path(__file__).parents[2] / "examples"
REPORTS: dict[str, dict[str, Any]] = {
    report["id"]: report for report in json.loads(DATA.read_text(encoding="utf-8"))["reports"]
}
ELSEWHERE = {
    "FR-018": "tests/engine/test_retrieval_calls.py: the engine in the process and the one behind a port answer alike",
    "FR-026": "tests/server/retrieval/test_floor.py: what is kept and what is removed are the candidates",
    "FR-102": "tests/server/retrieval/test_field_reports.py: the age of a cached set is looked at when it is read",
}
"""What no command answers: a test of the engine, or the issue that will."""
HERE: dict[str, Callable[[Inside], None]] = {}


def report(function: Callable[[Inside], None]) -> Callable[[Inside], None]:
    """Register a test under its report's id: `fr_011` is `FR-011`."""
    HERE[function.__name__.upper().replace("_", "-")] = function
    return function


def said(result: Result) -> str:
    """All that a run says, without its line breaks."""
    return " ".join((result.out + result.err).split())


def yaml_of(name: str) -> str:
    """A report's knobs, as acme's document."""
    lines = str(REPORTS[name]["case"]["yaml"]).splitlines()
    return "\n".join(["tenant: acme", "knobs:", *(f"  {line}" for line in lines), ""])


def judged(inside: Inside, command: str, text: str, *options: str) -> tuple[Result, str]:
    """Run a command on one document; the answer as JSON, and what it says to people."""
    path = inside.write("tenants/acme.yaml", text)
    told = said(inside(command, path, "-v", *options))
    return inside(command, path, "--format", "json", *options), told


def acme(**knobs: object) -> str:
    """Acme's document."""
    return json.dumps({"tenant": "acme", "knobs": knobs})


def diagnosed(inside: Inside, answer: object, *options: str) -> tuple[set[str], str]:
    """Diagnose an answer: the ids of the remarks, and what is said to people."""
    path = inside.write("answer.json", json.dumps(answer))
    told = said(inside("diagnose", path, *options))
    (one,) = inside("diagnose", path, "--format", "json", *options).json["diagnoses"]
    return {remark["id"] for remark in one["remarks"]}, told


def cut(floor: float, best: float | None, removed: int, **rows: Any) -> dict[str, Any]:
    """What Search answers where its floor removed everything; older engines do not tell the best score."""
    answer = {
        "effectiveMinScore": floor,
        "resultsBelowThreshold": removed,
        "outcome": "below_threshold",
        "rankers": rankers(*rows.values()),
    }
    return answer if best is None else {**answer, "bestRemovedScore": best}


def test_every_report_is_here_or_says_where() -> None:
    """No report is forgotten, and none is claimed twice."""
    assert len(REPORTS) == 62
    assert HERE.keys() | ELSEWHERE.keys() == REPORTS.keys()
    assert not HERE.keys() & ELSEWHERE.keys()
    named = [where.partition(":")[0] for where in ELSEWHERE.values() if where.startswith("tests/")]
    assert all((DATA.parents[2] / path).is_file() for path in named)


@pytest.mark.parametrize("name", [name for name in REPORTS if name not in ELSEWHERE])
def test_report(name: str, inside: Inside) -> None:
    """The words that would have helped are said."""
    HERE[name](inside)


def other_engine(inside: Inside, **knobs: dict[str, Any]) -> list[str]:
    """The option that names the schema of another engine, with these knobs."""
    properties = {
        name: {"type": "number", "minimum": 0, "maximum": 2, **knob} for name, knob in knobs.items()
    }
    name = f"engine-{len(list(inside.folder.glob('engine-*')))}.json"
    inside.write(name, json.dumps({"properties": properties}))
    return ["--schema", str(inside.folder / name)]


def refused(inside: Inside, **knobs: dict[str, Any]) -> str:
    """What is said of the schema of an engine that is refused."""
    schema = other_engine(inside, **knobs)
    inside.write("any.yaml", "tenant: any\nknobs: {}\n")
    done = inside("validate", "any.yaml", *schema)
    assert done.code == 4
    return said(done)


QDRANT = ["--schema", str(EXAMPLES / "qdrant-hybrid" / "schema" / "qdrant-rrf.schema.json")]
"""Raw sums of an engine whose ranks count from 0."""


@report
def fr_003(inside: Inside) -> None:
    """A gate of 0.92 on cosines went on comparing when the field became a fused number: every reader of it is named."""
    ids, told = diagnosed(inside, cut(0.92, 0.032787, 1, vector=50, bm25=50))
    assert "scale-mismatch" in ids
    assert "not the normalised fused scale" in told
    readers = told.partition("compared with this score is then wrong: ")[2]
    for reader in ("retrieval_min_score", "gate_min_confident", "gate_expanded_floor", "minScore"):
        assert reader in readers


@report
def fr_005(inside: Inside) -> None:
    """0.016 looked bad beside 0.89: first in both lists scores 1, and the arithmetic is shown."""
    weighted(inside)
    told = said(inside("explain", "retrieval_min_score", "0.3", "--tenant", "acme"))
    assert "first in vector alone: 0.7/(60 + 1) divided by " in told
    assert "= 7/10 (0.7), which passes" in told
    assert "first in both: the same sum above and below = 1" in told


def weighted(inside: Inside) -> None:
    """Acme fuses two rankers with the weights of two reports."""
    knobs = {"rrf_weight_vector": 0.7, "rrf_weight_bm25": 0.3, "recency_ranker_mode": "DISABLED"}
    inside.write("acme.yaml", acme(**knobs))


@report
def fr_006(inside: Inside) -> None:
    """A rank constant of 2 with ranks from 0 lets one list win: k says nothing without the first rank."""
    assert "60 is 61 of an engine that counts from 0" in said(inside("explain", "rrf_k"))
    told = said(inside("explain", "k", *QDRANT))
    assert "ranks count from 0 here: 2 is 1 of an engine that counts from 1" in told


@report
def fr_008(inside: Inside) -> None:
    """Unrelated sentences score above 0.91: both numbers side by side, and the formula."""
    for cosine, other in zip(*both_readings("FR-008"), strict=True):
        told = said(inside("explain", "vector_min_cosine", f"{cosine or 0.0001}"))
        assert f"(1 + cosine)/2 = {other:.4f}" in told or not cosine


def both_readings(name: str) -> tuple[list[float], list[float]]:
    """The numbers that a report converts, and what they become."""
    return REPORTS[name]["case"]["inputs"], REPORTS[name]["computed"]["outputs"]


@report
def fr_009(inside: Inside) -> None:
    """0.7 was a cosine in one configuration and (cos + 1)/2 in another: a fused floor names its scale or is refused."""
    for cosine, other in zip(*both_readings("FR-009"), strict=True):
        told = said(inside("explain", "vector_min_cosine", str(cosine)))
        assert (
            f"cosine, embedder-bound; an engine with another scale calls it (1 + cosine)/2 = {other:.4f}"
            in told
        )
    unnamed = {"x-knob": {"default": 0.7, "role": "floor.fused", "scale": "relevance"}}
    assert "fused scores are on rrf_normalised or rrf_raw" in refused(inside, min_score=unnamed)


@report
def fr_010(inside: Inside) -> None:
    """A slider from 0 to 1 over logits: an unbounded scale is no fused one, and its squashed number is shown."""
    logits = {"minimum": -10, "maximum": 10}
    said_to_be = {"default": 0.5, "scale": "logit", "direction": "higher_is_better"}
    told = refused(inside, rerank={**logits, "x-knob": {**said_to_be, "role": "floor.fused"}})
    assert "the scale 'logit'; fused scores are on" in told
    schema = other_engine(inside, rerank_min_score={**logits, "x-knob": said_to_be})
    for logit, squashed in zip(*both_readings("FR-010"), strict=True):
        told = said(inside("explain", "rerank_min_score", *schema, "--", str(logit)))
        assert f"sigmoid 1/(1 + e^-x) = {squashed:.4f}" in told


@report
def fr_011(inside: Inside) -> None:
    """20 typed where a fraction is meant, on a page that does not say what the number is compared with."""
    result, told = judged(inside, "validate", yaml_of("FR-011"))
    assert (result.code, result.rules) == (4, ["out-of-range"])
    assert "retrieval_min_score is 20; it must be a number in 0 .. 1" in told
    assert "(normalised fused score)" in told
    assert "if 20 % is meant, write 0.2" in told


@report
def fr_012(inside: Inside) -> None:
    """Weights that a mode silently left out: doubling one moves a ceiling, from 1/3 to 1/2."""
    told = said(inside("explain", "rrf_weight_vector", "2"))
    assert "vector alone 1/3 -> 1/2" in told
    assert "bm25 alone 1/3 -> 1/4" in told


@report
def fr_014(inside: Inside) -> None:
    """At 0 rows appear, at 0.0001 all are gone: the floor is compared with another score than the one shown."""
    ids, told = diagnosed(inside, cut(0.0001, None, 2, vector=2, bm25=1))
    assert "scale-mismatch" in ids
    assert (
        "a floor of 0.0001 lies under the last row of every list, and yet it removed some" in told
    )
    assert "Everything that is compared with this score is then wrong" in told


@report
def fr_015(inside: Inside) -> None:
    """A radius that nothing read, then 0.5 on raw sums that end at 0.0328: where it is applied, and what can pass."""
    inside.write("t.yaml", "tenant: t\nknobs: {k: 61, score_threshold: 0.5}\n")
    told = said(inside("explain", "score_threshold", "0.5", "--tenant", "t", *QDRANT))
    assert "the best possible score is 2/61 (0.0328), so nothing ever passes" in told
    result = inside("check", "t.yaml", "--format", "json", *QDRANT)
    assert "floor-above-vector-ceiling" in result.rules
    assert "the best score there is: nothing ever passes" in said(
        inside("check", "t.yaml", *QDRANT)
    )
    assert "after fusion, on the fused score of each hit" in said(
        inside("explain", "score_threshold", *QDRANT)
    )


@report
def fr_019(inside: Inside) -> None:
    """A threshold that reached one leg alone: before fusion or after it is said of every floor."""
    before = said(inside("explain", "vector_min_cosine"))
    assert "before fusion, on the rows of vector alone" in before
    after = said(inside("explain", "retrieval_min_score"))
    assert "after fusion, on the fused score of each hit" in after
    assert "vector_min_cosine is compared before fusion, on another scale" in after


@report
def fr_022(inside: Inside) -> None:
    """Chunks of score 0 are listed at a floor of 0.5: a breach by the engine, named by row."""
    answer = search([hit("good", vector=1, bm25=1)], 0.5)
    answer["results"].append({"chunkId": "junk", "documentId": "junk", "text": "?", "score": 0.0})
    ids, told = diagnosed(inside, answer)
    assert {"row-below-floor", "breach-is-no-tuning"} <= ids
    assert "row junk scores 0, under the floor 0.5 that the answer states" in told
    assert "no value of a knob mends it" in told


@report
def fr_025(inside: Inside) -> None:
    """A gate that is told 0.6 and compares with a constant: here two values decide otherwise, and off means off.

    That the engine obeys every knob is tests/server/retrieval/test_knobs_in_effect.py.
    """
    low, high = (said(inside("explain", "gate_min_confident", v)) for v in ("0.3", "0.6"))
    assert "it always expands" in high
    assert "it always expands" not in low
    assert "AssembleContext only; Search does not expand" in high
    result, told = judged(inside, "check", acme(gate_min_confident=0.6, gate_mode="DISABLED"))
    assert "written-but-switched-off" in result.rules
    assert "gate_min_confident 0.6 is applied nowhere while gate_mode is DISABLED" in told


@report
def fr_027(inside: Inside) -> None:
    """A token budget that silently takes the place of the number of chunks: here both hold, and both say so.

    The engine's half is tests/server/retrieval/test_field_reports.py.
    """
    for knob, other in (
        ("assembly_token_budget", "assembly_max_chunks"),
        ("assembly_max_chunks", "assembly_token_budget"),
    ):
        told = said(inside("explain", knob))
        assert f"It holds beside {other}" in told
        assert "the omitted counts of the answer say which of the two left chunks out" in told
    answer = assembled(FIELD_REPORT, omitted={"maxChunks": 2})
    ids, told = diagnosed(inside, answer)
    assert "omitted" in ids
    assert "assembly_max_chunks" in told
    assert "no other limit was reached" in told


@report
def fr_028(inside: Inside) -> None:
    """A threshold that one call takes and another does not: the calls that obey each knob stand in one place."""
    told = said(inside("explain"))
    only, _, both = told.partition("AssembleContext and Search:")
    assert "retrieval_min_score" in only.partition("AssembleContext only:")[2]
    assert "vector_min_cosine" in both
    assert "Search has a floor of its own" in said(inside("explain", "retrieval_min_score"))


@report
def fr_030(inside: Inside) -> None:
    """A cut-off of 0.9 leaves nothing, and nothing was ready for that. The share of real questions comes with the replay."""
    result, told = judged(inside, "check", acme(retrieval_min_score=0.9))
    assert "floor-above-two-ranker-ceiling" in result.rules
    assert "lost every match that is not in all 3 lists" in told
    value = said(inside("explain", "retrieval_min_score", "0.9"))
    assert "Can be empty: with all three live, where no chunk is found by all three" in value


@report
def fr_033(inside: Inside) -> None:
    """Empty may mean no documents, no match, or a floor: the first step whose output is zero is named."""
    nothing = {"outcome": "no_results", "rankers": rankers(0, 0, 0), "corpusVersion": "c12"}
    ids, told = diagnosed(inside, nothing)
    assert "first-empty-stage" in ids
    assert "the first step with nothing left: rankers" in told
    ids, told = diagnosed(inside, search(FIELD_REPORT, 0.7, rankers=rankers(6, 4, 5)))
    assert "first-empty-stage" not in ids
    assert "12 candidates, the floor 0.7 removed all 12" in told


@report
def fr_036(inside: Inside) -> None:
    """Asked about music, the bot answers: a fused floor cannot refuse, which is said with what can."""
    told = said(inside("explain", "retrieval_min_score", "0.3"))
    assert 'So this floor cannot say "nothing relevant"' in told
    assert "nothing is assembled: nothing relevant" in said(
        inside("explain", "no_match_min_cosine")
    )


@report
def fr_037(inside: Inside) -> None:
    """Poor on both legs, and kept: how the floors of the legs join, by or and by and."""
    told = said(inside("explain", "vector_min_cosine"))
    assert "a row dropped here may still come through another ranker (or)" in told
    assert "is applied to what is left (and)" in told


@report
def fr_038(inside: Inside) -> None:
    """0.0 as the documented off switch: here it is the default, and what is off is said."""
    result, told = judged(inside, "check", acme(retrieval_min_score=0.0))
    assert result.rules[0] == "zero-means-default"
    assert 'is no "no floor": it means the platform default, 0.3' in told
    assert "write 0.0001 for practically no floor" in told


@report
def fr_039(inside: Inside) -> None:
    """A floor that only one kind of retriever has: here it is applied once, to whatever was fused."""
    told = said(inside("explain", "retrieval_min_score"))
    assert "applied to fused candidates before they enter the assembled prompt" in told
    assert "What wants this floor calls AssembleContext or sends a minScore of its own" in told


@report
def fr_040(inside: Inside) -> None:
    """A nonsense phrase gets five memories: a floor on ranks is a depth, and every list has a first row."""
    case = REPORTS["FR-040"]["case"]
    raw = {"x-knob": {"default": 0, "role": "floor.fused", "scale": "rrf_raw", "unset": None}}
    constant = {
        "type": "integer",
        "maximum": 1000,
        "x-knob": {"default": case["k"], "role": "fusion.k"},
    }
    weight = {"x-knob": {"default": 1, "role": "fusion.weight.vector", "unset": None}}
    schema = other_engine(inside, floor=raw, k=constant, weight=weight)
    told = said(inside("explain", "floor", str(case["floor"]), *schema))
    assert (
        f"found by vector search alone passes down to rank {REPORTS['FR-040']['computed']['deepest_rank']}"
        in told
    )
    assert "a floor on ranks cannot tell nonsense from sense" in told


def distance(name: str, bound: float, most: float = 2, **more: object) -> dict[str, Any]:
    """A bound on a distance, as a schema tells it."""
    return {
        name: {
            "maximum": most,
            "x-knob": {"default": bound, "unset": None, "direction": "lower_is_better", **more},
        }
    }


@report
def fr_042(inside: Inside) -> None:
    """1 was meant as "filter nothing" where distances reach 2: direction, both sides, and what is off."""
    schema = other_engine(inside, **distance("max_distance", 2))
    told = said(inside("explain", "max_distance", "1", *schema))
    assert "lower is better" in told
    assert "2, the most that there is; 1 still filters" in told


@report
def fr_043(inside: Inside) -> None:
    """A test that takes distances for similarities drops the near one: refused, and both rows are shown."""
    told = refused(inside, **distance("threshold", 0.6, role="floor.vector"))
    assert "lower is better on its scale: a minimum on a distance is a maximum" in told
    assert (
        "a minimum keeps 0.9, the far one, and drops 0.1; a maximum keeps 0.1 and drops 0.9" in told
    )


@report
def fr_044(inside: Inside) -> None:
    """The least relevant documents came back: a cosine distance by its scale alone is no similarity."""
    scale = {"x-knob": {"default": 0.7, "role": "floor.vector", "scale": "cosine distance"}}
    told = refused(inside, score_threshold=scale)
    assert "its scale is a distance: a minimum on a distance is a maximum" in told
    assert "such as 1 - distance for cosine" in told


@report
def fr_045(inside: Inside) -> None:
    """Similarities of 0.85 were converted as if they were distances: all lie under 0.8, and all of 1 - score would pass."""
    ids, told = diagnosed(inside, cut(0.8, 0.15, 3, vector=3))
    assert "direction-inverted" in ids
    assert "1 - score would pass (0.85)" in told
    assert "distances taken for similarities, or the reverse" in told


@report
def fr_046(inside: Inside) -> None:
    """Two steps applied one threshold in opposite directions: each floor has one step, and keeps what is at it or above."""
    for knob, step in (
        ("vector_min_cosine", "before fusion"),
        ("retrieval_min_score", "after fusion"),
    ):
        told = said(inside("explain", knob))
        assert step in told
        assert "a score equal to it passes" in told


@report
def fr_047(inside: Inside) -> None:
    """A field called score that holds an L2 distance: a schema that says so is held to it."""
    told = refused(inside, **distance("score", 0.5, role="floor.vector"))
    assert "knob score has the role floor.vector, and lower is better on its scale" in told


@report
def fr_048(inside: Inside) -> None:
    """score_threshold mapped onto min_distance keeps the worst rows: a minimum only exists where higher is better."""
    told = refused(inside, **distance("min_distance", 0.6))
    assert "knob min_distance is called a minimum, and lower is better on its scale" in told
    assert "write a maximum (max_distance" in told


@report
def fr_050(inside: Inside) -> None:
    """How to say "a score of at least 0.7" to an engine that wants a distance: the number is given."""
    told = said(inside("explain", "vector_min_cosine", "0.7"))
    assert "cosine distance 1 - cosine = 0.3000" in told


@report
def fr_051(inside: Inside) -> None:
    """Which value, from where, set by whom and when: the default, the file's line, the engine's event."""
    assert "50, the platform default" in judged_in_force(inside, acme(rrf_k=40))
    assert "32 from tenants/acme.yaml:3" in judged_in_force(inside, yaml_of("FR-051"))
    inside.hold(retrieval_vector_top_k=50)
    first = inside("diff", "tenants/acme.yaml", *ENGINE).out.splitlines()[0]
    event = inside.events()[-1]
    assert event["actor"]
    assert event["actor"] in first
    assert event["occurred_at"]


def judged_in_force(inside: Inside, text: str) -> str:
    """What explain says is in force of retrieval_vector_top_k for acme."""
    inside.write("tenants/acme.yaml", text)
    return said(inside("explain", "retrieval_vector_top_k", "--tenant", "acme"))


@report
def fr_052(inside: Inside) -> None:
    """0.3 was configured and 0.5 is in force: what is written is read back, field by field."""
    written_and_changed(inside, retrieval_min_score=0.3, mmr_lambda=0.5)


@report
def fr_055(inside: Inside) -> None:
    """Whatever the page says, other values arrive: both fields are named, and the run fails."""
    written_and_changed(inside, gate_min_confident=0.6, retrieval_min_score=0.4)


def written_and_changed(inside: Inside, **knobs: float) -> None:
    """Push to an engine that stores two numbers in each other's place."""
    inside.write("acme.yaml", acme(**knobs))
    inside.write("token", "acme-token\n")
    with GivenEngine() as engine, pytest.MonkeyPatch.context() as patch:
        patch.setattr("knobctl.changes.read_back.READ_BACK_PAUSES_S", (0.01,))
        engine.fail(Fault.SWAP)
        done = inside(
            "apply", "acme.yaml", "--yes", "--engine", engine.url, "--token-file", "token"
        )
    told = said(done)
    assert done.code == 10
    assert "reads back differently" in told
    for knob, value in knobs.items():
        assert knob in told
        assert spelled(value) in told


@report
def fr_054(inside: Inside) -> None:
    """Tools that search with constants of their own: which calls a knob governs is part of what it is."""
    told = said(inside("explain", "retrieval_min_score"))
    assert "scope AssembleContext only" in told
    assert "with minScore 0, negative or absent it applies 0.7" in told
    knobs = inside("explain", "--format", "json").json["knobs"]
    assert all(knob["scope"] for knob in knobs)


@report
def fr_057(inside: Inside) -> None:
    """The stored copy wins over the repository and nobody sees it: both values, and who wrote the stored one."""
    inside.hold(retrieval_vector_top_k=3)
    path = inside.write("acme.yaml", yaml_of("FR-057"))
    first, change, *_ = inside("diff", path, *ENGINE).out.splitlines()
    assert first.startswith("acme  live r1 (")
    assert change.split() == ["change", "retrieval_vector_top_k", "3", "->", "10"]
    inside.write("layers.yaml", "layer: shared\nknobs:\n  retrieval_vector_top_k: 10\n")
    inside.write(
        "acme.yaml", "tenant: acme\nlayers: [shared]\nknobs: {retrieval_vector_top_k: 3}\n"
    )
    told = said(inside("explain", "retrieval_vector_top_k", "--tenant", "acme"))
    assert "3 from acme.yaml:3; hides 10 of layers.yaml:3" in told


@report
def fr_058(inside: Inside) -> None:
    """The form shows 0.5 and the code falls back to 0.75: here what is told is what the engine takes."""
    inside.hold(rrf_k=60)
    effective = inside("get", "acme", "--format", "json", *ENGINE).json["tenants"][0]["effective"]
    told = inside("explain", "--format", "json").json["knobs"]
    assert {knob["name"]: knob["default"] for knob in told} == effective


@report
def fr_063(inside: Inside) -> None:
    """Unset was taken for a floor: absent and 0 are one, 0.3 for assembly, and 0.7 for a direct search."""
    for arguments in (["retrieval_min_score"], ["retrieval_min_score", "0"]):
        told = said(inside("explain", *arguments))
        assert "platform default, 0.3" in told
        assert "with minScore 0, negative or absent it applies 0.7" in told
    assert "like leaving the knob out" in said(inside("explain", "retrieval_min_score"))


@report
def fr_065(inside: Inside) -> None:
    """1 was documented as everything and gave nothing: both ends of every knob are computed or said to be off."""
    one = said(inside("explain", "retrieval_min_score", "1"))
    assert "a match found by vector search alone can never pass" in one
    assert "The floor is 1: a hit must be first in every live ranker" in one
    for knob, value in (("dedup_min_similarity", "1"), ("max_chunks_per_document", "200")):
        assert f"{knob} {value}: practically off" in said(inside("explain", knob, value))
    for known in load_catalogue():
        for end in known.choices[1:] or (spelled(known.minimum), spelled(known.maximum)):
            done = inside("explain", known.name, end, "--format", "json")
            assert (done.code, bool(done.json["value"]["headline"])) == (0, True), (known.name, end)


@report
def fr_066(inside: Inside) -> None:
    """A client that replaces the whole set loses the fields that it does not know: refused, and they are named."""
    inside.write("acme.yaml", yaml_of("FR-066").replace("32", "33"))
    inside.write("token", "acme-token\n")
    with GivenEngine() as engine:
        engine.sets["acme"] = {"retrievalVectorTopK": 32, "aKnobThisClientDoesNotKnow": 7}
        done = inside(
            "apply", "acme.yaml", "--yes", "--engine", engine.url, "--token-file", "token"
        )
        assert (done.code, engine.writes()) == (6, 0)
    assert "aKnobThisClientDoesNotKnow (7)" in said(done)


@report
def fr_069(inside: Inside) -> None:
    """Which score counts as real: what is not known of a default is said. The curve beside the value comes with calibration."""
    told = said(inside("explain", "retrieval_min_score"))
    assert "Not known: whether it is a good value. It is not tuned; no benchmark set it" in told
    result, told = judged(inside, "check", acme(no_match_min_cosine=0.25))
    assert "no-match-cannot-bind" in result.rules
    assert "names no evidence: a cosine means something only for one embedder" in told


@report
def fr_070(inside: Inside) -> None:
    """A cut-off of 2 where real hits lie under 0.85: a floor that removes nothing is decoration."""
    result, told = judged(inside, "check", acme(retrieval_min_score=0.0001))
    assert "floor-never-binds" in result.rules
    assert "retrieval_min_score 0.0001 removes nothing" in told


@report
def fr_071(inside: Inside) -> None:
    """Budgets that never bind, and noise in every prompt: an answer tells which limit left something out."""
    ids, told = diagnosed(inside, assembled(FIELD_REPORT, 0.0001, omitted={}))
    assert "omitted" not in ids
    ids, told = diagnosed(
        inside, assembled(FIELD_REPORT, 0.0001, chunks=5, omitted={"tokenBudget": 7})
    )
    assert "omitted" in ids
    assert "7 for want of tokens (assembly_token_budget" in told
    assert "no other limit was reached" in told


@report
def fr_072(inside: Inside) -> None:
    """`max or infinity` makes a written 0 no limit: where zero and nothing differ in meaning, that is said."""
    result, told = judged(inside, "validate", yaml_of("FR-072"))
    assert (result.code, result.rules) == (4, ["unknown-knob"])
    assert "did you mean vector_min_cosine?" in told
    agreeing = said(inside("explain", "vector_min_cosine", "0"))
    assert "0 = platform default = no filter" in agreeing
    assert "both readings agree" in agreeing
    assert judged(inside, "check", acme(vector_min_cosine=0))[0].rules == []
    result, _ = judged(inside, "check", acme(retrieval_min_score=0))
    assert "zero-means-default" in result.rules
    resolved = said(inside("explain", "retrieval_min_score", "--tenant", "acme"))
    assert "written as 0, which means the default" in resolved


FLEET = """\
fleet: default
evidence:
  required_for: [vector_min_cosine, no_match_min_cosine, dedup_min_similarity]
  encoder: %s
"""


def swapped(inside: Inside, **knobs: float) -> Result:
    """Check a branch that gives acme another embedder and leaves its cosines as they were."""
    inside.write("knobctl.toml", "")
    inside.write("acme.yaml", acme(**knobs))
    inside.write("fleet.yaml", FLEET % "all-MiniLM-L6-v2")
    committed(inside)
    inside.write("fleet.yaml", FLEET % "bge-m3")
    return inside("check", "--base", "HEAD", "--format", "json")


@report
def fr_074(inside: Inside) -> None:
    """The embedder was swapped and the cut-off stayed: the gate stops, and names it. The curve comes with calibration."""
    done = swapped(inside, vector_min_cosine=0.4)
    assert (done.code, done.rules[0]) == (4, "evidence-missing")
    told = said(inside("check", "--base", "HEAD"))
    assert "the embedder changes from all-MiniLM-L6-v2 to bge-m3" in told
    assert "vector_min_cosine stays 0.4, without evidence" in told


@report
def fr_075(inside: Inside) -> None:
    """Five gates hang on the embedder and two are documented: here all stand in one list, and each that is set is named."""
    cosines = {"vector_min_cosine": 0.2, "no_match_min_cosine": 0.25, "dedup_min_similarity": 0.97}
    found = swapped(inside, **cosines).json["findings"]
    assert {one["field_path"] for one in found if one["rule"] == "evidence-missing"} == set(cosines)
    told = said(inside("explain"))
    listed = told.partition("due evidence, and anew when the embedder changes")[2].partition(".")[0]
    for knob in inside("explain", "--format", "json").json["knobs"]:
        is_bound = "cosine" in (knob["scale"] or "") or knob["needs_evidence"]
        assert (knob["name"] in listed) is is_bound, knob["name"]


@report
def fr_077(inside: Inside) -> None:
    """One top-k set both the candidates and what is shown: here each stage has its own knob, and says which."""
    assert "nearest neighbours the vector ranker contributes to fusion" in said(
        inside("explain", "retrieval_vector_top_k")
    )
    told = said(inside("explain", "assembly_max_chunks"))
    assert "Most chunks that may enter one prompt" in told
    assert "topK is what Search returns" in told
    groups = {
        knob["name"]: knob["group"] for knob in inside("explain", "--format", "json").json["knobs"]
    }
    assert (groups["retrieval_vector_top_k"], groups["assembly_max_chunks"]) == (
        "candidates",
        "assembly",
    )


@report
def fr_078(inside: Inside) -> None:
    """1,024 candidates of which 64 go on: the range ends before, and what is fetched for nothing is counted."""
    result, told = judged(inside, "validate", yaml_of("FR-078"))
    assert (result.code, result.rules) == (4, ["out-of-range"])
    assert "it must be a whole number in 1 .. 500 (rows)" in told
    result, told = judged(inside, "check", acme(retrieval_vector_top_k=500))
    assert "floor-cuts-candidates" in result.rules
    assert "down to rank 7 of 500: the other 493 rows are fetched and dropped" in told


@report
def fr_079(inside: Inside) -> None:
    """A longer list without a look at the floor lets junk in: a ready policy asks for a second reviewer."""
    copy(EXAMPLES / "policies" / "wider-lists-need-a-second-reviewer.yaml", inside.folder)
    inside.write("acme.yaml", acme(retrieval_vector_top_k=24))
    committed(inside)
    inside.write("acme.yaml", acme(retrieval_vector_top_k=64))
    done = inside("check", "--base", "HEAD", "--format", "json")
    assert (done.code, "wider-lists-need-a-second-reviewer" in done.rules) == (4, True)
    told = said(inside("check", "--base", "HEAD"))
    assert "retrieval_vector_top_k grows from 24 to 64" in told
    assert "let a second person look" in told
    reviewed = {"tenant": "acme", "labels": {"reviewed_by": "anna"}}
    inside.write("acme.yaml", json.dumps({**reviewed, "knobs": {"retrieval_vector_top_k": 64}}))
    assert inside("check", "--base", "HEAD").code == 0


def committed(inside: Inside) -> None:
    """Make the folder a repository and commit what lies in it."""
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "before"]):
        subprocess.run(["git", *arguments], cwd=inside.folder, check=True)


@report
def fr_080(inside: Inside) -> None:
    """864 tokens too many for a window of 16k, and no clue in the configuration: a ready policy counts them."""
    copy(EXAMPLES / "policies" / "prompt-fits-the-window.yaml", inside.folder)
    labels = {"window_tokens": "16384", "answer_tokens": "1024"}
    inside.write(
        "acme.yaml",
        json.dumps({"tenant": "acme", "labels": labels, "knobs": {"assembly_token_budget": 16224}}),
    )
    done = inside("check", "--format", "json")
    assert (done.code, "prompt-fits-the-window" in done.rules) == (4, True)
    told = said(inside("check"))
    assert "exceeds the 16384 that labels.window_tokens declares by 864" in told
    assert "write 15360 or less" in told


@report
def fr_084(inside: Inside) -> None:
    """One number for the cosine and for the combined score returned what neither leg would: two knobs, two scales."""
    told = said(inside("explain", "vector_min_cosine"))
    assert "retrieval_min_score is another number on another scale" in told
    assert "scale cosine, embedder-bound" in told
    assert "scale rrf_normalised" in said(inside("explain", "retrieval_min_score"))


@report
def fr_088(inside: Inside) -> None:
    """With min-max a lone match has no score: such a scale carries no floor, and here a lone match scores 1."""
    minmax = {"x-knob": {"default": 0.5, "role": "floor.fused", "scale": "minmax"}}
    told = refused(inside, min_score=minmax)
    assert "computed from the other hits of its list has no ceiling to hold a floor against" in told
    assert "first in all three: the same sum above and below = 1" in said(
        inside("explain", "retrieval_min_score", "0.3")
    )


@report
def fr_089(inside: Inside) -> None:
    """A keyword score of 25.86 clamped to 1 outranked everything: first by keywords alone is the weight's share."""
    weighted(inside)
    told = said(inside("reach", "--floor", "0.5", "--tenant", "acme"))
    assert "bm25 alone 3/10 never" in told
    assert "vector alone 7/10" in told


@report
def fr_090(inside: Inside) -> None:
    """NaN passes `t < 0 or t > 1`: refused in YAML, in JSON, as text, and either infinity with it."""
    every = [
        yaml_of("FR-090"),
        *(
            f"tenant: acme\nknobs: {{retrieval_min_score: {v}}}\n"
            for v in (".inf", "-.inf", "1e999")
        ),
        *(f'tenant: acme\nknobs: {{retrieval_min_score: "{v}"}}\n' for v in ("NaN", "Infinity")),
        *(
            json.dumps({"tenant": "acme", "knobs": {"retrieval_min_score": v}})
            for v in (float("nan"), float("inf"), float("-inf"), "NaN", "-Infinity")
        ),
    ]
    for text in every:
        result, told = judged(inside, "validate", text)
        assert (result.code, result.rules) == (4, ["not-finite"]), text
        assert "retrieval_min_score" in told
    for value in ("NaN", ".nan", "-Infinity"):
        assert inside("explain", "retrieval_min_score", value).code == 4
        assert inside("set", "acme", f"retrieval_min_score={value}", "--yes", *ENGINE).code == 4


@report
def fr_091(inside: Inside) -> None:
    """A NaN gate gives a complete, definitive negative: the field is named, and nothing with it is pushed."""
    result, told = judged(inside, "check", yaml_of("FR-091"))
    assert (result.code, result.rules) == (4, ["not-finite"])
    assert result.json["findings"][0]["field_path"] == "gate_min_confident"
    assert "gate_min_confident .nan is no finite number" in told
    assert inside("apply", "tenants/acme.yaml", "--yes", "--reason", "x", *ENGINE).code == 4
    assert inside.events() == []


@report
def fr_092(inside: Inside) -> None:
    """A bound of 1.0 excluded the identical vector: what is equal passes, at 1 too.

    The engine's half is tests/server/retrieval/test_field_reports.py.
    """
    for knob in ("retrieval_min_score", "vector_min_cosine", "gate_min_confident"):
        assert "a score equal to it passes" in said(inside("explain", knob))
    told = said(inside("explain", "retrieval_min_score", "1"))
    assert "all three, same rank 1 1 on the edge" in told
    assert "It then scores 1.0, in any order of summation" in told


@report
def fr_093(inside: Inside) -> None:
    """A threshold of exactly 1 made the page fail: it is legal, judged, pushed and read back.

    What the engine answers at 1 is tests/server/retrieval/test_field_reports.py.
    """
    for end in (1, 1.0, 0):
        path = inside.write("acme.yaml", acme(retrieval_min_score=end))
        assert inside("validate", path).code == 0
        assert inside("apply", path, "--yes", "--reason", "x", *ENGINE).code == 0
    assert inside.live() == {}


@report
def fr_094(inside: Inside) -> None:
    """A push replaced the whole set and said "applied": what it would reset is named first, with the defaults."""
    inside.hold(**REPORTS["FR-094"]["case"]["on_server"])
    path = inside.write("acme.yaml", yaml_of("FR-094"))
    lines = [" ".join(line.split()) for line in inside("diff", path, *ENGINE).out.splitlines()]
    assert lines[1].startswith("reset retrieval_vector_top_k 32 -> default 50")
    assert lines[2].startswith("reset rrf_k 40 -> default 60")
    found = inside("check", path, "--live", "--format", "json", *ENGINE)
    resets = [one for one in found.json["findings"] if one["rule"] == "reset-by-omission"]
    assert [one["field_path"] for one in resets] == ["retrieval_vector_top_k", "rrf_k"]


@report
def fr_099(inside: Inside) -> None:
    """A floor of 0.68 where genuine matches score 0.40 to 0.45: vector search was off, and the file looked sane."""
    result, told = judged(inside, "check", acme(vector_min_cosine=0.68))
    assert "vector-floor-without-evidence" in result.rules
    assert "it may drop every row that vector search finds" in told
    assert "measure where genuine matches lie for this embedder" in told


@report
def fr_101(inside: Inside) -> None:
    """A question and its reversal score 0.83 to 0.9997: chunks that count as one text stand in for cached questions."""
    result, told = judged(inside, "check", acme(dedup_min_similarity=0.8))
    assert "duplicates-may-disagree" in result.rules
    assert "between 0.83 and 0.9997 with every encoder tried, and no threshold separates" in told
    plan = said(inside("plan", "tenants/acme.yaml", *ENGINE))
    assert "duplicates-may-disagree" in plan
