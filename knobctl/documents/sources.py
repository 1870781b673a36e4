"""Where a repository's texts come from: the files of a folder."""

from __future__ import annotations

import os
import stat
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO, Final, Protocol, runtime_checkable

from knobctl.documents.reader import MAX_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from knobctl.documents.tree import Text

SUFFIXES: Final = (".yaml", ".yml", ".json")
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK: Final = 16 * 1024


class Files(Protocol):
    """The files of a repository, in the working tree or at a Git revision."""

    @property
    def root(self) -> Path:
        """The folder that names are relative to."""

    @property
    def prefix(self) -> str:
        """What stands before a name where findings show it, such as a revision; mostly empty."""

    @property
    def links(self) -> Iterable[str]:
        """Links that `names` came by and did not follow, though their names could hold documents."""

    def kind(self, name: str) -> str:
        """`file`, `folder`, `other` (a device, a pipe), or nothing where there is none."""

    def names(self, under: str, skips: Callable[[str], bool]) -> Iterator[str]:
        """Names of the documents in a folder, in a fixed order; hidden and skipped ones are passed over."""

    def read(self, name: str) -> bytes:
        """A file's bytes, at most one more than the limit of a document.

        Raises:
            OSError: If it cannot be read.
        """


@runtime_checkable
class Revision(Files, Protocol):
    """The files of an earlier state, which can be held against what was read already."""

    def has_same(self, name: str, text: Text) -> bool:
        """Whether the file of a name held the bytes of a text."""


class WorkingTree:
    """The files of a folder as they stand on the disk. Links are not followed."""

    prefix = ""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.links: dict[str, None] = {}
        self._base = f"{root}/" if str(root) != "/" else "/"

    def kind(self, name: str) -> str:
        """See `Files.kind`. A link counts as what it leads to: here the user names it."""
        try:
            mode = os.stat(self._base + name).st_mode  # noqa: PTH116  a Path costs more than the look
        except PermissionError:
            return "file"  # reading it says what it is that cannot be known
        except OSError:
            return ""
        return "file" if stat.S_ISREG(mode) else "folder" if stat.S_ISDIR(mode) else "other"

    def names(self, under: str, skips: Callable[[str], bool]) -> Iterator[str]:
        """See `Files.names`."""
        # A stack, not recursion: folders can be nested deeper than Python calls.
        open_folders = [self._entries(under, skips)]
        while open_folders:
            for files, folder in open_folders[-1]:
                yield from files
                if folder is not None:
                    open_folders.append(self._entries(folder, skips))
                    break
            else:
                open_folders.pop()

    def _entries(
        self, folder: str, skips: Callable[[str], bool]
    ) -> Iterator[tuple[list[str], str | None]]:
        """Documents and folders in one folder, by name: always documents, and a folder that comes behind them."""
        try:
            entries = sorted(os.scandir(self._base + folder), key=attrgetter("name"))
        except (FileNotFoundError, NotADirectoryError):  # gone since it was seen
            return
        except (
            OSError
        ):  # reading it fails too and says why: what lies in it is not known to be nothing
            yield [f"{folder}/" if folder else "./"], None
            return
        prefix = f"{folder}/" if folder else ""
        files: list[str] = []
        for entry in entries:
            name = prefix + entry.name
            if entry.name[0] == "." or skips(name):
                continue
            if name.endswith(SUFFIXES) and entry.is_file(follow_symlinks=False):
                files.append(name)
            elif entry.is_dir(follow_symlinks=False):
                yield files, name
                files = []
            elif entry.is_symlink() and (name.endswith(SUFFIXES) or _leads_to_a_folder(entry)):
                self.links[name] = None
        yield files, None

    def read(self, name: str) -> bytes:
        """See `Files.read`."""
        return read_regular(self._base + name)


def read_regular(path: str) -> bytes:
    """Read a regular file, and never wait for a pipe or a device.

    Returns:
        Its bytes, at most one more than the limit of a document.

    Raises:
        OSError: If it cannot be read or is no regular file.
    """
    return _regular(os.open(path, _READ), path)


def read_enclosed(root: Path, name: str) -> bytes:
    """Read a regular file that a document names: nothing outside the folder, and no link on the way.

    Args:
        root: The folder that the name is relative to.
        name: With `/` between its steps.

    Returns:
        Its bytes, at most one more than the limit of a document.

    Raises:
        OSError: With words in `strerror` that say what the name is instead.
    """
    return _regular(_enclosed(root, name), name)


def open_enclosed(root: Path, name: str) -> BinaryIO:
    """Open a file as `read_enclosed` reads it, for one that is larger than a document may be.

    Raises:
        OSError: As `read_enclosed`.
    """
    return _opened(_enclosed(root, name), name)


def open_regular(path: str) -> BinaryIO:
    """Open a file that a person names: a regular one, never a pipe or a device.

    Raises:
        OSError: If it cannot be read or is no regular file.
    """
    return _opened(os.open(path, _READ), path)


def _opened(handle: int, path: str) -> BinaryIO:
    if stat.S_ISREG(os.fstat(handle).st_mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    raise OSError(0, "no regular file", path)


def _enclosed(root: Path, name: str) -> int:
    *folders, file = name.split("/")
    if not file or "\0" in name or {"", ".."} & {*folders, file}:
        raise OSError(0, "the path leads outside the repository", name)
    # From folder to folder by handle, so that none of them can be replaced by a link in between.
    at = os.open(root, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for folder in folders:
            inner = _entered(folder, at, _FOLDER)
            os.close(at)
            at = inner
        return _entered(file, at, _READ | os.O_NOFOLLOW)
    finally:
        os.close(at)


def _entered(step: str, at: int, flags: int) -> int:
    try:
        return os.open(step, flags, dir_fd=at)
    except OSError as error:
        try:
            is_link = stat.S_ISLNK(os.stat(step, dir_fd=at, follow_symlinks=False).st_mode)
        except OSError:
            is_link = False
        if is_link:
            raise OSError(error.errno, "a link is not followed", step) from error
        raise


def _regular(handle: int, path: str) -> bytes:
    """Read what a handle gives, if it is a regular file, and close it."""
    try:
        raw = os.read(handle, _CHUNK)
        if len(raw) < _CHUNK:
            return raw
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "no regular file", path)
        return raw + os.read(handle, MAX_BYTES + 1 - len(raw))
    finally:
        os.close(handle)


def _leads_to_a_folder(link: os.DirEntry[str]) -> bool:
    try:
        return link.is_dir()
    except OSError:  # in a circle, or to where nobody may look
        return False
