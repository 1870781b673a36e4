"""`knobctl.toml`: the settings of one repository."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from knobctl.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from knobctl.documents.sources import Files
    from knobctl.finding import Severity

SETTINGS_FILE: Final = "knobctl.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeverityOverride:
    """A rule that weighs more or less in this repository, and why."""

    severity: Severity
    reason: str
    line: int = field(default=1, compare=False)
    """Where it stands in the file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositorySettings:
    """What `knobctl.toml` says; all of it optional."""

    schema: Path | None = None
    """Another engine's knob schema, as a path that exists inside the repository."""
    skip: tuple[str, ...] = ()
    """Patterns of folders and files that are passed over."""
    default_fleet: str | None = None
    severities: Mapping[str, SeverityOverride] = field(default_factory=dict)
    """By rule id."""
    benchmark: Mapping[str, Any] = field(default_factory=dict)
    """The tables `benchmark_relevance_floor`, `query`, `benchmark` and `llm`, as they stand."""


def read_settings(root: Path, files: Files | None = None) -> RepositorySettings:
    """Read the settings of a repository; the defaults where it has no `knobctl.toml`.

    Args:
        root: Its folder.
        files: Where to read from, such as a Git revision; None for the folder itself.

    Raises:
        InputError: Naming the line and the key that is wrong.
    """
    path = root / SETTINGS_FILE
    if files is None and os.path.lexists(path) and not os.path.isfile(path):  # noqa: PTH113  no error in a locked folder
        raise InputError(f"{path} is no file", hint="what it would say of severities is not known")
    if not (os.path.lexists(path) if files is None else files.kind(SETTINGS_FILE) == "file"):
        return RepositorySettings()
    # pydantic costs a tenth of a second: only a repository with settings pays for it.
    from knobctl.documents.settings_file import parse_settings

    return parse_settings(
        path, path.read_bytes if files is None else partial(files.read, SETTINGS_FILE)
    )
