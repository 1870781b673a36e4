"""The fleet is filled in steps: what the index knows, what is read, and in which order tenants are judged."""

from __future__ import annotations

import asyncio
import subprocess
from datetime import date
from typing import TYPE_CHECKING

from knobctl.checks.one_by_one import OneByOne
from knobctl.documents.repository import open_repository
from knobctl.tui.fleet import Fleet, Mark, State
from knobctl.tui.fleet_steps import Judging, row_steps, rows_so_far, seconds_of
from knobctl.tui.screens.fleet import FleetScreen
from tests.tui.desks import Desk, settled

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.documents.repository import Repository

FLOOR = "retrieval_min_score"
MANY = 240
"""More files than are read without an index."""


def small(folder: Path) -> Repository:
    """Tenants with and without a layer, one with a name that is none, one file that cannot be read."""
    for name, text in {
        "knobctl.toml": "",
        "a.yaml": "tenant: a\nlayers: [base]\nlabels: {plan: pro}\nknobs: {}\n",
        "b.yaml": "tenant: b\nlayers: [base]\nlabels: {plan: pro}\nknobs: {retrieval_min_score: 0.45}\n",
        "c.yaml": "tenant: Not A Name\nknobs: {}\n",
        "d.yaml": "tenant: d\nknobs: {rrf_k: [1\n",
        "z.yaml": "layer: base\nknobs: {retrieval_min_score: 0.2}\n",
    }.items():
        (folder / name).write_text(text)
    return open_repository([], catalogue=None, cwd=folder, stdin=bytes)


def filled(repository: Repository) -> Fleet:
    """All rows of a repository."""
    fleet = Fleet(repository.catalogue)
    for chunk in row_steps(repository):
        fleet.add(chunk)
    return fleet


def test_rows_are_tenants_in_their_order_then_files_that_give_none(tmp_path: Path) -> None:
    """With their layers resolved; what two say alike is kept once."""
    repository = small(tmp_path)
    fleet = filled(repository)
    assert fleet.names == ["a", "b", "Not A Name", "d"]
    assert [fleet.value(row, FLOOR) for row in range(4)] == [0.2, 0.45, None, None]
    assert fleet.about_of(0) is fleet.about_of(1)
    assert [fleet.may_be_opened(row) for row in range(4)] == [True, True, False, False]
    assert fleet.sources[3] == "d.yaml"


def test_those_are_judged_first_at_which_somebody_looks(tmp_path: Path) -> None:
    """Without an index all are asked about, some at a time."""
    for number in range(100):
        (tmp_path / f"t{number:03}.yaml").write_text(
            f"tenant: t{number:03}\nknobs: {{retrieval_min_score: 0.45}}\n"
        )
    repository = small(tmp_path)
    checks = OneByOne(repository, today=date(2026, 11, 30), fleet=None)
    seen = range(90, 95)
    judging = Judging(checks, repository, lambda: seen)
    steps = [step for step in (*judging.known(), *judging.asked()) if step]
    files, first, *others = steps
    assert [(one.row, one.errors, one.rules) for one in files] == [
        (len(repository.tenants), 1, ("yaml-syntax",))
    ]
    assert [one.row for one in first] == [*seen]
    assert first[0].warnings
    assert len(others) > 1
    fleet = filled(repository)
    for step in steps:
        fleet.judge(step)
    assert fleet.tally()[State.WAITING] == 0
    assert fleet.tally()[State.ERROR] == 2


def test_of_what_is_still_being_read_the_names_are_known(tmp_path: Path) -> None:
    """Nobody claims to know a floor whose layers may be missing."""
    repository = small(tmp_path)
    seen, chunk = rows_so_far(repository, 1)
    assert (seen, chunk.names) == (len(repository.judged), ["b"])
    assert chunk.marks[0] == Mark.UNRESOLVED
    assert rows_so_far(repository, seen)[1].names == []


def test_times_of_engines_may_be_none() -> None:
    """What is no time is not known."""
    assert seconds_of("1970-01-01T00:00:05Z") == 5.0
    assert [seconds_of(time) != seconds_of(time) for time in (None, "", "soon", "99")] == [True] * 4


def test_a_large_repository_shows_the_same_cold_and_by_its_index(desk: Desk) -> None:
    """First read from the files, then as the index knows them; verdicts too."""
    desk.write("fleet/layers/base.yaml", "layer: base\nknobs: {retrieval_vector_top_k: 32}\n")
    for number in range(MANY):
        floor = 0.2 + number % 5 / 10
        desk.write(
            f"fleet/tenants/t{number:03}.yaml",
            f"tenant: t{number:03}\nowner: team-{number % 3}\nlayers: [base]\n"
            f"labels: {{plan: pro}}\nknobs: {{retrieval_min_score: {floor:.1f}}}\n",
        )
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "fleet")):
        name = ("-c", "user.name=a", "-c", "user.email=a@example.com")
        subprocess.run(["git", *name, *words], check=True, cwd=desk.folder, capture_output=True)
    cold, warm = seen_of(desk), seen_of(desk)
    assert cold == warm
    assert len(cold) == MANY
    assert cold[4] == ("t004", State.DRIFT, 0.6, 32, 2, "team-1", cold[4][6])
    assert "floor-above-vector-ceiling" in str(cold[4][6])


def seen_of(desk: Desk) -> list[tuple[object, ...]]:
    """What the list says of each tenant, once all is read."""
    found: list[tuple[object, ...]] = []

    async def run() -> None:
        with desk.app("fleet") as app:
            async with app.run_test(size=(80, 24)) as pilot:
                await settled(pilot)
                screen = app.screen
                assert isinstance(screen, FleetScreen)
                fleet = screen.fleet
                found.extend(
                    (
                        fleet.names[row],
                        fleet.state(row),
                        fleet.value(row, FLOOR),
                        fleet.value(row, "retrieval_vector_top_k"),
                        fleet.counts[row],
                        fleet.about_of(row).owner,
                        fleet.rules_of(row),
                    )
                    for row in screen.table.view
                )

    asyncio.run(run())
    return found
