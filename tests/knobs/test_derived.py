"""What derives from the schema: the SQL table, the `.proto` message, the reference page."""

from __future__ import annotations

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from knobctl.knobs import Catalogue, Knob, load_catalogue
from knobctl.knobs.derived import markdown_text, proto_text, quoted_name, sql_text

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def catalogue() -> Catalogue:
    return load_catalogue()


def test_the_reference_page_is_current(catalogue: Catalogue) -> None:
    """docs/knobs.md is what `knobctl schema --as markdown` prints."""
    committed = (ROOT / "docs" / "knobs.md").read_text(encoding="utf-8")
    assert committed == markdown_text(catalogue)


@pytest.mark.parametrize("knob", load_catalogue(), ids=lambda knob: knob.name)
def test_the_reference_page_says_all_of_a_knob(catalogue: Catalogue, knob: Knob) -> None:
    """Its own part holds range, default, zero rule, clearance, wire name and what is known."""
    part = markdown_text(catalogue).split(f"\n## {knob.name}\n")[1].split("\n## ")[0]
    for fact in (
        knob.title,
        knob.description,
        knob.range_text,
        knob.zero,
        knob.off,
        knob.scope,
        knob.known,
        knob.origin,
        f"edit L{knob.edit_clearance}",
        f"`{knob.json_name}`, field {knob.field_number}",
        *knob.interacts_with,
    ):
        assert fact in part


def test_the_pages_links_lead_somewhere(catalogue: Catalogue) -> None:
    """Every knob that is named as acting together is on the page."""
    page = markdown_text(catalogue)
    links = set(re.findall(r"\(#(\w+)\)", page))
    assert links <= set(re.findall(r"^## (\w+)$", page, re.MULTILINE))


def test_the_table_takes_the_defaults_and_a_row_of_nothing(catalogue: Catalogue) -> None:
    """The SQL is SQLite's; a row that names only the tenant is a set with every knob unset."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql_text(catalogue))
        connection.execute("INSERT INTO context_engine_knobs (tenant_id) VALUES ('acme')")
        row = connection.execute("SELECT * FROM context_engine_knobs").fetchone()
        assert row == ("acme", *(knob.unset for knob in catalogue))
        names = [quoted_name(knob.name) for knob in catalogue]
        places = ", ".join("?" * len(names))
        connection.execute(
            f"INSERT INTO context_engine_knobs (tenant_id, {', '.join(names)}) VALUES ('b', {places})",
            [knob.default for knob in catalogue],
        )


def test_names_with_quotes_stay_names() -> None:
    """A schema of somebody else's cannot break out of an identifier."""
    assert quoted_name('a" b') == '"a"" b"'


def test_the_message_has_a_field_a_knob(catalogue: Catalogue) -> None:
    """One line each, with the number of the schema; no number twice."""
    fields = re.findall(r"^  (\w+) (\w+) = (\d+);$", proto_text(catalogue), re.MULTILINE)
    assert fields == [(knob.type.value, knob.name, str(knob.field_number)) for knob in catalogue]
    assert len({number for _, _, number in fields}) == len(catalogue)


def test_another_engines_schema_derives_too(tmp_path: Path) -> None:
    """Its own JSON names, modes with choices of their own as text, no enum where there is no mode."""
    path = tmp_path / "schema.json"
    path.write_text(
        """{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {
          "cut_off": {"type": "number", "minimum": 0, "maximum": 1,
                      "x-knob": {"default": 0.4, "proto": {"type": "double", "number": 4, "json_name": "cutoff"}}},
          "rerank": {"enum": ["UNSET", "ON"], "x-knob": {"default": "ON"}},
          "style": {"enum": ["UNSET", "TERSE|LONG"], "x-knob": {"default": "TERSE|LONG"}}}}""",
        encoding="utf-8",
    )
    catalogue = load_catalogue(path)
    proto = proto_text(catalogue)
    assert 'double cut_off = 4 [json_name = "cutoff"];' in proto
    assert "  ON = 1;" in proto
    assert "KnobMode rerank = 2;" in proto
    assert "string style = 3;" in proto
    assert r"UNSET, TERSE\|LONG" not in markdown_text(catalogue)
    assert r"TERSE\|LONG" in markdown_text(catalogue)
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(sql_text(catalogue))
    numbers_only = tmp_path / "numbers.json"
    numbers_only.write_text(
        """{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {
          "k": {"type": "integer", "minimum": 0, "maximum": 9, "x-knob": {"default": 1}}}}""",
        encoding="utf-8",
    )
    plain = load_catalogue(numbers_only)
    assert "enum" not in proto_text(plain)
    assert "written as `0`: that means" in markdown_text(plain)


def test_words_of_another_schema_cannot_drive_the_terminal(tmp_path: Path) -> None:
    """The reference page is printed; what its schema says is shown escaped."""
    path = tmp_path / "schema.json"
    path.write_text(
        json.dumps({"properties": {"k": {"type": "number", "title": "\x1b[31m", "description": "\u202e", "default": 1}}}),
        encoding="utf-8",
    )  # fmt: skip
    page = markdown_text(load_catalogue(path))
    assert "\x1b" not in page
    assert r"*\x1b[31m.* \u202e" in page
