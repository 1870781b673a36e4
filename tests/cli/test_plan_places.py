"""Where plans come from and go to: pipes, and files that are no plans."""

from __future__ import annotations

import io
import os
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from knobctl.report.formats import FORMATS
from tests.cli.inside import ENGINE, Inside

if TYPE_CHECKING:
    from tests.running import Knobctl, Result

TENANT = "tenant: acme\nknobs: {rrf_k: 30}\n"


def through_pipe(inside: Inside, text: str) -> Result:
    """Apply what a pipe gives."""
    writer = threading.Thread(target=inside.write, args=("pipe", text))
    writer.start()
    result = inside("apply", "pipe", *ENGINE)
    writer.join()
    return result


def given(inside: Inside, text: str, *arguments: str) -> Result:
    """Run a command with a text on standard input."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        return inside(*arguments, *ENGINE)


def test_a_plan_is_applied_from_standard_input(inside: Inside) -> None:
    """As it was reviewed, without --yes; a second time it is a conflict."""
    inside.write("acme.yaml", TENANT)
    assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    result = given(inside, inside.read("p.json"), "apply", "-")
    assert (result.code, inside.live()) == (0, {"rrf_k": 30}), result
    assert given(inside, inside.read("p.json"), "apply", "-").code == 7


def test_a_plan_is_applied_from_the_device_of_standard_input(knobctl: Knobctl) -> None:
    """It is a pipe here, as in a pipeline."""
    knobctl.write("acme.yaml", TENANT)
    assert knobctl("plan", ".", "-o", "p.json", *ENGINE).code == 0
    plan = (knobctl.folder / "p.json").read_text()
    result = knobctl("apply", "/dev/stdin", *ENGINE, stdin=plan)
    assert (result.code, "1 applied" in result.out) == (0, True), result


def test_documents_are_applied_from_standard_input_as_before(inside: Inside) -> None:
    """Short ones, and one that is longer than what tells a plan."""
    assert given(inside, TENANT, "apply", "-", "--yes").code == 0
    longer = TENANT.replace("30", "31") + "# why\n" * 2000
    assert given(inside, longer, "apply", "-", "--yes").code == 0
    assert inside.live() == {"rrf_k": 31}
    assert given(inside, "", "apply", "-", "--yes").code == 4  # nothing is no document


def test_a_plan_is_applied_from_a_named_pipe(inside: Inside) -> None:
    """Read once, as a process substitution can be; documents are not taken from there."""
    inside.write("acme.yaml", TENANT)
    assert inside("plan", ".", "-o", "p.json", *ENGINE).code == 0
    os.mkfifo(inside.folder / "pipe")
    assert through_pipe(inside, inside.read("p.json")).code == 0
    result = through_pipe(inside, TENANT)
    assert result.code == 2
    assert "pipe is a pipe that holds no plan" in result.err
    assert inside.live() == {"rrf_k": 30}


def test_a_plan_replaces_nothing_but_a_plan(inside: Inside) -> None:
    """Neither the tenant's document nor somebody's notes; an empty file and an older plan are replaced."""
    inside.write("acme.yaml", TENANT)
    inside.write("notes.txt", "mine\n")
    for name in ("acme.yaml", "notes.txt"):
        before = inside.read(name)
        result = inside("plan", ".", "-o", name, *ENGINE)
        assert (result.code, f"-o would replace {name}" in result.err) == (2, True)
        assert inside.read(name) == before
    inside.write("plan", "")
    for _ in range(2):
        assert inside("plan", ".", "-o", "plan", *ENGINE).code == 0


@pytest.mark.parametrize("text", [TENANT, '{"tenant": "acme", "knobs": {}}', "tenant: [\n"])
def test_an_answer_does_not_replace_a_document(inside: Inside, text: str) -> None:
    """Not even a broken one; an older answer that names a tenant is none."""
    inside.write("acme.yaml", text)
    result = inside("validate", ".", "--output", "json=acme.yaml")
    assert (result.code, "a document of ours stands there" in result.err) == (2, True)
    assert inside.read("acme.yaml") == text


@pytest.mark.parametrize("format_", FORMATS)
def test_an_answer_replaces_an_older_one(inside: Inside, format_: str) -> None:
    """In every format, though tenants and policies are named in it, and even where it says nothing."""
    inside.write("acme.yaml", "tenant: acme\nknobs: {vector_min_cosine: 0.9, rrf_k: 0}\n")
    for name in ("report.json", "report.txt"):
        output = ("--output", f"{format_}={name}", "--no-cache")
        assert [inside("check", "acme.yaml", *output).code for _ in range(2)] == [0, 0]
