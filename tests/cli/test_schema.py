"""`knobctl schema`: the shipped schemas, and what derives from that of the knobs."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from knobctl.shipped import shipped

if TYPE_CHECKING:
    from tests.cli.inside import Inside

FILES = sorted(path.name for path in shipped("schemas").glob("*.schema.json"))


def test_without_a_name_it_lists_them(inside: Inside) -> None:
    """One short name a line, each of which it takes."""
    done = inside("schema")
    assert done.code == 0
    assert done.out.splitlines() == [name.partition(".")[0] for name in FILES]


@pytest.mark.parametrize("file", FILES)
def test_it_prints_every_shipped_schema(inside: Inside, file: str) -> None:
    """As it is shipped, and a JSON Schema."""
    done = inside("schema", file.partition(".")[0])
    assert done.code == 0
    assert done.out == (shipped("schemas") / file).read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(done.out))


def test_a_schema_has_three_names(inside: Inside) -> None:
    """Short, with its version, and that of its file."""
    names = ("tenant", "tenant.v1", "tenant.v1.schema.json")
    assert len({inside("schema", name).out for name in names}) == 1


def test_a_bundled_schema_is_one_file(inside: Inside) -> None:
    """With what it refers to inside it, by every name; only of a shipped schema, as json."""
    done = inside("schema", "knob-set", "--bundled")
    assert done.code == 0
    assert set(done.json["$defs"]) >= {"tenant", "policy", "context-engine-knobs"}
    assert inside("schema", "knob-set.v1.schema.json", "--bundled").out == done.out
    for arguments in (["--bundled"], ["context-engine-knobs", "--bundled", "--as", "sql"]):
        refused = inside("schema", *arguments)
        assert (refused.code, refused.out) == (2, "")


def test_the_knobs_derive(inside: Inside) -> None:
    """The reference page is the committed one; the SQL runs; the .proto has the service."""
    page = Path(__file__).parents[2] / "docs" / "knobs.md"
    assert inside("schema", "--as", "markdown").out == page.read_text(encoding="utf-8")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(inside("schema", "--as", "sql").out)
    proto = inside("schema", "context-engine-knobs", "--as", "proto").out
    assert "double retrieval_min_score = 1;" in proto
    assert "service ContextEngineKnobsConfigService {" in proto
    assert proto.count("syntax =") == 1


def test_another_engines_schema_is_taken(inside: Inside) -> None:
    """With --schema the knobs are those of that file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "cutoff": {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": 0.4}}
        },
    }
    path = inside.write("other.json", json.dumps(schema))
    assert "| [`cutoff`](#cutoff) |" in inside("schema", "--as", "markdown", "--schema", path).out
    assert inside("schema", "--schema", path).json == schema
    assert '"cutoff" ANY NOT NULL' in inside("schema", "--as", "sql", "--schema", path).out


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["tennant"], 2, "did you mean tenant?"),
        (["zzz"], 2, "choose from context-engine-knobs"),
        (["tenant", "--as", "sql"], 2, "not from tenant"),
        (["--as", "xml"], 2, "'xml' is not one of"),
        (["--as", "sql", "--schema", "missing.json"], 4, "cannot be read"),
    ],
)
def test_what_it_cannot_print_is_said(
    inside: Inside, arguments: list[str], code: int, said: str
) -> None:
    """With what to do instead; nothing on stdout."""
    done = inside("schema", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
