"""Keeps graphs in files beside the store. Every one can be thrown away: what cannot be trusted is built again."""

from __future__ import annotations

import hashlib
import logging
import re
from typing import TYPE_CHECKING, Final

import onnxruntime  # noqa: F401  loaded after usearch (2.26 with 1.32) it crashes the process
from usearch.compiled import MetricKind, ScalarKind
from usearch.index import Index

from knobctl.server.candidates.graph import Graph

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOGGER: Final = logging.getLogger("knobctl.server.candidates")
_NAME: Final = re.compile(r"[0-9a-f]{16}-c([0-9]+)-([0-9a-f]{64})\.usearch")
"""Tenant, version of the corpus, digest of the content."""


def save(graph: Graph, folder: Path, tenant: str, version: int) -> None:
    """Keep a graph in the place of the tenant's older ones. A disk that takes no more is logged, and no failure."""
    content = graph.index.save()
    assert content is not None, "there is no path, so the content is given"
    name = f"{_prefix(tenant)}-c{version}-{hashlib.sha256(content).hexdigest()}.usearch"
    # One name for what is not complete, so that crashes leave no more than one; if two processes write it at
    # once, the digest does not fit what comes of it, and it is not read.
    part = folder / f".{_prefix(tenant)}.part"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        try:
            part.touch(mode=0o600)
            part.write_bytes(content)
            part.replace(folder / name)
        finally:
            part.unlink(missing_ok=True)
        for kept_version, path in _kept(folder, tenant):
            if kept_version <= version and path.name != name:
                path.unlink(missing_ok=True)
    except OSError as error:
        _LOGGER.warning("the index of a tenant was not kept in %s: %s", folder, error.strerror)


def load(folder: Path, tenant: str, dimensions: int) -> Graph | None:
    """The newest graph of a tenant that is whole and of our making; None where there is none."""
    for _, path in sorted(_kept(folder, tenant), reverse=True):
        try:
            graph = _read(path, dimensions)
        except (OSError, RuntimeError, ValueError) as error:
            _LOGGER.warning("the index %s is built again: %s", path, error)
        else:
            return graph
    return None


def _read(path: Path, dimensions: int) -> Graph:
    content = path.read_bytes()
    if f"-{hashlib.sha256(content).hexdigest()}." not in path.name:
        raise ValueError("it is not what was written")
    index = Index.restore(content)
    if index is None or not len(index):
        raise ValueError("it is no index")
    kind = (index.ndim, index.metric_kind, index.dtype)
    if kind != (dimensions, MetricKind.IP, ScalarKind.F16):
        raise ValueError("it is an index of another kind")
    return Graph(index)


def _kept(folder: Path, tenant: str) -> Iterator[tuple[int, Path]]:
    """Version and path of the tenant's files."""
    for path in folder.glob(f"{_prefix(tenant)}-*.usearch"):
        if named := _NAME.fullmatch(path.name):
            yield int(named[1]), path


def _prefix(tenant: str) -> str:
    """A tenant's name as a part of a file's."""
    return hashlib.sha256(tenant.encode()).hexdigest()[:16]
