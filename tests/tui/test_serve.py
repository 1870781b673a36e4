"""The terminal UI in a browser: who comes in, what a session is given, how it ends."""

from __future__ import annotations

import asyncio
import signal
import socket
from pathlib import Path

import aiohttp
import pytest

from tests.running import Knobctl
from tests.tui.browsers import environment_of, looking, serving, sessions, shown
from tests.tui.terminal.driving import ended


@pytest.fixture
def fleet(knobctl: Knobctl) -> Path:
    """A folder with one tenant."""
    knobctl.write("t/acme.yaml", "tenant: acme\nknobs: {retrieval_min_score: 0.45}\n")
    return knobctl.folder


def test_one_browser_comes_in_with_the_address_and_sees_the_fleet(fleet: Path) -> None:
    """It is read-only, of secrets it is given none, and it ends in order when it is told to."""
    secrets = {"KNOBCTL_TOKEN": "tok-1", "GITHUB_TOKEN": "tok-2", "AWS_SECRET_ACCESS_KEY": "tok-3"}

    async def look() -> list[int]:
        async with (
            looking(served) as (browser, place),
            browser.ws_connect(f"{place}ws", origin=served.origin) as tty,
        ):
            await shown(tty, "acme")
            there = sessions(served)
            environment = environment_of(there[0])
            assert not set(secrets) & set(environment)
            assert not [value for value in environment.values() if value.startswith("tok-")]
            code, said = await asyncio.to_thread(served.stop, signal.SIGTERM)
            assert (code, said.splitlines()[1:]) == (
                0,
                ["note: there was no store e.db; an empty one was made"],
            )
            assert "writes nothing" in said
        return there

    with serving(fleet, "t", "--engine", "embedded:e.db", **secrets) as served:
        assert served.address.startswith("http://127.0.0.1:")
        there = asyncio.run(look())
    assert len(there) == 1
    assert ended(there[0])


def test_strangers_other_pages_and_other_names_are_refused(fleet: Path) -> None:
    """A key is good for one browser, once; a page of another origin and a rebound name get nothing."""

    async def status(
        browser: aiohttp.ClientSession, url: str, **headers: str
    ) -> tuple[int, str, str]:
        async with browser.get(url, headers=headers, allow_redirects=False) as answer:
            policy = answer.headers["Content-Security-Policy"]
            return answer.status, await answer.text(), policy

    async def look() -> None:
        async with looking(served) as (browser, place):
            page = await status(browser, place)
            assert page[0] == 200
            assert "https://" not in page[1]  # nothing is fetched from elsewhere
            assert "default-src 'none'" in page[2]
            assert (await status(browser, place, Origin="http://127.0.0.1:1"))[0] == 403
            assert (await status(browser, place, Host="evil.example"))[0] == 403
            for origin in ("http://127.0.0.1:1", None):
                with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                    await browser.ws_connect(f"{place}ws", origin=origin)
                assert caught.value.status == 403
        async with aiohttp.ClientSession() as stranger:
            used = await status(stranger, served.address)
            assert used[:2] == (
                403,
                "This key was used, or is none. knobctl printed a new address.\n",
            )
            for url in (served.origin, place, f"{place}ws", f"{place}static/js/textual.js"):
                assert (await status(stranger, url))[0] == 403, url
            assert (await status(stranger, served.next_address()))[0] == 303
        assert sessions(served) == []

    with serving(fleet, "t", "--engine", "embedded:e.db") as served:
        asyncio.run(look())
        assert served.stop(signal.SIGINT)[0] == 0


def test_a_session_whose_server_is_killed_ends(fleet: Path) -> None:
    """Nothing goes on that nobody can see."""

    async def look() -> int:
        async with (
            looking(served) as (browser, place),
            browser.ws_connect(f"{place}ws", origin=served.origin) as tty,
        ):
            await shown(tty, "acme")
            (there,) = sessions(served)
            served.process.kill()
        return there

    with serving(fleet, "t", "--engine", "embedded:e.db") as served:
        there = asyncio.run(look())
    assert ended(there)


def test_a_port_that_is_taken_is_said(knobctl: Knobctl) -> None:
    """It is the command line's fault, in words; and a port is of no use where nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        taken = knobctl("tui", ".", "--serve", "--port", str(port))
    assert taken.code == 2
    assert f"cannot listen on 127.0.0.1 port {port}: Address already in use" in taken.err
    assert "choose another --port" in taken.err
    alone = knobctl("tui", ".", "--port", "8000")
    assert (alone.code, "--port is for --serve" in alone.err) == (2, True)
