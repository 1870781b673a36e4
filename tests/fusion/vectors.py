"""The exact fusion cases, as they were given."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from knobctl.fusion import Reach, Setup, reach

VECTORS: Final[dict[str, Any]] = json.loads(
    (Path(__file__).parent.parent / "data" / "rrf.json").read_bytes()
)
RANKERS: Final = ("vector", "bm25", "recency")
EQUAL: Final = dict.fromkeys(RANKERS, 1)
BY_LETTER: Final = dict(zip("vbr", RANKERS, strict=True))


def reached(
    floor: object,
    *,
    k: int = 60,
    weights: dict[str, object] | None = None,
    depths: dict[str, int] | None = None,
) -> Reach:
    """The reach of a floor; three equal rankers of 50, 50 and 20 rows unless told otherwise."""
    chosen = weights or EQUAL
    return reach(
        Setup(
            floor=Fraction(str(floor)),
            k=k,
            weights={name: Fraction(str(weight)) for name, weight in chosen.items()},
            depths=depths
            if depths is not None
            else {
                name: depth
                for name, depth in zip(RANKERS, (50, 50, 20), strict=True)
                if name in chosen
            },
        )
    )
