"""A calibration that is kept: what was measured, of what, and until when it may be used. No probe stands in it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime  # noqa: TC003  read at run time: what a snapshot is made of
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pydantic import TypeAdapter, ValidationError

from knobctl.errors import InputError
from knobctl.evidence.calibrating import Calibration  # noqa: TC001  read at run time
from knobctl.evidence.noise_floor import Measurement  # noqa: TC001  read at run time
from knobctl.evidence.private_files import write_private
from knobctl.text import count, visible

if TYPE_CHECKING:
    from pathlib import Path

FORMAT: Final = "knobctl-calibration"
FORMAT_VERSION: Final = 1
_DRIFT: Final = 0.10
"""So much may the number of chunks change before it is told apart from a mere change."""


class Mode(StrEnum):
    """How it was measured."""

    DEFAULT = "default"
    COMPAT = "compat"
    """As the given package does, to the bit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoder:
    """What made the vectors; those of another one cannot be compared with them."""

    model: str | None
    """None where nobody says."""
    revision: str | None = None
    dims: int | None = None
    pooling: str | None = None
    prefix: str | None = None
    """What is put before a question; empty where nothing is, None where nobody says."""
    normalised: bool | None = None
    """Whether vectors are made unit length."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProbeSet:
    """The probes without a word of them."""

    number: int
    digest: str
    """SHA-256, lower-case hex."""
    version: int | None = None
    """Of the shipped set; None for somebody's own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """What was measured."""

    chunks: int
    digest: str
    documents: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """Whose corpus it is: a tenant's on an engine, or that of a file of vectors."""

    engine: str | None = None
    tenant: str | None = None
    vectors: str | None = None
    """The file, its path whole and without links."""

    @property
    def words(self) -> str:
        """For people."""
        return visible(str(self.tenant or self.vectors))


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """What a measurement holds for."""

    encoder: Encoder
    probes: ProbeSet
    corpus: Corpus


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """One measurement."""

    format: str = FORMAT
    format_version: int = FORMAT_VERSION
    mode: Mode
    subject: Subject
    made_at: datetime
    made_by: str
    """The program and its version."""
    expires_at: datetime
    fingerprint: Fingerprint
    on_topic_digest: str | None = None
    """Of the questions that the corpus is about; None where there were none."""
    measured: Calibration | None = None
    """In the default mode."""
    given: Measurement | None = None
    """In compat mode."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """A calibration and its file, as it stands today."""

    path: Path
    snapshot: Snapshot
    anew: bool = False
    """Whether it was measured just now."""
    compared: bool = False
    """Whether it was held against what is there now."""
    mismatches: tuple[str, ...] = ()
    """Why it says nothing about that."""
    drift: str | None = None
    """How the corpus differs from what was measured."""


_SNAPSHOT: Final = TypeAdapter(Snapshot)


def snapshot_path(folder: Path, subject: Subject, mode: Mode) -> Path:
    """Where the calibration of a corpus lies: a file each, named by a digest, as engines may be named anything.

    Args:
        folder: That of all calibrations.
        subject: Whose corpus.
        mode: How it is measured.
    """
    key = "\n".join((mode, subject.engine or "", subject.tenant or "", subject.vectors or ""))
    return folder / f"{sha256(key.encode(errors='surrogatepass')).hexdigest()[:32]}.json"


def write_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Write one in the place of an earlier one, whole or not at all, readable by its owner alone.

    Raises:
        AnswerError: If the disk or the permissions do not allow it.
    """
    document = without_infinities(_SNAPSHOT.dump_python(snapshot, mode="json"))
    write_private(path, (json.dumps(document, indent=2, allow_nan=False).encode(), b"\n"))


def without_infinities(value: Any) -> Any:  # noqa: ANN401  JSON
    """The same JSON with what is no finite number as a text: `NaN`, `Infinity`, `-Infinity`."""
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else f"{'-' if value < 0 else ''}Infinity"
        case dict():
            return {key: without_infinities(part) for key, part in value.items()}
        case list() | tuple():
            return [without_infinities(part) for part in value]
        case _:
            return value


def read_snapshot(path: Path) -> Snapshot | None:
    """Read one; None where there is none.

    Raises:
        InputError: If the file is no calibration of this format.
    """
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{visible(str(path))} cannot be read: {error.strerror}") from error
    try:
        found = _SNAPSHOT.validate_json(raw)
    except ValidationError as error:
        raise _no_calibration(path) from error
    known = (found.format, found.format_version) == (FORMAT, FORMAT_VERSION)
    if not known or (found.measured is None) == (found.given is None):
        raise _no_calibration(path)
    return found


def snapshots(folder: Path) -> list[Kept]:
    """Every calibration that is kept, by whose corpus it is; what is none is passed over."""
    found = []
    for path in sorted(folder.glob("*.json")):
        try:
            snapshot = read_snapshot(path)
        except InputError:
            continue
        if snapshot:
            found.append(Kept(path=path, snapshot=snapshot))
    return sorted(found, key=lambda one: (one.snapshot.subject.words, one.snapshot.mode))


def _no_calibration(path: Path) -> InputError:
    return InputError(
        f"{visible(str(path))} is no calibration that can be read", hint="measure anew: --force"
    )


def mismatches(made: Fingerprint, now: Fingerprint) -> list[str]:
    """Say why a measurement says nothing about what is there now; nothing where it does.

    What nobody says, then or now, is held against nobody.
    """
    found = []
    for name in ("model", "revision", "dims", "pooling", "prefix", "normalised"):
        then, here = getattr(made.encoder, name), getattr(now.encoder, name)
        if None not in (then, here) and then != here:
            found.append(f"{_NAMES[name]} was {_shown(then)} and is {_shown(here)}")
    if made.probes.digest != now.probes.digest:
        found.append("the probes are others")
    return found


_NAMES: Final = {
    "model": "the embedder",
    "revision": "its revision",
    "dims": "the number of dimensions",
    "pooling": "its pooling",
    "prefix": "the prefix of questions",
    "normalised": "whether vectors are made unit length",
}


def _shown(value: object) -> str:
    return visible(str(value)) or "none"


def drift(made: Corpus, now: Corpus) -> str | None:
    """Say how the corpus differs from what was measured; None where it is the same."""
    if made.digest == now.digest:
        return None
    change = abs(now.chunks - made.chunks) / max(made.chunks, 1)
    chunks = f"{made.chunks:,} then, {now.chunks:,} now"
    if change > _DRIFT:
        return f"the corpus has {count(now.chunks, 'chunk')}, it had {made.chunks:,} when it was measured ({change:.0%})"
    return f"the corpus has changed since it was measured ({chunks})"
