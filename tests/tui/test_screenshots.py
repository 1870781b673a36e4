"""The screenshots of the README show what the program shows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.tui.desks import Desk
from tests.tui.screenshots import FOLDER, SCREENS, THEMES, lay_out, shoot, text_of

HOW = "make them anew and look at them: python -m tests.tui.screenshots"


@pytest.mark.parametrize("screen", SCREENS)
def test_a_screenshot_says_what_the_program_says(desk: Desk, screen: str) -> None:
    """Word for word, in both themes; colours may differ by the version of a library."""
    lay_out(desk)
    now = text_of(shoot(desk, screen, "dark"))
    assert len(now) > 10
    for theme in THEMES:
        kept = (FOLDER / f"{screen}-{theme}.svg").read_text(encoding="utf-8")
        assert text_of(kept) == now, HOW


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.svg")), ids=lambda path: path.name)
def test_a_screenshot_fetches_nothing(path: Path) -> None:
    """No font, image or script from elsewhere: a reader's browser asks nobody."""
    svg = path.read_text(encoding="utf-8")
    assert not re.findall(r"url\((?!#)[^)]*\)|href=|<script|<image|@import", svg)
    assert set(re.findall(r"https?://[^\"' )]+", svg)) <= {"http://www.w3.org/2000/svg"}
