"""What the bytes of a file tell before it is parsed: most files of a checkout need no closer look."""

from __future__ import annotations

import re
from typing import Final

from knobctl.documents.reader import MAX_BYTES

_UTF_16: Final = rb"\A\xff\xfe|\A\xfe\xff|"
_KIND: Final = re.compile(_UTF_16 + rb"tenant|layer|policy|waiver|fleet|\\").search
"""An escape may spell anything."""
_RULE: Final = re.compile(_UTF_16 + rb"policy|waiver|\\").search
_FLEET: Final = re.compile(_UTF_16 + rb"fleet").search
_POLICY: Final = re.compile(_UTF_16 + rb"""(?m:^\s*|[{,]\s*)["']?(?:policy|when)["']?\s*:""").search
_OUTPUT: Final = re.compile(rb'\s*\{\s*"(?:version": 1,\s*"command"|format": "knobctl-plan")').match


def may_be_ours(raw: bytes) -> bool:
    """Whether a document of any kind may stand in a file."""
    return bool(_KIND(raw) or _POLICY(raw)) and not is_large_output(raw)


def may_hold_a_rule(raw: bytes) -> bool:
    """Whether a policy or a waiver may stand in a file."""
    return bool(_RULE(raw) or _POLICY(raw)) and not is_large_output(raw)


def may_hold_a_fleet(raw: bytes) -> bool:
    """Whether a fleet may stand in a file that cannot be read."""
    return bool(_FLEET(raw))


def looks_like_a_policy(raw: bytes) -> bool:
    """Whether a rule would be lost with a broken file; `when` stands in one whose kind is mistyped."""
    return bool(_POLICY(raw))


def is_large_output(raw: bytes) -> bool:
    """Whether knobctl itself wrote it, a report or a plan: of a large fleet it is beyond the limit of a document."""
    return len(raw) > MAX_BYTES and bool(_OUTPUT(raw))
