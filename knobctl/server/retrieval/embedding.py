"""Which embedder a name on the command line means."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.errors import EngineError, UsageError
from knobctl.text import visible

if TYPE_CHECKING:
    from knobctl.server.retrieval.embedder import Embedder
    from knobctl.server.retrieval.minilm import MiniLm
    from knobctl.server.store.corpus import EmbedderIdentity

DEFAULT: Final = "minilm"
SPELLINGS: Final = (
    "minilm, openai:BASE_URL#MODEL, fastembed:MODEL, sentence-transformers:MODEL or folder:PATH"
)


def open_embedder(spec: str = DEFAULT, *, key: str | None = None) -> Embedder:
    """Give the embedder of a name. Opening is cheap: models load with the first text.

    Args:
        spec: One of `SPELLINGS`.
        key: For an endpoint that wants one.

    Raises:
        UsageError: If the name means no embedder.
        EngineError: If what it needs is not installed.
    """
    kind, _, name = spec.partition(":")
    base_url, _, model = name.rpartition("#")
    match kind:
        case "minilm" if not name:
            return _minilm()
        case "openai" if base_url and model:
            from knobctl.server.retrieval.endpoint import Endpoint

            return Endpoint(base_url, model, key=key)
        case "fastembed" | "sentence-transformers" if name:
            from knobctl.server.retrieval.local_models import LocalModel

            return LocalModel(kind.replace("-", "_"), name)
        case "folder" if name:
            from knobctl.server.retrieval.model_folder import FolderModel

            return FolderModel(Path(name))
        case _:
            raise UsageError(f"{visible(spec)!r} means no embedder", hint=f"use {SPELLINGS}")


@cache
def _minilm() -> MiniLm:
    """The one of this process: engines that are opened after one another read its weights once."""
    from knobctl.server.retrieval.minilm import MiniLm

    return MiniLm()


def require_same(kept: EmbedderIdentity | None, mine: EmbedderIdentity) -> None:
    """See that a store's vectors are of this embedder; any will do while there are none.

    Raises:
        EngineError: If another made them.
    """
    if kept is not None and kept != mine:
        raise EngineError(
            f"the store's vectors are of {described(kept)}; this embedder is {described(mine)},"
            " and vectors of two models cannot be compared",
            hint="name the one that made them: --embedder SPEC, or KNOBCTL_EMBEDDER=SPEC for every command;"
            " or load the texts into a new store",
        )


def described(identity: EmbedderIdentity) -> str:
    """Name an embedder for people: `all-MiniLM-L6-v2 (int8-8199be6f699a, mean, 384 dimensions)`."""
    details = [identity.revision, identity.pooling, f"{identity.dimensions} dimensions"]
    return f"{identity.model} ({', '.join(detail for detail in details if detail)})"
