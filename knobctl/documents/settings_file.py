"""Reads `knobctl.toml` strictly: an unknown key is an error, not a wish that nobody hears."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING, Any, Final

from pydantic import BaseModel, ConfigDict, Field, StrictStr, ValidationError

from knobctl.documents.settings import RepositorySettings, SeverityOverride
from knobctl.errors import InputError
from knobctl.finding import Severity
from knobctl.text import nearest, visible

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pydantic_core import ErrorDetails


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Override(_Strict):
    severity: Severity
    reason: StrictStr = Field(pattern=r"\S")


class _File(_Strict):
    schema_: StrictStr | None = Field(default=None, alias="schema")
    skip: tuple[StrictStr, ...] = ()
    default_fleet: StrictStr | None = None
    severity: dict[str, _Override] = Field(default_factory=dict)
    benchmark_relevance_floor: dict[str, Any] = Field(default_factory=dict)
    benchmark: dict[str, Any] = Field(default_factory=dict)
    query: dict[str, Any] = Field(default_factory=dict)
    llm: dict[str, Any] = Field(default_factory=dict)


def parse_settings(path: Path, read: Callable[[], bytes]) -> RepositorySettings:
    """Read one `knobctl.toml`.

    Args:
        path: Where it lies, or lay: names in it are relative to its folder.
        read: Gives its bytes.

    Raises:
        InputError: Naming the line and the key that is wrong.
    """
    text = ""
    try:
        text = read().decode("utf-8-sig")
        file = _File.model_validate(tomllib.loads(text))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no UTF-8: byte {error.start}") from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{path} is no TOML: {error}") from error
    except ValidationError as error:
        raise InputError(_complaint(path, text, error.errors()[0])) from error
    return RepositorySettings(
        schema=_inside(path, file.schema_) if file.schema_ else None,
        skip=file.skip,
        default_fleet=file.default_fleet,
        severities={
            rule: SeverityOverride(
                severity=override.severity,
                reason=override.reason,
                line=_line(text, ["severity", rule]),
            )
            for rule, override in file.severity.items()
        },
        benchmark={
            name: getattr(file, name)
            for name in ("benchmark_relevance_floor", "benchmark", "query", "llm")
            if getattr(file, name)
        },
    )


def _inside(path: Path, name: str) -> Path:
    root = path.parent.resolve()
    target = (root / name).resolve()
    if not target.is_relative_to(root):
        raise InputError(
            f"{path}: schema = {name!r} lies outside the repository", hint="copy the schema into it"
        )
    return target


def _complaint(path: Path, text: str, error: ErrorDetails) -> str:
    steps = [str(step) for step in error["loc"]]
    key = visible(".".join(steps))
    place = f"{path}:{_line(text, steps)}"
    if error["type"] == "extra_forbidden":
        known = (
            ["severity", "reason"]
            if len(steps) > 1
            else [field.alias or name for name, field in _File.model_fields.items()]
        )
        close = nearest(steps[-1], known)
        hint = f"; did you mean {close}?" if close else f"; known are {', '.join(known)}"
        return f"{place}: {key} is no setting{hint}"
    return f"{place}: {key} {_MUST.get(error['type'], error['msg'])}"


_MUST: Final = {
    "missing": "is missing: a rule weighs otherwise with a severity, and a reason for whoever reads it next year",
    "string_pattern_mismatch": "is empty: say why the rule weighs otherwise here",
    "enum": "must be error, warning or info; only a waiver lets a rule off",
    "string_type": "must be text",
    "tuple_type": "must be a list of texts",
    **dict.fromkeys(
        ("dict_type", "model_type"),
        "must be a table, such as [severity.RULE] with severity and reason below",
    ),
}
"""By what is wrong with a setting, what it must be."""


def _line(text: str, steps: list[str]) -> int:
    """Find the line that most likely writes a key: TOML's parser keeps no positions."""
    at = 0
    for step in steps:
        found = re.compile(rf"(?<![\w-]){re.escape(step)}(?![\w-])").search(text, at)
        if found and not step.isdigit():
            at = found.end()
    return text.count("\n", 0, at) + 1
