"""The themes: readable, chosen by what the terminal says, and without colour where none is wanted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest
from rich.color import Color as RichColor
from rich.segment import Segment
from textual.color import Color

from knobctl.errors import UsageError
from knobctl.tui.themes import ANSI, DARK, HIGH_CONTRAST, LIGHT, PLAIN, THEMES, fitting, named
from tests.tui.desks import Desk, settled
from tests.tui.persons import Person, sit_down
from tests.tui.pictures import strips

ROOM: Final = Path(__file__).parents[2] / "knobctl" / "tui"
GROUNDS: Final = ("background", "surface", "panel")
PAIRS: Final = (
    ("block-cursor-foreground", "block-cursor-background"),
    ("block-cursor-blurred-foreground", "block-cursor-blurred-background"),
    ("input-selection-foreground", "input-selection-background"),
    ("button-color-foreground", "block-cursor-background"),
)
NO_TEXT: Final = re.compile(
    r"background|surface|panel|cursor|selection|scrollbar|border|text-style"
)


def used() -> set[str]:
    """The theme variables that the room's code and style sheets name."""
    files = [*ROOM.rglob("*.py"), *ROOM.rglob("*.tcss")]
    return {
        name
        for path in files
        for name in re.findall(r"\$([a-z][a-z-]+[a-z])", path.read_text(encoding="utf-8"))
    }


def variables(theme: str) -> Mapping[str, str]:
    """What a theme's variables are, as the application makes them."""
    return {**THEMES[theme].to_color_system().generate(), **THEMES[theme].variables}


def contrast(one: Color, other: Color) -> float:
    """The contrast of two colours, from 1 to 21.

    Source: WCAG 2.2, relative luminance and contrast ratio.
    """

    def luminance(color: Color) -> float:
        parts = [
            part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
            for part in color.normalized
        ]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("theme", "least"), [(HIGH_CONTRAST, 7.0), (DARK, 4.5), (LIGHT, 4.5)], ids=str
)
def test_every_colour_of_text_that_is_used_can_be_read(theme: str, least: float) -> None:
    """On every ground that is used; the high contrast at 7 : 1."""
    known = variables(theme)
    texts = {"text", "foreground", *(name for name in used() if not NO_TEXT.search(name))}
    assert {"text-muted", "text-error", "text-warning", "production"} <= texts
    pairs = [(text, ground) for text in sorted(texts) for ground in GROUNDS] + [*PAIRS]
    ratios = {
        (text, ground): contrast(Color.parse(known[text]), Color.parse(known[ground]))
        for text, ground in pairs
    }
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < least} == {}


@pytest.mark.parametrize("theme", THEMES)
def test_every_variable_that_is_used_is_one_of_every_theme(theme: str) -> None:
    """A theme is chosen while it runs: nothing may be missing then."""
    assert used() <= set(variables(theme))


WALK: Final = (
    ("question_mark", "x", "escape"),
    ("colon", "t", "escape"),
    (":arm", "escape"),
    ("3", "escape"),
    ("L", "escape"),
    ("2", "t", "t", "escape"),
    ("enter", "down", "e", *"0.4", "enter", "4", "escape"),
    (":push", "escape"),
    ("1", "slash", *"zz", "enter"),
)
"""Through all places, and back to the first after each way."""


def seen(desk: Desk, theme: str, *ways: tuple[str, ...], production: bool = False) -> list[Segment]:
    """The segments on the screen, after each key of some ways."""
    desk.live({"acme": {"retrieval_min_score": 0.3, "rrf_k": 30}})
    found: dict[Segment, None] = {}

    async def look(person: Person) -> None:
        person.app.theme = theme
        await settled(person.pilot)
        for key in ("", *(key for way in ways for key in way)):
            if key.startswith(":"):
                await person.say(key)
            elif key:
                await person.press(key)
            found.update((segment, None) for row in strips(person.app) for segment in row)

    sit_down(desk, look, production=production)
    return [*found]


def all_that_is_seen(desk: Desk, theme: str) -> list[Segment]:
    """What a walk through all places shows, in production."""
    return seen(desk, theme, *WALK, production=True)


