"""The options that every command shares, and the settings that they make."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import update_wrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from knobctl.cli.output_files import split_outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from knobctl.cli.remembered import Hearing
    from knobctl.errors import KnobctlError

F = TypeVar("F", bound="Callable[..., Any]")


class FiniteRange(click.FloatRange):
    """A range of numbers: NaN, which compares with nothing, lies in none."""

    def convert(
        self,
        value: Any,  # noqa: ANN401  as click has it
        param: click.Parameter | None,
        ctx: click.Context | None,
    ) -> float:
        """Read a number of the range."""
        number: float = super().convert(value, param, ctx)
        if number != number:  # noqa: PLR0124  NaN alone differs from itself
            self.fail(f"{value} is no number", param, ctx)
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What the common options of one command line say."""

    command: str = ""
    """Of which command: `apply`, `context add`."""
    engine: str | None = None
    context: str | None = None
    fleet: str | None = None
    schema: Path | None = None
    token_file: Path | None = None
    insecure: bool = False
    rate: int | None = None
    format: str = "text"
    outputs: tuple[tuple[str, Path], ...] = ()
    quiet: bool = False
    verbose: int = 0
    color: str = "auto"
    hearing: Hearing | None = None
    """Who writes down what is told, to tell it again."""
    answered: list[str] = field(default_factory=list, compare=False, repr=False)
    """The format of each answer that was given, or begun."""

    def colored(self, stream: Any) -> bool:  # noqa: ANN401  any text stream
        """Whether colour goes to this stream."""
        import os

        if self.color != "auto":
            return self.color == "always"
        return not os.environ.get("NO_COLOR") and not _is_dumb() and stream.isatty()

    @property
    def shows_progress(self) -> bool:
        """Whether a bar may be drawn where there is a terminal."""
        return not self.quiet and not _is_dumb()

    def say(self, text: str) -> None:
        """Talk to the person on stderr, unless asked to be quiet."""
        if not self.quiet:
            self._talk(text)

    def say_more(self, text: str) -> None:
        """Talk on stderr where `-v` asks for it."""
        if self.verbose:
            self._talk(text)

    def _talk(self, text: str) -> None:
        click.echo(text, err=True)
        if self.hearing:
            self.hearing.said.append(text)

    def answer(
        self, renderings: dict[str, Callable[[], str | Iterable[str]]], *, printed: str = ""
    ) -> None:
        """Print the answer in the chosen format, then write the others that `--output` asks for.

        Args:
            renderings: By format, what renders the answer, whole or in pieces; called only where it
                is wanted.
            printed: The beginning of the answer that stands on stdout already.

        Raises:
            AnswerError: If it cannot be delivered.
        """
        answer = _render(renderings, self.format)
        answer = answer.removeprefix(printed) if isinstance(answer, str) else answer
        self.answered.append(self.format)
        write_out(self._heard(_ended(answer)))
        for format_, path in self.outputs:
            _write_atomically(path, self._heard(_ended(_render(renderings, format_))))

    def answer_failure(self, error: KnobctlError) -> None:
        """Answer in JSON why there is no other answer, wherever JSON was asked for; else say nothing.

        Raises:
            AnswerError: If it cannot be delivered.
        """
        import json

        if self.answered:
            return
        code = error.exit_code
        document = {
            "version": 1,
            "command": self.command,
            "outcome": code.outcome,
            "exit_code": int(code),
            "message": error.message,
            "hint": error.hint,
        }
        text = json.dumps(document, indent=2) + "\n"
        if self.format == "json":
            write_out((text,))
        for format_, path in self.outputs:
            if format_ == "json":
                _write_atomically(path, (text,))

    def answer_again(self, said: Iterable[str], answers: Iterable[str]) -> None:
        """Tell what an earlier run told: the talk, the answer, and the files of `--output` in their order.

        Raises:
            AnswerError: If it cannot be delivered.
        """
        for text in said:
            click.echo(text, err=True)
        first, *others = answers
        self.answered.append(self.format)
        write_out((first,))
        for (_, path), text in zip(self.outputs, others, strict=True):
            _write_atomically(path, (text,))

    def _heard(self, pieces: Iterable[str]) -> Iterable[str]:
        return self.hearing.heard(pieces) if self.hearing else pieces


def _ended(answer: str | Iterable[str]) -> Iterator[str]:
    """The pieces of an answer, the last of which ends its line; nothing where there is none."""
    last = ""
    for piece in (answer,) if isinstance(answer, str) else answer:
        last = piece or last
        yield piece
    if last and not last.endswith("\n"):
        yield "\n"


def write_out(pieces: Iterable[str]) -> None:
    """Write to standard output at once.

    Raises:
        AnswerError: If the disk behind it is full, or the like.
    """
    from knobctl.errors import AnswerError

    try:
        sys.stdout.writelines(pieces)
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise AnswerError(
            f"the answer cannot be written to standard output: {error.strerror}"
        ) from error


def _is_dumb() -> bool:
    import os

    return os.environ.get("TERM") == "dumb"


def _render(
    renderings: dict[str, Callable[[], str | Iterable[str]]], format_: str
) -> str | Iterable[str]:
    if format_ not in renderings:
        known = ", ".join(renderings)
        raise click.UsageError(f"--format {format_} is not offered here; choose from {known}")
    return renderings[format_]()


