"""Where the engine keeps knobs, audit events, principals and the catalogue of chunks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError, UsageError

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue
    from knobctl.server.store.interface import Store

EMBEDDED: Final = "embedded:"
POSTGRESQL: Final = "postgresql://"

_HOST: Final = r"(\[[^\[\]]*\]|[^\[\]:@#]*)(:\d*)?"
_HOSTS: Final = re.compile(f"{_HOST}(,{_HOST})*")
"""Hosts with their ports; what stands in the place of a port may be a password."""


def open_store(url: str, catalogue: Catalogue) -> Store:
    """Open the store that a URL names.

    Args:
        url: `embedded:FILE`; bare `embedded:` is `engine.db` in the user's data folder for knobctl.
            Or a `postgresql://` URI, as libpq reads it.
        catalogue: The knobs that it keeps.

    Raises:
        UsageError: If the URL names no store that is offered.
        EngineError: If the store cannot be used.
    """
    if url.startswith(POSTGRESQL):
        return _postgres(url, catalogue)
    file = embedded_file(url)
    if file is None:
        raise UsageError(
            f"no store is offered at {url.partition(':')[0]}:",
            hint="write embedded:FILE, embedded: alone for engine.db in your data folder,"
            " or postgresql://HOST/DATABASE",
        )
    from knobctl.server.store.sqlite import SqliteStore

    return SqliteStore(file, catalogue)


def embedded_file(url: str) -> Path | None:
    """The file of an embedded store; None where the URL names another kind of store."""
    if not url.startswith(EMBEDDED):
        return None
    named = url.removeprefix(EMBEDDED)
    return Path(named) if named else _own_file()


def shown(url: str) -> str:
    """Name a store without what may be secret in its URL: the user, the password, the parameters."""
    if not url.startswith(POSTGRESQL):
        return url
    from urllib.parse import parse_qs

    place, _, query = url.removeprefix(POSTGRESQL).partition("?")
    login, _, place = place.rpartition("@")
    hosts, _, database = place.partition("/")
    if "/" in login or not _HOSTS.fullmatch(hosts):
        return POSTGRESQL  # it is not written as it should be: any part may be the password
    named = parse_qs(query)
    hosts = hosts or ",".join(named.get("host", []))
    database = database or ",".join(named.get("dbname", []))
    return f"{POSTGRESQL}{hosts}{database and f'/{database}'}"


def _postgres(url: str, catalogue: Catalogue) -> Store:
    try:
        from knobctl.server.store.postgres import PostgresStore
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in {"sqlalchemy", "psycopg"}:
            raise
        raise UsageError(
            "a store in PostgreSQL needs packages that are not installed",
            hint="pip install 'knobctl[cluster]'",
        ) from error
    return PostgresStore(url, shown(url), catalogue)


def _own_file() -> Path:
    import platformdirs

    folder = Path(platformdirs.user_data_dir("knobctl", appauthor=False))
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise EngineError(f"the folder {folder} cannot be made: {error.strerror}") from error
    return folder / "engine.db"
