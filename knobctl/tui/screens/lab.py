"""The floor lab: move a tenant's floor, and see what it reaches and what was measured of it."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, ClassVar, Final

from knobctl.errors import UsageError
from knobctl.fusion.numbers import number_text
from knobctl.report.floor_svg import floor_svg
from knobctl.report.floor_table import floor_csv
from knobctl.tui.actions import LAB, bindings_of
from knobctl.tui.judging import TenantJudge
from knobctl.tui.lab import LARGE, SMALL, compared, floor_in_force, lab_of
from knobctl.tui.screens.lab_view import LabView
from knobctl.tui.ui import Field, Words, line, tell

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.widgets import Input

    from knobctl.changes.single import Subject
    from knobctl.engine.interface import LiveSet
    from knobctl.evidence.measured import Measured
    from knobctl.evidence.recording import Recording
    from knobctl.report.floor_view import Compared
    from knobctl.tui.actions import Action
    from knobctl.tui.draft import Draft

DRAWINGS: Final = (".svg", ".csv")


class LabScreen(LabView):
    """One tenant's floor."""

    PLACE = LAB
    BINDINGS = bindings_of(LAB)
    CSS: ClassVar[str] = """
    LabScreen {
        & #lab-floor { height: auto; max-height: 4; }
        & #lab-plots, & #lab-table {
            height: 1fr; scrollbar-size-vertical: 1; scrollbar-gutter: stable; background: $background;
        }
        & #lab-table, & #lab-typed { display: none; }
        & #lab-measured, & #lab-arithmetic, & #lab-numbers { height: auto; }
        & #lab-plots PlotView { height: auto; margin: 0 0 1 0; }
        & #lab-typed {
            dock: bottom; height: 1; border: none; padding: 0; margin: 0 0 1 0; background: $panel;
        }
        &.-wide #lab-plots { layout: horizontal; }
        &.-wide #lab-measured { width: 1fr; }
        &.-wide #lab-arithmetic { width: 60; margin: 0 0 0 2; }
    }
    """

    def __init__(
        self,
        tenant: str,
        draft: Draft | None = None,
        taken: Callable[[Draft], object] | None = None,
    ) -> None:
        """Take whose floor it is.

        Args:
            tenant: The tenant.
            draft: Its draft; the one that was kept, if none is given.
            taken: Hears of the draft that got the floor, and keeps it; without it the lab keeps it.
        """
        super().__init__(tenant)
        self._draft = draft
        self._taken = taken
        self._subject: Subject | None = None
        self._answer: Callable[[str], object] | None = None

    def on_mount(self) -> None:
        """Read the tenant and its draft, then what the engine holds, then the evidence."""
        if not self.stands:
            return
        workplace, tenant = self.workplace, self.tenant
        self.query_one("#lab-plots").focus()
        self.ask(
            "tenant",
            lambda: (workplace.subject(tenant), workplace.draft(tenant)),
            self._read,
            failed=lambda error: self._unread(error.message),
        )

    def _unread(self, why: str) -> None:
        """Say where the plots would be why there are none."""
        self.query_one("#lab-floor", Words).update(line(f" LAB  {self.tenant}  ", (why, "error")))

    def _read(self, found: tuple[Subject, Draft | None]) -> None:
        workplace, tenant = self.workplace, self.tenant
        self._subject, kept = found
        draft = self._draft or kept

        def begin(live: LiveSet | None) -> None:
            self._begin(draft, live)

        self.ask("live", lambda: workplace.read(tenant), begin, failed=lambda _: begin(None))

    def _begin(self, draft: Draft | None, live: LiveSet | None) -> None:
        if self._subject is None:
            return
        judge = TenantJudge(self._subject, live, self.workplace.now().date())
        catalogue = judge.catalogue
        with self.telling(self._unread):
            self.shown_lab = lab_of(
                draft or judge.draft(self.workplace.engine_key),
                catalogue,
                now=floor_in_force(catalogue, live.knobs) if live else None,
                recording=None,
            )
            self.draw_lab()
            self._look(lambda: self.workplace.recording_of(self.tenant))

    def _look(self, read: Callable[[], Recording | None]) -> None:
        """Look at other evidence from now on; it is read and reckoned where nothing is drawn."""
        lab = self.lab

        def measured() -> Measured | None:
            recording = read()
            return lab.measured(recording) if recording else None

        def seen(found: Measured | None) -> None:
            if found:
                self.shown_lab = self.lab.with_evidence(found)
                self.draw_lab()

        self.ask("evidence", measured, seen)

    # Moving the floor.

    def _move(self, units: int) -> None:
        self.shown_lab = self.lab.moved(units)
        self.draw_lab()

    def action_floor_down(self) -> None:
        """Lower the floor a little."""
        self._move(-SMALL)

    def action_floor_up(self) -> None:
        """Raise the floor a little."""
        self._move(SMALL)

    def action_floor_far_down(self) -> None:
        """Lower the floor."""
        self._move(-LARGE)

    def action_floor_far_up(self) -> None:
        """Raise the floor."""
        self._move(LARGE)

    def action_floor(self, floor: str = "") -> None:
        """Set the floor to a typed number."""
        if not floor:
            self._type("the floor, such as 0.3 or 1/3", self.action_floor)
            return
        self.shown_lab = self.lab.typed(floor)
        self.draw_lab()

    def action_take(self) -> None:
        """Put the floor into the draft, and keep that."""
        lab, workplace = self.lab, self.workplace
        draft = lab.taken()
        literal = f"{lab.knob.name} {lab.literal}"
        if draft is lab.draft:
            tell(self.app, f"the draft of {self.tenant} has {literal} already")
            return
        if self._taken:
            self._taken(draft)
            self._took(draft, literal)
            return
        self.ask("draft", lambda: workplace.keep_draft(draft), lambda _: self._took(draft, literal))

    def _took(self, draft: Draft, literal: str) -> None:
        self.shown_lab = self.lab.with_draft(draft)
        tell(self.app, f"{literal} is in the draft of {self.tenant}")
        self.draw_lab()

    # Evidence.

    def action_evidence(self, file: str = "") -> None:
        """Look at another file of recorded scores."""
        if not file:
            self._type("a file of recorded scores", self.action_evidence)
            return
        self._look(lambda: self.workplace.recording(file))

    def action_compare(self, name: str = "") -> None:
        """Lay another tenant, or another file, under the first; what is there is taken away."""
        if self.lab.view.other and not name:
            self._beside(None)
        elif not name:
            self._type("a tenant, or a file of recorded scores", self.action_compare)
        else:
            self.ask("compare", lambda: self._other(name), self._beside)

    def _beside(self, other: Compared | None) -> None:
        self.shown_lab = self.lab.beside(other)
        self.draw_lab()

    def _other(self, name: str) -> Compared:
        """Read what the first is compared with; runs in a thread."""
        workplace, lab = self.workplace, self.lab
        if name not in workplace.tenant_names():
            knobs = lab.in_force
            recording = workplace.recording(name)
            return compared(name, self.tenant, lab.catalogue, knobs, recording)
        found = workplace.recording_of(name)
        if found is None:
            raise UsageError(
                f"{name} names no recorded scores as evidence",
                hint="name the file itself: :compare FILE",
            )
        return compared(name, name, lab.catalogue, workplace.read(name).knobs, found)

    def action_table(self) -> None:
        """Show the numbers instead of the plots, or the plots again."""
        table, plots = self.query_one("#lab-table"), self.query_one("#lab-plots")
        table.display, plots.display = plots.display, table.display
        self.seen.focus()
        self.draw_lab()

    def action_export(self, file: str = "") -> None:
        """Write the plots as SVG, or the numbers as CSV, into a new file."""
        if not file:
            self._type("a new file, .svg or .csv", self.action_export)
            return
        view, workplace = self.lab.view, self.workplace
        if not file.endswith(DRAWINGS):
            raise UsageError(f"{file} must end in .svg (the plots) or .csv (the numbers)")
        title = f"{self.tenant}: floor {number_text(view.floor)}"
        text = floor_csv(view) if file.endswith(".csv") else floor_svg(view, title)
        self.ask(
            "export",
            lambda: workplace.write_new(file, text),
            lambda path: tell(self.app, f"written: {path}"),
        )

    # Typing.

    def _type(self, what: str, then: Callable[[str], object]) -> None:
        """Let something be typed in the last line."""
        field = self.query_one("#lab-typed", Field)
        field.placeholder, field.value = what, ""
        self._answer = then
        field.display = True
        field.focus()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Do what was typed."""
        event.stop()
        then, text = self._answer, event.value.strip()
        self._untype()
        if then and text:
            with self.telling():
                then(text)

    def _untype(self) -> None:
        self._answer = None
        self.query_one("#lab-typed").display = False
        self.seen.focus()

    async def action_back(self) -> None:
        """Leave the line, else go back."""
        if self.query_one("#lab-typed").display:
            self._untype()
        else:
            await self.app.pop_screen()

    # The frame.

    def refusal(self, action: Action) -> str | None:
        """What cannot be done here now."""
        if action.id == "export" and self.workplace.where.read_only:
            return "this session writes nothing, no export either; it was started read-only"
        return super().refusal(action)

    def offers(self, kind: str, typed: str) -> Iterable[str] | None:
        """Tenants to compare with."""
        if kind != "name":
            return None
        return (one for one in self.workplace.tenant_names() if typed.lower() in one.lower())

    def next_step(self) -> str:
        """What comes next."""
        if self.shown_lab and self.shown_lab.view.evidence is None:
            return ":evidence FILE opens recorded scores; without them there is only arithmetic."
        return "Move the floor with < and >; Enter takes it into the draft."

    def twin(self) -> str:
        """The same plots on the command line."""
        parts = ["knobctl", "reach", "--plot"]
        if self.shown_lab:
            parts += self.shown_lab.typed_setup
            if self.shown_lab.recording:
                parts += ["--evidence", self.shown_lab.recording.source]
        return shlex.join([*parts, "--tenant", self.tenant, self.workplace.where.path])
