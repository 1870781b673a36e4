"""Reflection, so that clients like grpcurl call the engine without its .proto. Open to everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from connectrpc_grpcreflect import (
    ServerReflectionAlphaASGIApplication,
    ServerReflectionAlphaService,
    ServerReflectionASGIApplication,
    ServerReflectionService,
)

from knobctl.server.limits import LARGEST_BODY
from knobctl.server.wire.bad_request_pb import desc as bad_request_desc
from knobctl.server.wire.bounded_json import bounded_codecs
from knobctl.server.wire.context_pb import desc as context_desc
from knobctl.server.wire.health_pb import desc as health_desc
from knobctl.server.wire.knobs_service_pb import desc as knobs_desc

if TYPE_CHECKING:
    from collections.abc import Sequence

    from connectrpc.interceptor import MetadataInterceptor


def reflection_applications(
    interceptors: Sequence[MetadataInterceptor[None]],
) -> tuple[ServerReflectionASGIApplication, ServerReflectionAlphaASGIApplication]:
    """Make the ASGI applications of both versions that clients speak: every service, and the details of errors."""
    described = (knobs_desc(), context_desc(), health_desc(), bad_request_desc())
    return (
        ServerReflectionASGIApplication(
            ServerReflectionService(*described),
            interceptors=interceptors,
            read_max_bytes=LARGEST_BODY,
            codecs=bounded_codecs(),
        ),
        ServerReflectionAlphaASGIApplication(
            ServerReflectionAlphaService(*described),
            interceptors=interceptors,
            read_max_bytes=LARGEST_BODY,
            codecs=bounded_codecs(),
        ),
    )
