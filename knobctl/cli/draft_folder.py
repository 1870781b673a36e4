"""The folder in which drafts of one engine's tenants lie, so that a lost terminal loses nothing."""

from __future__ import annotations

import os
import stat
from hashlib import blake2b
from threading import Lock
from typing import TYPE_CHECKING, Final

from knobctl.documents.files import is_own, write_atomically
from knobctl.errors import ConflictError, InputError, RefusedError
from knobctl.tui.draft_form import draft_bytes, read_draft

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime
    from pathlib import Path

    from knobctl.tui.draft import Draft

_LARGEST: Final = 2**22
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class DraftFolder:
    """Drafts by tenant. Safe to call from several threads; another session's work is never overwritten."""

    def __init__(self, folder: Path, engine: str, clock: Callable[[], datetime]) -> None:
        """Take the place; nothing is read yet.

        Args:
            folder: Where drafts of all engines lie.
            engine: Which engine, spelled so that it means the same wherever a session begins.
            clock: Tells when a draft was kept.
        """
        self._folder, self._engine, self._clock = folder, engine, clock
        self._writing = Lock()
        self._seen: dict[str, bytes | None] = {}
        """By tenant, what lay there when this session looked or wrote last."""
        self._homeless: dict[str, Draft] = {}
        """What no file could be written for: it lasts as long as the session."""
        self._second: set[str] = set()
        """Of whom another session's draft lies there, and this one's is not kept."""

    @property
    def unkept(self) -> tuple[str, ...]:
        """The tenants whose drafts end with this session."""
        return (*self._homeless, *self._second)

    def find(self, tenant: str) -> Draft | None:
        """Read the draft of a tenant; None where there is none.

        Raises:
            InputError: If what lies there is no draft, or somebody else's file.
        """
        with self._writing:
            if tenant in self._homeless:
                return self._homeless[tenant]
            content = self._read(self._path(tenant))
            self._seen[tenant] = content
            self._second.discard(tenant)
        if content is None:
            return None
        path = self._path(tenant)
        draft = read_draft(content, str(path))
        if (draft.engine, draft.tenant) != (self._engine, tenant):
            raise InputError(f"{path} holds the draft of {draft.tenant} on {draft.engine}")
        return draft

    def keep(self, draft: Draft) -> None:
        """Write a draft down; one in which nothing is edited is taken away.

        Raises:
            ConflictError: If another session changed it meanwhile.
            RefusedError: If it cannot be written.
        """
        path = self._path(draft.tenant)
        content = None if draft.is_empty else draft_bytes(draft, self._clock())
        with self._writing:
            self._homeless.pop(draft.tenant, None)
            if draft.tenant in self._seen and self._read(path) != self._seen[draft.tenant]:
                if content is not None:
                    self._second.add(draft.tenant)
                raise ConflictError(
                    f"another session changed the draft of {draft.tenant}; this one is not kept on the disk",
                    hint="write or push it, or go back and open the tenant again to take the other one",
                )
            try:
                if content is None:
                    path.unlink(missing_ok=True)
                else:
                    self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                    write_atomically(path, content, mode=0o600)
            except OSError as error:
                if content is not None:
                    self._homeless[draft.tenant] = draft
                raise RefusedError(
                    f"the draft of {draft.tenant} cannot be kept in {self._folder}: {error.strerror}",
                    hint="it is lost when this session ends",
                ) from error
            self._seen[draft.tenant] = content

    def _path(self, tenant: str) -> Path:
        return self._folder / f"{self._digest(self._engine)}-{self._digest(tenant)}.json"

    @staticmethod
    def _digest(name: str) -> str:
        return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()

    @staticmethod
    def _read(path: Path) -> bytes | None:
        """What lies there; None for nothing.

        Raises:
            InputError: If it cannot be read, is no plain file, or others may write it.
        """
        try:
            with os.fdopen(os.open(path, _READ), "rb") as file:
                about = os.fstat(file.fileno())
                if not (stat.S_ISREG(about.st_mode) and is_own(about)):
                    raise InputError(f"{path} is no file of yours alone; no draft is read from it")
                return file.read(_LARGEST)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise InputError(f"the draft in {path} cannot be read: {error.strerror}") from error
