"""A knob repository: which files it has, which documents stand in them, and what belongs together."""

from __future__ import annotations

import gc
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from knobctl.documents.claims import claim_findings, layer_findings
from knobctl.documents.globs import matcher
from knobctl.documents.kinds import sort_documents
from knobctl.documents.layers import resolve
from knobctl.documents.model import Document, Effective, Kind
from knobctl.documents.reader import read_bytes
from knobctl.documents.settings import SETTINGS_FILE, RepositorySettings, read_settings
from knobctl.documents.sources import Files, WorkingTree
from knobctl.errors import UsageError
from knobctl.finding import Finding, Location, Severity
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knobctl.documents.tree import Text
    from knobctl.knobs import Catalogue

STDIN: Final = "<stdin>"
_MAY_BE_OURS: Final = re.compile(rb"tenant|layer|policy|waiver|fleet|\\").search
"""Tells texts that cannot hold a kind key from those that may; an escape may spell anything."""


@dataclass(eq=False)
class Repository:
    """The documents that a run is about, and those around them that bear on them."""

    root: Path
    catalogue: Catalogue
    settings: RepositorySettings
    judged: list[Document] = field(default_factory=list)
    """What the user asked about."""
    others: list[Document] = field(default_factory=list)
    """What else was read of the repository: used, not judged."""
    findings: list[Finding] = field(default_factory=list)
    """What is wrong with the judged files as documents; their content is judged elsewhere."""
    files: int = 0
    """How many files were judged."""
    skipped: list[str] = field(default_factory=list)
    """Files in which somebody else's documents stand, and links."""
    unread: list[str] = field(default_factory=list)
    """Files around the judged ones that look like ours and cannot be read."""
    names: dict[str, str] = field(default_factory=dict)
    """By source, the name relative to the root."""
    texts: dict[str, Text] = field(default_factory=dict)
    """By source, the texts of the judged files and of those around them that hold documents of ours."""

    def path_of(self, source: str) -> Path | None:
        """Where a file lies; None for standard input."""
        return None if source == STDIN else self.root / self.names[source]

    @property
    def documents(self) -> list[Document]:
        """All documents, the judged ones first."""
        return [*self.judged, *self.others]

    @cached_property
    def tenants(self) -> list[Document]:
        """The judged tenant documents."""
        return [document for document in self.judged if document.kind is Kind.TENANT]

    def of_kind(self, kind: Kind) -> list[Document]:
        """All documents of a kind, the judged ones first."""
        return [document for document in self.documents if document.kind is kind]

    @property
    def policies(self) -> list[Document]:
        """The repository's own policies."""
        return self.of_kind(Kind.POLICY)

    @property
    def waivers(self) -> list[Document]:
        """The repository's waivers."""
        return self.of_kind(Kind.WAIVER)

    @property
    def fleets(self) -> list[Document]:
        """The repository's fleets."""
        return self.of_kind(Kind.FLEET)

    def layer(self, name: str) -> Document | None:
        """A layer by its name; the first where two claim it."""
        return self._layers.get(name)

    @property
    def _layers(self) -> dict[str, Document]:
        if self._layer_table is None or self._layer_table[0] != len(self.others):
            table: dict[str, Document] = {}
            for document in self.of_kind(Kind.LAYER):
                table.setdefault(document.name, document)
            self._layer_table = len(self.others), table
        return self._layer_table[1]

    _layer_table: tuple[int, dict[str, Document]] | None = None

    def layers_of(self, tenant: Document) -> list[Document]:
        """The layers that a tenant names and that exist, in its order, each once."""
        table = self._layers
        return [table[name] for name in dict.fromkeys(tenant.layers) if name in table]

    def effective(self, tenant: Document) -> Effective:
        """Resolve a tenant's layers."""
        return resolve(tenant, self.layers_of(tenant) if tenant.layers else (), self.catalogue)

    def fleet(self, name: str | None = None) -> Document | None:
        """The fleet that applies.

        Args:
            name: The one that the user names; None for the repository's default, or `default`.

        Returns:
            None where none is named and the repository has no default: then there are no limits.

        Raises:
            UsageError: If the named one does not exist.
        """
        fleets = {document.name: document for document in reversed(self.fleets)}
        wanted = name or self.settings.default_fleet
        if wanted is None:
            return fleets.get("default")
        if wanted not in fleets:
            raise UsageError(f"there is no fleet {wanted}", hint=_did_you_mean(wanted, fleets))
        return fleets[wanted]

    def fleets_of(self, document: Document) -> list[Document]:
        """The fleets that a document belongs to, by their `include`; a fleet without one has all."""
        name = self.names.get(document.source, document.source)
        return [fleet for fleet in self.fleets if belongs(fleet, name)]

    def tenants_of(self, fleet: Document | None) -> list[Document]:
        """The judged tenants that belong to a fleet; all of them for None."""
        if fleet is None:
            return self.tenants
        return [
            tenant for tenant in self.tenants if belongs(fleet, self.names.get(tenant.source, ""))
        ]


