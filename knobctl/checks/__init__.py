"""Checks: what the schemas, the policies and the waivers say of documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import date

    from knobctl.checks.judging import check_repository, validate_repository
    from knobctl.checks.report import Report
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, KnobValue

__all__ = ["Report", "check", "check_repository", "validate", "validate_repository"]


def __getattr__(name: str) -> Any:  # noqa: ANN401  modules are loaded on first use
    """Load what was asked for, so that `validate` does not pay for `check`."""
    if name in {"check_repository", "validate_repository"}:
        from knobctl.checks import judging

        return getattr(judging, name)
    if name == "Report":
        from knobctl.checks.report import Report

        return Report
    raise AttributeError(f"module 'knobctl.checks' has no attribute {name!r}")


def validate(
    text: str, source: str = "<text>", *, catalogue: Catalogue | None = None
) -> list[Finding]:
    """Validate a text: syntax, types, ranges, unknown knobs, each with its place.

    Args:
        text: YAML or JSON, one document or several.
        source: The name that findings carry.
        catalogue: The knobs; None for the shipped ones.
    """
    from knobctl.checks.report import ordered
    from knobctl.checks.validation import validate_documents
    from knobctl.documents.kinds import sort_documents
    from knobctl.documents.reader import read_text
    from knobctl.knobs import load_catalogue

    found = sort_documents(read_text(text, source), named=True)
    knobs = catalogue or load_catalogue()
    validation = validate_documents(found.documents, (), knobs, reading=found.findings)
    return ordered([*found.findings, *validation.findings])


def check(  # noqa: PLR0913  each is one thing that only the caller knows
    paths: Sequence[str | Path] = (".",),
    *,
    today: date | None = None,
    cwd: Path | None = None,
    catalogue: Catalogue | None = None,
    live: Mapping[str, Mapping[str, KnobValue]] | None = None,
    base: str | None = None,
    fleet: str | None = None,
) -> Report:
    """Validate documents, then ask the policies of every tenant.

    Args:
        paths: Files and folders.
        today: The day, for waivers; None for the system's.
        cwd: What paths are relative to; None for the working folder of the process.
        catalogue: The knobs; None for those of the repository, else the shipped ones.
        live: By tenant, the set that the engine holds, to say what a push would do.
        base: A Git revision; findings that it has too, where HEAD left it, are standing.
        fleet: The fleet whose tenants are judged, by name; None for all, each under its own.

    Raises:
        UsageError: If a path does not exist, or there is nothing to check.
    """
    from datetime import datetime

    from knobctl.checks.judging import check_repository
    from knobctl.documents.repository import open_repository
    from knobctl.documents.revisions import open_base

    names, folder = [str(path) for path in paths], (cwd or Path()).absolute()
    whole = open_repository(names, catalogue=catalogue, cwd=folder, stdin=bytes)
    named = whole.fleet(fleet) if fleet else None
    then = open_base(whole, base, names, catalogue=catalogue, cwd=folder) if base else None
    day = today or datetime.now().astimezone().date()  # noqa: TID251  this door is a rim: whoever minds gives the day
    return check_repository(whole.within(named), today=day, live=live, base=then, fleet=named)
