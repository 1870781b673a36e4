"""A knob repository: which files it has, which documents stand in them, and what belongs together."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

from knobctl.documents.globs import matcher
from knobctl.documents.layers import resolve
from knobctl.documents.model import Document, Effective, Kind
from knobctl.documents.settings import SETTINGS_FILE, RepositorySettings
from knobctl.errors import UsageError
from knobctl.text import count, nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
    from pathlib import Path

    from knobctl.documents.filing import Filing
    from knobctl.documents.kinds import Sorted
    from knobctl.documents.sources import Files
    from knobctl.documents.tree import Text
    from knobctl.finding import Finding
    from knobctl.knobs import Catalogue, KnobValue

STDIN: Final = "<stdin>"


class Attached(NamedTuple):
    """A file of evidence that no document names: somebody attached it to this run."""

    path: str
    """As it is shown: inside the repository relative to its root, else as it was typed."""
    file: Path


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
    lost: list[Finding] = field(default_factory=list)
    """What is wrong with files, judged or not, that cannot be read and may hold a policy."""
    files: int = 0
    """How many files were judged."""
    listed: int = 0
    """How many files of folders are to be judged: for whoever waits until they are."""
    skipped: list[str] = field(default_factory=list)
    """Judged files in which only somebody else's documents stand."""
    links: list[str] = field(default_factory=list)
    """Links, judged or not, that were passed over and could hold documents."""
    unread: list[str] = field(default_factory=list)
    """Files around the judged ones that look like ours and cannot be read."""
    veiled: list[str] = field(default_factory=list)
    """Files, judged or not, that cannot be read and may hold a fleet."""
    names: dict[str, str] = field(default_factory=dict)
    """By source, the name relative to the root."""
    settings_source: str = SETTINGS_FILE
    """The file of the settings as findings name files, whether there is one or not."""
    below: str = ""
    """Where the root lies in its Git checkout, as a prefix of those names."""
    texts: dict[str, Text] = field(default_factory=dict)
    """By source, the texts of the judged files and of those around them that hold documents of ours."""
    revision: str = ""
    """The Git revision that was read, as the user wrote it; empty for the working folder."""
    prefix: str = ""
    """What stands before the name of a file of that revision: the revision, or the commit where the branch left it."""
    reading: dict[str, Sorted] = field(default_factory=dict)
    """By name, what stands in a judged file, and what reading it found."""
    shared: set[str] = field(default_factory=set)
    """Sources that this revision and the working folder have alike, and whose documents are the same ones."""
    filing: Filing | None = None
    """What the index knows of its files; None where there is none."""
    attached: tuple[Attached, ...] = ()
    """Evidence beside what documents name."""
    evidence_then: dict[str, bytes | None] = field(default_factory=dict)
    """Of a revision, the files of evidence that are others in the working folder; None for one that it had not."""
    whole: Repository | None = None
    """The repository of which this is the part about one tenant; None where it is no part."""

    _shared_evidence: dict[tuple[str, ...], tuple[str, ...]] = field(default_factory=dict)
    """By the layers of a tenant, what bears on it besides what it names."""
    _takers: dict[str, set[str]] = field(default_factory=dict)
    """By layer, the tenants that take it."""
    _named: dict[str, list[Document]] = field(default_factory=dict)
    """By tenant, its documents, whether others stand in for them or not."""
    _layered: dict[tuple[str, ...], dict[str, KnobValue]] = field(default_factory=dict)
    """By the layers of a tenant, what they come to."""
    _layers: dict[str, Document] = field(default_factory=dict)
    _by_kind: dict[Kind, list[Document]] = field(default_factory=dict)

    def take(self, documents: Iterable[Document], *, judged: bool) -> None:
        """Add documents that were read."""
        for document in documents:
            (self.judged if judged else self.others).append(document)
            self._by_kind.setdefault(document.kind, []).append(document)
            if document.kind is Kind.LAYER:
                self._layers.setdefault(document.name, document)

    def take_tenants(self, documents: Sequence[Document]) -> None:
        """Add documents that are all of tenants, and judged: as `take`, for a hundred thousand of them."""
        self.judged += documents
        self._by_kind.setdefault(Kind.TENANT, []).extend(documents)

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
        return self._by_kind.get(kind, [])

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

    @cached_property
    def claims(self) -> dict[str, list[Document]]:
        """By tenant, all documents that claim it."""
        found: dict[str, list[Document]] = {}
        for document in (*self.judged, *self.others):
            if document.kind is Kind.TENANT:
                found.setdefault(document.name, []).append(document)
        return found

    @cached_property
    def claimed(self) -> frozenset[str]:
        """The tenants that have a document, judged or not."""
        return frozenset([one.name for one in self.of_kind(Kind.TENANT)])

    def place_of(self, document: Document) -> str:
        """Name a document's file, with the revision where it is one's."""
        return (
            f"{self.prefix}{document.source}" if document.source in self.shared else document.source
        )

    def counterpart(self, tenant: Document, of: Repository) -> Document | None:
        """Find what this repository has for a tenant's document of another state of it.

        In the same file; or, as files are renamed, the one that no other document of the tenant has there.
        """
        found = self.claims.get(tenant.name, [])
        name = of.names.get(tenant.source)
        for one in found:
            if self.names.get(one.source) == name:
                return one
        if tenant.source == STDIN:
            return found[0] if len(found) == 1 else None
        there = {of.names.get(one.source) for one in of.claims.get(tenant.name, [])}
        gone = [one for one in found if self.names.get(one.source) not in there]
        if len(gone) > 1:
            gone = [one for one in gone if one.text.text == tenant.text.text]
        return gone[0] if len(gone) == 1 else None

    def layer(self, name: str) -> Document | None:
        """A layer by its name; the first where two claim it."""
        return self._layers.get(name)

    def layers_of(self, tenant: Document) -> list[Document]:
        """The layers that a tenant names and that exist, in its order, each once."""
        found = map(self._layers.get, dict.fromkeys(tenant.layers))
        return [layer for layer in found if layer is not None]

    def evidence_of(self, tenant: Document) -> tuple[str, ...]:
        """The files of evidence that bear on a tenant: what it names, what its layers name, what is attached."""
        if not (tenant.layers or self.attached):
            return tenant.evidence
        shared = self._shared_evidence.get(tenant.layers)
        if shared is None:
            named = [path for layer in self.layers_of(tenant) for path in layer.evidence]
            shared = (*named, *(one.path for one in self.attached))
            self._shared_evidence[tenant.layers] = shared
        return tuple(dict.fromkeys((*tenant.evidence, *shared))) if shared else tenant.evidence

    @property
    def evidence(self) -> Collection[str]:
        """The files of evidence that documents name."""
        documents = (*self.of_kind(Kind.TENANT), *self.of_kind(Kind.LAYER))
        return {path for document in documents for path in document.evidence}

    def attach(self, files: Iterable[Attached]) -> None:
        """Take evidence that no document names."""
        self.attached = (*self.attached, *files)
        self._shared_evidence = {}

    def takers(self, layer: str) -> Collection[str]:
        """The tenants, judged or not, that take a layer."""
        if not self._takers:
            for tenant in (self.whole or self).of_kind(Kind.TENANT):
                for name in tenant.layers:
                    self._takers.setdefault(name, set()).add(tenant.name)
        return self._takers.get(layer, ())

    def documents_of(self, tenant: str) -> Sequence[Document]:
        """The documents of a tenant, whether others stand in for them or not."""
        if not self._named:
            for document in (self.whole or self).of_kind(Kind.TENANT):
                self._named.setdefault(document.name, []).append(document)
        return self._named.get(tenant, ())

    def layers_unlike(self, other: Repository) -> frozenset[str]:
        """The names of the layers that another state of the repository does not have just so."""
        names = self._layers.keys() | other._layers.keys()
        return frozenset(one for one in names if self.layer(one) is not other.layer(one))

    def desired(self, tenant: Document) -> Mapping[str, KnobValue]:
        """The canonical set that a tenant wants, without where it comes from; see `effective`."""
        unset, written = self.catalogue.unset, self._written(tenant)
        left = {name: value for name, value in written.items() if value != unset[name]}
        return written if len(left) == len(written) else left

    def wants(self, tenant: Document, held: Mapping[str, KnobValue]) -> bool:
        """Whether a canonical set is the one that a tenant wants."""
        written = self._written(tenant)
        # Most tenants write no value that means the default: then nothing is to be left out.
        return written == held or (len(written) > len(held) and self.desired(tenant) == held)

    def _written(self, tenant: Document) -> Mapping[str, KnobValue]:
        """What a tenant and its layers come to, values that mean the default included."""
        own, layers = tenant.values(self.catalogue), tenant.layers
        if not layers:
            return own
        below = self._layered.get(layers)
        if below is None:
            below = self._layered[layers] = {}
            for layer in self.layers_of(tenant):
                below.update(layer.values(self.catalogue))
        return {**below, **own}

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
        return [fleet for fleet in self.fleets if self._is_in(document, fleet)]

    def tenants_of(self, fleet: Document | None) -> list[Document]:
        """The judged tenants that belong to a fleet; all of them for None."""
        return [tenant for tenant in self.tenants if self._is_in(tenant, fleet)]

    def managed_by(self, fleet: Document | None) -> Collection[str]:
        """The names of all tenants, judged or not, that belong to a fleet; of all of them for None."""
        if fleet is None:
            return self.claimed
        tenants = self.of_kind(Kind.TENANT)
        return {tenant.name for tenant in tenants if self._is_in(tenant, fleet)}

    def _is_in(self, document: Document, fleet: Document | None) -> bool:
        include = fleet.value.get("include") if fleet else None
        if not isinstance(include, list):
            return True
        return matcher(map(str, include))(self.names.get(document.source, document.source))

    def fleet_over(self, tenant: Document, named: Document | None = None) -> Document | None:
        """The fleet under which a tenant is judged.

        Args:
            tenant: One of the judged tenants.
            named: The fleet that the user names; all judged tenants are in it then.

        Returns:
            The default fleet if it has the tenant, else the one whose `include` names its file;
            None where there is none, or where several do.
        """
        if named is not None or not self.fleets:
            return named
        including = self.fleets_including(tenant)
        return including[0] if len(including) == 1 else None

    def fleets_including(self, tenant: Document) -> list[Document]:
        """The fleets under one of which a tenant is judged: the default one, else all whose `include` names its file."""
        over = self.fleets_of(tenant)
        default = self.settings.default_fleet or "default"
        of_default = [fleet for fleet in over if fleet.name == default]
        return of_default or [fleet for fleet in over if "include" in fleet.value]

    def within(self, fleet: Document | None) -> Repository:
        """Leave only the tenants of a fleet judged, with what is wrong with their files and the shared ones.

        Args:
            fleet: The one that the user names; all tenants stay for None.

        Raises:
            UsageError: If there are tenants, and none of them belongs to it.
        """
        if fleet is None:
            return self
        kept = self.tenants_of(fleet)
        if self.tenants and not kept:
            raise UsageError(
                f"none of {count(len(self.tenants), 'tenant')} belongs to fleet {fleet.name} "
                f"({fleet.source}:{fleet.location().line})",
                hint="its include says which files do",
            )
        narrow = self.keeping(kept)
        foreign = {one.source for one in self.tenants} - {one.source for one in narrow.judged}
        narrow.findings = [
            one for one in self.findings if one.primary is None or one.primary.file not in foreign
        ]
        return narrow

    def keeping(self, tenants: Iterable[Document]) -> Repository:
        """The same repository, in which only these of the judged tenants are judged."""
        kept = set(map(id, tenants))
        if len(kept) == len(self.tenants):
            return self
        left = [one for one in self.tenants if id(one) not in kept]
        gone = set(map(id, left))
        judged = [one for one in self.judged if id(one) not in gone]
        return replace(self, judged=judged, others=[*left, *self.others])


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
    from knobctl.documents.opening import Opening

    return Opening(paths, catalogue, cwd, stdin, tenant, files).repository(whole=whole)


