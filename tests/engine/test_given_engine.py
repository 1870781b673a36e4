"""The client against an engine that offers the two given methods and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from knobctl.engine.http import UPDATE as KNOBS_UPDATE
from knobctl.engine.http import HttpEngine
from knobctl.engine.interface import EngineRefusedError, NotOfferedError
from knobctl.engine.network import Network
from knobctl.engine.tokens import GivenToken, NoToken, TokenCommand
from knobctl.errors import ConflictError, EngineError, RefusedError, UnknownOutcomeError
from knobctl.knobs import load_catalogue
from tests.given_engine import GET, UPDATE, Fault, GivenEngine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from knobctl.engine.interface import Receipt
    from knobctl.engine.tokens import Tokens
    from knobctl.knobs import KnobValue

QUICK = Network(answer_timeout_s=2.0, retries=2, backoff_s=0.01, longest_pause_s=1)
TOKEN = GivenToken("acme-token", "the test")


def client(
    given: GivenEngine,
    tokens: Tokens = TOKEN,
    notices: list[str] | None = None,
    network: Network = QUICK,
) -> HttpEngine:
    """A client of the engine."""
    told = notices if notices is not None else []
    return HttpEngine(
        given.url, load_catalogue(), tokens=tokens, network=network, notice=told.append
    )


@pytest.fixture
def given() -> Iterator[GivenEngine]:
    """The engine, with one set stored."""
    with GivenEngine() as engine:
        engine.sets["acme"] = {"retrievalMinScore": 0.15, "retrievalVectorTopK": 32}
        yield engine


BEFORE = {"retrieval_min_score": 0.15, "retrieval_vector_top_k": 32}


def push(engine: HttpEngine, knobs: dict[str, KnobValue]) -> Receipt:
    """Write acme's set, made against the one that the fixture stores."""
    return engine.replace(
        "acme",
        knobs,
        expected_revision=None,
        reason="test",
        idempotency_key="k1",
        expected_knobs=BEFORE,
    )


def test_a_set_is_read_without_a_revision_and_the_lack_is_said_once(given: GivenEngine) -> None:
    """No revision is None, not the empty string, and the person learns once what is not protected."""
    notices: list[str] = []
    engine = client(given, notices=notices)

    live = [engine.read("acme") for _ in range(3)]

    assert live[0].knobs == BEFORE
    assert {one.revision for one in live} == {None}
    assert len(notices) == 1
    assert "no revisions" in notices[0]


def test_what_the_engine_lacks_is_not_offered(given: GivenEngine) -> None:
    """Lists and audit events raise an error of their own kind, so that callers can do without."""
    engine = client(given)

    with pytest.raises(NotOfferedError):
        next(engine.list())
    with pytest.raises(NotOfferedError):
        next(engine.audit_events("acme"))


def test_a_push_sends_the_given_body_and_nothing_else(given: GivenEngine) -> None:
    """An engine of the given contract gets `config` alone, in the wire's names."""
    receipt = push(client(given), {"retrieval_min_score": 0.3})

    update = next(call for call in given.calls if call.method == UPDATE)
    assert update.body == {"config": {"retrievalMinScore": 0.3}}
    assert update.headers["Connect-Timeout-Ms"] == "2000"
    assert receipt.revision is None
    assert receipt.changed_field_paths is None
    assert given.sets["acme"] == {"retrievalMinScore": 0.3}


def test_a_set_that_moved_before_the_write_is_a_conflict(given: GivenEngine) -> None:
    """Without revisions the set is compared right before the write, and nothing is written."""
    engine = client(given)
    engine.read("acme")
    given.sets["acme"] = {"rrfK": 30}

    with pytest.raises(ConflictError):
        push(engine, {"retrieval_min_score": 0.3})

    assert given.writes() == 0


@pytest.mark.parametrize(
    "fault", [Fault.CUT_AFTER, Fault.CUT_MID_REPLY, Fault.INTERNAL_AFTER, Fault.HTML_AFTER]
)
def test_a_lost_answer_to_a_stored_write_is_a_success_after_reading_back(
    given: GivenEngine, fault: Fault
) -> None:
    """The write is sent once, found in force, and reported as done."""
    given.fail(fault)

    receipt = push(client(given), {"retrieval_min_score": 0.3})

    assert receipt.knobs == {"retrieval_min_score": 0.3}
    assert given.writes() == 1
    assert len(given.events) == 1


