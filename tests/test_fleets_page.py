"""docs/fleets.md says what happens: its files and its sessions are played, from the edit to the rollback.

To write the sessions' output anew: python -m tests.test_fleets_page
"""

from __future__ import annotations

import re
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from tempfile import gettempprefix
from typing import TYPE_CHECKING

import pytest

from knobctl.errors import ExitCode
from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.playing import MAIN, ROOT, SESSION, Stage, commands, steady

if TYPE_CHECKING:
    pass

PAGE = ROOT / "docs" / "fleets.md"
POWER_FAILS = "<!-- the power fails -->\n"
HELD = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
RUN = "7b21e0c4"
"""How the page calls every run."""
TIERS = {
    "acme": "enterprise",
    "bolt": "enterprise",
    **dict.fromkeys(("cork", "delta", "ember", "fjord", "gale", "heath"), "standard"),
}
FLOORS = {"enterprise": 0.2, "standard": 0.25}
TEXTS = {
    "gates": "Workflow approval gates stop a run until a person approves it.",
    "approvals": "An approval may be given by any member of the reviewers.",
    "canteen": "The canteen serves soup on Mondays.",
}
DYING = (
    "import os; from knobctl.changes import run_folder; from tests.cli.killing import dying_at; "
    f"run_folder.Journal = dying_at(7, noted=True); {MAIN}"
)
"""Dies of SIGKILL at the seventh record of its journal: in the third write, after it was noted."""
COMMAND = f"""if [ -n "$POWER_FAILS" ]; then exec {sys.executable} -c '{DYING}' "$@"; fi
exec {sys.executable} -c '{MAIN}' "$@\""""


def repository(folder: Path) -> None:
    """Eight tenants, and an engine that holds what the files say and has texts."""
    (folder / "layers").mkdir()
    (folder / "tenants").mkdir()
    (folder / ".gitignore").write_text("engine.db*\nfriday.json\n.*\n")
    for tier, floor in FLOORS.items():
        (folder / "layers" / f"{tier}.yaml").write_text(
            f"layer: {tier}\nknobs:\n  retrieval_min_score: {floor}\n  gate_expanded_floor: {floor}\n"
        )
    for tenant, tier in TIERS.items():
        (folder / "tenants" / f"{tenant}.yaml").write_text(
            f"tenant: {tenant}\nlabels: {{tier: {tier}}}\nlayers: [{tier}]\nknobs: {{}}\n"
        )
    services = open_services(
        f"embedded:{folder / 'engine.db'}", load_catalogue(), clock=lambda: datetime.now(UTC)
    )
    assert services.ingest is not None
    anna = local_caller("anna")
    texts = [Text(document_id=name, text=text) for name, text in TEXTS.items()]
    for tenant, tier in TIERS.items():
        services.ingest.upsert(anna, tenant, texts)
        floors = dict.fromkeys(("retrieval_min_score", "gate_expanded_floor"), FLOORS[tier])
        services.knobs.update(anna, tenant, floors, reason="as it is")
    services.close()


def played(page: str) -> str:
    """The page with the output of its sessions as it is now, all played in one folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        repository(folder)
        stage = Stage(folder, COMMAND)
        stage.write_files(page)
        stage.environment["KNOBCTL_PARALLELISM"] = "1"
        assert (
            stage.shell("git init -q -b main && git add . && git commit -qm knobs").returncode == 0
        )

        def output(line: str, *, dies: bool) -> str:
            done = stage.shell(
                line.replace(RUN, newest(folder)), **({"POWER_FAILS": "1"} if dies else {})
            )
            return without_names(done.stdout) + ("Killed\n" if done.returncode == -9 else "")

        def play(session: re.Match[str]) -> str:
            before = page[: session.start()].removesuffix("```console\n")
            dies = before.endswith(POWER_FAILS)
            return "".join(f"$ {line}\n{output(line, dies=dies)}" for line in commands(session[1]))

        return SESSION.sub(play, page)


def newest(folder: Path) -> str:
    """The name of the last run of several tenants."""
    journals = sorted(
        (folder / ".state/knobctl/runs").glob("*"), key=lambda one: one.stat().st_mtime
    )
    long = [one.stem for one in journals if one.read_bytes().count(b'"kind": "intent"') > 1]
    return long[-1] if long else RUN


def without_names(output: str) -> str:
    """An output without what differs from run to run: names of runs, digests, times, the folder."""
    output = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+(Z|\+00:00)", "2026-11-27T16:00:00Z", output)
    output = re.sub(r"\bplan [0-9a-f]{12}\b", "plan c3885eb2ae5f", steady(output))
    output = re.sub(r"(?<=\brun )[0-9a-f]{8}\b", RUN, output)
    output = re.sub(r"(?m)^[0-9a-f]{8}(?=  (un)?finished)", RUN, output)
    output = re.sub(r"(?<=--resume )[0-9a-f]{8}\b", RUN, output)
    output = re.sub(r"(?<=--run )[0-9a-f]{8}\b", RUN, output)
    return re.sub(rf"/[\w/.-]*/{gettempprefix()}\w+", "/home/anna/knobs", output)


@pytest.fixture(scope="module")
def page() -> str:
    """The page."""
    return PAGE.read_text()


def test_the_friday_goes_as_the_page_says(page: str) -> None:
    """Each console block is the real output of its commands, played one after the other."""
    assert len(SESSION.findall(page)) >= 10
    assert played(page) == page


def test_every_exit_code_of_a_push_occurs(page: str) -> None:
    """Its table has all that a pipeline meets, and none that is not there."""
    table = page.partition("| exit | ")[2].partition("\n\n")[0]
    codes = {
        int(code)
        for row in table.splitlines()[2:]
        for code in re.findall(r"\d+", row.split("|")[1])
    }
    assert codes == {int(code) for code in ExitCode}


def test_what_it_says_is_held_by_tests_that_are_there(page: str) -> None:
    """Each test that its last table names exists."""
    named = HELD.findall(page)
    assert len(named) >= 12
    assert [one for one in named if f"def {one[1]}(" not in (ROOT / one[0]).read_text()] == []


if __name__ == "__main__":
    PAGE.write_text(played(PAGE.read_text()))
