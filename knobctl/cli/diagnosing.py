"""Where the answers come from that `knobctl diagnose` explains, and by whose knobs."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from knobctl.diagnosis import (
    Answer,
    Asked,
    Comparison,
    Diagnosis,
    TenantKnobs,
    compare,
    diagnose,
    read_answer,
)
from knobctl.diagnosis.answer import Corpus, Outcome
from knobctl.diagnosis.reading import read_corpus
from knobctl.diagnosis.unwrapping import MAX_BYTES
from knobctl.errors import AnswerError, InputError, UsageError
from knobctl.knobs.asked_setup import typed_floor
from knobctl.report.diagnosis import Drawing
from knobctl.report.plot_parts import Ink
from knobctl.text import visible

if TYPE_CHECKING:
    from fractions import Fraction

    from knobctl.cli.session import Session
    from knobctl.diagnosis.side_by_side import Side

_STANDARD_INPUT = "-"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """One command line."""

    files: tuple[str, ...]
    question: str | None
    tenant: str | None
    surface: str | None
    min_score: str | None
    top_k: int | None
    sources: tuple[str, ...]
    proposed: tuple[str, ...]
    """Assignments to knobs, `KNOB=VALUE`, of a set that is asked about and not written."""
    floor: str | None
    save: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What there is to show."""

    diagnoses: tuple[Diagnosis, ...]
    comparison: Comparison | None
    drawing: Drawing


def diagnosed(session: Session, wanted: Wanted) -> Found:
    """Get the answers, and explain them.

    Raises:
        UsageError: If the command line asks for nothing, or for what does not go together.
        InputError: If a file holds no answer.
        EngineError: If the engine cannot be asked.
    """
    _assert_fits(wanted)
    floor = None if wanted.floor is None else typed_floor(wanted.floor, session.catalogue)
    if wanted.proposed:
        both = _both(session, wanted, floor)
        return Found(diagnoses=both, comparison=compare(*both), drawing=_drawing(session))
    # What is wrong with a file is said before an engine is asked for anything.
    answers: list[tuple[Answer, Asked | None]] = [
        (read_answer(_content(file), _name(file)), None) for file in _files(wanted)
    ]
    knobs = _knobs(session, wanted.tenant)
    if wanted.question is not None:
        answers.append(_ask(session, wanted))
    diagnoses = tuple(
        diagnose(answer, knobs, asked=asked, floor=floor) for answer, asked in answers
    )
    return Found(
        diagnoses=diagnoses,
        comparison=compare(*diagnoses) if len(diagnoses) == 2 else None,
        drawing=_drawing(session),
    )


def _assert_fits(wanted: Wanted) -> None:
    asks = wanted.question is not None
    only_ask = {
        "--surface": wanted.surface,
        "--min-score": wanted.min_score,
        "--top-k": wanted.top_k,
        "--source": wanted.sources,
        "--save": wanted.save,
        "--with": wanted.proposed,
    }
    typed = [name for name, value in only_ask.items() if value not in (None, ())]
    if typed and not asks:
        raise UsageError(f"{typed[0]} goes with --ask", hint='such as: --ask "how do I ...?"')
    if asks and not wanted.tenant:
        raise UsageError("--ask needs the tenant whose question it is", hint="add --tenant NAME")
    if wanted.surface == "assemble" and (wanted.min_score or wanted.top_k):
        raise UsageError(
            "AssembleContext takes neither a floor nor topK: its knobs decide",
            hint="ask Search: --surface search; or see what another floor keeps: --floor NUMBER",
        )
    beside = [name for name in typed if name != "--with"] + ["FILE"] * bool(wanted.files)
    if wanted.proposed and beside:
        raise UsageError(
            f"{beside[0]} does not go with --with: both answers are those of the prompt's assembly"
        )
    if len(wanted.files) + asks > 2:
        raise UsageError("one answer is explained, two are compared; there are more")
    if wanted.files.count(_STANDARD_INPUT) > 1:
        raise UsageError("standard input can be read once only")


def _files(wanted: Wanted) -> tuple[str, ...]:
    if wanted.files or wanted.question is not None:
        return wanted.files
    if sys.stdin.isatty():
        raise UsageError(
            "there is no answer to explain",
            hint='name a FILE, pipe an answer in, or ask: --tenant NAME --ask "how do I ...?"',
        )
    return (_STANDARD_INPUT,)


def _name(file: str) -> str:
    return "standard input" if file == _STANDARD_INPUT else file


def _content(file: str) -> bytes:
    try:
        if file == _STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(file).open("rb") as opened:
            return opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise InputError(f"{visible(file)} cannot be read: {error.strerror}") from error


