"""A draft as commands judge it, its rows, and what is said of one knob: without a screen."""

from __future__ import annotations

import shutil
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.changes.single import (
    LiveChange,
    Subject,
    check_live_changes,
    document_of,
    judge_literal,
    judge_literals,
)
from knobctl.changes.stand_in import alone
from knobctl.documents.repository import Repository, open_repository
from knobctl.engine.interface import LiveSet
from knobctl.finding import Severity
from knobctl.knobs import Catalogue, load_catalogue
from knobctl.report.explain_value import Question, explain_value
from knobctl.text import INVISIBLE
from knobctl.tui.detail import detail_lines
from knobctl.tui.draft import UNSET, Begun, Cause, Draft
from knobctl.tui.judging import Judgement, TenantJudge
from knobctl.tui.knob_rows import columns, head_line, knob_rows, row_line, table_lines
from knobctl.tui.preview import preview_lines
from knobctl.tui.steps import step_of, stepped
from knobctl.tui.tenant_words import state_lines, twin_of
from tests.checks.evidence_records import SENTENCE, record_text
from tests.evidence.recordings import SHIPPED
from tests.knobs.foreign import write_foreign_schema
from tests.tui.desks import EXAMPLE
from tests.tui.hostile import HOSTILE

TODAY = date(2026, 11, 30)
CATALOGUE = load_catalogue()
FLOOR, DEPTH = "retrieval_min_score", "retrieval_vector_top_k"


def opened(folder: Path, catalogue: Catalogue | None = None) -> Repository:
    return open_repository([str(folder)], catalogue=catalogue, cwd=folder, stdin=bytes)


def judge_of(
    tenant: str,
    live: dict[str, Any] | None,
    *,
    repository: Repository | None = None,
    **more: Any,
) -> TenantJudge:
    """A tenant of the example, or of another repository."""
    repository = repository or opened(EXAMPLE)
    document = document_of(tenant, {tenant: [d for d in repository.tenants if d.name == tenant]})
    subject = Subject(
        tenant=tenant, repository=repository, fleet=repository.fleet(), document=document
    )
    held = None if live is None else LiveSet(tenant=tenant, knobs=live, revision="r1", **more)
    return TenantJudge(subject, held, TODAY)


def judged(judge: TenantJudge, **edits: Any) -> Judgement:
    draft = judge.draft("embedded:")
    for knob, entry in edits.items():
        draft = draft.put(knob, entry)
    return judge.judge(draft)


def text_of(lines: Any) -> str:
    return "\n".join(
        "".join(part if isinstance(part, str) else part[0] for part in line) for line in lines
    )


def said(judge: TenantJudge, judgement: Judgement, knob: str, width: int = 80) -> str:
    return text_of(detail_lines(judge, judgement, judge.catalogue[knob], width=width))


def test_a_value_is_judged_as_set_judges_it() -> None:
    """The same findings as of the command, live and in the file."""
    judge = judge_of("bolt", {FLOOR: 0.3})
    judgement = judged(judge, retrieval_min_score="0.40")
    change = LiveChange(
        subject=judge.whole,
        live=judge.live,  # type: ignore[arg-type]  # given above
        desired={FLOOR: 0.4},
        literals={FLOOR: "0.40"},
    )
    report = check_live_changes([change], today=TODAY)
    assert {one.rule for one in report.findings} <= {one.rule for one in judgement.findings}
    assert judgement.counting(Severity.WARNING) == 2
    assert judgement.obstacle == ""
    assert judgement.edit is not None
    assert b"retrieval_min_score: 0.40 " in judgement.edit.after


def test_an_error_of_a_policy_stands_in_the_way() -> None:
    """As the repository's own rule that a high floor needs two people."""
    judgement = judged(judge_of("bolt", {}), retrieval_min_score="0.7")
    assert judgement.obstacle.startswith("floor-needs-two-people: ")
    assert judgement.counting(Severity.ERROR) == 1


def test_a_wrong_value_stays_and_stands_in_the_way() -> None:
    """It changes nothing else: policies are asked about what was there before."""
    judge = judge_of("bolt", {})
    judgement = judged(judge, retrieval_min_score="4", rrf_k="x")
    assert judgement.understood.desired == {}
    assert judgement.counting(Severity.ERROR) == 2
    assert "must be a number in 0 .. 1" in judgement.obstacle
    assert judgement.edit is None
    told = said(judge, judgement, FLOOR)
    assert "type ok  x range" in told
    assert "if 4 % is meant, write 0.04" in told
    assert "x type" in said(judge, judgement, "rrf_k")


