"""Every guard of a knob gives the same verdict: the schema twice, the catalogue, the service, SQL, the wire.

Where a guard cannot see a difference, or the given wire mapping says otherwise, that is written in
`DIFFERENCES` and nowhere else:

- the wire takes numbers as texts ("0.3", "64"), as the proto3 JSON mapping has it; documents do not;
- the wire takes null for "not sent", and the number of a mode for its name, by the same mapping;
- SQL sees no sign of a zero, and SQLite binds a boolean as a number; the service has refused both.
"""

from __future__ import annotations

import json
import math
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest
from connectrpc.errors import ConnectError
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from knobctl.knobs import Catalogue, Knob, KnobType, load_catalogue
from knobctl.knobs.derived import sql_text
from knobctl.server.auth import local_caller
from knobctl.server.knobs import KnobsService, open_service
from knobctl.server.refusal import ServiceError
from knobctl.server.requests import accepted_config
from knobctl.server.wire.config_json import StrictJsonCodec
from knobctl.server.wire.knobs_service_pb import UpdateContextEngineKnobsConfigRequest
from knobctl.server.wire.messages import config_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CATALOGUE = load_catalogue()
ME = local_caller("anna")
BIG = 2**63


class Guards:
    """What each guard says of one value of one knob."""

    def __init__(self, catalogue: Catalogue, service: KnobsService) -> None:
        self._catalogue = catalogue
        self._explains = Draft202012Validator(catalogue.schema)
        self._judges = jsonschema_rs.validator_for(dict(catalogue.schema))
        self._service = service
        self._sql = sqlite3.connect(":memory:")
        self._sql.execute(sql_text(catalogue))
        self._codec = StrictJsonCodec(catalogue)

    def close(self) -> None:
        self._sql.close()

    def verdicts(self, knob: Knob, value: object) -> dict[str, bool]:
        """By guard, whether it takes the value."""
        verdicts = {
            "catalogue": knob.accepts(value),
            "service": self._by_service(knob, value),
            "sql": self._by_sql(knob, value),
            "wire": self._by_wire(knob, value),
        }
        if not (
            isinstance(value, float) and (not math.isfinite(value) or _is_negative_zero(value))
        ):
            # JSON has no NaN and no infinity, and a schema sees no sign of zero: number rules of the
            # documents refuse those before any schema is asked.
            verdicts["jsonschema"] = self._explains.is_valid({knob.name: value})
            verdicts["jsonschema_rs"] = self._judges.is_valid({knob.name: value})
        return verdicts

    def _by_service(self, knob: Knob, value: object) -> bool:
        try:
            self._service.update(ME, "acme", {knob.name: value})
        except ServiceError as error:
            return [violation.field for violation in error.violations] != [knob.name]
        return True

    def _by_sql(self, knob: Knob, value: object) -> bool:
        try:
            self._sql.execute("DELETE FROM context_engine_knobs")
            self._sql.execute(
                f'INSERT INTO context_engine_knobs (tenant_id, "{knob.name}") VALUES (?, ?)',
                ("acme", value),
            )
        except (sqlite3.Error, OverflowError):
            return False
        return True

    def _by_wire(self, knob: Knob, value: object) -> bool:
        """Decode the JSON that a client would send, and look at what arrives as the service does."""
        body = json.dumps({"config": {knob.json_name: _spelled(value)}}).encode()
        try:
            request = self._codec.decode(body, UpdateContextEngineKnobsConfigRequest)
            accepted_config(self._catalogue, config_values(self._catalogue, request.config))
        except (ConnectError, ServiceError):
            return False
        return True


def _spelled(value: object) -> object:
    """NaN and the infinities travel as texts."""
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("Infinity" if value > 0 else "-Infinity")
    return value


@dataclass(frozen=True, slots=True)
class Difference:
    """A guard whose verdict differs, and for which values of which knobs."""

    guard: str
    why: str
    holds: Callable[[Knob, object], bool]


DIFFERENCES = (
    Difference(
        "wire", "a number as text", lambda knob, value: not _is_mode(knob) and _is_numeric(value)
    ),
    Difference("wire", "null is not sent", lambda _, value: value is None),
    Difference(
        "wire", "a mode by its number", lambda knob, value: _is_mode(knob) and type(value) is int
    ),
    Difference(
        "sql",
        "no sign of zero",
        lambda knob, value: not _is_mode(knob) and _is_negative_zero(value),
    ),
    Difference(
        "sql", "no booleans", lambda knob, value: not _is_mode(knob) and isinstance(value, bool)
    ),
)


