"""Search, assembly, evaluation and ingest over HTTP: what the JSON carries, and who may."""

from __future__ import annotations

import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from knobctl.knobs import Catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import open_service
from knobctl.server.opening import RetrievalParts, Services, open_services
from tests.server.doors import SERVICE, Said, ask, served
from tests.server.retrieval.failing import FragileEmbedder

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from knobctl.server.knobs import KnobsService

CONTEXT, INGEST = "upsquad.context.v1.ContextEngine", "upsquad.context.v1.Ingest"
TEXTS = [
    ("rain", "wiki", "Rain falls when moist air rises, cools and condenses into drops."),
    ("snow", "wiki", "Snow is frozen water that falls in flakes when the air is below zero."),
    ("bread", "wiki", "Bread is baked from a dough of flour, water, salt and yeast."),
    ("rota", "team", "The on-call rota changes every Monday at nine in the morning."),
    ("leave", "team", "Ask your lead for leave at least two weeks ahead."),
]


class Engine:
    """An engine over HTTP with a small corpus, asked as anyone."""

    def __init__(self, knobs: KnobsService, address: str) -> None:
        self.knobs = knobs
        self.address = address
        self._tokens: dict[Caller, str] = {}

    def ask(
        self,
        method: str,
        body: object,
        *,
        clearance: int = 4,
        sources: frozenset[str] | None = None,
        **headers: str,
    ) -> Said:
        caller = Caller(
            subject="anna", clearance=clearance, tenants=frozenset(["acme"]), sources=sources
        )
        if caller not in self._tokens:
            self._tokens[caller] = self.knobs.new_token(caller)
        return ask(self.address, method, body, self._tokens[caller], **headers)

    def search(self, body: object, **more: Any) -> Said:
        return self.ask(f"{CONTEXT}/Search", body, **more)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory, catalogue: Catalogue) -> Iterator[Engine]:
    """One for this module; tests that take something in use documents of their own."""
    url = f"embedded:{tmp_path_factory.mktemp('context') / 'engine.db'}"
    services = open_services(url, catalogue, clock=lambda: datetime.now(UTC))
    with served(services) as address:
        engine = Engine(services.knobs, address)
        chunks = [{"documentId": d, "sourceId": s, "text": t} for d, s, t in TEXTS]
        assert engine.ask(f"{INGEST}/UpsertChunks", {"chunks": chunks}).body["written"] == 5
        yield engine
    services.close()


class TestSearch:
    """The body of the given page, and its traps."""

    @pytest.mark.parametrize("scope", [None, {}, {"sourceIds": []}, {"fieldOfTomorrow": 1}])
    def test_the_body_of_the_retrieval_page_works(self, engine: Engine, scope: object) -> None:
        """It sends no floor, and is told the 0.7 that it inherits."""
        said = engine.search({"scope": scope, "query": "why does rain fall?", "topK": 8})
        assert said.status == 200
        assert said.body["effectiveMinScore"] == 0.7
        assert said.body["outcome"] == "ok"
        assert said.body["results"][0]["chunkId"] == "rain"

    def test_an_answer_has_every_field_of_the_contract(self, engine: Engine) -> None:
        """At a low floor every chunk comes back, with ranks, cosine and the rankers' reports."""
        body = {"query": "why does rain fall?", "topK": 5, "minScore": 0.01}
        answered = engine.search(body).body
        assert len(answered["results"]) == 5
        assert answered.get("resultsBelowThreshold", 0) == 0
        assert answered["rankers"].keys() == {"vector", "bm25", "recency"}
        assert answered["rankers"]["vector"]["rows"] == 5
        assert answered["corpusVersion"].startswith("c")
        assert sum(answered["scoreHistogram"]) == 5
        best = answered["results"][0]
        assert best["ranks"]["vector"] == best["ranks"]["bm25"] == 1
        assert 0 < best["cosine"] <= 1
        assert best["text"] == TEXTS[0][2]

    def test_both_spellings_of_a_field_are_taken(self, engine: Engine) -> None:
        """proto3's JSON mapping."""
        body = {"query": "rain", "top_k": 1, "min_score": 0.01, "scope": {"source_ids": ["wiki"]}}
        assert len(engine.search(body).body["results"]) == 1

    @pytest.mark.parametrize(
        ("body", "field"),
        [
            ('{"query": "x", "topK": "many"}', "top_k"),
            ('{"query": "x", "topK": 1.5}', "top_k"),
            ('{"query": "x", "topK": -1}', "top_k"),
            ('{"query": "x", "topK": 501}', "top_k"),
            ('{"query": "x", "topK": 99999999999}', "top_k"),
            ('{"query": "x", "topK": 1, "top_k": 2}', "top_k"),
            ('{"query": "x", "minScore": "NaN"}', "min_score"),
            ('{"query": "x", "minScore": "Infinity"}', "min_score"),
            ('{"query": "x", "minScore": 1.01}', "min_score"),
            ('{"query": "x", "minScore": 1e-400}', "min_score"),
            ('{"query": "x", "minScore": "1e-400"}', "min_score"),
            ('{"query": "x", "minScore": 0.1, "minScore": 0.9}', "min_score"),
            ('{"query": "x", "minScore": true}', "min_score"),
            ('{"query": " "}', "query"),
            ('{"query": 5}', "query"),
            ("{}", "query"),
            ('{"query": "x", "scope": {"sourceIds": ["a", 5]}}', "source_ids"),
            ('{"query": "x", "scope": {"sourceIds": "a"}}', "source_ids"),
            (
                '{"query": "x", "scope": {"sourceIds": ["a"], "source_ids": ["b"]}}',
                "scope.source_ids",
            ),
            (
                '{"query": "x", "scope": {"sourceIds": ["a"], "sourceIds": []}}',
                "scope.source_ids",
            ),
        ],
    )
    def test_what_is_refused_names_its_field(self, engine: Engine, body: str, field: str) -> None:
        """400, with a violation."""
        said = engine.search(body.encode())
        assert (said.status, said.body["code"]) == (400, "invalid_argument"), said.body
        assert said.fields == [field]
        assert "<class" not in said.body["message"], "types are those of JSON"

    @pytest.mark.parametrize("body", ["", "{", "[]", '{"query": "x", "minScore": NaN}', '{"query": "\\ud800"}'])  # fmt: skip
    def test_what_is_no_json_is_refused(self, engine: Engine, body: str) -> None:
        """400, in our words, without the mapping's own types."""
        said = engine.search(body.encode())
        assert (said.status, said.body["code"]) == (400, "invalid_argument")
        assert said.body["message"]

    def test_a_text_that_looks_like_a_number_is_a_text(self, engine: Engine) -> None:
        """The look at numbers leaves queries alone."""
        assert engine.search({"query": "1e-400"}).status == 200


