"""`check` remembers its answers, and that changes none of them."""

from __future__ import annotations

import os
import stat
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.cli.answer_folder import LARGEST, MOST_BYTES, MOST_ENTRIES, AnswerFolder
from knobctl.cli.remembered import FEWEST
from knobctl.report.formats import FORMATS
from tests.checks.evidence_records import record_text
from tests.cli.edited_folders import (
    EAST,
    FILES,
    IN_THE_WEST,
    TENANT,
    WEST,
    edit_file,
    edits,
    write_file,
)
from tests.cli.terminal import on_terminal
from tests.knobs.foreign import write_foreign_schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.cli.inside import Inside
    from tests.running import Knobctl, Result

MANY = {f"tenants/more/t{number}.yaml": f"tenant: t{number}\nknobs: {{}}\n" for number in range(FEWEST)}  # fmt: skip
"""As many as it takes for an answer to be remembered."""
options = st.lists(
    st.sampled_from(
        [
            *([f"--format={name}"] for name in FORMATS),
            ["--fail-on=warning"],
            ["--select=own"],
            ["--ignore=own"],
            ["-v"],
            ["-q"],
            ["--color=always"],
            ["--exit-zero"],
            ["--fleet=prod"],
            ["--output=json=answer.out"],
            ["--output=markdown=answer.out", "--output=sarif=other.out"],
            ["tenants"],
            ["tenants/acme.yaml", "--tenant=acme"],
            ["tenants/bolt.yaml"],
        ]
    ),
    max_size=3,
)


@pytest.mark.parametrize("examples", [6, pytest.param(100, marks=pytest.mark.slow)])
def test_a_remembered_answer_is_the_answer(
    tmp_path_factory: pytest.TempPathFactory,
    inside: Inside,
    monkeypatch: pytest.MonkeyPatch,
    in_zone: Callable[[str], None],
    examples: int,
) -> None:
    """Whatever is edited, and however it is asked: stdout, stderr, files and exit code are those without."""

    @given(st.lists(st.tuples(edits, options), min_size=1, max_size=6))
    @settings(max_examples=examples)
    def law(steps: list[tuple[tuple[str, str, str | None], list[list[str]]]]) -> None:
        folder = tmp_path_factory.mktemp("repository")
        monkeypatch.setenv("XDG_CACHE_HOME", str(folder.with_name(f"{folder.name}-cache")))
        monkeypatch.chdir(folder)
        in_zone("UTC")
        for name, text in {**FILES, **MANY}.items():
            write_file(folder / name, text)
        for edit, chosen in steps:
            edit_file(folder, edit, monkeypatch, in_zone)
            arguments = ["check", *(word for words in chosen for word in words)]
            expected = _told(inside, folder, [*arguments, "--no-cache"])
            assert _told(inside, folder, arguments) == expected
            assert _told(inside, folder, arguments) == expected

    law()


def _told(inside: Inside, folder: Path, arguments: list[str]) -> tuple[Result, list[bytes]]:
    for path in folder.glob("**/*.out"):
        path.unlink()
    result = inside(*arguments)
    return result, [path.read_bytes() for path in sorted(folder.glob("**/*.out"))]


@pytest.fixture
def kept(inside: Inside) -> Path:
    """Where the answers of a test lie: of one run of `check` on a small repository."""
    for name, text in {**FILES, **MANY}.items():
        inside.write(name, text)
    inside("check")
    return Path(os.environ["XDG_CACHE_HOME"]) / "knobctl" / "check"


def test_the_second_run_tells_what_was_kept(inside: Inside, kept: Path) -> None:
    """It is really remembered: the entry is asked for, and no second one is made."""
    (entry,) = kept.iterdir()
    os.utime(entry, (0, 0))
    assert inside("check") == inside("check", "--no-cache")
    assert [path.name for path in kept.iterdir()] == [entry.name]
    assert entry.stat().st_mtime > 0


