"""The table of a tenant's knobs: what stands in each column, and what is the matter with each row. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final, NamedTuple

from rich.cells import cell_len

from knobctl.finding import Severity
from knobctl.text import printable, spelled
from knobctl.tui.detail import draft_text, zero_text
from knobctl.tui.draft import Cause
from knobctl.tui.signs import CAUSES
from knobctl.tui.ui import fitted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from knobctl.knobs import Catalogue, Knob
    from knobctl.tui.detail import Line
    from knobctl.tui.judging import Judgement, TenantJudge
    from knobctl.tui.ui import Role

UNSET: Final = "-"
"""Stands where nothing is set; never looks like 0."""
LATER: Final = "..."
"""Stands where the answer is still awaited."""
UNKNOWN: Final = "?"
"""Stands where nobody could be asked."""


class Matter(NamedTuple):
    """What is the matter with a row: a sign and a word, and then its colour."""

    sign: str
    word: str
    role: Role


FAULTY: Final = Matter("x", "no value", "error")
REFUSED: Final = Matter("x", "error", "error")
LOCKED: Final = Matter("#", "locked", "muted")
WARNS: Final = Matter("!", "warn", "warn")
QUIET: Final = Matter(" ", "", "")
_WORDS: Final = {Cause.EDIT: "edited", Cause.RESET: "reset", Cause.DRIFT: "drift"}
_CAUSES: Final = {
    cause: Matter(sign, _WORDS[cause], role) for cause, (sign, role) in CAUSES.items()
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnobRow:
    """One knob, as its row shows it."""

    knob: Knob
    matter: Matter
    repo: str
    draft: str
    live: str
    effective: str
    """What would be in force under the draft."""


def knob_rows(
    judge: TenantJudge, judgement: Judgement, *, clearance: int | None = None
) -> list[KnobRow]:
    """Make the rows, in the order of groups as the schema has them.

    Args:
        judge: The tenant.
        judgement: What was found of the draft.
        clearance: The caller's, where it is known.
    """
    causes = {one.change.knob: _CAUSES[one.cause] for one in judgement.due}
    in_force = judge.catalogue.effective(judgement.understood.desired)
    entries = judgement.draft.entries
    as_begun = judge.effective is not None and not judgement.moved.base
    return [
        KnobRow(
            knob=knob,
            matter=_matter(judgement, knob, causes.get(knob.name), clearance),
            repo=(repo := _repo_text(judge, knob)),
            draft=repo
            if as_begun and knob.name not in entries
            else _short(draft_text(judgement, knob)),
            live=UNKNOWN if judge.now.live is None else _value(judge.now.live.get(knob.name)),
            effective=spelled(in_force[knob.name]),
        )
        for knob in _by_group(judge.catalogue)
    ]


def unread_rows(catalogue: Catalogue) -> list[KnobRow]:
    """Make the rows of a tenant that is still being read: the knobs, and nothing said of them yet."""
    return [
        KnobRow(knob=knob, matter=QUIET, repo=LATER, draft=LATER, live=LATER, effective=LATER)
        for knob in _by_group(catalogue)
    ]


def is_locked(knob: Knob, clearance: int | None) -> bool:
    """Whether the caller may not edit a knob, as far as that is known."""
    return clearance is not None and knob.edit_clearance > clearance


def _by_group(catalogue: Catalogue) -> list[Knob]:
    order = list(dict.fromkeys(knob.group for knob in catalogue))
    return sorted(catalogue, key=lambda knob: order.index(knob.group))


def _matter(
    judgement: Judgement, knob: Knob, cause: Matter | None, clearance: int | None
) -> Matter:
    name = knob.name
    if name in judgement.understood.faults:
        return FAULTY
    if is_locked(knob, clearance):
        return LOCKED
    if name in judgement.understood.edited:
        return _CAUSES[Cause.EDIT]
    if cause:
        return cause
    counting = [one for one in judgement.of(name) if one.counts]
    if any(one.severity is Severity.ERROR for one in counting):
        return REFUSED
    return WARNS if any(one.severity is Severity.WARNING for one in counting) else QUIET


def _repo_text(judge: TenantJudge, knob: Knob) -> str:
    effective = judge.effective
    if effective is None:
        return UNSET
    if knob.name in effective.desired:
        return spelled(effective.desired[knob.name])
    origin = effective.origin(knob.name)
    return _short(zero_text(knob, origin.literal)) if origin else UNSET


def _short(text: str) -> str:
    """A zero and the default that it means, in less room: `0 = 0.3`."""
    return text.replace(" = default ", " = ")


def _value(value: object) -> str:
    return UNSET if value is None else spelled(value)


class Column(NamedTuple):
    """One column: its title, its width, and the rows' field."""

    title: str
    field: str
    width: int


