"""The variable `evidence` of policies: of each file that bears on a tenant what it says, as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.checks.evidence_doubts import other_values
from knobctl.checks.evidence_files import NoEvidence
from knobctl.checks.evidence_json import figure_json
from knobctl.checks.evidence_record import measured_for
from knobctl.checks.evidences import layers_for, speaks_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from knobctl.checks.evidence_files import Evidence
    from knobctl.checks.evidences import Evidences
    from knobctl.documents.model import Effective

NOTHING: Final[Mapping[str, object]] = {
    "path": "",
    "kind": "",
    "why": "",  # why it says nothing of this tenant; empty where it does
    "fits": False,  # whether it measured the values that are wanted
    "tenants": [],
    "layer": "",
    "made_at": "",
    "questions": 0,
    "labelled": 0,
    "encoder": "",
    "chunks": 0,
    "knobs": {},
    "before": {},
    "figures": {},
}
"""Every fact, as it is of a file that says nothing."""


def evidence_facts(files: Evidences, effective: Effective) -> list[dict[str, object]]:
    """What policies see of the evidence that bears on a tenant.

    Args:
        files: The evidence of the repository.
        effective: The tenant's set.
    """
    if not files.repository.evidence_of(effective.document):
        return []
    return list(_facts(files, effective))


def _facts(files: Evidences, effective: Effective) -> Iterator[dict[str, object]]:
    document = effective.document
    layers = layers_for(files.repository, document)
    for one in files.of(document):
        if isinstance(one, NoEvidence):
            yield {**NOTHING, "path": one.path, "why": one.why}
        elif speaks_for(one.record, layers, document.name):
            yield _spoken(one, effective)
        elif one.path in document.evidence:
            why = f"it was measured for {measured_for(one.record)}"
            yield {**NOTHING, "path": one.path, "why": why}


def _spoken(one: Evidence, effective: Effective) -> dict[str, object]:
    record = one.record
    return {
        **NOTHING,
        "path": one.path,
        "kind": record.kind.value,
        "fits": not other_values(record, effective),
        "tenants": list(record.measured_tenants),
        "layer": (record.sample.layer if record.sample else None) or "",
        "made_at": record.made_at.isoformat(),
        "questions": record.questions,
        "labelled": record.labelled or 0,
        "encoder": record.encoder,
        "chunks": record.corpus.chunks,
        "knobs": dict(record.knobs),
        "before": dict(record.before),
        "figures": {
            name: _doubles(figure_json(one))
            for name, one in record.figures.items()
            if one is not None
        },
    }


def _doubles(figure: Any) -> object:  # noqa: ANN401  a part of a JSON document
    """A figure with numbers of one type, so that 0 and 0.5 compare with the same bound; counts stay whole."""
    if not isinstance(figure, dict):
        return None if figure is None else float(figure)
    counts = ("numerator", "denominator")
    return {name: part if name in counts else _doubles(part) for name, part in figure.items()}


def example_facts(named: list[Any]) -> list[dict[str, object]]:
    """What a policy's example says of evidence: a path alone, or the facts that its condition reads."""
    return [
        {**NOTHING, **({"path": one} if isinstance(one, str) else {"fits": True, **one})}
        for one in named
    ]
