"""The name of the call that is being answered: what its answer, its log lines and its errors have in common."""

from __future__ import annotations

import re
from contextvars import ContextVar
from typing import Final

_WELL_FORMED: Final = re.compile(r"[A-Za-z0-9._:/+=-]{1,128}")

_current: ContextVar[str] = ContextVar("request_id", default="")


def current_request_id() -> str:
    """The id of the call that this thread or task answers; empty outside one.

    A thread of a pool knows it where its work was started with `contextvars.copy_context().run`.
    """
    return _current.get()


def begin_request(request_id: str) -> None:
    """From here on, in this context, a call is answered under this id."""
    _current.set(request_id)


def is_request_id(text: str) -> bool:
    """Whether a caller's own id is taken: short, and made of characters that no log reads as its own."""
    return _WELL_FORMED.fullmatch(text) is not None
