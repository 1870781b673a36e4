"""The guards: what stops a push, what it says, and what acknowledges it."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from fractions import Fraction

import pytest

from knobctl.changes.audit_reasons import read_reason, read_ticket
from knobctl.changes.guards import judge, percent, read_allowances
from knobctl.changes.limits import ContextRules, Limits, limits_of, moment, share
from knobctl.changes.plan import TenantPlan, plan_tenant
from knobctl.documents.kinds import sort_documents
from knobctl.documents.model import Document
from knobctl.documents.reader import read_text
from knobctl.engine.interface import LiveSet
from knobctl.errors import InputError, UsageError
from knobctl.knobs import KnobValue, load_catalogue
from knobctl.report.plan import refusal_words

CATALOGUE = load_catalogue()
NOW = datetime(2026, 12, 24, 12, 0, tzinfo=UTC)
FLEET = """\
fleet: production
limits: {max_tenants: 2, max_share: 10%, largest_step: {retrieval_min_score: 0.1}}
protected: [acme]
freeze: [{name: holidays, from: 2026-12-24T00:00:00+01:00, to: 2026-12-27T00:00:00+01:00}]
reason_required: true
"""


def fleet(text: str = FLEET) -> Document:
    (document,) = sort_documents(read_text(text, "fleet.yaml"), named=True).documents
    return document


def tenant(
    name: str = "t0", before: float = 0.3, after: float = 0.2, **unknown: object
) -> TenantPlan:
    knobs: dict[str, KnobValue] = {"retrieval_min_score": before}
    live = LiveSet(tenant=name, knobs=knobs, revision="r1", unknown=unknown)
    return plan_tenant(CATALOGUE, live, {"retrieval_min_score": after})


def refused(
    tenants: list[TenantPlan],
    limits: Limits,
    *allow: str,
    managed: int = 1000,
    now: datetime = NOW,
    reason: str | None = "why",
) -> list[tuple[str, str | None]]:
    verdict = judge(
        tenants, limits, managed=managed, now=now, reason=reason, allowances=read_allowances(allow)
    )
    return [(one.guard, one.allowance) for one in verdict.refusals]


def test_without_a_fleet_and_flags_nothing_is_limited() -> None:
    """Limits exist where somebody set them."""
    assert (
        refused([tenant(f"t{n}") for n in range(500)], limits_of(None), managed=500, reason=None)
        == []
    )


def test_a_refusal_names_limit_count_setting_and_flag() -> None:
    """The words of the contract's example."""
    limits = limits_of(fleet("fleet: production\nlimits:\n  max_tenants: 2\n"))
    verdict = judge([tenant(f"t{n}") for n in range(3)], limits, managed=9, now=NOW, reason=None)
    message, hint = refusal_words(verdict.refusals)
    assert message == "3 tenants would change, the limit of fleet production is 2 (fleet.yaml:3)."
    assert hint == "Nothing was written. To go on with this number: --allow max_tenants=3"


def test_what_is_to_be_said_stands_on_a_line_of_its_own() -> None:
    """So that the flags before it can be copied."""
    limits = limits_of(fleet("fleet: p\nreason_required: true\n"), max_tenants=0)
    verdict = judge([tenant()], limits, managed=1000, now=NOW, reason=None)
    _, hint = refusal_words(verdict.refusals)
    assert hint.splitlines() == [
        "Nothing was written. To go on with this number: --allow max_tenants=1",
        "  Say why, for the audit event: --reason TEXT",
    ]


@pytest.mark.parametrize(
    ("allow", "passes"),
    [
        ("max_tenants=3", True),
        ("max_tenants=4", False),
        ("max_tenants=2", False),
        ("max_tenants=999999", False),
    ],
)
def test_an_acknowledgement_is_of_that_number(allow: str, passes: bool) -> None:
    """Neither fewer nor a blanket."""
    limits = limits_of(None, max_tenants=2)
    found = refused([tenant(f"t{n}") for n in range(3)], limits, allow)
    assert (found == []) is passes


def test_unchanged_tenants_count_for_nothing() -> None:
    """A thousand tenants that hold their set already are no push."""
    limits = limits_of(fleet())
    assert refused([tenant(f"t{n}", 0.3, 0.3) for n in range(1000)], limits, reason=None) == []


