"""Which engine a command line means: flag before environment before context before `embedded:`."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from knobctl.engine.tokens import GivenToken, NoToken, TokenCommand, TokenFile
from knobctl.errors import RefusedError, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from knobctl.engine.contexts import Context, ContextBook
    from knobctl.engine.tokens import Tokens

EMBEDDED: Final = "embedded:"
CONTEXTS_FILE: Final = "contexts.yaml"
TOKEN_VARIABLE: Final = "KNOBCTL_TOKEN"  # noqa: S105  the name of a variable, not a token


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """An engine and the way to it. Nothing in it is secret but what `tokens` gives."""

    engine: str = EMBEDDED
    """`embedded:`, `embedded:FILE`, or a URL."""
    context: str | None = None
    """The context that it comes from."""
    fleet: str | None = None
    schema: Path | None = None
    production: bool = False
    ticket_pattern: str | None = None
    """What the ticket of a push must match in this context."""
    insecure: bool = False
    """Whether plain HTTP beyond loopback was asked for."""
    ca_bundle: Path | None = None
    proxy: str | None = field(default=None, repr=False)
    rate: int | None = None
    """Requests a second that it gets at most from one run; None for no limit."""
    tokens: Tokens = field(default_factory=NoToken)

    @property
    def is_embedded(self) -> bool:
        """Whether the engine runs inside this process."""
        return self.engine.startswith(EMBEDDED)

    @property
    def kind(self) -> str:
        """What kind of engine it is, without address or secret: what is measured says so."""
        return "embedded" if self.is_embedded else "http"

    @property
    def missing_store(self) -> Path | None:
        """The file that is named for the embedded engine's store, where there is none yet."""
        named = self.engine.removeprefix(EMBEDDED) if self.is_embedded else ""
        file = Path(named).expanduser() if named else None
        return file if file and not file.exists() else None

    @property
    def is_loopback(self) -> bool:
        """Whether the engine is on this machine, so that nothing travels over a network."""
        return self.is_embedded or is_loopback(urlsplit(self.engine).hostname or "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What flags and the environment say about the engine."""

    engine: str | None = None
    context: str | None = None
    token_file: Path | None = None
    insecure: bool = False


def choose_target(
    wanted: Wanted,
    book: ContextBook | None,
    *,
    environment: Mapping[str, str],
    folder: Path,
    notice: Callable[[str], None],
) -> Target:
    """Find the engine, and the source of its token.

    An engine that is named by its URL takes nothing from a context: a context's token is for the
    context's engine.

    Args:
        wanted: An engine or a context, or neither: then the current context, else `embedded:`.
        book: The named engines; None where nobody asks for one.
        environment: Where tokens are looked up.
        folder: What relative paths of contexts are relative to.
        notice: Told what a person should know, such as a token file that others can read.

    Raises:
        UsageError: If both are given, or the context is unknown, or its variable is not set.
        RefusedError: If the way to the engine is not safe enough; see `assert_safe`.
    """
    if wanted.engine and wanted.context:
        raise UsageError(
            "an engine and a context are given; choose one", hint="drop --engine or --context"
        )
    name = None if wanted.engine or book is None else wanted.context or book.current
    if book is None or name is None:
        target = Target(
            engine=wanted.engine or EMBEDDED,
            insecure=wanted.insecure,
            tokens=_own_tokens(wanted, environment, notice) or NoToken(),
        )
    else:
        target = _from_context(name, book.named(name), wanted, environment, folder, notice)
    assert_safe(target)
    return target


def _from_context(
    name: str,
    context: Context,
    wanted: Wanted,
    environment: Mapping[str, str],
    folder: Path,
    notice: Callable[[str], None],
) -> Target:
    tokens = _own_tokens(wanted, environment, notice)
    return Target(
        engine=context.engine,
        context=name,
        fleet=context.fleet,
        schema=_path(context.schema_, folder),
        production=context.production,
        ticket_pattern=context.ticket_pattern,
        insecure=wanted.insecure,
        ca_bundle=_path(context.ca_bundle, folder),
        proxy=context.proxy,
        rate=context.rate,
        tokens=tokens or _context_tokens(name, context, environment, folder, notice),
    )


def _own_tokens(
    wanted: Wanted, environment: Mapping[str, str], notice: Callable[[str], None]
) -> Tokens | None:
    if wanted.token_file:
        return TokenFile(wanted.token_file, notice)
    if token := environment.get(TOKEN_VARIABLE):
        return GivenToken(token, f"the environment variable {TOKEN_VARIABLE}")
    return None


def _context_tokens(
    name: str,
    context: Context,
    environment: Mapping[str, str],
    folder: Path,
    notice: Callable[[str], None],
) -> Tokens:
    if context.token_command:
        return TokenCommand(tuple(context.token_command))
    if path := _path(context.token_file, folder):
        return TokenFile(path, notice)
    if variable := context.token_env:
        if variable not in environment:
            raise UsageError(
                f"the context {name} takes its token from {variable}, which is not set"
            )
        return GivenToken(environment[variable], f"the environment variable {variable}")
    return NoToken()


def _path(text: str | None, folder: Path) -> Path | None:
    return folder / Path(text).expanduser() if text else None


def assert_safe(target: Target) -> None:
    """See that neither tokens nor knobs travel in the clear without someone's wish.

    Raises:
        UsageError: If the engine's URL is none.
        RefusedError: For plain HTTP beyond loopback that was not asked for, and in a production
            context for any plain HTTP and for asking for it.
    """
    if target.is_embedded:
        return
    try:
        url = urlsplit(target.engine)
        _ = url.port
    except ValueError as error:
        raise UsageError(f"the engine {target.engine!r} is no URL: {error}") from error
    if url.scheme not in {"http", "https"} or not url.hostname:
        raise UsageError(
            f"the engine {target.engine!r} is neither embedded:[FILE] nor an http:// or https:// URL"
        )
    if url.username is not None or url.password is not None:
        raise UsageError("the engine's URL holds a user name; a token belongs into --token-file")
    if url.query or url.fragment:
        raise UsageError(f"the engine's URL ends before ? and #: {target.engine!r}")
    if target.production and (target.insecure or url.scheme == "http"):
        what = "--insecure" if target.insecure else "plain http://"
        raise RefusedError(
            f"the context {target.context} is marked production and refuses {what}",
            hint="use https://",
        )
    if url.scheme == "http" and not target.insecure and not is_loopback(url.hostname):
        raise RefusedError(
            f"{target.engine} is plain http:// to another machine: the token and the knobs travel in the clear",
            hint="use https://, or ask for it with --insecure",
        )


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine by its spelling, without asking a name server."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
