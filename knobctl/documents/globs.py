"""Path patterns of a repository: `clusters/prod/**`, `vendor`, `*.tmp.yaml`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Compile patterns into one question about names relative to the repository, with `/` between steps.

    `*` and `?` stay within one step, `**` spans any number of steps. A pattern that names a folder
    covers everything in it.
    """
    given = tuple(patterns)
    if not given:
        return lambda _: False
    found = _compiled(given)
    return lambda name: found.match(name) is not None


@lru_cache(maxsize=64)
def _compiled(patterns: tuple[str, ...]) -> re.Pattern[str]:
    branches = "|".join(_translated(pattern) for pattern in patterns)
    return re.compile(rf"(?:{branches})(?:/.*)?\Z", re.DOTALL)


def _translated(pattern: str) -> str:
    steps = pattern.strip("/").removeprefix("./").split("/")
    parts = [_step(step) for step in steps]
    return (
        "".join(parts[:-1]) + parts[-1].removesuffix("/")
        if steps[-1] != "**"
        else "".join(parts[:-1]) + ".*"
    )


def _step(step: str) -> str:
    if step == "**":
        return "(?:.*/)?"
    return re.sub(r"\\\*", "[^/]*", re.sub(r"\\\?", "[^/]", re.escape(step))) + "/"
