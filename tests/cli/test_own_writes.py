"""The journals tell which revisions this user's runs wrote."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.changes.own_writes import own_writes
from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.inside import Inside


def test_a_run_is_known_by_the_revision_it_wrote(inside: Inside) -> None:
    """On the same engine alone, and as far as one looks."""
    inside.hold(retrieval_min_score=0.4)
    inside.hold(retrieval_min_score=0.45)
    listed = inside("runs", "--format", "json").json["runs"]
    names = [one["run"] for one in listed][::-1]
    folder, here = next((inside.folder.parent / "home").rglob("runs")), inside.folder
    assert own_writes(folder, ENGINE[1], here) == {
        ("acme", "r1"): names[0],
        ("acme", "r2"): names[1],
    }
    assert own_writes(folder, "embedded:other.db", here) == {}
    assert own_writes(folder, ENGINE[1], here / "elsewhere") == {}
    assert own_writes(folder, ENGINE[1], here, most_bytes=10) == {}
    (folder / "torn.jsonl").write_bytes(b'{"chain": "x", "record": {"kind"')
    assert len(own_writes(folder, ENGINE[1], here)) == 2


def test_without_journals_nothing_is_ours(tmp_path: Path) -> None:
    """A new machine."""
    assert own_writes(tmp_path / "none", ENGINE[1], tmp_path) == {}