def test_a_refusal_by_the_engine_itself_leaves_nothing_unknown(given: GivenEngine) -> None:
    """An internal error with the old set still in force is a failure, and provably nothing was written."""
    given.fail(Fault.INTERNAL_BEFORE)

    with pytest.raises(EngineRefusedError) as caught:
        push(client(given), {"retrieval_min_score": 0.3})

    assert caught.value.code == "internal"
    assert given.events == []


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.BAD_GATEWAY, Fault.HTML])
def test_a_write_that_may_still_arrive_is_unknown_and_never_sent_twice(
    given: GivenEngine, fault: Fault
) -> None:
    """An engine that honours no key gets the write once; the old set in force proves nothing yet."""
    given.fail(fault)

    with pytest.raises(UnknownOutcomeError) as caught:
        push(client(given), {"retrieval_min_score": 0.3})

    assert given.writes() == 1
    assert "old set" in caught.value.message


@pytest.mark.parametrize("fault", [Fault.TOO_MANY, Fault.UNAVAILABLE])
def test_being_told_to_come_back_later_is_honoured(given: GivenEngine, fault: Fault) -> None:
    """429 and 503 with Retry-After say that the write did not start: it is sent again."""
    given.fail(fault, times=2)

    push(client(given), {"retrieval_min_score": 0.3})

    assert given.writes() == 3
    assert len(given.events) == 1


def test_a_long_retry_after_is_capped(given: GivenEngine) -> None:
    """A server cannot park the command line for an hour."""
    given.fail(Fault.UNAVAILABLE, method=GET, argument=3600)
    network = Network(answer_timeout_s=2.0, retries=2, backoff_s=0.01, longest_pause_s=0)

    assert client(given, network=network).read("acme").knobs == BEFORE


def test_reads_are_repeated_when_the_connection_breaks(given: GivenEngine) -> None:
    """A read changes nothing, so a cut connection only costs another try."""
    given.fail(Fault.CUT_BEFORE, method=GET, times=2)

    assert client(given).read("acme").knobs == BEFORE


def test_a_refused_value_names_its_field(given: GivenEngine) -> None:
    """The violation is decoded from the serialised detail where no debug form comes with it."""
    engine = client(given)
    given.sets["acme"] = {}

    with pytest.raises(EngineRefusedError) as caught:  # validation would never let this value out
        engine._call(KNOBS_UPDATE, {"config": {"retrievalMinScore": 1.5}}, "acme")

    assert caught.value.code == "invalid_argument"
    assert caught.value.violations[0].field_path == "retrieval_min_score"


def test_a_wrong_token_is_an_engine_error_without_the_token(given: GivenEngine) -> None:
    """Not being let in says how to give a token, and never the token itself."""
    engine = client(given, GivenToken("s3cret-value", "the test"))

    with pytest.raises(EngineError) as caught:
        engine.read("acme")

    assert "unauthenticated" in caught.value.message
    assert "token" in (caught.value.hint or "")
    assert "s3cret" not in repr(caught.value) + caught.value.message


def test_several_tenants_behind_one_token_are_refused_before_any_write(given: GivenEngine) -> None:
    """All sets would land in one tenant: the token alone says whose set it is."""
    engine = client(given)

    engine.assert_addresses(["acme"])
    with pytest.raises(RefusedError, match="acme and bolt"):
        engine.assert_addresses(["bolt", "acme"])

    assert given.writes() == 0


def test_a_token_a_tenant_reaches_each_tenant() -> None:
    """With a command that takes the tenant, each call carries that tenant's token."""
    tokens = TokenCommand(("printf", "%s", "{tenant}-token"))
    with GivenEngine({"acme-token": "acme", "bolt-token": "bolt"}) as given:
        given.sets |= {"acme": {"rrfK": 30}, "bolt": {"rrfK": 90}}
        engine = client(given, tokens)

        engine.assert_addresses(["acme", "bolt"])

        assert engine.read("acme").knobs == {"rrf_k": 30}
        assert engine.read("bolt").knobs == {"rrf_k": 90}


def test_no_token_is_sent_where_none_is_given(given: GivenEngine) -> None:
    """Without a source there is no Authorization header."""
    with pytest.raises(EngineError):
        client(given, NoToken()).read("acme")

    assert "Authorization" not in given.calls[0].headers
