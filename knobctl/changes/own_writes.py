"""Which revisions of which tenants this user's runs wrote, by their journals; believed unproven."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from knobctl.changes.outcomes import Outcome
from knobctl.changes.run_folder import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

MOST_BYTES: Final = 64 * 2**20
"""So much of the journals is looked at, the latest first: that is what 20,000 written tenants take."""
_OUTCOME: Final = b'"record": {"kind": "outcome"'
_WRITTEN: Final = frozenset({Outcome.APPLIED, Outcome.ROLLED_BACK})
_EMBEDDED: Final = "embedded:"


def own_writes(
    folder: Path, engine: str, here: Path, *, most_bytes: int = MOST_BYTES
) -> dict[tuple[str, str], str]:
    """Find the runs that wrote to an engine.

    Args:
        folder: Where the journals lie.
        engine: As the session names it.
        here: The working folder, in which the name of an engine on a file means something.
        most_bytes: How much to look at.

    Returns:
        By tenant and revision, the run.
    """
    found: dict[tuple[str, str], str] = {}
    with suppress(OSError):
        paths = [(path.stat(), path) for path in folder.glob(f"*{SUFFIX}")]
        for state, path in sorted(paths, key=lambda one: one[0].st_mtime_ns, reverse=True):
            most_bytes -= state.st_size
            if most_bytes < 0:
                break
            with suppress(OSError, ValueError, KeyError, TypeError):
                for tenant, revision in _writes(path, engine, here):
                    found.setdefault((tenant, revision), path.stem)
    return found


def _writes(path: Path, engine: str, here: Path) -> Iterator[tuple[str, str]]:
    with path.open("rb") as file:
        heading = json.loads(file.readline())["record"]
        if not _is_of(heading, engine, here):
            return
        for line in file:
            if _OUTCOME not in line or not line.endswith(b"\n"):
                continue
            record = json.loads(line)["record"]
            if record["outcome"] in _WRITTEN and record["revision"]:
                yield str(record["tenant"]), str(record["revision"])


def _is_of(heading: Mapping[str, object], engine: str, here: Path) -> bool:
    if heading["engine"] != engine:
        return False
    is_relative = engine.startswith(_EMBEDDED) and not engine.startswith(
        (f"{_EMBEDDED}/", "embedded:~")
    )
    return not is_relative or engine == _EMBEDDED or heading["folder"] == str(here)
