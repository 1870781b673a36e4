"""Files of vectors are read whole or refused with the line."""

from __future__ import annotations

import io
import json
import math
from typing import TYPE_CHECKING

import numpy as np
import pytest

from knobctl.errors import InputError
from knobctl.evidence.vectors_file import read_vectors

if TYPE_CHECKING:
    from pathlib import Path


def written(path: Path, *lines: object) -> Path:
    """A file of lines, JSON unless they are text."""
    text = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("".join(f"{line}\n" for line in text))
    return path


def test_json_lines_and_arrays_say_the_same(tmp_path: Path) -> None:
    """The same numbers, from doubles rounded to single precision; without ids the places name them in order."""
    numbers = [[0.1 * at, 1.0, -2.5e-3 * at] for at in range(12)]
    lines = read_vectors(written(tmp_path / "v.jsonl", *numbers, ""))
    np.save(tmp_path / "v.npy", np.array(numbers))
    array = read_vectors(tmp_path / "v.npy")
    assert lines.ids == array.ids == tuple(f"{at:02}" for at in range(1, 13))
    assert (lines.matrix() == array.matrix()).all()
    assert lines.digest == array.digest
    assert lines.matrix().dtype == np.float32


def test_ids_stand_and_their_order_does_not_matter_for_the_digest(tmp_path: Path) -> None:
    """Other numbers and other ids do."""
    one = {"id": "a", "vector": [1, 2]}
    other = {"id": "b", "vector": [3, 4]}
    digests = [
        read_vectors(written(tmp_path / f"{at}.jsonl", *lines)).digest
        for at, lines in enumerate(
            ([one, other], [other, one], [one, {"id": "b", "vector": [3, 5]}], [one, {"id": "c", "vector": [3, 4]}])
        )
    ]  # fmt: skip
    assert digests[0] == digests[1]
    assert len(set(digests)) == 3


def test_what_is_no_finite_number_is_read_and_not_hidden(tmp_path: Path) -> None:
    """NaN, the infinities, and what single precision cannot hold."""
    row = read_vectors(written(tmp_path / "v.jsonl", "[NaN, Infinity, -Infinity, 1e300]")).rows[0]
    assert math.isnan(row[0])
    assert [*row[1:]] == [math.inf, -math.inf, math.inf]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["[1, 2]", "{"], ":2 is no JSON"),
        (["[1, true]"], ":1 holds no list of numbers"),
        (['["1"]'], ":1 holds no list of numbers"),
        (["{}"], ":1 holds no list of numbers"),
        (["[" * 100_000], ":1 is no JSON"),
        (['{"id": 3, "vector": [1]}'], ":1: the id is no text"),
        (['{"id": "a", "vector": [1]}', '{"id": "a", "vector": [2]}'], ":2: a stands on line 1"),
        (['{"id": "a", "vector": [1]}', "[2]"], ":2: some vectors have an id"),
        (["[2]", '{"id": "a", "vector": [1]}'], ":2: some vectors have an id"),
        ([f"[{10**400}]"], ":1 holds a number that no vector can"),
        ([], "holds no vector"),
        ([""], "holds no vector"),
    ],
)
def test_a_line_that_is_no_vector_is_named(tmp_path: Path, lines: list[str], said: str) -> None:
    """Never a traceback, and never a vector less."""
    with pytest.raises(InputError) as caught:
        read_vectors(written(tmp_path / "v.jsonl", *lines))
    assert said in caught.value.message


def _npy(array: object) -> bytes:
    made = io.BytesIO()
    np.save(made, np.asanyarray(array), allow_pickle=True)
    return made.getvalue()


@pytest.mark.parametrize(
    "raw",
    [
        _npy([1.0, 2.0]),
        _npy([["a"]]),
        _npy(np.array([[{}]], dtype=object)),
        _npy([[1.0, 2.0]])[:-3],
        _npy([[1.0, 2.0]])[:20],
        _npy([[1.0, 2.0]]).replace(b"(1, 2)", b"(9" + b"9" * 11 + b", 2)"),
        _npy([[1.0, 2.0]]).replace(b"(1, 2)", b"(1, 2,"),
        b"\x93NUMPY\x09\x00",
    ],
    ids=["flat", "texts", "objects", "torn", "torn heading", "a lie about its size", "an open heading", "a version to come"],
)  # fmt: skip
def test_an_array_that_holds_no_vectors_is_refused(tmp_path: Path, raw: bytes) -> None:
    """Nothing is unpickled, and no memory asked for that the file does not fill."""
    (tmp_path / "v.npy").write_bytes(raw)
    with pytest.raises(InputError):
        read_vectors(tmp_path / "v.npy")


def test_a_vector_of_another_length_is_named(tmp_path: Path) -> None:
    """Where one length is needed."""
    found = read_vectors(written(tmp_path / "v.jsonl", [1, 2], [1, 2, 3]))
    with pytest.raises(InputError, match="the vector 2 has 3 dimensions, it must have 2"):
        found.matrix()
    with pytest.raises(InputError, match="has 0 dimensions"):
        read_vectors(written(tmp_path / "e.jsonl", [])).matrix()


def test_a_file_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    """A folder and a name that is not there."""
    for name in (".", "nothing.jsonl"):
        with pytest.raises(InputError):
            read_vectors(tmp_path / name)
