"""Drafts on the disk: whole or as before, the user's own, of one engine and tenant."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from knobctl.cli.draft_folder import DraftFolder
from knobctl.errors import ConflictError, InputError, RefusedError
from knobctl.tui.draft import Begun, Draft

ENGINE = "embedded:/srv/engine.db"


def clock() -> datetime:
    return datetime(2026, 11, 30, 9, 0, tzinfo=UTC)


def folder_in(place: Path, engine: str = ENGINE) -> DraftFolder:
    return DraftFolder(place / "drafts", engine, clock)


def drafted(tenant: str = "acme", value: str = "0.4") -> Draft:
    begun = Begun(repo={"retrieval_min_score": 0.7}, live={}, revision="")
    return Draft(engine=ENGINE, tenant=tenant, begun=begun).put("retrieval_min_score", value)


def test_a_draft_is_found_again_by_another_session(tmp_path: Path) -> None:
    """Of its engine and tenant alone; the file and its folder are the user's own."""
    folder_in(tmp_path).keep(drafted())
    assert folder_in(tmp_path).find("acme") == drafted()
    assert folder_in(tmp_path).find("bolt") is None
    assert folder_in(tmp_path, "embedded:/srv/other.db").find("acme") is None
    (path,) = (tmp_path / "drafts").iterdir()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_an_emptied_draft_is_taken_away(tmp_path: Path) -> None:
    """What was taken back can still be done again, so that it is kept; nothing at all is not."""
    folder = folder_in(tmp_path)
    draft = drafted()
    folder.keep(draft)
    folder.keep(draft.undo()[0])
    assert len(list((tmp_path / "drafts").iterdir())) == 1
    folder.keep(Draft(engine=ENGINE, tenant="acme", begun=draft.begun))
    assert list((tmp_path / "drafts").iterdir()) == []


def test_a_draft_for_which_no_file_can_be_written_lasts_as_long_as_the_session(
    tmp_path: Path,
) -> None:
    """It is found again where one comes back to the tenant, and written once there is room."""
    folder = folder_in(tmp_path)
    (tmp_path / "drafts").write_text("in the way")
    with pytest.raises(RefusedError, match="cannot be kept"):
        folder.keep(drafted())
    assert folder.find("acme") == drafted()
    assert list(folder.unkept) == ["acme"]
    (tmp_path / "drafts").unlink()
    folder.keep(drafted(value="0.5"))
    assert not list(folder.unkept)
    assert folder_in(tmp_path).find("acme") == drafted(value="0.5")


@pytest.mark.parametrize("tenant", ["a/../../b", "x" * 5000, "\x1b]0;t\x07", "", "\udc80"])
def test_any_tenant_has_its_own_file(tmp_path: Path, tenant: str) -> None:
    """Names are no paths."""
    folder_in(tmp_path).keep(drafted(tenant))
    assert folder_in(tmp_path).find(tenant) == drafted(tenant)
    assert [path.name for path in tmp_path.iterdir()] == ["drafts"]


def test_another_sessions_draft_is_not_overwritten(tmp_path: Path) -> None:
    """Who comes second hears of it; the first one's edits stay."""
    one, two = folder_in(tmp_path), folder_in(tmp_path)
    one.find("acme")
    two.find("acme")
    one.keep(drafted(value="0.4"))
    with pytest.raises(ConflictError, match="another session"):
        two.keep(drafted(value="0.5"))
    assert list(two.unkept) == ["acme"]
    assert folder_in(tmp_path).find("acme") == drafted(value="0.4")


def test_a_damaged_file_is_said_so_and_left(tmp_path: Path) -> None:
    """It is neither read in part nor overwritten."""
    folder_in(tmp_path).keep(drafted())
    (path,) = (tmp_path / "drafts").iterdir()
    path.write_bytes(path.read_bytes()[:40])
    folder = folder_in(tmp_path)
    with pytest.raises(InputError, match="cannot be read"):
        folder.find("acme")
    assert len(path.read_bytes()) == 40


def test_a_file_that_others_may_write_is_not_read(tmp_path: Path) -> None:
    """Nor is a link followed."""
    folder_in(tmp_path).keep(drafted())
    (path,) = (tmp_path / "drafts").iterdir()
    path.chmod(0o666)
    with pytest.raises(InputError, match="yours alone"):
        folder_in(tmp_path).find("acme")
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="cannot be read"):
        folder_in(tmp_path).find("acme")


def test_a_folder_that_cannot_be_made_is_said_so(tmp_path: Path) -> None:
    """The session goes on, and says what that costs."""
    (tmp_path / "drafts").write_text("in the way")
    with pytest.raises(RefusedError, match="cannot be kept"):
        DraftFolder(tmp_path / "drafts" / "deeper", ENGINE, clock).keep(drafted())


def test_a_kill_at_any_time_leaves_a_whole_draft(tmp_path: Path) -> None:
    """A session that keeps one draft after another is killed: the last one that was kept, or the one before, is read."""
    code = (
        "import sys; from pathlib import Path; from tests.cli.test_draft_folder import *\n"
        "folder = folder_in(Path(sys.argv[1]))\n"
        "for number in range(10**9):\n"
        "    folder.keep(drafted(value='0.4' + 'x' * (number % 9000)))\n"
        "    if number == 0: print('begun', flush=True)\n"
    )
    root = Path(__file__).parents[2]
    for wait_s in (0.0, 0.011, 0.023, 0.037):
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path)],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": str(root)},
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(wait_s)
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()
        found = folder_in(tmp_path).find("acme")
        assert found is not None
        assert found.literals["retrieval_min_score"].startswith("0.4")
