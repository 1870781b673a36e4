"""What `knobctl recommend` says of the judged corpus of the examples is true of questions that it has not seen."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from knobctl.evidence.bounded_floor import largest_floor
from knobctl.evidence.rates import exact_interval
from knobctl.evidence.recording import Label
from tests.cli.inside import ENGINE, Inside
from tests.cli.test_bench_replay import recording_at, write_set
from tests.cli.test_bench_sweep import EXAMPLES
from tests.evidence.drawn_losses import bound

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RESPLITS = 1_000
pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]  # some 7,000 texts are embedded first


def lines(name: str) -> Iterator[dict[str, Any]]:
    """The lines of a file of the examples."""
    with (EXAMPLES / name).open(encoding="utf-8") as file:
        yield from map(json.loads, file)


@pytest.fixture(scope="module")
def judged(
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A folder with the paragraphs in a store, its questions, their labels, and what they score: minutes of embedding."""
    folder = tmp_path_factory.mktemp("squad2")
    first = datetime(2026, 1, 1, tzinfo=UTC)
    texts = [
        {
            "documentId": one["id"],
            "text": one["text"],
            "createdAt": (first + timedelta(minutes=one["seq"])).isoformat(),
        }
        for one in lines("docs.jsonl")
        if not one["held_out"]
    ]
    (folder / "corpus.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in texts))
    stated: dict[str, set[bool]] = {}
    for one in lines("queries.jsonl"):
        stated.setdefault(one["text"], set()).add(one["kind"] == "answerable")
    write_set(folder / "q.jsonl", [*stated])
    labels = [  # 3 texts stand there twice, and are labelled both ways
        {"question": text, "answerable": can}
        for text, labels in stated.items()
        if len(labels) == 1
        for can in labels
    ]
    (folder / "labels.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in labels))
    return folder


@pytest.fixture
def squad2(
    judged: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Inside:
    """The command in that folder, with the labelled scores in `j.jsonl`."""
    monkeypatch.chdir(judged)
    inside = Inside(judged, capsys)
    if not (judged / "j.jsonl").exists():
        loaded = inside(
            "engine", "load", "corpus.jsonl", "--tenant", "squad2", "--store", "embedded:e.db"
        )
        assert loaded.code == 0, loaded.err
        replayed = inside(
            "bench", "replay", "--questions", "q.jsonl", "--tenant", "squad2", "--output", "r.jsonl", *ENGINE,
        )  # fmt: skip
        assert replayed.code == 0, replayed.err
        done = inside(
            "bench", "judge", "--replay-from", "r.jsonl", "--labels", "labels.jsonl", "--output", "j.jsonl",
        )  # fmt: skip
        assert done.code == 0, done.err
    return inside


def test_the_cosine_floor_and_what_it_silences(squad2: Inside) -> None:
    """At most 2 % lost, some 3 % of the unanswerable silenced: what such a floor can do on this corpus."""
    found = squad2("recommend", "--report", "j.jsonl", "--format", "json").json
    assert 0.30 <= found["recommended"]["floor"] <= 0.34
    assert found["recommended"]["lost"]["denominator"] == 2_153
    assert found["recommended"]["held_out"]["value"] <= 0.02
    assert 0.01 <= found["recommended"]["silenced"]["value"] <= 0.06
    assert 0.62 <= found["auc"]["cosine"] <= 0.70


def test_the_fused_floor_cannot_separate(squad2: Inside) -> None:
    """Its area under the curve is near that of a coin, and none up to 1/3 empties a result."""
    told = squad2("recommend", "--report", "j.jsonl", "--signal", "fused").out
    assert "No fused floor can separate the answerable from the unanswerable" in told
    assert "no_match_min_cosine" in told
    scores = [one.fused for one in recording_at(squad2.folder / "j.jsonl").questions if one.fused]
    assert min(scores) >= 1 / 3


@pytest.mark.parametrize("max_loss", [0.01, 0.02, 0.05])
@pytest.mark.parametrize("part", [0.25, 0.5])
def test_the_bound_holds_on_held_out_questions(
    squad2: Inside, max_loss: float, part: float
) -> None:
    """Of 1,000 resplits: over all questions in 97.5 % at least, and those left out refute it in 2.5 % at most.

    Their own share swings besides, as they are a draw themselves: at 1 % of 1,077 questions it may go over
    although the bound holds. From 2 % on it stays at or under the bound in 95 % at least, too.
    """
    scores = np.array(
        [
            one.nearest_cosine
            for one in recording_at(squad2.folder / "j.jsonl").questions
            if one.label is Label.ANSWERABLE
        ],
        dtype=np.float64,
    )
    chance, wanted = np.random.default_rng(8), bound(max_loss)
    within, over_all, refuted, floors = 0, 0, 0, []
    for _ in range(RESPLITS):
        drawn = chance.permutation(scores)
        chosen = largest_floor(np.sort(drawn[: int(part * len(drawn))]).tolist(), wanted)
        floor = chosen.floor if chosen else 0.0
        floors.append(floor)
        left_out = drawn[int(part * len(drawn)) :]
        lost = int((left_out < floor).sum())
        within += lost <= max_loss * len(left_out)
        over_all += bool(np.mean(scores < floor) <= max_loss)
        refuted += exact_interval(lost, len(left_out))[0] > max_loss
    print(max_loss, part, within, over_all, refuted, round(float(np.mean(floors)), 4))
    assert over_all >= 0.975 * RESPLITS
    assert refuted <= 0.025 * RESPLITS
    if max_loss >= 0.02:
        assert within >= 0.95 * RESPLITS
