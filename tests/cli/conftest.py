"""Fixtures for tests of commands."""

from __future__ import annotations

import json
import shutil
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from knobctl.knobs import load_catalogue
from knobctl.server.auth import local_caller
from knobctl.server.opening import open_services
from knobctl.server.retrieval.model import Text
from tests.cli.engines import embedded, write
from tests.cli.inside import Inside
from tests.cli.rollouts import (
    QUESTIONS,
    TENANTS,
    TEXTS,
)

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in which each tenant has three texts; acme and bolt hold a set."""
    store = tmp_path_factory.mktemp("corpus") / "e.db"
    services = open_services(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    assert services.ingest is not None
    for tenant in TENANTS:
        texts = [Text(document_id=name, text=text) for name, text in TEXTS.items()]
        services.ingest.upsert(local_caller("test"), tenant, texts)
    services.close()
    with embedded(store) as engine:
        write(engine, "acme", {"rrf_k": 50, "mmr_lambda": 0.5})
        write(engine, "bolt", {"rrf_k": 50})
    return store


@pytest.fixture
def probed(inside: Inside, corpus: Path) -> Inside:
    """A repository of four tenants beside that store."""
    shutil.copytree(corpus.parent, inside.folder, dirs_exist_ok=True)
    inside.write("knobctl.toml", "")
    inside.write("probes/q.jsonl", "".join(f"{json.dumps(one)}\n" for one in QUESTIONS))
    inside.write(
        "fleet.yaml",
        "fleet: default\nprobes: [{labels: {tier: a}, questions: probes/q.jsonl}]\n",
    )
    return inside
