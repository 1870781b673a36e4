"""What the methods of every service have in common: who calls, how often they may, how a call is refused."""

from __future__ import annotations

import asyncio
import logging
import re
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

from connectrpc.code import Code
from connectrpc.errors import ConnectError

from knobctl.server.auth import admit, is_tenant
from knobctl.server.limits import too_large
from knobctl.server.refusal import ServiceError
from knobctl.server.request_id import current_request_id
from knobctl.server.wire.errors import connect_error

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import TypeAlias

    from connectrpc.request import RequestContext

    from knobctl.server.auth import Caller
    from knobctl.server.limits import Rate, Stopping
    from knobctl.server.principals import Principals

    Context: TypeAlias = RequestContext[Any, Any]

P = ParamSpec("P")
T = TypeVar("T")
log: Final = logging.getLogger(__name__)

_TOO_LARGE: Final = re.compile(r"message is larger than configured max (\d+)")
"""What connectrpc says of a message that is too large only when it is unpacked."""


@dataclass(slots=True)
class Call:
    """One request, with what becomes known of it while it is answered."""

    method: str = ""
    """Empty where no method of ours was reached."""
    tenant: str = ""
    subject: str = ""
    code: str = ""
    """`ok` or the code of the error."""
    cause: BaseException | None = None
    """What the refusal came from."""


_call: ContextVar[Call] = ContextVar("call")
_caller: ContextVar[Caller] = ContextVar("caller")


def begin_call() -> Call:
    """Note, from here on in this context, what becomes known of a call."""
    call = Call()
    _call.set(call)
    return call


def current_call() -> Call:
    """What is known of the call that is being answered."""
    return _call.get()


def caller() -> Caller:
    """Who makes the call that is being answered."""
    return _caller.get()


def tenant_named(ctx: Context) -> str | None:
    """The tenant that the headers of a call name.

    Raises:
        ConnectError: `invalid_argument` if they name two. Who adds a header to a call must not be
            overruled by one that came with it, nor the other way round.
    """
    named = set(ctx.request_headers.getall("x-tenant-id"))
    if len(named) > 1:
        raise ConnectError(
            Code.INVALID_ARGUMENT, "X-Tenant-Id is there twice; a call is for one tenant"
        )
    return named.pop() if named else None


class Threads:
    """A few threads for work that waits; the log lines of that work know the call that it is for."""

    def __init__(self, at_once: int, name: str, stopping: Stopping) -> None:
        self._pool = ThreadPoolExecutor(at_once, name)
        self._stopping = stopping

    async def run(self, method: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
        """Do a piece of work, and give what it gives.

        Raises:
            ConnectError: `unavailable` if the server stops and the work outlasts the grace.
        """
        work = partial(copy_context().run, method, *arguments, **named)
        doing = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await self._stopping.wait_for(doing, grace_s=self._stopping.grace_s)
        except TimeoutError as error:
            if not doing.cancelled():
                raise  # it is the work's own
            raise ConnectError(
                Code.UNAVAILABLE,
                "the engine is stopping and waits no longer; what became of the call is not known",
            ) from error


class Authenticating:
    """Knows the caller, and that it is cleared for the method, before the body is read.

    So that whoever may not write hears that, and not what would be wrong with the request.
    """

    def __init__(
        self,
        principals: Principals,
        threads: Threads,
        clearances: Mapping[str, int],
    ) -> None:
        self._principals = principals
        self._threads = threads
        self._clearances = clearances

    async def on_start(self, ctx: Context) -> None:
        """Take the token and the tenant from the headers."""
        scheme, _, token = ctx.request_headers.get("authorization", "").partition(" ")
        bearer = token.strip() if scheme.lower() == "bearer" else None
        found = self._principals.remembered(bearer)
        if found is None:
            found = await self._threads.run(self._principals.caller, bearer)
        _caller.set(found)
        call, tenant = _call.get(), tenant_named(ctx)
        call.subject = found.subject
        call.tenant = _tenant_of(found, tenant)
        if ctx.method.name in self._clearances:
            admit(found, tenant, self._clearances[ctx.method.name])

    async def on_end(self, _token: None, _ctx: Context, _error: Exception | None, /) -> None:
        """Nothing to give back."""


def _tenant_of(caller: Caller, named: str | None) -> str:
    """The tenant that a call is for, as the log has it; empty where there is no telling."""
    if named is not None:
        return named if is_tenant(named) else ""
    return next(iter(caller.tenants)) if caller.tenants and len(caller.tenants) == 1 else ""


class Limiting:
    """Refuses a caller that calls too often."""

    def __init__(self, rate: Rate) -> None:
        self._rate = rate

    async def on_start(self, ctx: Context) -> None:
        """Take one call from the caller's allowance."""
        wait_s = self._rate.wait_s(caller())
        if wait_s:
            ctx.response_headers["retry-after"] = str(wait_s)
            raise ConnectError(
                Code.RESOURCE_EXHAUSTED,
                f"more than {self._rate.per_s:g} calls a second; try again in {wait_s} s",
            )

    async def on_end(self, _token: None, _ctx: Context, _error: Exception | None, /) -> None:
        """Nothing to give back."""


class Refusing:
    """Gives every error its wire form; an unforeseen one keeps its text to itself."""

    async def on_start(self, ctx: Context) -> None:
        """Note which method was reached."""
        _call.get().method = ctx.method.name

    async def on_end(self, _token: None, ctx: Context, error: Exception | None, /) -> None:
        """Translate.

        Raises:
            ConnectError: In the place of any other exception.
        """
        call = _call.get()
        call.cause = error.__cause__ if isinstance(error, ServiceError) else None
        refused = None if error is None else _wire_form(error, ctx)
        call.code = refused.code.value if refused else "ok"
        if refused is not None and refused is not error:
            raise refused from error


def _in_our_words(error: ConnectError) -> ConnectError:
    """Say a size for people; the library counts bytes."""
    unpacked = _TOO_LARGE.fullmatch(error.message)
    if error.code is not Code.RESOURCE_EXHAUSTED or unpacked is None:
        return error
    return ConnectError(error.code, too_large(int(unpacked[1])))


def _wire_form(error: Exception, ctx: Context) -> ConnectError:
    if isinstance(error, ConnectError):
        return _in_our_words(error)
    if isinstance(error, ServiceError):
        return connect_error(error)
    request_id = current_request_id()
    log.error("request %s to %s failed", request_id, ctx.method.name, exc_info=error)
    return ConnectError(Code.INTERNAL, f"internal error; request {request_id}")