def test_the_flag_does_not_loosen_the_fleet() -> None:
    """Both bound; the refusal names the tighter one."""
    document = fleet("fleet: production\nlimits: {max_tenants: 2}\n")
    verdict = judge(
        [tenant(f"t{n}") for n in range(3)],
        limits_of(document, max_tenants=100),
        managed=9,
        now=NOW,
        reason=None,
    )
    assert "fleet production" in verdict.refusals[0].message


@pytest.mark.parametrize(
    ("number", "managed", "refusal"), [(10, 100, None), (11, 100, "11%"), (1, 9, "11.12%")]
)
def test_a_share_is_of_the_managed_tenants(number: int, managed: int, refusal: str | None) -> None:
    """Exactly at the limit passes; what is printed never understates."""
    limits = limits_of(None, max_share="10%")
    found = refused([tenant(f"t{n}") for n in range(number)], limits, managed=managed)
    assert found == ([("max_share", f"max_share={refusal}")] if refusal else [])
    if refusal:
        assert (
            refused(
                [tenant(f"t{n}") for n in range(number)],
                limits,
                f"max_share={refusal}",
                managed=managed,
            )
            == []
        )


@pytest.mark.parametrize(
    ("before", "after", "refusal"),
    [(0.3, 0.2, None), (0.2, 0.3, None), (0.3, 0.19, "0.11"), (0.7, 0.8, None), (0.1, 0.9, "0.8")],
)
def test_a_step_is_measured_exactly(before: float, after: float, refusal: str | None) -> None:
    """0.3 to 0.2 is a step of 0.1, whatever doubles make of it."""
    limits = limits_of(fleet("fleet: f\nlimits: {largest_step: {retrieval_min_score: 0.1}}\n"))
    found = refused([tenant("t", before, after)], limits)
    assert found == (
        [("largest_step", f"largest_step=retrieval_min_score:{refusal}")] if refusal else []
    )


def test_a_step_is_between_values_in_force() -> None:
    """From 0.9 back to the default is a step to 0.3."""
    limits = limits_of(fleet("fleet: f\nlimits: {largest_step: {retrieval_min_score: 0.1}}\n"))
    assert refused([tenant("t", 0.9, 0)], limits) == [
        ("largest_step", "largest_step=retrieval_min_score:0.6")
    ]


def test_a_protected_tenant_is_named_to_be_changed() -> None:
    """Each by its own flag."""
    limits = limits_of(fleet("fleet: f\nprotected: [acme, bolt]\n"))
    both = [tenant("acme"), tenant("bolt"), tenant("other")]
    assert refused(both, limits) == [
        ("protected", "protected=acme"),
        ("protected", "protected=bolt"),
    ]
    assert refused(both, limits, "protected=acme") == [("protected", "protected=bolt")]


@pytest.mark.parametrize(
    ("now", "frozen"),
    [
        (datetime(2026, 12, 23, 22, 59, 59, tzinfo=UTC), False),
        (datetime(2026, 12, 23, 23, 0, tzinfo=UTC), True),
        (datetime(2026, 12, 24, 0, 0, tzinfo=timezone(timedelta(hours=1))), True),
        (datetime(2026, 12, 26, 23, 0, tzinfo=UTC), True),
        (datetime(2026, 12, 26, 23, 0, 1, tzinfo=UTC), False),
    ],
)
def test_a_freeze_includes_its_ends_in_its_own_zone(now: datetime, frozen: bool) -> None:
    """The clock is given; zones are honoured."""
    document = fleet(
        FLEET.replace("protected: [acme]\n", "").replace("reason_required: true\n", "")
    )
    found = refused([tenant()], limits_of(document), now=now)
    assert found == ([("freeze", "freeze=holidays")] if frozen else [])
    assert refused([tenant()], limits_of(document), "freeze=holidays", now=now) == []


@pytest.mark.parametrize("reason", [None, "", "  "])
def test_a_reason_that_is_demanded_cannot_be_acknowledged_away(reason: str | None) -> None:
    """There is no flag but --reason."""
    for limits in (
        limits_of(fleet("fleet: f\nreason_required: true\n")),
        limits_of(None, context=ContextRules(name="prod", production=True)),
    ):
        verdict = judge([tenant()], limits, managed=1, now=NOW, reason=reason, ticket="OPS-7")
        assert [one.guard for one in verdict.refusals] == ["reason"]
        assert "--reason" in (verdict.refusals[0].remedy or "")


