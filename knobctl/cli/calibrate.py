"""`knobctl calibrate`: how near off-topic questions come to a corpus, and what a cosine means beside that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from knobctl.cli.options import Settings, common_options
from knobctl.cli.output_files import EVIDENCE, file_of
from knobctl.errors import ExitCode, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    from knobctl.cli.calibrating import Wanted
    from knobctl.evidence.snapshot import Kept

FILE = click.Path(path_type=Path)
EXPIRES_AFTER_DAYS = 30


def corpus_options(function: Any) -> Any:  # noqa: ANN401  what click decorates
    """Name the corpus, the probes, and the way: `tenant`, `vectors`, `probes`, `encoder`, `compat`."""
    options = (
        click.option("--tenant", metavar="TENANT", help="Whose corpus on the engine."),
        click.option(
            "--vectors",
            type=FILE,
            metavar="FILE",
            help="Vectors instead of a tenant: .npy, or JSON Lines with id and vector.",
        ),
        click.option(
            "--probes",
            type=FILE,
            metavar="FILE",
            help="What the corpus says nothing about: a text a line; with --vectors their vectors. Ours if not given.",
        ),
        click.option(
            "--encoder",
            metavar="NAME",
            help="With --vectors: the model that made them, to be kept.",
        ),
        click.option(
            "--compat", is_flag=True, help="As the given package measures and labels, to the bit."
        ),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _alpha(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:
        raise click.BadParameter("a share between 0 and 1, such as 0.05")
    return value


@click.group(
    invoke_without_command=True, short_help="How near off-topic questions come to a corpus."
)
@corpus_options
@click.option(
    "--on-topic",
    type=FILE,
    metavar="FILE",
    help="Questions that the corpus is about, as --probes: how many of them the floor would silence.",
)
@click.option(
    "--alpha",
    type=float,
    callback=_alpha,
    metavar="SHARE",
    help="So many off-topic questions may pass the floor. Default 0.05.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, (1 << 32) - 1),
    default=0,
    show_default=True,
    help="Of the pairs and the resamples; it is recorded.",
)
@click.option(
    "--dims",
    type=click.IntRange(1, 1 << 20),
    metavar="N",
    help="With --vectors: the dimensions that the embedder declares; the first probe's if not given.",
)
@click.option("--force", is_flag=True, help="Measure anew although a calibration is kept.")
@click.option(
    "--expires-after",
    type=click.IntRange(1, 3650),
    default=EXPIRES_AFTER_DAYS,
    show_default=True,
    metavar="DAYS",
    help="How long it may be used.",
)
@click.option(
    "--parallelism",
    type=click.IntRange(1, 64),
    default=4,
    show_default=True,
    metavar="N",
    help="Calls at a time, where the engine is elsewhere.",
)
@click.option(
    "--output",
    "output_",
    type=FILE,
    callback=file_of(EVIDENCE),
    metavar="EVIDENCE",
    help="Write the record that a tenant's document names as evidence.",
)
@common_options(engine=True, rate=True, copies=False)
def command(
    settings: Settings,
    tenant: str | None,
    vectors: Path | None,
    probes: Path | None,
    encoder: str | None,
    compat: bool,
    on_topic: Path | None,
    alpha: float | None,
    seed: int,
    dims: int | None,
    force: bool,
    expires_after: int,
    parallelism: int,
    output_: Path | None,
) -> ExitCode:
    """Measure a corpus' noise floor: the cosine that questions off its topic come to.

    Under that floor the closest chunk is no nearer than chance, and no_match_min_cosine can say so.
    Nothing is written to the engine. What was measured is kept, without a word of the probes, and used
    again until the embedder, the probes or the corpus change, or it expires.

    \b
    knobctl calibrate --tenant acme
    knobctl calibrate relevance 0.41 --tenant acme
    """  # noqa: D301  \b is click's mark for lines that stay as they are
    context = click.get_current_context()
    if context.invoked_subcommand:
        _refuse_options(context)
        return ExitCode.OK
    from knobctl.cli.calibrating import Wanted
    from knobctl.evidence.calibrating import Asked
    from knobctl.evidence.snapshot import Mode
    from knobctl.server.retrieval.off_topic import ALPHA

    if compat and (alpha is not None or on_topic is not None):
        raise UsageError("--compat knows neither --alpha nor --on-topic: leave one out")
    wanted = Wanted(
        tenant=tenant,
        vectors=vectors,
        probes=probes,
        on_topic=on_topic,
        mode=Mode.COMPAT if compat else Mode.DEFAULT,
        asked=Asked(alpha=ALPHA if alpha is None else alpha, seed=seed),
        dims=dims,
        encoder=encoder,
        calls=parallelism,
    )
    return _measured(settings, wanted, force=force, expires_days=expires_after, output=output_)


def _refuse_options(context: click.Context) -> None:
    """An option before the name of a subcommand would be lost without a word."""
    for name in context.params:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = f"--{name.rstrip('_').replace('_', '-')}"
            raise UsageError(
                f"{option} stands before {context.invoked_subcommand}",
                hint=f"write it behind: knobctl calibrate {context.invoked_subcommand} {option} ...",
            )


def _measured(
    settings: Settings, wanted: Wanted, *, force: bool, expires_days: int, output: Path | None
) -> ExitCode:
    from knobctl.cli.calibrations import calibrated_by, labelling_command, write_record
    from knobctl.cli.session import Session
    from knobctl.cli.stopping import stopping_on_signals
    from knobctl.evidence.corpus_calibration import StoppedError
    from knobctl.report.calibrate import calibration_text
    from knobctl.report.calibrate_json import calibration_json

    with (
        Session(settings, engine=wanted.tenant is not None) as session,
        stopping_on_signals(session.stop) as stopping,
    ):
        if output is not None and wanted.tenant is None:
            raise UsageError("--output EVIDENCE is of a tenant: name one with --tenant")
        try:
            kept = calibrated_by(
                session, wanted, stopping.requested, force=force, expires_days=expires_days
            )
        except StoppedError:
            settings.say("stopped; nothing was measured")
            return stopping.code or ExitCode.INTERRUPTED
        if output is not None:
            write_record(session, kept.snapshot, output)
        evidence = None if output is None else str(output)
        settings.answer(
            {
                "text": lambda: calibration_text(
                    kept, session.now(), command=labelling_command(session, wanted)
                ),
                "json": lambda: calibration_json(kept, evidence=evidence),
            }
        )
    return ExitCode.OK


@command.command(short_help="What was measured, of what, and whether it still holds.")
@corpus_options
@common_options(engine=True)
def show(
    settings: Settings,
    tenant: str | None,
    vectors: Path | None,
    probes: Path | None,
    encoder: str | None,
    compat: bool,
) -> ExitCode:
    """Show the calibration that is kept of a corpus, held against what is there now; all of them if none is named."""
    from knobctl.cli.calibrating import Wanted
    from knobctl.cli.session import Session
    from knobctl.report.calibrate import calibration_text, calibrations_text
    from knobctl.report.calibrate_json import shown_json

    if tenant is None and vectors is None:
        return _list(settings, calibrations_text)
    wanted = _corpus(Wanted, tenant, vectors, probes, encoder, compat=compat)
    with Session(settings, engine=tenant is not None) as session:
        found, now = _kept(session, wanted), session.now()
    settings.answer(
        {
            "text": lambda: calibration_text(found, now),
            "json": lambda: shown_json([found], now),
        }
    )
    return ExitCode.OK


def _list(settings: Settings, text: Callable[..., str]) -> ExitCode:
    from knobctl.cli.calibrations import FOLDER
    from knobctl.cli.session import Session
    from knobctl.evidence.snapshot import snapshots
    from knobctl.report.calibrate_json import shown_json

    with Session(settings, engine=False) as session:
        found, now = snapshots(session.data_folder / FOLDER), session.now()
    settings.answer(
        {
            "text": lambda: text(found, now),
            "json": lambda: shown_json(found, now),
        }
    )
    return ExitCode.OK


@command.command(
    short_help="What cosines of questions mean beside the noise floor.",
    context_settings={"ignore_unknown_options": True},  # so that -0.05 is a number
)
@click.argument("cosines", type=float, nargs=-1, metavar="COSINE...")
@corpus_options
@click.option(
    "--fused",
    type=float,
    multiple=True,
    metavar="SCORE",
    help="With --compat instead of a cosine: the fused scores, best first; the label of their gap.",
)
@click.option(
    "--alpha",
    type=float,
    callback=_alpha,
    metavar="SHARE",
    help="So many off-topic questions may pass; as measured if not given.",
)
@common_options(engine=True)
def relevance(
    settings: Settings,
    cosines: tuple[float, ...],
    tenant: str | None,
    vectors: Path | None,
    probes: Path | None,
    encoder: str | None,
    compat: bool,
    fused: tuple[float, ...],
    alpha: float | None,
) -> ExitCode:
    """Say how relevant the closest chunk of a question is, by its cosine: bestCosine of an answer.

    With the tier: p, the share of off-topic questions that come as near, and z. A cosine at the
    floor is no match.
    """
    from knobctl.cli.calibrating import Wanted
    from knobctl.cli.labelling import gap_labels, labels_of
    from knobctl.cli.session import Session

    if compat and alpha is not None:
        raise UsageError("--compat knows no --alpha: leave one out")
    if bool(fused) == bool(cosines) or (fused and not compat):
        raise UsageError(
            "name a COSINE or several; or with --compat the best scores: --fused SCORE"
        )
    if fused:
        settings.answer(gap_labels(fused))
        return ExitCode.OK
    wanted = _corpus(Wanted, tenant, vectors, probes, encoder, compat=compat)
    with Session(settings, engine=tenant is not None) as session:
        renderings = labels_of(session, wanted, cosines, alpha)
    settings.answer(renderings)
    return ExitCode.OK


def _corpus(
    kind: type[Wanted],
    tenant: str | None,
    vectors: Path | None,
    probes: Path | None,
    encoder: str | None,
    *,
    compat: bool,
) -> Wanted:
    from knobctl.evidence.snapshot import Mode

    return kind(
        tenant=tenant,
        vectors=vectors,
        probes=probes,
        encoder=encoder,
        mode=Mode.COMPAT if compat else Mode.DEFAULT,
    )


def _kept(session: Any, wanted: Wanted) -> Kept:  # noqa: ANN401  a session, whose import is late
    from knobctl.cli.calibrations import kept, never_measured

    found = kept(session, wanted)
    if found is None:
        raise never_measured(session, wanted)
    return found
