"""A small code host on loopback that keeps the comments of pull requests, with GitHub's addresses."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

BOT = {"login": "github-actions[bot]", "type": "Bot"}
PERSON = {"login": "anna", "type": "User"}
TOKEN = "t0ken"
PAGE = 30
"""How many comments a page holds at most, whatever is asked: there is more than one."""


@dataclass
class CodeHost:
    """What the host holds, and what it lets happen."""

    url: str = ""
    comments: list[dict[str, Any]] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    refuses_with: int = 0
    """The status with which it refuses to write; 0 where it does not."""
    refusal: dict[str, str] = field(default_factory=dict)
    """The headers of such an answer."""
    loses: int | None = None
    """The comment that somebody deletes once it has been listed."""
    hangs_up: bool = False
    """Whether it ends the connection in place of an answer."""

    def say(self, body: str, user: dict[str, str]) -> dict[str, Any]:
        """Let somebody comment."""
        comment = {"id": 1000 + len(self.comments), "body": body, "user": user}
        self.comments.append(comment)
        return comment

    @property
    def own(self) -> list[dict[str, Any]]:
        """The comments that the bot wrote."""
        return [comment for comment in self.comments if comment["user"] == BOT]


class _Handler(BaseHTTPRequestHandler):
    host: CodeHost

    def log_message(self, *_: object) -> None:
        """Stay quiet."""

    def _answer(self, status: int, body: Any, **headers: str) -> None:
        raw = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(raw)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(raw)

    def _body(self) -> Any:
        return json.loads(self.rfile.read(int(self.headers["Content-Length"])))

    def _is_let_in(self) -> bool:
        self.host.calls.append(f"{self.command} {self.path}")
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, {"message": "Bad credentials"})
            return False
        writes = self.command != "GET" and not self.path.endswith("/graphql")
        if self.host.refuses_with and writes:
            words = {"message": "not accessible by integration"}
            self._answer(self.host.refuses_with, words, **self.host.refusal)
            return False
        if self.host.hangs_up:
            self.close_connection = True
            return False
        return True

    def do_GET(self) -> None:
        """List comments, a page at a time."""
        if not self._is_let_in():
            return
        place = urlsplit(self.path)
        if place.path != "/repos/search/knobs/issues/7/comments":
            self._answer(404, {})
            return
        page = int(parse_qs(place.query).get("page", ["1"])[0])
        first = (page - 1) * PAGE
        more = len(self.host.comments) > first + PAGE
        link = f'<{self.host.url}{place.path}?per_page=100&page={page + 1}>; rel="next"'
        self._answer(
            200, self.host.comments[first : first + PAGE], **({"Link": link} if more else {})
        )
        self.host.comments = [one for one in self.host.comments if one["id"] != self.host.loses]

    def do_POST(self) -> None:
        """Say who asks, or take a comment."""
        if not self._is_let_in():
            return
        body = self._body()
        if self.path == "/graphql":
            self._answer(200, {"data": {"viewer": {"login": BOT["login"]}}})
        elif self.path != "/repos/search/knobs/issues/7/comments" or len(body["body"]) > 65_536:
            self._answer(422, {})
        else:
            self._answer(201, self.host.say(body["body"], BOT))

    def do_PATCH(self) -> None:
        """Change a comment; as at GitHub anybody's, with a token that may write."""
        if not self._is_let_in():
            return
        body = self._body()["body"]
        comment = self._named()
        if comment is None:
            self._answer(404, {"message": "Not Found"})
            return
        comment["body"] = body
        self._answer(200, comment)

    def do_DELETE(self) -> None:
        """Take a comment away."""
        if not self._is_let_in():
            return
        comment = self._named()
        if comment is None:
            self._answer(404, {"message": "Not Found"})
            return
        self.host.comments.remove(comment)
        self.send_response(204)
        self.end_headers()

    def _named(self) -> dict[str, Any] | None:
        number = int(self.path.removeprefix("/repos/search/knobs/issues/comments/"))
        return next((one for one in self.host.comments if one["id"] == number), None)


@contextmanager
def code_host() -> Iterator[CodeHost]:
    """A host on a free port of loopback."""
    host = CodeHost()
    handler = type("Handler", (_Handler,), {"host": host})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        host.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield host
        finally:
            server.shutdown()
            thread.join()
