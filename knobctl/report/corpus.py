"""A tenant's corpus for people and machines: what a load did, and what there is."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from knobctl.errors import ExitCode
from knobctl.report.ages import ago
from knobctl.report.reach import wrapped
from knobctl.report.sets import table
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from knobctl.finding import Finding
    from knobctl.server.retrieval.model import Upserted
    from knobctl.server.store.corpus import Description, EmbedderIdentity


@dataclass(slots=True, kw_only=True)
class Loaded:
    """What a load did so far."""

    tenant: str
    of: int
    """Texts in the file."""
    embedder: EmbedderIdentity | None = None
    texts: int = 0
    """Texts that are in the store now."""
    written: int = 0
    unchanged: int = 0
    removed: int = 0
    corpus_version: str = ""
    seconds: float = 0.0
    trouble: str = ""
    """Why it ended early, if something failed."""

    def add(self, upserted: Upserted, texts: int) -> None:
        """Count one batch."""
        self.texts += texts
        self.written += upserted.written
        self.unchanged += upserted.unchanged
        self.removed += upserted.removed
        self.corpus_version = upserted.corpus_version

    @property
    def rate(self) -> float | None:
        """Written chunks a second; None where none was."""
        return self.written / self.seconds if self.written and self.seconds else None


def loaded_text(loaded: Loaded, file: str) -> str:
    """Write what a load did."""
    texts = count(loaded.of, "text")
    head = texts if loaded.texts == loaded.of else f"{loaded.texts:,} of {texts}"
    done = [
        f"{count(loaded.written, 'chunk')} written" if loaded.written else "",
        f"{loaded.unchanged:,} unchanged" if loaded.unchanged else "",
        f"{loaded.removed:,} removed" if loaded.removed else "",
    ]
    rate = f", {loaded.rate:.3g} chunks/s" if loaded.rate else ""
    version = f"; corpus {loaded.corpus_version}" if loaded.corpus_version else ""
    line = wrapped(
        f"{visible(loaded.tenant)}: {head} of {visible(file)}:"
        f" {', '.join(part for part in done if part) or 'nothing'}{version}"
        f" ({loaded.seconds:.1f} s{rate})",
        indent="  ",
    )
    if loaded.texts == loaded.of:
        return line
    why = (
        wrapped(f"stopped: {visible(loaded.trouble)}", indent="  ")
        if loaded.trouble
        else "stopped, as asked"
    )
    return f"{line}\n{why}\nload the file again to go on: what is there already is left alone"


def loaded_json(
    loaded: Loaded, code: ExitCode, *, findings: Sequence[Finding] = (), untold: int = 0
) -> str:
    """What a load did, or why nothing was loaded, for machines.

    Args:
        loaded: What it did.
        code: How it ended.
        findings: What is wrong with the lines of the file.
        untold: How many more of them there are.
    """
    return _json(
        "engine load",
        code,
        tenant=loaded.tenant,
        texts=loaded.texts,
        texts_in_file=loaded.of,
        written=loaded.written,
        unchanged=loaded.unchanged,
        removed=loaded.removed,
        corpus_version=loaded.corpus_version or None,
        seconds=round(loaded.seconds, 3),
        chunks_per_second=round(loaded.rate, 3) if loaded.rate else None,
        embedder=asdict(loaded.embedder) if loaded.embedder else None,
        trouble=loaded.trouble or None,
        findings=[one.as_json() for one in findings],
        findings_untold=untold,
    )


def bad_lines_text(findings: Sequence[Finding], untold: int, file: str) -> str:
    """Write what is wrong with the lines of a file."""
    lines = []
    for one in findings:
        place = one.primary
        where = f"{visible(place.file)}:{place.line}:{place.column}" if place else visible(file)
        lines.append(f"{where}  {one.severity.value}  {one.rule}")
        lines.append(wrapped(f"  {visible(one.message)}", indent="  "))
        if one.hint:
            lines.append(f"  {visible(one.hint)}")
    total = count(len(findings) + untold, "error")
    more = f", the first {len(findings)} are shown" if untold else ""
    end = wrapped(f"{visible(file)}: {total}{more}; nothing was loaded", indent="  ")
    return "\n".join([*lines, end])


def described_text(
    tenant: str,
    corpus: Description,
    embedder: EmbedderIdentity | None,
    *,
    now: datetime,
    store: str,
) -> str:
    """Write what a corpus holds.

    Args:
        tenant: Whose it is.
        corpus: Its counts and times.
        embedder: What made the store's vectors; None while there are none.
        now: For ages.
        store: Where it is; told where nothing is, for that may be the wrong place.
    """
    name = visible(tenant)
    if not corpus.chunks:
        return f"{name}: no text is loaded into {visible(store)} (corpus c{corpus.version})"
    head = f"{name}: {count(corpus.documents, 'document')}, {count(corpus.chunks, 'chunk')}; corpus c{corpus.version}"
    rows = [
        (
            "source",
            visible(one.source_id),
            count(one.documents, "document"),
            count(one.chunks, "chunk"),
        )
        for one in corpus.sources
    ]
    lines = [head, table([("  " + row[0], *row[1:]) for row in rows])]
    lines.append(f"newest   {ago(corpus.newest, now)}, oldest {ago(corpus.oldest, now)}")
    if embedder:
        details = [embedder.revision, embedder.pooling, f"{embedder.dimensions} dimensions"]
        words = ", ".join(visible(one) for one in details if one)
        lines.append(f"vectors  {visible(embedder.model)} ({words})")
    return "\n".join(lines)


def described_json(tenant: str, corpus: Description, embedder: EmbedderIdentity | None) -> str:
    """What a corpus holds, for machines."""
    return _json(
        "engine describe",
        ExitCode.OK,
        tenant=tenant,
        corpus_version=f"c{corpus.version}",
        documents=corpus.documents,
        chunks=corpus.chunks,
        sources=[asdict(one) for one in corpus.sources],
        oldest=corpus.oldest or None,
        newest=corpus.newest or None,
        embedder=asdict(embedder) if embedder else None,
    )


def _json(command: str, code: ExitCode, **facts: Any) -> str:
    head = {
        "version": 1,
        "command": command,
        "outcome": code.outcome,
        "exit_code": int(code),
    }
    return json.dumps(head | facts, indent=2)
