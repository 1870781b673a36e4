"""Real `engine serve` processes on one store, and calls to them."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MAIN = "from knobctl.cli.main import main; main()"
KNOBS = "upsquad.contextengine.v1.ContextEngineKnobsConfigService"
CONTEXT = "upsquad.context.v1.ContextEngine"
INGEST = "upsquad.context.v1.Ingest"


class CallFailedError(Exception):
    """A call was refused, or its answer never came."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body}")
        self.status = status


class EngineProcess:
    """One engine process, that can be killed and started again."""

    def __init__(
        self, folder: Path, name: str, store: str, candidates: str | None, token: str
    ) -> None:
        """Take the place; nothing runs yet."""
        self._ports = folder / f"{name}.ports"
        self._log = folder / f"{name}.log"
        self._store, self._candidates, self._token = store, candidates, token
        self._process: subprocess.Popen[bytes] | None = None
        self._port = 0

    def launch(self) -> None:
        """Start it; `wait` before the first call."""
        self._ports.unlink(missing_ok=True)
        candidates = ["--candidates", self._candidates] if self._candidates else []
        arguments = ["--store", self._store, *candidates, "--port-file", str(self._ports)]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-c", MAIN, "engine", "serve", *arguments],
                stderr=log,
                env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent.parent)},
            )

    def wait(self) -> None:
        """Wait until it answers."""
        assert self._process
        deadline = time.monotonic() + 60
        while not self._ports.exists():
            assert self._process.poll() is None, self.said
            assert time.monotonic() < deadline
            time.sleep(0.02)
        self._port = json.loads(self._ports.read_text())["http"]

    def kill(self) -> None:
        """End it at once, whatever it does: SIGKILL."""
        if self._process:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def said(self) -> str:
        """What it wrote to stderr."""
        return self._log.read_text()

    def line(self) -> Calls:
        """A connection of its own to it."""
        return Calls(self._port, self._token)


class Calls:
    """Calls over one connection."""

    def __init__(self, port: int, token: str) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        self._headers = {"Content-Type": "application/json", "Authorization": f"Bearer {token}"}

    def __call__(self, tenant: str, method: str, **request: Any) -> Any:
        """Make one call and give its answer.

        Raises:
            CallFailedError: If it was refused.
            OSError: If its answer never came.
            http.client.HTTPException: As above.
        """
        self._connection.request(
            "POST", f"/{method}", json.dumps(request), {**self._headers, "X-Tenant-Id": tenant}
        )
        answer = self._connection.getresponse()
        body = answer.read().decode()
        if answer.status != 200:
            raise CallFailedError(answer.status, body)
        return json.loads(body)

    def post(self, method: str, kind: str, body: bytes) -> tuple[int, bytes]:
        """Send any body; give the status and the answer with its headers and trailers, whatever they say."""
        self._connection.request(
            "POST", f"/{method}", body, {**self._headers, "Content-Type": kind}
        )
        answer = self._connection.getresponse()
        return answer.status, str(answer.headers).encode() + answer.read()

    def get(self, tenant: str) -> Any:
        """The tenant's set, as it is answered."""
        return self(tenant, f"{KNOBS}/GetContextEngineKnobsConfig")

    def update(self, tenant: str, **knobs: Any) -> str:
        """Replace the tenant's set, and give the new revision."""
        answer = self(tenant, f"{KNOBS}/UpdateContextEngineKnobsConfig", config=knobs)
        return str(answer["revision"])

    def upsert(self, tenant: str, **texts: str) -> Any:
        """Take texts in, by the names of their documents."""
        chunks = [{"documentId": name, "text": text} for name, text in texts.items()]
        return self(tenant, f"{INGEST}/UpsertChunks", chunks=chunks)

    def delete(self, tenant: str, *documents: str) -> Any:
        """Take documents away."""
        return self(tenant, f"{INGEST}/DeleteDocuments", documentIds=documents)

    def search(self, tenant: str, query: str) -> Any:
        """Search with practically no floor."""
        return self(tenant, f"{CONTEXT}/Search", query=query, minScore=0.0001, topK=50)

    def assemble(self, tenant: str, task: str) -> Any:
        """Assemble a prompt."""
        return self(tenant, f"{CONTEXT}/AssembleContext", task=task)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()
