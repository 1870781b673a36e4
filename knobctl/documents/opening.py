"""Opens a repository: finds its root, reads the files asked about, and the others where they are needed."""

from __future__ import annotations

import os
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.documents.at_a_glance import (
    is_large_output,
    looks_like_a_policy,
    may_be_ours,
    may_hold_a_fleet,
    may_hold_a_rule,
)
from knobctl.documents.claims import claim_findings, layer_findings
from knobctl.documents.garbage import collector_paused
from knobctl.documents.globs import matcher
from knobctl.documents.kinds import sort_documents
from knobctl.documents.lost import about_rules, as_lost, lost_in, unreadable
from knobctl.documents.model import RULE_KINDS
from knobctl.documents.reader import read_bytes
from knobctl.documents.repository import STDIN, Repository, below_checkout, repository_root
from knobctl.documents.settings import SETTINGS_FILE, read_settings
from knobctl.documents.sources import Files, Revision, WorkingTree
from knobctl.documents.unchanged import Unchanged
from knobctl.errors import UsageError
from knobctl.knobs.catalogue import load_catalogue, read_catalogue
from knobctl.text import count

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knobctl.documents.filing import Filing
    from knobctl.documents.gathering import Gathered
    from knobctl.documents.settings import RepositorySettings
    from knobctl.knobs import Catalogue


MANY: Final = 200
"""From how many files on a folder is looked up in the index: fewer are read as fast as that."""


