"""Which sets a simulation compares, and asking about them."""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from knobctl.errors import InputError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime
    from pathlib import Path
    from threading import Event

    from knobctl.checks.evidence_record import Sample
    from knobctl.checks.report import Report
    from knobctl.checks.selecting import Selection
    from knobctl.cli.session import Session
    from knobctl.documents.model import Document
    from knobctl.evidence.harvest.asked import Question
    from knobctl.evidence.simulating import Asked, Judged, Simulated
    from knobctl.knobs import KnobValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSets:
    """What one tenant has, and what it would have."""

    tenant: str
    before: Mapping[str, KnobValue]
    after: Mapping[str, KnobValue]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """What is simulated."""

    sets: Sequence[TwoSets] = ()
    report: Report | None = None
    """Findings with errors: then nothing is simulated."""
    sample: Sample | None = None
    """Where the tenants were drawn from a layer, or are several."""


def typed_sets(session: Session, tenant: str, assignments: Sequence[str]) -> Compared:
    """The live set of a tenant, and the same with what was typed.

    Raises:
        UsageError: If nothing would differ.
    """
    from knobctl.changes.single import judge_literals, read_assignments

    catalogue = session.catalogue
    values, report = judge_literals(tenant, read_assignments(assignments, catalogue), catalogue)
    if report.errors:
        return Compared(report=report)
    before = session.engine.read(tenant).knobs
    after = catalogue.canonical({**before, **values})
    sets = TwoSets(tenant=tenant, before=before, after=after)
    if catalogue.effective(before) == catalogue.effective(after):
        raise UsageError(
            f"{visible(tenant)} has these values already: both sets would be the same",
            hint=f"see what is in force: knobctl get {visible(tenant)}",
        )
    return Compared(sets=[sets])


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Which tenants of documents are simulated."""

    selection: Selection
    layer: str | None
    most: int | None
    """So many of the layer's tenants; None for all."""
    seed: int


def document_sets(session: Session, paths: Sequence[str], drawing: Drawing) -> Compared:
    """What the engine holds, and what documents say, of each tenant that would change; of a layer all that are drawn.

    Raises:
        UsageError: If no tenant would change, or none takes the layer.
    """
    from knobctl.changes.comparing import live_sets
    from knobctl.changes.preparing import validated
    from knobctl.cli.choosing import choose

    repository, _ = choose(session, paths, selection=drawing.selection, indexed=False)
    takers = _takers(repository.tenants, drawing) if drawing.layer else None
    names = _drawn(takers, drawing) if takers is not None else None
    if names is not None:
        repository = repository.keeping([one for one in repository.tenants if one.name in names])
    report = validated(repository)
    if report.errors:
        return Compared(report=report)
    live, catalogue = live_sets(repository, session.engine), session.catalogue
    sets = [
        TwoSets(tenant=one.name, before=live[one.name].knobs, after=repository.desired(one))
        for one in repository.tenants
    ]
    differing = [
        one for one in sets if catalogue.effective(one.before) != catalogue.effective(one.after)
    ]
    if not differing:
        raise UsageError("nothing would change: the engine holds what the files say")
    if names is None and len(differing) < len(sets):
        session.notice(
            f"{count(len(sets) - len(differing), 'tenant')} would not change, and is left out"
        )
    chosen = sets if names is not None else differing
    return Compared(sets=chosen, sample=_sample(chosen, drawing, takers))


def _takers(tenants: Sequence[Document], drawing: Drawing) -> list[str]:
    takers = sorted({one.name for one in tenants if drawing.layer in one.layers})
    if not takers:
        raise UsageError(f"no tenant takes the layer {visible(str(drawing.layer))}")
    return takers


def _drawn(takers: Sequence[str], drawing: Drawing) -> list[str]:
    from knobctl.evidence.layer_sample import drawn

    return drawn(takers, drawing.most or len(takers), seed=drawing.seed)