TICKETS = {
    "production": (limits_of(None, context=ContextRules(name="prod", production=True)), "X"),
    "context": (
        limits_of(None, context=ContextRules(name="c", ticket_pattern="OPS-[0-9]+")),
        "OPS-7",
    ),
    "both": (
        limits_of(
            None, context=ContextRules(name="c", production=True, ticket_pattern="OPS-[0-9]+")
        ),
        "OPS-7",
    ),
    "fleet": (limits_of(fleet("fleet: f\nticket_pattern: OPS-[0-9]+|CHG[0-9]{3}\n")), "CHG123"),
}


@pytest.mark.parametrize(("limits", "ticket"), TICKETS.values(), ids=TICKETS)
def test_a_ticket_that_is_demanded_cannot_be_acknowledged_away(limits: Limits, ticket: str) -> None:
    """There is no flag but --ticket, and its whole must match."""

    def found(name: str | None) -> list[tuple[str, str | None]]:
        verdict = judge([tenant()], limits, managed=1, now=NOW, reason="r", ticket=name)
        return [(one.guard, one.remedy) for one in verdict.refusals]

    assert found(ticket) == []
    for name in (None, *((f"X{ticket}", f"{ticket}X") if limits.tickets[0].pattern else ())):
        ((guard, remedy),) = found(name)
        assert (guard, "--ticket ID" in (remedy or "")) == ("ticket", True)


def test_a_refused_ticket_is_told_with_what_is_demanded_and_where() -> None:
    """What was named, who demands what."""
    limits, _ = TICKETS["fleet"]
    told = judge([tenant()], limits, managed=1, now=NOW, reason=None, ticket="nope").refusals
    assert [one.message for one in told] == [
        "the ticket is nope; fleet f (fleet.yaml:2) demands a ticket that matches OPS-[0-9]+|CHG[0-9]{3}."
    ]


def test_the_demands_of_a_fleet_and_of_a_context_both_hold() -> None:
    """A ticket that pleases one of them alone is none."""
    limits = limits_of(
        fleet("fleet: f\nticket_pattern: OPS-.*\n"),
        context=ContextRules(name="c", ticket_pattern=".*-7"),
    )
    verdicts = {
        name: len(judge([tenant()], limits, managed=1, now=NOW, reason=None, ticket=name).refusals)
        for name in ("OPS-7", "OPS-8", "CHG-7", "CHG-8")
    }
    assert verdicts == {"OPS-7": 0, "OPS-8": 1, "CHG-7": 1, "CHG-8": 2}


def test_nothing_that_changes_nothing_needs_a_ticket() -> None:
    """There is no event that it could stand in."""
    limits, _ = TICKETS["production"]
    same = tenant("t", 0.3, 0.3)
    assert judge([same], limits, managed=1, now=NOW, reason=None).refusals == ()


@pytest.mark.parametrize("text", ["", "a b", "a]", "[a", "x" * 101, "a\nb", "a\u202eb", "é"])
def test_a_ticket_can_be_told_from_what_stands_around_it(text: str) -> None:
    """A space, a bracket or what is not seen would make another reason of it."""
    with pytest.raises(UsageError):
        read_ticket(text)


@pytest.mark.parametrize("text", ["OPS-7", "#12", "https://t.example/browse/OPS-7?a=b&c#d", "a,b"])
def test_a_ticket_is_named_as_its_tracker_names_it(text: str) -> None:
    """Keys, numbers and addresses."""
    assert read_ticket(text) == text


@pytest.mark.parametrize("text", ["[ticket: OPS-7]", "why [allowed: max_tenants=5]"])
def test_a_reason_does_not_pass_for_a_ticket_or_an_acknowledgement(text: str) -> None:
    """What stands in brackets was checked."""
    with pytest.raises(UsageError):
        read_reason(text)


def test_unknown_stored_fields_block_and_are_named() -> None:
    """A push would lose them, and no flag says otherwise."""
    verdict = judge([tenant("t", newKnob=3, other="x")], Limits(), managed=1, now=NOW, reason=None)
    assert verdict.refusals[0].allowance is None
    assert 'newKnob (3), other ("x")' in verdict.refusals[0].message


