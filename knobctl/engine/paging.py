"""Fetches a list page by page: in large pages where the engine takes them, and the next one while one is read."""

from __future__ import annotations

import re
import time
from concurrent.futures import Future, wait
from threading import Thread
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from knobctl.engine.answers import MAX_ANSWER_BYTES, NonsenseError
from knobctl.engine.failures import CallFailedError
from knobctl.engine.interface import EngineRefusedError
from knobctl.engine.wire import text_field
from knobctl.errors import EngineError, KnobctlError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    Fetch: TypeAlias = Callable[[Mapping[str, Any]], bytes]

FIRST_PAGE: Final = 200
LARGE_PAGE: Final = 1000
SLOW_PAGE_S: Final = 5.0
"""From here on a first page took so long that a large one may take longer than any answer may."""
HEAD_START_S: Final = 0.004
"""What a request gets to be on its way: reading a page keeps the interpreter from other threads."""
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
            ahead: Whether to ask for the next page while one is read.
        """
        self._fetch = fetch
        self._read = read
        self._ahead = ahead
        self._size = FIRST_PAGE

    def pages(self) -> Iterator[Mapping[str, Any]]:
        """Give page after page.

        Raises:
            NonsenseError: If the list does not end.
            EngineError: What `fetch` and `read` raise.
        """
        token, asked = "", None
        for _ in range(MAX_PAGES):
            body = asked.result() if asked else self._page(token)
            # Where the next page begins stands at the end: it is asked for before this one is read, and
            # what comes back counts only if the page, once it is read, says the same.
            guess = self._guess(body)
            asked = _begun(self._page, guess) if guess else None
            if asked:
                wait((asked,), HEAD_START_S)
            page = self._read(body)
            yield page
            token, previous = text_field(page, "nextPageToken", "next_page_token"), token
            if not token:
                return
            if token == previous:
                break
            asked = asked if token == guess else None
        raise NonsenseError("a list that does not end")

    def _guess(self, body: bytes) -> str:
        found = _NEXT_PAGE.findall(body[-_TAIL_BYTES:]) if self._ahead else []
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


def _begun(page: Callable[[str], bytes], token: str) -> Future[bytes]:
    """Ask for a page in a thread of its own, for which nobody waits who does not want the page any more."""
    future: Future[bytes] = Future()

    def ask() -> None:
        try:
            future.set_result(page(token))
        except KnobctlError as error:
            future.set_exception(error)
        except BaseException as error:
            future.set_exception(error)
            raise

    Thread(target=ask, name="knobctl-page", daemon=True).start()
    return future
