"""A comment of bounded length: sections share the room, the worst comes first, what is left out is said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.report.markup import code
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST: Final = 60_000
"""Characters of a comment: code hosts refuse more than 65,536."""
_LAST_LINE: Final = 600


class Block(NamedTuple):
    """A part of a section that is shown whole or not at all."""

    text: str
    tells: int = 1
    """How many of what the section counts it tells."""
    cut: bool = False
    """Whether a text in it is cut off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a comment."""

    noun: str
    """What it counts: `finding`."""
    total: int
    share: float
    """The part of the room that no other section takes from it."""
    blocks: Iterable[Block]
    before: str = ""
    after: str = ""
    between: str = "\n\n"


def comment(mark: str, head: str, sections: Sequence[Section], *, full: str) -> str:
    """Put a comment together.

    Args:
        mark: The command, by which a comment is found again and replaced.
        head: The verdict and the counts; always there.
        sections: What is told, in order.
        full: The command that writes everything.
    """
    begin = f"<!-- knobctl {mark} -->\n{head}"
    room = MOST - len(begin) - _LAST_LINE
    kept = [_Kept(section, room) for section in sections if section.total]
    rooms = _rooms(kept, room)
    parts, left_out, cut = [begin], [], False
    for one, own in zip(kept, rooms, strict=True):
        text, told, shortened = one.within(own)
        cut = cut or shortened
        if text:
            parts.append(text)
        if told < one.section.total:
            left_out.append(count(one.section.total - told, one.section.noun))
    return "\n\n".join([*parts, *_last_line(left_out, full, cut=cut)]) + "\n"


def _last_line(left_out: Sequence[str], full: str, *, cut: bool) -> Iterator[str]:
    what = ([", ".join(left_out)] if left_out else []) + (["the ends of long texts"] if cut else [])
    if what:
        yield f"Left out: {'; '.join(what)}. The full report: {code(full)}"


class _Kept:
    """The blocks of a section that could be shown: no more are made than the room can hold."""

    def __init__(self, section: Section, room: int) -> None:
        self.section = section
        self.frame = len(section.before) + len(section.after) + 2
        self.blocks: list[Block] = []
        self.need = self.frame
        for block in section.blocks:
            self.blocks.append(block)
            self.need += self._size(block)
            if self.need > room:
                break

    def _size(self, block: Block) -> int:
        return len(block.text) + len(self.section.between)

    def within(self, room: int) -> tuple[str, int, bool]:
        """What fits: the text, how many of what is counted it tells, and whether a text in it is cut."""
        used, shown = self.frame, []
        for block in self.blocks:
            used += self._size(block)
            if used > room:
                break
            shown.append(block)
        if not shown:
            return "", 0, False
        text = self.section.between.join(block.text for block in shown)
        told = sum(block.tells for block in shown)
        return (
            f"{self.section.before}{text}{self.section.after}",
            told,
            any(block.cut for block in shown),
        )


def _rooms(kept: Sequence[_Kept], room: int) -> list[int]:
    """Give each section its share, and what the others leave of theirs to the first that need it."""
    rooms = [min(one.need, int(one.section.share * room)) for one in kept]
    spare = room - sum(rooms)
    for at, one in enumerate(kept):
        more = min(one.need - rooms[at], spare)
        rooms[at] += more
        spare -= more
    return rooms
