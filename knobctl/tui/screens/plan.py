"""Plan and confirm: what a push of one tenant's draft changes, what to acknowledge, and the consent."""

from __future__ import annotations

from textwrap import wrap
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.changes.tenant_proposal import Wanted
from knobctl.text import count, spelled
from knobctl.tui import plan_view
from knobctl.tui.actions import PLAN, bindings_of
from knobctl.tui.concerns import Concern, Kind, as_said, concerns_of, left_of, stops_of
from knobctl.tui.draft import UNSET
from knobctl.tui.pushes import Push
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Words, line, lines, shown, tell
from knobctl.tui.widgets.plan_parts import Lines, TypedName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from textual.app import ComposeResult
    from textual.content import Content

    from knobctl.changes.tenant_proposal import TenantProposal
    from knobctl.errors import KnobctlError
    from knobctl.tui.actions import Action
    from knobctl.tui.draft import Draft, Due
    from knobctl.tui.plan_view import Drawn
    from knobctl.tui.ui import Part, Role

MOMENT_S: Final = 0.7
"""So long after a plan is shown nothing confirms it: what was typed ahead was not typed at it."""
AGES_S: Final = 5.0
"""How often the age of what is shown is told anew."""


class _Line(NamedTuple):
    """One line of the list, and what it is about."""

    text: Content
    due: Due | None = None
    concern: Concern | None = None


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
        self._found: TenantProposal | None = None
        self._seen: Drawn | None = None
        self._concerns: tuple[Concern, ...] = ()
        self._acknowledged: frozenset[Concern] = frozenset()
        self._lines: list[_Line] = []
        self._with_file = True
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
        found, arming = self._found, self.knobctl.arming
        if found is None or not self.query(Lines):  # it is being taken away: it was confirmed
            return
        if (found.wanted.reason, found.wanted.ticket) != (arming.reason, arming.ticket):
            self._plan()
        else:
            self._draw()
            self._wait_a_moment()

    def _plan(self) -> None:
        """Read what the files and the engine hold now, lay the draft over it, and judge that."""
        self.is_open = False
        self._waits += 1
        self._found = None
        workplace, arming = self.workplace, self.knobctl.arming
        draft, tenant, with_file = self.draft, self.tenant, self._with_file

        def planned() -> tuple[TenantProposal, Drawn]:
            subject, live = workplace.subject(tenant), workplace.read(tenant)
            read_at = workplace.now()
            now = plan_view.begun_of(subject, live)
            seen = plan_view.drawn(draft, now, subject.repository.catalogue)
            wanted = Wanted(
                subject=subject,
                live=live,
                read_at=read_at,
                desired=seen.understood.desired,
                literals=seen.draft.literals,
                with_file=with_file,
                reason=arming.reason,
                ticket=arming.ticket,
            )
            return workplace.propose(wanted), seen

        self.query_one("#about", Words).update(
            line(("PUSH PLAN  ", "strong"), tenant, "  reading the engine ...")
        )
        self.ask("plan", planned, self._show, failed=self._not_planned)
        self.refresh_frame()

    def _not_planned(self, error: KnobctlError) -> None:
        self._gone = error.message
        self._concerns, self._lines = (), []
        self.query_one(Lines).put([], ())
        self.query_one("#about", Words).update(
            lines(
                line(("PUSH PLAN  ", "strong"), self.tenant),
                line(("x no plan: ", "error"), error.message),
                line(error.hint or "", "   R reads again"),
            )
        )
        for name in ("#beside", "#consent"):
            self.query_one(name, Words).update(line())
        self.refresh_frame()

    def _show(self, planned: tuple[TenantProposal, Drawn]) -> None:
        self._found, self._seen = planned
        self._gone = None
        self._concerns = concerns_of(self._found, self._seen.due, self._seen.understood)
        self._acknowledged &= frozenset(self._concerns)  # what is still said is still acknowledged
        self._draw()
        self._wait_a_moment()

    def _wait_a_moment(self) -> None:
        """Let nothing be confirmed for a moment; a later wait makes this one stale."""
        self.is_open = False
        self._waits += 1
        number = self._waits

        def opened() -> None:
            if self._waits == number and self._found and self.query(Lines):
                self.is_open = True
                self._open_field()

        self.set_timer(MOMENT_S, opened)

    def _draw(self) -> None:
        """Draw all of it anew."""
        found, seen = self._found, self._seen
        if found is None or seen is None or not self.query(Lines):
            return
        self._draw_about()
        others = [one for one in self._concerns if one.knob is None]
        self._lines = [*self._rows(found, seen), *map(self._concern_line, others)]
        fixed = [number for number, one in enumerate(self._lines) if not (one.due or one.concern)]
        self.query_one(Lines).put([one.text for one in self._lines], fixed)
        allowed = as_said(self._acknowledged).allowances
        self.query_one("#beside", Words).update(
            lines(
                line(("counts ", "muted"), plan_view.counts(seen, self.workplace.catalogue)),
                line(("reason ", "muted"), *self._reason(found)),
                line(("file   ", "muted"), plan_view.file_words(found, wanted=self._with_file)),
                line(("undo   ", "muted"), plan_view.undo(found, self.workplace.where.typed)),
                line(
                    ("same   ", "muted"), plan_view.twin(found, allowed, self.workplace.where.typed)
                ),
            )
        )
        self._draw_consent()
        self.refresh_frame()

    def _draw_about(self) -> None:
        """Say what it is about; as time goes on, how old it is."""
        if self._found and self.query(Lines):
            now = self.workplace.now()
            self.query_one("#about", Words).update(
                lines(
                    line(*plan_view.title(self._found, now)),
                    line((plan_view.guarded(self._found, now), "muted")),
                    line((plan_view.REPLACES, "strong")),
                )
            )

    def _reason(self, found: TenantProposal) -> list[Part]:
        ticket = f"  ticket {found.wanted.ticket}" if found.wanted.ticket else ""
        return [f"{found.wanted.reason or 'none: the session is not armed'}{ticket}"]

    def _rows(self, found: TenantProposal, seen: Drawn) -> list[_Line]:
        """What changes, each with what is to be acknowledged of it; then what stays."""
        table = plan_view.table(seen, found, self.workplace.now())
        known = {one.knob: one for one in self._concerns if one.knob}
        rows = [_Line(line(*table.head))]
        for number, one in enumerate(seen.due):
            concern = known.get(one.change.knob)
            box, role = self._box(concern) if concern else ("   ", "")
            sign, meaning = plan_view.SIGNS[one.cause]
            text = line((f"{box} ", role), *table.row(number, (sign, meaning), meaning))
            rows.append(_Line(text, due=one, concern=concern))
        staying = plan_view.unchanged(seen, self.workplace.catalogue)
        how = "v folds them" if self._unfolded else "v shows them"
        rows.append(
            _Line(line((f"    = {count(len(staying), 'field')} unchanged   {how}", "muted")))
        )
        if self._unfolded:
            rows += [_Line(line(*each)) for each in staying]
        return rows

    def _concern_line(self, one: Concern) -> _Line:
        box, role = self._box(one)
        first, *rest = self._wrapped(f"{one.name}  {one.message}")
        return _Line(
            lines(
                line((f"{box} {one.sign} {first[: len(one.name)]}", role), first[len(one.name) :]),
                *(line(f"        {each}") for each in rest),
                *(
                    line((f"        {each}", "muted"))
                    for more in one.more
                    for each in self._wrapped(more)
                ),
            ),
            concern=one,
        )

    def _wrapped(self, text: str) -> list[str]:
        """A text in lines that fit behind sign and box."""
        width = self.query_one(Lines).content_size.width or self.size.width
        return wrap(shown(text), max(20, width - 9)) or [""]

    def _box(self, one: Concern) -> tuple[str, Role]:
        if one.kind is Kind.STOP:
            return "   ", "error"
        if one in self._acknowledged:
            return "[x]", "muted"
        return "[ ]", "drift" if one.kind is Kind.DRIFT else "warn"

    def _draw_consent(self) -> None:
        stops, left = stops_of(self._concerns), self.left
        field = self.query_one(TypedName)
        words = self._why_not()
        field.display = self._asks_name and not words
        if words:
            shown = line((f"x {words}" if stops else f"! {words}", "error" if stops else "warn"))
        elif self._asks_name:
            shown = line(
                ("Type the tenant id and Enter to push to PROD, Esc to leave", "strong"),
                f"  ({self.tenant})",
            )
        else:
            shown = line(("Enter pushes, Esc leaves", "strong"))
        self.query_one("#consent", Words).update(shown)
        if left or stops or not self._asks_name:
            field.value = ""
        self._open_field()

    def _open_field(self) -> None:
        """Give the field for the tenant id the keys, once all is acknowledged and was seen for a moment."""
        field = self.query_one(TypedName)
        if field.display and self.is_open:
            field.focus()
        elif field.has_focus:
            self.query_one(Lines).focus()

    # What can be done.

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
        if self._found is None:
            yield self._gone or "the plan is not read yet"
        elif self._found.proposal.is_empty:
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
            case "file" if not self._found or not self._found.wanted.subject.document:
                why = "the tenant has no document to edit"
            case "confirm":
                why = self._why_not()
                if not why and self._asks_name:
                    why = "production: type the tenant id into the field"
            case _:
                pass
        return why or super().refusal(action)

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
        if self._found is None:
            return f"knobctl get {self.tenant}{self.workplace.where.typed}"
        allowed = as_said(self._acknowledged).allowances
        return plan_view.twin(self._found, allowed, self.workplace.where.typed)

    def _at(self) -> _Line:
        at = self.query_one(Lines).highlighted
        return self._lines[at] if at is not None and at < len(self._lines) else _Line(line())

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
        knob, seen = self._kept_knob(), self._seen
        if knob is None or seen is None:
            return
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

    def action_unchanged(self) -> None:
        """Show the knobs that stay, or fold them."""
        self._unfolded = not self._unfolded
        self._draw()

    def action_replan(self) -> None:
        """Read the engine again."""
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

        assert self._found is not None
        push = Push(found=self._found, said=as_said(self._sorted()), draft=self.draft)
        self.is_open = False
        self.knobctl.pushes.begin(push)
        self.app.switch_screen(PushScreen(push, self._changed))

    def _sorted(self) -> list[Concern]:
        return [one for one in self._concerns if one in self._acknowledged]
