"""`knobctl schema`: the JSON Schemas, and what derives from that of the knobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import click

from knobctl.cli.options import Settings, common_options
from knobctl.errors import ExitCode, UsageError
from knobctl.shipped import shipped
from knobctl.text import nearest

if TYPE_CHECKING:
    from pathlib import Path

KNOBS: Final = "context-engine-knobs"


def _names() -> dict[str, Path]:
    """The shipped schemas by their short names: `tenant` for `tenant.v1.schema.json`."""
    files = sorted(shipped("schemas").glob("*.schema.json"))
    return {path.name.partition(".")[0]: path for path in files}


def _complete(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _names() if name.startswith(incomplete)]


@click.command()
@click.argument("name", required=False, shell_complete=_complete)
@click.option(
    "--as",
    "form",
    type=click.Choice(["json", "proto", "markdown", "sql"]),
    default="json",
    show_default=True,
    help="json for every schema; the others derive from the schema of the knobs.",
)
@click.option(
    "--bundled",
    is_flag=True,
    help="With the schemas that it refers to inside it, as one file for an editor.",
)
@common_options(formats=())
def command(settings: Settings, name: str | None, form: str, bundled: bool) -> ExitCode:
    """Print a JSON Schema, or what derives from the schema of the knobs.

    Without NAME: the names, or with --as proto, markdown or sql what derives from the knobs.
    With --schema FILE the knobs are those of another engine.
    """
    if bundled:
        text = _bundled_text(settings, name, form)
    elif form == "json":
        text = _schema_text(settings, name)
    else:
        text = _derived_text(settings, name, form)
    settings.answer({"text": lambda: text})
    return ExitCode.OK


def _schema_text(settings: Settings, name: str | None) -> str:
    if name is None and settings.schema is None:
        return "\n".join(_names())
    if name is None or (name == KNOBS and settings.schema):
        import json

        from knobctl.knobs import load_catalogue

        return json.dumps(load_catalogue(settings.schema).schema, indent=2)
    return _path(name).read_text(encoding="utf-8")


def _bundled_text(settings: Settings, name: str | None, form: str) -> str:
    import json

    from knobctl.documents.bundling import bundled_schema

    if name is None or form != "json" or settings.schema:
        raise UsageError(
            "--bundled is for a schema that ships with knobctl, named, as json",
            hint="run: knobctl schema knob-set --bundled",
        )
    return json.dumps(bundled_schema(_path(name).name.partition(".")[0]), indent=1)


def _derived_text(settings: Settings, name: str | None, form: str) -> str:
    from knobctl.knobs import load_catalogue
    from knobctl.knobs.derived import markdown_text, sql_text

    if name and _path(name) != _path(KNOBS):
        raise UsageError(
            f"--as {form} derives from the schema of the knobs, not from {name}",
            hint=f"run: knobctl schema --as {form}",
        )
    catalogue = load_catalogue(settings.schema)
    match form:
        case "proto":
            from knobctl.server.wire.whole import whole_proto

            return whole_proto(catalogue)
        case "markdown":
            return markdown_text(catalogue)
        case _:
            return sql_text(catalogue)


def _path(name: str) -> Path:
    """The shipped schema of that short name, of its name with the version, or of its file name."""
    for short, path in _names().items():
        if name in {short, path.name, path.name.removesuffix(".schema.json")}:
            return path

    near = nearest(name, _names())
    raise UsageError(
        f"no schema is named {name}",
        hint=f"did you mean {near}?" if near else f"choose from {', '.join(_names())}",
    )