def _knobs(session: Session, tenant: str | None) -> TenantKnobs:
    """The tenant's live set, or the platform defaults; a token that may search need not be let at knobs."""
    from knobctl.cli.live import read_named
    from knobctl.engine.interface import EngineRefusedError

    catalogue = session.catalogue
    if tenant is None:
        return TenantKnobs.defaults(catalogue)
    try:
        (live,) = read_named(session, [tenant])
    except EngineRefusedError as error:
        if error.code != "permission_denied":
            raise
        session.notice(f"the token may not read the knobs of {tenant}; the defaults explain")
        return TenantKnobs.defaults(catalogue)
    return TenantKnobs(catalogue, catalogue.effective(live.knobs), tenant)


def _ask(session: Session, wanted: Wanted) -> tuple[Answer, Asked]:
    question, tenant = wanted.question or "", wanted.tenant or ""
    request: dict[str, Any] = (
        {"scope": {"sourceIds": list(wanted.sources)}} if wanted.sources else {}
    )
    if wanted.surface == "search" or wanted.min_score is not None or wanted.top_k:
        request["query"] = question
        if wanted.top_k:
            request["topK"] = wanted.top_k
        if wanted.min_score is not None:
            request["minScore"] = _min_score(wanted.min_score, session)
        answered = session.engine.search(tenant, request)
    else:
        # An engine that does not know the field does not answer it.
        asking = request | {"task": question, "relevance": True}
        answered = session.engine.assemble(tenant, asking)
    content = json.dumps(answered, indent=2, ensure_ascii=False).encode("utf-8", "surrogatepass")
    if wanted.save:
        _save(Path(wanted.save), content)
    answer = read_answer(content, session.engine.name)
    asked = Asked(
        question=question,
        tenant=tenant,
        min_score=wanted.min_score,
        top_k=wanted.top_k,
        sources=wanted.sources,
        corpus=_corpus(session, tenant) if answer.outcome == Outcome.NO_RESULTS else None,
    )
    return answer, asked


def _both(session: Session, wanted: Wanted, floor: Fraction | None) -> tuple[Diagnosis, Diagnosis]:
    """Ask under the live set, and under it with other values; nothing is written.

    Raises:
        UsageError: If an assignment is none, or there is no such tenant.
        EngineError: If the engine cannot be asked, or does not evaluate.
    """
    from knobctl.changes.asking_both import ask_both
    from knobctl.changes.single import judge_literals, read_assignments
    from knobctl.cli.live import read_named

    tenant, catalogue = wanted.tenant or "", session.catalogue
    values, report = judge_literals(tenant, read_assignments(wanted.proposed, catalogue), catalogue)
    if report.errors:
        raise UsageError(report.findings[0].message, hint=report.findings[0].hint)
    (live,) = read_named(session, [tenant])
    found = ask_both(
        session.engine,
        tenant,
        wanted.question or "",
        catalogue=catalogue,
        live=live.knobs,
        draft=catalogue.canonical({**live.knobs, **values}),
    )
    named = f"the live set with {' '.join(wanted.proposed)}"
    return _explained(found.before, "the live set", floor), _explained(found.after, named, floor)


def _explained(side: Side, name: str, floor: Fraction | None) -> Diagnosis:
    answer = replace(side.evaluated.answer, source=name)
    return diagnose(answer, side.diagnosis.case.knobs, floor=floor)


def _corpus(session: Session, tenant: str) -> Corpus | None:
    """How much there is to find, where the engine tells us."""
    from knobctl.engine.interface import EngineRefusedError, NotOfferedError

    try:
        told = session.engine.describe(tenant, {})
    except (NotOfferedError, EngineRefusedError):
        return None
    return read_corpus(told)


def _min_score(text: str, session: Session) -> float:
    if text.strip() in {"0", "0.0"}:
        raise UsageError(
            f"--min-score {text} sends none, and without it, Search's own 0.7 applies",
            hint="leave it out to see that; for practically no floor write 0.0001",
        )
    return float(typed_floor(text, session.catalogue, "--min-score"))


def _save(path: Path, content: bytes) -> None:
    from knobctl.documents.files import write_atomically

    try:
        write_atomically(path, (content, b"\n"))
    except OSError as error:
        raise AnswerError(f"--save cannot write {path}: {error.strerror}") from error


def _drawing(session: Session) -> Drawing:
    dumb = os.environ.get("TERM") == "dumb"
    encoding = getattr(sys.stdout, "encoding", None)
    return Drawing(
        ink=Ink.ASCII if dumb else Ink.for_encoding(encoding),
        colored=session.settings.colored(sys.stdout),
    )
