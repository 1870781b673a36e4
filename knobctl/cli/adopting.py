"""`knobctl check --write-waivers`: lets off what a repository has when its gate is adopted."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar

import click

from knobctl.errors import RefusedError, UsageError
from knobctl.text import INVISIBLE, has_surrogates

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from knobctl.checks.adopting import Adoption, Approval
    from knobctl.checks.report import Report
    from knobctl.cli.session import Session
    from knobctl.documents.repository import Repository

F = TypeVar("F", bound="Callable[..., Any]")


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptionOptions:
    """What the command line says of waivers to be written."""

    write_waivers: bool = False
    expires: str | None = None
    reason: str | None = None
    approved_by: str | None = None

    def approval(self, today: date, *, compares: bool, piped: bool) -> Approval | None:
        """What the waivers say of themselves; None where none are to be written.

        Args:
            today: The day; the waivers' last one lies after it.
            compares: Whether the run compares with a revision or with an engine.
            piped: Whether it reads standard input.

        Raises:
            UsageError: If the options do not fit together.
        """
        if not self.write_waivers:
            said = {"--expires": self.expires, "--reason": self.reason}
            for option, value in {**said, "--approved-by": self.approved_by}.items():
                if value is not None:
                    raise UsageError(f"{option} says something of waivers: add --write-waivers")
            return None
        if compares:
            raise UsageError(
                "--write-waivers lets off what stands here, not what changes: leave out --base and --live",
                hint="with --base, what stood before fails nothing, waived or not",
            )
        reason = _given("--reason", self.reason)
        approved_by = _given("--approved-by", self.approved_by)
        if piped:
            raise UsageError("--write-waivers is for a repository; standard input is none")
        from knobctl.checks.adopting import NOBODY, Approval

        return Approval(
            expires=_day(self.expires, today),
            reason=reason or f"stood here on {today}, when the gate was adopted",
            approved_by=approved_by or NOBODY,
        )


def _given(option: str, text: str | None) -> str | None:
    if text and (INVISIBLE.search(text) or has_surrogates(text)):
        raise UsageError(f"{option} holds characters that nobody sees")
    return text.strip() if text and text.strip() else None


def _day(text: str | None, today: date) -> date:
    if text is None:
        raise UsageError("--write-waivers needs the last day of the waivers: --expires YYYY-MM-DD")
    try:
        day = date.fromisoformat(text) if len(text) == len("2099-03-31") else None
    except ValueError:
        day = None
    if day is None:
        raise UsageError(f"--expires {text!r} is no day; write it as 2099-03-31")
    if day <= today:
        raise UsageError(f"--expires {day} does not lie in the future: today is {today}")
    return day


def adoption_options(function: F) -> F:
    """Give a command the options of `--write-waivers`; it receives them as `adoption`."""

    def gathered(*arguments: Any, **values: Any) -> Any:  # noqa: ANN401  a command's own arguments pass through
        names = ("write_waivers", "expires", "reason", "approved_by")
        adoption = AdoptionOptions(**{name: values.pop(name) for name in names})
        return function(*arguments, adoption=adoption, **values)

    from functools import update_wrapper

    wrapped: Any = update_wrapper(gathered, function)
    for option in reversed(
        (
            click.option(
                "--write-waivers",
                is_flag=True,
                help="Write waivers for every error and warning of a policy that counts now, to adopt the gate "
                "with old faults in place.",
            ),
            click.option("--expires", metavar="DATE", help="Their last day, such as 2099-03-31."),
            click.option(
                "--reason", metavar="TEXT", help="Why; theirs is the adoption if left out."
            ),
            click.option("--approved-by", metavar="NAME", help="Who said so; nobody if left out."),
        )
    ):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]  # click decorates functions of any type


def write_waivers(
    session: Session,
    report: Report,
    repository: Repository,
    approval: Approval,
    paths: Sequence[str],
) -> Adoption:
    """Write waivers for what a report finds, into files that do not exist yet.

    Returns:
        What was written, files as the working folder has them; nothing where there was nothing to let off.

    Raises:
        UsageError: If they cannot be written where they would be found.
        RefusedError: If a file of that name exists.
    """
    from knobctl.checks.adopting import adopt
    from knobctl.documents.files import write_atomically

    _refuse_no_repository(repository, [session.cwd / path for path in paths])
    adoption = adopt(report, repository, session.today, approval)
    for name in adoption.files:
        _refuse_place(repository, name)
    for name, text in adoption.files.items():
        path = repository.root / name
        try:
            path.parent.mkdir(exist_ok=True)
            write_atomically(path, text.encode())
        except OSError as error:
            raise UsageError(f"{name} cannot be written: {error.strerror}") from error
    shown = {
        os.path.relpath(repository.root / name, session.cwd): text
        for name, text in adoption.files.items()
    }
    return replace(adoption, files=shown)


def _refuse_no_repository(repository: Repository, paths: Sequence[Path]) -> None:
    """Refuse several folders that nothing marks as one repository."""
    from knobctl.documents.repository import repository_root

    roots = {repository_root(path.resolve())[0] for path in paths}
    if len(roots) > 1:
        raise UsageError(
            "the PATHs lie in several folders and in no repository: no waiver would be read for all of them",
            hint=f"an empty knobctl.toml in {repository.root} makes it one",
        )


def _refuse_place(repository: Repository, name: str) -> None:
    """Refuse a file that exists, lies behind a link, or would not be read."""
    from knobctl.documents.globs import matcher

    path = repository.root / name
    # Unlike a Path, this takes no offence at a folder that may not be entered.
    if os.path.lexists(path):
        raise RefusedError(
            f"{name} exists; nothing was written.",
            hint="review it first: keep it under another name, or remove it",
        )
    if path.parent.is_symlink() or (path.parent.exists() and not path.parent.is_dir()):
        raise UsageError(
            f"{path.parent.name} is no folder of the repository: no waiver is read there"
        )
    if matcher(repository.settings.skip)(name):
        raise UsageError(f"knobctl.toml skips {name}: no waiver would be read there")
