"""Which tenants of a layer stand for all of them: drawn by a seed, the same ones each time. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def drawn(tenants: Iterable[str], most: int, *, seed: int) -> list[str]:
    """Draw so many tenants at most; a larger draw holds every smaller one.

    Args:
        tenants: Those that take the layer.
        most: How many, at least 1.
        seed: Of the draw.

    Returns:
        By name.
    """

    def turn(name: str) -> str:
        return sha256(f"{seed}:{name}".encode()).hexdigest()

    return sorted(sorted(set(tenants), key=turn)[:most])
