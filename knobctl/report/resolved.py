"""Resolved layers for people and machines: what is in force, where it comes from, what it hid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from knobctl.report.pieces import json_pieces
from knobctl.report.sets import table
from knobctl.text import count, spelled, visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from knobctl.documents.model import Effective, Written
    from knobctl.errors import ExitCode
    from knobctl.finding import Finding
    from knobctl.knobs import Knob


def resolved_text(resolved: Iterable[Effective], *, every_knob: bool, colored: bool) -> str:
    """Write tenants for people, a block each.

    Args:
        resolved: The tenants, in order.
        every_knob: Whether the knobs that nothing writes are listed too.
        colored: Whether names stand out.
    """
    return "\n\n".join(_block(one, every_knob, colored) for one in resolved)


def _block(one: Effective, every_knob: bool, colored: bool) -> str:
    name = click.style(visible(one.tenant), bold=True) if colored else visible(one.tenant)
    place = one.document.location("tenant")
    lines = [f"{name}  {visible(place.file)}:{place.line}: {_how_many(one)}"]
    knobs = [knob for knob in one.catalogue if every_knob or knob.name in one.origins]
    if knobs:
        rows = table([_row(one, knob) for knob in knobs]).splitlines()
        for knob, row in zip(knobs, rows, strict=True):
            lines += [f"  {row}", *(f"      {remark}" for remark in _remarks(one, knob))]
    return "\n".join(lines)


def _how_many(one: Effective) -> str:
    written = len(one.origins)
    if not written:
        return f"all {len(one.catalogue)} knobs at the platform default"
    layers = one.document.layers
    through = f" through {' < '.join(map(visible, layers))}" if layers else ""
    return f"{count(written, 'knob')} written{through}, {len(one.catalogue) - written} at the platform default"


def _row(one: Effective, knob: Knob) -> tuple[str, str, str]:
    origin = one.origin(knob.name)
    where = _place(origin) if origin else "platform default"
    return knob.name, spelled(one.values[knob.name]), where


def layer_words(one: Effective, knob: Knob) -> list[str]:
    """Say where a knob's value in force is written, by whom, and then what is worth knowing of it."""
    origin = one.origin(knob.name)
    if origin is None:
        return [f"nothing writes it; the platform default {spelled(knob.default)} is in force"]
    own = origin.document is one.document
    whose = "" if own else f", layer {visible(origin.document.name)}"
    return [f"{visible(origin.literal)}  {_place(origin)}{whose}", *_remarks(one, knob)]


def _remarks(one: Effective, knob: Knob) -> Iterator[str]:
    """What is worth knowing of a value: that it is no value, how it came, what it hides."""
    origin = one.origin(knob.name)
    if origin is None:
        return
    if origin.value == knob.unset:
        yield f"a written {spelled(knob.unset)} means the platform default, {spelled(knob.default)}"
    if via := origin.via:
        yield f"through {visible(via.file)}:{via.line}:{via.column}"
    for hidden in one.hidden(knob.name):
        yield f"hides {spelled(hidden.value)}  {_place(hidden)}"


def _place(written: Written) -> str:
    place = written.location
    return f"{visible(place.file)}:{place.line}:{place.column}"


def resolved_json(
    resolved: Iterable[Effective], findings: Sequence[Finding], code: ExitCode
) -> Iterator[str]:
    """Write tenants for machines, in pieces; see `schemas/output-resolve.v1.schema.json`."""
    answer = {
        "version": 1,
        "command": "resolve",
        "outcome": code.outcome,
        "exit_code": int(code),
        "tenants": [],
        "findings": [finding.as_json() for finding in findings],
    }
    return json_pieces(answer, "tenants", map(_tenant_json, resolved))


def _tenant_json(one: Effective) -> dict[str, Any]:
    return {
        "tenant": one.tenant,
        "file": one.document.source,
        "layers": list(one.document.layers),
        "knobs": dict(one.desired),
        "effective": dict(one.values),
        "origins": {
            knob.name: {
                **_written_json(one.origins[knob.name][0]),
                "hidden": [_written_json(hidden) for hidden in one.hidden(knob.name)],
            }
            for knob in one.catalogue
            if knob.name in one.origins
        },
    }


def _written_json(written: Written) -> dict[str, Any]:
    place, via = written.location, written.via
    return {
        "value": written.value,
        "literal": written.literal,
        "kind": written.document.kind.value,
        "document": written.document.name,
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "via": {"line": via.line, "column": via.column} if via else None,
    }
