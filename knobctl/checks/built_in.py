"""The policies that ship with knobctl: all of them, or an error. A rule that is lost says nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Document, Kind
from knobctl.documents.reader import read_bytes
from knobctl.errors import InstallationError, UsageError
from knobctl.finding import Severity
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from pathlib import Path

_AGAIN = "install knobctl again"


@lru_cache(maxsize=1)
def built_in_documents() -> tuple[Document, ...]:
    """Read the policies that ship with knobctl, one file each, by name.

    Raises:
        UsageError: If there are none.
        InstallationError: If one cannot be read.
    """
    paths = sorted(shipped("policies").glob("*.yaml"))
    if not paths:
        raise UsageError("0 policies ship with this knobctl, so nothing passes", hint=_AGAIN)
    return tuple(map(_policy, paths))


def _policy(path: Path) -> Document:
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise InstallationError(f"{path} cannot be read: {error.strerror}", hint=_AGAIN) from error
    found = sort_documents(read_bytes(raw, f"policies/{path.name}"), named=True)
    wrong = [one for one in found.findings if one.severity is Severity.ERROR]
    if wrong:
        line = wrong[0].primary.line if wrong[0].primary else 1
        raise InstallationError(f"{path}:{line} is no policy: {wrong[0].message}", hint=_AGAIN)
    match found.documents:
        case [Document(kind=Kind.POLICY) as policy]:
            return policy
        case _:
            raise InstallationError(f"{path} is not one policy", hint=_AGAIN)
