"""Reads the evidence files that tenants name: what was measured, with which values, when, on what."""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema_rs

from knobctl.documents.reader import MAX_BYTES
from knobctl.documents.sources import read_enclosed
from knobctl.documents.strict_json import read_json
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.knobs import Catalogue, KnobValue

SCHEMA: Final = "evidence.v1.schema.json"
_SCORES: Final = b'"format":"knobctl-replay-scores"'
"""What the first line of another file that tenants name as evidence says: one line a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What one file says was measured."""

    path: str
    tenant: str
    knobs: Mapping[str, KnobValue]
    """The values in force while it was measured."""
    made_at: datetime
    questions: int
    encoder: str
    chunks: int


class NoEvidence(NamedTuple):
    """A file that is named as evidence and is none."""

    path: str
    why: str
    """Continues `evidence/acme.json: `."""


def evidence_digest(root: Path, path: str) -> str | None:
    """SHA-256 of an evidence file, lower-case hex; None where it cannot be read."""
    try:
        return sha256(read_enclosed(root, path)).hexdigest()
    except OSError:
        return None


def read_evidence(root: Path, path: str, catalogue: Catalogue) -> Evidence | NoEvidence:
    """Read one evidence file of a repository.

    Args:
        root: The repository: nothing outside it is read, and no link is followed.
        path: The file, as a tenant's document names it.
        catalogue: The knobs, for names and values.
    """
    try:
        raw = read_enclosed(root, path)
    except OSError as error:
        return NoEvidence(path, (error.strerror or "it cannot be read").lower())
    if why := _no_summary(raw):
        return NoEvidence(path, why)
    try:
        value = read_json(raw)
    except UnicodeDecodeError as error:
        return NoEvidence(path, f"no UTF-8 at byte {error.start}")
    except ValueError as error:
        return NoEvidence(path, f"no JSON: {error}")
    fault = next(iter(_schema().iter_errors(value)), None)
    if fault is not None:
        where = ".".join(map(str, fault.instance_path))
        return NoEvidence(
            path, f"no evidence by its schema: {where + ': ' if where else ''}{fault.message}"
        )
    return _evidence(path, value, catalogue)


def _no_summary(raw: bytes) -> str | None:
    """Why a file is none before it is read; None where nothing speaks against it."""
    if _SCORES in raw.partition(b"\n")[0]:
        return "recorded scores, which the floor lab draws; no summary of them"
    if len(raw) > MAX_BYTES:
        return f"more than {MAX_BYTES:,} bytes, the most that a file may hold"
    return None


def _evidence(path: str, value: Mapping[str, Any], catalogue: Catalogue) -> Evidence | NoEvidence:
    measured = value["measured"]
    knobs = measured["knobs"]
    for name, written in knobs.items():
        if name not in catalogue:
            return NoEvidence(path, f"it measured {name}, which is no knob")
        if not catalogue[name].accepts(written):
            return NoEvidence(path, f"it measured {name} {written}, which is no value of it")
    try:
        made_at = datetime.fromisoformat(value["made_at"])
    except ValueError:
        return NoEvidence(path, f"made_at is {value['made_at']}; there is no such time")
    return Evidence(
        path=path,
        tenant=measured["tenant"],
        knobs={
            knob.name: knob.canonical(knobs[knob.name])
            if knobs[knob.name] != knob.unset
            else knob.default
            for knob in catalogue.knobs
            if knob.name in knobs
        },
        made_at=made_at,
        questions=measured["questions"],
        encoder=measured["encoder"],
        chunks=measured["corpus"]["chunks"],
    )


@lru_cache(maxsize=1)
def _schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        json.loads((shipped("schemas") / SCHEMA).read_bytes())
    )
