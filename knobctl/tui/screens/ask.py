"""Ask: what a model would get for a question, under the live set and under the draft; nothing is written."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Final

from textual.containers import Container, VerticalScroll

from knobctl.engine.interface import NotOfferedError
from knobctl.engine.target import EMBEDDED
from knobctl.text import count
from knobctl.tui.actions import ASK, bindings_of
from knobctl.tui.answered import answered_both
from knobctl.tui.asked import (
    MOST_ROWS,
    chunk_lines,
    rows_of,
    score_lines,
    steps_lines,
    verdict_lines,
)
from knobctl.tui.asked_lines import ChunkLines
from knobctl.tui.screens.listing import Listing
from knobctl.tui.ui import Field, Words, error_lines, line, lines
from knobctl.tui.widgets.virtual_table import VirtualTable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult
    from textual.content import Content

    from knobctl.errors import KnobctlError
    from knobctl.tui.actions import Action
    from knobctl.tui.answered import Answered

_WIDE: Final = 140
"""From so many columns on everything is seen at once."""
VIEWS: Final = ("chunk", "steps", "scores")
"""What the pane can show where there is no room for all of it."""


class AskScreen(Listing):
    """A question, and what a model would get for it."""

    PLACE = ASK
    BINDINGS = bindings_of(ASK)
    DEFAULT_CSS = """
    AskScreen {
        #question { height: 1; border: none; padding: 0 1; background: $panel; color: $text; }
        #verdict { height: auto; max-height: 8; padding: 0 1; }
        #asked { height: 1fr; }
        #closer {
            height: auto; max-height: 50%; padding: 0 1;
            border-top: solid $border-blurred; scrollbar-size-vertical: 1;
        }
        &.-wide #asked { layout: horizontal; }
        &.-wide #chunks { width: 3fr; }
        &.-wide #closer {
            width: 2fr; height: 100%; max-height: 100%;
            border-top: none; border-left: solid $border-blurred;
        }
    }
    """

    def __init__(self, tenant: str, question: str = "") -> None:
        """Take whose question it is."""
        super().__init__()
        self.tenant = tenant
        self._first = question
        self._chunks = ChunkLines()
        self._answered: Answered | None = None
        self._asking = ""
        self._view = VIEWS[0]

    def body(self) -> ComposeResult:
        """The question, what the answers are, the chunks, and a closer look."""
        yield Field(
            self._first, id="question", placeholder="a question, as a user would ask it; Enter asks"
        )
        yield Words(id="verdict")
        with Container(id="asked"):
            yield VirtualTable(self._chunks, id="chunks")
            with VerticalScroll(id="closer"):
                yield Words(id="said")

    def on_mount(self) -> None:
        """Ask, if there is a question already."""
        if not self.stands:
            return
        self.query_one("#question", Field).focus()
        if self._first:
            self._ask(self._first)

    def on_input_submitted(self) -> None:
        """Ask what was typed."""
        question = self.query_one("#question", Field).value.strip()
        if question:
            self._ask(question)

    def _ask(self, question: str) -> None:
        workplace, tenant = self.workplace, self.tenant
        self._asking = question
        self.query_one("#verdict", Words).update(line(("asking", "muted")))
        self.refresh_frame()

        self.ask(
            "question",
            lambda: answered_both(workplace, tenant, question),
            self.show,
            failed=self._cannot,
        )

    def show(self, answered: Answered) -> None:
        """Show two answers: what differs first."""
        self._asking, self._answered = "", answered
        found, other, alike = answered.found, answered.other, answered.alike
        said = [*verdict_lines(found, other, alike=alike), *_warned(answered.remarks)]
        if len(found.pairs) > MOST_ROWS:
            said.append(
                line((f"{len(found.pairs) - MOST_ROWS:,} more chunks are not listed", "muted"))
            )
        self.query_one("#verdict", Words).update(lines(*said))
        self._chunks.take(list(rows_of(found)), other)
        self.table.lay_out()
        self.table.show(range(len(self._chunks.pairs)))
        self.table.move(0)
        self.table.focus()
        self._explain()
        self.refresh_frame()

    def _cannot(self, error: KnobctlError) -> None:
        self._asking, self._answered = "", None
        said = error_lines(error)
        if isinstance(error, NotOfferedError) and not self.workplace.where.engine.startswith(
            EMBEDDED
        ):
            said.append(line(f"what it answers now, without a draft beside it: {self.twin()}"))
        self.query_one("#verdict", Words).update(lines(*said))
        self._chunks.take((), "draft")
        self.table.show(())
        self._explain()
        self.refresh_frame()

    def on_virtual_table_moved(self) -> None:
        """Say what became of the chunk."""
        self._explain()

    def on_resize(self) -> None:
        """Show as much as there is room for."""
        super().on_resize()
        self._explain()

    def _explain(self) -> None:
        answered, row = self._answered, self.table.row
        said = self.query_one("#said", Words)
        if answered is None:
            said.update(line())
            return
        found, other, alike = answered.found, answered.other, answered.alike
        pair = None if row is None else self._chunks.pairs[row]
        chunk = chunk_lines(pair, found, other, alike=alike) if pair else []
        views: dict[str, list[Content]] = {
            "chunk": chunk or [line(("nothing was found", "muted"))],
            "steps": steps_lines(found, other, width=said.size.width or self.size.width - 2),
            "scores": score_lines(found, other, alike=alike),
        }
        if self.size.width >= _WIDE:
            said.update(lines(*views["chunk"], line(), *views["steps"], line(), *views["scores"]))
        else:
            said.update(lines(*views[self._view]))

    def action_view(self) -> None:
        """Show the next: the chunk under the cursor, what each step did, the scores."""
        self._view = VIEWS[(VIEWS.index(self._view) + 1) % len(VIEWS)]
        self._explain()
        self.query_one("#closer", VerticalScroll).scroll_home(animate=False)
        self.refresh_frame()

    def action_question(self, question: str = "") -> None:
        """Type another question, or ask the one that is given."""
        field = self.query_one("#question", Field)
        if question:
            field.value = question
            self._ask(question)
        else:
            field.focus()

    def action_again(self) -> None:
        """Ask the same once more: the draft, the engine or the corpus may have changed."""
        question = self.query_one("#question", Field).value.strip()
        if question:
            self._ask(question)

    async def action_back(self) -> None:
        """Leave the question for the list, or go back to the tenant."""
        if self.query_one("#question", Field).has_focus and self._chunks.pairs:
            self.table.focus()
        else:
            await self.app.pop_screen()

    def refusal(self, action: Action) -> str | None:
        """Without an answer there is nothing to look at."""
        if action.id == "view" and (self._answered is None or self.size.width >= _WIDE):
            return "everything is seen" if self._answered else "nothing was asked yet"
        return super().refusal(action)

    def notes(self) -> Sequence[str]:
        """Whose question, under which sets, and which view of it."""
        answered = self._answered
        if self._asking:
            return (f"ask {self.tenant}", "asking")
        if answered is None:
            return (f"ask {self.tenant}",)
        edits = f" ({count(answered.edits, 'edit')})" if answered.edits else ""
        view = "" if self.size.width >= _WIDE else f"view: {self._view}"
        sets = f"live {answered.revision} | {answered.other}{edits}"
        return tuple(filter(None, (f"ask {self.tenant}", view, sets)))

    def twin(self) -> str:
        """Both answers; the one under the live set where the sets are alike, or nothing was asked yet."""
        answered = self._answered
        question = answered.question if answered else self._asking or "QUESTION"
        words = ["knobctl", "diagnose", "--tenant", self.tenant, "--ask", question]
        for assignment in answered.proposed if answered else ():
            words += ["--with", assignment]
        return shlex.join(words) + self.workplace.where.typed

    def next_step(self) -> str:
        """What most people do next."""
        if self._answered is None:
            return "Type a question and press Enter; nothing is written, whatever is asked."
        return "Look at what is lost: the pane says which floor removed it, and by which ranks it was found."


def _warned(remarks: Sequence[str]) -> list[Content]:
    return [line((one, "warn")) for one in remarks]
