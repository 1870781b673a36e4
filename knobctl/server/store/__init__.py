"""Where the engine keeps knobs, audit events and principals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError, UsageError

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue
    from knobctl.server.store.interface import Store

EMBEDDED: Final = "embedded:"


def open_store(url: str, catalogue: Catalogue) -> Store:
    """Open the store that a URL names.

    Args:
        url: `embedded:FILE`; bare `embedded:` is `engine.db` in the user's data folder for knobctl.
        catalogue: The knobs that it keeps.

    Raises:
        UsageError: If the URL names no store that is offered.
        EngineError: If the store cannot be used.
    """
    file = embedded_file(url)
    if file is None:
        raise UsageError(
            f"no store is offered at {url.partition(':')[0]}:",
            hint="write embedded:FILE, or embedded: alone for engine.db in your data folder",
        )
    from knobctl.server.store.sqlite import SqliteStore

    return SqliteStore(file, catalogue)


def embedded_file(url: str) -> Path | None:
    """The file of an embedded store; None where the URL names another kind of store."""
    if not url.startswith(EMBEDDED):
        return None
    named = url.removeprefix(EMBEDDED)
    return Path(named) if named else _own_file()


def _own_file() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_data_dir("knobctl", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"the folder {folder} cannot be made: {error.strerror}") from error
    return folder / "engine.db"
