"""`knobctl bench harvest`: a private file of questions, numbers for people."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.cli.inside import Inside
from tests.cli.outputs import faults_of
from tests.evidence.harvest.transcripts import write_session
from tests.running import Knobctl

ASKED = "Why does the nightly export skip the archived folders?"


@pytest.fixture
def sessions(inside: Inside) -> Path:
    """A folder of one transcript, beside the working folder."""
    folder = inside.folder.with_name("sessions")
    folder.mkdir()
    (folder / "one.jsonl").write_text(_prompt(ASKED) + "not json\n")
    return folder


def _prompt(text: str, **more: object) -> str:
    record = {"type": "user", "message": {"role": "user", "content": text}, **more}
    return json.dumps(record) + "\n"


def questions_of(path: Path) -> list[str]:
    """What stands in a set."""
    return [json.loads(line)["question"] for line in path.read_text().splitlines()]


def test_a_set_is_written_for_its_owner_alone(inside: Inside, sessions: Path) -> None:
    """Mode 0600, in a folder that is made, and no question on either stream."""
    out = inside.folder.with_name("private") / "set.jsonl"
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", out)
    assert done.code == 0, done.err
    assert questions_of(out) == [ASKED]
    assert out.stat().st_mode & 0o777 == 0o600
    assert "nightly" not in done.out + done.err
    assert "1 question in the set: 1 user_prompt" in done.out
    assert "passed over: 1 no JSON" not in done.out  # a line without "user" is not even parsed


def test_the_answer_as_json_fits_its_schema(inside: Inside, sessions: Path) -> None:
    """Numbers by source, by kind and by why; never a question."""
    out = inside.folder / "set.jsonl"
    done = inside(
        "bench", "harvest", "--from", f"claude={sessions}", "--output", out, "--format", "json"
    )
    assert faults_of(done.json, "output-bench-harvest.v1.schema.json") == []
    assert done.json["by_source"] == {"user_prompt": 1}
    assert "nightly" not in done.out


def test_another_harvest_adds_to_the_set_and_reads_only_what_is_new(
    inside: Inside, sessions: Path
) -> None:
    """Agents delete old transcripts; what was harvested stays, and what nobody touched is not read again."""
    out = inside.folder / "set.jsonl"
    call = ("bench", "harvest", "--from", f"claude={sessions}", "--output", out, "--format", "json")
    inside(*call)
    (sessions / "two.jsonl").write_text(_prompt("Which host runs the compaction job?"))
    second = inside(*call).json
    assert (second["files"], second["files_unchanged"], second["questions"]) == (1, 1, 2)
    for file in sessions.iterdir():
        file.unlink()
    assert inside(*call).json["questions"] == 2


def test_a_set_that_was_deleted_is_gathered_again(inside: Inside, sessions: Path) -> None:
    """What was read before counts for the set that it went into."""
    out = inside.folder / "set.jsonl"
    call = ("bench", "harvest", "--from", f"claude={sessions}", "--output", out)
    inside(*call)
    out.unlink()
    inside(*call)
    assert questions_of(out) == [ASKED]


def test_since_and_project_leave_out_the_others(inside: Inside, sessions: Path) -> None:
    """By the time in the record, and by the path of the file."""
    (sessions / "two.jsonl").write_text(
        _prompt("Which of them is the old question?", timestamp="2020-01-01T00:00:00Z")
        + _prompt("Which of them is the new question?", timestamp="2026-09-20T00:00:00Z")
    )
    out = inside.folder / "set.jsonl"
    place = ("bench", "harvest", "--from", f"claude={sessions}", "--output", out)
    inside(*place, "--since", "2026-09-01", "--project", "two")
    assert questions_of(out) == ["Which of them is the new question?"]


def test_lists_are_read_as_they_stand(inside: Inside) -> None:
    """A text a line, JSON Lines and CSV, without the bounds of prompts."""
    folder = inside.folder
    (folder / "a.txt").write_text("floor?\n\nWhat is it\n")
    (folder / "b.jsonl").write_text('{"query": "who"}\n{"other": 1}\n')
    (folder / "c.csv").write_text('question,source\n"why, then",cli_query\n')
    out = folder / "set.jsonl"
    done = inside(
        "bench", "harvest", "--output", out, "--format", "json",
        "--from", "lines=a.txt", "--from", "jsonl=b.jsonl", "--from", "csv=c.csv",
    )  # fmt: skip
    assert done.json["by_source"] == {"cli_query": 1, "question_list": 3}
    assert done.json["skipped"] == {"no question in the row": 1}
    assert sorted(questions_of(out)) == ["What is it", "floor?", "who", "why, then"]


def test_an_engines_own_log_says_what_was_refused(inside: Inside) -> None:
    """The question was put to the engine itself, and its outcome is known."""
    (inside.folder / "log.jsonl").write_text(
        '{"time": "2026-09-20T10:00:00Z", "query": "who?", "outcome": "below_threshold"}\n'
        '{"task": "what?", "retrievalOutcome": "ok"}\n{"query": "why?"}\n'
    )
    out = inside.folder / "set.jsonl"
    done = inside(
        "bench", "harvest", "--from", "log=log.jsonl", "--output", out, "--format", "json"
    )
    assert done.json["by_source"] == {"engine_log": 3}
    assert (done.json["explicit_answered"], done.json["explicit_refused"]) == (2, 1)


def _work_tree(folder: Path) -> Path:
    subprocess.run(["git", "init", "-q", folder], check=True)
    return folder


@pytest.mark.parametrize(
    ("layout", "refused"),
    [
        ("top", True),
        ("below", True),
        ("outside", False),
        ("linked", True),
        ("link to inside", True),
        ("link to outside", False),
        ("inside .git", True),
        ("target is a link", True),
    ],
)
def test_a_git_work_tree_is_no_place_for_questions(
    inside: Inside, sessions: Path, layout: str, refused: bool
) -> None:
    """Nothing is written there unless somebody says so; links are followed first."""
    tree = _work_tree(inside.folder.with_name("tree"))
    outside = inside.folder.with_name("outside")
    outside.mkdir()
    (tree / "out").symlink_to(outside)
    (outside / "in").symlink_to(tree)
    (outside / "file.jsonl").symlink_to(tree / "file.jsonl")
    linked = inside.folder.with_name("linked")
    linked.mkdir()
    (linked / ".git").write_text(f"gitdir: {tree}/.git/worktrees/linked\n")
    path = {
        "top": tree / "s.jsonl",
        "below": tree / "a" / "b" / "s.jsonl",
        "outside": outside / "s.jsonl",
        "linked": linked / "s.jsonl",
        "link to inside": outside / "in" / "s.jsonl",
        "link to outside": tree / "out" / "s.jsonl",
        "inside .git": tree / ".git" / "s.jsonl",
        "target is a link": outside / "file.jsonl",
    }[layout]
    call = ("bench", "harvest", "--from", f"claude={sessions}", "--output", path)
    done = inside(*call)
    assert done.code == (6 if refused else 0), done.err
    assert path.exists() != refused
    if refused:
        assert "--allow-in-repo" in done.err
        assert inside(*call, "--allow-in-repo").code == 0
        assert path.exists()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("mcp_servers = 'x'", "did you mean mcp_server?"),
        ("min_words = 0", "min_words"),
        ("min_question_chars = 400", "above max_question_chars"),
        ("cli_program = 7", "cli_program"),
    ],
)
def test_a_wrong_setting_is_named(
    inside: Inside, sessions: Path, settings: str, words: str
) -> None:
    """Nothing is harvested by rules that nobody meant."""
    (inside.folder / "knobctl.toml").write_text(f"[benchmark_relevance_floor]\n{settings}\n")
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", "s.jsonl")
    assert done.code == 4, done.err
    assert words in done.err
    assert not (inside.folder / "s.jsonl").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--from", "claud=x"), "formats are claude"),
        (("--from", "lines=nowhere.txt"), "nothing at this place"),
        (("--since", "yesterday"), "such as 2026-09-20"),
        ((), "no transcripts are at"),
    ],
)
def test_a_wrong_argument_is_named(
    inside: Inside, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], words: str
) -> None:
    """What is, and what must be."""
    monkeypatch.setenv("HOME", str(inside.folder))
    done = inside("bench", "harvest", *arguments)
    assert done.code == 2
    assert words in done.err


def test_a_broken_set_is_not_added_to(inside: Inside, sessions: Path) -> None:
    """A line that is none of ours is an error, and the file stays as it is."""
    out = inside.folder / "set.jsonl"
    out.write_text('{"question": "a"}\n')
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", out)
    assert done.code == 4
    assert "set.jsonl:1: source is None" in done.err
    assert out.read_text() == '{"question": "a"}\n'


def test_a_file_that_cannot_be_read_is_told_and_passed_over(inside: Inside, sessions: Path) -> None:
    """One bad file ends no run."""
    (sessions / "gone.jsonl").symlink_to(sessions / "nowhere.jsonl")
    (sessions / "pipe.jsonl").write_bytes(b"\xff\xfe" * 100 + b"\n")
    out = inside.folder / "set.jsonl"
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", out)
    assert done.code == 0, done.err
    assert questions_of(out) == [ASKED]


@pytest.mark.parametrize(
    "megabytes", [200, pytest.param(2_000, marks=pytest.mark.slow)], ids=lambda size: f"{size} MB"
)
def test_memory_does_not_grow_with_the_transcripts(tmp_path: Path, megabytes: int) -> None:
    """One file of so many bytes, 95 % of them results of tools, one line of 40 MB: under 100 MB."""
    session, out = tmp_path / "s.jsonl", tmp_path / "set.jsonl"
    asked = write_session(session, megabytes << 20, long_line=40 << 20)
    # VmHWM is of this program alone; what getrusage tells began in the process that started it.
    command = (
        "import atexit, pathlib; from knobctl.cli.main import main;"
        "atexit.register(lambda: print(pathlib.Path('/proc/self/status').read_text()));"
        "main()"
    )
    words = ["bench", "harvest", "--from", f"claude={session}", "--output", str(out), "-q"]
    kept = {**os.environ, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    told = subprocess.run(
        [sys.executable, "-c", command, *words],
        env=kept,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    peak_kib = int(told.partition("VmHWM:")[2].split()[0])
    assert peak_kib < 100_000_000 // 1024, f"{peak_kib >> 10} MiB"
    assert len(questions_of(out)) == asked
    session.unlink()


def test_a_link_is_no_way_into_a_work_tree(
    inside: Inside, sessions: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A link is replaced where it lies, and a tilde that no shell expanded names the home, not a folder."""
    subprocess.run(["git", "init", "-q"], cwd=inside.folder, check=True)
    outside = inside.folder.with_name("outside.jsonl")
    (inside.folder / "link.jsonl").symlink_to(outside)
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", "link.jsonl")
    assert done.code == 6
    assert (inside.folder / "link.jsonl").is_symlink()
    home = inside.folder.with_name("home of anna")
    monkeypatch.setenv("HOME", str(home))
    done = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", "~/set.jsonl")
    assert done.code == 0, done.err
    assert questions_of(home / "set.jsonl") == [ASKED]
    assert not (inside.folder / "~").exists()


