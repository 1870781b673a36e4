"""Lists in large pages, the next one asked for while one is read."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knobctl.engine.answers import NonsenseError, parse_object
from knobctl.engine.http import HttpEngine
from knobctl.engine.interface import LiveSet
from knobctl.engine.network import Network
from knobctl.engine.paging import FIRST_PAGE, LARGE_PAGE
from knobctl.engine.set_reading import LONGEST_FIELD, SetReader
from knobctl.engine.wire import live_set, text_field
from knobctl.errors import EngineError
from knobctl.knobs import load_catalogue
from tests.engine.answering import client_of_handler

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

    with client_of_handler(Handler, network=QUICK) as client:
        yield client


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
        assert not any(thread.name == "knobctl-ahead" for thread in threading.enumerate())
        assert len(listing.asked) == 1
        assert len(list(found)) == 1


def test_a_list_that_is_given_up_leaves_nothing_open() -> None:
    """Neither a thread that waits nor a connection."""
    listing = Listing(FIRST_PAGE + 1)
    with client_of(listing) as engine:
        next(engine.list())
    for thread in threading.enumerate():
        if thread.name == "knobctl-ahead":
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
EQUALS: list[Any] = [1, 1.0, True, "1", 0, 0.0, -0.0, 0.3, None]
ALIKE = st.builds(
    lambda pairs, more: {
        "config": dict(pairs),
        "revision": "r1",
        "updatedAt": "2026-11-30T08:00:00Z",
        "updatedBy": "anna",
        "tenantId": "acme",
        **more,
    },
    st.lists(
        st.tuples(st.sampled_from(["retrievalMinScore", "rrfK", "rrf_k"]), st.sampled_from(EQUALS)),
        max_size=2,
    ),
    st.dictionaries(
        st.sampled_from(["lastGood", "last_good", "tenant_id", "updatedAt", "updatedBy", "new"]),
        st.sampled_from([True, "", "bolt", None]),
        max_size=1,
    ),
)
"""Items that look alike: most are plain, and many of their values are equal and of another type."""
READER = SetReader(CATALOGUE)


def read_or_why(read: Any, body: bytes) -> Any:
    """What was read with the types of its values, or why it was not."""
    try:
        page = read(body)
    except NonsenseError as error:
        return str(error)
    sets = page.pop("configs")
    return page, sets, [(name, repr(value)) for live in sets for name, value in live.knobs.items()]


def by_the_book(body: bytes) -> dict[str, Any]:
    """Read a page the long way."""
    page = parse_object(body)
    items = page.get("configs")
    if items is not None and not isinstance(items, list):
        raise NonsenseError("configs is no list")
    page["configs"] = [one_by_the_book(item) for item in items or []]
    return page


def one_by_the_book(item: Any) -> LiveSet:
    """Read an item the long way."""
    if not isinstance(item, dict):
        raise NonsenseError("a listed set that is no object")
    tenant = text_field(item, "tenantId", "tenant_id")
    if not tenant:
        raise NonsenseError("a listed set without its tenant")
    return live_set(item, CATALOGUE, tenant=tenant, revision="")


def assert_read_by_the_book(body: bytes) -> None:
    """By a reader that knows nothing, and whatever another has seen before."""
    expected = read_or_why(by_the_book, body)
    for reader in (READER, SetReader(CATALOGUE)):
        assert read_or_why(lambda one, of=reader: of.page(one, parse_object), body) == expected


PAGES = st.fixed_dictionaries(
    {"configs": st.lists(FIELDS | ALIKE, max_size=3)},
    optional={"nextPageToken": st.sampled_from(["more", "", 7]), "new": st.just([{"a": "b"}])},
)


@settings(max_examples=120, deadline=None)
@given(page=PAGES, escaped=st.booleans(), indent=st.sampled_from([None, 1]))
def test_the_short_way_reads_what_the_long_one_reads(
    page: dict[str, Any], escaped: bool, indent: int | None
) -> None:
    """Values that are equal and of other types among it, and every spelling of JSON."""
    assert_read_by_the_book(json.dumps(page, ensure_ascii=escaped, indent=indent).encode())


PLAIN = (
    '{"config":{"rrfK":60,"gateMode":"ENABLED"},"revision":"r1",'
    '"updatedAt":"2026-11-30T08:00:00Z","updatedBy":"anna","tenantId":"acme"}'
)
PLAIN_PAGE = f'{{"configs":[{PLAIN}],"nextPageToken":"more"}}'
PIECES = (
    '"rrfK":60,', '"rrfK" : 61, ', '"gateMode":"ENABLED",', '"tenantId":"bolt",', '"nextPageToken":"x",',
    '"configs":[],', '"a":"b",', '"a":true,', '"a":"\\u0041",', '"a":"\\"",', '"lastGood":true,', '"', "\\", "NaN",
    "1e999", "-0", "é", "\x01", " ", ":", "{", "}", "[" * 2_000,
)  # fmt: skip


@settings(max_examples=600, deadline=None)
@given(
    put=st.lists(st.tuples(st.integers(0, len(PLAIN_PAGE)), st.sampled_from(PIECES)), max_size=3),
    begins=st.booleans(),
)
def test_no_key_that_stands_there_twice_is_overlooked(
    put: list[tuple[int, str]], begins: bool
) -> None:
    """Nor anything else that is no JSON, wherever it stands."""
    body = PLAIN_PAGE
    for place, piece in put:
        # Where an object begins or a field ends a piece is more often JSON.
        at = max(body.find("{", place), body.find(",", place)) + 1 if begins else place
        body = body[:at] + piece + body[at:]
    assert_read_by_the_book(body.encode())


@pytest.mark.parametrize("reader", [READER, SetReader(CATALOGUE)], ids=["at last", "at first"])
@pytest.mark.parametrize("key", ['"rrfK":60', '"tenantId":"acme"', '"nextPageToken":"more"'])
def test_a_key_that_stands_there_twice_with_the_same_value_is_nonsense(
    reader: SetReader, key: str
) -> None:
    """In a set, in an item and in the page."""
    body = PLAIN_PAGE.replace(key, f"{key},{key}")
    with pytest.raises(NonsenseError, match="twice"):
        reader.page(body.encode(), parse_object)


def test_what_is_plain_goes_the_short_way() -> None:
    """With a space where many writers of JSON put one, and without a revision too."""
    reader = SetReader(CATALOGUE)
    for item in (PLAIN, json.dumps(json.loads(PLAIN)), PLAIN.replace('"revision":"r1",', "")):
        page = reader._cut(f'{{"configs":[{item}]}}'.encode())
        assert page is not None
        assert page["configs"] == [one_by_the_book(json.loads(item))]


def test_tenants_with_the_same_set_share_it() -> None:
    """Of a fleet of 100,000 with some hundred sets no more than these are in memory."""
    reader = SetReader(CATALOGUE)
    pages = [reader.page(PLAIN_PAGE.replace("acme", name).encode(), parse_object) for name in "ab"]
    (first,), (second,) = (page["configs"] for page in pages)
    assert first.knobs is second.knobs


def test_an_engine_does_not_fill_the_memory_with_spellings_of_a_value() -> None:
    """Long ones are read and forgotten."""
    reader = SetReader(CATALOGUE)
    body = PLAIN_PAGE.replace("60", f'"{"0" * LONGEST_FIELD}60"')
    assert reader.page(body.encode(), parse_object)["configs"][0].knobs["rrf_k"] == 60
    assert all(len(piece) <= LONGEST_FIELD for piece in reader._fields)
