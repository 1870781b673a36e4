"""Where findings stand, and what stands there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from knobctl.documents.model import Kind

if TYPE_CHECKING:
    from knobctl.documents.model import Document


def value_at(value: Any, path: tuple[str | int, ...]) -> Any:  # noqa: ANN401  any JSON may come
    """The value at a path; None where there is none."""
    for step in path:
        if isinstance(value, dict):
            value = value.get(str(step))
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = value[step]
        else:
            return None
    return value


def tenant_of(document: Document) -> str | None:
    """The tenant that a finding about a document names."""
    return (document.name or None) if document.kind is Kind.TENANT else None