class TestAssembleContext:
    """A prompt, and the attestation of its quality."""

    def test_the_answer_holds_prompt_chunks_and_quality(self, engine: Engine) -> None:
        """The platform's floor of 0.3 runs where the tenant has set none."""
        answered = engine.ask(f"{CONTEXT}/AssembleContext", {"task": "why does rain fall?"}).body
        assert TEXTS[0][2] in answered["prompt"]
        assert answered["chunks"][0]["chunkId"] == "rain"
        quality = answered["quality"]
        assert (quality["effectiveMinScore"], quality["retrievalOutcome"]) == (0.3, "ok")
        assert quality["promptTokens"] > 0

    def test_it_says_how_a_task_stands_beside_others_where_it_is_asked(
        self, engine: Engine
    ) -> None:
        """Five chunks are too few for a label, and that is what it says."""
        body = {"task": "why does rain fall?", "relevance": True}
        quality = engine.ask(f"{CONTEXT}/AssembleContext", body).body["quality"]
        assert quality["relevance"] == {
            "tier": "not_measurable",
            "cosine": quality["bestCosine"],
            "probes": 99,
            "alpha": 0.05,
            "probeSetVersion": 2,
            "chunks": 5,
        }
        said = engine.ask(f"{CONTEXT}/AssembleContext", {**body, "relevance": "yes"})
        assert (said.status, said.fields) == (400, ["relevance"])

    def test_measuring_takes_no_thread_of_the_searches(
        self, tmp_path: Path, catalogue: Catalogue
    ) -> None:
        """However many ask for it at once, a search has its turn."""
        threads: list[str] = []
        embedder = FragileEmbedder()
        embedder.first = lambda: threads.append(threading.current_thread().name)
        url = f"embedded:{tmp_path / 'engine.db'}"
        parts = RetrievalParts(clock=lambda: datetime.now(UTC))
        vars(parts)["opened_embedder"] = embedder
        knobs = open_service(url, catalogue, clock=parts.clock)
        services = Services(knobs, parts)
        with served(services) as address:
            engine = Engine(knobs, address)
            engine.ask(f"{INGEST}/UpsertChunks", {"chunks": [{"documentId": "a", "text": "Rain."}]})
            threads.clear()
            for wanted in (False, True):
                body = {"task": f"why does rain fall {wanted}?", "relevance": wanted}
                assert engine.ask(f"{CONTEXT}/AssembleContext", body).status == 200
        services.close()
        kinds = {name.partition("_")[0] for name in threads}
        assert kinds == {"ranker-vector", "evaluate"}, "the probes are embedded by the caller's"

    def test_a_blank_task_falls_back(self, engine: Engine) -> None:
        """No error: the attestation says why nothing ran."""
        said = engine.ask(f"{CONTEXT}/AssembleContext", {"task": " "})
        assert said.status == 200
        quality = said.body["quality"]
        assert (quality["fallbackUsed"], quality["fallbackReason"]) == (True, "no_query")
        assert quality.get("retrievalOutcome", "unspecified") == "unspecified"


