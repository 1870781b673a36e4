"""A refusal of the service, as the wire says it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectrpc.code import Code
from connectrpc.errors import ConnectError

from knobctl.server.wire.bad_request_pb import BadRequest

if TYPE_CHECKING:
    from knobctl.server.refusal import ServiceError


def connect_error(error: ServiceError) -> ConnectError:
    """Give a refusal its Connect form; violations become a `google.rpc.BadRequest` detail."""
    violations = [
        BadRequest.FieldViolation(field=violation.field, description=violation.description)
        for violation in error.violations
    ]
    details = [BadRequest(field_violations=violations)] if violations else []
    return ConnectError(Code(error.code.value), error.message, details)