def belongs(fleet: Document, name: str) -> bool:
    """Whether a file, by its name relative to the repository, belongs to a fleet."""
    include = fleet.value.get("include")
    if not isinstance(include, list):
        return True
    return matcher(str(pattern) for pattern in include)(name)


def open_repository(  # noqa: PLR0913  each is one thing that only the caller knows
    paths: Sequence[str],
    *,
    catalogue: Catalogue | None,
    cwd: Path,
    stdin: Callable[[], bytes],
    tenant: str | None = None,
    whole: bool = True,
    files: Files | None = None,
) -> Repository:
    """Read the documents of PATHs and what bears on them.

    Args:
        paths: Files, folders, `-` for standard input; the working folder if there are none.
        catalogue: The knobs; None for those of the repository's `knobctl.toml`, else the shipped ones.
        cwd: The working folder: paths and the names in findings are relative to it.
        stdin: Reads standard input, once.
        tenant: Whose knobs bare knob maps in the named files are.
        whole: Whether the rest of the repository is read too, for layers, waivers, policies, fleets
            and tenants that are claimed twice. If not, it is read only where a judged document needs it.
        files: Where to read from, such as a Git revision; None for the working folder. A revision may
            lack the PATHs.

    Raises:
        UsageError: If a PATH does not exist, or no document is found.
        InputError: If `knobctl.toml` or a schema that it names is wrong.
    """
    with _collector_paused():
        return _Opening(paths, catalogue, cwd, stdin, tenant, files).repository(whole=whole)


