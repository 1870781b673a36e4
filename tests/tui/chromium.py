"""A real browser, driven as its own tools for developers drive it: Chromium without a window."""

from __future__ import annotations

import asyncio
import base64
import json
import subprocess
import tempfile
import time
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from tests.tui.browsers import PATIENCE_S
from tests.tui.terminal.installing import require_chromium

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_LOOK_S: Final = 0.05
_FLAGS: Final = (
    "--headless",
    "--no-sandbox",  # it will not start as root with one, and opens nothing but our own page
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--remote-debugging-port=0",
)
_SCREEN: Final = """function () {
  for (const one of this) {
    try {
      if (one.buffer && one.buffer.active && one.rows && typeof one.loadAddon === "function") {
        const lines = [];
        for (let row = 0; row < one.rows; row++) {
          const line = one.buffer.active.getLine(row);
          lines.push(line ? line.translateToString(true) : "");
        }
        return lines.join("\\n");
      }
    } catch { }  // some objects of a page let nobody look at them
  }
  return "";
}"""
"""Of all objects of a page, find its terminal, and read what stands on its screen."""


class Page:
    """One page, with all that it asked for since it was opened."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._asked = 0
        self.addresses: list[str] = []
        """Of whatever it fetched or opened."""

    async def open(self, address: str) -> None:
        """Go to an address."""
        for domain in ("Page", "Runtime", "Network"):
            await self._ask(f"{domain}.enable")
        found = await self._ask("Page.navigate", url=address)
        assert "errorText" not in found, found

    async def screen(self) -> str:
        """What the terminal of the page shows; empty while there is none."""
        # The script of the page keeps its terminal to itself: every object is looked at.
        every = await self._ask("Runtime.evaluate", expression="Object.prototype")
        objects = await self._ask(
            "Runtime.queryObjects", prototypeObjectId=every["result"]["objectId"]
        )
        read = await self._ask(
            "Runtime.callFunctionOn",
            objectId=objects["objects"]["objectId"],
            functionDeclaration=_SCREEN,
            returnByValue=True,
        )
        return str(read["result"].get("value", ""))

    async def wait(self, *texts: str) -> str:
        """Look until all texts are on the screen; gives the screen."""
        end = time.monotonic() + PATIENCE_S
        while True:
            screen = await self.screen()
            if all(text in screen for text in texts):
                return screen
            assert time.monotonic() < end, f"{texts} did not come:\n{screen}"
            await asyncio.sleep(_LOOK_S)

    async def click(self, x: int, y: int) -> None:
        """Press and release the mouse at a place."""
        for kind in ("mousePressed", "mouseReleased"):
            await self._ask(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def type(self, text: str) -> None:
        """Type a text into what has the keys, one by one; a line's end is Enter."""
        for letter in text:
            if letter == "\n":
                key: dict[str, Any] = {"key": "Enter", "text": "\r", "windowsVirtualKeyCode": 13}
            else:
                key = {"key": letter, "text": letter}
            await self._ask("Input.dispatchKeyEvent", type="keyDown", **key)
            await self._ask("Input.dispatchKeyEvent", type="keyUp", **key)

    async def drawn(self) -> int:
        """How much there is to see: the bytes of a picture of it. A blank page takes some three thousand."""
        picture = await self._ask("Page.captureScreenshot", format="png")
        return len(base64.b64decode(picture["data"]))

    async def _ask(self, method: str, **parameters: object) -> dict[str, Any]:
        self._asked += 1
        await self._socket.send_json({"id": self._asked, "method": method, "params": parameters})
        while True:
            said = json.loads((await self._socket.receive(timeout=PATIENCE_S)).data)
            if said.get("id") == self._asked:
                assert "result" in said, said
                result: dict[str, Any] = said["result"]
                return result
            self._note(said)

    def _note(self, event: dict[str, Any]) -> None:
        told = event.get("params", {})
        if event.get("method") == "Network.requestWillBeSent":
            self.addresses.append(told["request"]["url"])
        elif event.get("method") == "Network.webSocketCreated":
            self.addresses.append(told["url"])


@asynccontextmanager
async def chromium() -> AsyncIterator[Page]:
    """Open a browser that nobody has used, with one blank page; it is gone at the end of the block."""
    require_chromium()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            ["chromium", *_FLAGS, f"--user-data-dir={profile}", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            port = await _port(process, Path(profile) / "DevToolsActivePort")
            async with (
                aiohttp.ClientSession() as tools,
                tools.get(f"http://127.0.0.1:{port}/json/list") as listed,
            ):
                pages = [one for one in await listed.json() if one["type"] == "page"]
                address = pages[0]["webSocketDebuggerUrl"]
                async with tools.ws_connect(address, max_msg_size=0) as socket:
                    yield Page(socket)
        finally:
            process.terminate()
            process.wait(PATIENCE_S)


async def _port(process: subprocess.Popen[bytes], told: Path) -> int:
    """Wait until it says where its tools listen."""
    end = time.monotonic() + PATIENCE_S
    while not told.is_file() or "\n" not in told.read_text():
        assert process.poll() is None, f"chromium ended with {process.returncode}"
        assert time.monotonic() < end, "chromium does not start"
        await asyncio.sleep(_LOOK_S)
    return int(told.read_text().partition("\n")[0])