def test_what_follows_of_a_value_is_said_as_explain_says_it() -> None:
    """Which hits still pass, what is lost, the zero rule, the layers."""
    judge = judge_of("bolt", {FLOOR: 0.3})
    told = said(judge, judged(judge, retrieval_min_score="0.40"), FLOOR)
    assert "retrieval_min_score = 0.40   type ok  range ok  ! 2 warnings" in told
    assert "A match found by vector search alone can never pass." in told
    assert "lost       every paraphrase that BM25 does not find" in told
    assert "kept       found by two rankers: to rank 41 each; by all three: to rank 92" in told
    assert "zero       0 means the platform default, 0.3" in told
    assert "tenants/bolt.yaml:6:24" in told
    assert "o in force now" in told
    assert "1/3" in told
    assert "2/3" in told


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_knob_is_explained_at_every_kind_of_value(knob: Any) -> None:
    """Left out, at its default, at both ends, in a narrow pane and a wide one."""
    judge = judge_of("fjord", {})
    ends = knob.settable if knob.choices else (str(knob.minimum), str(knob.maximum), "0")
    for entry in (UNSET, *ends):
        judgement = judged(judge, **{knob.name: entry})
        for width in (20, 42, 80):
            told = said(judge, judgement, knob.name, width)
            assert told.startswith(f"{knob.name} = "), told
            assert "zero" in told
            assert all(len(row) <= max(width, 66) for row in told.splitlines()[3:]), width


def test_the_headline_is_that_of_explain() -> None:
    """One sentence about a value, wherever it is asked."""
    judge = judge_of("fjord", {})
    for literal in ("0.0001", "0.15", "0.3", "0.34", "0.5", "0.7", "1"):
        answer = judge.answer(judged(judge, retrieval_min_score=literal), CATALOGUE[FLOOR])
        question = Question(
            catalogue=CATALOGUE,
            knob=CATALOGUE[FLOOR],
            literal=literal,
            values=CATALOGUE.defaults,
            exact=lambda name: judge.exact_number(CATALOGUE.defaults[name]),  # type: ignore[arg-type,return-value]  # numbers alone are asked for
        )
        assert answer is not None
        assert answer.headline == explain_value(question).headline


def test_rows_have_a_sign_and_a_word() -> None:
    """Edited, drift, reset, no value; a zero that is none; what is not set is no 0."""
    judge = judge_of("acme", {FLOOR: 0.3, DEPTH: 32})
    judgement = judged(judge, rrf_k="70", mmr_lambda="9", gate_min_confident="0")
    rows = {row.knob.name: row for row in knob_rows(judge, judgement)}
    assert rows["rrf_k"].matter[:2] == ("*", "edited")
    assert rows[FLOOR].matter[:2] == ("~", "drift")
    assert rows[DEPTH].matter[:2] == ("-", "reset")
    assert rows["mmr_lambda"].matter[:2] == ("x", "no value")
    assert rows["gate_min_confident"].draft == "0 = 0.5"
    row = rows[DEPTH]
    assert (row.repo, row.draft, row.live, row.effective) == ("-", "-", "32", "50")
    assert (rows["rrf_k"].draft, rows["rrf_k"].effective) == ("70", "70")


def test_a_knob_above_the_callers_clearance_is_locked() -> None:
    """With its own sign; nothing is known against it where the engine does not say."""
    judge = judge_of("acme", {})
    rows = {row.knob.name: row for row in knob_rows(judge, judged(judge), clearance=3)}
    assert rows[FLOOR].matter[:2] == ("#", "locked")
    rows = {row.knob.name: row for row in knob_rows(judge, judged(judge))}
    assert rows[FLOOR].matter.sign != "#"


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
def test_rows_fit_and_stand_under_their_titles(width: int) -> None:
    """Default and range from 100 columns on; what is typed is cut at its beginning."""
    judge = judge_of("acme", {DEPTH: 32})
    rows = knob_rows(judge, judged(judge, rrf_k="70"))
    shown = columns(rows, width, everything=width >= 100)
    assert ("range" in [column.title for column in shown]) == (width >= 100)
    head = text_of([head_line(shown)])
    for row in table_lines(rows):
        if not isinstance(row, str):
            drawn = text_of([row_line(row, shown, chosen=True, typing="123456789.123456789")])
            assert len(drawn) <= width, (width, drawn)
            assert drawn[head.index("draft") :].startswith("23456789_")
    assert [row for row in table_lines(rows) if isinstance(row, str)][:2] == ["floor", "candidates"]


