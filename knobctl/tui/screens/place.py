"""What every place has: header, footer, the reasons why not, and the command line that does the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, cast

from textual.screen import Screen

from knobctl.errors import UsageError
from knobctl.tui.actions import Danger, action_called, actions_of
from knobctl.tui.ui import Words, line
from knobctl.tui.widgets.frame import Footer, Header
from knobctl.tui.working import Working

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.widget import Widget

    from knobctl.tui.actions import Action
    from knobctl.tui.app import KnobctlApp
    from knobctl.tui.pushes import Push
    from knobctl.tui.workplace import Workplace

LEAST: tuple[int, int] = (60, 16)
"""Columns and rows that a place needs; below that a line says which command does the same."""
_MOVES = ("down", "up", "page_down", "page_up", "top", "bottom")
_FRAME = ("header", "footer", "hint")
ALWAYS = ("help", "commands", "quit")
"""What the footer shows at its end whatever the width."""


class Place(Screen[None], Working):
    """A place of the UI: header, body, footer."""

    PLACE: ClassVar[str] = ""
    """Its name in the table of actions."""
    tenant: str = ""
    """The tenant that it is about, if it is about one."""
    HORIZONTAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012  Textual's own shape
        (0, "-tiny"),
        (LEAST[0], "-narrow"),
        (100, "-usual"),
        (140, "-wide"),
    ]
    VERTICAL_BREAKPOINTS: list[tuple[int, str]] | None = [  # noqa: RUF012  Textual's own shape
        (0, "-flat"),
        (LEAST[1], "-low"),
        (30, "-high"),
    ]

    def compose(self) -> ComposeResult:
        """Put header and footer around the body."""
        self.set_class(self.workplace.where.production, "-production")
        yield Header(id="header")
        yield from self.body()
        yield Words(id="hint")
        yield Footer()

    @property
    def stands(self) -> bool:
        """Whether its parts are there: a place that is left at once is mounted without some of them."""
        return self.is_attached and self.display

    def body(self) -> ComposeResult:
        """What stands between header and footer."""
        raise NotImplementedError

    def twin(self) -> str:
        """The command line that does or shows the same."""
        raise NotImplementedError

    def notes(self) -> Iterable[str]:
        """What the header says of this place, most needed first: `2 edits`, `100,000 tenants`."""
        return ()

    def refusal(self, action: Action) -> str | None:
        """Why an action cannot be done now, and what would allow it; None where it can.

        Places add their own reasons: `nothing to undo`. Whoever presses the key is told, and the
        footer and the palette leave the action out.
        """
        if action.danger in {Danger.WRITE, Danger.PUSH}:
            return self.knobctl.arming.refusal(self.workplace.now())
        return None

    def next_step(self) -> str:
        """What most people do next in the state that the place is in, for the help."""
        return "Esc goes back one step."

    def stop(self) -> str:
        """Stop what works in the background, as Ctrl-C asks for; says so, or nothing where nothing does."""
        return ""

    def unfinished(self) -> Iterable[str]:
        """What would be left undone by leaving: `acme: 2 edits in a draft`."""
        return ()

    def moved(self, push: Push) -> None:
        """Hear that a push took a step, or is over."""

    def offers(self, kind: str, typed: str) -> Iterable[str] | None:
        """What an argument of a kind can be here, by what is typed; None where the place does not know."""
        del kind, typed
        return None

    @property
    def knobctl(self) -> KnobctlApp:
        """The application."""
        return cast("KnobctlApp", self.app)

    @property
    def workplace(self) -> Workplace:
        """The session's surroundings."""
        return self.knobctl.workplace

    @property
    def possible(self) -> list[Action]:
        """What can be done here now, the place's own actions first."""
        return [action for action in actions_of(self.PLACE) if not self.refusal(action)]

    def refresh_frame(self) -> None:
        """Draw header, footer and hint anew; call it where what can be done changed."""
        if not (
            self.is_mounted and self.query(Header)
        ):  # it is not there yet, or taken away by now
            return
        app, where = self.knobctl, self.workplace.where
        badge = app.arming.badge(self.workplace.now())
        notes = [*self.notes(), *app.notes.values()]
        self.query_one(Header).show(where, badge, notes, clearance=app.clearance)
        own = [one for one in self.possible if one.footer and one.keys and self.PLACE in one.places]
        always = [action_called(id_) for id_ in ALWAYS]
        self.query_one(Footer).show(own, always, app.keymap)
        self.query_one("#hint", Words).update(
            line(
                f"{self.size.width}x{self.size.height} is too small, {LEAST[0]}x{LEAST[1]} is enough;"
                f" or without a screen: {self.twin()}"
            )
        )

    def on_resize(self) -> None:
        """Fit the frame to the new size."""
        self.refresh_frame()

    def on_screen_resume(self) -> None:
        """Show what has changed meanwhile."""
        self.call_after_refresh(self.refresh_frame)

    def action_lab(self, tenant: str = "") -> None:
        """Move the floor of a tenant: the named one, or the one that the place is about.

        Raises:
            UsageError: If there is none.
        """
        from knobctl.tui.screens.lab import LabScreen

        if not (tenant or self.tenant):
            raise UsageError("name the tenant: :lab TENANT")
        if tenant:
            self.knobctl.assert_known(tenant)
        self.app.push_screen(LabScreen(tenant or self.tenant))

    def make_room(self, action: Action) -> None:
        """Give all panels their room again for an action that may need another one."""
        if action.id not in _MOVES and self.PLACE in action.places and self.query(".-zoom"):
            self.action_zoom()

    def action_zoom(self) -> None:
        """Give the panel that has the focus the room of all, or all theirs again; the frame stays."""
        aside, zoomed = self.query(".-aside"), self.query(".-zoom")
        if zoomed:
            aside.remove_class("-aside")
            zoomed.remove_class("-zoom")
            return
        panel = self.focused
        while panel is not None and panel is not self:
            panel.add_class("-zoom")
            others = panel.siblings
            for other in others:
                other.set_class(other.id not in _FRAME, "-aside")
            panel = cast("Widget | None", panel.parent)

    def action_twin(self) -> None:
        """Show the command line that does the same."""
        self.knobctl.hand_out(self.twin())
