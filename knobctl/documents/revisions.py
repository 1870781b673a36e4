"""A revision of a Git repository as a tree of files. Reads Git's own store; no network, no checkout."""

from __future__ import annotations

import os
import subprocess
from functools import cached_property
from shlex import quote
from typing import TYPE_CHECKING, Final, Self

from knobctl.documents.blobs import blob_id
from knobctl.documents.git import USUAL
from knobctl.documents.model import Kind
from knobctl.documents.reader import MAX_BYTES
from knobctl.documents.sources import SUFFIXES, read_enclosed
from knobctl.errors import InputError, UsageError
from knobctl.text import count, visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from knobctl.documents.git import Git
    from knobctl.documents.repository import Repository
    from knobctl.documents.tree import Text
    from knobctl.knobs import Catalogue

_NO_NETWORK: Final = [
    word
    for protocol in ("", "https.", "http.", "ssh.", "git.", "file.", "ext.")
    for word in ("-c", f"protocol.{protocol}allow=never")
]
"""By name too: what a user allows by name beats what is said of all."""
_SHORT: Final = 10
_FEW: Final = 3
"""So many files are named."""


class GitTree:
    """The files below a folder as a revision has them. A context manager: it keeps one Git process open."""

    links = ()
    """Of what was, nobody needs to hear."""

    def __init__(self, root: Path, revision: str, git: Git = USUAL) -> None:
        """Look up the revision.

        Args:
            root: A folder inside the working tree; names are relative to it.
            revision: What the user wrote: a branch, a tag, `HEAD~3`, a hash.
            git: Who is asked.

        Raises:
            UsageError: If this is no Git repository or it has no such revision.
        """
        self.root = root
        self.prefix = f"{revision}:"
        self._asked = git
        # A partial clone would fetch what it lacks: a question about files asks no network.
        self._command = (
            "git",
            "-C",
            str(root),
            *_NO_NETWORK,
            "--no-replace-objects",
        )
        # --end-of-options: a revision that looks like an option is a revision all the same.
        self.commit = (
            self._git(
                "rev-parse", "--quiet", "--verify", "--end-of-options", f"{revision}^{{commit}}"
            )
            .decode()
            .strip()
        )
        if not self.commit or self.commit.startswith("^"):
            raise UsageError(
                f"Git knows no revision {revision}" if revision else "the revision is empty",
                hint="in a shallow clone fetch it first, or clone with full depth"
                if revision
                else "name one, such as main",
            )
        self._reader: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def leave_point(self) -> str:
        """Go back to where the branch of HEAD left the revision, as a pull request's diff does.

        Returns:
            What there is to say of it: that the revision has moved on since, or that there is no such
            point and the revision itself is the tree; mostly nothing.
        """
        revision = visible(self.prefix.removesuffix(":"))
        found = self._git("merge-base", self.commit, "HEAD", may_fail=True).decode().strip()
        if not found:
            return (
                f"Git finds no commit that HEAD and {revision} share, so {revision} itself is compared "
                "with; in a shallow clone fetch more of its history"
            )
        if found == self.commit:
            return ""
        self.commit, self.prefix = found, f"{found[:_SHORT]}:"
        vars(self).pop("_blobs", None)  # those of another commit
        return f"{revision} has moved on; compared with {found[:_SHORT]}, where this branch left it"

    def leave_out_sparse(self) -> list[str]:
        """Forget the files that HEAD has and the working tree lacks because its checkout is sparse: they are not gone.

        Returns:
            Those of them that may hold documents.
        """
        if self._git("config", "--type=bool", "core.sparseCheckout").strip() != b"true":
            return []
        left_out = []
        for entry in self._git("ls-files", "-t", "-z").split(b"\0"):
            name = entry[2:].decode("utf-8", "surrogateescape")
            if entry.startswith(b"S ") and not os.path.lexists(self.root / name):
                self._blobs.pop(name, None)
                left_out += [name] * name.endswith(SUFFIXES)
        return left_out

    def has_same(self, name: str, text: Text) -> bool:
        """Whether the revision's file holds the bytes of a text that was read already."""
        blob = self._blobs.get(name)
        if blob is None or text.troubles:  # of a text that cannot be read, not all is kept
            return False
        raw = text.encoded(text.text)
        return blob_id(raw, digits=len(blob)) == blob

    def holds(self, name: str, raw: bytes | None) -> bool:
        """Whether the revision's file of a name holds these bytes."""
        blob = self._blobs.get(name)
        return bool(blob) and raw is not None and blob_id(raw, digits=len(blob or "")) == blob

    def close(self) -> None:
        """End the Git process that reads files."""
        if self._reader is not None:
            assert self._reader.stdin is not None
            assert self._reader.stdout is not None
            self._reader.stdin.close()
            self._reader.stdout.close()
            self._reader.wait()
            self._reader = None

    def kind(self, name: str) -> str:
        """See `Files.kind`."""
        if name in self._blobs:
            return "file"
        prefix = f"{name}/" if name else ""
        return "folder" if any(known.startswith(prefix) for known in self._blobs) else ""

    def names(self, under: str, skips: Callable[[str], bool]) -> Iterator[str]:
        """See `Files.names`."""
        prefix = f"{under}/" if under else ""
        for name in sorted(self._blobs, key=lambda name: name.split("/")):
            if not name.startswith(prefix) or not name.endswith(SUFFIXES):
                continue
            hidden = any(step[0] == "." for step in name.removeprefix(prefix).split("/"))
            if not hidden and not skips(name):
                yield name

    def read(self, name: str) -> bytes:
        """See `Files.read`."""
        blob = self._blobs.get(name)
        if blob is None:
            raise OSError(2, "no such file at that revision", name)
        content = self._content(blob)
        if content is None:
            # Taken for no file, it would hide what the revision had: a reset, a rule, a tenant.
            raise UsageError(
                f"Git lacks the content of {self.prefix}{name}",
                hint="in a partial clone fetch it first: git diff "
                f"{quote(self.prefix.removesuffix(':'))} HEAD > /dev/null; or clone without --filter",
            )
        return content

    @cached_property
    def _blobs(self) -> dict[str, str]:
        """By name, the regular files with their blobs; links and submodules are none."""
        blobs: dict[str, str] = {}
        for line in self._git("ls-tree", "-r", "-z", self.commit).split(b"\0"):
            if line:
                attributes, _, name = line.partition(b"\t")
                mode, _, blob = attributes.decode().split(" ")
                if mode.startswith("100"):
                    blobs[name.decode("utf-8", "surrogateescape")] = blob
        return blobs

    def _content(self, blob: str) -> bytes | None:
        if self._reader is None:
            self._reader = subprocess.Popen(  # noqa: S603  fixed arguments, no shell
                [*self._command, "cat-file", "--batch"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self._asked.environment,
            )
        assert self._reader.stdin is not None
        assert self._reader.stdout is not None
        self._reader.stdin.write(f"{blob}\n".encode())
        self._reader.stdin.flush()
        header = self._reader.stdout.readline().split()
        if len(header) != 3:
            return None
        size = int(header[2])
        content = self._reader.stdout.read(min(size, MAX_BYTES + 1))
        rest = size + 1 - len(content)
        while rest > 0 and (passed := len(self._reader.stdout.read(min(rest, MAX_BYTES)))):
            rest -= passed
        return content

    def _git(self, *arguments: str, may_fail: bool = False) -> bytes:
        try:
            done = self._asked.run(self._command, arguments)
        except FileNotFoundError as error:
            raise UsageError("Git is not installed; a revision needs it") from error
        if done.returncode not in {0, 1} and not may_fail:
            complaint = done.stderr.decode("utf-8", "replace").strip().removeprefix("fatal: ")
            raise UsageError(
                f"Git cannot say: {complaint}", hint=f"the folder asked about is {self.root}"
            )
        # With 1 it says no, though it may have told something, as of A..B, which is no one revision.
        return b"" if done.returncode else done.stdout


def open_base(  # noqa: PLR0913  each is one thing that only the caller knows
    repository: Repository,
    revision: str,
    paths: Sequence[str],
    *,
    catalogue: Catalogue | None,
    cwd: Path,
    tenant: str | None = None,
    git: Git = USUAL,
    notice: Callable[[str], None] = lambda _: None,
) -> Repository:
    """Read what a revision has for the PATHs of a repository, as it was judged there.

    Its own `knobctl.toml` and knob schema hold, unless they cannot be read: then today's do.

    Args:
        repository: As it is now; files with the same bytes are not read twice, and give the same documents.
        revision: What the user wrote; where the branch left it is what counts.
        paths: As the user named them.
        catalogue: The knobs that the user chose; None for those of the revision.
        cwd: The working folder.
        tenant: Whose knobs bare knob maps in the named files are.
        git: Who is asked.
        notice: Tells the user what there is to say.

    Raises:
        UsageError: If this is no Git repository or it has no such revision.
    """
    from knobctl.documents.opening import Opening

    def opened(tree: GitTree, like: Repository | None = None) -> Repository:
        knobs = like.catalogue if like else catalogue
        opening = Opening(paths, knobs, cwd, bytes, tenant, tree, now=repository, like=like)
        return opening.repository(whole=True)

    with GitTree(repository.root, revision, git) as tree:
        if said := tree.leave_point():
            notice(said)
        if left_out := tree.leave_out_sparse():
            few = ", ".join(map(visible, left_out[:_FEW]))
            notice(
                f"this checkout is sparse: nothing is said of what Git has in {count(len(left_out), 'file')} "
                f"that it leaves out ({few}{', ...' * (len(left_out) > _FEW)})"
            )
        try:
            base = opened(tree)
        except InputError as error:
            notice(
                f"{visible(revision)} is judged by today's settings and schema, as its own do not serve: {error}"
            )
            base = opened(tree, repository)
        base.revision, base.prefix = revision, tree.prefix
        base.evidence_then = _evidence_then(base, tree)
        return base


def _evidence_then(base: Repository, tree: GitTree) -> dict[str, bytes | None]:
    """The files of evidence that documents of a revision name and that are others in the working folder."""
    documents = (*base.of_kind(Kind.TENANT), *base.of_kind(Kind.LAYER))
    found: dict[str, bytes | None] = {}
    for path in dict.fromkeys(path for one in documents for path in one.evidence):
        if tree.kind(path) != "file":
            found[path] = None
        elif not tree.holds(path, _now(base, path)):
            found[path] = tree.read(path)
    return found


def _now(base: Repository, path: str) -> bytes | None:
    try:
        return read_enclosed(base.root, path)
    except OSError:
        return None


def standing_at(folder: Path, git: Git = USUAL) -> str:
    """What a checkout stands at, for people: `main@3f2c1a9`, or the commit alone; empty outside Git.

    Args:
        folder: A folder inside it.
        git: Who is asked.
    """

    def asked(*arguments: str) -> str:
        try:
            done = git.run(("git", "-C", str(folder)), arguments)
        except OSError:
            return ""
        return done.stdout.decode("utf-8", "replace").strip() if done.returncode == 0 else ""

    commit = asked("rev-parse", "--short=7", "--verify", "--quiet", "HEAD")
    branch = asked("symbolic-ref", "--short", "--quiet", "HEAD") if commit else ""
    return f"{branch}@{commit}" if branch else commit
