"""How much one caller may ask for: calls a second, bytes of a request, and time to send it."""

from __future__ import annotations

import asyncio
import math
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final, TypeVar

from connectrpc.code import Code
from connectrpc.errors import ConnectError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from knobctl.server.auth import Caller

LARGEST_BODY: Final = 1 << 20
"""Bytes of a request, unpacked. A config with every knob has about one thousand."""
LARGEST_INGEST: Final = 16 << 20
"""The same for chunks."""
REST_OF_A_BODY: Final = 4 * LARGEST_INGEST
"""Bytes of a body too large that are read and dropped, so that its sender hears why instead of a broken pipe."""
BURST_S: Final = 2
"""How many seconds' worth of calls a caller may make at once, after a rest."""
WHOLE_REQUEST_S: Final = 60.0
"""How long a request may take to arrive whole."""
LAST_WAIT_S: Final = 1.0
"""How long the rest of a request may take to arrive when the server stops."""
GRACE_S: Final = 10.0
"""How long calls in flight may take when the server stops."""

T = TypeVar("T")


class Rate:
    """Calls a second for each caller: a bucket that refills at that rate and holds `BURST_S` of it."""

    def __init__(self, per_s: float, *, monotonic: Callable[[], float]) -> None:
        self.per_s = per_s
        self._largest = max(1.0, per_s * BURST_S)
        self._monotonic = monotonic
        self._buckets: dict[Caller, tuple[float, float]] = {}
        """Caller to the calls it has left and the time of that; as many as there are principals."""

    def wait_s(self, caller: Caller) -> int:
        """Take one call from a caller's bucket: 0 if it may go on, else the whole seconds that it must wait."""
        now = self._monotonic()
        left, since = self._buckets.get(caller, (self._largest, now))
        left = min(self._largest, left + (now - since) * self.per_s)
        admitted = left >= 1
        self._buckets[caller] = (left - 1 if admitted else left, now)
        return 0 if admitted else math.ceil((1 - left) / self.per_s)


class Stopping:
    """Whether the server was told to stop; ends the waits that would last as long as a client likes."""

    def __init__(self, *, grace_s: float = GRACE_S) -> None:
        self.begun = asyncio.Event()
        self.grace_s = grace_s
        """How long calls in flight may take from then on."""
        self._waits: dict[asyncio.Timeout, float] = {}
        """Each with the seconds that it may last from the stop on."""

    def begin(self) -> None:
        """Stop."""
        self.begun.set()
        now = asyncio.get_running_loop().time()
        for wait, grace_s in self._waits.items():
            wait.reschedule(min(wait.when() or math.inf, now + grace_s))

    async def wait_for(
        self, something: Awaitable[T], *, grace_s: float, deadline: float = math.inf
    ) -> T:
        """Wait for something.

        Args:
            something: What is waited for; it is cancelled where it does not come.
            grace_s: How long the wait may last when the server stops.
            deadline: A time of the loop at which it ends in any case.

        Raises:
            TimeoutError: If it did not come.
        """
        if self.begun.is_set():
            deadline = min(deadline, asyncio.get_running_loop().time() + grace_s)
        async with asyncio.timeout_at(None if deadline == math.inf else deadline) as wait:
            self._waits[wait] = grace_s
            try:
                return await something
            finally:
                del self._waits[wait]


def too_large(largest: int) -> str:
    """Say that a request has more than that many bytes."""
    return f"the request is larger than {largest >> 20} MiB; send less, or several requests"


class Arriving:
    """The body of one request on its way in, in the place of ASGI's `receive`.

    Raises:
        ConnectError: `resource_exhausted` for a body too large, `deadline_exceeded` for one that
            takes too long, `unavailable` for one that is still on its way when the server stops.
    """

    def __init__(
        self,
        receive: Callable[[], Awaitable[Any]],
        *,
        largest: int,
        stopping: Stopping,
        within_s: float = WHOLE_REQUEST_S,
    ) -> None:
        self._receive = receive
        self._largest = largest
        self._stopping = stopping
        self._within_s = within_s
        self._deadline = asyncio.get_running_loop().time() + within_s
        self._bytes = 0
        self.is_whole = False
        """Whether all of it was read."""

    async def __call__(self) -> Any:  # noqa: ANN401  ASGI's own types are no stricter
        """Give the next message."""
        if self.is_whole:
            return await self._receive()
        message = await self._next()
        while self._largest < self._bytes < REST_OF_A_BODY and not self.is_whole:
            message = await self._next()
        if self._bytes > self._largest:
            raise ConnectError(Code.RESOURCE_EXHAUSTED, too_large(self._largest))
        return message

    async def drop_the_rest(self) -> None:
        """Read what has not arrived yet and drop it, as far as its sender is in time.

        Of a stream of HTTP/2 that was answered before, hypercorn takes the rest of the body for a fault
        of the whole connection, with every other call on it.
        """
        with suppress(ConnectError):
            while not self.is_whole and self._bytes < REST_OF_A_BODY:
                await self._next()

    async def _next(self) -> Any:  # noqa: ANN401  as above
        try:
            message = await self._stopping.wait_for(
                self._receive(), grace_s=LAST_WAIT_S, deadline=self._deadline
            )
        except TimeoutError as error:
            if self._stopping.begun.is_set():
                raise ConnectError(
                    Code.UNAVAILABLE, "the engine is stopping; send the request again"
                ) from error
            raise ConnectError(
                Code.DEADLINE_EXCEEDED, f"the request did not arrive within {self._within_s:g} s"
            ) from error
        if message["type"] == "http.request":
            self._bytes += len(message.get("body", b""))
        self.is_whole = message["type"] != "http.request" or not message.get("more_body", False)
        return message
