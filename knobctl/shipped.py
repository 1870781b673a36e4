"""Where the schemas, policies and files of a new repository that ship with knobctl lie."""

from __future__ import annotations

from pathlib import Path


def shipped(folder: str) -> Path:
    """Give the folder `schemas`, `policies` or `scaffold`: inside the wheel, or at the top of a checkout."""
    package = Path(__file__).parent
    inside = package / "shipped_data" / folder
    return inside if inside.is_dir() else package.parent / folder
