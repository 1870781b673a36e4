"""A small corpus about workflows, with other things around it. Ages decide what is recent; nothing else does."""

from __future__ import annotations

from typing import Any

from tests.server.retrieval.engines import text

GATES = "workflow approval gates"
"""A query that many texts answer, in their words and in others."""
LONG = " ".join(
    f"Step {number}: the approver reads what the run is going to change, compares it with the plan, and writes down why."
    for number in range(1, 9)
)
"""About 200 tokens."""

CORPUS = [
    text(
        "gates-1",
        "Workflow approval gates hold a run until a person agrees.",
        age_h=100,
        document="gates",
    ),
    text(
        "gates-2", "An approval gate can be given to a group of people.", age_h=90, document="gates"
    ),
    text(
        "gates-3", "Approval gates of a workflow close after two days.", age_h=80, document="gates"
    ),
    text("handbook", "Workflow approval gates hold a run until one person agrees.", age_h=70),
    text("steps-1", f"Approval gates in detail. {LONG}", age_h=66, document="steps"),
    text(
        "steps-2",
        f"Workflow gates in practice. {LONG} Then the gate opens.",
        age_h=65,
        document="steps",
    ),
    text("pause", "The workflow pause endpoint stops a run in the middle.", age_h=60),
    text("cats", "Cats sleep for most of the day.", age_h=50, source="pets"),
    text("dogs", "Dogs want to walk twice a day.", age_h=45, source="pets"),
    text("invoices", "Invoices leave on the first day of each month.", age_h=40),
    text("violin", "A violin has four strings.", age_h=30),
    text("ferry", "The ferry crosses the strait at noon.", age_h=20),
    text("soup", "Boil the lentils for twenty minutes.", age_h=10),
    text("office", "The office moves to the second floor.", age_h=2),
    text("lunch", "Lunch is served in the garden.", age_h=1),
]
NARROW: dict[str, Any] = {
    "retrieval_vector_top_k": 4,
    "retrieval_recency_top_k": 2,
    "gate_mode": "DISABLED",
    "ranker_timeout_ms": 30_000,
}
"""So few rows that in this corpus the lists differ, and no expansion; nobody is late on a busy machine."""
