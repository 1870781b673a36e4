"""The digests of a plan: one for each tenant, one over all, made without holding the text of all. Pure."""

from __future__ import annotations

import hashlib
from bisect import insort
from typing import TYPE_CHECKING, Any, Final

from knobctl.canonical import canonical, canonical_members, encoded

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_GAP: Final = "\0"
"""Where the tenants stand in the text around them. In JSON it stands for nothing else."""


def digest(value: Any) -> str:  # noqa: ANN401  any plain JSON value
    """SHA-256, lower-case hex, over the RFC 8785 form of a plain value.

    Raises:
        NoCanonicalFormError: If the value has no such form: a number beyond a double, for instance.
    """
    return hashlib.sha256(canonical(value)).hexdigest()


class Seal:
    """The digest of a plan, to which its tenants are added one by one, in their order."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        """Take all of a plan's document but its digest; its tenants are not looked at.

        Raises:
            NoCanonicalFormError: If it has no canonical form.
        """
        plan = canonical_members(_without(document["plan"], "tenants"))
        insort(plan, f'"tenants":[{_GAP}]')
        whole = canonical_members(_without(document, "plan"))
        insort(whole, f'"plan":{_object(plan)}')
        head, _, tail = _object(whole).partition(_GAP)
        self._sum, self._tail = hashlib.sha256(encoded(head)), encoded(tail)
        self._between = ""

    def add(self, content: Mapping[str, Any]) -> str:
        """Add a tenant.

        Args:
            content: What its digest covers.

        Returns:
            Its digest.

        Raises:
            NoCanonicalFormError: If it has no canonical form.
        """
        members = canonical_members(content)
        own = hashlib.sha256(encoded(_object(members))).hexdigest()
        insort(members, f'"digest":"{own}"')
        self._sum.update(f"{self._between}{_object(members)}".encode())
        self._between = ","
        return own

    def digest(self) -> str:
        """The digest over all, once every tenant is added."""
        whole = self._sum.copy()
        whole.update(self._tail)
        return whole.hexdigest()


def _object(members: Sequence[str]) -> str:
    return f"{{{','.join(members)}}}"


def _without(value: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {key: part for key, part in value.items() if key != name}
