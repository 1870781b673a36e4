"""Reads the evidence files that tenants name: what was measured, with which values, when, on what."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema_rs

from knobctl.canonical import NoCanonicalFormError
from knobctl.checks.evidence_json import read_record, record_digest
from knobctl.documents.reader import MAX_BYTES
from knobctl.documents.strict_json import read_json
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.checks.evidence_record import Record
    from knobctl.knobs import Catalogue

SCHEMA: Final = "evidence.v1.schema.json"
_SCORES: Final = b'"format":"knobctl-replay-scores"'
"""What the first line of another file that tenants name as evidence says: one line a question."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """What one file says was measured."""

    path: str
    record: Record
    digest: str = field(default="", compare=False)
    """Of the record as it stands in the file."""


class NoEvidence(NamedTuple):
    """A file that is named as evidence and is none."""

    path: str
    why: str
    """Continues `evidence/acme.json: `."""


def evidence_in(raw: bytes, path: str, catalogue: Catalogue) -> Evidence | NoEvidence:
    """Read the content of an evidence file.

    Args:
        raw: The content.
        path: The file, as documents name it.
        catalogue: The knobs, for names and values.
    """
    try:
        document = _accepted(raw)
        return Evidence(path, read_record(document, catalogue), record_digest(document))
    except UnicodeDecodeError as error:
        return NoEvidence(path, f"no UTF-8 at byte {error.start}")
    except (ValueError, NoCanonicalFormError) as error:
        return NoEvidence(path, str(error))


def _accepted(raw: bytes) -> Mapping[str, Any]:
    """The JSON of a file that the schema of evidence accepts.

    Raises:
        ValueError: Saying why it does not.
    """
    if why := _no_summary(raw):
        raise ValueError(why)
    try:
        value: Mapping[str, Any] = read_json(raw)
    except UnicodeDecodeError:
        raise
    except ValueError as error:
        raise ValueError(f"no JSON: {error}") from error
    fault = next(iter(_schema().iter_errors(value)), None)
    if fault is not None:
        where = ".".join(map(str, fault.instance_path))
        raise ValueError(
            f"no evidence by its schema: {where + ': ' if where else ''}{fault.message}"
        )
    return value


def _no_summary(raw: bytes) -> str | None:
    """Why a file is none before it is read; None where nothing speaks against it."""
    if _SCORES in raw.partition(b"\n")[0]:
        return "recorded scores, which the floor lab draws; no summary of them"
    if len(raw) > MAX_BYTES:
        return f"more than {MAX_BYTES:,} bytes, the most that a file may hold"
    return None


@lru_cache(maxsize=1)
def _schema() -> jsonschema_rs.Draft202012Validator:
    return jsonschema_rs.Draft202012Validator(
        json.loads((shipped("schemas") / SCHEMA).read_bytes())
    )