class Opening:
    """The state of one opening; see `open_repository`."""

    def __init__(  # noqa: PLR0913  each is one thing that only the caller knows
        self,
        paths: Sequence[str],
        catalogue: Catalogue | None,
        cwd: Path,
        stdin: Callable[[], bytes],
        tenant: str | None,
        files: Files | None,
        *,
        now: Repository | None = None,
        like: Repository | None = None,
        filing: Callable[[Repository, Files], Filing] | None = None,
    ) -> None:
        """Take what `open_repository` and `open_base` take.

        Args:
            paths: See there, as the next five.
            catalogue: The knobs.
            cwd: The working folder.
            stdin: Reads standard input.
            tenant: Whose bare knob maps are.
            files: Where to read from.
            now: The working folder as it was read, where `files` are a revision of it.
            like: Whose settings hold; None for its own.
            filing: Gives what is known of the files of a large folder; None to read every file.
        """
        self._cwd, self._stdin, self._tenant = cwd, stdin, tenant
        self._paths = list(paths) or ["."]
        self._may_lack = files is not None
        root, self._folders = self._places()
        root = files.root if files else root
        settings = like.settings if like else read_settings(root, files)
        if catalogue is None:
            catalogue = _catalogue_of(settings, files, now)
        self._unchanged = Unchanged(now, files) if now and isinstance(files, Revision) else None
        self._files: Files = files or WorkingTree(root)
        self._below = f"{self._files.root}/"
        self._skips = matcher(settings.skip)
        self._repository = Repository(root, catalogue, settings, below=below_checkout(root))
        self._shown: dict[str, str] = {}
        self._seen: set[str] = set()
        self._walked: set[str] = set()
        self._repository.settings_source = self._source(SETTINGS_FILE)
        self._filing_of = filing
        self._filing: Filing | None = None

    def _places(self) -> tuple[Path, list[Path]]:
        """The root, and the folders in which the rest of the repository lies."""
        asked = dict.fromkeys(
            str(self._cwd) if path == "-" else _folder_of(self._absolute(path))
            for path in self._paths
        )
        roots = dict.fromkeys(repository_root(Path(folder)) for folder in asked)
        marked = [root for root, is_marked in roots if is_marked]
        if len(marked) > 1:
            raise UsageError(
                f"the PATHs lie in {len(marked)} repositories: {', '.join(map(str, marked))}",
                hint="run knobctl once for each",
            )
        if marked:
            return marked[0], marked
        folders = [root for root, _ in roots]
        return Path(os.path.commonpath(folders)), folders

    def _absolute(self, path: str) -> str:
        # Plain text: a command line can name thousands of files, and a Path costs more than a look at one.
        return os.path.normpath(f"{self._cwd}/{path}" if path[:1] != "/" else path)

    @collector_paused()
    def repository(self, *, whole: bool, may_be_empty: bool = False) -> Repository:
        """Read everything; folders in which there is nothing are refused, unless that may be."""
        for path in self._paths:
            if path == "-":
                if self._unchanged is None:  # a revision has no standard input
                    self._judge_text(self._stdin(), STDIN, STDIN, named=True)
            else:
                self._judge_path(path)
        repository = self._repository
        may_be_empty = may_be_empty or self._may_lack
        if not repository.judged and not repository.findings and not may_be_empty:
            self._refuse_emptiness()
        if whole or self._needs_the_rest():
            self._read_rest()
        repository.findings += layer_findings(repository)
        repository.findings += claim_findings(repository)
        if self._filing:
            self._filing.close()
        repository.links += map(self._source, self._files.links)
        return repository

    def gather(self) -> Gathered | None:
        """Read every file that bears on a run before any is understood, so that it is known what the run is about.

        What is understood afterwards is what was listed and read here.

        Returns:
            None where a PATH or a file cannot be read: to say so is for `repository`.
        """
        from knobctl.documents.gathering import Gathered  # only who remembers pays for its hashes

        files = self._files = Gathered(self._files)
        try:
            for path in self._paths:
                name = self._name(self._absolute(path))
                kind = files.kind(name)
                if kind not in {"file", "folder"}:
                    return None
                for found in files.names(name, self._skips) if kind == "folder" else (name,):
                    files.count(found)
            for found in self._everywhere(files):
                files.count(found)
        except OSError:
            return None
        return files

    @property
    def ground(self) -> Sequence[object]:
        """What a run stands on besides its files: where they lie, the settings, the knobs."""
        repository = self._repository
        return (
            repository.root,
            self._folders,
            repository.below,
            repository.settings,
            repository.catalogue.schema,
        )

    def rules(self) -> Repository:
        """Read the policies and waivers, wherever in the repository they lie; it may have none."""
        for path in self._paths:
            if self._files.kind(self._name(self._absolute(path))) not in {"file", "folder"}:
                raise UsageError(f"there is no file or folder {path}")
        repository = self._repository
        for name in self._names_of_rest():
            source = self._source(name)
            try:
                raw = self._files.read(name)
            except OSError as error:
                repository.findings.append(unreadable(source, error))
                continue
            if not may_hold_a_rule(raw):
                continue
            text = read_bytes(raw, source)
            found = sort_documents(text, named=False)
            repository.files += 1
            repository.take((one for one in found.documents if one.kind in RULE_KINDS), judged=True)
            repository.names[source] = name
            repository.texts[source] = text
            repository.findings += about_rules(found, lost=looks_like_a_policy(raw))
        repository.findings += claim_findings(repository)
        repository.links += map(self._source, self._files.links)
        return repository

    def _judge_path(self, path: str) -> None:
        name = self._name(self._absolute(path))
        match self._files.kind(name):
            case "file":
                self._judge(name, named=True)
            case "folder":
                names = self._files.names(name, self._skips)
                self._walked.add(name)
                first = list(islice(names, MANY))
                if self._filing_of and self._filing is None and len(first) == MANY:
                    self._filing = self._filing_of(self._repository, self._files)
                found = [*first, *names]
                self._repository.listed += len(found)
                found = [one for one in found if one not in self._seen]
                if self._filing and self._unchanged is None:
                    found = self._filing.give_known(found, self._seen, self._sources)
                for one in found:
                    self._judge(one, named=False)
            case "other":
                raise UsageError(
                    f"{path} is no regular file", hint="to read from a pipe: knobctl ... -"
                )
            case _:
                if not self._may_lack:
                    raise UsageError(f"there is no file or folder {path}")

    def _name(self, path: str) -> str:
        if path.startswith(self._below):
            return path[len(self._below) :]
        name = os.path.relpath(path, self._files.root)
        return "" if name == "." else name

    def _judge(self, name: str, *, named: bool) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        if self._unchanged and self._unchanged.give(name, self._repository, judged=True):
            return
        source = self._source(name)
        filing = None if named else self._filing
        if filing and filing.give(name, source, judged=True):
            return
        try:
            raw = filing.read(name) if filing else self._files.read(name)
        except OSError as error:
            self._repository.files += 1
            self._repository.findings.append(unreadable(source, error))
            self._repository.lost.append(unreadable(source, error))
            self._repository.veiled.append(source)
            return
        self._judge_text(raw, source, name, named=named)

    def _source(self, name: str) -> str:
        """The file as findings name it: relative to the working folder."""
        folder, slash, file = name.rpartition("/")
        shown = self._shown.get(folder)
        if shown is None:
            path = os.path.relpath(self._files.root / folder, self._cwd)
            shown = self._files.prefix + ("" if path == "." else f"{path}/")
            self._shown[folder] = shown
        source = shown + (file if slash else name)
        # Linux takes any bytes as a name; what is no text is shown by its escapes.
        return (
            source if source.isascii() else os.fsencode(source).decode("utf-8", "backslashreplace")
        )

    def _sources(self, names: list[str]) -> list[str]:
        """As `_source`, of many files."""
        files = self._files
        is_here = files.root == self._cwd and not files.prefix
        return names if is_here and "".join(names).isascii() else list(map(self._source, names))

    def _judge_text(self, raw: bytes, source: str, name: str, *, named: bool) -> None:
        repository = self._repository
        repository.files += 1
        if not named and is_large_output(raw):
            repository.skipped.append(source)
            return
        text = read_bytes(raw, source)
        found = sort_documents(text, named=named, tenant=self._tenant if named else None)
        repository.take(found.documents, judged=True)
        repository.findings += found.findings
        if self._filing and not named:
            self._filing.mark(raw, text, found)
        if found.findings and looks_like_a_policy(raw):
            repository.lost += lost_in(found)
        repository.names[source] = name
        repository.texts[source] = text
        repository.reading[name] = found
        if found.strangers and not found.documents:
            repository.skipped.append(source)
        if text.troubles and may_hold_a_fleet(raw):
            repository.veiled.append(source)

    def _refuse_emptiness(self) -> None:
        repository = self._repository
        what = ", ".join(self._paths)
        if repository.files:
            raise UsageError(
                f"no document of knobctl in {what}; somebody else's: {count(repository.files, 'file')}",
                hint="a document begins with tenant: NAME, layer: NAME, policy:, waiver: or fleet:",
            )
        raise UsageError(
            f"no *.yaml, *.yml or *.json file in {what}",
            hint="name the files or their folder; from an engine's sets they are made by: knobctl pull",
        )

    def _needs_the_rest(self) -> bool:
        repository = self._repository
        return any(
            repository.layer(name) is None
            for tenant in repository.tenants
            for name in tenant.layers
        ) or bool(claim_findings(repository))

    def _everywhere(self, files: Files) -> Iterator[str]:
        """The files of the repository."""
        root = files.root
        folders = (
            [self._name(str(folder)) for folder in self._folders]
            if root in self._folders[0].parents
            else [""]
        )
        for folder in folders:
            if folder not in self._walked:
                yield from files.names(folder, self._skips)

    def _names_of_rest(self) -> Iterator[str]:
        """The files of the repository that were not read yet."""
        for name in self._everywhere(self._files):
            if name not in self._seen:
                self._seen.add(name)
                yield name

    def _read_rest(self) -> None:
        repository = self._repository
        for name in self._names_of_rest():
            if self._unchanged and self._unchanged.give(name, repository, judged=False):
                continue
            source = self._source(name)
            if self._filing and self._filing.give(name, source, judged=False):
                continue
            try:
                raw = self._filing.read(name) if self._filing else self._files.read(name)
            except OSError as error:
                repository.lost.append(as_lost(unreadable(source, error)))
                repository.veiled.append(source)
                continue
            if not may_be_ours(raw):
                continue
            text = read_bytes(raw, source)
            found = sort_documents(text, named=False)
            repository.take(found.documents, judged=False)
            repository.names[source] = name
            lost = lost_in(found) if found.findings and looks_like_a_policy(raw) else []
            if found.documents or lost:
                repository.texts[source] = text
            repository.lost += map(as_lost, lost)
            if text.troubles:
                if not lost:
                    repository.unread.append(source)
                if may_hold_a_fleet(raw):
                    repository.veiled.append(source)


def _catalogue_of(
    settings: RepositorySettings, files: Files | None, now: Repository | None
) -> Catalogue:
    """The knobs that the settings name; those of now, the same ones, where they have not changed."""
    if settings.schema is None or not isinstance(files, Revision):
        return load_catalogue(settings.schema)
    name = settings.schema.relative_to(files.root.resolve()).as_posix()
    found = read_catalogue(lambda: files.read(name), f"{files.prefix}{name}")
    return now.catalogue if now and now.catalogue.schema == found.schema else found


def _folder_of(path: str) -> str:
    return path if os.path.isdir(path) else path.rpartition("/")[0] or "/"  # noqa: PTH112  plain text, as above
