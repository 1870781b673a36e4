"""Pushes under way: each in a thread that neither a closed screen nor a lost terminal ends halfway."""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock, Thread
from typing import TYPE_CHECKING

from textual.message import Message

from knobctl.changes.news import Begun, Halted, News, Step
from knobctl.changes.outcomes import Outcome
from knobctl.errors import KnobctlError
from knobctl.text import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from datetime import datetime

    from knobctl.changes.outcomes import TenantOutcome
    from knobctl.changes.tenant_proposal import Acknowledged, Carried, TenantProposal
    from knobctl.changes.witness import Witness
    from knobctl.tui.draft import Draft
    from knobctl.tui.workplace import Workplace


@dataclass(slots=True)
class Push:
    """One tenant's push: what was confirmed, and how far it is. Read it in any thread."""

    found: TenantProposal
    said: Acknowledged
    draft: Draft
    """What was pushed, for a new plan where it was not."""
    heard: list[tuple[datetime, News | Begun | Halted]] = field(default_factory=list)
    carried: Carried | None = None
    """What became of it; None until then."""
    witness: Witness | None = None
    """What the audit log says; None until it was asked, or where nothing was written."""
    error: KnobctlError | None = None
    """Why it was not begun, if it was not."""
    unkept: KnobctlError | None = None
    """Why the draft could not be taken away, if it could not."""
    is_over: bool = False
    is_told: bool = False
    """Whether its end was told."""

    @property
    def tenant(self) -> str:
        """Whose set."""
        return self.found.tenant.tenant

    @property
    def run(self) -> str | None:
        """The run in whose journal it stands, once that is on the disk."""
        return next((one.run for _, one in self.heard if isinstance(one, Begun)), None)

    @property
    def outcome(self) -> TenantOutcome | None:
        """What became of the write."""
        outcomes = self.carried.done.outcomes if self.carried else ()
        return next(iter(outcomes), None)

    def has(self, step: Step) -> bool:
        """Whether a step was taken."""
        return any(isinstance(one, News) and one.step is step for _, one in self.heard)

    @property
    def is_good(self) -> bool:
        """Whether all is as planned: written, read back equal, the audit event the same, the file edited."""
        held = self.outcome and self.outcome.outcome in {Outcome.APPLIED, Outcome.UNCHANGED}
        contradicted = self.witness is not None and self.witness.is_error
        return bool(held and self.carried and not (self.carried.faults or contradicted))


class Moved(Message):
    """A push took a step."""

    def __init__(self, push: Push) -> None:
        super().__init__()
        self.push = push


class Pushes:
    """All pushes of this session."""

    def __init__(self, workplace: Workplace, heard: Callable[[Moved], object]) -> None:
        """Begin with none.

        Args:
            workplace: Carries them out.
            heard: Hears of each step, in the push's own thread.
        """
        self._workplace = workplace
        self._heard = heard
        self._begun: list[tuple[Push, Thread]] = []
        self._lock = Lock()

    def begin(self, push: Push) -> None:
        """Carry one out."""
        # No daemon: whatever ends the program waits for the write in flight.
        thread = Thread(target=self._carry_out, args=(push,), name=f"push {push.tenant}")
        with self._lock:
            self._begun.append((push, thread))
        thread.start()

    @property
    def under_way(self) -> list[Push]:
        """Those that are not over."""
        with self._lock:
            return [push for push, _ in self._begun if not push.is_over]

    def of(self, tenant: str) -> Push | None:
        """The push of a tenant that is under way."""
        return next((push for push in self.under_way if push.tenant == tenant), None)

    def unfinished(self) -> Iterable[str]:
        """What is under way, for who wants to leave."""
        return [
            f"{visible(push.tenant)}: a push is under way, it will be finished"
            for push in self.under_way
        ]

    def wait(self) -> None:
        """Wait until all are over."""
        for _, thread in list(self._begun):
            thread.join()

    @property
    def all(self) -> list[Push]:
        """Those of this session, oldest first."""
        return [push for push, _ in self._begun]

    def _carry_out(self, push: Push) -> None:
        def tell(news: News | Begun | Halted) -> None:
            push.heard.append((self._workplace.now(), news))
            self._heard(Moved(push))

        try:
            push.carried = self._workplace.carry_out(push.found, push.said, tell)
            self._heard(Moved(push))
            outcome = push.outcome
            if outcome and outcome.outcome is Outcome.APPLIED:
                push.witness = self._workplace.event_of(push.found, outcome)
            if push.is_good:
                self._forget(push)
        except KnobctlError as error:
            push.error = error
        finally:
            push.is_over = True
            self._heard(Moved(push))

    def _forget(self, push: Push) -> None:
        """Take the draft away, and have the documents and the set read anew: they hold it now."""
        try:
            kept = self._workplace.draft(push.tenant)
            if kept and kept.entries == push.draft.entries:  # else it was edited meanwhile
                self._workplace.keep_draft(kept.emptied())
        except KnobctlError as error:
            push.unkept = error
        if push.carried and push.carried.done.edited:
            self._workplace.reload()
