"""Documents that stand in for sets that no file holds, so that the policies can judge them."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Document, Kind
from knobctl.documents.reader import read_text
from knobctl.text import spelled

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from knobctl.documents.repository import Repository
    from knobctl.knobs import KnobValue

_NOT_PLAIN: Final = re.compile(
    "[^\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
)
"""What YAML takes in no quoted text as it is, or reads as the end of a line."""


def stand_in(  # noqa: PLR0913  a document has as many parts
    tenant: str,
    knobs: Mapping[str, KnobValue],
    *,
    source: str,
    labels: Mapping[str, str] | None = None,
    owner: str | None = None,
    evidence: Sequence[str] = (),
    literals: Mapping[str, str] | None = None,
) -> Document:
    """Write a set as a document.

    Args:
        tenant: Whose set.
        knobs: All of it: layers are resolved already.
        source: The name that findings carry.
        labels: Of the tenant, for policies and waivers.
        owner: Who answers for it.
        evidence: Paths of evidence.
        literals: The characters that the user typed for a knob, where they did.
    """
    lines = [f"tenant: {_quoted(tenant)}"]
    lines += [f"labels: {_quoted(dict(labels))}"] if labels else []
    lines += [f"owner: {_quoted(owner)}"] if owner else []
    lines += [f"evidence: {_quoted(list(evidence))}"] if evidence else []
    lines.append("knobs:" if knobs or literals else "knobs: {}")
    values = {name: spelled(value) for name, value in knobs.items()} | dict(literals or {})
    lines += [f"  {_quoted(name)}: {value}" for name, value in values.items()]
    (document,) = sort_documents(read_text("\n".join(lines) + "\n", source), named=False).documents
    return document


def _quoted(value: object) -> str:
    """Text, a list or a mapping of texts, as YAML in double quotes."""
    written = json.dumps(value, ensure_ascii=False)
    return _NOT_PLAIN.sub(lambda found: f"\\U{ord(found[0]):08x}", written)


def like(
    document: Document | None,
    tenant: str,
    knobs: Mapping[str, KnobValue],
    *,
    source: str,
    literals: Mapping[str, str] | None = None,
    evidence: Sequence[str] = (),
) -> Document:
    """Write a set as a document with the labels and owner of the tenant's own, if it has one."""
    return stand_in(
        tenant,
        knobs,
        source=source,
        labels=document.labels if document else {},
        owner=document.owner if document else None,
        evidence=evidence,
        literals=literals,
    )


def judging(repository: Repository, documents: Sequence[Document]) -> Repository:
    """The same repository, in which these tenant documents are judged and no other is looked at."""
    edited = {one.source: one.text for one in documents}
    return replace(
        repository,
        judged=list(documents),
        others=[one for one in repository.documents if one.kind is not Kind.TENANT],
        findings=[],
        names={**{one.source: _name_of(one, repository) for one in documents}, **repository.names},
        texts={name: edited.get(name, text) for name, text in repository.texts.items()},
    )


def _name_of(document: Document, repository: Repository) -> str:
    """The file that a stand-in stands for: its tenant's own, so that it belongs to the same fleets."""
    own = repository.claims.get(document.name, [])
    return (
        repository.names.get(own[0].source, document.source) if len(own) == 1 else document.source
    )


def alone(repository: Repository, document: Document | None) -> Repository:
    """The same repository without the other tenants: one that is judged with every key costs no more in a large one.

    What only a whole fleet can say, such as how many tenants it manages, is not to be asked of it.

    Args:
        repository: Where policies, layers, waivers and fleets stand.
        document: The tenant's own; None where it has none.
    """
    kept = [one for one in repository.documents if one.kind is not Kind.TENANT]
    own = [document] if document else []
    sources = {one.source for one in (*kept, *own)}
    by_kind: dict[Kind, list[Document]] = {}
    for one in (*own, *kept):
        by_kind.setdefault(one.kind, []).append(one)
    return replace(
        repository,
        judged=own,
        others=kept,
        names={name: file for name, file in repository.names.items() if name in sources},
        texts={name: text for name, text in repository.texts.items() if name in sources},
        reading={},
        filing=None,
        whole=repository.whole or repository,
        _by_kind=by_kind,
    )
