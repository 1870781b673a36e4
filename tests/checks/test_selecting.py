"""Choosing tenants by name, label and condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knobctl.checks.selecting import Candidate, assert_known, choose_documents, make_selection
from knobctl.documents.repository import open_repository
from knobctl.errors import UsageError
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from pathlib import Path

    from knobctl.documents.repository import Repository

DEFAULTS = load_catalogue().defaults
ACME = Candidate(
    tenant="acme",
    knobs={"rrf_k": 30},
    effective={**DEFAULTS, "rrf_k": 30},
    labels={"tier": "gold", "region": "eu"},
    owner="search",
)


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    """Three tenants, one of them with its value from a layer."""
    (tmp_path / "all.yaml").write_text(
        "layer: gold\nknobs: {rrf_k: 90}\n"
        "---\ntenant: acme\nlabels: {tier: gold, region: eu}\nowner: search\nlayers: [gold]\nknobs: {}\n"
        "---\ntenant: bolt\nlabels: {tier: gold, region: us}\nknobs: {rrf_k: 30}\n"
        "---\ntenant: delta\nknobs: {}\n"
    )
    return open_repository(["."], catalogue=load_catalogue(), cwd=tmp_path, stdin=bytes)


@pytest.mark.parametrize(
    "where",
    [
        "effective.rrf_k == 30",
        "effective.retrieval_min_score >= 0.3",
        "has(knobs.rrf_k) && !has(knobs.gate_mode)",
        "labels.tier == 'gold' && 'region' in labels",
        "tenant.startsWith('ac')",
        "owner == 'search'",
    ],
)
def test_a_condition_sees_values_labels_name_and_owner(where: str) -> None:
    """What the contract names."""
    assert make_selection(where=where).takes(ACME)
    assert not make_selection(where=f"!({where})").takes(ACME)


@given(
    labels=st.dictionaries(st.sampled_from("abc"), st.sampled_from("xyz")),
    asked=st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xyz")), max_size=4),
)
def test_labels_must_all_fit(labels: dict[str, str], asked: list[tuple[str, str]]) -> None:
    """Several are joined by AND; two values of one label choose nobody."""
    selection = make_selection(labels=[f"{label}={value}" for label, value in asked])

    assert selection.takes_labels(labels) == (set(asked) <= set(labels.items()))


def test_a_condition_that_fails_is_neither_in_nor_out() -> None:
    """A missing key stops the command instead of leaving the tenant out."""
    with pytest.raises(UsageError, match="cannot be decided for acme") as caught:
        make_selection(where="knobs.gate_mode == 'ENABLED'").takes(ACME)

    assert "has(" in (caught.value.hint or "")


def test_a_condition_that_does_not_compile_is_shown_with_its_place() -> None:
    """A caret under the character."""
    with pytest.raises(UsageError) as caught:
        make_selection(where="effective.rrf_k >> 3")

    line, caret = caught.value.message.splitlines()[1:3]
    assert caret.index("^") <= line.index(">> 3") + 2


def test_documents_are_chosen_by_what_their_layers_give(repository: Repository) -> None:
    """Layers are resolved first; the order is the documents'."""
    by_layer = choose_documents(repository, make_selection(where="effective.rrf_k > 60"))
    by_label = choose_documents(repository, make_selection(labels=["tier=gold"]))
    everybody = choose_documents(repository, make_selection())

    assert [one.name for one in by_layer] == ["acme"]
    assert [one.name for one in by_label] == ["acme", "bolt"]
    assert [one.name for one in everybody] == ["acme", "bolt", "delta"]


def test_names_and_conditions_narrow_each_other(repository: Repository) -> None:
    """All that is said must hold."""
    chosen = choose_documents(repository, make_selection(["bolt", "delta"], ["tier=gold"]))

    assert [one.name for one in chosen] == ["bolt"]


def test_choosing_nobody_is_usage(repository: Repository) -> None:
    """Nothing done is no success."""
    with pytest.raises(UsageError, match="no tenant is chosen by -l tier=iron"):
        choose_documents(repository, make_selection(labels=["tier=iron"]))


def test_an_unknown_name_is_told_the_nearest(repository: Repository) -> None:
    """A misspelt tenant is no new tenant."""
    with pytest.raises(UsageError, match="unknown tenant acmee") as caught:
        choose_documents(repository, make_selection(["acmee"]))

    assert caught.value.hint == "did you mean acme?"


def test_no_names_are_all_known() -> None:
    """The empty selection asks nothing."""
    assert_known([], [], "")