class TestEvaluate:
    """What a proposed set would do."""

    def test_it_answers_under_the_proposed_set_and_writes_nothing(self, engine: Engine) -> None:
        """The floor of the proposal cuts; the tenant's own set stays as it was."""
        body = {"config": {"retrievalMinScore": 0.99}, "queries": ["why does rain fall?", "bread"]}
        answered = engine.ask(f"{CONTEXT}/Evaluate", body, clearance=3).body
        assert [one["query"] for one in answered["evaluations"]] == body["queries"]
        for one in answered["evaluations"]:
            assert one["quality"]["effectiveMinScore"] == 0.99
            assert len(one["candidates"]) == 5
            assert "text" not in one["candidates"][0]
        stored = engine.ask(f"{SERVICE}/GetContextEngineKnobsConfig", {}).body
        assert stored["config"] == {}

    def test_hits_carry_text_where_it_is_asked_for(self, engine: Engine) -> None:
        """includeText."""
        body = {"config": {}, "queries": ["bread"], "includeText": True}
        (one,) = engine.ask(f"{CONTEXT}/Evaluate", body).body["evaluations"]
        assert {hit["text"] for hit in one["candidates"]} == {text for _, _, text in TEXTS}

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            ('{"retrievalMinScore": 1.5}', "retrieval_min_score"),
            ('{"retrievalMinScore": "NaN"}', "retrieval_min_score"),
            ('{"retrievalMinScore": 1e-400}', "retrieval_min_score"),
            ('{"retrievalMinScore": 0.3, "retrieval_min_score": 0.4}', "retrieval_min_score"),
            ('{"gateMode": "OFF"}', "gate_mode"),
            ('{"gateMode": 7}', "gate_mode"),
            ('{"rrfK": -1}', "rrf_k"),
        ],
    )
    def test_its_config_is_looked_at_like_an_updates(
        self, engine: Engine, config: str, field: str
    ) -> None:
        """What the mapping would drop or round is refused, with the knob's name."""
        said = engine.ask(
            f"{CONTEXT}/Evaluate", f'{{"config": {config}, "queries": ["x"]}}'.encode()
        )
        assert (said.status, said.body["code"]) == (400, "invalid_argument")
        assert field in said.fields

    @pytest.mark.parametrize(
        ("config", "field"),
        [
            ('{"retrievalMinScore": 1e-400}', "further_configs[1].retrieval_min_score"),
            ('{"gateMode": "OFF"}', "further_configs[1].gate_mode"),
            ('{"rrfK": -1}', "further_configs[1].rrf_k"),
        ],
    )
    def test_its_further_configs_are_looked_at_too(
        self, engine: Engine, config: str, field: str
    ) -> None:
        """Each by itself: which one it is stands before the knob's name."""
        said = engine.ask(
            f"{CONTEXT}/Evaluate",
            f'{{"config": {{}}, "furtherConfigs": [{{}}, {config}], "queries": ["x"]}}'.encode(),
        )
        assert (said.status, said.body["code"]) == (400, "invalid_argument")
        assert said.fields == [field]

    def test_it_takes_a_hundred_queries(self, engine: Engine) -> None:
        """One more is refused."""
        said = engine.ask(f"{CONTEXT}/Evaluate", {"config": {}, "queries": ["x"] * 101})
        assert (said.status, said.fields) == (400, ["queries"])


