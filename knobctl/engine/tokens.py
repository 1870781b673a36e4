"""Where the token of a call comes from. No token is ever in a message, a repr or a log."""

from __future__ import annotations

import re
import subprocess
import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Protocol

from knobctl.errors import EngineError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

COMMAND_TIMEOUT_S: Final = 30.0
TENANT_PLACE: Final = "{tenant}"
_SENDABLE: Final = re.compile(r"[\x21-\x7e]{1,16384}\Z")


class Tokens(Protocol):
    """Gives the bearer token of a call."""

    @property
    def per_tenant(self) -> bool:
        """Whether each tenant has a token of its own."""

    def token(self, tenant: str | None) -> str | None:
        """Give the token for calls about one tenant, or about all if None; None to send none.

        Raises:
            UsageError: If there is a source and nothing usable in it.
            EngineError: If the command that prints it fails.
        """


@dataclass(frozen=True, slots=True)
class NoToken:
    """Calls carry no token."""

    per_tenant: bool = False

    def token(self, tenant: str | None) -> str | None:  # noqa: ARG002  the protocol's signature
        """Give none."""
        return None


@dataclass(frozen=True, slots=True)
class GivenToken:
    """One token, already at hand."""

    value: str = field(repr=False)
    source: str
    """Where it was found, in words."""
    per_tenant: bool = False

    def token(self, tenant: str | None) -> str:  # noqa: ARG002  the protocol's signature
        """Give the token."""
        return sendable(self.value, self.source)


@dataclass(slots=True)
class TokenFile:
    """A file that holds nothing but the token; read once, when the first call needs it."""

    path: Path
    notice: Callable[[str], None] = field(repr=False)
    """Is told where others can read the file."""
    per_tenant: bool = field(default=False, init=False)
    _token: str | None = field(default=None, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def token(self, tenant: str | None) -> str:  # noqa: ARG002  the protocol's signature
        """Read the file, once."""
        with self._lock:
            if self._token is None:
                self._token = self._read()
            return self._token

    def _read(self) -> str:
        try:
            text = self.path.read_text("utf-8")
            mode = self.path.stat().st_mode
        except OSError as error:
            raise UsageError(
                f"the token file {self.path} cannot be read: {error.strerror}"
            ) from error
        except UnicodeDecodeError as error:
            raise UsageError(f"the token file {self.path} is no text") from error
        if mode & 0o044:
            self.notice(f"others can read the token file {self.path}; write: chmod 600 {self.path}")
        return sendable(text, f"the token file {self.path}")


@dataclass(slots=True)
class TokenCommand:
    """A command that prints the token; asked once a tenant where it takes the tenant, else once."""

    command: tuple[str, ...]
    timeout_s: float = COMMAND_TIMEOUT_S
    _tokens: dict[str, str] = field(default_factory=dict, init=False, repr=False)
    _locks: dict[str, threading.Lock] = field(default_factory=dict, init=False, repr=False)

    @property
    def per_tenant(self) -> bool:
        """Whether the command takes the tenant."""
        return any(TENANT_PLACE in part for part in self.command)

    def token(self, tenant: str | None) -> str:
        """Run the command, once for each tenant."""
        key = (tenant or "") if self.per_tenant else ""
        with self._locks.setdefault(key, threading.Lock()):
            if key not in self._tokens:
                self._tokens[key] = self._run(key)
            return self._tokens[key]

    def _run(self, tenant: str) -> str:
        name = self.command[0]
        arguments = [part.replace(TENANT_PLACE, tenant) for part in self.command]
        try:
            done = subprocess.run(  # noqa: S603  the user's own command, without a shell
                arguments,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_s,
                check=True,
            )
        except subprocess.TimeoutExpired:
            # Without the cause: it holds what the command had printed.
            raise EngineError(
                f"the token command {name} gave no token within {self.timeout_s:g} s"
            ) from None
        except subprocess.CalledProcessError as error:
            said = RuntimeError(error.stderr.decode("utf-8", "replace").strip()[-500:])
            raise EngineError(
                f"the token command {name} failed with exit {error.returncode}",
                hint="-v shows what it said",
            ) from said
        except OSError as error:
            raise EngineError(
                f"the token command {name} cannot be run: {error.strerror}"
            ) from error
        return sendable(
            done.stdout.decode("utf-8", "replace"), f"the output of the token command {name}"
        )


def sendable(text: str, source: str) -> str:
    """Strip a token of the space around it, and see that a header can carry it.

    Raises:
        UsageError: Naming the source, never the text.
    """
    token = text.strip()
    if not token:
        raise UsageError(f"{source} holds no token")
    if not _SENDABLE.match(token):
        raise UsageError(
            f"{source} holds something else than one token: one word of ASCII characters"
        )
    return token
