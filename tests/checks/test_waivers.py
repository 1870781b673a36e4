"""Waivers: what they cover, until when, and that nothing about them is silent."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.finding import Severity
from tests.checks.documents import TODAY, acme, by_rule, checked, place

CEILING = "floor-above-vector-ceiling"
HIGH = acme(retrieval_min_score=0.45, gate_expanded_floor=0.45)


def waiver(
    rule: str = CEILING, who: str = "tenants: [acme]", expires: str = "2099-03-31", up_to: str = ""
) -> str:
    """A waiver, followed by whatever comes next."""
    bound = f"up_to: {up_to}\n" if up_to else ""
    return f"waiver: w\nrule: {rule}\n{who}\n{bound}reason: r\napproved_by: p\nexpires: {expires}\n---\n"


def test_a_waived_finding_stays_visible_and_fails_nothing() -> None:
    """It names its waiver, and is counted by itself."""
    report = checked(waiver() + HIGH)
    finding = by_rule(report)[CEILING]
    assert finding.waived_by == "w"
    assert (report.warnings, report.waived, report.exit_code(Severity.WARNING)) == (0, 1, 0)


def test_a_waiver_covers_errors_infos_and_warnings_alike() -> None:
    """A team that fails its runs on warnings needs exemptions from warnings; so for the others."""
    wide = checked(waiver("pipeline-width") + acme(assembly_max_chunks=150))
    assert (wide.errors, wide.waived, wide.exit_code()) == (0, 1, 0)
    quiet = checked(waiver("redundant-default") + acme(result_cache_ttl_seconds=300))
    assert (quiet.infos, quiet.waived) == (0, 1)


@given(st.integers(-400, 400))
def test_the_last_day_counts(days: int) -> None:
    """One function decides, on a day that is given: through the last day it covers, after it it is an error."""
    last = TODAY + timedelta(days=days)
    report = checked(waiver(expires=last.isoformat()) + HIGH)
    expired = days < 0
    assert (by_rule(report)[CEILING].waived_by is None) is expired
    assert ("waiver-expired" in by_rule(report)) is expired
    assert bool(report.errors) is expired


def test_an_expired_waiver_says_so_at_its_day_and_what_it_covered_counts_again() -> None:
    """The message names the last day and today."""
    report = checked(waiver(expires="2026-01-31") + HIGH, today=date(2026, 2, 1))
    finding = by_rule(report)["waiver-expired"]
    assert (place(finding), finding.severity) == ("6:10", Severity.ERROR)
    assert "last day was 2026-01-31, today is 2026-02-01" in finding.message
    assert (report.warnings, report.waived, int(report.exit_code())) == (1, 0, 4)


def test_an_unused_waiver_is_a_warning() -> None:
    """It is not counted as waived, and stands at its name."""
    report = checked(waiver() + acme(retrieval_min_score=0.2, gate_expanded_floor=0.2))
    finding = by_rule(report)["waiver-unused"]
    assert (place(finding), finding.severity, report.waived) == ("1:9", Severity.WARNING, 0)


@pytest.mark.parametrize(
    ("written", "covered"),
    [("0.45", True), ("0.450", True), ("0.5", True), ("0.44", False), ("0", False)],
)
def test_up_to_bounds_the_value(written: str, covered: bool) -> None:
    """The bound itself is covered; beyond it the finding counts."""
    report = checked(waiver(up_to=written) + HIGH)
    assert (by_rule(report)[CEILING].waived_by == "w") is covered


@pytest.mark.parametrize(
    ("who", "covered"),
    [
        ("tenants: [acme]", True),
        ("tenants: [bolt, acme]", True),
        ("tenants: [bolt]", False),
        ("labels: {tier: legacy}", True),
        ("labels: {tier: legacy, region: eu}", True),
        ("labels: {tier: legacy, region: us}", False),
        ("labels: {owner: legacy}", False),
    ],
)
def test_a_waiver_is_for_tenants_by_name_or_by_all_of_its_labels(who: str, covered: bool) -> None:
    """One label that does not fit is enough for it not to cover."""
    report = checked(waiver(who=who) + HIGH + "labels: {tier: legacy, region: eu}\n")
    assert (by_rule(report)[CEILING].waived_by == "w") is covered


def test_leniency_does_not_leak_to_the_next_tenant() -> None:
    """Whatever the order, only the named tenant is let off."""
    other = HIGH.replace("acme", "bolt")
    for text in (f"{waiver()}{HIGH}---\n{other}", f"{waiver()}{other}---\n{HIGH}"):
        found = {one.tenant: one.waived_by for one in checked(text).findings if one.rule == CEILING}
        assert found == {"acme": "w", "bolt": None}


def test_a_faulty_waiver_covers_nothing() -> None:
    """A day that does not exist is an error, and what it should cover counts."""
    report = checked(waiver(expires="2099-02-30") + HIGH)
    assert by_rule(report)[CEILING].waived_by is None
    assert by_rule(report)["bad-value"].severity is Severity.ERROR


def test_what_no_policy_says_cannot_be_waived() -> None:
    """A value that the engine refuses stays an error."""
    report = checked(waiver("out-of-range") + acme(retrieval_min_score=1.7))
    assert by_rule(report)["out-of-range"].waived_by is None
    assert "cannot be waived" in by_rule(report)["unknown-rule"].message


def test_the_bound_is_compared_as_it_is_written() -> None:
    """A double sees no difference to 0.45; the document does."""
    over = acme(retrieval_min_score="0.4500000000000000001", gate_expanded_floor=0.45)
    assert by_rule(checked(waiver(up_to="0.45") + over))[CEILING].waived_by is None
    assert by_rule(checked(waiver(up_to="0.4500000000000000001") + over))[CEILING].waived_by == "w"
    assert by_rule(checked(waiver(up_to="0.450") + HIGH))[CEILING].waived_by == "w"


def test_the_bound_holds_for_a_value_that_is_not_in_force() -> None:
    """A literal 0 is at most 0, though what is in force is the default."""
    text = waiver("zero-means-default", up_to="0") + acme(retrieval_min_score=0)
    assert by_rule(checked(text))["zero-means-default"].waived_by == "w"


def test_a_waiver_of_no_rule_is_told_once() -> None:
    """That it covers nothing follows from it."""
    found = by_rule(checked(waiver("no-such-rule") + HIGH))
    assert "unknown-rule" in found
    assert "waiver-unused" not in found


def test_a_waiver_for_a_broken_tenant_is_not_called_unused() -> None:
    """Of a value that is none no policy is asked, so nobody knows."""
    found = by_rule(checked(waiver() + acme(retrieval_min_score=9)))
    assert "out-of-range" in found
    assert "waiver-unused" not in found


@pytest.mark.parametrize("blank", ['""', '" "', '"\\t"'])
def test_a_waiver_gives_a_reason_that_can_be_read(blank: str) -> None:
    """Blanks are none."""
    text = waiver().replace("reason: r", f"reason: {blank}") + HIGH
    assert by_rule(checked(text))["bad-value"].field_path == "reason"


@pytest.mark.parametrize("text", [waiver("gate-order"), waiver(expires="2020-01-01")])
def test_a_waiver_that_was_stale_before_is_standing(text: str) -> None:
    """A change is not failed for what it did not do; without a base it is."""
    report = checked(text + HIGH, base=text + HIGH)
    stale = [one for one in report.findings if one.rule.startswith("waiver-")]
    assert [one.standing for one in stale] == [True]
    assert int(report.exit_code(Severity.WARNING)) == 0
    assert int(checked(text + HIGH).exit_code(Severity.WARNING)) != 0
    fresh = checked(text + HIGH, base=HIGH)
    assert [one.standing for one in fresh.findings if one.rule.startswith("waiver-")] == [False]


@st.composite
def several(draw: st.DrawFn) -> list[tuple[frozenset[str], dict[str, str], int, str]]:
    """Waivers of one rule: for whom, how many days still, up to what."""
    tenants = st.frozensets(st.sampled_from(["acme", "bolt", "cinder"]), min_size=1)
    labels = st.dictionaries(
        st.sampled_from(["tier", "region"]), st.sampled_from(["a", "b"]), min_size=1
    )
    return draw(
        st.lists(
            st.tuples(
                tenants | st.just(frozenset()),
                labels,
                st.integers(-2, 3),
                st.sampled_from(["", "0.4", "0.45", "0.450000000000000000001", "1"]),
            ),
            max_size=6,
        )
    )


@settings(max_examples=40)
@given(several(), st.sampled_from(["acme", "bolt"]), st.sampled_from(["a", "b"]))
def test_the_carrier_is_the_valid_waiver_that_holds_longest(
    drawn: list[tuple[frozenset[str], dict[str, str], int, str]], name: str, tier: str
) -> None:
    """Whatever the others are: for whom, how long, up to what; said once more in plain loops."""
    text, covering, valid = "", [], []
    for number, (tenants, labels, days, up_to) in enumerate(drawn):
        who = f"tenants: {sorted(tenants)}" if tenants else f"labels: {labels}"
        last = (TODAY + timedelta(days=days)).isoformat()
        text += waiver(who=who, expires=last, up_to=up_to).replace(
            "waiver: w", f"waiver: w{number}"
        )
        own = {"tier": tier, "region": "a"}
        concerned = name in tenants if tenants else labels.items() <= own.items()
        if concerned and up_to != "0.4":
            covering.append((number, days))
            if days >= 0:
                valid.append((number, days))
    tenant = HIGH.replace("acme", name) + f"labels: {{tier: {tier}, region: a}}\n"
    report = checked(text + tenant)
    longest = max((days for _, days in valid), default=None)
    carriers = {f"w{number}" for number, days in valid if days == longest}
    carrier = by_rule(report)[CEILING].waived_by
    assert carrier in carriers if carriers else carrier is None
    unused = {one.value for one in report.findings if one.rule == "waiver-unused"}
    known = [one for one in drawn if not one[0] or name in one[0]]
    assert unused <= {f"w{number}" for number in range(len(drawn))} - {
        f"w{number}" for number, _ in covering
    }
    idle = [
        f"w{number}"
        for number, one in enumerate(drawn)
        if one in known and one[2] >= 0 and number not in dict(covering)
    ]
    assert unused == set(idle)
    expired = [one for one in report.findings if one.rule == "waiver-expired"]
    assert len(expired) == sum(days < 0 for _, _, days, _ in drawn)


def test_an_unknown_tenant_is_told_once() -> None:
    """That its waiver covers nothing follows from it."""
    found = by_rule(checked(waiver(who="tenants: [acme1]") + HIGH))
    assert found["unknown-tenant"].hint == "did you mean acme?"
    assert "waiver-unused" not in found


def test_the_nearest_name_is_not_forced() -> None:
    """A name like none says what to do instead."""
    found = by_rule(checked(waiver(who="tenants: [acme, zzz]") + HIGH))
    assert found["unknown-tenant"].hint == "take it out where the tenant is gone"
    assert found[CEILING].waived_by == "w"
