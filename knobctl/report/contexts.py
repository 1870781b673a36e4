"""Named engines for people and machines; never a secret."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from knobctl.report.sets import table
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.engine.contexts import Context, ContextBook


def contexts_text(book: ContextBook) -> str:
    """List the contexts, a line each: `*` marks the current one."""
    if not book.contexts:
        return "no contexts; without one the engine is embedded:"
    rows = [("", "name", "engine", "fleet", "token", "")]
    for name, context in book.contexts.items():
        rows.append(
            (
                "*" if name == book.current else "",
                name,
                visible(context.engine),
                visible(context.fleet or "-"),
                visible(context.token_source or "-"),
                "production" if context.production else "",
            )
        )
    return table(rows)


def context_text(name: str, context: Context, *, is_current: bool) -> str:
    """Show one context, a line each thing that is set."""
    told = context_json(name, context, is_current=is_current)
    rows = [
        (key, visible(str(value).lower() if isinstance(value, bool) else str(value)))
        for key, value in told.items()
        if value not in {None, False}
    ]
    return table(rows)


def context_json(name: str, context: Context, *, is_current: bool) -> dict[str, Any]:
    """One context for machines: a token command by its program alone, a proxy without its password."""
    return {
        "name": name,
        "current": is_current,
        "engine": context.engine,
        "fleet": context.fleet,
        "schema": context.schema_,
        "token": context.token_source or None,
        "ca_bundle": context.ca_bundle,
        "proxy": without_password(context.proxy) if context.proxy else None,
        "rate": context.rate,
        "production": context.production,
        "ticket_pattern": context.ticket_pattern,
    }


def without_password(url: str) -> str:
    """A URL with its user and password hidden."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "(no URL)"
    if "@" not in parts.netloc:
        return url
    return parts._replace(netloc=f"***@{parts.netloc.rpartition('@')[2]}").geturl()


def contexts_json(command: str, book: ContextBook, names: Sequence[str]) -> str:
    """The machine-readable answer of `context`."""
    return json.dumps(
        {
            "version": 1,
            "command": f"context {command}",
            "outcome": "ok",
            "exit_code": 0,
            "current": book.current,
            "contexts": [
                context_json(name, book.contexts[name], is_current=name == book.current)
                for name in names
            ],
        },
        indent=2,
    )
