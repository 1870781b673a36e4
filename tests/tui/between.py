"""What stands between the terminal UI and a served engine: it holds calls back, cuts them, and changes answers."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from knobctl.knobs import load_catalogue
from knobctl.server.auth import Caller
from knobctl.server.knobs import open_service
from tests.engine.cutting import CuttingProxy
from tests.server.doors import served

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.tui.desks import Desk


class Between(CuttingProxy):
    """Passes calls on; the writes among them when it is told to."""

    def __init__(self, upstream: str) -> None:
        super().__init__(upstream)
        self.reached = threading.Event()
        """Set when a write came in."""
        self.let_go = threading.Event()
        """Until it is set, a write waits before it is passed on."""
        self.let_go.set()
        self.changed: Callable[[dict[str, Any]], None] | None = None
        """Changes the events of the audit log as they pass."""

    def arrived(self, path: str) -> None:
        """Hold a write back."""
        if "Update" in path:
            self.reached.set()
            assert self.let_go.wait(60)

    def answered(self, path: str, body: bytes) -> bytes:
        """Change what the audit log says."""
        if self.changed is None or "ListConfigAuditEvents" not in path:
            return body
        answer = json.loads(body)
        for event in answer.get("events", []):
            self.changed(event)
        return json.dumps(answer).encode()


@contextmanager
def engine_behind(
    desk: Desk, *, kind: type[Between] = Between
) -> Iterator[tuple[Between, dict[str, Any]]]:
    """Serve the engine of a desk; gives what stands before it, and the options that lead there."""
    store = desk.folder / "engine.db"
    service = open_service(f"embedded:{store}", load_catalogue(), clock=lambda: datetime.now(UTC))
    token = service.new_token(Caller(subject="anna", clearance=4, tenants=None))
    file = desk.write("../home/token", token)
    file.chmod(0o600)
    with served(service) as address, kind(address) as between:
        yield between, {"engine": between.url, "token_file": file}
    service.close()
