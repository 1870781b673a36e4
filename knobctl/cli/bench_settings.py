"""What the commands of the benchmark share: its settings, and where the held-out set lies."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.cli.session import Session
    from knobctl.evidence.bench_settings import BenchSettings
    from knobctl.evidence.judging.cost import Model


def settings_of(session: Session) -> BenchSettings:
    """The settings of the repository in which the working folder lies."""
    from knobctl.evidence.bench_settings import bench_settings

    return bench_settings(*_tables(session))


def model_of(session: Session, name: str) -> Model:
    """What those settings say of a language model."""
    from knobctl.evidence.bench_settings import model_named

    return model_named(name, *_tables(session))


def _tables(session: Session) -> tuple[Mapping[str, Any], str]:
    from knobctl.documents.repository import repository_root
    from knobctl.documents.settings import SETTINGS_FILE, read_settings

    root, _ = repository_root(session.cwd)
    return read_settings(root).benchmark, str(root / SETTINGS_FILE)


def heldout_path(session: Session, bench: BenchSettings) -> Path:
    """Where the held-out set lies unless it is said otherwise."""
    if bench.heldout_path:
        return Path(bench.heldout_path).expanduser()
    return session.data_folder / "relevance-floor" / "heldout.jsonl"
