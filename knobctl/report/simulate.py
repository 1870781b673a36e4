"""What a simulation came to, as text: aggregates, and with `-v` the ids of questions; never a question."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.evidence.rates import Rate
from knobctl.report.sweep import interval, percent
from knobctl.text import count, joined, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from datetime import datetime

    from knobctl.evidence.paired import Shift
    from knobctl.evidence.simulating import Kept, Simulated
    from knobctl.evidence.simulation import Summary

_MOST_IDS = 20
"""So many questions of one kind are named."""


def simulate_text(summaries: Sequence[Summary], *, made_at: datetime, everything: bool) -> str:
    """Tell people.

    Args:
        summaries: Of all tenants together; then, where there are several, of each.
        made_at: When it was measured.
        everything: Whether questions are named, by their ids.
    """
    whole, *tenants = summaries
    parts = [[*heading_lines(whole, tenants, made_at)], [*_table_lines(whole)]]
    parts += [[*_ranker_lines(whole.simulated)], [*_measure_lines(whole)], [*_slice_lines(whole)]]
    parts.append([*_tenant_lines(tenants)])
    if everything:
        parts.append([*_question_lines(whole.simulated)])
    parts.append([f"! {caveat}" for caveat in whole.caveats])
    return "\n\n".join("\n".join(part) for part in parts if part)


def heading_lines(whole: Summary, tenants: Sequence[Summary], made_at: datetime) -> Iterator[str]:
    """The answer, what was compared, and on what."""
    found = whole.simulated
    yield answer(found)
    names = [one.simulated.tenant for one in tenants]
    who = visible(found.tenant) if found.tenant else count(len(names), "tenant")
    changes = changed_knobs(found) or ["each its own change"]
    yield f"{who}: {', '.join(changes)}"
    known = [count(found.corpus.chunks, "chunk")] if found.corpus and found.corpus.chunks else []
    known += [visible(found.encoder)] if found.encoder != "unknown" else []
    parts = [count(len(found.pairs), "question"), *known, f"{made_at:%Y-%m-%d}"]
    yield f"{', '.join(parts)}; nothing was written"
    for why, number in found.unknown.items():
        yield f"{count(number, 'question')} in no figure: {why.replace('_', ' ')}"


def answer(found: Simulated) -> str:
    """The answer in a sentence or two."""
    if passing := found.passing:
        return f"{_cut(passing)}{_alone(found)}.{_of_the_prompt(found)}"
    if served := found.served:
        return f"{percent(served.lost)} of the answerable questions lose their whole context, {interval(served.lost)}."
    changed = found.changes["changed"]
    return f"{percent(changed)} of the questions get another context, {interval(changed)}{_alone(found)}."


def _cut(passing: Kept) -> str:
    rate = passing.lost
    return f"{percent(rate)} of the answerable questions lose what answers them to the floors, {interval(rate)}"


def _alone(found: Simulated) -> str:
    before, after = found.vector_alone
    if not after.denominator:
        return ""
    return f"; of {after.denominator:,} best matches that vector search alone found {before.numerator:,} were under them, {after.numerator:,} are now"


def _of_the_prompt(found: Simulated) -> str:
    """What of it reaches the model: the others did not fit before either."""
    served = found.served
    if served is None or not found.knows_texts:
        return ""
    return f" In the prompt {percent(served.lost)} lose it."


def changed_knobs(found: Simulated) -> list[str]:
    """What differs between the sets: `rrf_k 60 -> 20`."""
    return [
        f"{name} {spelled(found.before[name])} -> {spelled(found.after[name])}"
        for name in found.changed_knobs
        if name in found.before
    ]


def _table_lines(whole: Summary) -> Iterator[str]:
    yield from columns(["", "before", "after", ""], [*rows(whole)])
    yield ""
    yield change_words(whole.simulated)


def rows(whole: Summary) -> Iterator[list[str]]:
    """The rows that every simulation has: what, before, after, and the difference where there is one."""
    found = whole.simulated
    if passing := found.passing:
        yield [
            "answerable, above the floors",
            percent(passing.before),
            percent(passing.after),
            _moves(passing),
        ]
    if served := found.served:
        yield [_served_title(found), percent(served.before), percent(served.after), _moves(served)]
    if silenced := found.silenced:
        before, after = silenced
        yield ["unanswerable, nothing assembled", percent(before), percent(after), ""]
    before, after = found.empty
    yield ["nothing assembled", percent(before), percent(after), ""]
    if tokens := whole.tokens:
        yield [
            "prompt tokens, mean",
            f"{tokens.before:,.0f}",
            f"{tokens.after:,.0f}",
            f"{tokens.difference:+,.0f} ({tokens.low:+,.0f}..{tokens.high:+,.0f})",
        ]
    if found.judged.has_qrels:
        before, after = found.unjudged
        yield ["shown and not judged", percent(before, "shown"), percent(after, "shown"), ""]


def _served_title(found: Simulated) -> str:
    return "answerable, in the prompt" if found.judged.has_qrels else "answerable, any context"


def _moves(kept: Kept) -> str:
    return f"lost {kept.lost.numerator:,}, gained {kept.gained.numerator:,}"


def change_words(found: Simulated) -> str:
    """How many questions change, and in which way."""
    words = {
        "lost": ("loses chunks", "lose chunks"),
        "gained": ("gains chunks", "gain chunks"),
        "emptied": ("is emptied", "are emptied"),
        "filled": ("is filled", "are filled"),
        "reordered": ("comes in another order", "come in another order"),
    }
    numbers = {name: found.changes[name].numerator for name in words}
    ways = [
        f"{numbers[name]:,} {one if numbers[name] == 1 else many}"
        for name, (one, many) in words.items()
        if numbers[name]
    ]
    told = f"{percent(found.changes['changed'])} of the questions get another context"
    return f"{told}: {', '.join(ways)}" if ways else told


def _ranker_lines(found: Simulated) -> Iterator[str]:
    if found.by_rankers:
        yield from columns(RANKER_HEADS, [*ranker_rows(found)])


RANKER_HEADS = ("best match found by", "questions", "under the floors before", "after", "")


def ranker_rows(found: Simulated) -> Iterator[list[str]]:
    """By the rankers that had found the best match: how many questions, and where it is under the floors."""
    for names, kept in found.by_rankers.items():
        told = f"{names[0]} alone" if len(names) == 1 else joined(names)
        before, after = (
            Rate(one.denominator - one.numerator, one.denominator)
            for one in (kept.before, kept.after)
        )
        yield [told, f"{after.denominator:,}", percent(before), percent(after), interval(after)]


def _measure_lines(whole: Summary) -> Iterator[str]:
    if whole.measures:
        of = whole.measures[0].shift.questions
        head = ["measure", "before", "after", "difference (95%)", _p_title(whole)]
        yield f"over {count(of, 'answerable question')}, in the order of the prompt"
        yield from columns(head, [*measure_rows(whole)])


def _p_title(whole: Summary) -> str:
    return "p" if len(whole.measures) == 1 else f"p, corrected for {len(whole.measures)}"


def measure_rows(whole: Summary) -> Iterator[list[str]]:
    """The measures of ranking, before and after."""
    for one in whole.measures:
        shift = one.shift
        yield [one.measure, *shift_cells(shift), f"{one.corrected:.4f}"]


def shift_cells(shift: Shift) -> list[str]:
    """A mean before and after, and by how much it moved."""
    moved = f"{shift.difference:+.4f} ({shift.low:+.4f}..{shift.high:+.4f})"
    return [f"{shift.before:.4f}", f"{shift.after:.4f}", moved]


def _slice_lines(whole: Summary) -> Iterator[str]:
    if whole.slices:
        yield from columns(slice_heads(whole), [*slice_rows(whole)])


def slice_heads(whole: Summary) -> list[str]:
    """The heads of the table of slices; without what is known of none."""
    heads = ["slice", "questions", "change", "nothing assembled"]
    heads += [_lost_title(whole.simulated)] if any(one.served for one in whole.slices) else []
    return heads + [f"{one.measure} (uncorrected)" for one in whole.measures[:1]]


def _lost_title(found: Simulated) -> str:
    return "answers lost to the floors" if found.judged.has_qrels else "answerable, emptied"


def slice_rows(whole: Summary) -> Iterator[list[str]]:
    """The questions by source and tag."""
    has_served = any(one.served for one in whole.slices)
    for one in whole.slices:
        empty = " -> ".join(percent(rate) for rate in one.empty)
        cells = [visible(one.name), f"{one.questions:,}", percent(one.changed), empty]
        if has_served:
            kept = one.passing or one.served
            cells.append(lost_text(kept.lost if kept else None))
        if whole.measures:
            cells.append(shift_cells(one.measures[0].shift)[2] if one.measures else "")
        yield cells


def lost_text(rate: Rate | None) -> str:
    """A share that is lost with its interval; empty where nothing is known."""
    return f"{percent(rate)} {interval(rate)}".rstrip() if rate else ""


def _tenant_lines(tenants: Sequence[Summary]) -> Iterator[str]:
    if tenants:
        yield from columns(
            ["tenant", "change", "questions", "lost", "nothing assembled"], [*tenant_rows(tenants)]
        )


def tenant_rows(tenants: Sequence[Summary]) -> Iterator[list[str]]:
    """Each tenant by itself, the worst first."""

    def worst(one: Summary) -> tuple[float, str]:
        lost = _worst(one.simulated)
        return -(lost.value or 0.0), one.simulated.tenant

    for one in sorted(tenants, key=worst):
        found = one.simulated
        yield [
            visible(found.tenant),
            ", ".join(changed_knobs(found)),
            f"{len(found.pairs):,}",
            lost_text(_worst(found)),
            " -> ".join(percent(rate) for rate in found.empty),
        ]


def _worst(found: Simulated) -> Rate:
    """Of what a tenant is judged by: answers lost, or contexts emptied where nobody labelled."""
    kept = found.passing or found.served
    return kept.lost if kept else found.changes["emptied"]


def _question_lines(found: Simulated) -> Iterator[str]:
    """The questions that get worse, by id."""
    lost = [
        one.asked.id
        for one in found.labelled(answerable=True)
        if found.judged.is_served(one.asked.id, one.before)
        and not found.judged.is_served(one.asked.id, one.after)
    ]
    emptied = [one.asked.id for one in found.pairs if one.emptied]
    for told, ids in (("lose what answers them, in the prompt", lost), ("are emptied", emptied)):
        if ids:
            yield f"questions that {told}: {_named(ids)}"


def _named(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _MOST_IDS:,} more (--format json has all)"
    return ", ".join(map(visible, ids[:_MOST_IDS])) + (more if len(ids) > _MOST_IDS else "")


def columns(heads: Sequence[str], cells: Iterable[Sequence[str]]) -> Iterator[str]:
    """Lay rows out under their heads."""
    table = [list(heads), *map(list, cells)]
    widths = [max(map(len, column)) + 2 for column in zip(*table, strict=True)]
    for row in table:
        yield "".join(map(str.ljust, row, widths)).rstrip()