class TestWhoMay:
    """Clearances, tenants and sources, before the body is read."""

    @pytest.mark.parametrize(
        ("method", "needs"),
        [
            (f"{CONTEXT}/Search", 0),
            (f"{CONTEXT}/AssembleContext", 0),
            (f"{CONTEXT}/Evaluate", 3),
            (f"{INGEST}/Describe", 3),
            (f"{INGEST}/UpsertChunks", 4),
            (f"{INGEST}/DeleteDocuments", 4),
        ],
    )
    def test_each_method_has_its_clearance(self, engine: Engine, method: str, needs: int) -> None:
        """Under it 403, whatever the body is; with it the body is looked at."""
        if needs:
            said = engine.ask(method, b"{nonsense", clearance=needs - 1)
            assert (said.status, said.body["code"]) == (403, "permission_denied")
            assert f"L{needs}" in said.body["message"]
        assert engine.ask(method, b"{nonsense", clearance=needs).status == 400

    def test_a_tenant_that_is_not_held_is_not_found(self, engine: Engine) -> None:
        """404, whether or not it exists, before the body is read."""
        for method in (f"{CONTEXT}/Search", f"{INGEST}/UpsertChunks", f"{CONTEXT}/Evaluate"):
            said = engine.ask(method, b"{nonsense", clearance=0, X_Tenant_Id="other")
            assert (said.status, said.body["code"]) == (404, "not_found")

    def test_a_call_needs_a_token(self, engine: Engine) -> None:
        """401."""
        assert ask(engine.address, f"{CONTEXT}/Search", {"query": "rain"}).status == 401

    def test_a_caller_sees_its_sources_only(self, engine: Engine) -> None:
        """A source outside its list is silently not there, named or not."""
        body = {"query": "why does rain fall?", "topK": 10, "minScore": 0.01}
        seen = engine.search(body, clearance=0, sources=frozenset(["team"])).body["results"]
        assert {hit["sourceId"] for hit in seen} == {"team"}
        named = {**body, "scope": {"sourceIds": ["wiki"]}}
        answered = engine.search(named, clearance=0, sources=frozenset(["team"])).body
        assert (answered.get("results", []), answered["outcome"]) == ([], "no_results")


class TestIngest:
    """Texts in and out."""

    def test_texts_are_taken_in_once_and_removed(self, engine: Engine) -> None:
        """Counts and versions; a second upsert of the same changes nothing."""
        chunk = {"documentId": "tides", "text": "Tides follow the moon.", "metadata": {"a": "b"}}
        first = engine.ask(f"{INGEST}/UpsertChunks", {"chunks": [chunk]}).body
        again = engine.ask(f"{INGEST}/UpsertChunks", {"chunks": [chunk]}).body
        assert (first["written"], again.get("written", 0), again["unchanged"]) == (1, 0, 1)
        assert first["corpusVersion"] == again["corpusVersion"]
        hit = engine.search({"query": "tides", "topK": 1, "minScore": 0.01}).body["results"][0]
        assert (hit["documentId"], hit["metadata"]) == ("tides", {"a": "b"})
        gone = engine.ask(f"{INGEST}/DeleteDocuments", {"documentIds": ["tides", "none"]}).body
        assert (gone["documents"], gone["chunks"]) == (1, 1)
        assert gone["corpusVersion"] != again["corpusVersion"]

    def test_a_corpus_describes_itself(self, engine: Engine) -> None:
        """Counts by source, and what made the vectors."""
        told = engine.ask(f"{INGEST}/Describe", {}, clearance=3).body
        assert (told["tenantId"], told["chunks"], told["documents"]) == ("acme", 5, 5)
        counts = {source["sourceId"]: source["chunks"] for source in told["sources"]}
        assert counts == {"team": 2, "wiki": 3}
        assert told["embedder"]["dimensions"] == 384

    def test_chunks_may_have_sixteen_mebibytes(self, engine: Engine) -> None:
        """More is refused in words that say the limit, however the client sends it."""
        said = engine.ask(f"{INGEST}/UpsertChunks", b" " * (17 << 20))
        assert (said.status, said.body["code"]) == (429, "resource_exhausted")
        assert "larger than 16 MiB" in said.body["message"]
        said = engine.search(b" " * ((1 << 20) + 1))
        assert (said.status, said.body["code"]) == (429, "resource_exhausted")
        assert "larger than 1 MiB" in said.body["message"]


def test_without_the_extra_retrieval_says_what_to_install(
    tmp_path: Any, open_at: Callable[..., KnobsService]
) -> None:
    """Knobs work; every method of retrieval and ingest answers unimplemented, to those who may call it."""
    service = open_at(tmp_path / "engine.db")
    token = service.new_token(Caller(subject="anna", clearance=4, tenants=frozenset(["acme"])))
    with served(service) as address:
        assert ask(address, f"{SERVICE}/GetContextEngineKnobsConfig", {}, token).status == 200
        for method in (
            f"{CONTEXT}/Search",
            f"{CONTEXT}/AssembleContext",
            f"{CONTEXT}/Evaluate",
            f"{INGEST}/UpsertChunks",
            f"{INGEST}/DeleteDocuments",
            f"{INGEST}/Describe",
        ):
            said = ask(address, method, {}, token)
            assert (said.status, said.body["code"]) == (501, "unimplemented")
            assert "pip install 'knobctl[engine]'" in said.body["message"]
