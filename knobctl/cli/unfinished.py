"""`apply -v` names the runs that were left unfinished here: it does not go on with them, and is not blocked by them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from knobctl.cli.session import Session


def tell_unfinished(session: Session) -> None:
    """Tell, where `-v` asks for it, of runs that were started in this folder and have something left."""
    if not session.settings.verbose:
        return
    from knobctl.changes.journal import Run
    from knobctl.cli.journals import runs_of
    from knobctl.cli.stopping import stop_marks
    from knobctl.report.runs import unfinished_words

    under_way, here = stop_marks(session).under_way(), str(session.cwd)
    for run in runs_of(session).all():
        if (
            isinstance(run, Run)
            and not run.is_finished
            and run.heading.folder == here
            and run.heading.run not in under_way
        ):
            session.settings.say_more(unfinished_words(run, session.now()))
