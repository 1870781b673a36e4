"""What differs between two plain values: every place, exactly, whatever its type."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from knobctl.changes.paths import Step

Plain: TypeAlias = "bool | int | float | str | Sequence[Plain] | Mapping[str, Plain] | None"
_Typed: TypeAlias = "str | list[_Typed] | dict[str, _Typed]"


_LEAVES: Final = frozenset({bool, int, float, str})


class Kind(StrEnum):
    """In which way a place differs."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"
    REORDERED = "reordered"


class _Missing:
    """The value of a place that is not there; `null` is a value."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two values differ."""

    steps: tuple[Step, ...]
    kind: Kind
    before: Plain | _Missing
    after: Plain | _Missing


def differences(before: Plain, after: Plain) -> tuple[Difference, ...]:
    """Compare two plain values, ordered by place.

    Equal numbers are equal whatever their type (8 and 8.0); a truth value is no number, nothing is
    rounded, and no key is overlooked. A list in another order is one difference.

    Between mappings of leaves the keys are the places. deepdiff finds those that lie deeper, in two
    texts made of typed leaves: on the values themselves it takes `True` for 1 inside lists and skips
    keys that begin with two underscores (measured on 9.1.0).
    """
    old, new = _differing(*(_typed(value) for value in _moved(before, after)))
    if old == new:
        return ()
    flat = _is_flat(old) and _is_flat(new)
    places = (
        {(key,) for key in (*old, *new)} if flat else set(_outermost(_deep(old, new), old, new))
    )
    return tuple(
        Difference(steps, _kind(left, right), left, right)
        for steps in sorted(places, key=_place_order)
        for left, right in [(_at(before, steps), _at(after, steps))]
    )


def _moved(before: Plain, after: Plain) -> tuple[Plain, Plain]:
    """Leave out of two mappings the leaves that are the same, so that they are not typed."""
    if not isinstance(before, dict) or not isinstance(after, dict):
        return before, after
    same = {
        key
        for key, value in before.items()
        if type(value) in _LEAVES and type(after.get(key)) is type(value) and after[key] == value
    }
    return (
        {key: value for key, value in before.items() if key not in same},
        {key: value for key, value in after.items() if key not in same},
    )


def _is_flat(value: _Typed) -> bool:
    """Whether it is a mapping of leaves, as every knob set is: deepdiff takes most of a millisecond for one."""
    return isinstance(value, dict) and all(isinstance(inner, str) for inner in value.values())


def _deep(old: _Typed, new: _Typed) -> set[tuple[Step, ...]]:
    """The places that deepdiff finds."""
    from deepdiff import DeepDiff

    tree = DeepDiff(
        old,
        new,
        view="tree",
        threshold_to_diff_deeper=0,
        ignore_private_variables=False,
        zip_ordered_iterables=True,
    )
    return {tuple(level.path(output_format="list")) for levels in tree.values() for level in levels}


def _typed(value: Plain) -> _Typed:
    match value:
        case None:
            return "null"
        case bool():
            return f"bool:{value}"
        case int() | float():
            whole = isinstance(value, float) and value.is_integer()
            return f"number:{int(value) if whole else value!r}"
        case str():
            return f"text:{value}"
        case _:
            return _typed_collection(value)


def _typed_collection(value: Sequence[Plain] | Mapping[str, Plain]) -> _Typed:
    from collections.abc import Mapping

    if isinstance(value, Mapping):
        return {key: _typed(inner) for key, inner in value.items()}
    return [_typed(inner) for inner in value]


def _differing(old: _Typed, new: _Typed) -> tuple[_Typed, _Typed]:
    """Leave out of two mappings what is equal: deepdiff's time grows with all that it is shown."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return old, new
    same = {key for key in old.keys() & new.keys() if old[key] == new[key]}
    return (
        {key: value for key, value in old.items() if key not in same},
        {key: value for key, value in new.items() if key not in same},
    )


def _outermost(
    places: set[tuple[Step, ...]], old: _Typed, new: _Typed
) -> Iterator[tuple[Step, ...]]:
    """Raise places inside a list that is only reordered to the list itself."""
    for steps in places:
        for depth, step in enumerate(steps):
            if isinstance(step, int) and _reordered(
                _at(old, steps[:depth]), _at(new, steps[:depth])
            ):
                yield steps[:depth]
                break
        else:
            yield steps


def _reordered(left: object, right: object) -> bool:
    if not isinstance(left, (list, tuple)) or not isinstance(right, (list, tuple)):
        return False
    return list(left) != list(right) and Counter(map(repr, left)) == Counter(map(repr, right))


def _at(value: Any, steps: Sequence[Step]) -> Any:  # noqa: ANN401  any plain value
    for step in steps:
        try:
            value = value[step]
        except (KeyError, IndexError):
            return MISSING
    return value


def _kind(left: Any, right: Any) -> Kind:  # noqa: ANN401  any plain value, or MISSING
    if left is MISSING:
        return Kind.ADDED
    if right is MISSING:
        return Kind.REMOVED
    return Kind.REORDERED if _reordered(_typed(left), _typed(right)) else Kind.CHANGED


def _place_order(steps: tuple[Step, ...]) -> tuple[tuple[int, int, str], ...]:
    return tuple((0, step, "") if isinstance(step, int) else (1, 0, step) for step in steps)
