"""`knobctl tui --serve` in a process of its own, and what a browser says to it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import aiohttp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_MAIN: Final = "from knobctl.cli.main import main; main()"
PATIENCE_S: Final = 60


@dataclass(frozen=True, slots=True)
class Serving:
    """A server that runs."""

    process: subprocess.Popen[str]
    address: str
    """With the key."""

    @property
    def origin(self) -> str:
        """Without it."""
        return self.address.partition("/?")[0]

    def next_address(self) -> str:
        """What it prints once a key was used."""
        assert self.process.stdout
        return self.process.stdout.readline().strip()

    def stop(self, number: signal.Signals) -> tuple[int, str]:
        """Send it a signal; gives its exit code and what it said."""
        self.process.send_signal(number)
        _, said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


@contextmanager
def serving(folder: Path, *arguments: str | Path, **variables: str) -> Iterator[Serving]:
    """Run it until the end of the block, with an empty home."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("KNOBCTL_")}
    home = {
        f"XDG_{kind}_HOME": str(folder.with_name("home") / kind.lower())
        for kind in ("DATA", "CONFIG", "STATE", "CACHE")
    }
    process = subprocess.Popen(
        [sys.executable, "-c", _MAIN, "tui", *map(str, arguments), "--serve"],
        cwd=folder,
        env={**kept, **home, "PYTHONPATH": str(Path(__file__).parents[2]), **variables},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        assert process.stderr
        address = process.stdout.readline().strip()
        assert address, process.stderr.read()
        yield Serving(process, address)
    finally:
        process.kill()
        process.communicate()


@asynccontextmanager
async def looking(serving: Serving) -> AsyncIterator[tuple[aiohttp.ClientSession, str]]:
    """Come in with the key, as a browser does; gives the browser and where it is."""
    jar = aiohttp.CookieJar(unsafe=True)  # of an address, not of a name
    async with (
        aiohttp.ClientSession(cookie_jar=jar) as browser,
        browser.get(serving.address) as page,
    ):
        assert page.status == 200, await page.text()
        yield browser, str(page.url)


async def shown(socket: aiohttp.ClientWebSocketResponse, text: str) -> str:
    """Read what the session draws until a text is there, colours and places taken out."""
    drawn = ""
    while text not in drawn:
        message = await socket.receive(timeout=PATIENCE_S)
        assert message.type is aiohttp.WSMsgType.BINARY, (message, drawn)
        drawn += re.sub(r"\x1b\[[0-9;?]*[a-zA-Z$]", "", message.data.decode())
    return drawn


def sessions(serving: Serving) -> list[int]:
    """The processes that serve one browser each."""
    children = Path(f"/proc/{serving.process.pid}/task/{serving.process.pid}/children")
    return [int(one) for one in children.read_text().split()]


def environment_of(process: int) -> dict[str, str]:
    """What a process was given."""
    pairs = Path(f"/proc/{process}/environ").read_bytes().decode().split("\0")
    return dict(pair.split("=", 1) for pair in pairs if pair)
