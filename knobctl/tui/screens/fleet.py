"""The fleet: every tenant, a line each; found by words, sorted, marked, looked at more closely."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.containers import Container, VerticalScroll

from knobctl.errors import RefusedError, UsageError
from knobctl.knobs import Catalogue
from knobctl.text import count
from knobctl.tui.actions import FLEET, TENANT, bindings_of
from knobctl.tui.closer import closer_words, head_words
from knobctl.tui.fleet import Fleet, State
from knobctl.tui.fleet_lines import ROLES, FleetLines
from knobctl.tui.fleet_reading import FleetReading
from knobctl.tui.fleet_twins import twin_of
from knobctl.tui.query import FIELDS, Query, read_query, without, words_of
from knobctl.tui.screens.listing import Listing
from knobctl.tui.screens.place import Place
from knobctl.tui.sorting import ORDERS, by_name, in_order
from knobctl.tui.ui import Words, line, lines
from knobctl.tui.widgets.filter_line import FilterField, FilterLine
from knobctl.tui.widgets.virtual_table import VirtualTable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.app import ComposeResult
    from textual.timer import Timer

    from knobctl.tui.actions import Action
    from knobctl.tui.closer import Closer
    from knobctl.tui.pushes import Push
    from knobctl.tui.ui import Part

DRAWN_S: Final = 0.2
"""How often what has become known meanwhile is drawn."""
REST_S: Final = 0.15
"""How long the cursor rests on a line before somebody looks more closely."""
NOTHING: Final = Catalogue(knobs=(), schema={})
_HELP: Final = (
    "words of the name, !word, state:drift|warn, floor>1/3, set:KNOB, label:plan=pro, owner:, file:"
)


class FleetScreen(Listing):
    """The list of tenants."""

    PLACE = FLEET
    BINDINGS = bindings_of(FLEET)
    DEFAULT_CSS = """
    FleetScreen {
        #chips { height: 1; text-wrap: nowrap; text-overflow: ellipsis; }
        #typing { height: 2; display: none; }
        #typing.-open { display: block; }
        #typing FilterField { height: 1; border: none; padding: 0 1; background: $panel; color: $text; }
        #fault { height: 1; padding: 0 1; text-wrap: nowrap; text-overflow: ellipsis; color: $text-muted; }
        #fleet { height: 1fr; layout: vertical; }
        #tenants { height: 1fr; }
        #closer { height: 30%; min-height: 4; border-top: solid $border-blurred; padding: 0 1; scrollbar-size-vertical: 1; }
    }
    FleetScreen.-wide {
        #fleet { layout: horizontal; }
        #tenants { width: 1fr; height: 1fr; }
        #closer { width: 56; height: 1fr; border-top: none; border-left: solid $border-blurred; }
    }
    """

    def __init__(self) -> None:
        super().__init__()
        self.fleet = Fleet(NOTHING)
        self.lines = FleetLines(self.fleet)
        self.words = ""
        self.wanted = Query()
        self._order = ORDERS[0]
        self._sorted: list[int] = []
        """The rows, in order."""
        self._coming: list[int] = []
        """Rows that fit and are not drawn yet."""
        self._before = ""
        self._drawn: object = None
        self._rest: Timer | None = None
        self._opened: str | None = None
        self.reading = FleetReading(self)

    def body(self) -> ComposeResult:
        """Filter, list, the closer look."""
        yield FilterLine(id="chips")
        with Container(id="typing"):
            yield FilterField(id="filter")
            yield Words(id="fault")
        with Container(id="fleet"):
            yield VirtualTable(self.lines, id="tenants")
            with VerticalScroll(id="closer", can_focus=False):
                yield Words(id="look")

    def on_mount(self) -> None:
        """Begin to read, once the frame stands."""
        self.table.focus()
        self.set_interval(DRAWN_S, self.draw_news)
        self.call_after_refresh(self.reading.begin)

    # What is read.

    def take_fleet(self, fleet: Fleet) -> None:
        """Show another fleet; cursor and marks stay with their tenants."""
        before, marked = self.fleet, self.lines.marked
        row = self.table.row
        self.fleet = fleet
        self.lines = FleetLines(fleet)
        for one in marked:
            self.lines.marked.update(fleet.rows_of(before.names[one]))
        self._sorted = list(range(len(fleet)))
        self.wanted = read_query(self.words, fleet.catalogue)
        self.table.lines = self.lines
        self.table.lay_out()
        keep = next(fleet.rows_of(before.names[row]), None) if row is not None else None
        self.refilter(keep=keep)

    def take_more(self, before: int) -> None:
        """Take the rows that came after the first so many; they are drawn with the next news."""
        more = range(before, len(self.fleet))
        self._sorted += more
        self._coming += self.wanted.rows(self.fleet, more)
        if len(self.table.view) < self.table.height:
            self._show_more()

    def _show_more(self) -> None:
        if self._coming:
            self.table.show([*self.table.view, *self._coming])
            self._coming = []

    def sort_rows(self) -> None:
        """Bring the rows into order, where nothing is drawn."""
        fleet, order = self.fleet, self._order
        rows = range(len(fleet))

        def take(found: list[int]) -> None:
            if fleet is self.fleet:
                self._sorted = [*found, *range(len(rows), len(fleet))]
                self.refilter(keep=self.table.row)

        self.ask("order", lambda: in_order(fleet, order, by_name(fleet, rows)), take)

    def take_news(self, *, in_order: bool = True) -> None:
        """Bring the rows into order again where what came decides it, and look again at the one under the cursor.

        Args:
            in_order: Whether the rows are in order by their names.
        """
        if not in_order or self._order is not ORDERS[0]:
            self.sort_rows()
        if self.is_current:
            self.look()

    def draw_news(self) -> None:
        """Draw what has become known since this was called last."""
        news = (id(self.fleet), self.fleet.revision, self.reading.words)
        if news == self._drawn or not self.is_current:
            return
        self._drawn = news
        self._show_more()
        if self.wanted.terms:
            self.refilter(keep=self.table.row)
        else:
            self.table.redraw()
            self._show_chips()
        self.refresh_frame()

    # The filter.

    def take_filter(self, text: str) -> None:
        """Show what a filter leaves."""
        self.words = text
        self.wanted = read_query(text, self.fleet.catalogue)
        self.refilter(keep=self.table.row)

    def refilter(self, *, keep: int | None = None) -> None:
        """Ask the columns again."""
        self._coming = []
        # A list of its own: rows that come are added to both.
        self.table.show([*self.wanted.rows(self.fleet, self._sorted)], keep=keep)
        self._show_chips()

    def _show_chips(self) -> None:
        total = len(self.fleet)
        if self.words:
            shown = f"{len(self.table.view):,} of {total:,}"
            rest: list[Part] = [(shown, "strong")]
        else:
            rest = self._tally(total)
        if self._order is not ORDERS[0]:
            rest.append((f"   by {self._order.word}", "muted"))
        marked = len(self.lines.marked)
        if marked:
            rest.append((f"   * {marked:,} marked", "strong"))
        self.query_one(FilterLine).show(words_of(self.words), rest)

    def _tally(self, total: int) -> list[Part]:
        if self.reading.trouble:
            return [(self.reading.trouble, "error")]
        if not total:
            return [(self._why_none(), "muted")]
        parts: list[Part] = [(count(total, "tenant"), "strong")]
        for state, number in self.fleet.tally().items():
            if number and state is not State.WAITING:
                parts += ["   ", (f"{number:,} {state}", ROLES[state])]
        return parts

    def _why_none(self) -> str:
        reading = self.reading
        if reading.is_paused or not reading.is_done:
            return reading.words or "no tenant"
        none = f"no tenant in {self.workplace.where.path}"
        return f"{none}, and none on the engine" if reading.knows_live else none

    def on_input_changed(self, event: FilterField.Changed) -> None:
        """Filter with every key."""
        if isinstance(event.input, FilterField) and event.input.has_focus:
            self.take_filter(event.value)
            self._show_fault()

    def _show_fault(self) -> None:
        faults = self.wanted.faults
        said = line((faults[0].message, "error")) if faults else line((_HELP, "muted"))
        self.query_one("#fault", Words).update(said, layout=False)

    def on_input_submitted(self) -> None:
        """Keep the filter."""
        self._close_filter()

    def on_filter_field_left(self) -> None:
        """Take the filter from before."""
        self.take_filter(self._before)
        self._close_filter()

    def _close_filter(self) -> None:
        # What cannot be understood filters nothing: it does not stay as a chip either.
        for fault in self.wanted.faults:
            self.words = without(self.words, fault.word)
        self.take_filter(self.words)
        self.query_one("#typing").remove_class("-open")
        self.table.focus()
        self.refresh_frame()

    def on_filter_line_dropped(self, event: FilterLine.Dropped) -> None:
        """Take a word away."""
        self.take_filter(without(self.words, event.word))
        self.refresh_frame()

    # The closer look.

    def on_virtual_table_moved(self) -> None:
        """Follow the cursor; look more closely where it rests."""
        self.show_look()
        if self._rest:
            self._rest.stop()
        self._rest = self.set_timer(REST_S, self.look)

    def look(self) -> None:
        """Look more closely at the row under the cursor."""
        row, fleet = self.table.row, self.fleet
        if row is None or not self.reading.can_look:
            return

        def take(closer: Closer) -> None:
            if row == self.table.row and fleet is self.fleet:
                self.show_look(closer)

        self.ask("closer", lambda: self.reading.look(row), take)

    def show_look(self, closer: Closer | None = None) -> None:
        """Show what is known of the row under the cursor, and what a closer look found."""
        row, words = self.table.row, self.query_one("#look", Words)
        if row is None:
            words.update(line(("no tenant fits; Esc drops the last word of the filter", "muted")))
            return
        head = head_words(self.fleet, row)
        words.update(lines(head, closer_words(closer, self.workplace.now())) if closer else head)

    # What can be done.

    def refusal(self, action: Action) -> str | None:
        """See `Place.refusal`."""
        if action.id == "unfilter" and not self.words:
            return "no filter is set; / sets one"
        if action.id == "unmark" and not self.lines.marked:
            return "nothing is marked; Space marks"
        if action.id in {"open", "mark"} and not self.table.view:
            return "no tenant is shown"
        return super().refusal(action)

    async def action_open(self, tenant: str = "") -> None:
        """Open a tenant by its name, or that of the line.

        Raises:
            RefusedError: If the line is a file that gives no tenant.
        """
        row = self.table.row
        if tenant:
            self.knobctl.action_tenant(tenant)
        elif row is not None:
            if not self.fleet.may_be_opened(row):
                rule = next(iter(self.fleet.rules_of(row)), "it cannot be read")
                raise RefusedError(
                    f"{self.fleet.sources[row]} gives no tenant: {rule}",
                    hint=f"see what is wrong: knobctl validate {self.fleet.sources[row]}",
                )
            from knobctl.tui.screens.tenant import TenantScreen  # what explains values loads slowly

            await self.app.push_screen(TenantScreen(self.fleet.names[row]))

    def action_lab(self, tenant: str = "") -> None:
        """Move the floor of a tenant: the named one, or that of the line."""
        row = self.table.row
        here = self.fleet.names[row] if row is not None and self.fleet.may_be_opened(row) else ""
        super().action_lab(tenant or here)

    async def on_virtual_table_opened(self) -> None:
        """Open what was clicked twice."""
        await self.knobctl.action_perform("open")

    def action_filter(self, text: str = "") -> None:
        """Type a filter, or take one."""
        if text:
            self.take_filter(text)
            self._close_filter()
            return
        self._before = self.words
        field = self.query_one(FilterField)
        field.value = self.words + " " * bool(self.words)
        field.cursor_position = len(field.value)
        self.query_one("#typing").add_class("-open")
        self._show_fault()
        field.focus()

    def action_unfilter(self) -> None:
        """Take the last word of the filter away."""
        words = words_of(self.words)
        self.take_filter(" ".join(words[:-1]))

    def action_mark(self) -> None:
        """Mark the row under the cursor, or take its mark away; go one down."""
        row = self.table.row
        if row is not None:
            self.lines.marked ^= {row}
            self.table.redraw()
            self._show_chips()
            self.table.move(self.table.place + 1)

    def action_unmark(self) -> None:
        """Take all marks away."""
        self.lines.marked.clear()
        self.table.redraw()
        self._show_chips()

    def action_sort(self, word: str = "") -> None:
        """Take another order.

        Raises:
            UsageError: If there is none of this name.
        """
        if word and word not in {one.word for one in ORDERS}:
            known = ", ".join(one.word for one in ORDERS)
            raise UsageError(f"there is no order {word}; there are {known}")
        following = ORDERS[(ORDERS.index(self._order) + 1) % len(ORDERS)]
        self._order = next((one for one in ORDERS if one.word == word), following)
        self.sort_rows()
        self._show_chips()

    def action_refresh(self) -> None:
        """Read everything anew."""
        self.reading.refresh()

    def action_pause(self) -> None:
        """Stop the work in the background, or let it go on."""
        self.reading.pause()
        self.draw_news()

    def action_copy(self) -> None:
        """Send the tenant's name to the clipboard."""
        if self.table.row is not None:
            self.knobctl.hand_out(self.fleet.names[self.table.row])

    def stop(self) -> str:
        """See `Place.stop`."""
        if not self.reading.is_busy:
            return ""
        self.action_pause()
        return "stopped reading; p goes on"

    # What is said around.

    def on_screen_suspend(self) -> None:
        """Remember whom somebody opens, by a line or by its name."""
        screen = self.app.screen
        if isinstance(screen, Place) and screen.PLACE == TENANT:
            self._opened = screen.tenant

    def moved(self, push: Push) -> None:
        """Look again at a tenant that was pushed meanwhile."""
        if push.is_over:
            self.reading.reread(push.tenant)

    def on_screen_resume(self) -> None:
        """Show what has changed meanwhile: the tenant that was opened may have been written."""
        super().on_screen_resume()
        opened, self._opened = self._opened, None
        if opened:
            self.reading.reread(opened)
            self.look()

    def notes(self) -> Iterable[str]:
        """See `Place.notes`."""
        yield self.reading.words

    def next_step(self) -> str:
        """See `Place.next_step`."""
        if self.words:
            return "Enter opens the tenant under the cursor; Esc drops the last word of the filter."
        return "/ finds a tenant by a part of its name; state:drift shows what differs from live."

    def offers(self, kind: str, typed: str) -> Iterable[str] | None:
        """See `Place.offers`."""
        if kind == "order":
            return (one.word for one in ORDERS if one.word.startswith(typed))
        if kind == "filter":
            known = [*(f"{name}:" for name in FIELDS), *self.fleet.catalogue.by_name]
            last = typed.rpartition(" ")
            return (f"{last[0]}{last[1]}{one}" for one in known if one.startswith(last[2]))
        return None

    def twin(self) -> str:
        """See `Place.twin`."""
        return twin_of(
            self.fleet,
            sorted(self.lines.marked),
            words_of(self.words),
            self.table.view,
            path=self.workplace.where.path,
            typed=self.workplace.where.typed,
        )
