"""Lists in large pages, the next one asked for while one is read."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.answers import NonsenseError
from knobctl.engine.http import HttpEngine
from knobctl.engine.network import Network
from knobctl.engine.paging import FIRST_PAGE, LARGE_PAGE
from knobctl.engine.set_reading import LONGEST_VALUE, SetReader
from knobctl.engine.tokens import GivenToken
from knobctl.engine.wire import live_set
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

CATALOGUE = load_catalogue()
QUICK = Network(answer_timeout_s=5.0, retries=1, backoff_s=0.01, longest_pause_s=1)
TOO_LARGE = 400, {"code": "invalid_argument", "message": "page_size is too large"}


class Listing:
    """An engine that lists so many tenants, and notes what it is asked for."""

    def __init__(self, tenants: int) -> None:
        self.names = [f"t{number:05}" for number in range(tenants)]
        self.largest = LARGE_PAGE
        self.is_torn = False
        self.asked: list[Mapping[str, Any]] = []
        self.came = threading.Semaphore(0)

    def answer(self, request: Mapping[str, Any]) -> tuple[int, Any]:
        """Give the status and the body of an answer; no body where the connection is cut."""
        self.asked.append(request)
        self.came.release()
        size, start = request["pageSize"], int(request.get("pageToken") or 0)
        if size > self.largest:
            return (200, None) if self.is_torn else TOO_LARGE
        page: dict[str, Any] = {"configs": self.sets(self.names[start : start + size])}
        if start + size < len(self.names):
            page["nextPageToken"] = str(start + size)
        return 200, page

    def sets(self, names: list[str]) -> list[dict[str, Any]]:
        """The sets of tenants."""
        return [
            {"tenantId": name, "config": {"rrfK": 1 + number % 7}, "revision": "r1"}
            for number, name in enumerate(names)
        ]


@contextmanager
def client_of(engine: Listing) -> Iterator[HttpEngine]:
    """A client of it, over real connections."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            status, body = engine.answer(
                json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            )
            sent = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent) if body else 1_000))
            self.end_headers()
            self.wfile.write(sent)
            self.close_connection = body is None

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    client = HttpEngine(
        f"http://127.0.0.1:{server.server_address[1]}",
        CATALOGUE,
        tokens=GivenToken("abcdef", "the test"),
        network=QUICK,
        notice=lambda _: None,
    )
    try:
        yield client
    finally:
        client.close()
        server.shutdown()
        server.server_close()
        thread.join()


def test_a_long_list_comes_in_large_pages_after_a_first_small_one() -> None:
    """Nobody waits long for the first sets, and 10,000 tenants cost 11 calls."""
    listing = Listing(FIRST_PAGE + 2 * LARGE_PAGE)
    with client_of(listing) as engine:
        assert [live.tenant for live in engine.list()] == listing.names

    assert [page["pageSize"] for page in listing.asked] == [FIRST_PAGE, LARGE_PAGE, LARGE_PAGE]


def test_the_next_page_is_asked_for_before_anybody_has_read_this_one() -> None:
    """So that reading costs no time where the engine takes longer than the reading."""
    listing = Listing(FIRST_PAGE + 1)
    with client_of(listing) as engine:
        sets = engine.list()
        next(sets)
        assert listing.came.acquire(timeout=5)
        assert listing.came.acquire(timeout=5)
        assert len(list(sets)) == FIRST_PAGE


@pytest.mark.parametrize("is_torn", [False, True], ids=["says so", "breaks off"])
def test_an_engine_that_does_not_give_large_pages_is_asked_for_small_ones(is_torn: bool) -> None:
    """Once the first large one has failed, and for the rest of the list."""
    listing = Listing(3 * FIRST_PAGE)
    listing.largest, listing.is_torn = FIRST_PAGE, is_torn
    with client_of(listing) as engine:
        assert [live.tenant for live in engine.list()] == listing.names

    assert [page["pageSize"] for page in listing.asked][-2:] == [FIRST_PAGE, FIRST_PAGE]


def test_a_page_that_looks_as_if_it_went_on_elsewhere_is_read_as_it_is() -> None:
    """What was asked for too early on the strength of a look at the page's end is dropped."""
    listing = Listing(6)

    def misleading(request: Mapping[str, Any]) -> tuple[int, Any]:
        listing.asked.append(request)
        token = request.get("pageToken")
        if token == "elsewhere":
            return 200, {"configs": listing.sets(["mallory"])}
        if token:
            return 200, {"configs": listing.sets(listing.names[3:])}
        more = {"nextPageToken": "elsewhere"}
        last = listing.sets(listing.names[2:3])[0]
        return 200, {
            "nextPageToken": "here",
            "configs": [*listing.sets(listing.names[:2]), last | {"config": {"newKnob": more}}],
        }

    listing.answer = misleading  # type: ignore[method-assign]  # this engine answers in its own way
    with client_of(listing) as engine:
        listed = list(engine.list())

    assert [one.tenant for one in listed] == listing.names
    assert listed[2].unknown == {"newKnob": {"nextPageToken": "elsewhere"}}


