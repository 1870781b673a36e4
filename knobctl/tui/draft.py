"""A draft: what one tenant's set shall become, edit by edit, and what it was begun from. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import Enum, StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from knobctl.changes.diff import Change, diff_sets, resets_first
from knobctl.changes.single import judge_literal
from knobctl.knobs.catalogue import Same

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, KnobValue


class As(Enum):
    """What a draft can say of a knob besides a literal."""

    BEGUN = "as begun"
    """As it was where the draft was begun."""
    UNSET = "unset"
    """Back to the platform default."""


Entry: TypeAlias = "As | str"
"""What a draft says of a knob: a literal as it was typed, or one of `As`."""
BEGUN: Final = As.BEGUN
UNSET: Final = As.UNSET


class Edit(NamedTuple):
    """One step that can be taken back."""

    knob: str
    old: Entry
    new: Entry
    by_step: bool = False
    """Whether it was a step up or down: those in a row are one edit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """The two sets that a draft was begun from; both canonical."""

    repo: Mapping[str, KnobValue] | None
    """What the tenant's document and its layers come to; None where it has no document."""
    live: Mapping[str, KnobValue] | None
    """What the engine held; None where it could not be asked."""
    revision: str | None = None
    """The revision of that."""

    @property
    def base(self) -> Mapping[str, KnobValue]:
        """What edits go on top of: the document's set; the live one of a tenant without a document."""
        return self.repo if self.repo is not None else self.live or {}


class Cause(StrEnum):
    """Why a push of a draft changes a knob on the engine."""

    EDIT = "edit"
    """The draft differs from the files."""
    RESET = "reset"
    """The engine has it, and neither the draft nor the files do: it goes back to its default by omission."""
    DRIFT = "drift"
    """The draft is as the files are, and the engine is not."""


class Due(NamedTuple):
    """One knob that a push would change, and why."""

    change: Change
    cause: Cause


class Moved(NamedTuple):
    """What changed under a draft since it was begun."""

    repo: tuple[Change, ...]
    live: tuple[Change, ...]
    repo_came: bool = False
    """Whether the tenant got a document, or lost it."""

    @property
    def base(self) -> bool:
        """Whether edits would go on top of something that is not there any more."""
        return bool(self.repo) or self.repo_came


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """What a tenant's set shall become. Every change of it is another draft."""

    engine: str
    """Which engine it is for."""
    tenant: str
    begun: Begun
    done: tuple[Edit, ...] = ()
    """Oldest first; `entries` is what they come to."""
    undone: tuple[Edit, ...] = ()
    """Taken back, and not yet done again; the next one last."""
    settled: Mapping[str, Entry] = field(default_factory=dict)
    """What edits that are too old to be taken back came to."""

    @property
    def entries(self) -> dict[str, Entry]:
        """What is said of knobs; of those that are not named nothing is."""
        said = {**self.settled, **{edit.knob: edit.new for edit in self.done}}
        return {knob: entry for knob, entry in said.items() if entry is not BEGUN}

    def entry(self, knob: str) -> Entry:
        """What is said of one knob."""
        return self.entries.get(knob, BEGUN)

    @property
    def literals(self) -> dict[str, str]:
        """What was typed, by knob."""
        return {knob: entry for knob, entry in self.entries.items() if not isinstance(entry, As)}

    @property
    def is_empty(self) -> bool:
        """Whether nothing would be lost with it."""
        return not (self.done or self.undone or self.settled)

    def put(self, knob: str, entry: Entry, *, by_step: bool = False) -> Draft:
        """Say something else of a knob; what was taken back before can then not be done again."""
        old = self.entry(knob)
        if entry == old:
            return self
        last = self.done[-1] if self.done else None
        if by_step and last and last.by_step and last.knob == knob:
            return replace(self, done=(*self.done[:-1], last._replace(new=entry)), undone=())
        edit = Edit(knob, old, entry, by_step)
        return _bounded(replace(self, done=(*self.done, edit), undone=()))

    def undo(self) -> tuple[Draft, Edit | None]:
        """Take the last edit back; None where there is none."""
        if not self.done:
            return self, None
        edit = self.done[-1]
        return replace(self, done=self.done[:-1], undone=(*self.undone, edit)), edit

    def redo(self) -> tuple[Draft, Edit | None]:
        """Do again what was taken back last; None where nothing was."""
        if not self.undone:
            return self, None
        edit = self.undone[-1]
        return replace(self, done=(*self.done, edit), undone=self.undone[:-1]), edit

    def emptied(self) -> Draft:
        """The draft without anything said in it: what it said is done."""
        return replace(self, done=(), undone=(), settled={})

    def on(self, begun: Begun) -> Draft:
        """The same edits on top of other sets."""
        return replace(self, begun=begun)

    def moved(self, now: Begun, catalogue: Catalogue) -> Moved:
        """What changed under it since it was begun; nothing where nothing was edited."""
        then = self.begun
        came = (then.repo is None) is not (now.repo is None)
        repo = _between(catalogue, then.repo, now.repo)
        live = _between(catalogue, then.live, now.live)
        if then.repo is None and now.repo is None:  # then the live set is what edits go on top of
            return Moved(live, (), came)
        return Moved(repo, live, came)


