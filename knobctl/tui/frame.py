"""The application's frame: what is seen and heard around the places, and the one way to every action."""

from __future__ import annotations

from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Final, cast

from textual import events
from textual.filter import NoColor
from textual.worker import WorkerFailed

from knobctl.errors import RefusedError
from knobctl.tui import themes
from knobctl.tui.actions import EVERYWHERE, action_called, bindings_of
from knobctl.tui.arming import Arming
from knobctl.tui.commands import History
from knobctl.tui.in_order import InOrder
from knobctl.tui.logbook import KINDS, Kind
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Told, tell
from knobctl.tui.working import Working

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from textual.driver import Driver
    from textual.filter import LineFilter
    from textual.types import CSSPathType

    from knobctl.tui.commands import Call
    from knobctl.tui.keymap import Keymap
    from knobctl.tui.workplace import Workplace

_NO_COLOUR: Final = NoColor()
BURST_S: Final = 0.05
"""Keys that come faster than this were not pressed one by one."""


class Frame(InOrder, Working):
    """What is around the places: theme, keys, header, log, arming."""

    TITLE: str | None = "knobctl"
    CSS_PATH: ClassVar[CSSPathType | None] = "knobctl.tcss"
    ENABLE_COMMAND_PALETTE = False
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
        self._typed_at = (-BURST_S, 0.0)
        """When the last two keys came, on the clock of events."""
        self.clearance: int | None = None
        """What the engine lets the caller do, 4 for L4; None where that is not known."""
        self.notes: dict[str, str] = {}
        """What the header says beside the place's own notes, by whose it is: `index` of the index."""
        self.begin_capture_print(self)  # places ask the rooms below before this is mounted

    def on_mount(self) -> None:
        """Let the header's clock run."""
        self.set_interval(1, self._tick)
        self.ask("revision", self.workplace.revision, lambda found: self.note("revision", found))
        # Who reads the documents says why they cannot be read.
        self.follow("clearance", self._clearances, self._cleared, failed=lambda _: None)

    def _clearances(self) -> Iterator[int | None]:
        self.workplace.repository()  # the engine goes by its knobs
        yield self.workplace.clearance()

    def _cleared(self, clearance: int | None) -> None:
        self.clearance = clearance
        self.refresh_frame()

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Take every colour away where none is wanted: Textual's own widgets have some for such terminals."""
        filters = super().get_line_filters()
        return [*filters, _NO_COLOUR] if self.theme == themes.PLAIN else filters

    def take(self, event: events.Key | events.Paste) -> None:
        """Note that somebody types, and how fast."""
        self.arming = self.arming.touch(self.workplace.now())
        if isinstance(event, events.Key):
            self._typed_at = (self._typed_at[1], event.time)

    def on_mouse_down(self) -> None:
        """Note that somebody is there."""
        self.arming = self.arming.touch(self.workplace.now())

    def is_burst(self) -> bool:
        """Whether the last key came on the heels of another, as in a paste, or where a key is held: nobody meant it alone."""
        before, last = self._typed_at
        return last - before < BURST_S

    def on_print(self, event: events.Print) -> None:
        """Keep for the log what would have gone to standard error."""
        text: str | bytes = cast("str | bytes", event.text)
        if isinstance(text, bytes):  # click takes a stream that is no file for one of bytes
            text = text.decode("utf-8", "replace")
        if text.strip():
            self.workplace.log.write(Kind.NOTE, text)

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
        place.make_room(action)
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

    def hand_out(self, text: str) -> None:
        """Show a text to take along; whether the terminal's clipboard has it nobody can know."""
        self.copy_to_clipboard(text)
        tell(self, f"{text}\nsent to the terminal's clipboard; it stands in the log too")

    def places(self) -> Iterable[Place]:
        """All places that are open, seen or not."""
        stacks = [*self._screen_stacks.values()]
        return dict.fromkeys(one for stack in stacks for one in stack if isinstance(one, Place))

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
