"""The palette: `:` and Ctrl-P. Commands with completion, words of what is wanted, and tenants."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical

from knobctl.tui.commands import Call, common_start, names_of, parse, usage
from knobctl.tui.keymap import key_words, keys_of
from knobctl.tui.palette import TENANT_PREFIX, rows
from knobctl.tui.screens.box import Box
from knobctl.tui.ui import Choices, Field, Words, line

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from textual.app import ComposeResult
    from textual.content import Content

    from knobctl.tui.actions import Action
    from knobctl.tui.commands import Offer
    from knobctl.tui.palette import Row

_HINT = "Enter runs   Tab completes   Up and Down choose or recall   Esc leaves"


class PaletteScreen(Box[Call]):
    """Type, see what fits, run it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "earlier", "up", show=False),
        Binding("down", "later", "down", show=False),
        Binding("tab", "complete", "complete", show=False),
    ]

    def __init__(
        self, actions: Sequence[Action], possible: Sequence[Action], offers: Mapping[str, Offer]
    ) -> None:
        """Take what can be said here.

        Args:
            actions: What can be called here, now or not.
            possible: What can be done now: only that is offered.
            offers: By the kind of an argument, what it can be.
        """
        super().__init__()
        self._actions = actions
        self._possible = possible
        self._offers = offers
        self._rows: list[Row] = []
        self._walks = False

    def compose(self) -> ComposeResult:
        """A line to type in, what fits, and what the keys do."""
        with Vertical(classes="box"):
            yield Field(
                id="typed", placeholder=f"a command, a word of what it does, or {TENANT_PREFIX}NAME"
            )
            yield Choices(id="offers")
            yield Words(line((_HINT, "muted")), id="said")

    def on_mount(self) -> None:
        """Offer everything at first."""
        self.query_one(Choices).can_focus = False
        self._offer("")

    def on_input_changed(self, event: Field.Changed) -> None:
        """Offer what fits."""
        self._offer(event.value)

    def on_input_submitted(self) -> None:
        """Run what is typed, or what is chosen."""
        typed, row = self.query_one(Field).value, self._chosen()
        word = typed.strip().removeprefix(":").partition(" ")[0]
        is_command = any(word in names_of(action) for action in self._actions)
        if row and (self._walks or not is_command):
            self._take(row)
        else:
            self._run(typed)

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """Run what was clicked."""
        self._take(self._rows[event.option_index])

    def action_earlier(self) -> None:
        """Choose the offer above; from an empty line walk back in what was typed before."""
        history, field = self.knobctl.history, self.query_one(Field)
        if history.walks or not field.value:
            self._set(history.older(field.value))
        else:
            self._move(-1)

    def action_later(self) -> None:
        """Choose the offer below, or walk forward in what was typed before."""
        history, field = self.knobctl.history, self.query_one(Field)
        if history.walks:
            self._set(history.newer(field.value))
        else:
            self._move(1)

    def action_complete(self) -> None:
        """Go on as far as all offers agree."""
        typed, row = self.query_one(Field).value.lstrip().removeprefix(":"), self._chosen()
        fitting = [one for one in self._rows if one.line.startswith(typed)]
        start = common_start([one.line for one in fitting])
        if len(fitting) == 1:
            action = fitting[0].action
            self._set(start + " " * bool(action and action.argument))
        elif len(start) > len(typed):
            self._set(start)
        elif row and self._walks:
            self._set(row.line)

    def action_leave(self) -> None:
        """Close it; what was walked through is forgotten."""
        self.knobctl.history.rest()
        super().action_leave()

    def _offer(self, typed: str) -> None:
        self._walks = False
        if not self.is_here:
            return
        self._rows = rows(typed, self._possible, self._offers)
        self.query_one(Choices).show([self._line(row) for row in self._rows])
        nothing = "" if self._rows or not typed.strip() else "nothing here is called or does that"
        self.query_one("#said", Words).update(line((nothing or _HINT, "muted")))

    def _line(self, row: Row) -> Content:
        if row.action is None:
            return line(row.line)
        keys = keys_of(row.action, self.knobctl.keymap)
        key = key_words(keys[0]) if keys else ""
        return line(
            f"{usage(row.action):<22.22} ", (f"{key:<7}", "strong"), (row.action.help, "muted")
        )

    def _chosen(self) -> Row | None:
        at = self.query_one(Choices).highlighted
        return self._rows[at] if at is not None and at < len(self._rows) else None

    def _move(self, step: int) -> None:
        choices = self.query_one(Choices)
        if self._rows:
            at = choices.highlighted or 0
            choices.highlighted = (at + step) % len(self._rows)
            self._walks = True

    def _take(self, row: Row) -> None:
        """Run an offer; one that takes an argument of which there are offers is asked for it first."""
        if row.action and row.action.argument in self._offers:
            self._set(f"{row.line} ")
        else:
            self._run(row.line)

    def _set(self, text: str) -> None:
        field = self.query_one(Field)
        field.value = text
        field.cursor_position = len(text)

    def _run(self, typed: str) -> None:
        with self.telling(self._complain):
            call = parse(typed, self._actions)
            self.knobctl.history.add(typed.strip().removeprefix(":"))
            self.dismiss(call)

    def _complain(self, text: str) -> None:
        self.query_one("#said", Words).update(line((f"x {text}", "error")))
