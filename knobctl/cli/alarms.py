"""What the engine inside this process cries out: nobody reads the log of a server that is none."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_LOUD: Final = ("knobctl.server.in_force", "knobctl.server.knobs")
"""Who finds that a stored set is damaged, or cannot be asked for."""
_FEW: Final = 3
"""So many are told: a damaged store may hold thousands of sets."""


@contextmanager
def alarms_told(notice: Callable[[str], None]) -> Iterator[None]:
    """Tell of sets that the engine could not load and of which the last good one stays in force."""
    handler = _Told(notice)
    loggers = [logging.getLogger(name) for name in _LOUD]
    for logger in loggers:
        logger.addHandler(handler)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeHandler(handler)


class _Told(logging.Handler):
    """Hands the first few messages on."""

    def __init__(self, notice: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._notice = notice
        self._told: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        """Tell each message once; of many, that there are more."""
        message = record.getMessage()
        if message in self._told or len(self._told) > _FEW:
            return
        self._told.add(message)
        more = len(self._told) > _FEW
        self._notice("and more of the kind" if more else visible(message))