def _is_mode(knob: Knob) -> bool:
    return knob.type is KnobType.MODE


def _is_negative_zero(value: object) -> bool:
    return isinstance(value, float) and value == 0 and math.copysign(1, value) < 0


def _is_numeric(value: object) -> bool:
    try:
        return isinstance(value, str) and math.isfinite(float(value))
    except ValueError:
        return False


@pytest.fixture(scope="module")
def guards(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guards]:
    url = f"embedded:{tmp_path_factory.mktemp('guards') / 'engine.db'}"
    service = open_service(url, CATALOGUE, clock=lambda: datetime.now(UTC))
    guards = Guards(CATALOGUE, service)
    yield guards
    guards.close()
    service.close()


def _assert_agree(guards: Guards, knob: Knob, value: object) -> None:
    verdicts = guards.verdicts(knob, value)
    for difference in DIFFERENCES:
        if difference.holds(knob, value):
            del verdicts[difference.guard]
    assert len(set(verdicts.values())) == 1, (knob.name, value, verdicts)


def values_around(knob: Knob) -> list[Any]:
    """At, inside and outside the bounds, and everything that is no number."""
    odd: list[Any] = [
        *(True, False, None, "", "ENABLED", "enabled", "KNOB_MODE_UNSPECIFIED", "0.3", "64", "x"),
        *(0, 0.0, -0.0, 1, 1.0, 2, -1, 7, 0.5, 64.0, 64.5, 5e-324, -5e-324, 1e308, 1e-5),
        *(math.nan, math.inf, -math.inf, 2**31 - 1, 2**31, -(2**31), BIG - 1, BIG, -BIG, 10**400),
        *(str(BIG), "9007199254740993", 9007199254740993, 2**53 + 1.0),
    ]
    if knob.type is KnobType.MODE:
        return [*odd, *knob.choices]
    assert knob.minimum is not None
    assert knob.maximum is not None
    return odd + [
        near
        for bound in (knob.minimum, knob.maximum)
        for near in (
            *(bound, float(bound), bound - 1, bound + 1, bound / 2, bound * 2),
            *(math.nextafter(bound, -math.inf), math.nextafter(bound, math.inf), str(bound)),
        )
    ]


@pytest.mark.parametrize("knob", CATALOGUE, ids=lambda knob: knob.name)
def test_every_guard_gives_the_same_verdict(knob: Knob, guards: Guards) -> None:
    """On a written list of values around the bounds and beyond all sense."""
    values = values_around(knob)
    for value in values:
        _assert_agree(guards, knob, value)
    taken = [value for value in values if knob.accepts(value)]
    assert len(taken) < len(values) / 2
    bounds = knob.choices if knob.type is KnobType.MODE else (knob.minimum, knob.maximum)
    assert all(bound in taken for bound in bounds)


@given(data=st.data())
@settings(max_examples=400)
def test_every_guard_gives_the_same_verdict_on_any_value(
    data: st.DataObject, guards: Guards
) -> None:
    """On drawn values: numbers of every size near the bounds, and other things."""
    knob = data.draw(st.sampled_from(CATALOGUE.knobs))
    _assert_agree(guards, knob, data.draw(_drawn(knob)))


def _drawn(knob: Knob) -> st.SearchStrategy[Any]:
    anything = st.one_of(
        *(st.floats(), st.integers(-(2**70), 2**70), st.booleans(), st.none()),
        st.text(st.characters(codec="utf-8"), max_size=12),
        st.floats(-1e3, 1e3).map(lambda value: float(round(value))),
    )
    if knob.minimum is None or knob.maximum is None:
        return anything | st.sampled_from(knob.choices)
    low, high = float(knob.minimum), float(knob.maximum)
    return anything | st.floats(low, high) | st.integers(math.ceil(low), math.floor(high))


@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda one: f"{one.guard}: {one.why}")
def test_each_written_difference_exists(difference: Difference, guards: Guards) -> None:
    """A difference that is gone leaves the list."""
    assert any(
        guards.verdicts(knob, value)[difference.guard] != guards.verdicts(knob, value)["catalogue"]
        for knob in CATALOGUE
        for value in values_around(knob)
        if difference.holds(knob, value)
    )


def test_nothing_but_a_number_reaches_a_column(guards: Guards) -> None:
    """Text that looks like a number, NaN and the infinities are refused by the CHECK itself."""
    for knob in CATALOGUE:
        if knob.type is not KnobType.MODE:
            for value in ("0.3", "64", "", math.nan, math.inf, -math.inf, None, b"0"):
                assert not guards._by_sql(knob, value)
