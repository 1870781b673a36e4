"""`knobctl get`: the live sets."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.knobs import load_catalogue
from tests.cli.engines import FIRST, SECOND, embedded, fits, write
from tests.given_engine import GET, Fault, GivenEngine

if TYPE_CHECKING:
    from tests.cli.inside import Inside
    from tests.running import Knobctl

ENGINE = ("--engine", "embedded:e.db")


@pytest.fixture
def stocked(inside: Inside) -> Inside:
    """The command beside an engine that holds four sets."""
    with embedded(inside.folder / "e.db") as engine:
        for tenant in ("delta", "acme", "bolt", "echo"):
            write(engine, tenant, FIRST, "first")
        write(engine, "acme", SECOND, "second")
    return inside


def test_json_gives_wire_values_effective_values_and_the_revision(stocked: Inside) -> None:
    """The shape of the contract, and every knob under `effective`."""
    answer = stocked("get", "acme", "--format", "json", *ENGINE)

    fits(answer.json, "get")
    (acme,) = answer.json["tenants"]
    assert acme["tenant"] == "acme"
    assert acme["revision"] == "r2"
    assert acme["knobs"] == SECOND
    assert acme["effective"] == {**load_catalogue().defaults, **SECOND}


def test_without_names_every_set_is_shown_by_tenant(stocked: Inside) -> None:
    """A table where blocks would fill more than a screen."""
    answer = stocked("get", *ENGINE)

    lines = answer.out.splitlines()
    assert [line.split()[0] for line in lines] == ["tenant", "acme", "bolt", "delta", "echo"]
    assert "retrieval_min_score=0.15 retrieval_vector_top_k=32" in lines[2]
    assert answer.err == ""


def test_a_block_says_what_is_set_and_what_the_default_is(stocked: Inside) -> None:
    """First line: the answer; then a line for each knob that is set."""
    answer = stocked("get", "bolt", *ENGINE)

    first, *rest = answer.out.splitlines()
    assert first.startswith("bolt  r1 (anna, 1 h ago): 2 knobs set, 23 at the platform default")
    assert [line.split() for line in rest] == [
        ["retrieval_min_score", "0.15", "default", "0.3"],
        ["retrieval_vector_top_k", "32", "default", "50"],
    ]


def test_all_lists_the_knobs_at_the_default_too(stocked: Inside) -> None:
    """One line a knob of the schema."""
    answer = stocked("get", "bolt", "--all", *ENGINE)

    assert len(answer.out.splitlines()) == 1 + len(load_catalogue())


def test_a_tenant_that_was_never_written_is_shown_as_such(stocked: Inside) -> None:
    """Absence is a revision of its own: the empty string."""
    text = stocked("get", "zulu", *ENGINE)
    answer = stocked("get", "zulu", "--format", "json", *ENGINE)

    assert text.out.startswith("zulu  never written: all 25 knobs at the platform default")
    assert answer.json["tenants"][0]["revision"] == ""
    assert (text.code, answer.code) == (0, 0)


@pytest.mark.parametrize("name", ["Acme", "a b", "../acme", "acme\n", "\x1b[2J", "a" * 64])
def test_what_can_name_no_tenant_is_usage(stocked: Inside, name: str) -> None:
    """Malformed names never reach an engine or a header, and drive no terminal."""
    answer = stocked("get", name, *ENGINE)

    assert answer.code == 2
    assert answer.out == ""
    assert "\x1b" not in answer.err


def test_columns_and_order_are_chosen(stocked: Inside) -> None:
    """Columns may be knobs; `-` sorts downwards; equal ones keep their order."""
    answer = stocked(
        "get", "--columns", "tenant,retrievalMinScore", "--sort-by", "-retrieval_min_score", *ENGINE
    )

    assert [line.split() for line in answer.out.splitlines()] == [
        ["tenant", "retrieval_min_score"],
        ["acme", "0.2"],
        ["bolt", "0.15"],
        ["delta", "0.15"],
        ["echo", "0.15"],
    ]


def test_an_unknown_column_is_usage_and_names_the_nearest(stocked: Inside) -> None:
    """A misspelt knob is told its name."""
    answer = stocked("get", "--columns", "retrieval_min_scor", *ENGINE)

    assert answer.code == 2
    assert "did you mean retrieval_min_score?" in answer.err


def test_a_condition_chooses_by_what_is_in_force(stocked: Inside) -> None:
    """`--where` sees effective values of the live set."""
    answer = stocked(
        "get", "--where", "effective.retrieval_min_score > 0.18", "--format", "json", *ENGINE
    )

    assert [one["tenant"] for one in answer.json["tenants"]] == ["acme"]


def test_labels_choose_by_the_documents_here(stocked: Inside) -> None:
    """Labels stand in documents only; all that are given must fit."""
    stocked.write("a.yaml", "tenant: acme\nlabels: {tier: gold, region: eu}\nknobs: {}\n")
    stocked.write("b.yaml", "tenant: bolt\nlabels: {tier: gold}\nknobs: {}\n")

    answer = stocked("get", "-l", "tier=gold", "-l", "region=eu", "--format", "json", *ENGINE)

    assert [one["tenant"] for one in answer.json["tenants"]] == ["acme"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-l", "tier"], "LABEL=VALUE"),
        (["--where", "effective.rrf_k >"], "does not compile"),
        (["--where", "1 + 1"], "not true or false"),
        (["--where", "effective.nothing > 1"], "cannot be decided for acme"),
        (["--where", "effective.rrf_k > 999"], "no tenant is chosen"),
    ],
)
def test_a_selection_that_says_nothing_sensible_is_usage(
    stocked: Inside, arguments: list[str], words: str
) -> None:
    """Choosing nobody is no success, and a condition that fails chooses nobody silently."""
    answer = stocked("get", *arguments, *ENGINE)

    assert answer.code == 2
    assert words in answer.err
    assert answer.out == ""


def test_an_engine_without_lists_answers_for_the_documents_here(knobctl: Knobctl) -> None:
    """The given contract has no list: the repository says which tenants there are, and that is told."""
    knobctl.write("a.yaml", "tenant: acme\nknobs: {}\n")
    with GivenEngine() as given:
        given.sets["acme"] = {"rrfK": 30}
        answer = knobctl(
            "get", "--engine", given.url, "--format", "json", KNOBCTL_TOKEN="acme-token"
        )

    assert answer.code == 0
    assert answer.json["tenants"][0]["knobs"] == {"rrf_k": 30}
    assert answer.json["tenants"][0]["revision"] is None
    assert "these are the tenants of the documents here" in answer.err


def test_stored_fields_that_the_schema_does_not_know_stay_visible(knobctl: Knobctl) -> None:
    """Unknown fields and values that the schema does not take are shown raw, and drive no terminal."""
    with GivenEngine() as given:
        given.sets["acme"] = {"rrfK": 30, "newKnob": "\x1b[2J", "retrievalMinScore": 1.7}
        text = knobctl("get", "acme", "--engine", given.url, KNOBCTL_TOKEN="acme-token")
        answer = knobctl(
            "get", "acme", "--format", "json", "--engine", given.url, KNOBCTL_TOKEN="acme-token"
        )

    fits(answer.json, "get")
    assert answer.json["tenants"][0]["unknown"] == {
        "newKnob": "\x1b[2J",
        "retrieval_min_score": 1.7,
    }
    assert answer.json["tenants"][0]["knobs"] == {"rrf_k": 30}
    assert "newKnob" in text.out
    assert "unknown to the schema" in text.out
    assert "\x1b" not in text.out + answer.out


@pytest.mark.parametrize(
    ("fault", "argument"),
    [
        (Fault.HTML, None),
        (Fault.BODY, b"{"),
        (Fault.BODY, b"[]"),
        (Fault.BODY, b"{}"),
        (Fault.BODY, b'{"config": null}'),
        (Fault.BODY, b'{"config": {"rrfK": NaN}}'),
        (Fault.BODY, b'{"config": {}, "revision": 7}'),
        (Fault.BODY, b'{"config": {}, "tenantId": "bolt"}'),
        (Fault.BODY, b"[" * 100_000),
        (Fault.BODY, b"\xff\xfe"),
        (Fault.BODY, b""),
    ],
)
def test_an_engine_that_answers_nonsense_is_exit_8_and_no_traceback(
    knobctl: Knobctl, fault: Fault, argument: bytes | None
) -> None:
    """Whatever comes back, the verdict is about the engine, on stderr, in a line."""
    with GivenEngine() as given:
        given.fail(fault, method=GET, argument=argument, times=9)
        answer = knobctl("get", "acme", "--engine", given.url, KNOBCTL_TOKEN="acme-token")

    assert answer.code == 8
    assert answer.out == ""
    assert "answered nonsense" in answer.err
    assert "Traceback" not in answer.err


def test_a_token_never_shows_however_the_engine_echoes_it(knobctl: Knobctl) -> None:
    """Not in messages, not with -v, not where the engine sends it back in its answer."""
    secret = "s3cret-0123456789"
    with GivenEngine({secret: "acme"}) as given:
        given.fail(Fault.BODY, method=GET, argument=f"you sent {secret}".encode())
        answer = knobctl("get", "acme", "-v", "--engine", given.url, KNOBCTL_TOKEN=secret)

    assert answer.code == 8
    assert "[token]" in answer.err
    assert secret not in answer.out + answer.err


def test_an_unreachable_engine_is_exit_8(knobctl: Knobctl) -> None:
    """Nothing listens there."""
    answer = knobctl("get", "acme", "--engine", "http://127.0.0.1:9", KNOBCTL_TOKEN="t")

    assert answer.code == 8
    assert "could not be reached: Connection refused" in answer.err


def test_plain_http_to_another_machine_is_refused_before_anything_is_sent(knobctl: Knobctl) -> None:
    """The guard names the flag that asks for it."""
    answer = knobctl("get", "acme", "--engine", "http://engine.example", KNOBCTL_TOKEN="t")

    assert answer.code == 6
    assert "--insecure" in answer.err
