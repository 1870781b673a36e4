"""The floor lab: one tenant's floor being moved, with all that follows from it. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from knobctl.documents.model import exact_number
from knobctl.errors import UsageError
from knobctl.evidence.measured import measured_for
from knobctl.fusion import reach
from knobctl.fusion.numbers import number_text, rounded_down
from knobctl.knobs.asked_setup import OFF, typed_floor
from knobctl.knobs.fusion_setup import InForce, fusion_setup
from knobctl.report.floor_view import Compared, FloorView
from knobctl.tui.draft import understand

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.evidence.measured import Measured
    from knobctl.evidence.recording import Recording
    from knobctl.fusion import Reach
    from knobctl.knobs import Catalogue, Knob, KnobValue
    from knobctl.tui.draft import Draft

SMALL: Final = 1
LARGE: Final = 5
"""How many units the floor moves by: of 0.01 where the best score is 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A floor that is moved, and what is known of it."""

    draft: Draft
    catalogue: Catalogue
    view: FloorView

    @property
    def tenant(self) -> str:
        """Whose floor it is."""
        return self.draft.tenant

    @property
    def knob(self) -> Knob:
        """The floor's own knob."""
        return self.catalogue.by_role["floor.fused"]

    @property
    def unit(self) -> Fraction:
        """The least step of the floor, in decimals that its scale needs."""
        return Fraction(1, 10**self.view.reached.decimals)

    def at(self, floor: Fraction) -> Lab:
        """The same under another floor."""
        reached = self.view.reached.under_floor(floor)
        return replace(self, view=replace(self.view, reached=reached))

    def moved(self, units: int) -> Lab:
        """The floor moved by so many units, on their grid, from one unit up to the best score."""
        unit, floor = self.unit, self.view.floor
        # Between two lines of the grid the first step goes to the next line.
        whole = floor // unit if units > 0 else -(-floor // unit)
        most = max(self.view.reached.best_score // unit * unit, unit)
        return self.at(min(max((whole + units) * unit, unit), most))

    def typed(self, text: str) -> Lab:
        """The floor as somebody typed it.

        Raises:
            UsageError: If it is no number above 0 and up to the best score there can be.
        """
        floor, reached = typed_floor(text, self.catalogue, "the floor"), self.view.reached
        if floor > reached.best_score:
            best = reached.told(reached.best_score)
            raise UsageError(f"{text} is above {best}, the best score there is; nothing would pass")
        return self.at(floor)

    @property
    def literal(self) -> str:
        """The floor as a knob's value: a fraction becomes the decimal below it."""
        text = number_text(self.view.floor)
        return rounded_down(self.view.floor) if "/" in text else text

    def taken(self) -> Draft:
        """The draft with this floor."""
        return self.draft.put(self.knob.name, self.literal)

    def with_draft(self, draft: Draft) -> Lab:
        """The same for a draft that was changed: other weights make it another arithmetic."""
        made = lab_of(draft, self.catalogue, now=self.view.now, recording=self.recording)
        was, is_now = self.view.measured, made.view.measured
        if was and is_now and (was.fit, was.gates) == (is_now.fit, is_now.gates):
            is_now = was  # what was reckoned stays
        view = replace(made.view, measured=is_now, other=self.view.other)
        return replace(made, view=view).at(self.view.floor)

    @property
    def typed_setup(self) -> list[str]:
        """What `reach` must be told beside the tenant's documents: the floor, and the fusion of a draft that edits it."""
        setup, catalogue = self.view.reached.setup, self.catalogue
        told = ["--floor", number_text(setup.floor)]
        edited = self.draft.entries.keys() - {self.knob.name}
        if not edited & {knob.name for knob in catalogue.arithmetic}:
            return told
        weights = (setup.weights.get(name) for name in catalogue.rankers)
        told += ["--k", str(setup.k)]
        told += ["--weights", ",".join(OFF if one is None else number_text(one) for one in weights)]
        if setup.weights.keys() <= setup.depths.keys():
            depths = (setup.depths.get(name, 1) for name in catalogue.rankers)
            told += ["--depths", ",".join(map(str, depths))]
        return told

    @property
    def recording(self) -> Recording | None:
        """The evidence that is looked at."""
        return self.view.measured.recording if self.view.measured else None

    def measured(self, recording: Recording) -> Measured:
        """Other evidence beside the draft, reckoned: where nothing is drawn."""
        values = self.catalogue.effective(self.in_force)
        setup = self.view.reached.setup
        return measured_for(
            recording, setup, tenant=self.tenant, catalogue=self.catalogue, values=values
        ).reckoned()

    def with_evidence(self, measured: Measured) -> Lab:
        """The same with other evidence."""
        return replace(self, view=replace(self.view, measured=measured))

    @property
    def in_force(self) -> Mapping[str, KnobValue]:
        """The set that the draft comes to."""
        return understand(self.draft, self.catalogue).desired

    def beside(self, other: Compared | None) -> Lab:
        """The same, compared with somebody else's evidence or with an older file."""
        return replace(self, view=replace(self.view, other=other))


def lab_of(
    draft: Draft,
    catalogue: Catalogue,
    *,
    now: Fraction | None,
    recording: Recording | None,
) -> Lab:
    """Make the lab of a tenant, with the floor of its draft.

    Args:
        draft: The draft, with or without edits.
        catalogue: The knobs.
        now: The floor in force on the engine; None where that is not known.
        recording: What was recorded for the tenant.

    Raises:
        UsageError: If the schema has no fused floor, or the values of the draft give no score.
    """
    if "floor.fused" not in catalogue.by_role:
        raise UsageError(
            "no knob of the schema has the role floor.fused, so there is no floor to move"
        )
    literals = draft.literals
    values = catalogue.effective(understand(draft, catalogue).desired)
    reached = _reached(catalogue, values, literals)
    if reached is None:
        raise UsageError(
            f"{draft.tenant} has no ranker that takes part with a weight, so nothing has a score"
        )
    measured = recording and measured_for(
        recording, reached.setup, tenant=draft.tenant, catalogue=catalogue, values=values
    )
    own = reached.setup.floor if draft.literals.keys() & {_floor(catalogue)} else None
    view = FloorView(reached=reached, now=now, draft=own, measured=measured or None)
    return Lab(draft=draft, catalogue=catalogue, view=view)


def floor_in_force(catalogue: Catalogue, knobs: Mapping[str, KnobValue]) -> Fraction | None:
    """The fused floor that a set leaves in force; None where it leaves none."""
    if "floor.fused" not in catalogue.by_role:
        return None
    values = catalogue.effective({name: one for name, one in knobs.items() if name in catalogue})
    return exact_number("", values[_floor(catalogue)]) or None


def compared(
    name: str,
    tenant: str,
    catalogue: Catalogue,
    knobs: Mapping[str, KnobValue],
    recording: Recording,
) -> Compared:
    """Another recording for the tenant whose set these knobs are.

    Args:
        name: How it is called beside the first one.
        tenant: Whose set it is.
        catalogue: The knobs.
        knobs: The set.
        recording: What was recorded.

    Raises:
        UsageError: If that set gives no score.
    """
    values = catalogue.effective({known: one for known, one in knobs.items() if known in catalogue})
    reached = _reached(catalogue, values, {})
    if reached is None:
        raise UsageError(f"{tenant} has no ranker that takes part with a weight")
    measured = measured_for(
        recording, reached.setup, tenant=tenant, catalogue=catalogue, values=values
    )
    return Compared(name=name, measured=measured.reckoned())


def _floor(catalogue: Catalogue) -> str:
    return catalogue.by_role["floor.fused"].name


def _reached(
    catalogue: Catalogue, values: Mapping[str, KnobValue], literals: Mapping[str, str]
) -> Reach | None:
    def exactly(name: str) -> Fraction:
        return exact_number(literals.get(name, ""), values[name])

    setup = fusion_setup(catalogue, values, exactly)
    if setup is None:  # no floor is in force: begin at the lowest one that means anything
        least = Fraction(1, 10_000)
        setup = fusion_setup(catalogue, values, exactly, floor=least)
    if setup is None or not InForce(catalogue, values, exactly).weights:
        return None
    return reach(setup)
