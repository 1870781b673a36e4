"""A Git revision as a tree of files: what a branch had, without a checkout."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from knobctl.documents.reader import MAX_BYTES
from knobctl.documents.repository import Repository, open_repository
from knobctl.documents.revisions import GitTree, open_base
from knobctl.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def git(folder: Path, *arguments: str) -> str:
    """Run Git as nobody in particular."""
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    done = subprocess.run(
        ["git", "-C", str(folder), *identity, *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A Git repository with two commits, the first tagged `v1`."""
    root = tmp_path / "repo"
    (root / "fleet" / "tenants").mkdir(parents=True)
    (root / "fleet" / "knobctl.toml").write_text('skip = ["drafts"]\n')
    (root / "fleet" / "tenants" / "a.yaml").write_text(
        "tenant: a\nlayers: [base]\nknobs: {rrf_k: 10}\n"
    )
    (root / "fleet" / "tenants" / "gone.yaml").write_text("tenant: gone\n")
    (root / "fleet" / "base.yaml").write_text("layer: base\nknobs: {mmr_lambda: 0.5}\n")
    (root / "fleet" / "drafts").mkdir()
    (root / "fleet" / "drafts" / "d.yaml").write_text("tenant: d\n")
    (root / "fleet" / ".hidden.yaml").write_text("tenant: h\n")
    (root / "fleet" / "link.yaml").symlink_to("tenants/a.yaml")
    (root / "outside.yaml").write_text("tenant: outside\n")
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "one")
    git(root, "tag", "v1")
    (root / "fleet" / "tenants" / "a.yaml").write_text(
        "tenant: a\nlayers: [base]\nknobs: {rrf_k: 20}\n"
    )
    (root / "fleet" / "tenants" / "new.yaml").write_text("tenant: new\n")
    (root / "fleet" / "tenants" / "gone.yaml").unlink()
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "two")
    return root


def at(repo: Path, revision: str, *paths: str) -> Repository:
    """Open the fleet at a revision."""
    with GitTree(repo / "fleet", revision) as files:
        return open_repository(paths, catalogue=None, cwd=repo, stdin=bytes, files=files)


def test_a_revision_has_the_documents_of_its_day(repo: Path) -> None:
    """Layers too; hidden, skipped and linked files are no documents, nor is what lies above the root."""
    then, now = at(repo, "v1", "fleet"), at(repo, "HEAD", "fleet")
    assert [document.name for document in then.judged] == ["base", "a", "gone"]
    assert [document.name for document in now.judged] == ["base", "a", "new"]
    assert then.effective(then.tenants[0]).desired == {"rrf_k": 10, "mmr_lambda": 0.5}
    assert now.effective(now.tenants[0]).desired == {"rrf_k": 20, "mmr_lambda": 0.5}
    assert then.findings == []


def test_sources_name_the_revision(repo: Path) -> None:
    """So that nobody looks for the line in the working folder."""
    (document,) = at(repo, "v1", "fleet/tenants/a.yaml").judged
    assert document.source == "v1:fleet/tenants/a.yaml"


def test_a_path_that_the_revision_lacks_is_no_fault(repo: Path) -> None:
    """A branch may add it."""
    for paths in (
        ("fleet/tenants/new.yaml",),
        ("fleet/nowhere",),
        ("fleet/tenants/new.yaml", "fleet/tenants/a.yaml"),
    ):
        assert [document.name for document in at(repo, "v1", *paths).judged] == (
            ["a"] if len(paths) > 1 else []
        )


def test_a_whole_file_is_judged_as_in_the_folder(repo: Path) -> None:
    """The rest of the revision is read for its layers."""
    repository = at(repo, "v1", "fleet/tenants/a.yaml")
    assert {document.name for document in repository.others} == {"base", "gone"}


@pytest.mark.parametrize("revision", ["HEAD", "HEAD~1", "v1", "main", "HEAD^{/one}", "@"])
def test_every_name_of_a_commit_is_a_revision(repo: Path, revision: str) -> None:
    """As Git itself takes them; a full hash too."""
    tree = GitTree(repo, revision)
    assert len(tree.commit) == 40
    assert GitTree(repo, tree.commit).commit == tree.commit


@pytest.mark.parametrize(
    "revision",
    [
        "nope",
        "",
        "--help",
        "--output=x",
        "-x",
        "HEAD --all",
        "HEAD\nx",
        "$(id)",
        "HEAD:fleet",
        "v1..HEAD",
        "^v1",
    ],
)
def test_what_is_no_revision_is_a_usage_error(repo: Path, revision: str) -> None:
    """An option or a shell's words are taken for a name, and not found."""
    with pytest.raises(UsageError):
        GitTree(repo, revision)