MOST_EDITS: Final = 500
"""So many can be taken back."""


def _bounded(draft: Draft) -> Draft:
    if len(draft.done) <= MOST_EDITS:
        return draft
    first, *rest = draft.done
    settled = {**draft.settled, first.knob: first.new}
    return replace(draft, done=tuple(rest), settled=settled)


def _between(
    catalogue: Catalogue,
    then: Mapping[str, KnobValue] | None,
    now: Mapping[str, KnobValue] | None,
) -> tuple[Change, ...]:
    if then is None or now is None:
        return ()
    known = catalogue.by_name
    return diff_sets(
        catalogue,
        {name: value for name, value in then.items() if name in known},
        {name: value for name, value in now.items() if name in known},
    )


class Understood(NamedTuple):
    """What a draft comes to by the knobs of an engine."""

    desired: Mapping[str, KnobValue]
    """The canonical set; a knob whose entry is no value is as it was begun."""
    faults: Mapping[str, tuple[Finding, ...]]
    """By knob, why what was typed is no value."""
    remarks: Mapping[str, tuple[Finding, ...]]
    """By knob, what is to be said of a value that is one."""
    edited: tuple[str, ...]
    """The knobs whose value differs from where the draft was begun, in the order of the schema; faulty ones too."""
    strangers: tuple[str, ...] = ()
    """Edited knobs that the schema does not have (any more)."""


def understand(draft: Draft, catalogue: Catalogue) -> Understood:
    """Read what was typed."""
    base = draft.begun.base
    values: dict[str, KnobValue] = {
        name: value for name, value in base.items() if name in catalogue.by_name
    }
    faults: dict[str, tuple[Finding, ...]] = {}
    remarks: dict[str, tuple[Finding, ...]] = {}
    strangers = []
    for name, entry in draft.entries.items():
        if name not in catalogue.by_name:
            strangers.append(name)
        elif isinstance(entry, As):
            values.pop(name, None)
        else:
            value, found = _read(Same(catalogue), name, entry)
            if value is None:
                faults[name] = found
                continue
            values[name] = value
            if found:
                remarks[name] = found
    desired = catalogue.canonical(values)
    edited = tuple(
        knob.name
        for knob in catalogue
        if knob.name in faults or desired.get(knob.name) != base.get(knob.name)
    )
    return Understood(desired, faults, remarks, edited, tuple(strangers))


@lru_cache(maxsize=512)
def _read(same: Same, name: str, literal: str) -> tuple[KnobValue | None, tuple[Finding, ...]]:
    return judge_literal(same.catalogue[name], literal, same.catalogue)


def due(draft: Draft, understood: Understood, now: Begun, catalogue: Catalogue) -> list[Due]:
    """What a push of a draft changes on the engine, resets first, and why.

    Args:
        draft: The draft.
        understood: What it comes to.
        now: The files and the engine as they are.
        catalogue: The knobs.
    """
    changes = resets_first(diff_sets(catalogue, now.live or {}, understood.desired))
    return [Due(one, _cause(one.knob, draft, understood.desired, now.repo)) for one in changes]


def _cause(
    name: str,
    draft: Draft,
    desired: Mapping[str, KnobValue],
    repo: Mapping[str, KnobValue] | None,
) -> Cause:
    if repo is None or desired.get(name) != repo.get(name) or draft.entry(name) is UNSET:
        return Cause.EDIT
    return Cause.DRIFT if name in desired else Cause.RESET
