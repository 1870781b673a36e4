"""When a call is sent again, how long it waits before that, and what the person hears of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from urllib3.exceptions import InvalidHeader, MaxRetryError
from urllib3.util.retry import Retry

if TYPE_CHECKING:
    from collections.abc import Callable

    from urllib3 import BaseHTTPResponse

    from knobctl.engine.network import Network

TOLD_FROM_S: Final = 1.0
"""A pause from which on the person hears why nothing happens."""


class Waiting(Retry):
    """A retry policy of urllib3 whose pauses are spread, told of, and cut short when the run is stopped.

    Who was refused at one time must not come back at one time: Retry-After is honoured and then some,
    up to a cap; without it the pause doubles each time.
    """

    network: Network
    say: Callable[[str], None]

    @classmethod
    def of(cls, network: Network, say: Callable[[str], None], **policy: Any) -> Waiting:
        """Make the policy of one call.

        Args:
            network: How long to wait at most, what spreads the pauses, and what stops them.
            say: Told why a call waits.
            policy: What is sent again, in urllib3's own terms.
        """
        made = cls(
            backoff_factor=network.backoff_s,
            backoff_max=network.longest_pause_s,
            retry_after_max=network.longest_pause_s,
            **policy,
        )
        made.network, made.say = network, say
        return made

    def new(self, **changed: Any) -> Self:
        """The policy after an attempt."""
        made = super().new(**changed)
        made.network, made.say = self.network, self.say
        return made

    def increment(self, *arguments: Any, **attempt: Any) -> Self:
        """Count an attempt; once the run is stopped, it was the last one.

        Raises:
            MaxRetryError: If the call is not sent again.
        """
        counted = super().increment(*arguments, **attempt)
        if self.network.stop.is_set():
            pool = attempt.get("_pool")
            assert pool is not None
            raise MaxRetryError(pool, str(attempt.get("url")), attempt.get("error"))
        return counted

    def sleep(self, response: BaseHTTPResponse | None = None) -> None:
        """Wait before the call is sent again."""
        pause_s = self._pause_s(response)
        if pause_s >= TOLD_FROM_S:
            what = f"answers HTTP {response.status}" if response else "cannot be reached"
            self.say(f"{what}; waiting and trying again")
        if pause_s > 0:
            self.network.stop.wait(pause_s)
        if self.network.pace:
            self.network.pace.turn()

    def _pause_s(self, response: BaseHTTPResponse | None) -> float:
        cap, chance = float(self.network.longest_pause_s), self.network.chance()
        wanted = (self._wanted_s(response) if response else None) or 0.0
        spread = wanted and wanted + chance * (self.network.backoff_s + wanted / 4)
        if spread > cap:
            return cap * (1 - chance / 4)
        # Who says "in a second" again and again is waited for longer and longer all the same.
        return max(spread, self._doubled_s(response, cap) * (0.75 + chance / 2))

    def _doubled_s(self, response: BaseHTTPResponse | None, cap: float) -> float:
        # A connection that was kept open and is gone by now is worth an attempt at once.
        times = len(self.history) if response else len(self.history) - 1
        return float(min(cap, self.network.backoff_s * 2 ** (times - 1))) if times > 0 else 0.0

    def _wanted_s(self, response: BaseHTTPResponse) -> float | None:
        try:
            return self.get_retry_after(response)
        except InvalidHeader:
            return None
