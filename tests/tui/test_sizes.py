"""Every place at every size: no crash, and no hint of a key that is cut."""

from __future__ import annotations

import re
from typing import Final

import pytest

from tests.tui.desks import Desk, settled
from tests.tui.persons import Person, sit_down

SIZES: Final = ((60, 20), (100, 30), (200, 60))
PLACES: Final = {
    "fleet": (),
    "filter": ("slash", *"state"),
    "help": ("question_mark",),
    "palette": ("colon",),
    "tenant": ("enter",),
    "edit": ("enter", "e", *"0.4"),
    "choices": ("enter", "G", "e"),
    "diff": ("enter", "d"),
    "plan": ("enter", "colon", *"push", "enter"),
    "lab": ("2",),
    "audit": ("3",),
    "ask": ("4",),
    "log": ("L",),
    "arm": ("colon", *"arm because", "enter"),
}


QUICK = ("tenant", "edit", "plan", "lab", "ask")
"""Places that stand for the others in every run."""


@pytest.mark.parametrize(
    "place",
    [pytest.param(place, marks=[pytest.mark.slow] * (place not in QUICK)) for place in PLACES],
)
def test_a_place_fits_every_size(desk: Desk, place: str) -> None:
    """Also while it is resized from the smallest to the largest, and far too small."""

    async def act(person: Person) -> None:
        for key in PLACES[place]:
            await person.pilot.press("space" if key == " " else key)
        await settled(person.pilot)
        for width, height in SIZES:
            await person.pilot.resize_terminal(width, height)
            await settled(person.pilot)
            assert_fits(person.picture, width, height)
        for width, height in ((20, 5), (1, 1), (80, 24)):
            await person.pilot.resize_terminal(width, height)
            await settled(person.pilot)
        assert_fits(person.picture, 80, 24)

    desk.live({"acme": {"retrieval_min_score": 0.3, "rrf_k": 50}})
    sit_down(desk, act, size=SIZES[0])


def assert_fits(picture: str, width: int, height: int) -> None:
    """The picture fits, and where it tells of keys they can be read whole."""
    rows = picture.rstrip("\n").split("\n")
    assert len(rows) <= height
    assert max(map(len, rows)) <= width, picture
    for row in rows:
        # A list of commands cuts what they do.
        hints = HINT.search(row) and not re.search(r" :\w+", row)
        assert not (hints and "…" in row), picture


HINT: Final = re.compile(r"\b(?:Enter|Esc|Tab|Space) [a-z]")
"""A key, and what it does."""
