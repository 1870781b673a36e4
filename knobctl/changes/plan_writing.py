"""Lays a plan out as the JSON file that is reviewed and applied, tenant by tenant. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from knobctl.changes.plan import FORMAT, FORMAT_VERSION
from knobctl.changes.sealing import Seal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.changes.plan import Plan

_TENANTS: Final = b'\n  "tenants": []'
"""Where the tenants go. A line's end stands in no text, so that this line is the plan's own."""
_END: Final = b"\n}"


class PlanFile:
    """A plan as a file: with a digest for each tenant that changes and one over all, by RFC 8785.

    None of its keys is a kind key at the top: a plan that lies in a repository is nobody's document.
    """

    def __init__(self, plan: Plan, *, made_at: str, made_by: str) -> None:
        """Lay a plan out.

        Args:
            plan: The plan.
            made_at: When, RFC 3339.
            made_by: By which knobctl.
        """
        self._changing = plan.changing
        self._frame = _frame(plan, made_at, made_by)
        self._digest: str | None = None

    @property
    def digest(self) -> str:
        """The digest over all."""
        if self._digest is None:
            for _ in self._sealed():
                pass
        return str(self._digest)

    def pieces(self) -> Iterator[bytes]:
        """The text of the file: JSON in ASCII, so that no letter in it looks like another."""
        from pydantic_core import to_json

        frame = to_json(self._frame, indent=1, ensure_ascii=True)
        head, _, tail = frame.removesuffix(_END).partition(_TENANTS)
        yield head + _TENANTS[:-1]
        between = b"\n   "
        for tenant in self._sealed():
            yield between + to_json(tenant, indent=1, ensure_ascii=True).replace(b"\n", b"\n   ")
            between = b",\n   "
        yield (b"\n  ]" if self._changing else b"]") + tail
        yield b',\n "digest": "%b"\n}\n' % self.digest.encode()

    def document(self) -> dict[str, Any]:
        """All of it at once."""
        plan = {**self._frame["plan"], "tenants": list(self._sealed())}
        return {**self._frame, "plan": plan, "digest": self.digest}

    def _sealed(self) -> Iterator[dict[str, Any]]:
        """The tenants with their digests; after the last, that over all is known."""
        seal = Seal(self._frame)
        for tenant in self._changing:
            content = tenant.content()
            yield {**content, "digest": seal.add(content)}
        self._digest = seal.digest()


def _frame(plan: Plan, made_at: str, made_by: str) -> dict[str, Any]:
    """All but the tenants and the digest."""
    return {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "made_at": made_at,
        "made_by": made_by,
        "plan": {
            "engine": plan.engine,
            "fleet": plan.fleet,
            "schema_digest": plan.schema_digest,
            "managed_tenants": plan.managed,
            "limits": plan.limits.as_json(),
            "unchanged": plan.looked_at - len(plan.changing),
            "tenants": [],
            "hazards": [hazard.as_json() for hazard in plan.hazards],
        },
    }
