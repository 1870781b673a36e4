"""Fetches a list page by page: in large pages where the engine takes them, and the next ones while one is read."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.engine.ahead import Ahead
from knobctl.engine.answers import MAX_ANSWER_BYTES, NonsenseError
from knobctl.engine.failures import CallFailedError
from knobctl.engine.interface import EngineRefusedError
from knobctl.engine.wire import text_field
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Fetch: TypeAlias = Callable[[Mapping[str, Any]], bytes]

FIRST_PAGE: Final = 200
LARGE_PAGE: Final = 1000
SLOW_PAGE_S: Final = 5.0
"""From here on a first page took so long that a large one may take longer than any answer may."""
MAX_PAGES: Final = 100_000
_TOO_LARGE: Final = frozenset({"invalid_argument", "out_of_range"})
"""How an engine may say that it does not take pages of a size."""
_NEXT_PAGE: Final = re.compile(rb'"next(?:PageToken|_page_token)"\s*:\s*"([\w.~/+=:-]{1,900})"')
_TAIL_BYTES: Final = 1024


class Paging:
    """One list of an engine."""

    def __init__(
        self, fetch: Fetch, read: Callable[[bytes], Mapping[str, Any]], *, ahead: bool
    ) -> None:
        """Make ready to fetch; nothing is asked yet.

        Args:
            fetch: Sends a call with these fields and gives the body of its answer.
            read: Reads a body.
            ahead: Whether pages are asked for before those in front of them are read.
        """
        self._fetch = fetch
        self._read = read
        self._is_ahead = ahead
        self._ahead: Ahead[tuple[bytes, str]] | None = None
        self._size = FIRST_PAGE

    def begin(self) -> None:
        """Ask for the first pages, before anybody wants to read them."""
        self._ahead = self._ahead or Ahead(self._following(""))

    def stop(self) -> None:
        """Ask for no more."""
        if self._ahead:
            self._ahead.stop()

    def pages(self) -> Iterator[Mapping[str, Any]]:
        """Give page after page, once.

        Raises:
            NonsenseError: If the list does not end.
            EngineError: What `fetch` and `read` raise.
        """
        token, bodies = "", self._bodies("")
        try:
            for _ in range(MAX_PAGES):
                body, guess = next(bodies)
                page = self._read(body)
                yield page
                token, previous = text_field(page, "nextPageToken", "next_page_token"), token
                if not token:
                    return
                if token == previous:
                    break
                if token != guess:
                    self.stop()
                    bodies = self._bodies(token)
            raise NonsenseError("a list that does not end")
        finally:
            self.stop()

    def _bodies(self, token: str) -> Iterator[tuple[bytes, str]]:
        if not self._is_ahead:
            return self._following(token)
        if token or not self._ahead:
            self._ahead = Ahead(self._following(token))
        return self._ahead.items()

    def _following(self, token: str) -> Iterator[tuple[bytes, str]]:
        """Give the pages from a token on, each with where the next one seems to begin.

        That stands at the end of a page: the next one is asked for before this one is read, and what comes
        counts only if the page, once it is read, says the same.
        """
        while True:
            body = self._page(token)
            token = self._guess(body)
            yield body, token
            if not token:
                return

    def _guess(self, body: bytes) -> str:
        found = _NEXT_PAGE.findall(body[-_TAIL_BYTES:]) if self._is_ahead else []
        return found[-1].decode() if found else ""

    def _page(self, token: str) -> bytes:
        """Fetch a page, in a smaller piece where the engine does not give as large a one."""
        size, start = self._size, time.monotonic()
        try:
            body = self._fetch(_fields(size, token))
        except EngineError as error:
            if size == FIRST_PAGE or not _may_be_too_large(error):
                raise
            self._size = FIRST_PAGE
            return self._fetch(_fields(FIRST_PAGE, token))
        is_light = len(body) * LARGE_PAGE // FIRST_PAGE < MAX_ANSWER_BYTES // 2
        if not token and is_light and time.monotonic() - start < SLOW_PAGE_S:
            self._size = LARGE_PAGE
        return body


def _fields(size: int, token: str) -> dict[str, Any]:
    return {"pageSize": size, "pageToken": token} if token else {"pageSize": size}


def _may_be_too_large(error: EngineError) -> bool:
    """Whether a page may have failed for its size."""
    if isinstance(error, EngineRefusedError):
        return error.code in _TOO_LARGE
    return isinstance(error.__cause__, CallFailedError) and error.__cause__.started
