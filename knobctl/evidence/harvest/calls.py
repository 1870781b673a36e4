"""Explicit questions: what a tool call or a shell command asks an engine. Pure."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final

from knobctl.evidence.harvest.asked import CLI_QUERY, MCP_QUERY, Asked

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

    from knobctl.evidence.harvest.asked import Names

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE: Final = re.compile(r"\$(\w+|\{[^}]*\}|\(.*)", re.DOTALL)
_SEPARATORS: Final = frozenset({";", "&&", "||", "|", "&", "(", ")", "\n", ";;", "|&"})
_REDIRECTIONS: Final = re.compile(r"[<>]")
_STARTERS: Final = {
    "uv": 2,
    "poetry": 2,
    "pipx": 2,
    "pdm": 2,
    "rye": 2,
    "hatch": 2,
    "npx": 1,
    "uvx": 1,
    "env": 1,
    "sudo": 1,
    "time": 1,
    "nohup": 1,
    "exec": 1,
    "command": 1,
}
"""What may stand before a program, and how many words of it: `uv run notesmem`."""
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_DEEPEST: Final = 3
MOST_COMMAND_CHARS: Final = 100_000
"""A longer command is a file that is written in one; nobody asks a question in it."""


class Calls:
    """The explicit questions of one file, until their answers come."""

    def __init__(self, names: Names) -> None:
        """Take how an engine is asked."""
        self._names = names
        self._open: dict[str, list[Asked]] = {}
        self._closed: list[Asked] = []

    @property
    def waiting(self) -> Mapping[str, list[Asked]]:
        """By call, the questions whose answer has not come."""
        return self._open

    def tool(
        self,
        tool: object,
        arguments: object,
        call: object,
        at: datetime | None,
        *,
        server: str = "",
    ) -> None:
        """Note a call of an MCP tool, if it asks.

        Args:
            tool: Its name, with or without the server's: `mcp__notes__query`, `notes__query`, `query`.
            arguments: What it was given.
            call: The id by which its answer is known.
            at: When.
            server: The server's name where the tool's does not hold it.
        """
        if isinstance(tool, str) and isinstance(arguments, dict) and self._asks(tool, server):
            question = arguments.get(self._names.mcp_question_argument)
            if isinstance(question, str) and question.strip():
                self._note(call, [Asked(source=MCP_QUERY, text=question.strip(), at=at)])

    def _asks(self, tool: str, server: str) -> bool:
        *front, name = tool.lower().split("__")
        if not front and not server:
            return False
        where = f"{'__'.join(front)} {server}".lower()
        wanted = self._names.mcp_server
        return name == self._names.mcp_query_tool.lower() and (
            wanted is None or wanted.lower() in where
        )

    def command(self, command: object, call: object, at: datetime | None) -> None:
        """Note a shell command, a text or a list of words, as far as it asks."""
        asked = [
            Asked(source=CLI_QUERY, text=text, at=at) for text in questions_in(command, self._names)
        ]
        if asked:
            self._note(call, asked)

    def _note(self, call: object, asked: list[Asked]) -> None:
        if isinstance(call, str) and call:
            self._open.setdefault(call, []).extend(asked)
        else:
            self._closed += asked

    def answer(self, call: object, text: str) -> None:
        """Hear the answer to a call."""
        if isinstance(call, str) and call in self._open:
            refused = self._names.refusal_phrase.lower() in text.lower()
            self._closed += [replace(one, refused=refused) for one in self._open.pop(call)]

    def all(self) -> Iterator[Asked]:
        """Every question, those without an answer last."""
        yield from self._closed
        for asked in self._open.values():
            yield from asked


def asking_words(names: Names) -> list[bytes]:
    """What of a line that calls a tool or a program must hold one, so that it can ask."""
    words = [f'__{names.mcp_query_tool}"']
    return [word.encode() for word in (*words, names.cli_program) if word]


def questions_in(command: object, names: Names) -> list[str]:
    """The questions that a shell command asks.

    Args:
        command: The text that a shell reads, or the words that a program got without one.
        names: Which program and verb ask.
    """
    if names.cli_program is None:
        return []
    if isinstance(command, str):
        return _in_text(command, names, _DEEPEST)
    if isinstance(command, list) and all(isinstance(word, str) for word in command):
        return _in_words(command, names, _DEEPEST)
    return []


def _in_text(command: str, names: Names, deepest: int) -> list[str]:
    if names.cli_program is None or names.cli_program not in command:
        return []
    if len(command) > MOST_COMMAND_CHARS or _addresses_another(command, names):
        return []
    lexer = shlex.shlex(command.replace("\\\n", " "), posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation without its end: a here-document, a script
        return []
    found: list[str] = []
    simple: list[str] = []
    for word in [*words, ";"]:
        if word in _SEPARATORS or (word and set(word) <= set(";&|()\n")):
            found += _in_words(simple, names, deepest)
            simple = []
        else:
            simple.append(word)
    return found


def _addresses_another(command: str, names: Names) -> bool:
    return any(
        re.search(
            rf"(?<![\w-]){re.escape(marker)}(?![\w-])"
            if marker.startswith("-")
            else rf"(?<!\w){re.escape(marker)}",
            command,
        )
        for marker in names.other_store_markers
    )


def _in_words(words: list[str], names: Names, deepest: int) -> list[str]:
    """The question of one simple command, or those of the one that a shell in it runs."""
    words = _from_program(words)
    if not words:
        return []
    program = PurePosixPath(words[0]).name
    if program in _SHELLS and deepest:
        script = next(
            (after for flag, after in pairwise(words[1:]) if re.fullmatch(r"-[a-z]*c", flag)),
            "",
        )
        return _in_text(script, names, deepest - 1)
    joined = " ".join(words)
    if program != names.cli_program or _addresses_another(joined, names):
        return []
    rest = words[1:]
    if names.cli_verb not in rest:
        return []
    after = rest[rest.index(names.cli_verb) + 1 :]
    question = _question_among(after)
    return [question] if question else []


def _from_program(words: list[str]) -> list[str]:
    """A simple command from its program on: assignments, and what only starts another one, before it gone."""
    at = 0
    while at < len(words):
        word = words[at]
        if _ASSIGNMENT.match(word):
            at += 1
        elif (width := _STARTERS.get(PurePosixPath(word).name)) is not None:
            at += width
            while at < len(words) and words[at].startswith("-"):
                at += 1
        elif re.fullmatch(r"python[\d.]*", PurePosixPath(word).name) and words[at + 1 : at + 2] == [
            "-m"
        ]:
            at += 2
        else:
            return words[at:]
    return []


def _question_among(words: list[str]) -> str:
    """The question among the words behind the verb: of those that are no option, the one of several words."""
    plain: list[str] = []
    skip = False
    for word in words:
        is_redirection = bool(_REDIRECTIONS.match(word))
        if not (skip or is_redirection or word.startswith("-") or _VARIABLE.fullmatch(word)):
            plain.append(word.strip())
        skip = is_redirection
    several = [word for word in plain if " " in word]
    return several[0] if several else ""


def arguments_of(text: object) -> dict[str, Any]:
    """Arguments that stand in a text as JSON, or as they are; nothing where they are none."""
    import json

    if isinstance(text, dict):
        return text
    try:
        value = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
