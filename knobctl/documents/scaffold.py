"""The knob repository that `knobctl init` makes: its files, and how they come into a folder."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from knobctl.documents.bundling import SUFFIX, bundled_schema
from knobctl.documents.files import write_atomically
from knobctl.documents.settings import SETTINGS_FILE
from knobctl.shipped import shipped

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

REQUIREMENTS: Final = "requirements.txt"
"""The one file that says where pipelines and hooks get knobctl from."""

UNKNOWN_SOURCE: Final = "<put here where pip gets knobctl from>"
"""What no pip takes for a package: a pipeline stops there and shows the line."""

_FOR_EDITORS: Final = ("knob-set", "knobctl-toml")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaffolded:
    """What became of the files of a scaffold, by names relative to the folder."""

    written: tuple[str, ...]
    left: tuple[str, ...]
    """Those that were there before, and stay as they are."""


def scaffold_files(source: str | None) -> dict[str, str]:
    """The texts of a new knob repository by their names, the settings last: they make it one.

    Args:
        source: Where pip gets knobctl from, as a line of its requirements; None where nobody knows.
    """
    folder = shipped("scaffold")
    names = sorted(path.relative_to(folder).as_posix() for path in _files_below(folder))
    texts = {name: (folder / name).read_text(encoding="utf-8") for name in names}
    texts[REQUIREMENTS] += f"{source or UNKNOWN_SOURCE}\n"
    for schema in _FOR_EDITORS:
        texts[f"schemas/{schema}{SUFFIX}"] = f"{json.dumps(bundled_schema(schema), indent=1)}\n"
    settings = texts.pop(SETTINGS_FILE)
    return {**dict(sorted(texts.items())), SETTINGS_FILE: settings}


def _files_below(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def scaffold(folder: Path, files: Mapping[str, str], *, write: bool = True) -> Scaffolded:
    """Bring files into a folder that need not exist; what is there stays as it is.

    Args:
        folder: Where to.
        files: Their texts by name, in the order in which they are written.
        write: Whether to write; if not, the answer is what would become of them.

    Raises:
        OSError: If the disk or the permissions do not allow it; what was written by then stays, each file whole.
    """
    left = [name for name in files if os.path.lexists(folder / name)]
    written = [name for name in files if name not in left]
    for name in written if write else ():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, files[name].encode())
    return Scaffolded(written=tuple(written), left=tuple(left))
