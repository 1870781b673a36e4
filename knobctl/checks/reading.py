"""Finds in an expression what it reads: which knobs, which variables."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

from knobctl.checks.asked_knob import KNOB_FACTS
from knobctl.checks.expressions import VARIABLES, ExpressionError
from knobctl.checks.fact_roles import roles_of
from knobctl.checks.reach_facts import known_facts
from knobctl.knobs.catalogue import Same
from knobctl.text import nearest

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from knobctl.knobs import Catalogue

BY_KNOB: Final = frozenset({"effective", "knobs", "live", "changed"})
BY_ROLE: Final = frozenset({"role", "text", "default", "name"})
ARITHMETIC: Final = frozenset({"reach", "reach_before"})
KEYED: Final = BY_KNOB | BY_ROLE | ARITHMETIC | {"knob"}
"""The variables that are maps and of which only what is asked for is made."""
_TOKEN: Final = re.compile(
    r"""(?P<text>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(?P<word>[A-Za-z_]\w*)|(?P<sign>\S)"""
)


class UnknownRoleError(ExpressionError):
    """A role or knob that the engine's schema does not have."""


@dataclass(frozen=True)
class Reading:
    """What an expression reads."""

    knobs: tuple[str, ...] = ()
    """Knobs by name, in the order of the text."""
    everything: bool = False
    """Whether it may read any knob: a macro over all of them, or a computed key."""
    variables: frozenset[str] = frozenset()
    keys: frozenset[tuple[str, str]] = frozenset()
    """Of the variables that are maps, the keys that are asked for; the empty key where it may be any."""

    def keys_of(self, variable: str) -> frozenset[str] | None:
        """The keys of a map that are asked for; None where it may be any."""
        keys = frozenset(key for name, key in self.keys if name == variable)
        return None if "" in keys else keys

    @cached_property
    def wanted(self) -> Sequence[tuple[str, frozenset[str] | None]]:
        """The variables, each with the keys that are asked for; None where it is no map, or for any."""
        return [(name, self.keys_of(name) if name in KEYED else None) for name in self.variables]

    def __add__(self, other: Reading) -> Reading:
        return Reading(
            tuple(dict.fromkeys((*self.knobs, *other.knobs))),
            self.everything or other.everything,
            self.variables | other.variables,
            self.keys | other.keys,
        )


def reading_of(text: str, catalogue: Catalogue) -> Reading:
    """Read an expression's tokens.

    Raises:
        UnknownRoleError: For a knob or role that the schema does not have, with its offset.
        ExpressionError: For a name that `reach` or `knob` does not have, with its offset.
    """
    return _reading_of(text, Same(catalogue))


@lru_cache(maxsize=1024)
def _reading_of(text: str, same: Same) -> Reading:
    catalogue = same.catalogue
    tokens = [(match.lastgroup or "", match[0], match.start()) for match in _TOKEN.finditer(text)]
    knobs: list[str] = []
    everything = False
    variables: set[str] = set()
    keys: set[tuple[str, str]] = set()
    for index, (group, word, _) in enumerate(tokens):
        if group != "word" or word not in VARIABLES or _is_field(tokens, index):
            continue
        variables.add(word)
        if word not in KEYED:
            continue
        key, offset = _key(tokens, index) or ("", 0)
        keys.add((word, key))
        if word in ARITHMETIC:
            _assert_facts(tokens, index, catalogue)
            knobs += [name for role in roles_of(key) for name in with_role(role, catalogue)]
        elif key and word != "knob":
            knobs.append(_knob((key, offset), catalogue, by_role=word in BY_ROLE))
        elif word != "knob":
            everything = True
        elif key:
            _assert_known(key, offset, KNOB_FACTS, "knob")
    return Reading(tuple(dict.fromkeys(knobs)), everything, frozenset(variables), frozenset(keys))


def _assert_facts(tokens: list[tuple[str, str, int]], index: int, catalogue: Catalogue) -> None:
    """See that `reach.fact`, or `reach.without_ranker.fact`, is a fact."""
    named = _key(tokens, index)
    if named is None:
        return
    outer, inner = known_facts(catalogue.rankers)
    word = tokens[index][1]
    _assert_known(*named, outer, word)
    within = _key(tokens, index + 2) if tokens[index + 1][1] == "." else None
    if within and named[0] not in inner:
        _assert_known(*within, inner, f"{word}.{named[0]}")


def _assert_known(name: str, offset: int, known: Collection[str], of: str) -> None:
    if name not in known:
        close = nearest(name, known)
        what = f"{of} has no {name}"
        raise ExpressionError(f"{what}; did you mean {close}?" if close else what, offset)


def _is_field(tokens: list[tuple[str, str, int]], index: int) -> bool:
    return index > 0 and tokens[index - 1][1] == "."


def _key(tokens: list[tuple[str, str, int]], index: int) -> tuple[str, int] | None:
    """The one key that is asked of a map: `m.key`, `m['key']` or `'key' in m`."""

    def at(offset: int) -> tuple[str, str, int]:
        place = index + offset
        return tokens[place] if 0 <= place < len(tokens) else ("", "", 0)

    if at(1)[1] == "." and at(2)[0] == "word" and at(3)[1] != "(":
        return at(2)[1], at(2)[2]
    if at(1)[1] == "[" and at(2)[0] == "text" and at(3)[1] == "]":
        return at(2)[1][1:-1], at(2)[2] + 1
    if at(-1)[1] == "in" and at(-2)[0] == "text" and at(1)[1] not in {".", "["}:
        return at(-2)[1][1:-1], at(-2)[2] + 1
    return None


def _knob(named: tuple[str, int], catalogue: Catalogue, *, by_role: bool) -> str:
    name, offset = named
    table = catalogue.by_role if by_role else catalogue.by_name
    if name in table:
        return table[name].name

    close = nearest(name, table)
    what = f"no knob has the role {name}" if by_role else f"{name} is no knob"
    raise UnknownRoleError(f"{what}; did you mean {close}?" if close else what, offset)


def resolved(entry: str, catalogue: Catalogue) -> tuple[str, ...]:
    """The knobs that a name, a role or a pattern of roles stands for.

    Raises:
        UnknownRoleError: If a name or role without `*` stands for none.
    """
    if entry in catalogue.by_any_name:
        return (catalogue.by_any_name[entry].name,)
    if "*" in entry:
        return tuple(with_role(entry, catalogue))
    return (_knob((entry, 0), catalogue, by_role="." in entry or entry in catalogue.by_role),)


def with_role(pattern: str, catalogue: Catalogue) -> Iterator[str]:
    """The knobs whose role matches a pattern such as `depth.*`, in the order of the schema.

    `ranker.*` means the modes of the rankers, not what else is said of rankers, such as their timeout.
    """
    for role, knob in catalogue.by_role.items():
        kind, _, ranker = role.rpartition(".")
        if fnmatchcase(role, pattern) and (kind != "ranker" or ranker in catalogue.rankers):
            yield knob.name
