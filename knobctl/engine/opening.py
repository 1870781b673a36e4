"""Opens the engine that a target names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from knobctl.engine.interface import Engine
    from knobctl.engine.network import Network
    from knobctl.engine.target import Target
    from knobctl.knobs import Catalogue


@dataclass(frozen=True, slots=True, kw_only=True)
class InProcess:
    """How the embedded engine runs."""

    actor: str
    """Who is written into its audit events."""
    embedder: str | None = None
    """As `engine serve --embedder` takes it; None for the one that is shipped."""
    embedder_key: str | None = None


def open_engine(
    target: Target,
    *,
    catalogue: Catalogue,
    network: Network,
    in_process: InProcess,
    clock: Callable[[], datetime],
    notice: Callable[[str], None],
) -> Engine:
    """Open an engine for the caller. Nothing is sent to a remote one yet.

    Args:
        target: Which one; see `knobctl.engine.target.choose_target`.
        catalogue: Its knobs.
        network: Proxy, CA bundle and timeouts, resolved by the caller.
        in_process: How the embedded engine runs.
        clock: The embedded engine's clock.
        notice: Told, once each, what the engine cannot protect.

    Raises:
        EngineError: If the embedded store cannot be opened.
    """
    if target.is_embedded:
        from knobctl.engine.embedded import open_embedded

        return open_embedded(
            target.engine,
            catalogue,
            actor=in_process.actor,
            clock=clock,
            pace=network.pace,
            embedder=in_process.embedder,
            embedder_key=in_process.embedder_key,
        )
    from knobctl.engine.http import HttpEngine

    return HttpEngine(
        target.engine, catalogue, tokens=target.tokens, network=network, notice=notice
    )
