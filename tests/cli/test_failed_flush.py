"""A disk that does not take a flush: nothing is sent that is not noted, and a resume finishes it."""

from __future__ import annotations

import errno
import itertools
import os
from functools import partial

import pytest

from tests.cli.fleets import APPLY, event_tenants, fleet_of, folder_of, live_sets, runs
from tests.cli.inside import ENGINE, Inside
from tests.cli.killing import in_child


def flushing_until(number: int) -> None:
    """Let the flushes of this process fail from one on, counted from 1."""
    flush, flushes = os.fsync, itertools.count(1)

    def failing(handle: int) -> None:
        if next(flushes) >= number:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        flush(handle)

    pytest.MonkeyPatch().setattr(os, "fsync", failing)


def test_what_was_sent_was_on_the_disk_before(inside: Inside) -> None:
    """P10: whichever flush fails, what is written has its intent, and the words name the cause."""
    sets = fleet_of(inside, 6)
    codes = []
    for number in itertools.count(1):
        code, said = in_child((*APPLY, "--parallelism", "1"), partial(flushing_until, number))
        codes.append(code)
        if code == 0:
            break
        assert "Input/output error" in said
        written = live_sets(inside)
        noted = b"".join(path.read_bytes() for path in folder_of(inside).iterdir())
        assert all(f'"intent", "tenant": "{name}"'.encode() in noted for name in written)
        if runs(inside):
            result = inside("apply", "--resume", runs(inside)[0]["run"], *ENGINE)
            assert result.code == 0, result.err
            assert event_tenants(inside) == sorted(sets)
        else:
            assert (written, code) == ({}, 6)
        for path in (*folder_of(inside).iterdir(), *inside.folder.glob("e.db*")):
            path.unlink()
    assert codes[0] == 6
    assert set(codes[1:-1]) <= {6, 9}
    assert len(codes) >= 4
