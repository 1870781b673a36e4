"""Files of vectors: JSON Lines, a vector a line, or NumPy's .npy with a row each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from hashlib import sha256
from tokenize import TokenError
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from knobctl.documents.sources import open_regular
from knobctl.errors import EngineError, InputError
from knobctl.text import count, visible

try:
    import numpy as np
except ImportError as error:
    raise EngineError("evidence needs numpy", hint="pip install 'knobctl[engine]'") from error

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

_NPY: Final = b"\x93NUMPY"
_MOST_LINE: Final = 8 << 20
"""Bytes of one line: more than any embedder's vector takes."""
_FORM: Final = 'a line is {"id": "...", "vector": [0.1, ...]} or a list of numbers'


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorsFile:
    """What stands in a file, in its order."""

    name: str
    """As it was named."""
    ids: tuple[str, ...]
    rows: tuple[NDArray[np.float32], ...]
    """Single precision, whatever the file holds."""

    @property
    def digest(self) -> str:
        """SHA-256 of ids and numbers, whatever their order; lower-case hex."""
        whole = sha256()
        for place in sorted(range(len(self.ids)), key=self.ids.__getitem__):
            whole.update(json.dumps([self.ids[place], len(self.rows[place])]).encode())
            whole.update(self.rows[place].tobytes())
        return whole.hexdigest()

    def matrix(self, dims: int | None = None) -> NDArray[np.float32]:
        """All of them as rows of one length.

        Args:
            dims: How long they must be; as long as the first one if None.

        Raises:
            InputError: Naming the first that is of another length.
        """
        wanted = len(self.rows[0]) if dims is None else dims
        for name, row in zip(self.ids, self.rows, strict=True):
            if len(row) != wanted or not wanted:
                raise InputError(
                    f"{visible(self.name)}: the vector {visible(name)} has {count(len(row), 'dimension')}, it must have {wanted:,}"
                )
        return np.stack(self.rows)


def read_vectors(path: Path) -> VectorsFile:
    """Read a file of vectors.

    In JSON Lines `NaN`, `Infinity` and `-Infinity` are read too: what was measured with them must be told.
    Without ids the vectors are named by their places, so that their order is that of the file.

    Raises:
        InputError: If it cannot be read, holds no vector, or a line is none: naming the line.
    """
    name = visible(str(path))
    try:
        with open_regular(str(path.expanduser())) as file:
            begins = file.read(len(_NPY))
            file.seek(0)
            ids, rows = _npy(file, name) if begins == _NPY else _lines(file, name)
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from error
    if not rows:
        raise InputError(f"{name} holds no vector", hint=_FORM)
    return VectorsFile(name=str(path), ids=tuple(ids), rows=tuple(rows))


def _npy(file: BinaryIO, name: str) -> tuple[Sequence[str], Sequence[NDArray[np.float32]]]:
    try:
        shape, kind = _npy_heading(file)
        size = file.seek(0, 2)
        file.seek(0)
        if len(shape) != 2 or kind.kind not in "fiu":
            raise InputError(
                f"{name} is an array of shape {shape} and type {kind}; vectors are rows of numbers"
            )
        if shape[0] * shape[1] * kind.itemsize > size:
            raise InputError(
                f"{name} is cut off: {size:,} bytes do not hold {shape[0]:,} rows of {shape[1]:,} numbers"
            )
        # Unpickling would run what the file says.
        found: NDArray[Any] = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, SyntaxError, TokenError) as error:
        raise InputError(f"{name} is no array that can be read: {visible(str(error))}") from error
    return _places(len(found)), [*_single(found)]


def _npy_heading(file: BinaryIO) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(file)
    read = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }.get(version)
    if read is None:
        raise ValueError(f"version {version} of the format")
    shape, _, kind = read(file)
    return shape, kind


def _places(number: int) -> list[str]:
    """Names whose order is that of the places."""
    width = len(str(number))
    return [f"{place:0{width}}" for place in range(1, number + 1)]


def _lines(file: BinaryIO, name: str) -> tuple[Sequence[str], Sequence[NDArray[np.float32]]]:
    names: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    for number, raw in _raw_lines(file, name):
        id_, row = _vector(raw, f"{name}:{number}")
        if rows and (id_ is not None) != bool(names):
            raise InputError(f"{name}:{number}: some vectors have an id and some have none")
        if id_ is not None and names.setdefault(id_, number) != number:
            raise InputError(
                f"{name}:{number}: {visible(id_)} stands on line {names[id_]:,} already"
            )
        rows.append(row)
    return [*names] or _places(len(rows)), rows


def _raw_lines(file: BinaryIO, name: str) -> Iterator[tuple[int, bytes]]:
    for number, raw in enumerate(iter(lambda: file.readline(_MOST_LINE), b""), start=1):
        if len(raw) == _MOST_LINE:
            raise InputError(f"{name}:{number} is longer than {_MOST_LINE >> 20} MiB", hint=_FORM)
        if raw.strip():
            yield number, raw


def _vector(raw: bytes, place: str) -> tuple[str | None, NDArray[np.float32]]:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{place} is no JSON", hint=_FORM) from error
    id_, values = (
        (record.get("id"), record.get("vector")) if isinstance(record, dict) else (None, record)
    )
    if id_ is not None and not isinstance(id_, str):
        raise InputError(f"{place}: the id is no text", hint=_FORM)
    # Truth values count as numbers in Python; in a vector they are a mistake.
    if not isinstance(values, list) or not {type(value) for value in values} <= {int, float}:
        raise InputError(f"{place} holds no list of numbers", hint=_FORM)
    try:
        return id_, _single(np.array(values, np.float64))
    except OverflowError as error:
        raise InputError(f"{place} holds a number that no vector can") from error


def _single(values: NDArray[Any]) -> NDArray[np.float32]:
    """In single precision; what is beyond it becomes an infinity, which measuring tells of."""
    with np.errstate(over="ignore", under="ignore"):
        return np.ascontiguousarray(values, dtype=np.float32)
