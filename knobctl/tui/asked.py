"""What is said of one question under two sets: verdicts, each step, the scores, one chunk. Pure."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Final

from knobctl.diagnosis.case import score_text
from knobctl.diagnosis.evaluated import Fate
from knobctl.diagnosis.kept_remarks import left_out
from knobctl.diagnosis.side_by_side import Shift
from knobctl.fusion.numbers import fraction_text
from knobctl.report.diagnosis import Drawing, picture
from knobctl.text import count, joined, visible
from knobctl.tui.ui import line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.content import Content

    from knobctl.diagnosis.case import Case
    from knobctl.diagnosis.evaluated import Candidate
    from knobctl.diagnosis.side_by_side import Fact, Pair, Side, SideBySide
    from knobctl.tui.ui import Part, Role

LIVE: Final = "live"
MOST_TEXT: Final = 1_200
"""So many characters of a chunk's text are shown."""
MOST_ROWS: Final = 500
"""So many chunks are listed; those of the prompts come first."""
SHIFTS: Final[dict[Shift, tuple[str, Role]]] = {
    Shift.GAINED: ("+ gained", "good"),
    Shift.LOST: ("- lost", "error"),
    Shift.MOVED: ("  moved", "edited"),
    Shift.STAYED: ("  same", ""),
    Shift.OUT: ("", "muted"),
}
_FATES: Final = {
    Fate.LEFT_OUT: "limit",
    Fate.FLOOR: "floor",
    Fate.NO_MATCH: "gate",
    Fate.UNTOLD: "?",
}
_MARGIN: Final = 15
"""Columns that a topic takes on the left."""
_KNOWN: Final = ("vector", "bm25", "recency")


def place_text(candidate: Candidate | None) -> tuple[str, Role]:
    """Say where a chunk ended under one set: its place in the prompt, or what kept it out."""
    if candidate is None:
        return "-", "muted"
    if candidate.place is not None:
        return str(candidate.place), "strong"
    return _FATES[candidate.fate], "muted"


def ranks_text(candidate: Candidate) -> str:
    """Write the ranks in the order vector, bm25, recency: `7/6/-`; others by their names."""
    known = "/".join(str(candidate.ranks.get(ranker, "-")) for ranker in _KNOWN)
    others = [f" {name} {rank}" for name, rank in candidate.ranks.items() if name not in _KNOWN]
    return known + "".join(others)


def score_cell(candidate: Candidate | None) -> str:
    """Write a score in as few characters as a column has."""
    return "" if candidate is None or candidate.score is None else f"{candidate.score:.3f}"


def cosine_cell(candidate: Candidate) -> str:
    """Write a cosine, where the answer has one."""
    return "" if candidate.cosine is None else f"{candidate.cosine:.2f}"


def verdict_lines(found: SideBySide, other: str, *, alike: bool) -> list[Content]:
    """Say first what differs, then what each answer is.

    Args:
        found: Both answers.
        other: What the other side is called: `draft`, `files`.
        alike: Whether both sides are one set, so that there is one answer.
    """
    before, after = (len(side.evaluated.prompt) for side in (found.before, found.after))
    if alike:
        first = line((f"the {other} {_verb(other, 'ask')} for the live set: one answer", "muted"))
        return [first, _headline(LIVE, found.before)]
    numbers = [
        (found.number(shift), shift.value) for shift in (Shift.GAINED, Shift.LOST, Shift.MOVED)
    ]
    if found.changes_the_prompt:
        parts: list[Part] = [
            (", ".join(f"{number:,} {word}" for number, word in numbers), "edited")
        ]
        parts.append(f"; in the prompt {before:,} -> {count(after, 'chunk')}{_tokens(found)}")
    else:
        change = _verb(other, "change")
        parts = [f"the {other} {change} nothing that a model gets: {count(after, 'chunk')}"]
    said = [line(*parts), _headline(LIVE, found.before), _headline(other, found.after)]
    versions = [side.evaluated.answer.corpus_version for side in (found.before, found.after)]
    if versions[0] != versions[1]:
        said.append(line(("! the corpus changed between the two answers: ask again", "warn")))
    return said


def _verb(other: str, verb: str) -> str:
    return verb if other.endswith("s") else f"{verb}s"


def _tokens(found: SideBySide) -> str:
    before, after = (side.evaluated.answer.prompt_tokens for side in (found.before, found.after))
    return "" if before is None or after is None else f", {before:,} -> {after:,} tokens"


def _headline(name: str, side: Side) -> Content:
    return line((f"{name:<6}", "muted"), side.diagnosis.headline)


