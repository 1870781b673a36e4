"""Resolves a tenant's layers: later layers win, the tenant's own knobs win over all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.documents.model import Document, Effective, Written

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.knobs import Catalogue, KnobValue


def resolve(tenant: Document, layers: Sequence[Document], catalogue: Catalogue) -> Effective:
    """Resolve one tenant.

    A literal 0 is a value like any other: it hides what a layer says, and then means the platform default.

    Args:
        tenant: The tenant's document.
        layers: The layers that it names and that exist, in its order.
        catalogue: The knobs of the engine.
    """
    origins: dict[str, tuple[Written, ...]] = {
        name: (written,) for name, written in tenant.written(catalogue).items()
    }
    for layer in reversed(layers):
        for name, written in layer.written(catalogue).items():
            origins[name] = (*origins.get(name, ()), written)
    desired: dict[str, KnobValue] = {}
    for knob in catalogue.knobs:
        chain = origins.get(knob.name)
        if chain is not None and chain[0].value != knob.unset:
            desired[knob.name] = chain[0].value
    return Effective(
        tenant=tenant.name, document=tenant, catalogue=catalogue, desired=desired, origins=origins
    )
