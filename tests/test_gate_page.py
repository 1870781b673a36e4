"""docs/gate.md says what there is: its own policy holds, and its tables list what exists."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from knobctl.checks.expressions import VARIABLES
from knobctl.report.formats import FORMATS

if TYPE_CHECKING:
    from tests.cli.inside import Inside

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "gate.md").read_text()


def listed(head: str) -> set[str]:
    """What stands as code in the first column of the table with this head."""
    rows = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0].split("\n")[2:]
    return {name for row in rows for name in re.findall("`([a-z_]+)`", row.split("|")[1])}


def test_its_policy_and_its_setting_work(inside: Inside) -> None:
    """Pasted into a repository as they are: the examples hold, and the rule finds what it should."""
    (policy,) = re.findall(r"```yaml\n(policy: .*?)```", PAGE, re.DOTALL)
    (settings,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    inside.write("policies/own.yaml", policy)
    inside.write("knobctl.toml", settings)
    inside.write("acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
    name = policy.partition("\n")[0].removeprefix("policy: ")
    assert inside("policy", "test", name, "--fail-on", "warning").code == 0
    found = {
        one["rule"]: one["severity"] for one in inside("check", "--format", "json").json["findings"]
    }
    assert found[name] == "error"
    assert found["floor-diverges-from-expanded-floor"] == "error"


@pytest.mark.parametrize(
    ("head", "known"),
    [("`--format` | is", set(FORMATS)), ("variable", set(VARIABLES))],
)
def test_its_tables_are_complete(head: str, known: set[str]) -> None:
    """Each format, each variable of a condition, and none that is not there."""
    assert listed(head) == known


def test_its_words_for_other_engines_are_those_of_the_schema() -> None:
    """What the page says of `x-knob` can be written there."""
    schema = json.loads((ROOT / "schemas" / "knob-schema.v1.schema.json").read_text())
    assert listed("`x-knob`") <= set(schema["$defs"]["knob"]["properties"]["x-knob"]["properties"])