def open_rules(path: str, *, catalogue: Catalogue | None, cwd: Path) -> Repository:
    """Read the policies and waivers of the repository in which a path lies; it may have none.

    Args:
        path: A file or folder.
        catalogue: As for `open_repository`, also the next.
        cwd: The working folder.

    Raises:
        UsageError: If the path does not exist.
        InputError: As `open_repository`.
    """
    from knobctl.documents.opening import Opening

    return Opening([path], catalogue, cwd, bytes, None, None).rules()


def repository_root(path: Path) -> tuple[Path, bool]:
    """Find the repository of a path: the nearest folder at or above it with `knobctl.toml` or `.git`.

    Returns:
        The folder and True; else the path's own folder and False.
    """
    # Not by the methods of a Path: they end in an error where a folder may not be entered.
    own = path if os.path.isdir(path) else path.parent  # noqa: PTH112
    for folder in (own, *own.parents):
        if os.path.lexists(folder / SETTINGS_FILE) or os.path.exists(folder / ".git"):  # noqa: PTH110
            return folder, True
    return own, False


def below_checkout(root: Path) -> str:
    """Where a folder lies in the Git checkout around it: `infra/knobs/`; empty at its top, or in none."""
    for folder in (root, *root.parents):
        if os.path.exists(folder / ".git"):  # noqa: PTH110  as above
            return "".join(f"{part}/" for part in root.relative_to(folder).parts)
    return ""


def _did_you_mean(name: str, known: Sequence[str] | dict[str, Document]) -> str | None:

    close = nearest(name, list(known))
    if close:
        return f"did you mean {close}?"
    return f"known are {', '.join(sorted(known))}" if known else None
