"""What the cells of the list of chunks say, and which columns there is room for. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.tui.asked import LIVE, SHIFTS, cosine_cell, place_text, ranks_text, score_cell
from knobctl.tui.widgets.virtual_table import Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.diagnosis.side_by_side import Pair
    from knobctl.tui.ui import Role


class ChunkLines:
    """The chunks as a table shows them."""

    def __init__(self) -> None:
        self.pairs: Sequence[Pair] = ()
        self.other = "draft"
        self.revision = 0

    def take(self, pairs: Sequence[Pair], other: str) -> None:
        """Show others."""
        self.pairs, self.other = pairs, other
        self.revision += 1

    def columns(self, width: int) -> Sequence[Column]:
        """What becomes of a chunk, where it ends on both sides, its scores, ranks and cosine."""
        fixed = 8 + 5 + 5 + 5 + 5 + 12 + 5
        return (
            Column("shift", "", 8),
            Column("before", LIVE, 5, right=True),
            Column("after", self.other, 5, right=True),
            Column("chunk", "chunk", max(width - 3 - fixed - 8, 8)),
            Column("scored", "score", 5),
            Column("scores", self.other, 5),
            Column("ranks", "vec/bm25/rec", 12),
            Column("cosine", "cos", 5),
        )

    def cell(self, row: int, column: str) -> tuple[str, Role]:
        """What one cell says."""
        pair = self.pairs[row]
        found: dict[str, tuple[str, Role]] = {
            "shift": SHIFTS[pair.shift],
            "before": place_text(pair.before),
            "after": place_text(pair.after),
            "chunk": (pair.chunk_id or "?", ""),
            "scored": (score_cell(pair.before), "muted"),
            "scores": (score_cell(pair.after), ""),
            "ranks": (ranks_text(pair.seen), ""),
            "cosine": (cosine_cell(pair.seen), "muted"),
        }
        return found[column]

    def is_marked(self, row: int) -> bool:
        """Nothing is marked here."""
        del row
        return False
