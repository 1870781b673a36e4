"""Engines that something happens to: the real embedded engine, with a hand on the door."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.engine.interface import EngineRefusedError
from knobctl.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.engine.embedded import EmbeddedEngine
    from knobctl.engine.interface import LiveSet, Receipt
    from knobctl.knobs import KnobValue


class Watched:
    """Passes calls on; before each write, lets a hook act or raise."""

    def __init__(self, inner: EmbeddedEngine, before_write: Callable[[str], None]) -> None:
        self.inner = inner
        self.name = inner.name
        self.before_write = before_write
        self.writes: list[str] = []

    def read(self, tenant: str) -> LiveSet:
        return self.inner.read(tenant)

    def replace(self, tenant: str, knobs: Mapping[str, KnobValue], **options: Any) -> Receipt:
        self.before_write(tenant)
        self.writes.append(tenant)
        return self.inner.replace(tenant, knobs, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


def refusing(*tenants: str) -> Callable[[str], None]:
    """Refuse the writes of some tenants, as an engine with a stricter rule does."""

    def hook(tenant: str) -> None:
        if tenant in tenants:
            raise EngineRefusedError("no", code="invalid_argument")

    return hook


def out_of_reach_from(tenant: str) -> Callable[[str], None]:
    """Be gone from the write of one tenant on."""
    gone: list[str] = []

    def hook(asked: str) -> None:
        if asked == tenant or gone:
            gone.append(asked)
            raise EngineError("the connection was refused")

    return hook
