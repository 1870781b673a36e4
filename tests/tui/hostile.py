"""A fleet, an engine and answers of engines whose every text was written to drive the terminal or the screen."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any, Final

from knobctl.engine.embedded import open_embedded
from knobctl.knobs import load_catalogue
from knobctl.text import INVISIBLE

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime
    from pathlib import Path

TAKEN: Final = "taken-over"
"""A title, a clipboard or a screen that shows this was driven from outside."""
COPIED: Final = base64.b64encode(TAKEN.encode()).decode()

HOSTILE: Final[Mapping[str, str]] = {
    "click": "[@click=app.quit]press me[/]",
    "style": "[bold red]all is well[/bold red]",
    "close": "[/]",
    "open": "[/",
    "bracket": "[",
    "json": '{"a": [true, [00], {"b": "[/c]"}]}',
    "title": f"\x1b]0;{TAKEN}\x1b\\x",
    "title-bell": f"\x1b]2;{TAKEN}\x07x",
    "title-c1": f"\x9d0;{TAKEN}\x9cx",
    "clipboard": f"\x1b]52;c;{COPIED}\x1b\\x",
    "clear": f"\x1b[2J\x1b[H{TAKEN}",
    "leave": f"\x1b[?1049l{TAKEN}",
    "cursor": "\x1b[?25lx",
    "mouse": "\x1b[?1003hx",
    "tmux-title": f"\x1bk{TAKEN}\x1b\\x",
    "link": "\x1b]8;;http://127.0.0.1:9/\x1b\\press\x1b]8;;\x1b\\",
    "return": "real\rfake",
    "backspace": "real\b\b\b\bfake",
    "lines": "one\ntwo\r\nthree\x0bfour\x0cfive\x85six\u2028seven",
    "bidi": "user \u202etxt.exe\u202c \u2066\u2067x\u2069",
    "zero-width": "ac\u200bme\u200d\ufeff\u2060",
    "wide": "漢字かな交じり文 한국어 🙂🙂🙂 👩\u200d👩\u200d👧 \uff21\uff23\uff2d\uff25",
    "combining": "Z" + "\u0335\u0310\u0352" * 40 + "algo",
    "tab": "a\tb\t\tc",
    "long": "x" * 10_000,
    "long-words": "word [b] " * 1_100,
    "long-wide": "漢" * 5_000,
    "runner": "::error::x ##[group]y ##vso[task.setvariable variable=a]b",
}
"""Texts by what they try."""
_PLAIN_NAMES: Final = {"return", "lines", "long", "long-words", "long-wide"}
"""What cannot be, or need not be, a name of a file."""


def hostile_fleet(folder: Path) -> list[str]:
    """Write a fleet in which texts of tenants, names of tenants and of files, and whole files are hostile.

    Returns:
        The tenants whose names are sound.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for kind, text in HOSTILE.items():
        quoted = json.dumps(text)
        (folder / f"{kind}.yaml").write_text(
            f"# {_one_line(text)}\ntenant: h-{kind}\nowner: {quoted}\n"
            f"labels: {{note: {quoted}, {json.dumps(text[:200])}: x}}\n"
            f"knobs:\n  # {_one_line(text)}\n  retrieval_min_score: 0.45  # {_one_line(text)}\n",
            encoding="utf-8",
        )
        (folder / f"named-{kind}.yaml").write_text(
            f"tenant: {quoted}\nknobs: {{retrieval_min_score: 0.4}}\n", encoding="utf-8"
        )
        (folder / f"broken-{kind}.yaml").write_text(
            f"tenant: b-{kind}\nknobs:\n  {quoted}: {quoted}\n  rrf_k: [1\n", encoding="utf-8"
        )
        if kind not in _PLAIN_NAMES:
            (folder / f"{text.replace('/', '')}.yaml").write_text(
                f"tenant: f-{kind}\nknobs: {{retrieval_min_score: {quoted}}}\n", encoding="utf-8"
            )
    return [f"h-{kind}" for kind in HOSTILE]


def hostile_engine(path: Path, clock: Callable[[], datetime]) -> None:
    """Fill an engine's file with sets that hostile actors wrote for hostile reasons."""
    catalogue = load_catalogue()
    for number, (kind, text) in enumerate(HOSTILE.items()):
        engine = open_embedded(f"embedded:{path}", catalogue, actor=text[:200], clock=clock)
        try:
            engine.replace(
                f"h-{kind}",
                {"retrieval_min_score": 0.3 + number / 1000, "retrieval_vector_top_k": 32},
                expected_revision=None,
                reason=text[:400],
                idempotency_key=f"hostile-{kind}",
            )
        finally:
            engine.close()


def refusal(kind: str) -> bytes:
    """An engine's answer to a call it refuses, in hostile words."""
    text = HOSTILE[kind]
    body: dict[str, Any] = {"code": "permission_denied", "message": text}
    return json.dumps(body).encode()


def unseen(text: str) -> list[str]:
    """What in a text on the screen could drive a terminal or mislead a reader; empty for a harmless one."""
    return sorted({f"{ord(char):#x}" for char in text if INVISIBLE.match(char)})


def _one_line(text: str) -> str:
    """A text as it can stand in a comment of YAML, which knows no escapes."""
    return "".join(char for char in text if char == "\t" or char.isprintable())
