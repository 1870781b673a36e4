"""Validate, explain, diff and push the per-tenant knobs of retrieval engines."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["Catalogue", "Finding", "Report", "check", "load_catalogue", "validate"]
TYPE_CHECKING = False  # importing typing would double the time of `knobctl --version`

if TYPE_CHECKING:
    from knobctl.checks import Report, check, validate
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, load_catalogue


def __getattr__(name: str) -> object:
    """Load the public functions on first use, so that `import knobctl` stays free of cost."""
    if name in {"Catalogue", "load_catalogue"}:
        from knobctl import knobs

        return getattr(knobs, name)
    if name in {"Report", "check", "validate"}:
        from knobctl import checks

        return getattr(checks, name)
    if name == "Finding":
        from knobctl.finding import Finding

        return Finding
    message = f"module 'knobctl' has no attribute {name!r}"
    raise AttributeError(message)
