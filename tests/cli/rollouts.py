"""Pushes in waves, for tests: what is asked for, what comes of it, and engines and processes that fail meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.changes import run_folder
from knobctl.changes.journal_writing import Journal
from knobctl.engine.embedded import EmbeddedEngine
from knobctl.engine.interface import EngineRefusedError
from tests.cli.engines import embedded
from tests.cli.inside import ENGINE, Inside
from tests.cli.outputs import faults_of

if TYPE_CHECKING:
    from knobctl.engine.interface import Receipt

TENANTS = ("acme", "bolt", "cork", "delta")
TEXTS = {
    "gates": "Workflow approval gates stop a run until a person approves it.",
    "approvals": "An approval may be given by any member of the reviewers.",
    "canteen": "The canteen serves soup on Mondays.",
}
QUESTIONS = (
    {"question": "How does a workflow wait for approval?", "relevant": ["gates"]},
    {"question": "Who may approve?"},
    {"question": "What is there for lunch on Monday?"},
    {"question": "How far is the moon?", "answerable": False},
)
SILENT = "no_match_min_cosine: 0.99"
"""Answers nothing to anybody."""
HARMLESS = "rrf_k: 30"
YES = ("--yes", "--reason", "why", *ENGINE)
NOW = (*YES, "--bake", "0s")
SCHEMA = "output-apply.v1.schema.json"
REGIONS = ("--wave", "region=a", "--wave", "region=b")


def wish(inside: Inside, **knobs: str) -> None:
    """Let tenants' files ask for sets."""
    for tenant, lines in knobs.items():
        inside.write(
            f"tenants/{tenant}.yaml",
            f"tenant: {tenant}\nlabels: {{tier: a}}\nknobs: {{{lines}}}\n",
        )


def labelled(inside: Inside, **regions: str) -> None:
    """Let tenants' files ask for sets: by tenant, its region and its knobs."""
    for tenant, said in regions.items():
        region, lines = said.split(": ", 1)
        inside.write(
            f"tenants/{tenant}.yaml",
            f"tenant: {tenant}\nlabels: {{tier: a, region: {region}}}\nknobs: {{{lines}}}\n",
        )


def pushed(inside: Inside, *options: str, code: int) -> dict[str, Any]:
    """The answer of a push with a canary, as its schema has it."""
    result = inside("apply", "--format", "json", *options)
    assert result.code == code, result.err + result.out
    answer: dict[str, Any] = result.json
    assert faults_of(answer, SCHEMA) == []
    assert answer["exit_code"] == code
    return answer


def outcomes(answer: Mapping[str, Any]) -> dict[str, str]:
    return {one["tenant"]: one["outcome"] for one in answer["tenants"]}


def state(inside: Inside) -> dict[str, Any]:
    """What each tenant holds, and how many events it has."""
    with embedded(inside.folder / "e.db") as engine:
        return {
            one: (dict(engine.read(one).knobs), len(list(engine.audit_events(one))))
            for one in TENANTS
        }


def listed(inside: Inside) -> dict[str, Any]:
    """The last run, as `runs` tells of it."""
    answer = inside("runs", "--format", "json").json
    assert faults_of(answer, "output-runs.v1.schema.json") == []
    found: dict[str, Any] = answer["runs"][0]
    return found


def refusing(monkeypatch: pytest.MonkeyPatch, *tenants: str, reasons: str = "") -> None:
    """Let the engine refuse some tenants' writes whose reason begins so."""
    real = EmbeddedEngine.replace

    def replace(self: EmbeddedEngine, tenant: str, *sent: Any, **options: Any) -> Receipt:
        if tenant in tenants and options["reason"].startswith(reasons):
            raise EngineRefusedError("no", code="invalid_argument")
        return real(self, tenant, *sent, **options)

    monkeypatch.setattr(EmbeddedEngine, "replace", replace)


def asked_first(monkeypatch: pytest.MonkeyPatch, act: Callable[[str], None]) -> None:
    """Let something happen before a tenant is asked for the first time after its write."""
    real, seen = EmbeddedEngine.assemble, set[str]()

    def assemble(self: EmbeddedEngine, tenant: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if tenant not in seen:
            seen.add(tenant)
            act(tenant)
        return real(self, tenant, request)

    monkeypatch.setattr(EmbeddedEngine, "assemble", assemble)


class Died(BaseException):
    """The process is gone."""


Records = Callable[[Mapping[str, Any]], bool]


def dying(monkeypatch: pytest.MonkeyPatch, at: Records, *, noted: bool = True) -> None:
    """Let the process be gone from a record of the journal on, whether it is still written or not."""

    class Dying(Journal):
        """Notes nothing any more from a record on."""

        dead = False

        def _append(self, *records: Mapping[str, Any]) -> None:
            for record in records:
                self._note(record)

        def _note(self, record: Mapping[str, Any]) -> None:
            if self.dead:
                raise Died
            self.dead = at(record)
            if noted or not self.dead:
                super()._append(record)
            if self.dead:
                raise Died

    monkeypatch.setattr(run_folder, "Journal", Dying)


def died(probed: Inside, *arguments: str, at: Records, noted: bool = True) -> dict[str, Any]:
    """Apply until the process is gone; gives the run as it is listed then."""
    with pytest.MonkeyPatch().context() as during:
        dying(during, at, noted=noted)
        with pytest.raises(Died):
            probed("apply", *arguments)
    return listed(probed)


def judged(number: int) -> Records:
    return lambda one: one["kind"] == "judged" and one["wave"] == number
