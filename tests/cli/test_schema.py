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
    from tests.running import Knobctl

FILES = sorted(path.name for path in shipped("schemas").glob("*.schema.json"))


def test_without_a_name_it_lists_them(knobctl: Knobctl) -> None:
    """One short name a line, each of which it takes."""
    done = knobctl("schema")
    assert done.code == 0
    assert done.out.splitlines() == [name.partition(".")[0] for name in FILES]


@pytest.mark.parametrize("file", FILES)
def test_it_prints_every_shipped_schema(knobctl: Knobctl, file: str) -> None:
    """As it is shipped, and a JSON Schema."""
    done = knobctl("schema", file.partition(".")[0])
    assert done.code == 0
    assert done.out == (shipped("schemas") / file).read_text(encoding="utf-8")
    Draft202012Validator.check_schema(json.loads(done.out))


def test_a_schema_has_three_names(knobctl: Knobctl) -> None:
    """Short, with its version, and that of its file."""
    names = ("tenant", "tenant.v1", "tenant.v1.schema.json")
    assert len({knobctl("schema", name).out for name in names}) == 1


def test_a_bundled_schema_is_one_file(knobctl: Knobctl) -> None:
    """With what it refers to inside it, by every name; only of a shipped schema, as json."""
    done = knobctl("schema", "knob-set", "--bundled")
    assert done.code == 0
    assert set(done.json["$defs"]) >= {"tenant", "policy", "context-engine-knobs"}
    assert knobctl("schema", "knob-set.v1.schema.json", "--bundled").out == done.out
    for arguments in (["--bundled"], ["context-engine-knobs", "--bundled", "--as", "sql"]):
        refused = knobctl("schema", *arguments)
        assert (refused.code, refused.out) == (2, "")


def test_the_knobs_derive(knobctl: Knobctl) -> None:
    """The reference page is the committed one; the SQL runs; the .proto has the service."""
    page = Path(__file__).parents[2] / "docs" / "knobs.md"
    assert knobctl("schema", "--as", "markdown").out == page.read_text(encoding="utf-8")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(knobctl("schema", "--as", "sql").out)
    proto = knobctl("schema", "context-engine-knobs", "--as", "proto").out
    assert "double retrieval_min_score = 1;" in proto
    assert "service ContextEngineKnobsConfigService {" in proto
    assert proto.count("syntax =") == 1


def test_another_engines_schema_is_taken(knobctl: Knobctl) -> None:
    """With --schema the knobs are those of that file."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {
            "cutoff": {"type": "number", "minimum": 0, "maximum": 1, "x-knob": {"default": 0.4}}
        },
    }
    path = knobctl.write("other.json", json.dumps(schema))
    assert "| [`cutoff`](#cutoff) |" in knobctl("schema", "--as", "markdown", "--schema", path).out
    assert knobctl("schema", "--schema", path).json == schema
    assert '"cutoff" ANY NOT NULL' in knobctl("schema", "--as", "sql", "--schema", path).out


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
    knobctl: Knobctl, arguments: list[str], code: int, said: str
) -> None:
    """With what to do instead; nothing on stdout."""
    done = knobctl("schema", *arguments)
    assert (done.code, done.out) == (code, "")
    assert said in done.err
