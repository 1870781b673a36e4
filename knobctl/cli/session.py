"""What commands share at the rim: the only place that reads the environment and the clock for them."""

from __future__ import annotations

import os
import shlex
import sys
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, date, datetime
from functools import cached_property
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Final, Self

import click
from click.core import ParameterSource

from knobctl.cli.talk import folded
from knobctl.errors import KnobctlError
from knobctl.knobs import Catalogue, load_catalogue

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from knobctl.cli.options import Settings
    from knobctl.documents.filing import Filing
    from knobctl.documents.git import Git, GitCall
    from knobctl.documents.index import Index
    from knobctl.documents.opening import Opening
    from knobctl.documents.repository import Repository
    from knobctl.documents.sources import Files
    from knobctl.engine.interface import Engine
    from knobctl.engine.network import Network
    from knobctl.engine.pace import Pace
    from knobctl.engine.target import Target, Wanted
    from knobctl.engine.telling import Call

GIT_PLACE: Final = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_INDEX_FILE", "GIT_PREFIX"}
)
"""Where Git says that a repository lies."""
BUNDLE_VARIABLES: Final = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE")
_FEW_LINKS: Final = 3
"""So many are named, unless all are asked for."""


class Session:
    """One command's surroundings. Everything is found on first use; leaving closes what was opened."""

    def __init__(
        self,
        settings: Settings,
        *,
        engine: bool = True,
        clock: Callable[[], datetime] | None = None,
    ) -> None:
        """Take the options of one command line.

        Args:
            settings: The common options.
            engine: Whether the command is about an engine; where not, contexts mean nothing to it.
            clock: The clock, for tests.
        """
        self.settings = settings
        self._asks_engine = engine
        self.now: Callable[[], datetime] = clock or (lambda: datetime.now(UTC))
        """The time, with its zone."""
        self._invoked = click.get_current_context(silent=True)
        self.stop = Event()
        """Set when the run is to stop: what waits for an engine goes on at once."""
        self._opened = ExitStack()
        self._said: set[str] = set()
        self._make_room: Callable[[], None] | None = None
        self._overhear: Callable[[Call], object] | None = None
        self._overhear_git: Callable[[GitCall], object] = lambda _: None
        self._catalogue: Catalogue | None = None
        self._input_begun, self._input_ended = b"", False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    @property
    def today(self) -> date:
        """The day, in the user's time zone."""
        return self.now().astimezone().date()

    @property
    def cwd(self) -> Path:
        """The working folder."""
        return Path.cwd()

    @property
    def config_folder(self) -> Path:
        """Where the user's contexts lie."""
        return _user_folder("config")

    @property
    def state_folder(self) -> Path:
        """Where journals of runs lie."""
        return _user_folder("state")

    @property
    def data_folder(self) -> Path:
        """Where stores and question sets lie."""
        return _user_folder("data")

    @property
    def cache_folder(self) -> Path:
        """Where answers lie that may be thrown away."""
        return _user_folder("cache")

    @property
    def actor(self) -> str:
        """The local user: who the embedded engine writes into its audit events."""
        import getpass

        try:
            return getpass.getuser()
        except (KeyError, OSError):
            return f"uid {os.getuid()}"

    @property
    def catalogue(self) -> Catalogue:
        """The knobs: of `--schema`, the context, the repository that was read, or the working folder's."""
        if self._catalogue is None:
            self._catalogue = self._chosen_catalogue() or self._catalogue_here()
        return self._catalogue

    def _chosen_catalogue(self) -> Catalogue | None:
        schema = self.settings.schema or (self.target.schema if self._asks_engine else None)
        return load_catalogue(schema) if schema else None

    def _catalogue_here(self) -> Catalogue:
        from knobctl.documents.repository import repository_root
        from knobctl.documents.settings import read_settings

        return load_catalogue(read_settings(repository_root(self.cwd)[0]).schema)

    @cached_property
    def target(self) -> Target:
        """The engine that the options, the environment and the contexts choose."""
        from knobctl.engine.target import CONTEXTS_FILE, choose_target

        wanted, path, book = self._wanted(), self.config_folder / CONTEXTS_FILE, None
        if not wanted.engine and (wanted.context or os.path.lexists(path)):
            from knobctl.engine.contexts import load_contexts  # its models take a while to load

            book = load_contexts(path)
        return choose_target(
            wanted,
            book,
            environment=os.environ,
            folder=self.config_folder,
            notice=self.notice,
        )

    def _wanted(self) -> Wanted:
        """What flags and the environment say; a flag of the one kind beats a variable of the other."""
        from knobctl.engine.target import Wanted

        engine, context = self.settings.engine, self.settings.context
        if engine and context:
            typed = [name for name in ("engine", "context") if self._typed(name)]
            if typed == ["engine"]:
                context = None
            elif typed == ["context"]:
                engine = None
        return Wanted(
            engine=engine,
            context=context,
            token_file=self.settings.token_file,
            insecure=self.settings.insecure,
        )

    def _typed(self, option: str) -> bool:
        """Whether an option was typed; asked of the command that the session was made in, in whatever thread."""
        command = self._invoked
        source = command.get_parameter_source(option) if command else None
        return source is ParameterSource.COMMANDLINE

    @property
    def typed_place(self) -> str:
        """The options typed that another command needs to come to the same engine, as text to append."""
        return self._as_typed("engine", "context", "token_file", "insecure", "fleet", "schema")

    @property
    def typed_engine(self) -> str:
        """As `typed_place`, for a command that is told its fleet by a plan."""
        return self._as_typed("engine", "context", "token_file", "insecure", "schema")

    def _as_typed(self, *names: str) -> str:
        words = []
        for name in filter(self._typed, names):
            value = getattr(self.settings, name)
            words.append(f" --{name.replace('_', '-')}")
            words += [] if value is True else [f" {shlex.quote(str(value))}"]
        return "".join(words)

    @property
    def fleet(self) -> str | None:
        """The fleet that the options or the context name."""
        return self.settings.fleet or (self.target.fleet if self._asks_engine else None)

    @property
    def production(self) -> bool:
        """Whether the context is marked production."""
        return self.target.production

    @cached_property
    def pace(self) -> Pace | None:
        """The turns of all requests of this run; None where neither `--rate` nor the context limits them."""
        from knobctl.engine.pace import Pace

        rate = self.settings.rate or self.target.rate
        return Pace(rate) if rate else None

    def overhear(self, engine: Callable[[Call], object], git: Callable[[GitCall], object]) -> None:
        """Let somebody hear of each call of the engine and of Git; before one is asked for the first time."""
        self._overhear, self._overhear_git = engine, git

    def git(self, folder: Path) -> Git:
        """Git, as it is asked about a folder."""
        import time

        from knobctl.documents.git import Git

        return Git(_git_environment(folder), heard=self._overhear_git, clock=time.perf_counter)

    @cached_property
    def engine(self) -> Engine:
        """The engine, opened on first use and closed with the session."""
        if self._overhear is None:
            return self.unheard_engine
        import time

        from knobctl.engine.telling import TellingEngine

        return TellingEngine(self.unheard_engine, self._overhear, clock=time.perf_counter)

    @cached_property
    def unheard_engine(self) -> Engine:
        """The same engine without whoever overhears it."""
        from knobctl.engine.opening import InProcess, open_engine

        missing = self.target.missing_store
        engine = open_engine(
            self.target,
            catalogue=self.catalogue,
            network=self._network(),
            in_process=InProcess(
                actor=self.actor,
                embedder=os.environ.get("KNOBCTL_EMBEDDER"),
                embedder_key=os.environ.get("KNOBCTL_EMBEDDER_KEY"),
            ),
            clock=self.now,
            notice=self.notice,
        )
        self._opened.callback(engine.close)
        if missing:
            self._opened.callback(self._tell_empty_store, engine, missing)
        if self.target.is_embedded:
            from knobctl.cli.alarms import alarms_told

            self._opened.enter_context(alarms_told(self.notice))
        return engine

    def _tell_empty_store(self, engine: Engine, file: Path) -> None:
        """Say that a store was made where none was, and nothing was written: its name may be mistyped."""
        from knobctl.text import visible

        with suppress(KnobctlError):  # what is wrong with it was said where it was asked
            if next(engine.list(), None) is not None:
                return
            self.notice(f"there was no store {visible(str(file))}; an empty one was made")

    def _network(self) -> Network:
        """Resolve proxy and CA bundle once: the context's, else the environment's.

        Nothing on this machine is reached through a proxy: a token for it would leave the machine.
        """
        import random

        from knobctl.engine.network import Network, assert_bundle

        if self.target.is_embedded:
            return Network(pace=self.pace)
        proxy = (
            None if self.target.is_loopback else self.target.proxy or _proxy_for(self.target.engine)
        )
        named = next((os.environ[name] for name in BUNDLE_VARIABLES if os.environ.get(name)), None)
        bundle = self.target.ca_bundle or (Path(named) if named else None)
        assert_bundle(bundle)
        return Network(
            proxy=proxy, ca_bundle=bundle, pace=self.pace, chance=random.random, stop=self.stop
        )

    def repository(
        self,
        paths: Sequence[str] = (),
        *,
        tenant: str | None = None,
        whole: bool = True,
        files: Files | None = None,
        filing: Callable[[Repository, Files], Filing] | None = None,
    ) -> Repository:
        """Read the documents that PATHs name; the working folder's where none is named.

        Call it before `engine`: a repository may bring its own schema, and both go by one. With
        `filing` what the index knows of a large folder is not read.
        """
        opening = self.opening(paths, tenant=tenant, files=files, filing=filing)
        return self.understood(opening, whole=whole)

    def opening(
        self,
        paths: Sequence[str] = (),
        *,
        tenant: str | None = None,
        files: Files | None = None,
        filing: Callable[[Repository, Files], Filing] | None = None,
    ) -> Opening:
        """Find the repository of PATHs, its settings and its knobs; nothing of it is read yet."""
        from knobctl.documents.opening import Opening
        from knobctl.documents.reader import MAX_BYTES

        return Opening(
            paths,
            self._catalogue or self._chosen_catalogue(),
            self.cwd,
            # One more than the limit says that it is too much; a pipe may never end.
            lambda: self.read_input(MAX_BYTES + 1),
            tenant,
            files,
            filing=filing,
        )

    def input_begins(self, size: int) -> bytes:
        """The first bytes of standard input, which is read from its beginning all the same."""
        self._input_begun = sys.stdin.buffer.read(size)
        self._input_ended = len(self._input_begun) < size
        return self._input_begun

    def read_input(self, most: int = -1) -> bytes:
        """Standard input, to its end or so many bytes of it."""
        begun = self._input_begun
        if self._input_ended:  # what is typed would have to be ended once more
            return begun
        return begun + sys.stdin.buffer.read(max(most - len(begun), -1))

    def filing_and_live(self, repository: Repository, files: Files) -> Filing:
        """Open the index of a large repository, and begin to read what an engine elsewhere holds of all tenants."""
        self._catalogue = self._catalogue or repository.catalogue
        return self.filing(repository, files, meanwhile=self._list_ahead)

    def _list_ahead(self) -> None:
        """Begin to read what an engine elsewhere holds of all tenants."""
        from knobctl.engine.http import HttpEngine

        with suppress(KnobctlError):  # it is said where the engine is asked
            engine = None if self.target.is_embedded else self.unheard_engine
            if isinstance(engine, HttpEngine):
                engine.list_ahead()

    def filing(
        self,
        repository: Repository,
        files: Files,
        *,
        meanwhile: Callable[[], None] = lambda: None,
    ) -> Filing:
        """Open the index of a large repository.

        Args:
            repository: The one that is opened.
            files: Its files.
            meanwhile: What else is to be done once Git is at work: it comes to its end while others do
                theirs, and an engine on the same machine has its processors for itself the sooner.
        """
        from knobctl.documents.filing import Filing

        def index() -> Index:
            meanwhile()
            return self._index(repository)

        filing = Filing(index, repository, files, self.git(repository.root))
        self._opened.callback(filing.index.save)
        return filing

    def _index(self, repository: Repository) -> Index:
        """Read what earlier runs found in a repository's files."""
        from hashlib import blake2b

        from knobctl.cli.program import program_digest
        from knobctl.documents.index import Index

        root, schema = repository.root, repr(repository.catalogue.schema)
        name = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        key = blake2b(program_digest() + schema.encode(), digest_size=16).hexdigest()
        return Index(self.cache_folder / "index" / name, key)

    def understood(
        self, opening: Opening, *, whole: bool = True, may_be_empty: bool = False
    ) -> Repository:
        """Read the documents of an opened repository."""
        repository = opening.repository(whole=whole, may_be_empty=may_be_empty)
        self._note_links(repository)
        self._catalogue = self._catalogue or repository.catalogue
        return repository

    def base(
        self,
        repository: Repository,
        revision: str,
        paths: Sequence[str] = (),
        *,
        tenant: str | None = None,
    ) -> Repository:
        """Read what a Git revision has for the PATHs of a repository, from where the branch left it."""
        from knobctl.documents.revisions import open_base

        return open_base(
            repository,
            revision,
            paths,
            catalogue=self._chosen_catalogue(),
            cwd=self.cwd,
            tenant=tenant,
            git=self.git(repository.root),
            notice=self.notice,
        )

    def rules(self, path: str) -> Repository:
        """Read the policies and waivers of the repository in which a path lies."""
        from knobctl.documents.repository import open_rules

        repository = open_rules(path, catalogue=self._chosen_catalogue(), cwd=self.cwd)
        self._catalogue = repository.catalogue
        self._note_links(repository)
        return repository

    def _note_links(self, repository: Repository) -> None:
        """Say that what links lead to is read by nobody; with `-v` of all of them."""
        links = repository.links
        if not links:
            return
        from knobctl.text import count, visible

        most = len(links) if self.settings.verbose else _FEW_LINKS
        names = [*map(visible, links[:most])] + [f"{len(links) - most:,} more"] * (
            len(links) > most
        )
        are = "is" if len(links) == 1 else "are"
        self.notice(
            f"{count(len(links), 'link')} {are} passed over ({', '.join(names)}): links are not followed"
        )

    @contextmanager
    def beside(self, make_room: Callable[[], None]) -> Iterator[None]:
        """Let what is told make room for itself first, while something moves on the screen."""
        self._make_room = make_room
        try:
            yield
        finally:
            self._make_room = None

    def notice(self, text: str) -> None:
        """Tell the person something about the engine or the repository, once."""
        if text not in self._said:
            self._said.add(text)
            if self._make_room:
                self._make_room()
            self.settings.say(folded(f"note: {text}"))


def _git_environment(root: Path) -> dict[str, str] | None:
    """What Git runs in: a hook's variables name the checkout from where Git stood, not from a folder in it."""
    if not any((folder / ".git").exists() for folder in (root, *root.parents)):
        return None
    return {name: value for name, value in os.environ.items() if name not in GIT_PLACE}


def _user_folder(purpose: str) -> Path:
    # What only reads documents asks for none of them, and must not pay for the import.
    import platformdirs

    folders = platformdirs.PlatformDirs("knobctl")
    return Path(getattr(folders, f"user_{purpose}_dir"))


def _proxy_for(url: str) -> str | None:
    from requests.utils import get_environ_proxies, select_proxy

    return select_proxy(url, get_environ_proxies(url))
