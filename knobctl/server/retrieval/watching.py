"""Who wants to count what retrieval does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.server.retrieval.model import RankerReport


class Watcher(Protocol):
    """Is told what happens, from any thread, and has no say in it."""

    def looked_up(self, *, is_hit: bool) -> None:
        """Note a look into the result cache."""

    def asked(self, reports: Mapping[str, RankerReport]) -> None:
        """Note one fan-out, by ranker."""


class Watchers:
    """Those who watch one engine; nobody to begin."""

    def __init__(self) -> None:
        self._watching: list[Watcher] = []

    def add(self, watcher: Watcher) -> None:
        """Tell one more, from now on."""
        self._watching.append(watcher)

    def looked_up(self, *, is_hit: bool) -> None:
        """Tell everyone."""
        for watcher in self._watching:
            watcher.looked_up(is_hit=is_hit)

    def asked(self, reports: Mapping[str, RankerReport]) -> None:
        """Tell everyone."""
        for watcher in self._watching:
            watcher.asked(reports)
