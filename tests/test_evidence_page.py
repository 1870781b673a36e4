"""docs/evidence.md says what the product does: its documents are accepted, its policy stops what it says, its sentence is made."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from knobctl.checks.evidence_facts import NOTHING
from tests.checks.evidence_records import SENTENCE, record_text
from tests.cli.inside import ENGINE

if TYPE_CHECKING:
    from tests.cli.inside import Inside

PAGE: Final = (Path(__file__).parent.parent / "docs" / "evidence.md").read_text(encoding="utf-8")
NAMING, FLEET, POLICY = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
NO_BOUNDS: Final = "fleet: production\nevidence: {required_for: [retrieval_min_score]}\n"


def test_its_documents_are_accepted(inside: Inside) -> None:
    """The naming, the fleet, the policy with its examples."""
    inside.write("knobctl.toml", "")
    for name, content in (("a.yaml", NAMING), ("fleet.yaml", FLEET), ("p.yaml", POLICY)):
        inside.write(name, content)
    assert inside("validate").code == 0
    done = inside("policy", "test", "no-floor-that-loses-answers")
    assert (done.code, done.out) == (0, "1 policy, 3 examples: no findings\n")


@pytest.mark.parametrize("stops", [False, True])
def test_its_change_is_shown_as_it_says_and_stopped_by_its_policy(
    inside: Inside, stops: bool
) -> None:
    """The sentence under the tenant; with the policy, and a record that the fleet finds sound, exit 4."""
    inside.write("knobctl.toml", "")
    inside.write("fleet.yaml", NO_BOUNDS)
    inside.write("tenants/acme.yaml", NAMING.partition("---")[0])
    inside.write("evidence/acme.json", record_text(tenant="acme"))
    if stops:
        inside.write("p.yaml", POLICY)
    result = inside("plan", "--fleet", "production", *ENGINE)
    shown = " ".join(result.out.split())
    assert result.code == (4 if stops else 0)
    assert (f"evidence {SENTENCE} (evidence/acme.json)" in shown) is not stops
    assert ("acme: more than 1% of the answerable questions may lose" in shown) is stops
    said, told = _timeless(SENTENCE), _timeless(" ".join(PAGE.split()))
    assert f"evidence {said} (evidence/acme.json)" in told


def _timeless(shown: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "DAY", shown)


def test_it_names_every_fact_that_a_policy_sees() -> None:
    """In the table of CEL's `evidence`."""
    table = PAGE.partition("## What a policy can demand")[2].partition("```")[0]
    assert set(re.findall(r"`(\w+)`", table)) >= NOTHING.keys()
