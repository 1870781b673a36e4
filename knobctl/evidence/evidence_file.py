"""Writes a record of evidence: aggregates alone, so that it may lie in a repository and be read by all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.checks.evidence_json import record_bytes
from knobctl.documents.files import write_atomically
from knobctl.errors import AnswerError
from knobctl.text import visible

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.checks.evidence_record import Record


def write_evidence(path: Path, record: Record) -> None:
    """Write a record whole or not at all.

    Raises:
        AnswerError: If the disk or the permissions do not allow it; the old file stays as it was.
    """
    try:
        write_atomically(path, record_bytes(record))
    except OSError as error:
        raise AnswerError(f"{visible(str(path))} could not be written: {error.strerror}") from error
