"""The only place that makes text: what comes from outside is shown, never obeyed.

Textual reads markup in most strings that it is given, and neither it nor Rich takes escape sequences
out of them. So nothing else in this room calls `Static`, `Label` or `notify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.message import Message
from textual.widgets import Button, Input, OptionList, Static
from textual.widgets.option_list import Option

from knobctl.text import INVISIBLE, printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import App

    from knobctl.errors import KnobctlError

Role: TypeAlias = Literal[
    "", "muted", "strong", "good", "warn", "error", "drift", "edited", "accent", "reverse"
]
"""What a piece of text is, beside its words: colour is the third cue, after sign and word."""
Part: TypeAlias = str | tuple[str, Role]
Severity: TypeAlias = Literal["information", "warning", "error"]

STAYS_S: Final[dict[Severity, float]] = {"information": 5, "warning": 8, "error": 15}
"""So long a message stays; the graver, the longer: it says what to do."""

STYLES: Final[dict[Role, str]] = {
    "": "",
    "muted": "$text-muted",
    "strong": "bold",
    "good": "$text-success",
    "warn": "bold $text-warning",
    "error": "bold $text-error",
    "drift": "$text-accent",
    "edited": "bold $text-primary",
    "accent": "$text-accent",
    "reverse": "bold reverse",
}
MOST: Final = 2_000
"""So many characters of one part are shown: a line of 10,000 is measured and wrapped at every key."""


def shown(text: str, *, most: int = MOST) -> str:
    """Make outside text safe for the screen: escapes instead of controls, cut where it is long."""
    return printable(text if len(text) <= most else f"{text[: most - 1]}…", keep="\n")


def line(*parts: Part) -> Content:
    """Put a text together of parts, each plain or with its role."""
    return Content.assemble(
        *(
            shown(part) if isinstance(part, str) else (shown(part[0]), STYLES[part[1]])
            for part in parts
        )
    )


def lines(*each: Content) -> Content:
    """Put lines under one another."""
    return Content("\n").join(each)


def error_lines(error: KnobctlError) -> list[Content]:
    """An error where its answer would stand, and what to do about it."""
    said = [line((f"x {error.message}", "error"))]
    return [*said, line(error.hint)] if error.hint else said


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Make outside text fill so many columns exactly: cut with a sign where it is longer, else padded.

    Args:
        text: What is shown; a line feed as its escape.
        width: In columns of the terminal, of which a wide character takes two.
        right: Whether the blanks come first.
    """
    # No character takes less than no column: what lies far behind the edge is not even cleaned.
    whole = shown(text, most=8 * width + 8).replace("\n", "\\n")
    taken = cell_len(whole)
    if taken > width:
        return f"{set_cell_size(whole, width - 1)}…" if width else ""
    blanks = " " * (width - taken)
    return blanks + whole if right else whole + blanks


class Words(Static):
    """Text on the screen; markup is off, and only `line` makes it."""

    def __init__(
        self,
        text: Content | None = None,
        *,
        id: str | None = None,  # noqa: A002  Textual's name
        classes: str | None = None,
    ) -> None:
        super().__init__(text or Content(), id=id, classes=classes, markup=False)


class Choices(OptionList):
    """A list of lines to choose from; the chosen one has a sign, not a colour alone."""

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id, markup=False)
        self._rows: list[Content] = []
        self._chosen: int | None = None

    def show(self, rows: Iterable[Content]) -> None:
        """Replace the lines; the first one is chosen."""
        self._rows, self._chosen = list(rows), None
        self.clear_options()
        self.add_options([Option(_unmarked(row)) for row in self._rows])
        self.highlighted = 0 if self._rows else None

    def watch_highlighted(self, highlighted: int | None) -> None:
        """Put the sign before the chosen line."""
        for at, mark in ((self._chosen, _unmarked), (highlighted, self._marked)):
            if at is not None and at < len(self._rows):
                self.replace_option_prompt_at_index(at, mark(self._rows[at]))
        self._chosen = highlighted
        super().watch_highlighted(highlighted)

    def _marked(self, row: Content) -> Content:
        """The chosen line, in the cursor's colours whatever its parts have elsewhere.

        Textual forgets `reverse` of a style sheet for lists, and without colours there is nothing else.
        """
        style = self.app.theme_variables["block-cursor-text-style"]
        return Content.assemble((f"> {row.plain}", style))


def _unmarked(row: Content) -> Content:
    return Content.assemble("  ", row)


class Field(Input):
    """A line to type in; what cannot be seen, pasted or set, does not get in."""

    def __init__(
        self,
        value: str = "",
        *,
        placeholder: str = "",
        id: str | None = None,  # noqa: A002  Textual's name
    ) -> None:
        super().__init__(value, placeholder=shown(placeholder), id=id)
        self.cursor_blink = False

    def validate_value(self, value: str) -> str:
        """Leave out what could drive the terminal, which would get it as it was typed."""
        return INVISIBLE.sub("", value.replace("\t", " ").replace("\n", " "))


class Press(Button):
    """A button."""

    def __init__(self, label: Content, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(label, id=id)


class Told(Message):
    """Something was told in a message that goes away: the log keeps it."""

    def __init__(self, text: str, severity: Severity) -> None:
        super().__init__()
        self.text = text
        self.severity = severity


def tell(app: App[Any], text: str, severity: Severity = "information") -> None:
    """Show a message that goes away by itself; the log panel keeps it."""
    app.post_message(Told(text, severity))
    app.notify(shown(text, most=300), severity=severity, timeout=STAYS_S[severity], markup=False)
