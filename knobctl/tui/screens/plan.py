"""Plan and confirm: what a push of one tenant's draft changes, what to acknowledge, and the consent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from knobctl.errors import UsageError
from knobctl.text import count, spelled
from knobctl.tui import plan_lines
from knobctl.tui.actions import PLAN, bindings_of
from knobctl.tui.concerns import Concern, Kind, as_said, left_of, stops_of
from knobctl.tui.draft import UNSET
from knobctl.tui.plan_lines import Line, Planned
from knobctl.tui.pushes import Push
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Words, line, lines, tell
from knobctl.tui.widgets.plan_parts import Lines, TypedName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult

    from knobctl.errors import KnobctlError
    from knobctl.tui.actions import Action
    from knobctl.tui.draft import Draft

MOMENT_S: Final = 0.7
"""So long after a plan is shown nothing confirms it: what was typed ahead was not typed at it."""
AGES_S: Final = 5.0
"""How often the age of what is shown is told anew."""


class PlanScreen(Place):
    """The plan of one tenant's push."""

    PLACE = PLAN
    BINDINGS = bindings_of(PLAN)

    def __init__(self, draft: Draft, changed: Callable[[Draft], object] | None = None) -> None:
        """Take what is to be pushed; the engine is read when the screen is shown.

        Args:
            draft: What the tenant's set shall become.
            changed: Hears of another draft, where a value was kept.
        """
        super().__init__()
        self.draft = draft
        self.tenant = draft.tenant
        self._changed = changed
        self._planned: Planned | None = None
        self._acknowledged: frozenset[Concern] = frozenset()
        self._lines: list[Line] = []
        self._with_file = True
        self._evidence: tuple[str, ...] = ()
        """Files that are attached, as they were typed."""
        self._unfolded = False
        self._gone: str | None = None
        """Why there is no plan, where the engine or the documents could not be read."""
        self._waits = 0
        self.is_open = False
        """Whether the plan has been seen for a moment, so that it can be confirmed."""

    # What is seen.

    def body(self) -> ComposeResult:
        """What it is about, the lines, what else there is to know, the consent."""
        yield Words(id="about")
        yield Lines(id="lines")
        yield Words(id="beside")
        yield Words(id="consent")
        yield TypedName(self.tenant)

    def on_mount(self) -> None:
        """Read the engine and make the plan."""
        if not self.stands:
            return
        self.query_one(Lines).focus()
        self.set_interval(AGES_S, self._draw_about)
        self._plan()

    def on_resize(self) -> None:
        """Wrap what is said anew."""
        super().on_resize()
        if self.is_mounted:
            self._draw()

    def on_screen_resume(self) -> None:
        """Begin to wait again: keys for what lay above it are not for the plan. With another reason it is another plan."""
        super().on_screen_resume()
        if self._planned is None or not self._has_parts:
            return
        wanted, arming = self._planned.found.wanted, self.knobctl.arming
        if (wanted.reason, wanted.ticket) != (arming.reason, arming.ticket):
            self._plan()
        else:
            self._draw()
            self._wait_a_moment()

    @property
    def _has_parts(self) -> bool:
        """Whether there is something to draw on: once it is confirmed its parts are taken away."""
        return bool(self.query(Lines))

    def _plan(self) -> None:
        """Make the plan, of what the files and the engine hold now."""
        self.is_open = False
        self._waits += 1
        self._planned = None
        workplace, arming = self.workplace, self.knobctl.arming
        draft, with_file, evidence = self.draft, self._with_file, self._evidence
        self.query_one("#about", Words).update(
            line(("PUSH PLAN  ", "strong"), self.tenant, "  reading the engine ...")
        )
        self.ask(
            "plan",
            lambda: plan_lines.plan_of(
                workplace, draft, arming, with_file=with_file, evidence=evidence
            ),
            self._show,
            failed=self._not_planned,
        )
        self._draw_consent()
        self.refresh_frame()

    def _not_planned(self, error: KnobctlError) -> None:
        self._gone = error.message
        self._lines = []
        self.query_one(Lines).put([], ())
        self.query_one("#about", Words).update(
            lines(
                line(("PUSH PLAN  ", "strong"), self.tenant),
                line(("x no plan: ", "error"), error.message),
                line(error.hint or "", "   R reads again"),
            )
        )
        self.query_one("#beside", Words).update(line())
        self._draw_consent()
        self.refresh_frame()

    def _show(self, planned: Planned) -> None:
        self._planned, self._gone = planned, None
        # What is still said is still acknowledged.
        self._acknowledged &= frozenset(planned.concerns)
        self._draw()
        self._wait_a_moment()

    def _wait_a_moment(self) -> None:
        """Let nothing be confirmed for a moment; a later wait makes this one stale."""
        self.is_open = False
        self._waits += 1
        number = self._waits

        def opened() -> None:
            if self._waits == number and self._planned and self._has_parts:
                self.is_open = True
                self._open_field()

        self.set_timer(MOMENT_S, opened)

    def _draw(self) -> None:
        """Draw all of it anew."""
        planned, place = self._planned, self.workplace.where.typed
        if planned is None or not self._has_parts:
            return
        self._draw_about()
        table = self.query_one(Lines)
        self._lines = plan_lines.plan_lines(
            planned,
            self._acknowledged,
            self.workplace.now(),
            width=table.scrollable_content_region.width or self.size.width,
            unfolded=self._unfolded,
        )
        fixed = [number for number, one in enumerate(self._lines) if not (one.due or one.concern)]
        table.put([one.text for one in self._lines], fixed)
        self.query_one("#beside", Words).update(
            plan_lines.beside(planned, self._acknowledged, place, with_file=self._with_file)
        )
        self._draw_consent()
        self._open_field()
        self.refresh_frame()

    def _draw_about(self) -> None:
        """Say what it is about; as time goes on, how old it is."""
        if self._planned and self._has_parts:
            about = plan_lines.about(self._planned, self.workplace.now())
            self.query_one("#about", Words).update(about)

    def refresh_frame(self) -> None:
        """Draw what can be done, and the consent: the session may have become read-only meanwhile."""
        super().refresh_frame()
        if self._planned and self._has_parts:
            self._draw_consent()

    def on_option_list_option_highlighted(self) -> None:
        """Say what can be done with the line."""
        self.refresh_frame()

    def _draw_consent(self) -> None:
        """Say what is missing, or how it is confirmed."""
        field, words = self.query_one(TypedName), self._why_not()
        field.display = self._asks_name and not words
        if words:
            stops = bool(stops_of(self._concerns))
            text = line((f"x {words}" if stops else f"! {words}", "error" if stops else "warn"))
        elif self._asks_name:
            how = "Type the tenant id and Enter to push to PROD, Esc to leave"
            text = line((how, "strong"), f"  ({self.tenant})")
        else:
            text = line(("Enter pushes, Esc leaves", "strong"))
        self.query_one("#consent", Words).update(text)
        if not field.display:
            field.value = ""
            if field.has_focus:
                self.query_one(Lines).focus()

    def _open_field(self) -> None:
        """Give the field for the tenant id the keys, once all is acknowledged and was seen for a moment."""
        field = self.query_one(TypedName)
        if field.display and self.is_open:
            field.focus()

    # What can be done.

    @property
    def _concerns(self) -> tuple[Concern, ...]:
        return self._planned.concerns if self._planned else ()

    @property
    def left(self) -> list[Concern]:
        """What is still to be acknowledged."""
        return left_of(self._concerns, self._acknowledged)

    @property
    def _asks_name(self) -> bool:
        return self.workplace.where.production

    def _why_not(self) -> str | None:
        """Why it cannot be confirmed yet; None where only the confirming itself is missing."""
        return next(self._obstacles(), None)

    def _obstacles(self) -> Iterator[str]:
        stops, left = stops_of(self._concerns), self.left
        if self._planned is None:
            yield self._gone or "the plan is not read yet"
        elif self._planned.found.proposal.is_empty:
            yield "nothing to push: the engine and the file hold this set already"
        if stops:
            yield f"cannot be pushed: {count(len(stops), 'reason')} above that nothing lifts here"
        unarmed = self.knobctl.arming.refusal(self.workplace.now())
        if unarmed:
            yield unarmed
        if left:
            yield f"{len(left):,} to acknowledge, one by one: a"
        if self.knobctl.pushes.of(self.tenant):
            yield "a push of this tenant is under way"

    def refusal(self, action: Action) -> str | None:
        """See `Place.refusal`."""
        why = None
        match action.id:
            case "acknowledge":
                why = self._why_not_acknowledged()
            case "keep" if not self._kept_knob():
                why = "only a reset or a drift can be kept"
            case "file" if not self._has_file:
                why = "the tenant has no document to edit"
            case "confirm":
                why = self._why_not()
                if not why and self._asks_name:
                    why = "production: type the tenant id into the field"
            case _:
                pass
        return why or super().refusal(action)

    @property
    def _has_file(self) -> bool:
        planned = self._planned
        return bool(planned and planned.found.wanted.subject.document)

    def _why_not_acknowledged(self) -> str | None:
        one = self._at().concern
        if not self.left:
            return "nothing is left to acknowledge"
        if one is None:
            return "go to a line with [ ] first: Tab"
        return "nothing lifts this here" if one.kind is Kind.STOP else None

    def next_step(self) -> str:
        """See `Place.next_step`."""
        return self._why_not() or "Confirm the push, or Esc to leave; the draft stays."

    def twin(self) -> str:
        """The command lines that push the same."""
        place = self.workplace.where.typed
        if self._planned is None:
            return f"knobctl get {self.tenant}{place}"
        return plan_lines.twin(self._planned, self._acknowledged, place)

    def _at(self) -> Line:
        at = self.query_one(Lines).highlighted
        return self._lines[at] if at is not None and at < len(self._lines) else Line(line())

    def _kept_knob(self) -> str | None:
        """The knob of the line whose live value can be kept."""
        at = self._at()
        if at.concern:
            return at.concern.knob
        known = {one.knob for one in self._concerns if one.knob}
        return at.due.change.knob if at.due and at.due.change.knob in known else None

    def action_next_concern(self) -> None:
        """Go to the next line that is to be acknowledged; where none is left, between the lines and the field."""
        table, field = self.query_one(Lines), self.query_one(TypedName)
        numbers = [number for number, one in enumerate(self._lines) if one.concern in self.left]
        if not numbers and field.display and not field.has_focus:
            self._open_field()
            return
        table.focus()
        at = table.highlighted if table.highlighted is not None else -1
        following = [number for number in numbers if number > at] or numbers
        if following:
            table.highlighted = following[0]

    def action_acknowledge(self) -> None:
        """Note that the line was looked at, and go to the next one."""
        concern = self._at().concern
        if concern is None or not self.is_open or self.knobctl.is_burst():
            return
        self._acknowledged |= {concern}
        at = self.query_one(Lines).highlighted
        self._draw()
        self.query_one(Lines).highlighted = at
        self.action_next_concern()
        self._open_field()

    def action_keep(self) -> None:
        """Copy the live value of the line's knob into the draft."""
        knob = self._kept_knob()
        if knob is None or self._planned is None:
            return
        seen = self._planned.seen
        live = seen.now.live or {}
        self.draft = seen.draft.put(knob, spelled(live[knob]) if knob in live else UNSET)
        draft = self.draft
        self.ask("draft", lambda: self.workplace.keep_draft(draft), lambda _: None)
        if self._changed:
            self._changed(draft)
        tell(self.app, f"{knob} stays as it is on the engine")
        self._plan()

    def action_file(self) -> None:
        """Say whether the tenant's file is edited too."""
        self._with_file = not self._with_file
        self._plan()

    def action_evidence(self, file: str = "") -> None:
        """Attach a file of evidence that no document names, or take it away again."""
        if not file:
            raise UsageError("which file?", hint=":evidence FILE attaches it; again takes it away")
        attached = dict.fromkeys((*self._evidence, file))
        if file in self._evidence:
            del attached[file]
        self._evidence = tuple(attached)
        self._plan()

    def action_unchanged(self) -> None:
        """Show the knobs that stay, or fold them."""
        self._unfolded = not self._unfolded
        self._draw()

    def action_replan(self) -> None:
        """Read the engine and the files again."""
        self.workplace.reload()
        self._plan()

    async def action_back(self) -> None:
        """Leave; nothing was written, and the draft stays."""
        await self.app.pop_screen()

    def action_confirm(self) -> None:
        """Push, where no name has to be typed."""
        if self._is_meant():
            self._push()

    def on_typed_name_typed(self, event: TypedName.Typed) -> None:
        """Push, once the name is whole."""
        if not (event.is_whole and self._is_meant()):
            return
        with self.telling():
            self.knobctl.armed()
            if not self._why_not():
                self._push()

    def _is_meant(self) -> bool:
        """Whether the key that confirms was pressed at the plan, alone; told where it was not."""
        if self.is_open and not self.knobctl.is_burst():
            return True
        tell(
            self.app, "that key came too soon to be meant for this plan; press it again", "warning"
        )
        return False

    def _push(self) -> None:
        from knobctl.tui.screens.push import PushScreen

        assert self._planned is not None
        push = Push(found=self._planned.found, said=as_said(self._looked_at()), draft=self.draft)
        self.is_open = False
        self.knobctl.pushes.begin(push)
        self.app.switch_screen(PushScreen(push, self._changed))

    def _looked_at(self) -> list[Concern]:
        """What was acknowledged, in its order."""
        return [one for one in self._concerns if one in self._acknowledged]
