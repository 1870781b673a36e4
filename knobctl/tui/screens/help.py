"""Help: what is next in the state that the place is in, and all that can be done here. Search, run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical

from knobctl.tui.commands import Call, usage
from knobctl.tui.keymap import key_words, keys_of
from knobctl.tui.palette import matching
from knobctl.tui.screens.box import Box
from knobctl.tui.ui import Choices, Field, Words, line, lines

if TYPE_CHECKING:
    from textual.app import ComposeResult
    from textual.content import Content

    from knobctl.tui.actions import Action
    from knobctl.tui.screens.place import Place
    from knobctl.tui.ui import Part

_FOOT = "Type to search   Up and Down choose   Enter runs   Esc leaves"
_SCREENS = 10
"""So many lines PgUp and PgDn go."""


class HelpScreen(Box[Call]):
    """All actions of a place, each with its keys, its command, what it does, and why it cannot be done now."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False),
        Binding("down", "move(1)", "down", show=False),
        Binding("pageup", f"move(-{_SCREENS})", "page up", show=False),
        Binding("pagedown", f"move({_SCREENS})", "page down", show=False),
    ]

    def __init__(self, place: Place, actions: list[Action]) -> None:
        """Take the place to explain, and what it can do."""
        super().__init__()
        self._place = place
        self._all = actions
        self._shown = actions

    def compose(self) -> ComposeResult:
        """What is next, a line to search in, all actions, the chosen one in full."""
        with Vertical(classes="box"):
            yield Words(line(("next  ", "strong"), self._place.next_step()), id="next")
            yield Field(id="typed", placeholder="search")
            yield Choices(id="offers")
            yield Words(id="said")

    def on_mount(self) -> None:
        """Show everything at first."""
        self.query_one(Choices).can_focus = False
        self._show("")

    def on_input_changed(self, event: Field.Changed) -> None:
        """Show what fits."""
        self._show(event.value)

    def on_input_submitted(self) -> None:
        """Run what is chosen."""
        self._run(self.query_one(Choices).highlighted)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Run what was clicked."""
        self._run(event.option_index)

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        """Explain the chosen one in full."""
        self._explain(event.option_index)

    def action_move(self, step: int) -> None:
        """Choose another line."""
        choices = self.query_one(Choices)
        if self._shown:
            at = (choices.highlighted or 0) + step
            choices.highlighted = max(0, min(len(self._shown) - 1, at))

    def _show(self, typed: str) -> None:
        if not self.is_here:
            return
        self._shown = matching(typed.removeprefix(":"), self._all)
        self.query_one(Choices).show([self._line(action) for action in self._shown])
        self._explain(0)

    def _line(self, action: Action) -> Content:
        keys = ", ".join(key_words(key) for key in keys_of(action, self.knobctl.keymap))
        refused = self._place.refusal(action)
        what: Part = (f"not now: {refused}", "muted") if refused else action.help
        return line((f"{keys:<12.12}", "strong"), f" {usage(action):<18.18} ", what)

    def _explain(self, at: int) -> None:
        said = [line((_FOOT, "muted"))]
        if at < len(self._shown):
            action = self._shown[at]
            why = self._place.refusal(action)
            said = [line(action.help), line((f"not now: {why}", "warn") if why else ""), *said]
        self.query_one("#said", Words).update(lines(*said))

    def _run(self, at: int | None) -> None:
        if at is not None and at < len(self._shown):
            self.dismiss(Call(self._shown[at]))