def test_what_was_acknowledged_goes_into_the_audit_reason() -> None:
    """Beside what the person said; nothing where nothing was needed."""
    allowances = read_allowances(["max_tenants=1", "freeze=never-there"])
    verdict = judge(
        [tenant()],
        limits_of(None, max_tenants=0),
        managed=1,
        now=NOW,
        reason="r",
        allowances=allowances,
    )
    assert verdict.reason("lower floors") == "lower floors [allowed: max_tenants=1]"
    assert verdict.reason("why", "OPS-7") == "why [ticket: OPS-7] [allowed: max_tenants=1]"
    assert (
        judge([tenant()], Limits(), managed=1, now=NOW, reason="r").reason("lower floors")
        == "lower floors"
    )


@pytest.mark.parametrize(
    "text", ["max_tenants", "max_tenants=", "nothing=3", "=3", "max_tenants=many", "max_share=x%"]
)
def test_an_acknowledgement_of_nothing_is_a_usage_error(text: str) -> None:
    """It says which guards there are."""
    with pytest.raises(UsageError):
        read_allowances([text])


@pytest.mark.parametrize("text", ["10", "-1%", "101%", "x%", "1/0%", "nan%", "%"])
def test_a_share_is_a_percentage(text: str) -> None:
    """From 0% to 100%."""
    with pytest.raises(UsageError):
        share(text)


@pytest.mark.parametrize("text", ["soon", "2026-13-01T00:00:00Z", "2026-12-24T00:00:00"])
def test_a_time_has_an_offset(text: str) -> None:
    """A local time would mean something else on every machine."""
    with pytest.raises(InputError):
        moment(text)


def test_percent_rounds_up() -> None:
    """A share is never told smaller than it is."""
    assert [percent(Fraction(1, 3)), percent(Fraction(1, 10)), percent(Fraction(1, 100_000))] == [
        "33.34%",
        "10%",
        "0.01%",
    ]


LIMIT = "the limit of pruned tenants of fleet f is 1 (fleet.yaml:3)"


def pruned(*names: str) -> list[TenantPlan]:
    return [replace(tenant(name), source="", pruned=True) for name in names]


@pytest.mark.parametrize(
    ("limit", "number", "refusal"),
    [(None, 0, None), (None, 1, "1"), (0, 1, "1"), (2, 2, None), (2, 3, "3")],
)
def test_what_is_pruned_has_a_limit_of_its_own(
    limit: int | None, number: int, refusal: str | None
) -> None:
    """None where nothing sets one; exactly the limit passes."""
    limits = limits_of(None, max_pruned=limit)
    tenants = pruned(*(f"p{at}" for at in range(number)))
    assert refused(tenants, limits) == (
        [("max_pruned", f"max_pruned={refusal}")] if refusal else []
    )
    if refusal:
        assert refused(tenants, limits, f"max_pruned={refusal}") == []
        assert refused(tenants, limits, f"max_pruned={number + 1}") != []


def test_the_fleets_limit_of_pruned_tenants_names_its_place_and_the_first_of_them() -> None:
    """The flag does not loosen it."""
    document = fleet("fleet: f\nlimits:\n  max_pruned: 1\n")
    limits = limits_of(document, max_pruned=9)
    verdict = judge(
        pruned(*"abcdefg"), limits, managed=1, now=NOW, reason=None, allowances=frozenset()
    )
    assert [one.message for one in verdict.refusals] == [
        f"7 tenants without a document would be reset (a, b, c, d, e, ...), and {LIMIT}."
    ]


def test_pruned_tenants_count_among_the_tenants_and_not_in_the_share() -> None:
    """The share is of those that have documents; a run of pruned ones alone has none of it."""
    limits = limits_of(None, max_tenants=2, max_share="10%", max_pruned=5)
    tenants = [tenant("t0"), *pruned("a", "b")]
    assert refused(tenants, limits, managed=10) == [("max_tenants", "max_tenants=3")]
    assert refused(pruned("a", "b"), limits, managed=0) == []


def test_the_rest_of_a_run_is_judged_by_the_whole_of_it() -> None:
    """What was acknowledged was the number of all."""
    whole = [tenant("t0"), *pruned("a", "b")]
    verdict = judge(
        whole[2:],
        limits_of(None),
        managed=10,
        now=NOW,
        reason=None,
        allowances=read_allowances(["max_pruned=2"]),
        whole=whole,
    )
    assert verdict.refusals == ()
