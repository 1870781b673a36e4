"""What was asked before changes no answer: each policy says of each tenant what it says asked alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.checks.asked_knob import asked_knob
from knobctl.checks.asking import Asking
from knobctl.checks.concerns import why_not_asked
from knobctl.checks.expressions import VARIABLES, ExpressionError, activation
from knobctl.checks.policies import Each, Policy, load_policies
from knobctl.checks.subject import Subject
from knobctl.checks.templates import Template, shown_value
from knobctl.finding import Severity
from knobctl.knobs import load_catalogue
from tests.checks.documents import repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from cel_expr_python import cel

CATALOGUE = load_catalogue()
OWN = [
    ("when: effective.retrieval_min_score > 0.3 && !('kept' in labels)", "message: 'x {tenant} {labels.tier}'"),
    ("when: knobs.size() > 2", "message: '{knobs.rrf_k}'"),
    ("when: owner == ''", "message: no owner"),
    ("when: tenant.startsWith('t1')", "message: '{tenant} of {today}'"),
    ("when: role['fusion.k'] / (effective.retrieval_vector_top_k - 50) > 0", "message: '{reach.vector_depth}'"),
    ("when: reach.vector_depth < 5 || reach.on_edge", "message: '{reach.edge_text} {text[\"floor.fused\"]}'"),
    ("when: effective.exists(name, name == 'mmr_lambda' && effective[name] > 0.5)", "message: '{effective.size()}'"),
    ("when: evidence.size() > 0", "message: '{evidence}'"),
    ("when: \"'limits' in fleet || labels.tier == 'free'\"", "message: '{fleet.size()}'"),
    ("when: knob.value != knob.default", "each: written", "message: '{knob.name} {knob.literal} {tenant}'"),
    ("when: knob.hides", "each: written", "severity: info", "message: '{knob.name} hides {knob.value}'"),
    ("when: role['floor.fused'] > 0.2", "at: '{effective.gate_mode == \"ENABLED\" ? \"rrf_k\" : \"nothing\"}'", "message: '{1 / (effective.rrf_k - 60)}'"),
    ("when: effective.gate_mode == 'ENABLED'", "severity: info", "message: '{role[\"floor.fused\"]} {default[\"fusion.k\"]}'", "hint: '{text[\"floor.fused\"]}'"),
    ("when: changed.size() > 0", "trigger: change", "message: '{changed} {reach_before.floor_text}'"),
    ("when: has(live.rrf_k) && live.rrf_k != effective.rrf_k", "message: '{live.rrf_k}'"),
]  # fmt: skip
POLICIES = load_policies(
    CATALOGUE,
    repository(
        "---\n".join(
            "\n".join(
                [
                    f"policy: own-{n}",
                    *([] if "severity: info" in one else ["severity: warning"]),
                    *one,
                ]
            )
            + "\nexamples: {pass: [], fail: []}\n"
            for n, one in enumerate(OWN)
        )
    ).policies,
)
VALUES = {
    "retrieval_min_score": ["0.3", "0.30", "0.34", "0.12345", "0.33333333333333333", "0", "0.0", "1e-1", "1"],
    "rrf_k": ["60", "10", "61", "0"],
    "retrieval_vector_top_k": ["50", "48", "7", "100"],
    "rrf_weight_recency": ["0.1", "1", "0.5"],
    "recency_ranker_mode": ["DISABLED", "ENABLED"],
    "gate_mode": ["ENABLED", "DISABLED", "KNOB_MODE_UNSPECIFIED"],
    "gate_expanded_floor": ["0.3", "0.45"],
    "assembly_max_chunks": ["12", "120", "121"],
    "mmr_lambda": ["0.7", "0.2"],
    "no_match_min_cosine": ["0", "-0.0", "0.29"],
}  # fmt: skip
knobs = st.fixed_dictionaries(
    {}, optional={name: st.sampled_from(values) for name, values in VALUES.items()}
)
tenants = st.tuples(
    knobs,
    st.sampled_from(["", "owner: search\n", "owner: ''\n"]),
    st.sampled_from(["", "labels: {tier: free}\n", "labels: {tier: gold, kept: 'yes'}\n"]),
    st.sampled_from(["", "layers: [low]\n", "layers: [low, high]\n"]),
    st.sampled_from(["", "evidence: [a.json]\n", "evidence: [a.json, b.json]\n"]),
)
LAYERS = "layer: low\nknobs: {rrf_k: 61, retrieval_min_score: 0.3}\n---\nlayer: high\nknobs: {rrf_k: 62, mmr_lambda: 0.2}\n"


def test_every_own_policy_of_this_test_is_in_force() -> None:
    """None of them is refused, so that the law below is about all of them."""
    assert POLICIES.findings == []
    assert sum(policy.id.startswith("own-") for policy in POLICIES.in_force) == len(OWN)


@pytest.mark.parametrize("examples", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_answers_that_are_remembered_are_those_of_asking_alone(examples: int) -> None:
    """Whatever was asked of others before: same hits, at the same knobs, in the same words."""

    @given(st.lists(tenants, min_size=1, max_size=12), st.sampled_from(["", "live", "base"]), knobs)
    @settings(max_examples=examples)
    def law(
        several: list[tuple[dict[str, str], str, str, str, str]],
        against: str,
        before: dict[str, str],
    ) -> None:
        texts = [_tenant(f"t{n}", *one) for n, one in enumerate(several)]
        documents = repository("---\n".join([*texts, LAYERS, _tenant("before", before)]))
        then = documents.effective(documents.tenants[-1])
        asking = Asking(POLICIES.in_force, alone=not against)

        def subject(number: int) -> Subject:
            return Subject(
                documents.tenants[number],
                documents.effective,
                base=then if against == "base" else None,
                live=then.desired if against == "live" and number % 3 else None,
                fleet={"limits": {}} if number % 2 else None,
                today="2026-11-30",
            )

        for number in range(len(several)):
            hits = asking.hits(subject(number))
            assert all(hit.words.failed is None for hit in hits if hit.is_sure)
            found = [
                (
                    hit.policy.id,
                    words.place,
                    repr(hit.value),
                    words.message,
                    words.hint,
                    words.failed,
                )
                for hit in hits
                for words in [hit.words]
            ]
            alone = list(plainly_asked(POLICIES.in_force, subject(number)))
            assert sorted(found, key=repr) == sorted(alone, key=repr)

    law()


def _tenant(name: str, knobs: dict[str, str], *fields: str) -> str:
    written = ", ".join(f"{knob}: {value}" for knob, value in knobs.items())
    return f"tenant: {name}\n{''.join(fields)}knobs: {{{written}}}\n"


def plainly_asked(policies: Sequence[Policy], subject: Subject) -> Iterator[tuple[object, ...]]:
    """Ask each policy by itself, with every variable whole, as the contract describes it."""
    whole = {key: subject.variable(key) for key in VARIABLES if key != "knob"}
    bound: dict[str | None, cel.Activation] = {}
    for policy in policies:
        if why_not_asked(policy, subject) is None:
            for name in _names(policy, subject):
                if name not in bound:
                    knob = asked_knob(subject, name, None) if name is not None else {}
                    bound[name] = activation({**whole, "knob": knob})
                yield from _said(policy, subject, name, bound[name])


def _names(policy: Policy, subject: Subject) -> Iterable[str | None]:
    if policy.each is None:
        return [None]
    if policy.each is Each.RESET:
        return list(subject.omitted)
    if policy.severity is Severity.INFO and subject.base is not None:
        return [name for name in subject.literals if name in subject.news]
    return list(subject.literals)


def _said(
    policy: Policy, subject: Subject, name: str | None, bound: cel.Activation
) -> Iterator[tuple[object, ...]]:
    step = "when"
    try:
        if not policy.when.holds(bound):
            return
        step = "at"
        place = name if name is not None else _place(policy, bound)
        step = "message"
        message = _filled(policy.message, bound)
        step = "hint"
        hint = _filled(policy.hint, bound) if policy.hint else None
    except ExpressionError as error:
        yield policy.id, None, repr(None), error.message, None, step
        return
    yield policy.id, place, repr(_value(subject, place, name)), message, hint, None


def _place(policy: Policy, bound: cel.Activation) -> str | None:
    if not isinstance(policy.at, Template):
        return policy.at or next(iter(policy.reads), None)
    called = _filled(policy.at, bound)
    knob = CATALOGUE.by_any_name.get(called) or CATALOGUE.by_role.get(called)
    if knob is None:
        raise ExpressionError(f"{called} is neither a knob nor a role")
    return knob.name


def _filled(template: Template, bound: cel.Activation) -> str:
    return template.text(lambda one: shown_value(one.value(bound)))


def _value(subject: Subject, place: str | None, name: str | None) -> object:
    if place is None:
        return None
    if name is not None and (origin := subject.effective.origin(name)):
        return origin.value
    if name is not None and name in subject.omitted:
        return subject.omitted[name]
    return subject.values[place]


def test_tenants_that_write_the_same_may_have_been_different_before() -> None:
    """What one of them changes from is not what the other does, though nothing else tells them apart."""
    documents = repository("---\n".join(_tenant(name, {"rrf_k": "30"}) for name in ("a", "b", "c")))
    asking = Asking(POLICIES.in_force, alone=False)
    said = []
    for tenant, held in zip(documents.tenants, ({"rrf_k": 30}, {}, {"rrf_k": 45}), strict=True):
        subject = Subject(tenant, documents.effective, live=held)
        said.append(
            [
                hit.words.message.split("\n")[0]
                for hit in asking.hits(subject)
                if "goes" in hit.words.message
            ]
        )
    assert [[words.split(":")[0] for words in one] for one in said] == [
        [],
        ["rrf_k goes from 60 to 30"],
        ["rrf_k goes from 45 to 30"],
    ]
