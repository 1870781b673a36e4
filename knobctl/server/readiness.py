"""Whether an engine can answer calls, and why not, in words that give nothing away."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from knobctl.server.calls import Threads
from knobctl.server.candidates.interface import CandidatesUnavailableError
from knobctl.server.context_rpc import context_of
from knobctl.server.refusal import ServiceError
from knobctl.server.retrieval.embedder import EmbedderUnavailableError
from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.server.limits import Stopping
    from knobctl.server.opening import Services

log: Final = logging.getLogger(__name__)

HOLDS_S: Final = 1.0
"""How long an answer holds: whoever asks more often, and anybody may ask, is told the same again."""
EMBEDDER_HOLDS_S: Final = 60.0
"""How long it holds that the embedder answers: some are paid by the call."""
STOPPING: Final = "the engine is stopping"
NO_STORE: Final = "the store cannot be asked"
NO_RETRIEVAL: Final = "retrieval cannot be opened"
NO_EMBEDDER: Final = "the embedder did not answer"
NO_INDEX: Final = "the index cannot be asked"


class Readiness:
    """Asks what an engine stands on, at most once a second, however many want to know."""

    def __init__(
        self, services: Services, stopping: Stopping, *, monotonic: Callable[[], float]
    ) -> None:
        self._services = services
        self._stopping = stopping
        self._monotonic = monotonic
        self._threads = Threads(1, "readiness", stopping)
        self._one_at_a_time = asyncio.Lock()
        self._store: tuple[float, str] = (-HOLDS_S, "")
        self._retrieval: tuple[float, str] = (-HOLDS_S, "")
        self._embedder_asked_again_at = -HOLDS_S

    async def knobs_troubles(self) -> list[str]:
        """Why knobs cannot be read and written; nothing if they can."""
        if self._stopping.begun.is_set():
            return [STOPPING]
        async with self._one_at_a_time:
            if self._monotonic() >= self._store[0]:
                reason = await self._threads.run(self._ask_store)
                self._store = (self._monotonic() + HOLDS_S, reason)
        return [self._store[1]] if self._store[1] else []

    async def retrieval_troubles(self) -> list[str]:
        """Why retrieval cannot be asked where it is offered; nothing if it can, or is not offered."""
        troubles = await self.knobs_troubles()
        if troubles or self._services.missing:
            return troubles
        async with self._one_at_a_time:
            if self._monotonic() >= self._retrieval[0]:
                reason = await self._threads.run(self._ask_retrieval)
                self._retrieval = (self._monotonic() + HOLDS_S, reason)
        return [self._retrieval[1]] if self._retrieval[1] else []

    def _ask_store(self) -> str:
        try:
            with self._services.knobs.store.reading() as session:
                session.revision("-")
        except StoreUnavailableError as error:
            log.warning("not ready: %s: %s", NO_STORE, error)
            return NO_STORE
        return ""

    def _ask_retrieval(self) -> str:
        try:
            context_of(self._services)
            if self._monotonic() >= self._embedder_asked_again_at:
                self._services.ask_embedder()
                self._embedder_asked_again_at = self._monotonic() + EMBEDDER_HOLDS_S
            self._services.ask_index()
        except ServiceError:  # it is logged where it is raised
            return NO_RETRIEVAL
        except CandidatesUnavailableError as error:
            log.warning("not ready: %s: %s", NO_INDEX, error)
            return NO_INDEX
        except EmbedderUnavailableError as error:
            log.warning("not ready: %s: %s", NO_EMBEDDER, error)
            return NO_EMBEDDER
        return ""
