"""Engines for the tests of retrieval."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from tests.server.retrieval.engines import Engine, open_engine

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[..., Engine]]:
    """Opens engines on one store of the test's own, and closes them."""
    with ExitStack() as stack:

        def opened(**parts: object) -> Engine:
            engine = open_engine(tmp_path, **parts)  # type: ignore[arg-type]  # as open_engine takes them
            stack.callback(engine.close)
            return engine

        yield opened