def steps_lines(found: SideBySide, other: str, *, width: int) -> list[Content]:
    """Say what each step of the pipeline did under both sets, and what the other answer's numbers mean."""
    lines = [_fact_line(fact) for fact in found.facts]
    remarks = found.after.diagnosis.remarks
    if remarks:
        lines.append(line((f"what the answer under the {other} tells", "muted")))
    for remark in remarks:
        first, *rest = textwrap.wrap(remark.text, max(width - _MARGIN, 20)) or [""]
        lines.append(line((f"{remark.topic:<{_MARGIN}}", "muted"), first))
        lines += [line(f"{'':{_MARGIN}}{text}") for text in rest]
    odd = dict.fromkeys((*found.before.evaluated.oddities, *found.after.evaluated.oddities))
    return [*lines, *(line((f"! {one}", "warn")) for one in odd)]


def _fact_line(fact: Fact) -> Content:
    if not fact.differs:
        return line((f"{fact.topic:<{_MARGIN}}", "muted"), fact.after)
    before, after = fact.before or "none", fact.after or "none"
    return line((f"{fact.topic:<{_MARGIN}}", "muted"), (f"{before} -> {after}", "edited"))


def score_lines(found: SideBySide, other: str, *, alike: bool) -> list[Content]:
    """Draw the scores of all candidates in bands, with the floor and the ceilings."""
    sides = [(LIVE, found.before)] + [(other, found.after)] * (not alike)
    lines: list[Content] = []
    for name, side in sides:
        drawn = picture(side.diagnosis, drawing=Drawing())
        lines.append(
            line((name, "strong"), ("" if drawn else "  no candidate has a score", "muted"))
        )
        lines += [line(text) for text in drawn.splitlines()]
    return lines


def chunk_lines(pair: Pair, found: SideBySide, other: str, *, alike: bool) -> list[Content]:
    """Say what became of one chunk and why, and show its text."""
    word, role = SHIFTS[pair.shift]
    document = pair.seen.document_id
    of = f"  of {document}" if document and document != pair.chunk_id else ""
    lines = [
        line((pair.chunk_id or "a chunk without an id", "strong"), of, (f"  {word.strip()}", role))
    ]
    sides = [(LIVE, pair.before, found.before), (other, pair.after, found.after)]
    for name, candidate, side in sides[: 1 if alike else 2]:
        lines.append(line((f"{name:<6}", "muted"), fate_text(candidate, side.diagnosis.case)))
    text = pair.seen.text
    shown = text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… ({len(text):,} characters)"
    lines.append(
        line(("text  ", "muted"), shown.replace("\n", " ") or ("not in the answer", "muted"))
    )
    return lines


def fate_text(candidate: Candidate | None, case: Case) -> str:
    """Say where a chunk ended under one set, by which numbers, and what would be needed."""
    if candidate is None:
        return "not found" + _by_cosine(case)
    facts = "; ".join(filter(None, (_found_by(candidate), _cosine(candidate))))
    score = (
        "without a score"
        if candidate.score is None
        else f"score {score_text(candidate.score, case.floor)}"
    )
    return _fate(candidate, case, f"{score} ({facts})" if facts else score)


def _by_cosine(case: Case) -> str:
    cut = [name for name, state in (case.answer.rankers or {}).items() if state.removed_by_cosine]
    return f": {case.knobs.said('floor.vector')} removes what is not near" if cut else ""


def _found_by(candidate: Candidate) -> str:
    return ", ".join(f"{visible(name)} {rank:,}" for name, rank in candidate.ranks.items())


def _cosine(candidate: Candidate) -> str:
    return "" if candidate.cosine is None else f"cosine {candidate.cosine:.3f}"


def _fate(candidate: Candidate, case: Case, score: str) -> str:
    match candidate.fate:
        case Fate.PROMPT:
            return f"{candidate.place} in the prompt, {score}"
        case Fate.LEFT_OUT:
            why = joined(left_out(case)) if case.answer.omitted.total else "for a limit"
            return f"{score} passed the floor; left out with others: {why}"
        case Fate.FLOOR:
            return f"{score} is under {case.floor_words}{_hopeless(candidate, case)}"
        case Fate.NO_MATCH:
            return f"{score}, removed with all others by {case.knobs.said('floor.no_match')}"
        case _ if case.answer.fallback_used:
            return "retrieval did not run for the prompt"
        case _:
            return f"{score} in the first pass; the expansion ranked anew and kept it out"


def _hopeless(candidate: Candidate, case: Case) -> str:
    """Whether no rank would have helped who found it."""
    found_by = tuple(name for name in case.scale.live if name in candidate.ranks)
    ceiling = case.scale.classes.get(found_by)
    if ceiling is None or case.floor is None or ceiling >= case.floor:
        return ""
    who = " and ".join(map(visible, found_by))
    return f", which nothing found by {who} {'alone ' * (len(found_by) == 1)}can reach: {fraction_text(ceiling)} at most"


def rows_of(found: SideBySide) -> Iterator[Pair]:
    """The chunks to list."""
    yield from found.pairs[:MOST_ROWS]
