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
    from collections.abc import Callable, Iterator
    from datetime import datetime

    from knobctl.evidence.harvest.asked import Names
    from knobctl.evidence.harvest.lines import Line

_ASSIGNMENT: Final = re.compile(r"[A-Za-z_]\w*=")
_VARIABLE: Final = re.compile(r"\$[A-Za-z_{(]")
_SUBSTITUTED: Final = re.compile(r"\$\(([^()]*)\)")
_SEPARATORS: Final = frozenset(";&|()\n")
_KEYWORDS: Final = frozenset(
    {"if", "then", "elif", "else", "while", "until", "do", "{", "!", "time"}
)
_REDIRECTIONS: Final = re.compile(r"[<>]")
_HERE_DOCUMENT: Final = re.compile(
    r"(?<!<)<<(?!<)-?\s*(?P<quote>[\"']?)(?P<end>[A-Za-z_]\w*)(?P=quote)"
)
_STARTERS: Final = frozenset(
    [
        "uv",
        "uvx",
        "poetry",
        "pipx",
        "pdm",
        "rye",
        "hatch",
        "npx",
        "env",
        "sudo",
        "doas",
        "timeout",
        "nice",
        "ionice",
        "nohup",
        "stdbuf",
        "exec",
        "command",
        "eval",
        "xargs",
        "watch",
        "docker",
        "podman",
        "kubectl",
        "ssh",
    ]
)
"""What may stand before a program, with words of its own: `timeout 30 uv run notes`."""
_SHELLS: Final = frozenset({"sh", "bash", "zsh", "dash"})
_DEEPEST: Final = 3
_LOOKED_FOR: Final = 8
MOST_COMMAND_CHARS: Final = 100_000
"""A longer command is a file that is written in one; nobody asks a question in it."""


class Calls:
    """The explicit questions of one file, until their answers come."""

    def __init__(self, names: Names) -> None:
        """Take how an engine is asked."""
        self._names = names
        self._open: dict[str, list[Asked]] = {}
        self._closed: list[Asked] = []

    def may_answer(self, line: Line) -> bool:
        """Whether a line with results can hold one that is waited for.

        Few are waited for at a time; where many are, none of them may ever be answered, and to look for
        each in every line would take longer than parsing it.
        """
        if not self._open:
            return False
        if len(self._open) > _LOOKED_FOR:
            return True
        return any(not call.isascii() or line.holds(call.encode()) for call in self._open)

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


def wanted_lines(
    names: Names, calls: Calls, *, answers: bytes, asks: bytes
) -> Callable[[Line], bool]:
    """Say of a line, by its bytes, whether it can hold a prompt, a question or an awaited answer.

    Nineteen bytes of twenty are results of tools; parsing them would be the whole work.

    Args:
        names: How an engine is asked.
        calls: The questions that wait for their answers.
        answers: What a line holds that brings results.
        asks: What a line holds that calls a tool.
    """
    may_ask = _asking(names)

    def wanted(line: Line) -> bool:
        if line.holds(answers):
            return calls.may_answer(line)
        if line.holds(asks):
            return may_ask(line)
        return line.holds(b'"user"')

    return wanted


def _asking(names: Names) -> Callable[[Line], bool]:
    """Say of a line that calls a tool or a program whether it can ask."""
    tool = names.mcp_query_tool
    spellings = dict.fromkeys((tool, tool.lower(), tool.upper(), tool.capitalize()))
    tools = [f'__{one}"'.encode() for one in spellings]
    program = names.cli_program.encode() if names.cli_program else None

    def asks(line: Line) -> bool:
        if program and line.holds(program):
            return True
        return line.holds(b"__") and any(map(line.holds, tools))

    return asks


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
    command, inner = _apart(_without_documents(command.replace("\\\n", " ")))
    found = [text for one in inner if deepest for text in _in_text(one, names, deepest - 1)]
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    try:
        words = list(lexer)
    except ValueError:  # a quotation without its end
        return found
    simple: list[str] = []
    for word in [*words, ";"]:
        if word and set(word) <= _SEPARATORS:
            found += _in_words(simple, names, deepest)
            simple = []
        else:
            simple.append(word)
    return found


def _without_documents(command: str) -> str:
    """Take out here-documents and lines of comment: what stands there is no command."""
    kept: list[str] = []
    end: str | None = None
    for line in command.split("\n"):
        if end is not None:
            end = None if line.strip() == end else end
        elif not line.lstrip().startswith("#"):
            kept.append(line)
            opened = _HERE_DOCUMENT.search(line)
            end = opened["end"] if opened else None
    return "\n".join(kept)


def _apart(command: str) -> tuple[str, list[str]]:
    """Take out commands whose output is put into the command, within quotes or not, and give both."""
    inner: list[str] = []
    for _ in range(_DEEPEST):
        inner += _SUBSTITUTED.findall(command)
        command = _SUBSTITUTED.sub("$_", command)
    return command, inner


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
    words = _from_program(words, names)
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
    at = next((at for at, word in enumerate(rest) if word == names.cli_verb), None)
    if at is None or not all(map(_is_optional, ["", *rest], rest[:at])):
        return []
    question = _question_among(rest[at + 1 :])
    return [question] if question else []


def _is_optional(before: str, word: str) -> bool:
    """Whether a word is an option, or can be the value of the one before it."""
    return word.startswith("-") or before.startswith("-")


def _from_program(words: list[str], names: Names) -> list[str]:
    """A simple command from its program on: keywords, assignments, and what only starts another one, gone."""
    at = 0
    while at < len(words) and (words[at] in _KEYWORDS or _ASSIGNMENT.match(words[at])):
        at += 1
    words = words[at:]
    if not words:
        return []
    first = PurePosixPath(words[0]).name
    starts = first in _STARTERS or (re.fullmatch(r"python[\d.]*", first) and "-m" in words[1:2])
    if starts:
        wanted = (*_SHELLS, names.cli_program)
        at = next(
            (at for at, word in enumerate(words) if PurePosixPath(word).name in wanted), len(words)
        )
        words = words[at:]
    return words


def _question_among(words: list[str]) -> str:
    """The question among the words behind the verb: the first of several words, or the value of an option."""
    plain: list[str] = []
    valued: list[str] = []
    skip = False
    for word in words:
        is_redirection = bool(_REDIRECTIONS.match(word)) and word != "<<<"
        if not (skip or is_redirection or _VARIABLE.search(word)):
            _, _, value = word.partition("=")
            is_option = word.startswith("-")
            (valued if is_option else plain).append((value if is_option else word).strip())
        skip = is_redirection
    return next((word for word in (*plain, *valued) if " " in word), "")


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
