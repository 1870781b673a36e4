"""The scripts of examples/ do what their tables in the README say."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.evidence.recordings import SHIPPED, read

EXAMPLES = Path(__file__).parents[1] / "examples"
FLOORS = EXAMPLES / "floors.py"
ROW = re.compile(r"^(\d\.\d\d) +(\d+) of (\d+) .* (\d+) of (\d+)$", re.MULTILINE)


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_the_table_of_floors_jumps_at_a_third(tmp_path: Path) -> None:
    """Vector-only matches die at 1/3, nearly all others at 2/3; the shares are those measured elsewhere."""
    done = subprocess.run(
        [sys.executable, FLOORS], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lost = {floor: int(count) for floor, count, *_ in ROW.findall(done.stdout)}
    alone = {floor: (int(count), int(of)) for floor, _, _, count, of in ROW.findall(done.stdout)}
    assert list(lost) == ["0.15", "0.30", "0.33", "0.34", "0.50", "0.66", "0.70"]
    assert alone["0.15"][0] == 0
    assert alone["0.33"][0] < alone["0.34"][0] == alone["0.34"][1] > 20
    measured = {"0.30": 25, "0.33": 52, "0.34": 83, "0.66": 580, "0.70": 2073}
    for floor, count in measured.items():
        assert lost[floor] == pytest.approx(count, rel=0.2), floor


@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_recorded_scores_are_made_anew_as_they_are_shipped(tmp_path: Path) -> None:
    """The same questions under the same fusion; scores by rank, so nearly all of them are equal."""
    script = EXAMPLES / "record_scores.py"
    made = tmp_path / "scores.jsonl"
    subprocess.run([sys.executable, script, "--output", made], cwd=tmp_path, check=True)
    shipped, anew = read(SHIPPED), read(made)
    then = shipped.heading
    assert replace(anew.heading, made_at=then.made_at, made_by=then.made_by) == then
    pairs = list(zip(shipped.questions, anew.questions, strict=True))
    assert all(one.id == other.id for one, other in pairs)
    assert sum(one.fused == other.fused for one, other in pairs) > 360


def test_the_policies_to_take_over_do_what_their_examples_say(inside: Inside) -> None:
    """Each passes what it says and finds fault with what it says."""
    own = sorted(path.stem for path in (EXAMPLES / "policies").glob("*.yaml"))
    result = inside("policy", "test", *own, "--path", EXAMPLES / "policies", "--fail-on", "warning")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith(f"{len(own)} policies, ")