def test_another_engines_knobs_make_the_form(tmp_path: Path) -> None:
    """A knob is a property of the schema: its row, its range, its words come from there."""
    schema = write_foreign_schema(
        tmp_path,
        novelty={
            "type": "number",
            "minimum": 0,
            "maximum": 5,
            "title": "Novelty",
            "description": "How much is new.",
            "x-knob": {"default": 2.5, "unit": "points", "zero": "0 = platform default"},
        },
    )
    catalogue = load_catalogue(schema)
    (tmp_path / "t.yaml").write_text("tenant: acme\nknobs: {novelty: 1.5, cutoff: 0.5}\n")
    judge = judge_of("acme", {"novelty": 3.0}, repository=opened(tmp_path, catalogue))
    judgement = judged(judge, novelty="9", sparse_mode="DISABLED")
    rows = {row.knob.name: row for row in knob_rows(judge, judgement)}
    assert list(rows) == [knob.name for knob in catalogue]
    assert (rows["novelty"].repo, rows["novelty"].draft, rows["novelty"].live) == ("1.5", "9", "3")
    assert rows["novelty"].matter.word == "no value"
    assert not any(isinstance(row, str) for row in table_lines(list(rows.values())))
    told = said(judge, judgement, "novelty")
    assert "it must be a number in 0 .. 5 (points)" in told
    assert "0 means the platform default, 2.5" in told
    assert "Novelty. How much is new." in told
    assert "Sparse takes no part" in said(judge, judgement, "sparse_mode")
    assert stepped(catalogue["novelty"], "1.5", 1.5, 1) == "1.6"
    assert "x type" not in said(judge, judged(judge, cutoff="0.6"), "cutoff")


def test_evidence_that_a_tenant_names_is_told(tmp_path: Path) -> None:
    """The sentence of what measured these values, what it measured otherwise, and what is no evidence."""
    (tmp_path / "t.yaml").write_text(
        "tenant: acme\nlayers: [std]\nevidence: [gone.json, e.json]\nknobs: {retrieval_min_score: 0.2}\n"
        "---\nlayer: std\nevidence: [bolt.json]\nknobs: {}\n"
    )
    (tmp_path / "e.json").write_text(record_text(tenant="acme"))
    (tmp_path / "bolt.json").write_text(record_text(tenant="bolt"))
    judge = judge_of("acme", {}, repository=opened(tmp_path))
    told = " ".join(said(judge, judged(judge), FLOOR).split())
    assert "gone.json: no such file" in told
    assert "e.json measured 0.34, not 0.2 on 6,065 questions and 100 chunks" in told
    assert "bolt.json: it was measured for bolt" in told
    told = " ".join(said(judge, judged(judge, retrieval_min_score="0.34"), FLOOR).split())
    assert f"{SENTENCE} (e.json)" in told
    other = judged(judge, retrieval_min_score="0.34", rrf_k="30")
    told = " ".join(said(judge, other, FLOOR).split())
    assert "e.json measured 0.34 beside rrf_k 60, not 30 on 6,065 questions" in told


def test_recorded_scores_say_what_a_floor_costs_while_it_is_typed(tmp_path: Path) -> None:
    """Of the draft's floor, and of the one in force; of no other knob, and not under other weights."""
    shutil.copy(SHIPPED, tmp_path / "scores.jsonl")
    (tmp_path / "t.yaml").write_text("tenant: acme\nevidence: [gone.json, scores.jsonl]\n")
    judge = judge_of("acme", {FLOOR: 0.3}, repository=opened(tmp_path))
    told = " ".join(said(judge, judged(judge, retrieval_min_score="0.65"), FLOOR).split())
    assert "At 0.65, 58 of 400 questions (14.5%) would get no context; at 0.3, in" in told
    assert "17 (8.5%) would be lost" in told
    assert "of 400 questions" not in said(judge, judged(judge), DEPTH)
    heavier = judged(judge, retrieval_min_score="0.65", rrf_weight_vector="2")
    assert "No curve of scores.jsonl" in said(judge, heavier, FLOOR)


