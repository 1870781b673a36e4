"""Fixtures for tests of formats."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.report.hard import hard_answer

if TYPE_CHECKING:
    from knobctl.report.formats import FindingsAnswer


@pytest.fixture(scope="session")
def hard(tmp_path_factory: pytest.TempPathFactory) -> FindingsAnswer:
    """The hard report; nobody changes it."""
    return hard_answer(tmp_path_factory.mktemp("hard") / "work")
