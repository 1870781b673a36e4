"""The application: places, keys that work everywhere, arming, leaving. Nothing about knobs."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Final

from textual import events
from textual.app import App
from textual.filter import NoColor
from textual.worker import WorkerFailed

from knobctl.errors import RefusedError, UsageError
from knobctl.text import count, nearest, visible
from knobctl.tui import themes
from knobctl.tui.actions import EVERYWHERE, FLEET, action_called, actions_of, bindings_of
from knobctl.tui.arming import Arming
from knobctl.tui.commands import History
from knobctl.tui.logbook import KINDS, Kind
from knobctl.tui.pushes import Moved, Pushes
from knobctl.tui.screens.fleet import FleetScreen
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Told, line, lines, tell
from knobctl.tui.working import Working

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.types import CSSPathType

    from knobctl.changes.limits import Limits
    from knobctl.tui.commands import Call, Offer
    from knobctl.tui.keymap import Keymap
    from knobctl.tui.workplace import Workplace

_NO_COLOUR: Final = NoColor()
_FEW: Final = 1_000
"""Of so many tenants the nearest name can be found at once."""

BURST_S: Final = 0.05
"""Keys that come faster than this were not pressed one by one."""


class KnobctlApp(App[None], Working):
    """The terminal UI."""

    TITLE: str | None = "knobctl"
    CSS_PATH: ClassVar[CSSPathType | None] = "knobctl.tcss"
    ENABLE_COMMAND_PALETTE = False
    MODES = {FLEET: FleetScreen}  # noqa: RUF012  Textual's own shape
    DEFAULT_MODE = FLEET
    BINDINGS = bindings_of(EVERYWHERE)

    def __init__(
        self,
        workplace: Workplace,
        *,
        theme: str = themes.DARK,
        keymap: Keymap | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        """Take what the session is about; nothing is asked before the first picture.

        Args:
            workplace: The session's surroundings.
            theme: The name of a theme.
            keymap: The user's own keys.
            driver: What draws; Textual's own choice where none is given.
        """
        super().__init__(driver_class=driver)
        self.workplace = workplace
        self.animation_level = "none"
        self.keymap: Keymap = keymap or {}
        self.set_keymap({id_: ",".join(keys) for id_, keys in self.keymap.items()})
        for name in list(self.available_themes):
            self.unregister_theme(name)
        for known in themes.THEMES.values():
            self.register_theme(known)
        self.theme = theme
        forced = "it was started so" if workplace.where.read_only else None
        self.arming = Arming(forced=forced)
        self.history = History()
        self.pushes = Pushes(workplace, self.post_message)
        """What this session pushed, or is pushing."""
        self._typed_at = (-BURST_S, 0.0)
        """When the last two keys came, on the clock of events."""
        self._key: events.Key | None = None
        self.notes: dict[str, str] = {}
        """What the header says beside the place's own notes, by whose it is: `index` of the index."""
        self.begin_capture_print(self)  # places ask the rooms below before this is mounted

    # What happens around the places.

    def on_mount(self) -> None:
        """Let the header's clock run."""
        self.set_interval(1, self._tick)
        self.ask("revision", self.workplace.revision, lambda found: self.note("revision", found))

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Take every colour away where none is wanted: Textual's own widgets have some for such terminals."""
        filters = super().get_line_filters()
        return [*filters, _NO_COLOUR] if self.theme == themes.PLAIN else filters

    async def on_event(self, event: events.Event) -> None:
        """Note that somebody is there."""
        if isinstance(event, (events.Key, events.MouseDown, events.Paste)):
            self.arming = self.arming.touch(self.workplace.now())
        if isinstance(event, events.Key) and event is not self._key:  # it comes back from below
            self._key, self._typed_at = event, (self._typed_at[1], event.time)
        await super().on_event(event)

    def is_burst(self) -> bool:
        """Whether the last key came on the heels of another, as in a paste, or where a key is held: nobody meant it alone."""
        before, last = self._typed_at
        return last - before < BURST_S

    def on_moved(self, event: Moved) -> None:
        """Show that a push took a step, wherever it is looked at; where it is over, tell it everywhere."""
        from knobctl.tui import push_view

        push = event.push
        for place in self._places():
            place.moved(push)
        self.note("pushes", next(map(push_view.headline, self.pushes.under_way), ""))
        if push.is_over and not push.is_told:
            push.is_told = True
            tell(self, push_view.headline(push), "information" if push.is_good else "error")

    def on_print(self, event: events.Print) -> None:
        """Keep for the log what would have gone to standard error."""
        if event.text.strip():
            self.workplace.log.write(Kind.NOTE, event.text)

    def on_told(self, event: Told) -> None:
        """Keep a message that goes away by itself."""
        self.workplace.log.write(
            KINDS[event.severity], event.text, failed=event.severity == "error"
        )

    def note(self, name: str, text: str) -> None:
        """Say something in the header of every place; empty takes it back."""
        self.notes[name] = text
        self.refresh_frame()

    def refresh_frame(self) -> None:
        """Draw the frame of the place that is seen anew."""
        place = self.place
        if place:
            place.refresh_frame()

    def _tick(self) -> None:
        if self.arming.touched:
            if self.arming.left(self.workplace.now()) is None:
                self.arming = self.arming.disarm()
                tell(self, "read-only again: 15 minutes without a key", "warning")
            self.refresh_frame()

    # What actions need.

    @property
    def place(self) -> Place | None:
        """The place that is seen, or lies under a box."""
        stack = reversed(self.screen_stack) if self.is_running else ()
        return next((screen for screen in stack if isinstance(screen, Place)), None)

    def armed(self) -> Arming:
        """What a write needs: why, and the ticket.

        Raises:
            RefusedError: If the session is read-only.
        """
        refusal = self.arming.refusal(self.workplace.now())
        if refusal:
            raise RefusedError(refusal)
        return self.arming

    async def action_perform(self, id_: str, argument: str = "") -> None:
        """Do an action of the table in the place that is seen, or say why not: the one way to all of them."""
        place = self.place
        if place is None:
            return
        action = action_called(id_)
        refusal = place.refusal(action)
        if refusal:
            tell(self, refusal, "warning")
            return
        name = f"action_{id_}"
        code = getattr(place, name, None) or getattr(self, name)
        with self.telling():
            done = code(argument) if argument else code()
            if isawaitable(done):
                await done
        self.refresh_frame()

    async def run_call(self, call: Call | None) -> None:
        """Do what a box answered with."""
        if call:
            await self.action_perform(call.action.id, call.argument)

    def offers(self) -> dict[str, Offer]:
        """By the kind of an argument, what it can be: what the place knows, else what everybody does."""
        place = self.place

        def offer(kind: str, usual: Offer) -> Offer:
            def offered(typed: str) -> Iterable[str]:
                own = place.offers(kind, typed) if place else None
                return usual(typed) if own is None else own

            return offered

        known: dict[str, Offer] = {
            "theme": lambda typed: (name for name in themes.THEMES if name.startswith(typed)),
            "tenant": self._tenants,
            "knob": lambda typed: (name for name in self._knobs() if typed in name),
        }
        return {kind: offer(kind, usual) for kind, usual in known.items()}

    def _tenants(self, typed: str) -> Iterable[str]:
        return (name for name in self.workplace.tenant_names() if typed.lower() in name.lower())

    def _knobs(self) -> Iterable[str]:
        return (knob.name for knob in self.workplace.catalogue)

    def hand_out(self, text: str) -> None:
        """Show a text to take along; whether the terminal's clipboard has it nobody can know."""
        self.copy_to_clipboard(text)
        tell(self, f"{text}\nsent to the terminal's clipboard; it stands in the log too")

    # What works everywhere.

    def action_help(self) -> None:
        """Explain the place."""
        from knobctl.tui.screens.help import HelpScreen

        if self.place:
            actions = actions_of(self.place.PLACE)
            self.push_screen(HelpScreen(self.place, actions), self.run_call)

    def action_commands(self) -> None:
        """Open the palette."""
        from knobctl.tui.screens.palette import PaletteScreen

        if self.place:
            actions = actions_of(self.place.PLACE)
            self.push_screen(
                PaletteScreen(actions, self.place.possible, self.offers()), self.run_call
            )

    def action_tenant(self, tenant: str = "") -> None:
        """Open a tenant by its name.

        Raises:
            UsageError: If the fleet has none of this name.
        """
        from knobctl.tui.screens.tenant import TenantScreen

        if not tenant:
            raise UsageError("name the tenant: :tenant NAME; Tab completes it")
        names = self.workplace.tenant_names()
        if names and tenant not in names:
            close = nearest(tenant, names) if len(names) < _FEW else None
            known = f"did you mean {close}?" if close else "tenant: in the palette finds names"
            raise UsageError(f"there is no tenant {visible(tenant)}; {known}")
        self.switch_mode(FLEET)
        self.push_screen(TenantScreen(tenant))

    def action_theme(self, name: str = "") -> None:
        """Take another theme."""
        names = list(themes.THEMES)
        following = names[(names.index(self.theme) + 1) % len(names)]
        self.theme = themes.named(name or following).name
        tell(self, f"theme {self.theme}; --theme {self.theme} takes it from the start")

    def action_arm(self, reason: str = "") -> None:
        """Ask for the reason and the ticket.

        Raises:
            RefusedError: If the session may never write.
        """
        from knobctl.tui.screens.arm import ArmScreen

        if self.arming.forced:
            raise RefusedError(self.arming.refusal(self.workplace.now()) or "")

        def ask(limits: Limits) -> None:
            self.push_screen(ArmScreen(self.arming, limits, reason), self._armed)

        self.ask("limits", self.workplace.limits, ask)

    def _armed(self, arming: Arming | None) -> None:
        if arming:
            self.arming = arming
            self.refresh_frame()

    def action_disarm(self) -> None:
        """Make the session read-only."""
        self.arming = self.arming.disarm()

    def action_pushes(self) -> None:
        """Look at the last push of this session.

        Raises:
            UsageError: If there was none.
        """
        from knobctl.tui.screens.push import PushScreen

        if not self.pushes.all:
            raise UsageError("nothing was pushed in this session; earlier ones: knobctl runs")
        if not isinstance(self.screen, PushScreen):
            self.push_screen(PushScreen(self.pushes.all[-1]))

    # Leaving.

    async def action_quit(self) -> None:
        """Leave; ask first where something is left undone."""
        from knobctl.tui.screens.confirm import ConfirmScreen

        if isinstance(self.screen, ConfirmScreen):
            return
        undone = [one for place in self._places() for one in place.unfinished()]
        undone = [*self.pushes.unfinished(), *undone]
        if not undone:
            self.exit()
            return
        shown = [line(f"  {one}") for one in undone[:5]]
        more = [line(f"  and {count(len(undone) - 5, 'other')}")] if len(undone) > 5 else []
        question = lines(line(("Leave knobctl? Open are:", "strong")), *shown, *more)
        self.push_screen(ConfirmScreen(question, no="stay", yes="leave"), self._leave)

    def _leave(self, agreed: bool | None) -> None:
        if agreed:
            self.exit()

    def _places(self) -> Iterable[Place]:
        stacks = [*self._screen_stacks.values()]
        return dict.fromkeys(one for stack in stacks for one in stack if isinstance(one, Place))

    def action_help_quit(self) -> None:
        """Explain how to leave: Ctrl-C means copying to some, and to nobody that work is thrown away."""
        tell(self, "press q or type :q to leave; Esc goes back one step")

    def lost(self, code: int) -> None:
        """Leave without asking: the terminal is gone, or the process was told to end."""
        self.workplace.stop_pushes()
        self.exit(return_code=code)

    @property
    def crash(self) -> Exception | None:
        """What ended the program, if it was a defect."""
        error = self._exception
        return (
            error.error
            if isinstance(error, WorkerFailed) and isinstance(error.error, Exception)
            else error
        )

    def _fatal_error(self) -> None:
        """End it; the edge writes the report. Textual would print a traceback with the values of variables."""
        self._close_messages_no_wait()
