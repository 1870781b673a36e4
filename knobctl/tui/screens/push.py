"""Push and audit: the steps of one push as they are taken, and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import VerticalScroll

from knobctl.tui import push_view
from knobctl.tui.actions import PUSHING, bindings_of
from knobctl.tui.screens.place import Place
from knobctl.tui.ui import Words, line, lines

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from textual.app import ComposeResult

    from knobctl.tui.actions import Action
    from knobctl.tui.draft import Draft
    from knobctl.tui.pushes import Push


class PushScreen(Place):
    """One push. Leaving the screen does not stop it."""

    PLACE = PUSHING
    BINDINGS = bindings_of(PUSHING)

    def __init__(self, push: Push, changed: Callable[[Draft], object] | None = None) -> None:
        """Look at a push.

        Args:
            push: It, begun already.
            changed: Hears of another draft, where the plan is made again and a value kept.
        """
        super().__init__()
        self.push = push
        self.tenant = push.tenant
        self._changed = changed

    def body(self) -> ComposeResult:
        """The steps; below them what was heard, the audit event, what became of it."""
        yield Words(id="about")
        yield Words(id="steps")
        with VerticalScroll(id="heard"):
            yield Words(id="heard-text")

    def on_mount(self) -> None:
        """Show how far it is."""
        if not self.stands:
            return
        self.query_one("#heard").focus()
        self.moved(self.push)

    def moved(self, push: Push) -> None:
        """See `Place.moved`."""
        if push is not self.push or not self.query("#steps"):
            return
        engine = push.found.proposal.plan.engine
        self.query_one("#about", Words).update(
            line(("PUSH  ", "strong"), (push.tenant, "strong"), f"  ->  {engine}")
        )
        self.query_one("#steps", Words).update(line(*push_view.steps_line(push)))
        told = [*push_view.heard_lines(push), *push_view.audit_lines(push)]
        edited = push.carried.done.edited if push.carried else ()
        told += [[f"edited {edit.name}"] for edit in edited]
        if push.is_over:
            where = self.workplace.where
            told += [[""], *push_view.verdict_lines(push, self.workplace.now(), where.typed)]
            told += [[""], [("Esc goes back", "muted")]]
        else:
            told += [[""], [("Esc leaves this screen; the push goes on", "muted")]]
        self.query_one("#heard-text", Words).update(lines(*(line(*each) for each in told)))
        self.query_one("#heard", VerticalScroll).scroll_end(animate=False)
        self.refresh_frame()

    def refusal(self, action: Action) -> str | None:
        """See `Place.refusal`."""
        if action.id == "plan_again":
            if not self.push.is_over:
                return "the push is under way"
            if self.push.is_good:
                return "it is done; there is nothing left to plan"
        return super().refusal(action)

    def next_step(self) -> str:
        """See `Place.next_step`."""
        if not self.push.is_over:
            return "Wait; or Esc, the push goes on."
        return "Esc goes back." if self.push.is_good else "Read what became of it; n plans again."

    def unfinished(self) -> Iterable[str]:
        """Pushes are told of by the app, wherever one is."""
        return ()

    def twin(self) -> str:
        """What a script does to see, or finish, the same run."""
        place, push = self.workplace.where.typed, self.push
        if push.run and push.carried and push.carried.done.can_be_resumed:
            return f"knobctl apply --resume {push.run}{place}"
        return f"knobctl runs {push.run}" if push.run else "knobctl runs"

    async def action_back(self) -> None:
        """Leave the screen."""
        await self.app.pop_screen()

    def action_plan_again(self) -> None:
        """Plan again on top of what the engine and the files hold now, with the same draft."""
        from knobctl.tui.screens.plan import PlanScreen

        self.workplace.reload()
        self.app.switch_screen(PlanScreen(self.push.draft, self._changed))
