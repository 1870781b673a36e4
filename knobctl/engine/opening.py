"""Opens the engine that a target names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from knobctl.engine.interface import Engine
    from knobctl.engine.network import Network
    from knobctl.engine.target import Target
    from knobctl.knobs import Catalogue

STORE_FILE: Final = "engine.db"
"""What bare `embedded:` is, in the user's data folder."""


def open_engine(  # noqa: PLR0913  each is one thing that only the edge knows
    target: Target,
    *,
    catalogue: Catalogue,
    network: Network,
    actor: str,
    clock: Callable[[], datetime],
    data_folder: Path,
    notice: Callable[[str], None],
) -> Engine:
    """Open an engine for the caller. Nothing is sent to a remote one yet.

    Args:
        target: Which one; see `knobctl.engine.target.choose_target`.
        catalogue: Its knobs.
        network: Proxy, CA bundle and timeouts, resolved by the caller.
        actor: Who the embedded engine writes into its audit events.
        clock: The embedded engine's clock.
        data_folder: Where bare `embedded:` keeps its store.
        notice: Told, once each, what the engine cannot protect.

    Raises:
        EngineError: If the embedded store cannot be opened.
    """
    if target.is_embedded:
        from knobctl.engine.embedded import open_embedded

        return open_embedded(
            target.engine, catalogue, actor=actor, clock=clock, data_folder=data_folder
        )
    from knobctl.engine.http import HttpEngine

    return HttpEngine(
        target.engine, catalogue, tokens=target.tokens, network=network, notice=notice
    )