@pytest.mark.parametrize("place", ["/dev/null", "pipe"])
def test_what_is_neither_file_nor_folder_is_no_place(
    inside: Inside, sessions: Path, place: str
) -> None:
    """A set that is empty for that reason would look like one of nobody's questions."""
    os.mkfifo(inside.folder / "pipe")
    read = inside("bench", "harvest", "--from", f"lines={place}", "--output", "set.jsonl")
    assert (read.code, "neither a file nor a folder" in read.err) == (2, True)
    written = inside("bench", "harvest", "--from", f"claude={sessions}", "--output", place)
    assert (written.code, "is no file" in written.err) == (2, True)


HOSTILE = [
    {"type": ["user"], "message": {"content": []}},
    {"type": {"a": "user"}, "payload": {"type": ["user"], "role": "user"}},
    {"type": "response_item", "payload": {"type": "function_call", "name": ["shell"], "arguments": 5, "user": 1}},
    {"type": "user", "message": {"content": [5, None, {"type": "text", "text": 7}, {"type": "text"}]}},
    {"type": "user", "timestamp": 9e99, "message": {"content": 5}},
    {"type": "user", "timestamp": "0001-01-01T00:00:00+23:59", "message": {"content": ASKED}},
    {"type": "assistant", "message": {"content": [
        {"type": "tool_use", "id": "\ud800", "name": "mcp__notes__query", "input": {"question": "What \ud800 is it?"}},
        {"type": "tool_use", "id": {}, "name": ["mcp__notes__query"], "input": {"question": "no"}},
        {"type": "tool_use", "name": "Bash", "input": {"command": {"a": "notes query"}}},
    ]}},
    {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "\ud800", "content": "ok"}]}},
]  # fmt: skip


