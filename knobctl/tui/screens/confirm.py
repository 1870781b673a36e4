"""A question that somebody has to answer: the harmless answer stands first and has the focus."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical

from knobctl.tui.screens.box import Box
from knobctl.tui.ui import Press, Words, line

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.content import Content


class ConfirmScreen(Box[bool]):
    """Yes or no. Enter presses what has the focus; in danger it only ever means no, and `y` means yes."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "agree", "yes", show=False),
        Binding("n", "leave", "no", show=False),
        Binding("left,up", "app.focus_previous", "previous", show=False),
        Binding("right,down", "app.focus_next", "next", show=False),
    ]

    def __init__(self, question: Content, *, no: str, yes: str, danger: bool = False) -> None:
        """Ask.

        Args:
            question: What is asked, and what a yes does, by its effect.
            no: What the harmless answer is called.
            yes: What the other is called: by its effect, not `OK`.
            danger: Whether Enter must not mean yes whatever has the focus.
        """
        super().__init__()
        self._question = question
        self._no = no
        self._yes = yes
        self._danger = danger

    def compose(self) -> ComposeResult:
        """The question, and the answers from harmless to harmful."""
        with Vertical(classes="box"):
            yield Words(self._question, id="question")
            with Horizontal(id="answers"):
                yield Press(line(self._no), id="no")
                yield Press(line(self._yes), id="yes")
            enter = "Enter and Esc mean no" if self._danger else "Esc means no"
            yield Words(line((f"y {self._yes}   n {self._no}   {enter}", "muted")))

    def on_mount(self) -> None:
        """Put the focus on the harmless answer."""
        self.query_one("#no").focus()
        self.query_one("#yes").can_focus = not self._danger

    def on_button_pressed(self, event: Press.Pressed) -> None:
        """Answer."""
        self.dismiss(event.button.id == "yes")

    def action_agree(self) -> None:
        """Say yes."""
        self.dismiss(True)

    def action_leave(self) -> None:
        """Say no."""
        self.dismiss(False)