def _write_atomically(path: Path, pieces: Iterable[str]) -> None:
    from knobctl.documents.files import write_atomically
    from knobctl.errors import AnswerError

    try:
        write_atomically(path, map(str.encode, pieces))
    except OSError as error:
        raise AnswerError(f"--output cannot write {path}: {error.strerror}") from error


bare_set_option = click.option(
    "--tenant", metavar="NAME", help="Whose set a bare knob map or the wire's JSON is."
)
"""Names the tenant of what a document does not say it of; passes `tenant`."""


def common_options(
    *,
    engine: bool = False,
    rate: bool = False,
    formats: tuple[str, ...] = ("text", "json"),
    copies: bool = True,
) -> Callable[[F], F]:
    """Give a command the common options; it receives them as its first argument, `settings`.

    Args:
        engine: Whether the command talks to an engine.
        rate: Whether it asks for so many tenants that a limit of requests a second is worth an option.
        formats: The formats in which it answers; empty where it answers with no data.
        copies: Whether `--output FORMAT=FILE` writes the answer to files as well; not where
            `--output` names a file that is the command's work.
    """

    def decorate(function: F) -> F:
        def wrapper(**values: Any) -> Any:  # noqa: ANN401  a command's own arguments pass through
            chosen = {name: values.pop(name) for name in names}
            chosen["format"] = chosen.pop("format_", "text") or "text"
            chosen["outputs"] = tuple(chosen.pop("output", ()))
            called = click.get_current_context()
            settings = Settings(command=called.command_path.partition(" ")[2], **chosen)
            called.ensure_object(dict)["settings"] = settings
            return function(settings, **values)

        options = _options(engine=engine, rate=rate, formats=formats, copies=copies)
        wrapped = update_wrapper(wrapper, function)
        names = [option.name for option in options]
        for option in reversed(options):
            wrapped = option.attach(wrapped)
        return cast("F", wrapped)

    return decorate


@dataclass(frozen=True, slots=True)
class _Option:
    name: str
    attach: Callable[[Any], Any]


def _option(name: str, *flags: str, **attributes: Any) -> _Option:
    return _Option(name, click.option(*flags, name, **attributes))


def _options(*, engine: bool, rate: bool, formats: tuple[str, ...], copies: bool) -> list[_Option]:
    options = [_rate_option()] if rate else []
    if engine:
        options += [
            _option(
                "engine",
                "--engine",
                envvar="KNOBCTL_ENGINE",
                metavar="URL",
                help="embedded:[FILE] (default) or http(s)://...",
            ),
            _option(
                "context",
                "--context",
                envvar="KNOBCTL_CONTEXT",
                metavar="NAME",
                help="A named engine; see `knobctl context`.",
                shell_complete=_complete_contexts,
            ),
            _option(
                "token_file",
                "--token-file",
                envvar="KNOBCTL_TOKEN_FILE",
                metavar="FILE",
                type=click.Path(path_type=Path),
                help="File that holds the token.",
            ),
            _option(
                "insecure",
                "--insecure",
                is_flag=True,
                envvar="KNOBCTL_INSECURE",
                help="Allow plain http:// beyond loopback.",
            ),
        ]
    options += [
        _option(
            "fleet",
            "--fleet",
            envvar="KNOBCTL_FLEET",
            metavar="NAME",
            help="The fleet document that applies.",
        ),
        _option(
            "schema",
            "--schema",
            envvar="KNOBCTL_SCHEMA",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Another engine's knob schema.",
        ),
    ]
    if formats:
        options += [
            _option(
                "format_",
                "--format",
                envvar="KNOBCTL_FORMAT",
                type=click.Choice(formats),
                default="text",
                show_default=True,
                help="How to answer.",
            ),
        ]
    if formats and copies:
        options += [
            _option(
                "output",
                "--output",
                multiple=True,
                envvar="KNOBCTL_OUTPUT",
                metavar="FORMAT=FILE",
                callback=split_outputs(formats),
                help="Write the answer to a file as well; repeatable.",
            ),
        ]
    return [
        *options,
        _option(
            "color",
            "--color",
            envvar="KNOBCTL_COLOR",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            help="Colour; NO_COLOR is honoured.",
        ),
        _option(
            "quiet",
            "-q",
            "--quiet",
            is_flag=True,
            envvar="KNOBCTL_QUIET",
            help="No talk on stderr.",
        ),
        _option(
            "verbose",
            "-v",
            "--verbose",
            count=True,
            envvar="KNOBCTL_VERBOSE",
            help="Fold nothing; more on stderr.",
        ),
    ]


def _rate_option() -> _Option:
    from knobctl.engine.pace import MOST_PER_S

    return _option(
        "rate",
        "--rate",
        envvar="KNOBCTL_RATE",
        type=click.IntRange(1, MOST_PER_S),
        metavar="N",
        help="Requests a second that the engine gets at most; beats the context's.",
    )


def _complete_contexts(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    from knobctl.cli.completing import contexts

    return [name for name in contexts() if name.startswith(incomplete)]
