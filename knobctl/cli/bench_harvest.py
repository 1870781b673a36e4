"""`knobctl bench harvest`: questions out of transcripts, into a private file."""

from __future__ import annotations

import sys
import time
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, UsageError
from knobctl.evidence.harvest.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from knobctl.cli.session import Session
    from knobctl.evidence.harvest.asked import Census
    from knobctl.evidence.harvest.earlier import Earlier
    from knobctl.evidence.harvest.harvesting import HeldOut, Wanted


_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_LATEST_S: Final = 250_000_000_000
"""A disk can hold later times than there are dates."""


def _places(
    _ctx: click.Context, _param: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, Path], ...]:
    found = []
    for text in texts:
        kind, sign, path = text.partition("=")
        if not sign or kind not in FORMATS or not path:
            raise click.BadParameter(
                f"{text!r} must be FORMAT=PATH; formats are {', '.join(FORMATS)}"
            )
        found.append((kind, Path(path).expanduser()))
    return tuple(found)


def _since(_ctx: click.Context, _param: click.Parameter, text: str | None) -> datetime | None:
    from knobctl.evidence.harvest.times import time_of

    time = time_of(text)
    if text and time is None:
        raise click.BadParameter(f"{text!r} must be a day or a time such as 2026-09-20")
    return time


@click.command(short_help="Gather the questions that people really asked.")
@click.option(
    "--from",
    "places",
    multiple=True,
    metavar="FORMAT=PATH",
    callback=_places,
    help=f"Transcripts or lists, a file or a folder; repeatable. Formats: {', '.join(FORMATS)}. Without it, where the agents keep theirs.",
)
@click.option(
    "--output",
    "output_",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The held-out set; what stands there is kept and added to. heldout_path of knobctl.toml, else in your data folder.",
)
@click.option(
    "--since", metavar="TIME", callback=_since, help="Only what was asked at or after it."
)
@click.option("--project", metavar="TEXT", help="Only transcripts whose path holds this.")
@click.option("--no-prompts", is_flag=True, help="Explicit questions only, no typed prompts.")
@click.option("--allow-in-repo", is_flag=True, help="Let the file lie in a Git work tree.")
@common_options(copies=False)
def harvest(
    settings: Settings,
    places: tuple[tuple[str, Path], ...],
    output_: Path | None,
    since: datetime | None,
    project: str | None,
    no_prompts: bool,
    allow_in_repo: bool,
) -> ExitCode:
    """Gather the questions that people really asked, out of their agents' transcripts.

    Tool calls and shell commands that ask the engine, and sentences typed to the agent that ask
    something; each says which it is. Secrets are taken out, and only numbers are printed. The file
    is yours alone (mode 0600), and not written into a Git work tree.
    """
    from knobctl.cli.bench_settings import heldout_path, settings_of
    from knobctl.cli.session import Session
    from knobctl.evidence.harvest.harvesting import Wanted
    from knobctl.evidence.private_files import refuse_in_work_tree
    from knobctl.report.harvest import harvest_json, harvest_text

    with Session(settings, engine=False) as session:
        bench = settings_of(session)
        path = output_.expanduser() if output_ else heldout_path(session, bench)
        if path.exists() and not path.is_file():
            raise UsageError(f"--output {path} is no file, and a held-out set is read and added to")
        refuse_in_work_tree(path, allowed=allow_in_repo)
        wanted = Wanted(names=bench.names, prompts=not no_prompts, since=since, project=project)
        census, held = _harvested(session, places or _homes(), wanted, path)
    settings.answer(
        {
            "text": lambda: harvest_text(census, held, str(path)),
            "json": lambda: harvest_json(census, held, str(path)),
        }
    )
    return ExitCode.OK


def _homes() -> tuple[tuple[str, Path], ...]:
    """Where agents keep their transcripts, as far as they are there.

    Raises:
        UsageError: If none is.
    """
    found = tuple(
        (kind, place)
        for kind, one in FORMATS.items()
        if one.home and (place := Path.home() / one.home).is_dir()
    )
    if not found:
        kept = ", ".join(f"~/{one.home}" for one in FORMATS.values() if one.home)
        raise UsageError(
            f"no transcripts are at {kept}",
            hint="say where they are: --from claude=FOLDER, or --from lines=FILE for a list of questions",
        )
    return found


def _harvested(
    session: Session, places: Sequence[tuple[str, Path]], wanted: Wanted, path: Path
) -> tuple[Census, HeldOut]:
    """Read what is new, add it to the set, and write that; two harvests into one set wait for each other."""
    from knobctl.evidence.private_files import one_at_a_time

    name = blake2b(str(path.resolve()).encode(errors="surrogateescape"), digest_size=16).hexdigest()
    kept = session.cache_folder / "harvest" / name
    with one_at_a_time(kept.with_name(f"{name}.lock")):
        return _added(session, places, wanted, path, kept)


def _added(
    session: Session,
    places: Sequence[tuple[str, Path]],
    wanted: Wanted,
    path: Path,
    kept: Path,
) -> tuple[Census, HeldOut]:
    from knobctl.cli.program import program_digest
    from knobctl.evidence.harvest.asked import Census, fingerprint
    from knobctl.evidence.harvest.earlier import Earlier
    from knobctl.evidence.harvest.harvesting import HeldOut
    from knobctl.evidence.private_files import write_private
    from knobctl.evidence.question_file import question_lines, read_questions

    held = HeldOut()
    if path.exists():
        for question in read_questions(path):
            held.add(question)

    def key() -> str:
        about = (program_digest(), repr(wanted), fingerprint(held.questions.values()))
        return blake2b(repr(about).encode(), digest_size=16).hexdigest()

    earlier = Earlier.at(kept, key())
    census = Census()
    _read_all(session, places, wanted, census, held, earlier)
    write_private(path, question_lines(held.in_order()))
    write_private(earlier.path, (earlier.content(key()),))
    return census, held


def _read_all(
    session: Session,
    places: Sequence[tuple[str, Path]],
    wanted: Wanted,
    census: Census,
    held: HeldOut,
    earlier: Earlier,
) -> None:
    from knobctl.evidence.harvest.harvesting import harvest_file
    from knobctl.report.progress import progress

    files = [(kind, file) for kind, place in places for file in _found(kind, place)]
    files = [one for one in files if wanted.project is None or wanted.project in str(one[1])]
    shows = session.settings.shows_progress
    with (
        progress(len(files), "reading", sys.stderr, clock=time.monotonic, wanted=shows) as step,
        session.beside(step.make_room),
    ):
        for kind, file in files:
            name = f"{kind} {file.absolute()}"
            try:
                about = file.stat()
                if earlier.knows(name, about):
                    census.unchanged += 1
                else:
                    for question in harvest_file(
                        file,
                        kind,
                        wanted,
                        census,
                        modified_at=_EPOCH + timedelta(seconds=min(about.st_mtime, _LATEST_S)),
                    ):
                        held.add(question)
                    earlier.note(name, about)
            except OSError as error:
                census.skipped["file not readable"] += 1
                session.notice(f"{file} cannot be read and is passed over: {error.strerror}")
            step()


def _found(kind: str, place: Path) -> list[Path]:
    from knobctl.evidence.harvest.harvesting import transcripts

    if not place.exists():
        raise UsageError(f"--from {kind}={place}: there is nothing at this place")
    if not (place.is_file() or place.is_dir()):
        raise UsageError(f"--from {kind}={place}: it is neither a file nor a folder")
    return list(transcripts(kind, place))
