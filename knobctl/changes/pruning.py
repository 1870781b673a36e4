"""Pruning: what no document asks for any more goes back to the platform default."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from knobctl.changes.drift import unmanaged_sets
from knobctl.changes.plan import Plan, plan_tenant
from knobctl.engine.interface import NotOfferedError
from knobctl.errors import EngineError, InputError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.documents.repository import Repository
    from knobctl.engine.interface import Engine


def refuse_part(repository: Repository, looked_at: Path, *, marked: bool) -> None:
    """Refuse to prune by a part of a repository: what stands elsewhere would look as if it were gone.

    Args:
        repository: What was read.
        looked_at: The one folder that the command line names.
        marked: Whether something says that the root is one.

    Raises:
        UsageError: If the folder is not the root.
        InputError: If a file that may hold a tenant cannot be read, or is not, as it is a link.
    """
    root = repository.root
    if not marked:
        raise UsageError(
            f"{root} is no repository that says so, and its tenants may stand beside it too",
            hint="put a knobctl.toml, it may be empty, into the folder that holds all documents",
        )
    if looked_at.resolve() != root.resolve():
        raise UsageError(
            f"--prune is about the whole repository, and {looked_at} is a part of {root}",
            hint="name the root, and a fleet where only its tenants are to be pushed: --fleet NAME",
        )
    if repository.unread:
        raise InputError(
            f"{repository.unread[0]} cannot be read, and its tenants would look as if they had no document",
            hint=f"see what is wrong: knobctl validate {repository.unread[0]}",
        )
    if repository.links:
        raise InputError(
            f"{repository.links[0]} is a link, which is not followed, and tenants behind it would look as if "
            "they had no document",
            hint="put the files in its place; or, where none of them is a tenant's, name it under skip in knobctl.toml",
        )


def with_pruned(plan: Plan, repository: Repository, engine: Engine) -> Plan:
    """Add to a plan the live tenants without a document: the empty set for each of them.

    Args:
        plan: What the documents want.
        repository: All documents, of whatever fleet.
        engine: Where live is listed.

    Raises:
        EngineError: If the engine cannot list its tenants.
    """
    try:
        unmanaged = unmanaged_sets(repository, engine)
    except NotOfferedError as error:
        raise EngineError(
            f"{error.message}; so nobody knows which tenants have no document. Nothing was written.",
            hint="reset them by name: knobctl reset TENANT",
        ) from error
    pruned = [
        replace(plan_tenant(repository.catalogue, live, {}), pruned=True)
        for live in unmanaged
        if live.knobs
    ]
    tenants = sorted([*plan.tenants, *pruned], key=lambda one: one.tenant)
    return replace(plan, tenants=tuple(tenants))
