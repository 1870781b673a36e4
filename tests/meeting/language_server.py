"""Talks to a YAML language server over its standard input and output, as an editor does."""

from __future__ import annotations

import json
import subprocess
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Editor:
    """An editor that has one folder open."""

    def __init__(self, to_server: IO[bytes], from_server: IO[bytes]) -> None:
        self._out, self._in = to_server, from_server
        self._last = 0
        self._diagnostics: dict[str, list[dict[str, Any]]] = {}

    def ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send a request and wait for its answer; what the server asks meanwhile is answered with nothing."""
        self._last += 1
        wanted = self._last
        self._send({"id": wanted, "method": method, "params": params})
        while True:
            message = self._receive()
            if message.get("id") == wanted and "method" not in message:
                return message.get("result")

    def tell(self, method: str, params: dict[str, Any]) -> None:
        """Send a notification."""
        self._send({"method": method, "params": params})

    def open(self, path: Path) -> str:
        """Open a file; give its URI."""
        document = {"uri": path.as_uri(), "languageId": "yaml", "version": 1}
        self._diagnostics.pop(path.as_uri(), None)
        self.tell(
            "textDocument/didOpen", {"textDocument": {**document, "text": path.read_text("utf-8")}}
        )
        return path.as_uri()

    def faults(self, uri: str) -> list[tuple[int, str]]:
        """The line, counted from 1, and the text of each fault that the server finds in an open file."""
        while uri not in self._diagnostics:
            self._receive()
        return [
            (fault["range"]["start"]["line"] + 1, fault["message"])
            for fault in self._diagnostics[uri]
        ]

    def hover(self, uri: str, line: int, column: int) -> str:
        """What is shown where the pointer rests, both counted from 1."""
        place = {"line": line - 1, "character": column - 1}
        found = self.ask("textDocument/hover", {"textDocument": {"uri": uri}, "position": place})
        return json.dumps(found)

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self._out.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        self._out.flush()

    def _receive(self) -> dict[str, Any]:
        length = 0
        while header := self._in.readline().strip():
            if header.lower().startswith(b"content-length:"):
                length = int(header.split(b":")[1])
        if not length:
            raise EOFError("the language server has gone")
        message: dict[str, Any] = json.loads(self._in.read(length))
        if message.get("method") == "textDocument/publishDiagnostics":
            self._diagnostics[message["params"]["uri"]] = message["params"]["diagnostics"]
        elif "method" in message and "id" in message:
            wanted = message["params"].get("items", []) if message.get("params") else []
            self._send({"id": message["id"], "result": [None for _ in wanted] or None})
        return message


@contextmanager
def editor(command: list[str], folder: Path) -> Iterator[Editor]:
    """Start a server for a folder; it is told to shut down at the end."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        one = Editor(process.stdin, process.stdout)
        folders = [{"uri": folder.as_uri(), "name": folder.name}]
        one.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": folder.as_uri(),
                "workspaceFolders": folders,
                "capabilities": {"textDocument": {"hover": {"contentFormat": ["markdown"]}}},
            },
        )
        one.tell("initialized", {})
        yield one
        one.ask("shutdown", {})
        one.tell("exit", {})