def test_the_plain_theme_shows_no_colour(desk: Desk) -> None:
    """The terminal's own fore- and background, whatever they are."""
    default = RichColor.default()
    for segment in all_that_is_seen(desk, PLAIN):
        if segment.style:
            assert segment.style.color in {None, default}, segment
            assert segment.style.bgcolor in {None, default}, segment


@pytest.mark.slow
def test_the_ansi_theme_shows_sixteen_colours_at_most(desk: Desk) -> None:
    """All of them the terminal's own."""
    for segment in all_that_is_seen(desk, ANSI):
        for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
            assert color is None or color.triplet is None, segment
            assert color is None or color.number is None or color.number < 16, segment


@pytest.mark.parametrize(
    ("theme", "least"),
    [
        (HIGH_CONTRAST, 7.0),
        (DARK, 4.5),
        (LIGHT, 4.5),
    ],
    ids=str,
)
@pytest.mark.slow
def test_whatever_is_shown_can_be_read(desk: Desk, theme: str, least: float) -> None:
    """Every letter that is seen anywhere, as it is drawn."""
    found = {}
    for segment in all_that_is_seen(desk, theme):
        style = segment.style
        if re.search(r"\w", segment.text) and style and style.color and style.bgcolor:
            ratio = contrast(
                Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            )
            if ratio < least:
                found[segment.text] = (round(ratio, 1), str(style))
    assert found == {}


def test_production_is_reverse_video_without_any_colour(desk: Desk) -> None:
    """The word is there, and it is turned round, in the theme that has no colours."""
    words = [segment for segment in seen(desk, PLAIN, production=True) if "PROD" in segment.text]
    assert words
    assert all(segment.style and segment.style.reverse for segment in words)


@pytest.mark.parametrize("keys", [("colon", "t", "down"), ("question_mark",)])
def test_the_chosen_line_is_seen_without_any_colour(desk: Desk, keys: tuple[str, ...]) -> None:
    """By its sign and turned round."""
    chosen = [one for one in seen(desk, PLAIN, keys) if one.text.startswith("> ")]
    assert chosen
    assert all(one.style and one.style.reverse for one in chosen)


@pytest.mark.parametrize(
    ("environment", "theme"),
    [
        ({"TERM": "xterm-256color"}, DARK),
        ({"TERM": "xterm-256color", "COLORFGBG": "15;0"}, DARK),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;15"}, LIGHT),
        ({"TERM": "xterm-256color", "COLORFGBG": "0;default;7"}, LIGHT),
        ({"TERM": "xterm-256color", "COLORFGBG": "7;8"}, DARK),
        ({"TERM": "xterm-256color", "COLORFGBG": "12;default"}, DARK),
        ({"TERM": "xterm-256color", "NO_COLOR": "1"}, PLAIN),
        ({"TERM": "xterm-256color", "NO_COLOR": ""}, DARK),
        ({"TERM": "xterm-256color", "NO_COLOR": "1", "COLORFGBG": "0;15"}, PLAIN),
        ({"TERM": "linux"}, ANSI),
        ({"TERM": "screen"}, ANSI),
        ({"TERM": "xterm-16color"}, ANSI),
        ({"TERM": "alacritty", "COLORTERM": "truecolor"}, DARK),
        ({"TERM": "xterm-kitty"}, DARK),
        ({"TERM": "vt100"}, PLAIN),
        ({"TEXTUAL_COLOR_SYSTEM": "truecolor"}, DARK),
    ],
)
def test_the_theme_fits_the_terminal(environment: dict[str, str], theme: str) -> None:
    """By what it says of itself, and `NO_COLOR` before all."""
    assert fitting(environment) == theme


def test_a_mistyped_theme_is_told_the_nearest() -> None:
    """And an unknown one which there are."""
    with pytest.raises(UsageError, match="did you mean high-contrast"):
        named("hi-contrast")
    with pytest.raises(UsageError, match="there are knobctl-dark, knobctl-light"):
        named("\x1bxyzzy")
