"""The application: its places, what works everywhere, and leaving. Nothing about knobs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from knobctl.errors import RefusedError, UsageError
from knobctl.text import count, nearest, visible
from knobctl.tui import themes
from knobctl.tui.actions import FLEET, actions_of
from knobctl.tui.frame import Frame
from knobctl.tui.pushes import Moved, Pushes
from knobctl.tui.screens.fleet import FleetScreen
from knobctl.tui.ui import line, lines, tell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.driver import Driver

    from knobctl.changes.limits import Limits
    from knobctl.tui.arming import Arming
    from knobctl.tui.commands import Offer
    from knobctl.tui.keymap import Keymap
    from knobctl.tui.screens.place import Place
    from knobctl.tui.workplace import Workplace

_FEW: Final = 1_000
"""Of so many tenants the nearest name can be found at once."""


class KnobctlApp(Frame):
    """The terminal UI."""

    MODES = {FLEET: FleetScreen}  # noqa: RUF012  Textual's own shape
    DEFAULT_MODE = FLEET

    def __init__(
        self,
        workplace: Workplace,
        *,
        theme: str = themes.DARK,
        keymap: Keymap | None = None,
        driver: type[Driver] | None = None,
    ) -> None:
        """Take what the session is about; see `Frame`."""
        super().__init__(workplace, theme=theme, keymap=keymap, driver=driver)
        self.pushes = Pushes(workplace, self.post_message)
        """What this session pushed, or is pushing."""

    def on_moved(self, event: Moved) -> None:
        """Show that a push took a step, wherever it is looked at; where it is over, tell it everywhere."""
        from knobctl.tui import push_view

        push = event.push
        for place in self.places():
            place.moved(push)
        self.note("pushes", ", ".join(f"pushing {one.tenant}" for one in self.pushes.under_way))
        if push.is_over and not push.is_told:
            push.is_told = True
            tell(self, push_view.headline(push), "information" if push.is_good else "error")

    def offers(self) -> dict[str, Offer]:
        """By the kind of an argument, what it can be: what the place knows, else what everybody does."""
        usual: dict[str, Offer] = {
            "theme": lambda typed: (name for name in themes.THEMES if name.startswith(typed)),
            "tenant": self._tenants,
            "knob": lambda typed: (name for name in self._knobs() if typed in name),
        }
        place = self.place
        if place is None:
            return usual
        kinds = {action.argument for action in actions_of(place.PLACE)} - {""}
        own = {kind for kind in kinds if place.offers(kind, "") is not None}
        return usual | {kind: partial(self._of_place, place, kind) for kind in own}

    @staticmethod
    def _of_place(place: Place, kind: str, typed: str) -> Iterable[str]:
        return place.offers(kind, typed) or ()

    def _tenants(self, typed: str) -> Iterable[str]:
        return (name for name in self.workplace.tenant_names() if typed.lower() in name.lower())

    def _knobs(self) -> Iterable[str]:
        return (knob.name for knob in self.workplace.catalogue)

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

    def action_fleet(self) -> None:
        """Go back to the fleet."""
        self.switch_mode(FLEET)
        while len(self.screen_stack) > 1 and not isinstance(self.screen, FleetScreen):
            self.pop_screen()

    def action_tenant(self, tenant: str = "") -> None:
        """Open a tenant by its name.

        Raises:
            UsageError: If the fleet has none of this name.
        """
        from knobctl.tui.screens.tenant import TenantScreen

        if not tenant:
            raise UsageError("name the tenant: :tenant NAME; Tab completes it")
        self.assert_known(tenant)
        self.switch_mode(FLEET)

        def is_here(screen: object) -> bool:
            return isinstance(screen, TenantScreen) and screen.tenant == tenant

        if any(map(is_here, self.screen_stack)):  # two of them would not know of each other's edits
            while not is_here(self.screen):
                self.pop_screen()
        else:
            self.push_screen(TenantScreen(tenant))

    def _is_listed(self, tenant: str) -> bool:
        """Whether the list shows it: the engine may hold a set for which there is no document."""
        lists = (one for one in self.places() if isinstance(one, FleetScreen))
        return any(tenant in one.fleet.at for one in lists)

    def assert_known(self, tenant: str) -> None:
        """See that the fleet has a tenant of a name, as far as that is known by now.

        Raises:
            UsageError: If it has none, with the nearest name.
        """
        names = self.workplace.tenant_names()
        if names and tenant not in names and not self._is_listed(tenant):
            close = nearest(tenant, names) if len(names) < _FEW else None
            known = f"did you mean {close}?" if close else "tenant: in the palette finds names"
            raise UsageError(f"there is no tenant {visible(tenant)}; {known}")

    async def action_log(self) -> None:
        """Show what was asked of the outside."""
        from knobctl.tui.screens.log import LogScreen

        if not isinstance(self.screen, LogScreen):
            await self.push_screen(LogScreen())

    async def action_ask(self, question: str = "") -> None:
        """Ask a question of the tenant that is open, under the live set and under the draft."""
        from knobctl.tui.screens.ask import AskScreen

        if self.place and self.place.tenant:
            await self.push_screen(AskScreen(self.place.tenant, question))

    async def action_audit(self, tenant: str = "") -> None:
        """Show the changes of a tenant; of the one that is open, or of all."""
        from knobctl.tui.screens.audit import AuditScreen

        place = self.place
        wanted = tenant or (place.tenant if place else "")
        if not (isinstance(place, AuditScreen) and place.tenant == wanted):
            await self.push_screen(AuditScreen(wanted))

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
        undone = [one for place in self.places() for one in place.unfinished()]
        lost = [
            f"{one}: a draft that could not be kept, LOST by leaving"
            for one in self.workplace.unkept_drafts()
        ]
        undone = [*self.pushes.unfinished(), *lost, *undone]
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

    def action_help_quit(self) -> None:
        """Explain how to leave: Ctrl-C means copying to some, and to nobody that work is thrown away."""
        stopped = self.place.stop() if self.place else ""
        leave = "press q or type :q to leave; Esc goes back one step"
        tell(self, f"{stopped}\n{leave}".strip())

    def lost(self, code: int) -> None:
        """Leave without asking: the terminal is gone, or the process was told to end."""
        self.workplace.stop_pushes()
        self.exit(return_code=code)