def test_a_tenant_without_a_document_is_edited_on_top_of_the_live_set() -> None:
    """Its file cannot be written, its push can be planned."""
    judge = judge_of("nobody", {FLOOR: 0.3, DEPTH: 32})
    judgement = judged(judge, retrieval_min_score="0.2")
    assert judgement.edit is None
    assert [(one.change.knob, one.cause) for one in judgement.due] == [(FLOOR, Cause.EDIT)]
    assert "no document" in text_of(
        state_lines("nobody", judge, judgement, live="live", unread="", unheard="")
    )


def test_an_engine_that_cannot_be_asked_is_told_and_the_rest_goes_on() -> None:
    """The file is judged, and what the engine holds is a question mark, no default."""
    judge = judge_of("bolt", None)
    judgement = judged(judge, retrieval_min_score="0.40")
    assert judgement.due == ()
    assert judgement.counting(Severity.WARNING) == 2
    assert {row.live for row in knob_rows(judge, judgement)} == {"?"}
    assert "not known" in text_of(preview_lines(judge, judgement))
    assert "R asks again" in text_of(
        state_lines("bolt", judge, judgement, live="", unread="", unheard="no route")
    )


def test_what_a_push_would_lose_is_said() -> None:
    """Fields that the engine holds and the schema does not know."""
    judge = judge_of("bolt", {}, unknown={"futureKnob": 1})
    told = text_of(state_lines("bolt", judge, judged(judge), live="", unread="", unheard=""))
    assert "futureKnob" in told


def test_a_base_that_moved_stands_in_the_way() -> None:
    """Edits are never put on top of something else without a word."""
    judge = judge_of("acme", {})
    then = Begun(repo={FLOOR: 0.6}, live={DEPTH: 3}, revision="r0")
    draft = Draft(engine="embedded:", tenant="acme", begun=then).put("rrf_k", "70")
    judgement = judge.judge(draft)
    assert "b puts its edits on top" in judgement.obstacle
    told = text_of(state_lines("acme", judge, judgement, live="", unread="", unheard=""))
    assert "moved since the draft was begun" in told
    assert judge.judge(draft.on(judge.now)).obstacle == ""


def test_three_kinds_of_change_are_shown_apart() -> None:
    """With what the file says and how it would be edited."""
    judge = judge_of("bolt", {FLOOR: 0.3, DEPTH: 32})
    told = text_of(preview_lines(judge, judged(judge, rrf_k="70")))
    assert "3 fields: 1 edit, 2 resets" in told
    assert "* rrf_k" in told
    assert "- retrieval_vector_top_k" in told
    assert "RESET" in told
    assert "+  rrf_k: 70" in told


def test_the_command_line_makes_the_same_edits() -> None:
    """Set and unset, with the file, quoted for a shell."""
    judge = judge_of("acme", {})
    judgement = judged(judge, rrf_k="70", retrieval_min_score=UNSET, mmr_lambda="a b;$(x)")
    assert twin_of("acme", judgement, has_file=True, typed=" --engine embedded:e.db") == (
        "knobctl set acme rrf_k=70 'mmr_lambda=a b;$(x)' --also-file --engine embedded:e.db"
        " && knobctl unset acme retrieval_min_score --also-file --engine embedded:e.db"
    )
    assert twin_of("a'b", None, has_file=False, typed="") == "knobctl get 'a'\"'\"'b'"


def test_a_large_repository_is_left_out_of_the_judgement() -> None:
    """Only the tenant and what bears on it; the same is said as with all of them."""
    repository = opened(EXAMPLE)
    document = repository.tenants[0]
    small = alone(repository, document)
    assert small.tenants == [document]
    assert len(small.documents) == len(repository.documents) - len(repository.tenants) + 1
    assert small.effective(document).desired == repository.effective(document).desired


