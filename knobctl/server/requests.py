"""What the service takes: every field of a request is looked at, and every fault is named."""

from __future__ import annotations

import base64
import re
from datetime import datetime
from typing import TYPE_CHECKING, Final

from knobctl.knobs import KnobType
from knobctl.server.audit import rfc3339
from knobctl.server.refusal import Violation, invalid
from knobctl.text import has_surrogates, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.knobs import Catalogue, Knob, KnobValue

USUAL_PAGE: Final = 100
LARGEST_PAGE: Final = 1000
LONGEST_REASON: Final = 4096
LONGEST_KEY: Final = 255


def accepted_config(catalogue: Catalogue, config: Mapping[str, object]) -> dict[str, KnobValue]:
    """Give the canonical set of a config by canonical names.

    Raises:
        ServiceError: `invalid_argument`, with a violation for each knob that is unknown or whose
            value it does not take.
    """
    violations = [
        violation
        for name, value in config.items()
        if (violation := _violation(catalogue.by_name.get(name), name, value))
    ]
    if violations:
        raise invalid(*violations)
    values: dict[str, KnobValue] = {
        name: value for name, value in config.items() if isinstance(value, (int, float, str))
    }
    return catalogue.canonical(values)


def _violation(knob: Knob | None, name: str, value: object) -> Violation | None:
    if knob is None:
        return Violation(name, f"{visible(name)} is no knob")
    return value_violation(knob, value)


def value_violation(knob: Knob, value: object) -> Violation | None:
    """Say what is wrong with a value of a knob; None where it takes it."""
    if knob.accepts(value):
        return None
    written = visible(spelled(value)[:80])
    return Violation(knob.name, f"{knob.name} is {written}; it must be {_values(knob)}")


def _values(knob: Knob) -> str:
    match knob.type:
        case KnobType.MODE:
            return f"one of {', '.join(knob.choices)}"
        case KnobType.INT32:
            return f"0 or a whole number in {knob.range_text}"
        case KnobType.DOUBLE:
            return f"0 or in {knob.range_text}" if knob.minimum != 0 else f"in {knob.range_text}"


def accepted_reason(reason: str) -> str:
    """Give the reason, if it is text of a reasonable length."""
    if len(reason) > LONGEST_REASON:
        raise invalid(Violation("reason", f"the reason is longer than {LONGEST_REASON} characters"))
    if has_surrogates(reason):
        raise invalid(Violation("reason", "the reason is no valid Unicode text"))
    return reason


def accepted_key(key: str | None) -> str | None:
    """Give the idempotency key, if it is one; None for none."""
    if key is None:
        return None
    if not 1 <= len(key) <= LONGEST_KEY or not (key.isascii() and key.isprintable()):
        raise invalid(
            Violation(
                "idempotency_key",
                f"an idempotency key is 1 to {LONGEST_KEY} printable ASCII characters",
            )
        )
    return key


def accepted_since(since: str | None) -> str:
    """Give the earliest time wanted, spelled as events spell theirs; empty for all."""
    if not since:
        return ""
    try:
        return rfc3339(datetime.fromisoformat(since))
    except (ValueError, OverflowError) as error:
        raise invalid(
            Violation(
                "since",
                "since must be an RFC 3339 time with its zone, such as 2026-11-29T20:00:00Z",
            )
        ) from error


def accepted_page_size(page_size: int) -> int:
    """Give the size of a page: the usual one for 0, at most the largest."""
    if page_size < 0:
        raise invalid(Violation("page_size", "page_size must not be negative"))
    return min(page_size or USUAL_PAGE, LARGEST_PAGE)


def page_token_for(kind: str, position: str) -> str:
    """Make the opaque token of a position in a list of that kind."""
    return base64.urlsafe_b64encode(f"{kind}/{position}".encode()).rstrip(b"=").decode()


def accepted_position(token: str, pattern: str) -> str | None:
    """Give the position of a page token; None to begin.

    Args:
        token: What a page before gave; empty to begin.
        pattern: What the content of this list's tokens looks like, with the position as its group.
    """
    if not token:
        return None
    padded = token + "=" * (-len(token) % 4)
    try:
        content = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
    except ValueError:
        content = ""
    match = re.fullmatch(pattern, content, re.ASCII)
    if match is None:
        raise invalid(Violation("page_token", "page_token is none that this list gave"))
    return match[1]
