"""From a measurement to a push: what `simulate` wrote is what the plan says, and what a fleet's policy judges."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from knobctl.evidence.harvest.asked import question_id
from tests.cli.inside import ENGINE
from tests.cli.test_plan_evidence import STOPS, unbroken

if TYPE_CHECKING:
    from tests.cli.inside import Inside

ANSWERS: Final = {
    "How does a workflow wait for approval?": "gates",
    "Who may approve?": "approvals",
    "What is served on Mondays?": "canteen",
}
SILENT: Final = "no_match_min_cosine: 0.99"
"""Answers nothing to anybody."""
FLEET: Final = """\
fleet: default
evidence:
  required_for: [no_match_min_cosine]
  max_corpus_change: 1%
  sample_tenants: 2
"""
POLICY: Final = STOPS.replace("retrieval_min_score", "no_match_min_cosine")


def asked(inside: Inside) -> None:
    """Questions, and which documents answer them."""
    lines = [json.dumps({"question": one, "source": "question_list"}) for one in ANSWERS]
    inside.write("q.jsonl", "\n".join(lines) + "\n")
    judged = [f"{question_id(one)} 0 {answer} 1\n" for one, answer in ANSWERS.items()]
    inside.write("qrels", "".join(judged))


def simulated(inside: Inside, *more: str) -> None:
    """Measure, into ev.json."""
    judged = ("--questions", "q.jsonl", "--qrels", "qrels", "--output", "ev.json")
    done = inside("simulate", *more, *judged, *ENGINE)
    assert done.code == 0, done.err


def test_what_was_simulated_is_said_by_the_plan_and_stopped_by_the_fleet(probed: Inside) -> None:
    """Of one tenant: the same share in the sentence, in the policy and, where none stops it, in the audit event."""
    asked(probed)
    probed.write("fleet.yaml", FLEET)
    knobs = f"{{rrf_k: 50, mmr_lambda: 0.5, {SILENT}}}"
    probed.write("tenants/acme.yaml", f"tenant: acme\nknobs: {knobs}\n")
    plan = ("plan", "tenants/acme.yaml", *ENGINE)
    assert "evidence-missing" in probed(*plan).out
    simulated(probed, "--tenant", "acme", "--set", "no_match_min_cosine=0.99")
    shown = probed(*plan, "--evidence", "ev.json", "-o", "p.json")
    assert shown.code == 0, shown.out
    assert (
        "3 of 3 answerable questions lose their document to the floors (29.2..100.0%)"
        in unbroken(shown.out)
    )
    probed.write("p.yaml", POLICY)
    stopped = probed(*plan, "--evidence", "ev.json")
    assert stopped.code == 4
    assert "no-floor-that-loses-answers" in stopped.out
    (probed.folder / "p.yaml").unlink()
    assert probed("apply", "p.json", *ENGINE).code == 0
    reason = probed.events("acme")[-1]["reason"]
    assert reason.startswith("[evidence: 3 of 3 answerable questions lose their document")


def test_a_sample_that_was_simulated_covers_its_layer(probed: Inside) -> None:
    """Of three tenants two were asked: the third is covered by them, as long as their corpora are what they were."""
    asked(probed)
    probed.write("fleet.yaml", FLEET)
    probed.write("layers/strict.yaml", f"layer: strict\nevidence: [ev.json]\nknobs: {{{SILENT}}}\n")
    for name in ("acme", "bolt", "cork"):
        probed.write(f"tenants/{name}.yaml", f"tenant: {name}\nlayers: [strict]\nknobs: {{}}\n")
    (probed.folder / "tenants/delta.yaml").unlink(missing_ok=True)
    simulated(probed, ".", "--layer", "strict", "--sample", "2", "--seed", "5")
    assert probed("plan", *ENGINE).code == 0
    record = json.loads(probed.read("ev.json"))
    grown = record["sample"]["tenants"][0]
    probed.write("c.jsonl", json.dumps({"documentId": "new", "text": "Something new"}) + "\n")
    done = probed("engine", "load", "c.jsonl", "--tenant", grown, "--store", ENGINE[1])
    assert done.code == 0, done.err
    result = probed("plan", *ENGINE)
    assert result.code == 4
    chunks = record["measured"]["corpus"]["chunks"]
    words = f"it searched {chunks} chunks, and there are {chunks + 1} now"
    assert unbroken(result.out).count(words) >= 1
