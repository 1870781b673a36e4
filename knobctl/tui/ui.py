"""The only place that makes text: what comes from outside is shown, never obeyed.

Textual reads markup in most strings that it is given, and neither it nor Rich takes escape sequences
out of them. So nothing else in this room calls `Static`, `Label` or `notify`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from rich.text import Text as RichText
from textual.content import Content
from textual.widgets import Static

from knobctl.text import printable

if TYPE_CHECKING:
    from textual.app import App

Role: TypeAlias = Literal[
    "", "muted", "strong", "good", "warn", "error", "drift", "edited", "accent", "reverse"
]
"""What a piece of text is, beside its words: colour is the third cue, after sign and word."""
Part: TypeAlias = str | tuple[str, Role]
Severity: TypeAlias = Literal["information", "warning", "error"]

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


def cell(text: str, style: str = "") -> RichText:
    """A cell of a `DataTable`, which reads markup in every plain string."""
    return RichText(shown(text).replace("\n", "\\n"), style=style, no_wrap=True, end="")


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


def tell(app: App[object], text: str, severity: Severity = "information") -> None:
    """Show a message that goes away by itself; what matters stands elsewhere too."""
    app.notify(shown(text, most=300), severity=severity, markup=False)
