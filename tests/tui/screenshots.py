"""Makes the screenshots of the README, from the real program on the embedded engine with the shipped example.

Run: python -m tests.tui.screenshots
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from knobctl.tui import fleet_reading, themes
from tests.tui.desks import Desk, settled
from tests.tui.persons import Person

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from knobctl.knobs import KnobValue

ROOT: Final = Path(__file__).parents[2]
FOLDER: Final = ROOT / "docs" / "screenshots"
SIZE: Final = (100, 30)
THEMES: Final = {"dark": themes.DARK, "light": themes.LIGHT}
SCORES: Final = ROOT / "examples" / "squad2-dev" / "scores.jsonl"
CONTEXTS: Final = "contexts:\n  eu: {engine: 'embedded:engine.db', production: true, ticket_pattern: 'OPS-[0-9]+'}\n"
LIVE: Final[Mapping[str, Mapping[str, KnobValue]]] = {
    "acme": {
        "retrieval_min_score": 0.45,
        "gate_expanded_floor": 0.45,
        "assembly_max_chunks": 24,
        "assembly_token_budget": 12_000,
    },
    "bolt": {},
    "delta": {
        "retrieval_min_score": 0.3,
        "retrieval_vector_top_k": 32,
        "rrf_weight_recency": 0.1,
        "assembly_max_chunks": 24,
        "assembly_token_budget": 12_000,
        "mmr_lambda": 0.5,
    },
    "ember": {
        "retrieval_min_score": 0.45,
        "recency_ranker_mode": "DISABLED",
        "gate_min_confident": 0.6,
        "gate_expanded_floor": 0.45,
    },
}
_FONTS: Final = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


async def seen(person: Person, text: str) -> None:
    """Wait until it is there: some of it is drawn a moment after a key, for who goes on at once."""
    for _ in range(400):
        if text in person.picture:
            return
        await person.pilot.pause(0.05)
    raise AssertionError(text + person.picture)


async def fleet(person: Person) -> None:
    """The list, with the tenant that somebody changed on the engine."""
    await person.press("j", "j", "j")
    await seen(person, "results of expanded queries")
    await seen(person, "3 ok")


async def tenant(person: Person) -> None:
    """A floor that is being typed, and what follows."""
    await person.say("tenant delta")
    await person.press("e", *"0.4")
    await seen(person, "passes down to rank 12")


async def plan(person: Person) -> None:
    """What a push would do: an edit, and a knob that it would reset."""
    await tenant(person)
    await person.press("enter")
    await person.say("arm lower the floor after the recall report")
    await person.press("enter", *"OPS", "minus", "7", "enter")
    await person.say("push")
    await seen(person, "2 to acknowledge")


async def lab(person: Person) -> None:
    """A floor that was moved to 0.65, over recorded scores."""
    await person.say("lab bolt")
    await person.press(*["right_square_bracket"] * 7)
    await seen(person, "58 of 400")


SCREENS: Final[Mapping[str, Callable[[Person], Awaitable[None]]]] = {
    "fleet": fleet,
    "tenant": tenant,
    "plan": plan,
    "lab": lab,
}


def lay_out(desk: Desk) -> None:
    """The shipped fleet with recorded scores for bolt, and an engine that knows its tenants."""
    folder = desk.example()
    (folder / "evidence").mkdir()
    shutil.copy(SCORES, folder / "evidence" / "scores.jsonl")
    bolt = folder / "tenants" / "bolt.yaml"
    bolt.write_text(
        bolt.read_text(encoding="utf-8").replace(
            "\nknobs:", "\nevidence: [evidence/scores.jsonl]\nknobs:"
        ),
        encoding="utf-8",
    )
    desk.live(LIVE)
    desk.write("../home/config/knobctl/contexts.yaml", CONTEXTS)


def shoot(desk: Desk, screen: str, theme: str) -> str:
    """Open the program at a desk that was laid out, go to a screen, and give its picture as SVG."""

    async def run() -> str:
        with desk.app(engine=None, context="eu") as app:
            app.theme = THEMES[theme]
            async with app.run_test(size=SIZE, notifications=False) as pilot:
                await settled(pilot)
                await SCREENS[screen](Person(pilot))
                await settled(pilot)
                return app.export_screenshot(title=f"knobctl tui: {screen}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fleet_reading, "SHARE", 0)  # how fast this machine is shows nowhere
        return without_links(asyncio.run(run()))


def without_links(svg: str) -> str:
    """Take the fonts out that a viewer would fetch from elsewhere, and what is blank at the ends of lines."""
    svg = re.sub(r"@font-face \{.*?\}\n", "", svg, flags=re.DOTALL)
    svg = re.sub(r"font-family: [^;]+;", f"font-family: {_FONTS};", svg)
    svg = re.sub(r"<!-- Generated with .*? -->\n", "", svg)
    return "\n".join(line.rstrip() for line in svg.splitlines()).rstrip() + "\n"


def text_of(svg: str) -> list[str]:
    """The rows of text of a picture, without what is blank."""
    rows: dict[float, str] = {}
    for y, text in re.findall(r'<text [^>]*\by="([0-9.]+)"[^>]*>([^<]*)</text>', svg):
        rows[float(y)] = rows.get(float(y), "") + html.unescape(text)
    return [re.sub(r"\s+", " ", row).strip() for _, row in sorted(rows.items()) if row.strip()]


def main() -> None:
    """Make them all anew."""
    with tempfile.TemporaryDirectory() as place:
        home = Path(place) / "home"
        for name in ("DATA", "CONFIG", "STATE", "CACHE"):
            os.environ[f"XDG_{name}_HOME"] = str(home / name.lower())
        os.environ["LOGNAME"] = "anna"
        FOLDER.mkdir(exist_ok=True)
        for screen in SCREENS:
            for theme in THEMES:
                desk = Desk(Path(place) / f"{screen}-{theme}")
                desk.folder.mkdir()
                os.chdir(desk.folder)
                lay_out(desk)
                path = FOLDER / f"{screen}-{theme}.svg"
                path.write_text(shoot(desk, screen, theme), encoding="utf-8")
                shutil.rmtree(home, ignore_errors=True)
                print(path.relative_to(ROOT), file=sys.stderr)


if __name__ == "__main__":
    main()
