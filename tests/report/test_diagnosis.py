"""A diagnosis as people read it, and as machines do."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from knobctl.diagnosis import Diagnosis, TenantKnobs, compare, diagnose
from knobctl.diagnosis.case import Asked
from knobctl.diagnosis.reading import from_object
from knobctl.fusion import exact
from knobctl.knobs import load_catalogue
from knobctl.report.diagnosis import Drawing, diagnoses_json, diagnoses_text, diagnosis_text
from knobctl.report.plot_parts import Ink
from tests.cli.outputs import faults_of
from tests.diagnosis.answers import CASES, FIELD_REPORT, Shown, rankers, search

GOLDEN: Final = Path(__file__).parent / "golden" / "diagnose"
CATALOGUE: Final = load_catalogue()


def knobs(values: dict[str, Any]) -> TenantKnobs:
    """The set of acme, or the defaults if there are none."""
    if not values:
        return TenantKnobs.defaults(CATALOGUE)
    return TenantKnobs(CATALOGUE, CATALOGUE.effective(values), "acme")


def diagnosed(shown: Shown) -> Diagnosis:
    """The diagnosis of a case."""
    return diagnose(
        from_object(shown.answer, "answer.json"),
        knobs(shown.knobs),
        floor=None if shown.floor is None else exact(shown.floor),
    )


@pytest.mark.parametrize("name", CASES)
def test_the_screen_reads_as_agreed(name: str) -> None:
    """The verdict, what happened, the picture, what to do."""
    text = diagnosis_text(diagnosed(CASES[name]), drawing=Drawing())
    assert f"{text}\n" == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", CASES)
def test_no_line_is_wider_than_a_terminal_but_a_command(name: str) -> None:
    """80 columns; a command is never broken, so that it can be copied."""
    lines = diagnosis_text(diagnosed(CASES[name]), drawing=Drawing()).splitlines()
    assert [line for line in lines if len(line) > 80 and "knobctl " not in line] == []


@pytest.mark.parametrize("name", CASES)
def test_the_data_has_the_verdict_and_the_remarks_by_their_ids(name: str) -> None:
    """Ids are what machines rely on; the answer fits its schema."""
    shown = CASES[name]
    data = diagnoses_json([diagnosed(shown)], None)
    (one,) = data["diagnoses"]
    assert one["verdict"] == shown.verdict
    assert set(shown.remarks) <= {remark["id"] for remark in one["remarks"]}
    assert faults_of(data, "output-diagnose.v1.schema.json") == []


def test_without_blocks_the_picture_is_ascii() -> None:
    """A log or a terminal of another encoding mangles nothing."""
    drawing = Drawing(ink=Ink.ASCII)
    text = diagnosis_text(diagnosed(CASES["search-inherited-floor"]), drawing=drawing)
    assert text.isascii()


def test_colour_repeats_what_the_words_say() -> None:
    """Without its escapes the coloured text is the plain one."""
    import click

    one = diagnosed(CASES["search-inherited-floor"])
    colored = diagnosis_text(one, drawing=Drawing(colored=True))
    assert "\x1b[" in colored
    assert click.unstyle(colored) == diagnosis_text(one, drawing=Drawing())


def test_a_command_names_the_tenant_the_question_and_the_engine() -> None:
    """What continues can be pasted into a shell, whatever the question holds."""
    asked = Asked(question='what\'s "a" gate?', tenant="acme", sources=("hand book",))
    answer = from_object(search(FIELD_REPORT), "embedded:e.db")
    one = diagnose(answer, knobs({"rrf_k": 60}), asked=asked)
    text = diagnosis_text(one, drawing=Drawing(), place=" --engine embedded:e.db")
    assert (
        "knobctl diagnose --tenant acme --ask 'what'\"'\"'s \"a\" gate?' --surface search"
        " --min-score 0.3 --source 'hand book' --engine embedded:e.db"
    ) in text
    assert "no minScore was sent" in " ".join(text.split())


def test_who_may_not_read_knobs_gets_commands_for_the_tenant_all_the_same() -> None:
    """The tenant was named; that its knobs are assumed is for want of clearance, not of an option."""
    answer = from_object(search(FIELD_REPORT), "http://127.0.0.1:1")
    one = diagnose(answer, knobs({}), asked=Asked(question="a gate?", tenant="acme"))
    text = diagnosis_text(one, drawing=Drawing())
    assert "knobctl diagnose --tenant acme --ask 'a gate?'" in text
    assert "the token may not read the tenant's own, which needs L3" in " ".join(text.split())
    assert "--tenant NAME" not in text


@pytest.mark.parametrize(("cut", "says_nothing"), [(0, True), (35, False), (41, False)])
def test_being_found_by_vector_says_something_where_the_cosine_filter_ran(
    cut: int, says_nothing: bool
) -> None:
    """What is left of a whole corpus is no whole corpus."""
    vector = {"removedByCosineFloor": cut} if cut else {}
    shown = Shown(
        search(
            FIELD_REPORT,
            0.3,
            rankers=rankers(41, 5, 5, vector=vector),
        ),
        "floor-removed-some",
        (),
        {"vector_min_cosine": 0.2},
    )
    ids = {remark.id for remark in diagnosed(shown).remarks}
    assert ("vector-holds-all" in ids) is says_nothing
    assert ("cosine-floor-removed-rows" in ids) is not says_nothing


def test_two_answers_read_as_agreed() -> None:
    """Whether they may be compared, what differs, then each."""
    pair = [diagnosed(CASES[name]) for name in ("search-inherited-floor", "search-top-k")]
    text = diagnoses_text(pair, compare(*pair), drawing=Drawing())
    assert f"{text}\n" == (GOLDEN / "two-answers.txt").read_text(encoding="utf-8")
