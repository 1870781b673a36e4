"""How the network is used: resolved once, where the environment is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """Proxy, trust and patience of every call to an engine."""

    proxy: str | None = field(default=None, repr=False)
    """URL of the proxy; None to connect directly. May hold a password."""
    ca_bundle: Path | None = None
    """Certificates to trust instead of the usual ones."""
    connect_timeout_s: float = 5.0
    answer_timeout_s: float = 30.0
    """For one attempt, from the request to the last byte of its answer."""
    retries: int = 3
    """How often a call is repeated where the engine cannot be reached or breaks off."""
    patience: int = 8
    """How often it is repeated where the engine answers that it has too much to do."""
    backoff_s: float = 0.3
    """Pause before the second repetition; doubles each time, with as much jitter."""
    longest_pause_s: int = 20
    """Cap on any pause, Retry-After included: no server parks the command line for hours."""
