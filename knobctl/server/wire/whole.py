"""The whole `.proto` of the knobs service, in one text that a client can compile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.knobs.derived import proto_text

if TYPE_CHECKING:
    from knobctl.knobs import Catalogue

_SERVICE: Final = Path(__file__).parent / "knobs_service.proto"


def whole_proto(catalogue: Catalogue) -> str:
    """Write the message of the knobs, then the service that carries it."""
    _, _, service = _SERVICE.read_text(encoding="utf-8").partition('knobs.proto";\n')
    return proto_text(catalogue) + service
