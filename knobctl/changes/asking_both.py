"""Asks one question under the live set and under a draft of it, side by side; nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from knobctl.diagnosis.evaluated import read_evaluations
from knobctl.diagnosis.side_by_side import Side, SideBySide
from knobctl.diagnosis.tenant_knobs import TenantKnobs
from knobctl.errors import EngineError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.diagnosis.evaluated import Evaluated
    from knobctl.engine.interface import Engine
    from knobctl.knobs import Catalogue, KnobValue


def ask_both(
    engine: Engine,
    tenant: str,
    question: str,
    *,
    catalogue: Catalogue,
    live: Mapping[str, KnobValue],
    draft: Mapping[str, KnobValue],
) -> SideBySide:
    """Ask what a model would get under each of two sets.

    Where the sets are alike the question is asked once.

    Args:
        engine: Who answers.
        tenant: Whose corpus.
        question: In the user's words.
        catalogue: The knobs, by which the answers are explained.
        live: The canonical set in force.
        draft: The canonical set that might be.

    Raises:
        NotOfferedError: If the engine does not evaluate.
        EngineRefusedError: If it does not take one of the sets, or the question.
        EngineError: If it cannot be asked, or answers nonsense.
    """
    before = _under(engine, tenant, question, live)
    after = before if dict(live) == dict(draft) else _under(engine, tenant, question, draft)
    return SideBySide(
        *(
            Side.of(found, TenantKnobs(catalogue, catalogue.effective(knobs), tenant))
            for found, knobs in ((before, live), (after, draft))
        )
    )


def _under(engine: Engine, tenant: str, question: str, knobs: Mapping[str, KnobValue]) -> Evaluated:
    request = {"config": dict(knobs), "queries": [question], "includeText": True}
    try:
        found = read_evaluations(engine.evaluate(tenant, request), engine.name)
    except InputError as error:
        raise EngineError(error.message) from error
    if len(found) != 1:
        raise EngineError(f"{engine.name} gave {len(found)} answers to one question")
    return found[0]
