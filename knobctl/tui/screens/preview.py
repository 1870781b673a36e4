"""Lines that are looked at before something is done, or only looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll

from knobctl.tui.screens.box import Box
from knobctl.tui.ui import Words, line, lines

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult

    from knobctl.tui.detail import Line


class PreviewScreen(Box[bool]):
    """Shows lines. Where something can be agreed to, `y` does, and neither Enter nor the key that led here."""

    DEFAULT_CSS = """
    PreviewScreen > .box { height: auto; max-height: 100%; }
    PreviewScreen VerticalScroll { height: auto; max-height: 1fr; scrollbar-size-vertical: 1; background: $background; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "yes", show=False),
        Binding("n,q", "leave", "no", show=False),
        Binding("j", "scroll(1)", "down", show=False),
        Binding("k", "scroll(-1)", "up", show=False),
    ]

    def __init__(self, title: str, shown: Iterable[Line], *, yes: str = "") -> None:
        """Take the lines.

        Args:
            title: What they are.
            shown: The lines.
            yes: What agreeing does, by its effect; empty where there is nothing to agree to.
        """
        super().__init__()
        self._title, self._shown, self._yes = title, tuple(shown), yes

    def compose(self) -> ComposeResult:
        """The title, the lines, what the keys do."""
        with Vertical(classes="box"):
            yield Words(line((self._title, "strong")))
            with VerticalScroll():
                yield Words(lines(*(line(*one) for one in self._shown)))
            keys = f"y {self._yes}   n or Esc: no" if self._yes else "Esc closes"
            yield Words(line((keys, "muted")), id="said")

    def on_mount(self) -> None:
        """Let the arrows scroll."""
        self.query_one(VerticalScroll).focus()

    def action_scroll(self, by: int) -> None:
        """Scroll a line."""
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    def action_agree(self) -> None:
        """Say yes, where there is something to say yes to."""
        if self._yes:
            self.dismiss(True)
