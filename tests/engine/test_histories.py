"""Reading the audit events of many tenants: in parallel, each its own, or why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.engine.interface import NotOfferedError
from knobctl.engine.reading import read_histories
from knobctl.errors import EngineError
from tests.changes.engines import Watched
from tests.cli.engines import embedded, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any


class Forgetful(Watched):
    """Keeps no audit events; counts how often it is asked."""

    asked = 0

    def audit_events(
        self, tenant: str | None = None, *, since: str | None = None
    ) -> Iterator[dict[str, Any]]:
        self.asked += 1
        raise NotOfferedError(f"no events of {tenant} since {since}")


def test_each_tenant_gets_its_own_events(tmp_path: Path) -> None:
    """However many are read at a time; one that was never written has none."""
    names = [f"t{at:02}" for at in range(20)]
    with embedded(tmp_path / "e.db") as engine:
        for at, name in enumerate(names):
            for _ in range(at % 3):
                write(engine, name, {"rrf_k": at + 1})
        found = read_histories(engine, [*names, "t00"], workers=5)
        assert found == {name: list(engine.audit_events(name)) for name in names}
    assert [len(found[name]) for name in names[:3]] == [0, 1, 2]  # type: ignore[arg-type]  # lists, as compared above


def test_an_engine_that_keeps_none_is_not_asked_for_every_tenant(tmp_path: Path) -> None:
    """What it said of one holds for the others."""
    with embedded(tmp_path / "e.db") as inner:
        engine = Forgetful(inner, lambda _: None)
        found = read_histories(engine, [f"t{at}" for at in range(50)], workers=2)
    assert len(found) == 50
    assert all(isinstance(one, EngineError) for one in found.values())
    assert engine.asked <= 2
