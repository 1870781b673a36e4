"""The command line that shows what the fleet's list shows, or that does to the marked tenants what is done in bulk. Pure."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.tui.fleet import Fleet


_MANY: Final = 50
"""So many tenants are named."""


def twin_of(
    fleet: Fleet,
    marked: Sequence[int],
    words: Sequence[str],
    shown: Sequence[int],
    *,
    path: str,
    typed: str,
) -> str:
    """The command: of the marked tenants their diff, else what the filter comes to.

    Args:
        fleet: The columns.
        marked: The marked rows.
        words: The words of the filter.
        shown: The rows that it leaves.
        path: What the session was opened with.
        typed: The options that lead to the same engine.
    """
    files = [fleet.sources[row] for row in marked if fleet.sources[row]]
    if files:
        return f"knobctl diff {shlex.join(files)}{typed}"
    if marked:
        return f"knobctl get {shlex.join(fleet.names[row] for row in marked)}{typed}"
    where = shlex.quote(path)
    labels = [word.removeprefix("label:") for word in words if word.startswith("label:")]
    chosen = "".join(f" -l {shlex.quote(one)}" for one in labels if "=" in one and "|" not in one)
    if "state:drift" in words:
        return f"knobctl drift {where}{chosen}{typed}"
    if any(word.startswith(("state:", "rule:")) for word in words):
        return f"knobctl check {where}"
    if words and not chosen and 0 < len(shown) <= _MANY:
        return f"knobctl get {shlex.join(fleet.names[row] for row in shown)}{typed}"
    return f"knobctl get{chosen}{typed}"
