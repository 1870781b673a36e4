"""What an engine counts of itself, for Prometheus.

Labels stay few. `method` and `code` are those of the wire. `tenant` is the name of a tenant that has a
set or a corpus; calls for any other name, which a caller for all tenants can make up, count under the
empty one. Times are kept per method and per ranker, never per tenant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, Counter, Histogram

from knobctl.server.store.interface import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from knobctl.server.calls import Call
    from knobctl.server.retrieval.model import Assembled, Outcome, RankerReport, SearchAnswer
    from knobctl.server.stored import Stored, Updated

CALL_S: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
RANKER_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5)
NO_CORPUS: Final = "c0"


class Metrics:
    """The counters of one engine, in a registry of its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._calls = Counter(
            "knobctl_calls",
            "Calls answered, by method and by code; ok where there was no error.",
            ["method", "code"],
            registry=self.registry,
        )
        self._call_s = Histogram(
            "knobctl_call_seconds",
            "From the headers of a call to the end of its answer.",
            ["method"],
            buckets=CALL_S,
            registry=self.registry,
        )
        self._outcomes = Counter(
            "knobctl_retrieval_outcomes",
            "Searches and assemblies, by tenant and by outcome.",
            ["tenant", "method", "outcome"],
            registry=self.registry,
        )
        self._removed = Counter(
            "knobctl_removed_by_floor",
            "Candidates that the floor, or a closed no-match gate, removed.",
            ["tenant", "method"],
            registry=self.registry,
        )
        self._expansions = Counter(
            "knobctl_expansions",
            "Assemblies whose first pass was not confident enough, by tenant.",
            ["tenant"],
            registry=self.registry,
        )
        self._ranker_s = Histogram(
            "knobctl_ranker_seconds",
            "How long a ranker took, late ones included.",
            ["ranker"],
            buckets=RANKER_S,
            registry=self.registry,
        )
        self._ranker_failures = Counter(
            "knobctl_ranker_failures",
            "Rankers that gave nothing: kind failed or late.",
            ["ranker", "kind"],
            registry=self.registry,
        )
        self._cache = Counter(
            "knobctl_cache_lookups",
            "Looks into the result cache: result hit or miss.",
            ["result"],
            registry=self.registry,
        )
        self._writes = Counter(
            "knobctl_knob_writes", "Sets written, by tenant.", ["tenant"], registry=self.registry
        )
        self._store_failures = Counter(
            "knobctl_store_failures",
            "Calls that found the store out of reach, those answered with the last good set included.",
            registry=self.registry,
        )

    def answered(self, call: Call, seconds: float) -> None:
        """Count a call. What reached no method of ours counts under the empty one."""
        self._calls.labels(call.method, call.code).inc()
        self._call_s.labels(call.method).observe(seconds)
        if isinstance(call.cause, StoreUnavailableError):
            self._store_failures.inc()

    def read(self, stored: Stored) -> None:
        """Count a set that was read where the store could not be asked."""
        if stored.last_good:
            self._store_failures.inc()

    def written(self, updated: Updated) -> None:
        """Count a set that was written."""
        self._writes.labels(updated.stored.tenant).inc()

    def searched(self, tenant: str, answer: SearchAnswer) -> None:
        """Count what a search came to."""
        name = tenant if answer.corpus_version != NO_CORPUS else ""
        self._outcome(name, "Search", answer.outcome, answer.results_below_threshold)

    def assembled(self, tenant: str, assembled: Assembled) -> None:
        """Count what an assembly came to."""
        quality = assembled.quality
        name = tenant if quality.corpus_version != NO_CORPUS else ""
        self._outcome(
            name, "AssembleContext", quality.retrieval_outcome, quality.results_below_threshold
        )
        if quality.expanded:
            self._expansions.labels(name).inc()

    def _outcome(self, tenant: str, method: str, outcome: Outcome, removed: int) -> None:
        self._outcomes.labels(tenant, method, outcome.value).inc()
        self._removed.labels(tenant, method).inc(removed)

    def looked_up(self, *, is_hit: bool) -> None:
        """Count a look into the result cache."""
        self._cache.labels("hit" if is_hit else "miss").inc()

    def asked(self, reports: Mapping[str, RankerReport]) -> None:
        """Count one fan-out; an answer from the cache has none."""
        for name, report in reports.items():
            self._ranker_s.labels(name).observe(report.latency_ms / 1000)
            if report.timed_out:
                self._ranker_failures.labels(name, "late").inc()
            elif report.error:
                self._ranker_failures.labels(name, "failed").inc()
