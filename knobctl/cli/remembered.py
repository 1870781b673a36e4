"""`check` remembers what it told: the same content, asked the same way on the same day, is not judged twice."""

from __future__ import annotations

import json
import sys
import zlib
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final

import click

from knobctl.cli.answer_folder import AnswerFolder
from knobctl.cli.program import program_digest
from knobctl.errors import ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from knobctl.cli.options import Settings
    from knobctl.cli.session import Session
    from knobctl.documents.gathering import Gathered
    from knobctl.documents.opening import Opening

_SHAPE: Final = "1"
"""Of what is kept; another number, and nothing of before is found."""
FEWEST: Final = 50
"""Of how many files an answer is remembered: a file or two are judged as fast as an answer is looked up."""


class Hearing:
    """Writes down what a run tells while it is told, small enough to be kept."""

    def __init__(self) -> None:
        self.said: list[str] = []
        """The talk on stderr."""
        self.answers: list[bytes] = []
        """What went to stdout and to the files of `--output`, packed."""
        self.evidence: Collection[str] = ()
        """The files of evidence that policies may have read."""

    def heard(self, pieces: Iterable[str]) -> Iterator[str]:
        """Pass an answer on, piece by piece."""
        packer = zlib.compressobj(1)
        packed = []
        for piece in pieces:
            packed.append(packer.compress(piece.encode("utf-8", "surrogatepass")))
            yield piece
        packed.append(packer.flush())
        self.answers.append(b"".join(packed))


def remembered(
    session: Session, opening: Opening, hearing: Hearing, judge: Callable[[], ExitCode]
) -> ExitCode:
    """Tell what an earlier run told of the same content; where there was none, judge and keep what is told.

    Args:
        session: The surroundings of the run; what it tells comes to `hearing`.
        opening: The repository, of which nothing was read.
        hearing: Writes down what is told.
        judge: Judges and tells, and gives the exit code.
    """
    memory = Memory.of(session, opening, click.get_current_context().params)
    if memory is None:
        return judge()
    if (code := memory.answer(session.settings)) is None:
        code = judge()
        memory.keep(code, hearing)
    return code


class Memory:
    """The answers of earlier runs, and where that of this one goes."""

    def __init__(self, folder: AnswerFolder, key: str, files: Gathered) -> None:
        self._folder, self._key, self._files = folder, key, files

    @classmethod
    def of(cls, session: Session, opening: Opening, options: Mapping[str, object]) -> Memory | None:
        """Look at all that a run of `check` is about.

        Args:
            session: Its surroundings.
            opening: Its repository, of which nothing was read.
            options: Every option and argument, as it was understood.

        Returns:
            None where something cannot be read, or so little is that judging it takes no longer than
            finding out whether it was judged: then nothing is remembered.
        """
        files = opening.gather()
        if files is None or len(files) < FEWEST:
            return None
        key = blake2b(digest_size=32)
        for part in (
            _SHAPE,
            program_digest(),
            sorted(options.items()),
            session.cwd,
            session.today,
            session.settings.colored(sys.stdout),
            *opening.ground,
            files.digest,
        ):
            told = part if isinstance(part, bytes) else repr(part).encode("utf-8", "surrogatepass")
            key.update(b"%d:%b" % (len(told), told))
        return cls(AnswerFolder(session.cache_folder / "check"), key.hexdigest(), files)

    def answer(self, settings: Settings) -> ExitCode | None:
        """Tell what the earlier run told.

        Returns:
            Its exit code; None where there was none, and nothing was told.
        """
        content = self._folder.find(self._key)
        if content is None:
            return None
        head, _, rest = content.partition(b"\n")
        kept: dict[str, Any] = json.loads(head)
        answers = []
        for size in kept["sizes"]:
            answers.append(zlib.decompress(rest[:size]).decode("utf-8", "surrogatepass"))
            rest = rest[size:]
        settings.answer_again(kept["said"], answers)
        return ExitCode(kept["code"])

    def keep(self, code: ExitCode, hearing: Hearing) -> None:
        """Keep what this run told, if it judged what had been counted."""
        if not (self._files.is_same and all(map(self._files.has, hearing.evidence))):
            return
        sizes = [len(answer) for answer in hearing.answers]
        head = json.dumps({"code": int(code), "said": hearing.said, "sizes": sizes})
        self._folder.keep(self._key, b"\n".join((head.encode(), b"".join(hearing.answers))))