literals = st.one_of(
    st.text(max_size=20),
    st.sampled_from(list(HOSTILE.values())),
    st.from_regex(r"[-+]?[0-9.]{1,6}(e[-+]?[0-9]{1,4})?", fullmatch=True),
    st.sampled_from(["<<", "&a", "*a", "!x", "'", '"', "- ", "? ", ": ", "|", ">", "%", "@", "`"]),
)


@given(literal=literals, knob=st.sampled_from(CATALOGUE.knobs))
@settings(deadline=None, max_examples=60)
def test_whatever_is_typed_is_a_value_or_told_why_not(literal: str, knob: Any) -> None:
    """The verdict is that of `set`, and nothing typed reaches the screen unescaped."""
    value, found = judge_literal(knob, literal, CATALOGUE)
    errors = [one for one in found if one.severity is Severity.ERROR]
    assert (value is None) == bool(errors)
    if value is not None:
        assert judge_literals("acme", {knob.name: literal}, CATALOGUE)[0] == {knob.name: value}
        assert knob.accepts(value)
    judge = JUDGES.setdefault("fjord", judge_of("fjord", {}))
    told = said(judge, judged(judge, **{knob.name: literal}), knob.name)
    assert not INVISIBLE.search(told), told


JUDGES: dict[str, TenantJudge] = {}
REPOSITORY = opened(EXAMPLE)


@given(
    tenant=st.sampled_from(["acme", "bolt", "delta", "ember"]),
    edits=st.lists(
        st.one_of(
            st.tuples(
                st.sampled_from([FLOOR, "gate_expanded_floor", "gate_min_confident"]),
                st.sampled_from(["0", "0.1", "0.3", "0.33", "0.34", "0.45", "0.7", "1", "x"]),
            ),
            st.tuples(st.just("recency_ranker_mode"), st.sampled_from(["ENABLED", "DISABLED"])),
            st.tuples(st.just("rrf_weight_recency"), st.sampled_from(["0.1", "1", "5"])),
            st.tuples(st.sampled_from([FLOOR, "rrf_k", DEPTH]), st.just(UNSET)),
        ),
        min_size=2,
        max_size=6,
    ),
)
@settings(deadline=None, max_examples=15)
def test_what_was_asked_before_changes_no_verdict(
    tenant: str, edits: list[tuple[str, Any]]
) -> None:
    """Policies that remember what they said of other values say the same as fresh ones."""
    live = {FLOOR: 0.3, DEPTH: 32}
    judge = JUDGES.setdefault(tenant, judge_of(tenant, live, repository=REPOSITORY))
    draft = judge.draft("embedded:")
    for knob, entry in edits:
        draft = draft.put(knob, entry)
        judgement = judge.judge(draft)
        assert judge.judge(draft).findings == judgement.findings
    fresh = judge_of(tenant, live, repository=REPOSITORY).judge(draft)
    assert judge.judge(draft).findings == fresh.findings


@given(
    knob=st.sampled_from([knob for knob in CATALOGUE if not knob.choices]),
    literal=literals,
    ups=st.lists(st.sampled_from([1, -1, 10]), max_size=12),
)
@settings(deadline=None, max_examples=60)
def test_steps_stay_in_the_range_and_never_reach_a_zero_that_is_none(
    knob: Any, literal: str, ups: list[int]
) -> None:
    """From whatever is typed."""
    for by in ups:
        further = stepped(knob, literal, knob.default, by)
        if further is None:
            continue
        value, _ = judge_literal(knob, further, CATALOGUE)
        assert value is not None, further
        assert value != 0 or not knob.zero_surprises
        literal = further


def test_steps_are_sensible() -> None:
    """About a tenth of the default's size."""
    steps = {knob.name: str(step_of(knob).normalize()) for knob in CATALOGUE if not knob.choices}
    assert steps[FLOOR] == "0.01"
    assert steps["rrf_weight_vector"] == "0.1"
    assert steps[DEPTH] == "1"
    assert stepped(CATALOGUE[FLOOR], "0.305", 0.3, 1) == "0.315"
    assert stepped(CATALOGUE[FLOOR], "0", 0.3, 1) == "0.31"
    assert stepped(CATALOGUE[FLOOR], "0.01", 0.3, -1) is None
    assert stepped(CATALOGUE[DEPTH], "500", 50, 1) is None
