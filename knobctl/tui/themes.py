"""The themes: dark, light, high contrast, the terminal's own sixteen colours, and none at all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.theme import Theme

from knobctl.errors import UsageError
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

DARK: Final = "knobctl-dark"
LIGHT: Final = "knobctl-light"
HIGH_CONTRAST: Final = "high-contrast"
ANSI: Final = "ansi"
PLAIN: Final = "plain"

_DEFAULT: Final = "ansi_default"
_MANY_COLOURS: Final = frozenset({"256color", "direct", "kitty"})
"""How the names of terminals end that have more than sixteen colours."""
_MONOCHROME: Final = frozenset({"vt100", "vt102", "vt220", "xterm-mono"})
_LIGHT: Final = frozenset({"7", "9", "10", "11", "12", "13", "14", "15"})
"""The backgrounds of COLORFGBG that are light: white and the bright colours, 8 being dark grey."""


def _own(  # noqa: PLR0913  the colours of a theme
    name: str,
    *,
    dark: bool,
    background: str,
    panel: str,
    text: str,
    muted: str,
    primary: str,
    accent: str,
    good: str,
    warn: str,
    error: str,
    production: str,
    cursor: tuple[str, str],
) -> Theme:
    """A theme of 24-bit colours; every colour of text is given, none is mixed by Textual."""
    on, under = cursor
    return Theme(
        name,
        primary=primary,
        secondary=primary,
        accent=accent,
        success=good,
        warning=warn,
        error=error,
        foreground=text,
        background=background,
        surface=background,
        panel=panel,
        dark=dark,
        variables={
            "text": text,
            "text-muted": muted,
            "text-disabled": muted,
            "foreground-muted": muted,
            "text-primary": primary,
            "text-accent": accent,
            "text-success": good,
            "text-warning": warn,
            "text-error": error,
            "production": production,
            "border": primary,
            "border-blurred": muted,
            "block-cursor-foreground": on,
            "block-cursor-background": under,
            "block-cursor-blurred-foreground": text,
            "block-cursor-blurred-background": panel,
            "block-cursor-blurred-text-style": "reverse",
            "input-selection-foreground": on,
            "input-selection-background": under,
            "button-foreground": text,
            "button-color-foreground": on,
            "scrollbar": muted,
            "scrollbar-hover": primary,
            "scrollbar-active": primary,
            "scrollbar-background": panel,
        },
    )


def _of_the_terminal(name: str, *, warn: str, error: str, accent: str) -> Theme:
    """A theme of the terminal's own colours: its default fore- and background, and these for words.

    Blue, cyan, yellow and green are unreadable on one background or the other, so they are not used.
    """
    return Theme(
        name,
        ansi=True,
        primary=_DEFAULT,
        secondary=_DEFAULT,
        accent=accent,
        success=_DEFAULT,
        warning=warn,
        error=error,
        foreground=_DEFAULT,
        background=_DEFAULT,
        surface=_DEFAULT,
        panel=_DEFAULT,
        boost=_DEFAULT,
        variables={
            **dict.fromkeys(_WITHOUT_COLOUR, _DEFAULT),
            "text-accent": accent,
            "text-warning": warn,
            "text-error": error,
            "production": error,
            "block-cursor-text-style": "reverse",
            "block-cursor-blurred-text-style": "underline",
            "input-cursor-text-style": "reverse",
            "button-focus-text-style": "bold reverse",
        },
    )


_WITHOUT_COLOUR: Final = (
    *(
        f"{name}-muted"
        for name in ("primary", "secondary", "accent", "success", "warning", "error")
    ),
    *(f"text-{name}" for name in ("muted", "disabled", "primary", "secondary", "success")),
    "ansi-background",
    "ansi-foreground",
    "surface-active",
    "foreground-muted",
    "foreground-disabled",
    "border",
    "border-blurred",
    "block-cursor-foreground",
    "block-cursor-background",
    "block-cursor-blurred-foreground",
    "block-cursor-blurred-background",
    "block-hover-background",
    "footer-key-foreground",
    "input-selection-background",
    "input-selection-foreground",
    "screen-selection-background",
    "screen-selection-foreground",
    "scrollbar",
    "scrollbar-hover",
    "scrollbar-active",
    "scrollbar-background",
    "scrollbar-background-hover",
    "scrollbar-background-active",
    "link-color",
    "link-color-hover",
    "link-background-hover",
)

THEMES: Final[dict[str, Theme]] = {
    theme.name: theme
    for theme in (
        _own(
            DARK,
            dark=True,
            background="#11151a",
            panel="#1f262e",
            text="#e4e7ea",
            muted="#9faab5",
            primary="#6cb6ff",
            accent="#d2a8ff",
            good="#7ed491",
            warn="#f0b45c",
            error="#ff8585",
            production="#ff8585",
            cursor=("#0b0e11", "#6cb6ff"),
        ),
        _own(
            LIGHT,
            dark=False,
            background="#fcfcfa",
            panel="#e9ebee",
            text="#1b2026",
            muted="#545c66",
            primary="#0a4f9e",
            accent="#6f2f9f",
            good="#17602b",
            warn="#7f4700",
            error="#a8141f",
            production="#a8141f",
            cursor=("#ffffff", "#0a4f9e"),
        ),
        _own(
            HIGH_CONTRAST,
            dark=True,
            background="#000000",
            panel="#000000",
            text="#ffffff",
            muted="#d6d6d6",
            primary="#7fd0ff",
            accent="#f0b0ff",
            good="#7dff8a",
            warn="#ffd84a",
            error="#ff9c9c",
            production="#ffd84a",
            cursor=("#000000", "#ffff00"),
        ),
        _of_the_terminal(ANSI, warn="ansi_magenta", error="ansi_red", accent="ansi_magenta"),
        _of_the_terminal(PLAIN, warn=_DEFAULT, error=_DEFAULT, accent=_DEFAULT),
    )
}
"""By name; the first is the usual one."""


def named(name: str) -> Theme:
    """Find a theme.

    Raises:
        UsageError: With the nearest name, if there is none of this name.
    """
    if name not in THEMES:
        close = nearest(name, THEMES)
        known = f"did you mean {close}?" if close else f"there are {', '.join(THEMES)}"
        raise UsageError(f"{visible(name)!r} is no theme; {known}")
    return THEMES[name]


def fitting(environment: Mapping[str, str]) -> str:
    """Find the theme that the terminal asks for: `NO_COLOR`, how many colours it has, its background.

    Args:
        environment: The variables that terminals and people set.
    """
    term = environment.get("TERM", "")
    if environment.get("NO_COLOR") or term in _MONOCHROME:
        return PLAIN
    has_all = "truecolor" in (environment.get("TEXTUAL_COLOR_SYSTEM"), environment.get("COLORTERM"))
    if not (
        has_all
        or environment.get("COLORTERM") == "24bit"
        or term.rpartition("-")[2] in _MANY_COLOURS
    ):
        return ANSI
    background = environment.get("COLORFGBG", "").rpartition(";")[2]
    return LIGHT if background in _LIGHT else DARK