def _sample(
    sets: Sequence[TwoSets], drawing: Drawing, takers: Sequence[str] | None
) -> Sample | None:
    from knobctl.checks.evidence_record import Sample

    names = tuple(one.tenant for one in sets)
    if takers is None:
        return Sample(tenants=names) if len(names) > 1 else None
    is_drawn = len(names) < len(takers)
    return Sample(
        tenants=names,
        layer=drawing.layer,
        of=len(takers),
        seed=drawing.seed if is_drawn else None,
    )


def read_judged(qrels: Path | None, labels: Path | None, queries: Path | None) -> Judged:
    """Read what is known of the questions."""
    from knobctl.evidence.labels import read_labels
    from knobctl.evidence.qrels import read_qrels
    from knobctl.evidence.simulating import NO_QRELS, Judged

    if queries and not (qrels or labels):
        raise UsageError("--queries says nothing without --qrels or --labels")
    return Judged(
        qrels=read_qrels(qrels, queries) if qrels else NO_QRELS,
        labels=read_labels(labels, queries) if labels else {},
    )


def assert_known_questions(judged: Judged, asked: Sequence[Asked]) -> None:
    """See that what is known is known of these questions.

    Raises:
        InputError: If it is of none of them.
    """
    known = {*judged.labels, *judged.qrels.by_question}
    if known and not known & {one.id for one in asked}:
        raise InputError(
            f"none of the {len(asked):,} questions is among the {len(known):,} judged ones",
            hint="qrels and labels name a question by its id, labels by its text too; data sets with ids of their own need --queries",
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What a simulation found."""

    made_at: datetime
    simulated: Sequence[Simulated] = ()
    sample: Sample | None = None
    report: Report | None = None
    """Findings with errors: then nothing was simulated."""
    digest: str | None = None
    """Of the recording that was simulated over; None where an engine was asked."""
    caveats: Sequence[str] = ()


def asked_of_engine(
    session: Session,
    compared: Compared,
    asked: Sequence[tuple[Question, Asked]],
    judged: Judged,
    *,
    parallelism: int,
    stop: Event,
) -> Found:
    """Ask each tenant all questions under both of its sets; fewer tenants where it was stopped."""
    made_at = session.now().replace(microsecond=0)
    if compared.report:
        return Found(made_at=made_at, report=compared.report)
    assert_known_questions(judged, [one for _, one in asked])
    found = _ask_all(session, compared.sets, asked, judged, parallelism=parallelism, stop=stop)
    if not found and not stop.is_set():
        raise InputError("none of these tenants has any text: there is nothing to find")
    measured = tuple(one.tenant for one in found)
    sample = replace(compared.sample, tenants=measured) if compared.sample else None
    return Found(made_at=made_at, simulated=found, sample=sample)


def _ask_all(
    session: Session,
    sets: Sequence[TwoSets],
    questions: Sequence[tuple[Question, Asked]],
    judged: Judged,
    *,
    parallelism: int,
    stop: Event,
) -> list[Simulated]:
    from knobctl.evidence.both_sets import BothSets, simulated
    from knobctl.report.progress import progress

    found: list[Simulated] = []
    shows = session.settings.shows_progress
    total = len(sets) * len(questions)
    with (
        progress(total, "asking", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):
        for one in sets:
            both = BothSets(
                engine=session.engine,
                catalogue=session.catalogue,
                tenant=one.tenant,
                before=one.before,
                after=one.after,
                judged=judged,
                parallelism=parallelism,
                stop=stop,
            )
            try:
                part = simulated(both, questions, kind=session.target.kind, tell=step)
            except InputError as error:  # it has no text
                if len(sets) == 1:
                    raise
                session.notice(f"{error}; it is left out")
                continue
            if stop.is_set():
                break
            found.append(part)
            if both.failures:
                session.notice(
                    f"{visible(one.tenant)}: {count(len(both.failures), 'question')} without an answer; the first of them: {visible(both.failures[0])}"
                )
    return found
