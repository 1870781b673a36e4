"""Runs of TREC, one a ranker, as recorded rankings: any engine's lists, without its texts."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from knobctl import __version__
from knobctl.errors import InputError, UsageError
from knobctl.evidence.judged_files import lines_of
from knobctl.evidence.over_rankings import RUNS
from knobctl.evidence.rankings import Heading, Pass, Ranked, RankedChunk, Rankings
from knobctl.evidence.recording import Corpus
from knobctl.evidence.simulating import Asked
from knobctl.text import joined, visible

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from knobctl.knobs import Catalogue, KnobValue

SOURCE: Final = "trec_run"
Lists = dict[str, dict[str, int]]
"""By topic, the rank of each document, from 1."""


def rankings_of(
    runs: Mapping[str, Path], catalogue: Catalogue, *, ids: Mapping[str, str], made_at: datetime
) -> Rankings:
    """Read one run a ranker.

    A run has no expansion pass, so the gate to it is off; lists are as long as the longest of its run,
    and rankers without a run take no part.

    Args:
        runs: By ranker, its file.
        catalogue: The knobs.
        ids: By topic, the question id, where the two differ.
        made_at: When they are read: runs do not say when they were made.

    Raises:
        UsageError: If there is no such ranker, or one without a run cannot be switched off.
        InputError: At the first line that is none.
    """
    unknown = [name for name in runs if name not in catalogue.rankers]
    if unknown:
        raise UsageError(
            f"there is no ranker {visible(unknown[0])}",
            hint=f"there are: {joined(catalogue.rankers)}",
        )
    lists = {name: _read(path) for name, path in runs.items()}
    topics = sorted({topic for one in lists.values() for topic in one})
    questions = tuple(_ranked(topic, lists, ids.get(topic, topic)) for topic in topics)
    knobs = _knobs(catalogue, lists)
    digest = sha256(b"".join(path.read_bytes() for path in runs.values())).hexdigest()
    heading = Heading(
        made_at=made_at,
        made_by=f"knobctl {__version__}",
        engine=RUNS,
        tenant=RUNS,
        encoder="unknown",
        corpus=Corpus(digest="", documents=0, chunks=0),
        knobs=catalogue.effective(knobs),
        configured=knobs,
        questions=len(questions),
    )
    source = ", ".join(map(str, runs.values()))
    return Rankings(source=source, digest=digest, heading=heading, questions=questions)


def _knobs(catalogue: Catalogue, lists: Mapping[str, Lists]) -> dict[str, KnobValue]:
    """The set under which the runs are what the rankers give."""
    roles = catalogue.by_role
    knobs: dict[str, KnobValue] = {}
    for name in catalogue.rankers:
        depth, mode = roles.get(f"depth.{name}"), roles.get(f"ranker.{name}")
        if name not in lists:
            if mode is None:
                raise UsageError(
                    f"{name} has no run, and no knob switches it off", hint=f"--run {name}=FILE"
                )
            knobs[mode.name] = "DISABLED"
        elif depth:
            longest = max(max(one.values()) for one in lists[name].values())
            knobs[depth.name] = min(longest, int(depth.maximum or longest))
    if gate := roles.get("gate"):
        knobs[gate.name] = "DISABLED"
    return catalogue.canonical(knobs)


def _ranked(topic: str, lists: Mapping[str, Lists], id_: str) -> Ranked:
    ranks: dict[str, dict[str, int]] = {}
    for name, by_topic in lists.items():
        for document, rank in by_topic.get(topic, {}).items():
            ranks.setdefault(document, {})[name] = rank
    chunks = tuple(RankedChunk(one, one, held, 0.0) for one, held in ranks.items())
    rows = {name: len(by_topic.get(topic, {})) for name, by_topic in lists.items()}
    return Ranked(asked=Asked(id=id_, source=SOURCE), first=Pass(rows=rows, chunks=chunks))


def _read(path: Path) -> Lists:
    """Order a run by its scores, as tools do, and then by name; its own ranks are not looked at."""
    scores: dict[str, dict[str, float]] = {}
    for number, line in enumerate(lines_of(path), start=1):
        words = line.split()
        if not words:
            continue
        score = _score(words[4]) if len(words) == 6 else None
        if score is None:
            raise InputError(
                f"{visible(str(path))}:{number} is no line of a run",
                hint="topic, Q0, document, rank, score, tag",
            )
        if scores.setdefault(words[0], {}).setdefault(words[2], score) != score:
            raise InputError(
                f"{visible(str(path))}:{number}: {visible(words[2])} stands there twice"
            )
    if not scores:
        raise InputError(f"{visible(str(path))} ranks nothing")
    return {
        topic: {
            document: rank
            for rank, (document, _) in enumerate(
                sorted(found.items(), key=lambda one: (-one[1], one[0])), start=1
            )
        }
        for topic, found in scores.items()
    }


def _score(text: str) -> float | None:
    try:
        score = float(text)
    except ValueError:
        return None
    return score if score == score else None  # noqa: PLR0124  NaN is the one value unequal to itself
