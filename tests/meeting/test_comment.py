"""The comment on a pull request: one, ours, kept up to date, and never a reason to fail."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.meeting.code_host import BOT, PERSON, TOKEN, CodeHost, code_host

SCRIPT = Path(__file__).parents[2] / "ci" / "comment.py"
MARK = "<!-- knobctl check -->\n"
QUIET = {"exit_code": 0, "summary": {"errors": 0, "warnings": 0}, "tenants": []}
LOUD = {"exit_code": 0, "summary": {"errors": 0, "warnings": 1}, "tenants": []}
CHANGING = {**QUIET, "tenants": [{"tenant": "acme", "changes": [{"field_path": "rrf_k"}]}]}

REMOVING = {**QUIET, "removed_tenants": ["acme"]}
STOPPED = {
    "version": 1,
    "command": "check",
    "outcome": "usage",
    "exit_code": 2,
    "message": "no policies",
    "hint": None,
}
"""What `check` answers where it could judge nothing."""


@pytest.fixture
def host() -> Iterator[CodeHost]:
    """A code host that keeps comments."""
    with code_host() as one:
        yield one


class Step:
    """The step that comments, on pull request 7."""

    def __init__(self, folder: Path, host: CodeHost) -> None:
        self.folder = folder
        self.environment = {
            "GITHUB_API_URL": host.url,
            "GITHUB_GRAPHQL_URL": f"{host.url}/graphql",
            "GITHUB_REPOSITORY": "search/knobs",
            "GITHUB_EVENT_PATH": str(folder / "event.json"),
            "GITHUB_TOKEN": TOKEN,
            "no_proxy": "127.0.0.1",
        }

    def __call__(self, report: str, *, name: str = "", answer: object = LOUD) -> str:
        """Run it; give what it says. It always exits 0."""
        (self.folder / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))
        (self.folder / "report.md").write_text(MARK + report)
        (self.folder / "answer.json").write_text(json.dumps(answer) if answer else "")
        done = subprocess.run(
            [sys.executable, SCRIPT, "report.md", "answer.json", name],
            cwd=self.folder, env=self.environment, capture_output=True, text=True, check=True,
        )  # fmt: skip
        assert done.stderr == ""
        return done.stdout


@pytest.fixture
def step(tmp_path: Path, host: CodeHost) -> Step:
    """The step that comments."""
    return Step(tmp_path, host)


def test_it_is_found_beyond_the_first_page(step: Step, host: CodeHost) -> None:
    """One comment after two runs, however many there are; what others wrote is not touched."""
    for number in range(70):
        host.say(f"comment {number}", PERSON)
    forged = host.say(f"{MARK}written by a person", PERSON)
    other = host.say("another bot's report", BOT)
    assert step("first") == "comment written\n"
    assert step("second") == "comment updated\n"
    assert [one["body"] for one in host.own] == [other["body"], f"{MARK}second"]
    assert (forged["body"], other["body"]) == (f"{MARK}written by a person", "another bot's report")


def test_a_person_of_the_bots_name_is_no_bot(step: Step, host: CodeHost) -> None:
    """An account that is called as the bot without its suffix is somebody else."""
    host.say(f"{MARK}forged", {"login": "github-actions", "type": "User"})
    assert step("ours") == "comment written\n"
    assert host.comments[0]["body"] == f"{MARK}forged"


def test_what_is_unchanged_is_not_written_again(step: Step, host: CodeHost) -> None:
    """The same report twice sends one comment and no edit."""
    step("same")
    step("same")
    methods = [call.split()[0] for call in host.calls if "graphql" not in call]
    assert methods == ["GET", "POST", "GET"]


def test_two_uses_have_a_comment_each(step: Step, host: CodeHost) -> None:
    """Named ones do not overwrite each other; a name ends no mark."""
    for name in ("production", "staging -->", "production"):
        step(name, name=name)
    assert [one["body"] for one in host.own] == [
        "<!-- knobctl check of production -->\nproduction",
        "<!-- knobctl check of staging---- -->\nstaging -->",
    ]


@pytest.mark.parametrize(
    ("answer", "comments"),
    [(QUIET, 0), (LOUD, 1), (CHANGING, 1), (REMOVING, 1), (STOPPED, 1), (None, 1)],
)
def test_a_first_comment_has_something_to_say(
    step: Step, host: CodeHost, answer: object, comments: int
) -> None:
    """Where nothing is found and nothing changes nobody is told; where nothing could be judged, they are."""
    step("report", answer=answer)
    assert len(host.own) == comments


@pytest.mark.parametrize(
    ("status", "said"), [(403, "::notice"), (404, "::notice"), (502, "::warning")]
)
def test_a_refusal_fails_nothing(step: Step, host: CodeHost, status: int, said: str) -> None:
    """A fork's token may not write: a note. A broken host: a warning."""
    host.refuses_with = status
    assert step("report").startswith(f"{said} title=knobctl::no comment")
    assert host.own == []


@pytest.mark.parametrize(
    ("variable", "value"), [("GITHUB_TOKEN", "wrong"), ("GITHUB_GRAPHQL_URL", "http://127.0.0.1:9")]
)
def test_a_host_that_lets_nobody_in_or_is_gone_fails_nothing(
    step: Step, host: CodeHost, variable: str, value: str
) -> None:
    """The report is in the job summary, and the words say so."""
    step.environment[variable] = value
    assert "no comment: " in step("report")
    assert host.own == []


def test_of_two_that_were_written_at_once_one_is_kept(step: Step, host: CodeHost) -> None:
    """The other would tell an old verdict for ever; what others wrote stays."""
    for body in (f"{MARK}one", f"{MARK}two", "another bot's report", f"{MARK}three"):
        host.say(body, BOT)
    assert step("now") == "comment updated\n"
    assert [one["body"] for one in host.own] == [f"{MARK}now", "another bot's report"]


def test_one_that_is_deleted_meanwhile_is_written_anew(step: Step, host: CodeHost) -> None:
    """Somebody deletes it after it was listed."""
    host.loses = host.say(f"{MARK}old", BOT)["id"]
    assert step("now") == "comment written\n"
    assert [one["body"] for one in host.own] == [f"{MARK}now"]


def test_a_host_that_hangs_up_or_takes_no_more_fails_nothing(step: Step, host: CodeHost) -> None:
    """No answer is no crash; a limit on requests is no missing permission."""
    host.hangs_up = True
    assert step("report").startswith("::warning title=knobctl::no comment")
    host.hangs_up, host.refuses_with = False, 403
    host.refusal = {"x-ratelimit-remaining": "0"}
    assert "takes no more requests for now" in step("report")


def test_a_report_that_is_too_long_is_cut(step: Step, host: CodeHost) -> None:
    """What GitHub would refuse is sent as far as it goes."""
    step("x" * 70_000)
    assert len(host.own[0]["body"]) < 65_536
