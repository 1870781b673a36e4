"""One tenant's push as the terminal UI makes it: judged anew, in the journal before it is sent, resumed by the command line."""

from __future__ import annotations

import os
import signal
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes import run_folder
from knobctl.changes.news import Begun, News, Step
from knobctl.changes.outcomes import Outcome
from knobctl.changes.tenant_proposal import Acknowledged, Wanted
from knobctl.changes.witness import Agreement
from knobctl.cli.options import Settings
from knobctl.cli.session import Session
from knobctl.cli.workplace import SessionWorkplace
from knobctl.errors import ConflictError, ExitCode, RefusedError
from tests.cli.inside import ENGINE
from tests.cli.killing import dying_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.changes.tenant_proposal import TenantProposal
    from tests.cli.inside import Inside

FILE = "tenant: acme\nknobs:\n  mmr_lambda: 0.7   # measured\n"
WANTED = {"mmr_lambda": 0.6}


@contextmanager
def workplace(**options: Any) -> Iterator[SessionWorkplace]:
    """The surroundings of a session of the terminal UI."""
    settings = Settings(command="tui", engine=ENGINE[1], **options)
    with Session(settings, clock=lambda: datetime.now(UTC)) as session:
        yield SessionWorkplace(session, ".", read_only=False)


def proposed(place: SessionWorkplace, **other: Any) -> TenantProposal:
    """What a push of acme would do."""
    wanted = {
        "subject": place.subject("acme"),
        "live": place.read("acme"),
        "read_at": place.now(),
        "desired": WANTED,
        "literals": {"mmr_lambda": "0.60"},
        "with_file": True,
        "reason": "because",
        **other,
    }
    return place.propose(Wanted(**wanted))


@pytest.fixture
def acme(inside: Inside) -> Inside:
    """A repository with acme, of whom the engine holds another set."""
    inside.write("knobctl.toml", "")
    inside.write("acme.yaml", FILE)
    inside.hold(rrf_k=50, mmr_lambda=0.5)
    return inside


def test_a_push_is_what_a_command_does(acme: Inside) -> None:
    """Journal, write, read back, file, audit event; each step is told, and nothing is printed."""
    heard: list[object] = []
    with workplace() as place:
        found = proposed(place)
        said = Acknowledged(rules=("reset rrf_k",))
        carried = place.carry_out(found, said, heard.append)
        witness = place.event_of(found, carried.done.outcomes[0])
    assert carried.done.code is ExitCode.OK
    assert [one.outcome for one in carried.done.outcomes] == [Outcome.APPLIED]
    assert witness.agreement is Agreement.SAME
    assert acme.live() == WANTED
    assert acme.read("acme.yaml") == FILE.replace("0.7 ", "0.60 ")
    begun, *news = heard
    assert isinstance(begun, Begun)
    steps = [one.step for one in news if isinstance(one, News)]
    assert steps == [Step.NOTED, Step.SENT, Step.ANSWERED, Step.READ_BACK]
    (run,) = [
        one for one in acme("runs", "--format", "json").json["runs"] if one["run"] == begun.run
    ]
    assert (run["command"], run["state"]) == ("tui", "finished")
    assert acme.events()[-1]["reason"] == "because [acknowledged: reset rrf_k]"
    assert acme.capsys.readouterr().out == ""


def test_guards_judge_again_at_the_moment_of_the_push(acme: Inside) -> None:
    """A limit that nobody acknowledged stops it, although the plan was shown."""
    acme.write("fleet.yaml", "fleet: default\nprotected: [acme]\n")
    with workplace(fleet="default") as place:
        found = proposed(place)
        assert [one.allowance for one in found.refusals] == ["protected=acme"]
        with pytest.raises(RefusedError, match="protected"):
            place.carry_out(found, Acknowledged(), lambda _: None)
        said = Acknowledged(allowances=("protected=acme",))
        assert place.carry_out(found, said, lambda _: None).done.code is ExitCode.OK
    assert acme.events()[-1]["reason"] == "because [allowed: protected=acme]"


def test_a_missing_reason_stops_a_push_that_demands_one(acme: Inside) -> None:
    """No allowance lifts it."""
    acme.write("fleet.yaml", "fleet: default\nreason_required: true\n")
    with workplace(fleet="default") as place:
        found = proposed(place, reason="")
        assert [(one.guard, one.allowance) for one in found.refusals] == [("reason", None)]
        with pytest.raises(RefusedError):
            place.carry_out(found, Acknowledged(rules=("reset rrf_k",)), lambda _: None)


def test_a_file_that_moved_stops_it_before_anything_is_sent(acme: Inside) -> None:
    """There is no run, and the engine holds what it held."""
    runs = acme("runs", "--format", "json").json["runs"]
    with workplace() as place:
        found = proposed(place)
        acme.write("acme.yaml", FILE + "# mine\n")
        with pytest.raises(ConflictError, match="changed meanwhile"):
            place.carry_out(found, Acknowledged(), lambda _: None)
    assert acme("runs", "--format", "json").json["runs"] == runs
    assert acme.live() == {"rrf_k": 50, "mmr_lambda": 0.5}


def test_a_session_that_is_told_to_stop_sends_nothing_more(acme: Inside) -> None:
    """What was not begun is left, and can be resumed."""
    with workplace() as place:
        found = proposed(place)
        place.stop_pushes()
        carried = place.carry_out(found, Acknowledged(), lambda _: None)
    assert [one.outcome for one in carried.done.outcomes] == [Outcome.SKIPPED]
    assert acme.live() == {"rrf_k": 50, "mmr_lambda": 0.5}
    done = acme("apply", "--resume", str(carried.done.run), "--yes", *ENGINE)
    assert done.code == 0, done.err
    assert acme.live() == WANTED


@pytest.mark.parametrize("noted", [False, True], ids=["in place of it", "after it"])
@pytest.mark.parametrize("record", range(1, 6))
def test_killed_at_each_record_of_the_journal(acme: Inside, record: int, noted: bool) -> None:
    """A run that has a plan is finished by `--resume`; the engine is written once."""
    before = acme("runs", "--format", "json").json["runs"]
    child = os.fork()
    if child == 0:
        try:
            pytest.MonkeyPatch().setattr(run_folder, "Journal", dying_at(record, noted=noted))
            with workplace() as place:
                place.carry_out(proposed(place), Acknowledged(), lambda _: None)
        finally:
            os._exit(0)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert code == -signal.SIGKILL or record == 5
    left = [
        one
        for one in acme("runs", "--format", "json").json["runs"]
        if one not in before and one["left"]
    ]
    for run in left:
        done = acme("apply", "--resume", run["run"], "--yes", *ENGINE)
        assert done.code == 0, done.err
    if left or acme.live() == WANTED:
        assert acme.live() == WANTED
        assert len(acme.events()) == 2
    else:
        assert acme.live() == {"rrf_k": 50, "mmr_lambda": 0.5}
        assert len(acme.events()) == 1
