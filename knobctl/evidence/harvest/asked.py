"""What a transcript gives: questions, where each came from, and what was passed over on the way. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

MCP_QUERY: Final = "mcp_query"
CLI_QUERY: Final = "cli_query"
ENGINE_LOG: Final = "engine_log"
QUESTION_LIST: Final = "question_list"
USER_PROMPT: Final = "user_prompt"
SOURCES: Final = (MCP_QUERY, CLI_QUERY, ENGINE_LOG, QUESTION_LIST, USER_PROMPT)
"""Where a question can come from, the most explicit first: a typed prompt was addressed to nobody's store."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How an engine is asked in transcripts, and what counts as a question. From `knobctl.toml`."""

    mcp_server: str | None = None
    """A part of the server's name in a tool's; any server if None."""
    mcp_query_tool: str = "query"
    mcp_question_argument: str = "question"
    cli_program: str | None = None
    """The program that asks in a shell; None where there is none."""
    cli_verb: str = "query"
    other_store_markers: tuple[str, ...] = ()
    """What in a command says that another store is asked: `DATABASE_URL=`, `--store`."""
    refusal_phrase: str = "below the relevance floor"
    min_question_chars: int = 15
    max_question_chars: int = 300
    min_words: int = 4
    """Of typed prompts, in scripts that put spaces between words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """One text as it was asked, before anything is taken out of it."""

    source: str
    text: str
    refused: bool | None = None
    """Whether the answer was a refusal; None where no answer was recorded, or none was asked for."""
    at: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question of a held-out set."""

    question: str
    source: str
    historical_refused: bool | None = None

    @property
    def question_id(self) -> str:
        """Twelve hex digits of the question's SHA-256, letter case and spaces aside."""
        return question_id(self.question)

    def merged(self, other: Question) -> Question:
        """One of two askings of a question: the more explicit one's words, a refusal seen in either."""
        first, second = sorted((self, other), key=lambda one: SOURCES.index(one.source))
        seen = [
            one.historical_refused for one in (first, second) if one.historical_refused is not None
        ]
        return Question(
            question=first.question,
            source=first.source,
            historical_refused=any(seen) if seen else None,
        )


def question_id(question: str) -> str:
    """Name a question so that spelling it with other capitals or spaces names the same one."""
    spoken = " ".join(question.lower().split())
    return sha256(spoken.encode("utf-8", "replace")).hexdigest()[:12]


def fingerprint(questions: Iterable[Question]) -> str:
    """Sixteen hex digits of a set of questions, in whatever order."""
    return fingerprint_of(one.question_id for one in questions)


def fingerprint_of(ids: Iterable[str]) -> str:
    """The same by their ids."""
    return digest_of(ids)[:16]


def digest_of(ids: Iterable[str]) -> str:
    """SHA-256 of a set of questions by their ids, lower-case hex: in any order."""
    return sha256("\n".join(sorted(ids)).encode()).hexdigest()


@dataclass(slots=True)
class Census:
    """What a harvest met, in numbers: never a question, never a secret."""

    files: int = 0
    unchanged: int = 0
    """Files that an earlier harvest read, and that nobody touched since."""
    lines: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    """Lines, files and texts that were passed over, by why."""
    found: Counter[str] = field(default_factory=Counter)
    """Questions by source, before those asked twice are merged."""
    answered: int = 0
    """Explicit questions whose answer was recorded."""
    refused: int = 0
    """Of those, the ones that were refused."""
    redacted: Counter[str] = field(default_factory=Counter)
    """Secrets that were taken out, by kind."""
