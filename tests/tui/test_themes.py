"""The themes: readable, chosen by what the terminal says, and without colour where none is wanted."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
from rich.color import Color as RichColor
from rich.segment import Segment
from textual.color import Color

from knobctl.errors import UsageError
from knobctl.tui.themes import ANSI, DARK, HIGH_CONTRAST, LIGHT, PLAIN, THEMES, fitting, named
from tests.tui.desks import Desk, settled
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


WAYS: Final = {
    "fleet": (),
    "help": ("question_mark",),
    "palette": ("colon", "t"),
    "arm": ("colon", *"arm", "enter"),
    "tenant": ("enter",),
}


def seen(desk: Desk, theme: str, *keys: str, production: bool = False) -> list[Segment]:
    """The segments on the screen, after some keys."""
    desk.example()
    options: dict[str, Any] = {}
    if production:
        desk.write(
            "../home/config/knobctl/contexts.yaml",
            "contexts:\n  live: {engine: 'embedded:engine.db', production: true}\n",
        )
        options = {"context": "live"}

    async def look() -> list[Segment]:
        with desk.app(engine=None if production else "embedded:engine.db", **options) as app:
            app.theme = theme
            async with app.run_test(size=(80, 24), notifications=True) as pilot:
                await settled(pilot)
                for key in keys:
                    await pilot.press(key)
                await settled(pilot)
                return [segment for row in strips(app) for segment in row]

    return asyncio.run(look())


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_plain_theme_shows_no_colour(desk: Desk, way: tuple[str, ...]) -> None:
    """The terminal's own fore- and background, whatever they are."""
    default = RichColor.default()
    for segment in seen(desk, PLAIN, *way, production=True):
        if segment.style:
            assert segment.style.color in {None, default}, segment
            assert segment.style.bgcolor in {None, default}, segment


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_the_ansi_theme_shows_sixteen_colours_at_most(desk: Desk, way: tuple[str, ...]) -> None:
    """All of them the terminal's own."""
    for segment in seen(desk, ANSI, *way):
        for color in (segment.style.color, segment.style.bgcolor) if segment.style else ():
            assert color is None or color.triplet is None, segment
            assert color is None or color.number is None or color.number < 16, segment


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_what_the_high_contrast_shows_has_it(desk: Desk, way: tuple[str, ...]) -> None:
    """Every character that is seen, as it is drawn."""
    for segment in seen(desk, HIGH_CONTRAST, *way):
        style = segment.style
        if (
            segment.text.strip(" ─│┌┐└┘▃▂▁▅▇▄▆█▔▏▕╭╮╰╯━")
            and style
            and style.color
            and style.bgcolor
        ):
            ratio = contrast(
                Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor)
            )
            assert ratio >= 7, (segment, ratio)


def test_production_is_reverse_video_without_any_colour(desk: Desk) -> None:
    """The word is there, and it is turned round, in the theme that has no colours."""
    words = [segment for segment in seen(desk, PLAIN, production=True) if "PROD" in segment.text]
    assert words
    assert all(segment.style and segment.style.reverse for segment in words)


@pytest.mark.parametrize("keys", [("colon", "t", "down"), ("question_mark",)])
def test_the_chosen_line_is_seen_without_any_colour(desk: Desk, keys: tuple[str, ...]) -> None:
    """By its sign and turned round."""
    chosen = [one for one in seen(desk, PLAIN, *keys) if one.text.startswith("> ")]
    assert len(chosen) == 1
    assert chosen[0].style
    assert chosen[0].style.reverse


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