def test_no_git_repository_is_a_usage_error(tmp_path: Path) -> None:
    """With Git's own words."""
    with pytest.raises(UsageError, match="not a git repository"):
        GitTree(tmp_path, "HEAD")


def test_a_big_blob_is_read_to_the_limit_and_the_next_file_is_right(repo: Path) -> None:
    """The rest of it is passed over, not taken for the next answer."""
    (repo / "big.yaml").write_bytes(b"# x\n" * MAX_BYTES)
    (repo / "z.yaml").write_text("tenant: z\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "big")
    with GitTree(repo, "HEAD") as files:
        assert len(files.read("big.yaml")) == MAX_BYTES + 1
        assert files.read("z.yaml") == b"tenant: z\n"
        with pytest.raises(OSError, match="no such file"):
            files.read("nowhere.yaml")


def test_what_a_partial_clone_lacks_is_no_missing_file(repo: Path, tmp_path: Path) -> None:
    """A file whose content was never fetched would hide what the base had; nothing is fetched for a question."""
    git(repo, "config", "uploadpack.allowFilter", "true")
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repo}", str(clone))
    git(clone, "config", "protocol.file.allow", "always")
    now = open_repository(["fleet"], catalogue=None, cwd=clone, stdin=bytes)
    with pytest.raises(UsageError, match=r"lacks the content of v1:tenants/a\.yaml") as caught:
        open_base(now, "v1", ["fleet"], catalogue=None, cwd=clone)
    assert "git diff v1 HEAD" in str(caught.value.hint)
    git(clone, "diff", "v1", "HEAD")
    then = open_base(now, "v1", ["fleet"], catalogue=None, cwd=clone)
    assert {one.name for one in then.judged} == {"a", "base", "gone"}


def test_names_that_git_would_quote_are_names(repo: Path) -> None:
    """Blanks, quotes, line ends and letters of any script."""
    names = ["a b.yaml", 'q"uote.yaml', "ä\U0001f600.yaml", "line\nend.yaml"]
    for name in names:
        (repo / name).write_text("tenant: t\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "names")
    with GitTree(repo, "HEAD") as files:
        found = set(files.names("", lambda _: False))
        assert set(names) < found
        assert {files.read(name) for name in names} == {b"tenant: t\n"}


def based(repo: Path, revision: str) -> tuple[Repository, Repository, list[str]]:
    """The fleet as it is, what it was where HEAD left a revision, and what is said of that."""
    notes: list[str] = []
    now = open_repository(["fleet"], catalogue=None, cwd=repo, stdin=bytes)
    return (
        now,
        open_base(now, revision, ["fleet"], catalogue=None, cwd=repo, notice=notes.append),
        notes,
    )


def test_a_file_with_the_same_bytes_gives_the_same_documents(repo: Path) -> None:
    """With a byte-order mark too; other line ends are other bytes."""
    (repo / "fleet" / "bom.yaml").write_bytes(b"\xef\xbb\xbftenant: bom\nknobs: {}\n")
    (repo / "fleet" / "ends.yaml").write_bytes(b"tenant: ends\nknobs: {}\n")
    (repo / "fleet" / "bad.yaml").write_bytes(b"tenant: bad\nknobs: {a: \xff}\n")
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "three")
    (repo / "fleet" / "ends.yaml").write_bytes(b"tenant: ends\r\nknobs: {}\r\n")
    now, then, notes = based(repo, "HEAD")
    same = {one.name for one in then.judged if any(one is other for other in now.judged)}
    assert same == {"a", "base", "bom", "new"}
    assert {one.name for one in then.judged} == {*same, "ends"}
    assert [one.rule for one in then.findings] == [one.rule for one in now.findings]
    assert notes == []


def test_a_base_is_where_the_branch_left_the_revision(repo: Path) -> None:
    """What the revision has gained since is not in it; its files are named by that commit."""
    git(repo, "checkout", "-q", "-b", "pr", "v1")
    (repo / "fleet" / "new.yaml").write_text("tenant: pr\n")
    _, then, notes = based(repo, "main")
    left = git(repo, "rev-parse", "v1")[:10]
    assert {one.name for one in then.judged} == {"a", "base", "gone"}
    assert (then.revision, then.prefix) == ("main", f"{left}:")
    assert notes == [f"main has moved on; compared with {left}, where this branch left it"]
