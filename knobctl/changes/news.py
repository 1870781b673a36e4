"""How a push goes on, told as it happens: who watches one tenant's write wants to see each step. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Step(StrEnum):
    """What was just done."""

    NOTED = "noted"
    """The write stands in the journal, on the disk."""
    SENT = "sent"
    """It is on its way to the engine."""
    ANSWERED = "answered"
    """The engine says that it is written."""
    READ_BACK = "read_back"
    """What the engine holds now was read, and compared with what was sent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The journal of a run stands on the disk; nothing is sent yet."""

    run: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Halted:
    """The emergency stop ends a run."""

    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class News:
    """One step of one tenant's write."""

    tenant: str
    step: Step
    revision: str | None = None
    """The revision that the write made, where the engine says one."""