@pytest.mark.parametrize("name", [name for name in FILES if name != "knobctl.toml"])
def test_another_byte_is_another_question(inside: Inside, kept: Path, name: str) -> None:
    """A comment more in any file, with the time of its last change as it was, and nothing is remembered."""
    path = Path(name)
    before = path.stat()
    path.write_bytes(path.read_bytes() + b"#\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    inside("check")
    assert len(list(kept.iterdir())) == 2


def test_what_is_told_of_links_is_told_again_and_a_new_link_is_another_question(
    inside: Inside, kept: Path
) -> None:
    """The note of the first run is that of the second; a link of which no byte is read is told too."""
    Path("policies/more").symlink_to("nowhere")
    inside("check")
    assert len(list(kept.iterdir())) == 1  # it could hold nothing
    Path("policies/linked.yaml").symlink_to("own.yaml")
    first = inside("check")
    assert "1 link is passed over (policies/linked.yaml)" in first.err
    assert len(list(kept.iterdir())) == 2
    assert inside("check") == first
    Path("policies/nowhere").mkdir()
    assert inside("check") != first  # nothing was in the way of policies/more until now
    assert inside("check") == inside("check", "--no-cache")


def test_only_its_owner_can_read_it(kept: Path) -> None:
    """Answers quote what tenants write."""
    assert stat.S_IMODE(kept.stat().st_mode) == 0o700
    assert [stat.S_IMODE(path.stat().st_mode) for path in kept.iterdir()] == [0o600]


@pytest.mark.parametrize("damage", ["torn", "foreign", "empty", "link", "folder", "writable"])
def test_what_is_not_whole_or_not_ours_is_not_believed(
    inside: Inside, kept: Path, damage: str
) -> None:
    """A torn entry, one of another question, a link, one that others can write: judged anew."""
    (entry,) = kept.iterdir()
    whole = entry.read_bytes()
    entry.unlink()
    match damage:
        case "torn":
            entry.write_bytes(whole[:-5])
        case "foreign":
            entry.write_bytes(b"0" * 64 + whole[64:])
        case "empty":
            entry.touch()
        case "link":
            entry.symlink_to(inside.folder / "elsewhere")
            (inside.folder / "elsewhere").write_bytes(whole)
        case "folder":
            entry.mkdir()
        case _:
            entry.write_bytes(whole)
            entry.chmod(0o622)
    assert inside("check") == inside("check", "--no-cache")
    if damage not in {"folder", "writable"}:
        assert entry.read_bytes() == whole


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_folder_that_others_can_write_is_not_used(inside: Inside, kept: Path, mode: int) -> None:
    """They could put words into our mouth."""
    kept.chmod(mode)
    (entry,) = kept.iterdir()
    os.utime(entry, (0, 0))
    assert inside("check") == inside("check", "--no-cache")
    assert entry.stat().st_mtime == 0


@pytest.mark.usefixtures("kept")
def test_without_a_place_for_it_check_works(
    inside: Inside, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A home that is no folder: the same answer, and no word about it."""
    expected = inside("check")
    monkeypatch.setenv("XDG_CACHE_HOME", str(inside.folder / "knobctl.toml"))
    assert inside("check") == expected


@pytest.mark.parametrize("arguments", [("--no-cache",), ("--live", "--engine", "embedded:e.db")])
def test_what_is_not_remembered(inside: Inside, kept: Path, arguments: tuple[str, ...]) -> None:
    """Nothing where one asks for that, and nothing of what an engine said."""
    (entry,) = kept.iterdir()
    entry.unlink()
    inside("check", *arguments)
    assert list(kept.iterdir()) == []


def test_a_few_files_are_judged_each_time(inside: Inside, kept: Path) -> None:
    """Looking an answer up would take longer; so would keeping one for each commit of one file."""
    inside("check", "tenants/bolt.yaml")
    assert len(list(kept.iterdir())) == 2  # the rest of the repository bears on it
    for path in MANY:
        Path(path).unlink()
    inside("check")
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("--fail-on=warning",),
        ("--select=own",),
        ("--ignore=own",),
        ("-v",),
        ("-q",),
        ("--color=always",),
        ("--exit-zero",),
        ("--fleet=prod",),
        ("--format=json",),
        ("--output=json=answer.out",),
        ("--tenant=x",),
        ("tenants",),
    ],
)
def test_another_word_is_another_question(
    inside: Inside, kept: Path, arguments: tuple[str, ...]
) -> None:
    """No option is without meaning for what is kept."""
    for _ in range(2):
        assert inside("check", *arguments) == inside("check", *arguments, "--no-cache")
    assert len(list(kept.iterdir())) == 2


@pytest.mark.parametrize(
    "toml",
    [
        "[severity.own]\nseverity = 'error'\nreason = 'r'\n",
        "skip = ['tenants/b*']\n",
        "default_fleet = 'prod'\n",
        "schema = 'other-engine.schema.json'\n",
    ],
)
def test_another_setting_is_another_question(inside: Inside, kept: Path, toml: str) -> None:
    """The settings of the repository decide with its documents; so does a schema that they name."""
    write_foreign_schema(inside.folder)
    inside("check")
    Path("knobctl.toml").write_text(toml)
    for _ in range(2):
        assert inside("check") == inside("check", "--no-cache")
    assert len(list(kept.iterdir())) == 3


def test_a_schema_is_known_by_its_bytes(inside: Inside, kept: Path) -> None:
    """Another default in the same file, and the answer is another one."""
    path = write_foreign_schema(inside.folder)
    arguments = ("check", "--schema", str(path), "tenants/more")
    inside(*arguments)
    path.write_text(path.read_text().replace('"title"', '"x-title"', 1))
    assert inside(*arguments) == inside(*arguments, "--no-cache")
    assert len(list(kept.iterdir())) == 3


@pytest.mark.usefixtures("kept")
def test_colour_is_for_who_asks_for_it(inside: Inside) -> None:
    """What was told in colour is told without where NO_COLOR asks for that, and the other way round."""
    colored = []
    for environment in ({}, {"NO_COLOR": "1"}, {}):
        with on_terminal(inside.folder, "check", **environment) as terminal:
            terminal.end()
        colored.append(b"\x1b[" in terminal.raw)
    assert colored == [True, False, True]


def test_an_environment_variable_switches_it_off(
    inside: Inside, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KNOBCTL_NO_CACHE is --no-cache."""
    (entry,) = kept.iterdir()
    entry.unlink()
    monkeypatch.setenv("KNOBCTL_NO_CACHE", "1")
    inside("check")
    assert list(kept.iterdir()) == []


def test_a_run_that_fails_is_not_remembered(inside: Inside, kept: Path) -> None:
    """A typing error is told each time."""
    Path("knobctl.toml").write_text("nonsense = 1\n")
    assert [inside("check").code for _ in range(2)] == [4, 4]
    assert len(list(kept.iterdir())) == 1


def test_standard_input_is_not_remembered(knobctl: Knobctl) -> None:
    """What comes through a pipe is judged each time."""
    texts = [TENANT.replace("layers: [ent]\n", ""), "tenant: bolt\nknobs: {}\n"]
    codes = [knobctl("check", "-", "--fail-on=warning", stdin=text).code for text in texts]
    assert codes == [5, 0]


def test_the_folder_stays_small(tmp_path: Path) -> None:
    """At most so many answers, and so many bytes; those that were asked for last stay."""
    folder = AnswerFolder(tmp_path / "answers")
    for number in range(MOST_ENTRIES + 5):
        folder.keep(f"{number:064}", b"x")
        os.utime(tmp_path / "answers" / f"{number:064}", (number, number))
    assert folder.find(f"{0:064}") is None
    assert folder.find(f"{MOST_ENTRIES:064}") == b"x"
    for number in range(6):
        folder.keep(f"large{number:059}", bytes(LARGEST - 1))
    held = [path.stat().st_size for path in (tmp_path / "answers").iterdir()]
    assert len(held) <= MOST_ENTRIES
    assert sum(held) <= MOST_BYTES
    folder.keep(f"huge{0:060}", bytes(LARGEST + 1))
    assert folder.find(f"huge{0:060}") is None


def test_runs_at_the_same_time_find_all_of_an_answer_or_nothing(tmp_path: Path) -> None:
    """Several write and read the same entry; nobody sees half of one."""
    content = bytes(range(256)) * 4000
    found: set[bytes | None] = set()

    def work(_: int) -> None:
        folder = AnswerFolder(tmp_path / "answers")
        for _ in range(20):
            folder.keep("k" * 64, content)
            found.add(folder.find("k" * 64))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert found <= {content, None}
    assert content in found


@pytest.mark.usefixtures("kept")
def test_the_day_is_part_of_the_question(inside: Inside, in_zone: Callable[[str], None]) -> None:
    """A waiver that held yesterday covers nothing today."""
    codes = []
    for zone in (WEST, EAST, WEST):
        in_zone(zone)
        codes.append("waiver-expired" in inside("check").out)
    assert datetime.now(UTC).date() >= IN_THE_WEST
    assert codes == [False, True, False]


@pytest.mark.parametrize("file", ["evidence/acme.json", ".evidence/acme.json"])
def test_a_record_that_a_policy_read_is_read_again(inside: Inside, kept: Path, file: str) -> None:
    """Also one in a hidden folder, which is not among the files that were counted."""
    del kept
    policy = "policy: few\nseverity: error\nwhen: evidence.exists(e, e.questions < 300)\nmessage: few\nexamples: {pass: [], fail: []}\n"
    inside.write("policies/few.yaml", policy)
    inside.write("tenants/new.yaml", f"tenant: squad2\nevidence: [{file}]\nknobs: {{}}\n")
    for questions in (400, 200, 400):
        inside.write(file, record_text(questions=questions))
        for _ in range(2):
            found = inside("check", "--format", "json").json["findings"]
            assert any(one["rule"] == "few" for one in found) is (questions < 300)
