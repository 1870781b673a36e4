"""The terminal UI in a real browser: what `--serve` prints is opened, looked at and typed into."""

from __future__ import annotations

import asyncio
import re
import socket
import struct
from pathlib import Path

import pytest

from tests.running import Knobctl
from tests.tui.browsers import Serving, serving
from tests.tui.chromium import chromium

LISTENS = "0A"
"""A state of the kernel's table of sockets."""


def listening_on(process: int) -> set[str]:
    """The addresses on which a process takes connections."""
    files = " ".join(str(one.readlink()) for one in Path(f"/proc/{process}/fd").iterdir())
    own = set(re.findall(r"socket:\[(\d+)\]", files))
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and fields[9] in own:
                found.add(_address(fields[1].partition(":")[0]))
    return found


def _address(written: str) -> str:
    """An address as the kernel's table writes it: words of the machine's own order."""
    words = [int(written[at : at + 8], 16) for at in range(0, len(written), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    return socket.inet_ntop(socket.AF_INET if len(words) == 1 else socket.AF_INET6, packed)


@pytest.mark.timeout(600)  # where Chromium has to be installed first
def test_a_browser_shows_the_fleet_from_this_machine_alone_and_writes_nothing(
    knobctl: Knobctl,
) -> None:
    """The tenants stand on its screen; all that it fetches is from the address; arming is refused."""
    for name in ("acme", "bolt", "cork"):
        knobctl.write(f"t/{name}.yaml", f"tenant: {name}\nknobs: {{retrieval_min_score: 0.45}}\n")

    async def look(served: Serving) -> None:
        async with chromium() as page:
            await page.open(served.address)
            screen = await page.wait("acme", "bolt", "cork", "3 tenants")
            assert "  RO  " in screen.splitlines()[0]
            await page.click(300, 200)
            await page.type(":arm I want to\n")
            await page.wait("read-only: ")
            assert await page.drawn() > 20_000
            there = served.origin.removeprefix("http://")
            assert len(page.addresses) > 3
            assert {re.sub(r"^(http|ws)://([^/]*).*", r"\2", one) for one in page.addresses} == {
                there
            }

    with serving(knobctl.folder, "t", "--engine", "embedded:e.db") as served:
        assert listening_on(served.process.pid) == {"127.0.0.1"}
        asyncio.run(look(served))
