"""What the terminal UI shows, as text, compared with golden pictures.

To refresh them after a wanted change, look at what differs and run
`KNOBCTL_WRITE_PICTURES=1 python -m pytest -n 0 tests/tui`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from rich.segment import Segment
    from textual.app import App

GOLDEN: Final = Path(__file__).parent / "golden"


def strips(app: App[Any]) -> list[list[Segment]]:
    """The segments of every line that is seen, boxes over places included."""
    return [list(strip) for strip in app.screen._compositor.render_strips()]


def picture(app: App[Any]) -> str:
    """The screen as text, without what is blank at the end of lines."""
    rows = ("".join(segment.text for segment in row).rstrip() for row in strips(app))
    return "\n".join(rows).rstrip() + "\n"


def assert_picture(name: str, found: str, folder: Path = GOLDEN) -> None:
    """Compare with the golden picture of a name; write it where that is asked for."""
    path = folder / f"{name}.txt"
    if os.environ.get("KNOBCTL_WRITE_PICTURES"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(found, encoding="utf-8")
    assert found == path.read_text(encoding="utf-8")
