"""What shell completion offers: from this machine alone, quickly, and silent about any trouble."""

from __future__ import annotations

import os
import re
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import platformdirs

from knobctl.errors import KnobctlError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    import click

    from knobctl.knobs import Catalogue

BUDGET_S: Final = 0.12
"""How long folders are searched: a key press must not wait."""
EMBEDDED: Final = "embedded:"
_TENANT: Final = re.compile(
    rb"""^[ \t{"']*tenant["']?[ \t]*:[ \t]*["']?([a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?)["']?[ \t\r,}#]*$""",
    re.MULTILINE,
)
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def contexts() -> list[str]:
    """The names of the user's contexts."""
    named = _context_file().get("contexts")
    return list(named) if isinstance(named, dict) else []


def tenants(engine: str | None = None) -> list[str]:
    """The tenants of the repository around the working folder, and of the embedded engine if it is meant.

    Args:
        engine: What `--engine` says, if anything.
    """
    deadline = time.monotonic() + BUDGET_S
    found = set(_written_tenants(deadline))
    with suppress(KnobctlError, OSError):  # a key press is no place for an error
        found.update(_embedded_tenants(_meant_engine(engine), deadline))
    return sorted(found)


def knobs(schema: str | Path | None = None) -> list[tuple[str, str]]:
    """The knobs by name, each with its title."""
    catalogue = _catalogue(schema)
    return [(knob.name, knob.title) for knob in catalogue] if catalogue else []


def assignments(incomplete: str, schema: str | Path | None = None) -> list[tuple[str, str]]:
    """Complete `KNOB=VALUE`: names up to the sign, then the values that mean something."""
    name, sign, _ = incomplete.partition("=")
    if not sign:
        return [(f"{knob}=", title) for knob, title in knobs(schema)]
    catalogue = _catalogue(schema)
    knob = catalogue.by_any_name.get(name) if catalogue else None
    if knob is None:
        return []
    from knobctl.text import spelled

    if knob.choices:
        return [(f"{name}={choice}", "") for choice in knob.settable]
    offered = {
        spelled(knob.default): "the platform default",
        spelled(knob.minimum): "the smallest",
        spelled(knob.maximum): "the largest",
    }
    return [(f"{name}={value}", meaning) for value, meaning in offered.items() if value != "0"]


def complete_knobs(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
    """Click's completion of a knob's name."""
    return _items(knobs(ctx.params.get("schema")), incomplete)


def complete_assignments(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[Any]:
    """Click's completion of `KNOB=VALUE`."""
    return _items(assignments(incomplete, ctx.params.get("schema")), incomplete)


def run_items(incomplete: str, *, unfinished: bool) -> list[Any]:
    """Complete the name of a run, newest first; with what each is.

    Args:
        incomplete: What is typed of it.
        unfinished: Whether only those are offered of which something is left.
    """
    from knobctl.changes.run_folder import glimpses

    deadline = time.monotonic() + BUDGET_S
    found: list[tuple[str, str]] = []
    folder = Path(platformdirs.user_state_dir("knobctl")) / "runs"
    for one in glimpses(folder):
        if time.monotonic() > deadline:
            break
        if one.name.startswith(incomplete) and not (unfinished and one.has_ended):
            found.append((one.name, visible(one.what)))
    return _items(found, incomplete)


def _items(offered: list[tuple[str, str]], incomplete: str) -> list[Any]:
    from click.shell_completion import CompletionItem

    return [
        CompletionItem(text, help=meaning or None)
        for text, meaning in offered
        if text.startswith(incomplete)
    ]


def _catalogue(schema: str | Path | None) -> Catalogue | None:
    from knobctl.knobs import load_catalogue

    try:
        return load_catalogue(schema or os.environ.get("KNOBCTL_SCHEMA"))
    except KnobctlError:
        return None


def _context_file() -> dict[str, Any]:
    """The contexts as they stand, unjudged: pydantic would take longer than a key press may."""
    from knobctl.documents.reader import read_bytes

    path = Path(platformdirs.user_config_dir("knobctl")) / "contexts.yaml"
    try:
        text = read_bytes(path.read_bytes(), "")
    except OSError:
        return {}
    value = text.trees[0].value if text.trees else None
    return value if isinstance(value, dict) else {}


def _meant_engine(engine: str | None) -> str:
    if chosen := engine or os.environ.get("KNOBCTL_ENGINE"):
        return chosen
    book = _context_file()
    named, current = book.get("contexts"), os.environ.get("KNOBCTL_CONTEXT") or book.get("current")
    context = named.get(current) if isinstance(named, dict) and isinstance(current, str) else None
    url = context.get("engine") if isinstance(context, dict) else None
    return url if isinstance(url, str) else EMBEDDED


def _embedded_tenants(engine: str, deadline: float) -> Iterator[str]:
    """The tenants of an embedded engine whose file is there; it is not made for a key press."""
    if not engine.startswith(EMBEDDED):
        return
    name = engine.removeprefix(EMBEDDED)
    path = (
        Path(name).expanduser()
        if name
        else Path(platformdirs.user_data_dir("knobctl")) / "engine.db"
    )
    catalogue = _catalogue(None)
    if not path.is_file() or catalogue is None:
        return
    from datetime import UTC, datetime

    from knobctl.engine.embedded import open_embedded

    opened = open_embedded(
        f"{EMBEDDED}{path}", catalogue, actor="", clock=lambda: datetime.now(UTC)
    )
    try:
        for live in opened.list():
            yield live.tenant
            if time.monotonic() > deadline:
                return
    finally:
        opened.close()


def _written_tenants(deadline: float) -> Iterator[str]:
    """The tenants that files of the repository name, found by a look at their lines."""
    from knobctl.documents.repository import repository_root

    root, _ = repository_root(Path.cwd())
    for folder, below, names in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        for name in names:
            if time.monotonic() > deadline:
                return
            if name.endswith(_SUFFIXES) and not name.startswith("."):
                yield from _tenants_in(Path(folder) / name)


def _tenants_in(path: Path) -> list[str]:
    try:
        with path.open("rb") as file:
            start = file.read(64 * 1024)
    except OSError:
        return []
    return [name.decode() for name in _TENANT.findall(start)]
