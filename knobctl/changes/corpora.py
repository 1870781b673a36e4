"""How large the corpora of tenants are now, as the engine says: what was measured on them may hold no more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.checks.evidence_record import Corpus, described_corpus
from knobctl.engine.interface import NotOfferedError, TenantNotFoundError
from knobctl.errors import EngineError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from knobctl.engine.interface import Engine

_NONE: Final = Corpus(chunks=0, documents=0)


class Corpora:
    """What an engine has to search, each tenant asked about once."""

    def __init__(self, engine: Callable[[], Engine]) -> None:
        """Take how the engine is opened; it is asked where somebody wants to know."""
        self._engine = engine
        self._known: dict[str, Corpus] = {}
        self._unknown: str | None = None

    def __call__(self, tenants: Collection[str]) -> Corpus | str:
        """Give the corpora of tenants together; why nobody can say, where the engine does not offer it.

        Raises:
            EngineError: If the engine cannot be asked, or answers nonsense.
        """
        if self._unknown is not None:
            return self._unknown
        try:
            found = [self._of(tenant) for tenant in tenants]
        except NotOfferedError as error:
            self._unknown = error.message
            return self._unknown
        return found[0] if len(found) == 1 else Corpus(chunks=sum(one.chunks for one in found))

    def _of(self, tenant: str) -> Corpus:
        if tenant not in self._known:
            self._known[tenant] = _described(self._engine(), tenant)
        return self._known[tenant]


def _described(engine: Engine, tenant: str) -> Corpus:
    try:
        return described_corpus(engine.describe(tenant, {}))
    except TenantNotFoundError:
        return _NONE
    except (TypeError, ValueError) as error:
        why = f"{type(error).__name__} {error}"
        raise EngineError(f"{engine.name} answered nonsense: {visible(why)}") from error
