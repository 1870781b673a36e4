"""Opens the engine that a target names."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from knobctl.engine.interface import Engine
    from knobctl.engine.network import Network
    from knobctl.engine.target import Target
    from knobctl.knobs import Catalogue


def open_engine(
    target: Target,
    *,
    catalogue: Catalogue,
    network: Network,
    actor: str,
    clock: Callable[[], datetime],
    notice: Callable[[str], None],
) -> Engine:
    """Open an engine for the caller. Nothing is sent to a remote one yet.

    Args:
        target: Which one; see `knobctl.engine.target.choose_target`.
        catalogue: Its knobs.
        network: Proxy, CA bundle and timeouts, resolved by the caller.
        actor: Who the embedded engine writes into its audit events.
        clock: The embedded engine's clock.
        notice: Told, once each, what the engine cannot protect.

    Raises:
        EngineError: If the embedded store cannot be opened.
    """
    if target.is_embedded:
        from knobctl.engine.embedded import open_embedded

        return open_embedded(target.engine, catalogue, actor=actor, clock=clock)
    from knobctl.engine.http import HttpEngine

    return HttpEngine(
        target.engine, catalogue, tokens=target.tokens, network=network, notice=notice
    )
