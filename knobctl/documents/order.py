"""The order of keys in a document: the kind key first, the knobs last."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.documents.model import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.knobs import Catalogue

KEY_ORDER: Final[Mapping[Kind, tuple[str, ...]]] = {
    Kind.TENANT: ("tenant", "version", "labels", "owner", "layers", "evidence", "knobs"),
    Kind.LAYER: ("layer", "version", "labels", "owner", "evidence", "knobs"),
    Kind.POLICY: (
        *("policy", "version", "title", "severity", "when", "each", "trigger", "reads", "at"),
        *("message", "hint", "examples"),
    ),
    Kind.WAIVER: (
        *("waiver", "version", "rule", "tenants", "labels", "up_to"),
        *("reason", "approved_by", "expires"),
    ),
    Kind.FLEET: (
        *("fleet", "version", "include", "limits", "protected", "freeze"),
        *("evidence", "probes", "reason_required", "ticket_pattern"),
    ),
}


def key_rank(kind: Kind) -> Callable[[str], int]:
    """Rank the keys of a document; those that the kind does not know stay together, before the knobs."""
    known = KEY_ORDER[kind]
    unknown = known.index("knobs") if "knobs" in known else len(known)
    ranks = {name: 2 * number for number, name in enumerate(known)}
    ranks["$schema"] = -1  # an editor's line in JSON, which has no comments
    return lambda name: ranks.get(name, 2 * unknown - 1)


def knob_rank(catalogue: Catalogue) -> Callable[[str], int]:
    """Rank knobs, by either spelling, as the schema has them; unknown ones come last."""
    ranks = {knob.name: number for number, knob in enumerate(catalogue.knobs)}
    known = catalogue.by_any_name
    return lambda name: ranks[known[name].name] if name in known else len(ranks)