def test_a_failure_of_a_page_that_was_asked_for_ahead_is_told_when_it_is_its_turn() -> None:
    """The sets before it are there."""
    listing = Listing(FIRST_PAGE + 1)
    good = listing.answer

    def failing(request: Mapping[str, Any]) -> tuple[int, Any]:
        status, body = good(request)
        return (500, {"code": "internal"}) if request.get("pageToken") else (status, body)

    listing.answer = failing  # type: ignore[method-assign]  # this engine answers in its own way
    got: list[str] = []
    with client_of(listing) as engine, pytest.raises(EngineError, match="internal"):
        got.extend(live.tenant for live in engine.list())

    assert got == listing.names[:FIRST_PAGE]


def test_events_of_one_tenant_are_asked_for_as_they_are_wanted() -> None:
    """Many tenants are read beside each other: a page ahead for each would be a storm."""
    listing = Listing(0)

    def events(request: Mapping[str, Any]) -> tuple[int, Any]:
        listing.asked.append(request)
        more = {} if request.get("pageToken") else {"nextPageToken": "more"}
        return 200, {"events": [{"tenantId": "acme"}], **more}

    listing.answer = events  # type: ignore[method-assign]  # this engine answers in its own way
    with client_of(listing) as engine:
        found = engine.audit_events("acme")
        next(found)
        assert not any(thread.name == "knobctl-page" for thread in threading.enumerate())
        assert len(listing.asked) == 1
        assert len(list(found)) == 1


def test_a_list_that_is_given_up_leaves_nothing_open() -> None:
    """Neither a thread that waits nor a connection."""
    listing = Listing(FIRST_PAGE + 1)
    with client_of(listing) as engine:
        next(engine.list())
    for thread in threading.enumerate():
        if thread.name == "knobctl-page":
            thread.join(5)
            assert not thread.is_alive()


NAMES = st.sampled_from([name for knob in CATALOGUE for name in (knob.name, knob.json_name)])
VALUES = (
    st.none()
    | st.booleans()
    | st.integers(-2, 1200)
    | st.floats(-1, 1200, allow_nan=False)
    | st.sampled_from([0.0, -0.0, 0.3, 60.0, "60", "0.30", "ENABLED", "KNOB_MODE_UNSPECIFIED", 1])
    | st.lists(st.integers(), max_size=1)
)
FIELDS = st.fixed_dictionaries(
    {"config": st.dictionaries(NAMES | st.just("newKnob"), VALUES, max_size=6)},
    optional={
        "tenantId": st.sampled_from(["acme", "bolt", "", None, 3]),
        "tenant_id": st.sampled_from(["acme", "bolt"]),
        "revision": st.sampled_from(["r1", "", None, 7]),
        "updatedAt": st.sampled_from(["2026-11-30T08:00:00Z", "", 7]),
        "updated_at": st.just("2026-11-30T09:00:00Z"),
        "updatedBy": st.sampled_from(["anna", None]),
        "lastGood": st.booleans(),
        "last_good": st.booleans(),
    },
)
READER = SetReader(CATALOGUE)


def read_or_why(read: Any, answer: Any) -> Any:
    """What was read with the types of its values, or why it was not."""
    try:
        live = read(answer)
    except NonsenseError as error:
        return str(error)
    return live, [(name, repr(value)) for name, value in live.knobs.items()]


@settings(max_examples=400, deadline=None)
@given(answer=FIELDS)
def test_the_short_way_reads_what_the_long_one_reads(answer: dict[str, Any]) -> None:
    """Whatever else the reader has seen before: values that are equal and of other types among it."""
    assert read_or_why(
        lambda one: READER.read(one, tenant="acme", revision=None), answer
    ) == read_or_why(lambda one: live_set(one, CATALOGUE, tenant="acme", revision=None), answer)


def test_an_engine_does_not_fill_the_memory_with_spellings_of_a_value() -> None:
    """Long ones are read and forgotten."""
    reader = SetReader(CATALOGUE)
    spelled = {"config": {"rrfK": "0" * LONGEST_VALUE + "60"}}
    assert reader.read(spelled, tenant="acme", revision=None).knobs == {"rrf_k": 60}
    assert not reader._meanings