@pytest.mark.parametrize(
    "kind", ["claude", "codex", "gemini", "aider", "lines", "jsonl", "csv", "log"]
)
def test_no_line_ends_a_run(inside: Inside, kind: str) -> None:
    """Other types than expected, half characters, binary, loops of links, names of several lines."""
    folder = inside.folder.with_name("odd")
    folder.mkdir()
    lines = "".join(f"{json.dumps(one)}\n" for one in HOSTILE)
    raw = b"\0" * 99 + os.urandom(9_000) + b"\n" + lines.encode() + b'["user"' * 3_000 + b"\n{"
    for name in ("rollout-\n.jsonl", "session-.json", ".aider.chat.history.md", "q.txt", "q.csv"):
        (folder / name).write_bytes(raw)
    (folder / "rollout-far.jsonl").write_text(_prompt(ASKED))
    os.utime(folder / "rollout-far.jsonl", (1 << 40, 1 << 40))
    (folder / "loop").symlink_to(folder)
    (folder / "rollout-self.jsonl").symlink_to("rollout-self.jsonl")
    os.mkfifo(folder / "rollout-pipe.jsonl")
    done = inside(
        "bench",
        "harvest",
        "--from",
        f"{kind}={folder}",
        "--output",
        "set.jsonl",
        "--since",
        "2020-01-01",
    )
    assert done.code == 0, done.err


def test_two_harvests_into_one_set_lose_nothing_of_each_other(knobctl: Knobctl) -> None:
    """Each waits for the other, reads what that wrote, and adds to it."""
    out = knobctl.folder / "set.jsonl"

    def gather(number: int) -> int:
        texts = (f"What is it of {number} and of {n} then?\n" for n in range(300))
        list_ = knobctl.write(f"{number}.txt", "".join(texts))
        return knobctl("bench", "harvest", "--from", f"lines={list_}", "--output", out).code

    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(gather, range(4))] == [0] * 4
    assert len(questions_of(out)) == 1_200