_LEAST: Final = {
    "name": 12,
    "repo": 8,
    "draft": 9,
    "live": 8,
    "effective": 9,
    "default": 7,
    "range": 7,
}
"""So wide are columns at least, so that nothing moves while somebody types."""
_MOST: Final = 24
"""A value that is longer is cut; the pane shows all of it."""
_EFFECTIVE: Final = 70
"""From so many columns on there is room for what is in force: names that are cut help nobody."""
_WORD: Final = 9
"""Columns for the word of what is the matter, and one at the end."""


def columns(rows: Sequence[KnobRow], width: int, *, everything: bool) -> list[Column]:
    """The columns, as wide as fits.

    Args:
        rows: The rows.
        width: Columns of the terminal that the table has.
        everything: Whether default and range have room too; else they stand in the pane alone.
    """
    fields = ["name", "repo", "draft", "live"]
    fields += ["effective"] if width >= _EFFECTIVE else []
    fields += ["default", "range"] if everything else []
    widths = {field: _natural(rows, field) for field in fields}
    spare = width - 3 - _WORD - sum(widths.values()) - len(fields)
    for field in ("range", "default", "effective", "repo", "live", "draft", "name"):
        if spare < 0 and field in widths:
            cut = min(-spare, widths[field] - _LEAST[field])
            widths[field] -= cut
            spare += cut
    return [Column("knob" if field == "name" else field, field, widths[field]) for field in fields]


def _natural(rows: Sequence[KnobRow], field: str) -> int:
    longest = max((cell_len(_field(row, field)) for row in rows), default=0)
    most = 64 if field == "name" else _MOST
    return min(max(longest, _LEAST[field]), most)


def head_line(shown: Sequence[Column]) -> Line:
    """The titles of the columns."""
    return ((_joined(["   "], [(column.title, column.width) for column in shown]), "muted"),)


def row_line(
    row: KnobRow, shown: Sequence[Column], *, chosen: bool, typing: str | None = None
) -> Line:
    """One row.

    Args:
        row: The row.
        shown: The columns.
        chosen: Whether the cursor is on it.
        typing: What stands in the field now, where it is being edited.
    """
    cells = [(_field(row, column.field), column.width) for column in shown]
    at = next(index for index, column in enumerate(shown) if column.field == "draft")
    if typing is not None:
        cells[at] = (_end(f"{typing}_", cells[at][1]), cells[at][1])
    mark = f"{'>' if chosen else ' '}{row.matter.sign} "
    before, after = _joined([mark], cells[:at]), _joined([], cells[at + 1 :])
    role = row.matter.role
    base: Role = "strong" if chosen else ""
    return (
        (before, base),
        (fitted(*cells[at]) + " ", "reverse" if typing is not None else role or base),
        (after, base),
        (row.matter.word, role),
    )


def table_lines(rows: Sequence[KnobRow]) -> Iterator[KnobRow | str]:
    """The rows with the name of each group above it; none where the schema has no groups."""
    for group, within in groupby(rows, key=lambda row: row.knob.group):
        if group:
            yield group
        yield from within


def _field(row: KnobRow, field: str) -> str:
    match field:
        case "name":
            return printable(row.knob.name)
        case "default":
            return printable(spelled(row.knob.default))
        case "range":
            return printable(row.knob.range_text.replace(" .. ", ".."))
        case _:
            return printable(getattr(row, field))


def _joined(start: list[str], cells: Sequence[tuple[str, int]]) -> str:
    return "".join([*start, *(f"{fitted(text, width)} " for text, width in cells)])


def _end(text: str, width: int) -> str:
    """The end of a text that is longer than its place: where somebody types."""
    while cell_len(text) > width:
        text = text[1:]
    return text
