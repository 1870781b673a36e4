"""How the network is used: resolved once, where the environment is known."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Event
from typing import TYPE_CHECKING

from knobctl.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from knobctl.engine.pace import Pace


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
    """Pause before the second repetition; doubles each time, spread by a quarter either way."""
    longest_pause_s: int = 20
    """Cap on any pause, Retry-After included: no server parks the command line for hours."""
    pace: Pace | None = None
    """Gives the turns of all requests of this run; None where nobody limits them."""
    chance: Callable[[], float] = field(default=lambda: 0.5, repr=False)
    """A number from 0 to 1 that spreads the pauses of those who were refused together."""
    stop: Event = field(default_factory=Event, repr=False)
    """Set from outside: what waits goes on at once, and nothing is sent once more after that."""


def assert_bundle(bundle: Path | None) -> None:
    """See that a CA bundle can be trusted from, before anything is sent.

    Raises:
        UsageError: If it is not there or holds no certificates.
    """
    if bundle is None:
        return
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        if bundle.is_dir():
            context.load_verify_locations(capath=bundle)
        else:
            context.load_verify_locations(cafile=bundle)
    except ssl.SSLError as error:
        raise UsageError(f"the CA bundle {bundle} holds no certificates") from error
    except OSError as error:
        raise UsageError(f"the CA bundle {bundle} cannot be read: {error.strerror}") from error
