"""Validate, explain, diff and push the per-tenant knobs of retrieval engines."""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["check", "load_catalogue", "validate"]
TYPE_CHECKING = False  # importing typing would double the time of `knobctl --version`

if TYPE_CHECKING:
    from knobctl.checks import check, validate
    from knobctl.knobs import load_catalogue


def __getattr__(name: str) -> object:
    """Load the public functions on first use, so that `import knobctl` stays free of cost."""
    if name == "load_catalogue":
        from knobctl.knobs import load_catalogue

        return load_catalogue
    if name in {"check", "validate"}:
        from knobctl import checks

        return getattr(checks, name)
    message = f"module 'knobctl' has no attribute {name!r}"
    raise AttributeError(message)
