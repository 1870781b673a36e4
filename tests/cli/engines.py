"""An embedded engine with sets in it, for tests of commands that read."""

from __future__ import annotations

import json
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from knobctl.engine.embedded import EmbeddedEngine, open_embedded
from knobctl.knobs import load_catalogue
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.knobs import KnobValue

FIRST: Mapping[str, KnobValue] = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32}
SECOND: Mapping[str, KnobValue] = {"retrieval_min_score": 0.2, "recency_ranker_mode": "DISABLED"}


class Clock:
    """A clock that moves a minute a look."""

    def __init__(self, start: datetime) -> None:
        self._now = start

    def __call__(self) -> datetime:
        self._now += timedelta(minutes=1)
        return self._now


@contextmanager
def embedded(path: Path, clock: Clock | None = None) -> Iterator[EmbeddedEngine]:
    """The engine over a file."""
    clock = clock or Clock(datetime.now(UTC) - timedelta(hours=2))
    engine = open_embedded(f"embedded:{path}", load_catalogue(), actor="anna", clock=clock)
    try:
        yield engine
    finally:
        engine.close()


def write(
    engine: EmbeddedEngine, tenant: str, knobs: Mapping[str, KnobValue], reason: str = ""
) -> str:
    """Replace a tenant's set; gives the revision."""
    before = engine.read(tenant).revision
    receipt = engine.replace(
        tenant, knobs, expected_revision=before, reason=reason, idempotency_key=f"{tenant}-{before}"
    )
    assert receipt.revision
    return receipt.revision


def fits(answer: Any, name: str) -> None:
    """See that an answer is what its JSON Schema says."""
    schema = json.loads((shipped("schemas") / f"output-{name}.v1.schema.json").read_text())
    Draft202012Validator.check_schema(schema)
    Draft202012Validator(schema).validate(answer)
