"""The field in which one knob is edited: a line to type in, or the list of what it can be."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.message import Message

from knobctl.text import spelled
from knobctl.tui.steps import stepped
from knobctl.tui.ui import Choices, Field, Words, line

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from knobctl.knobs import Knob, KnobValue


class KnobField(Vertical):
    """Shown while somebody edits. Every change is told, before anybody says that it is meant."""

    DEFAULT_CSS = """
    KnobField {
        display: none;
        height: auto;
        background: $panel;
        & > Horizontal { height: 1; }
        & #field-name { width: auto; }
        & Field, & Field:focus { width: 1fr; border: none; padding: 0; height: 1; background: $panel; color: $text; }
        & Choices { height: auto; max-height: 6; border: none; padding: 0 0 0 2; background: $panel; color: $text; }
        & Choices:focus { border: none; }
        & #field-hint { width: 100%; height: auto; }
    }
    """
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "leave", show=False),
        Binding("up", "step(1)", "a step up", show=False),
        Binding("down", "step(-1)", "a step down", show=False),
    ]

    class Typed(Message):
        """Something else stands in the field."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Meant(Message):
        """What stands in the field is meant: Enter."""

        def __init__(self, text: str) -> None:
            super().__init__()
            self.text = text

    class Left(Message):
        """What stood there before is to stay: Esc."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self._knob: Knob | None = None
        self._value: KnobValue = 0

    def compose(self) -> ComposeResult:
        """The name, the line or the list, what the keys do."""
        with Horizontal():
            yield Words(id="field-name")
            yield Field(id="field-line")
        yield Choices(id="field-list")
        yield Words(id="field-hint")

    def begin(self, knob: Knob, text: str, value: KnobValue) -> None:
        """Edit a knob.

        Args:
            knob: Which.
            text: What stands there now; empty where nothing is set.
            value: What is in force then.
        """
        self._knob, self._value = knob, value
        self.display = True
        choices = self.query_one(Choices)
        field = self.query_one(Field)
        choices.display = bool(knob.choices)
        field.display = not knob.choices
        self.query_one("#field-name", Words).update(line((f" {knob.name}: ", "strong")))
        unit = f" {knob.unit}" if knob.unit else ""
        if knob.choices:
            choices.show(line(one) for one in knob.settable)
            now = text or spelled(value)
            choices.highlighted = knob.settable.index(now) if now in knob.settable else 0
            choices.focus()
            keys = "Up Down choose"
        else:
            with field.prevent(Field.Changed):
                field.value = text
            field.cursor_position = len(field.value)
            field.focus()
            keys = "Up Down step"
        told = f" takes {knob.range_text}{unit}   Enter keeps   {keys}   Esc leaves"
        self.query_one("#field-hint", Words).update(line((told, "muted")))

    def end(self) -> None:
        """Edit nothing any more."""
        self._knob = None
        self.display = False

    @property
    def knob(self) -> Knob | None:
        """What is being edited."""
        return self._knob

    def on_input_changed(self, event: Field.Changed) -> None:
        """Tell what was typed."""
        event.stop()
        if self._knob:
            self.post_message(self.Typed(event.value))

    def on_input_submitted(self, event: Field.Submitted) -> None:
        """It is meant."""
        event.stop()
        if self._knob:
            self.post_message(self.Meant(event.value))

    def on_option_list_option_highlighted(self, event: Choices.OptionHighlighted) -> None:
        """Tell what the cursor is on."""
        event.stop()
        if self._knob and self._knob.choices and self.query_one(Choices).has_focus:
            self.post_message(self.Typed(self._knob.settable[event.option_index]))

    def on_option_list_option_selected(self, event: Choices.OptionSelected) -> None:
        """It is meant."""
        event.stop()
        if self._knob and self._knob.choices:
            self.post_message(self.Meant(self._knob.settable[event.option_index]))

    def action_leave(self) -> None:
        """Give up."""
        self.post_message(self.Left())

    def action_step(self, by: int) -> None:
        """Go a step up or down from what is typed."""
        field = self.query_one(Field)
        if self._knob and not self._knob.choices:
            further = stepped(self._knob, field.value, self._value, by)
            if further is not None:
                field.value = further
                field.cursor_position = len(further)