@contextmanager
def _collector_paused() -> Iterator[None]:
    """Let the garbage collector rest: documents are no garbage, and looking for it doubles the time."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def repository_root(path: Path) -> tuple[Path, bool]:
    """Find the repository of a path: the nearest folder at or above it with `knobctl.toml` or `.git`.

    Returns:
        The folder and True; else the path's own folder and False.
    """
    own = path if path.is_dir() else path.parent
    for folder in (own, *own.parents):
        if (folder / SETTINGS_FILE).is_file() or (folder / ".git").exists():
            return folder, True
    return own, False


class _Opening:
    """The state of one opening; see `open_repository`."""

    def __init__(
        self,
        paths: Sequence[str],
        catalogue: Catalogue | None,
        cwd: Path,
        stdin: Callable[[], bytes],
        tenant: str | None,
        files: Files | None,
    ) -> None:
        self._cwd, self._stdin, self._tenant = cwd, stdin, tenant
        self._paths = list(paths) or ["."]
        self._may_lack = files is not None
        root, self._folders = self._places()
        root = files.root if files else root
        settings = read_settings(root)
        if catalogue is None:
            catalogue = load_catalogue(settings.schema)
        self._files: Files = files or WorkingTree(root)
        self._skips = matcher(settings.skip)
        self._repository = Repository(root, catalogue, settings)
        self._shown: dict[str, str] = {}
        self._seen: set[str] = set()
        self._rest_is_read = False

    def _places(self) -> tuple[Path, list[Path]]:
        """The root, and the folders in which the rest of the repository lies."""
        roots = dict.fromkeys(
            repository_root(self._cwd if path == "-" else self._absolute(path))
            for path in self._paths
        )
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

    def _absolute(self, path: str) -> Path:
        return Path(os.path.normpath(self._cwd / path))

    def repository(self, *, whole: bool) -> Repository:
        for path in self._paths:
            if path == "-":
                self._judge_text(self._stdin(), STDIN, STDIN, named=True)
            else:
                self._judge_path(path)
        repository = self._repository
        if not repository.judged and not repository.findings and not self._may_lack:
            self._refuse_emptiness()
        if whole or self._needs_the_rest():
            self._read_rest()
        repository.findings += layer_findings(repository)
        repository.findings += claim_findings(repository)
        return repository

    def _judge_path(self, path: str) -> None:
        name = self._name(self._absolute(path))
        match self._files.kind(name):
            case "file":
                self._judge(name, named=True)
            case "folder":
                for found in self._files.names(name, self._skips):
                    self._judge(found, named=False)
            case "other":
                raise UsageError(
                    f"{path} is no regular file", hint="to read from a pipe: knobctl ... -"
                )
            case _:
                if not self._may_lack:
                    raise UsageError(f"there is no file or folder {path}")

    def _name(self, path: Path) -> str:
        name = os.path.relpath(path, self._files.root)
        return "" if name == "." else name

    def _judge(self, name: str, *, named: bool) -> None:
        if name in self._seen:
            return
        self._seen.add(name)
        source = self._source(name)
        try:
            raw = self._files.read(name)
        except OSError as error:
            self._repository.files += 1
            self._repository.findings.append(_unreadable(source, error))
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
        return shown + (file if slash else name)

    def _judge_text(self, raw: bytes, source: str, name: str, *, named: bool) -> None:
        repository = self._repository
        repository.files += 1
        text = read_bytes(raw, source)
        found = sort_documents(text, named=named, tenant=self._tenant if named else None)
        repository.judged += found.documents
        repository.findings += found.findings
        repository.names[source] = name
        repository.texts[source] = text
        if found.strangers and not found.documents:
            repository.skipped.append(source)

    def _refuse_emptiness(self) -> None:
        repository = self._repository
        what = ", ".join(self._paths)
        if repository.files:
            raise UsageError(
                f"no document of knobctl in {what}: {repository.files} files are somebody else's",
                hint="a document begins with tenant: NAME, layer: NAME, policy:, waiver: or fleet:",
            )
        raise UsageError(
            f"no *.yaml, *.yml or *.json file in {what}", hint="to start a repository: knobctl init"
        )

    def _needs_the_rest(self) -> bool:
        repository = self._repository
        return any(
            repository.layer(name) is None
            for tenant in repository.tenants
            for name in tenant.layers
        ) or bool(claim_findings(repository))

    def _read_rest(self) -> None:
        repository = self._repository
        root = self._files.root
        folders = (
            [self._name(folder) for folder in self._folders]
            if root in self._folders[0].parents
            else [""]
        )
        for name in (name for folder in folders for name in self._files.names(folder, self._skips)):
            if name in self._seen:
                continue
            self._seen.add(name)
            try:
                raw = self._files.read(name)
            except OSError:
                continue
            if _MAY_BE_OURS(raw) is None:
                continue
            source = self._source(name)
            text = read_bytes(raw, source)
            found = sort_documents(text, named=False)
            repository.others += found.documents
            repository.names[source] = name
            if found.documents:
                repository.texts[source] = text
            if text.troubles:
                repository.unread.append(source)


def _unreadable(source: str, error: OSError) -> Finding:
    return Finding(
        rule="unreadable-file",
        severity=Severity.ERROR,
        message=f"the file cannot be read: {error.strerror}",
        primary=Location(source, 1, 1, 1, 1),
    )


def _did_you_mean(name: str, known: Sequence[str] | dict[str, Document]) -> str | None:
    from difflib import get_close_matches

    close = get_close_matches(name, list(known), n=1)
    if close:
        return f"did you mean {close[0]}?"
    return f"known are {', '.join(sorted(known))}" if known else None
