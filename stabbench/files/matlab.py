"""Numeric variables of MATLAB files, versions 4 to 7.

SciPy 1.17 crashes the interpreter on damaged files of version 5 and later, so these are read here,
every index checked; the plain records of version 4 are left to SciPy. Other classes: not here.
"""

import io
import math
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

_Order = Literal["<", ">"]

_HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_SPARSE = 5
_LOGICAL, _COMPLEX = 0x200, 0x800
_STORED: Final = {
    1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8",
}  # fmt: skip
_CLASSES: Final = {
    5: "f8", 6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8",
    15: "u8",
}  # fmt: skip


@dataclass(frozen=True)
class Variable:
    """A numeric variable: its shape before it is read, and how to read it (sparse as dense)."""

    shape: tuple[int, ...]
    sparse: bool
    read: Callable[[], NDArray[Any]]


def numeric_variables(content: bytes, most: int) -> dict[str, Variable]:
    """Return the numeric variables of a MATLAB file by name.

    Parameters
    ----------
    content : bytes
        The file, of version 4, 5, 6 or 7.
    most : int
        Largest number of bytes of an unpacked variable.

    Raises
    ------
    ValueError, struct.error, zlib.error
        The file is damaged, or none of MATLAB.

    Notes
    -----
    Format: MathWorks, MAT-File Format, R2019b.

    Examples
    --------
    >>> import io, scipy.io
    >>> stream = io.BytesIO()
    >>> scipy.io.savemat(stream, {"a": [[1.5, 2.0]], "b": "word"})
    >>> found = numeric_variables(stream.getvalue(), most=1000)
    >>> {name: (variable.shape, variable.read().tolist()) for name, variable in found.items()}
    {'a': ((1, 2), [[1.5, 2.0]])}
    """
    if 0 in content[:4]:
        return _version_4(content)
    orders: dict[bytes, _Order] = {b"IM": "<", b"MI": ">"}
    order = orders.get(content[126:_HEADER])
    if order is None or struct.unpack(order + "H", content[124:126]) != (0x100,):
        raise ValueError("no header of MATLAB")
    found = {}
    for matrix in _matrices(content, order, most):
        parts = _Parts(matrix, order)
        flags = int(parts.numbers()[0])
        if flags & 0xFF not in _CLASSES:
            continue
        shape = tuple(int(length) for length in parts.numbers())
        if len(shape) < 2 or min(shape) < 0:
            raise ValueError(f"shape {shape}")
        name = parts.numbers().astype(np.uint8).tobytes().decode("ascii")
        if name:  # a nameless one holds the objects of MATLAB's own
            found[name] = _variable(parts, flags, shape)
    return found


def _version_4(content: bytes) -> dict[str, Variable]:
    """Return the numeric variables of a file of version 4."""
    from scipy.io import loadmat, whosmat

    def variable(name: str, shape: tuple[int, ...], sparse: bool) -> Variable:
        def read() -> NDArray[Any]:
            array = loadmat(io.BytesIO(content), variable_names=[name])[name]
            dense: NDArray[Any] = array.toarray() if sparse else array
            return dense

        return Variable(shape, sparse, read)

    listed = whosmat(io.BytesIO(content))
    return {
        name: variable(name, shape, kind == "sparse")
        for name, shape, kind in listed
        if kind != "char"
    }


def _matrices(content: bytes, order: _Order, most: int) -> Iterator[bytes]:
    """Yield the body of every variable, unpacked."""
    position = _HEADER
    while position < len(content):
        kind, size = struct.unpack_from(order + "II", content, position)
        position += 8
        body = content[position : position + size]
        if len(body) < size:
            raise ValueError(f"{len(body)} of {size} bytes of a variable")
        position += size
        if kind == _COMPRESSED:
            unpacking = zlib.decompressobj()
            body = unpacking.decompress(body, most)
            if not unpacking.eof:
                raise ValueError(f"packed variable cut or above {most} bytes")
            kind, size = struct.unpack_from(order + "II", body)
            body = body[8 : 8 + size]
        if kind == _MATRIX:
            yield body


class _Parts:
    """The data elements inside a variable, one after the other."""

    def __init__(self, body: bytes, order: _Order) -> None:
        self._body, self._order, self._position = body, order, 0

    def numbers(self) -> NDArray[Any]:
        """Return the next element as it is stored."""
        kind, size = struct.unpack_from(self._order + "II", self._body, self._position)
        start = self._position + 8
        self._position = start + -(-size // 8) * 8
        if kind >> 16:  # up to four bytes packed into the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, start - 4
            self._position = start + 4
        data = self._body[start : start + size]
        if kind not in _STORED or len(data) < size:
            raise ValueError(f"{len(data)} of {size} bytes of type {kind}")
        return np.frombuffer(data, np.dtype(_STORED[kind]).newbyteorder(self._order))


def _variable(parts: _Parts, flags: int, shape: tuple[int, ...]) -> Variable:
    """Return the variable whose numbers come next in `parts`."""
    sparse = flags & 0xFF == _SPARSE
    logical, mixed = bool(flags & _LOGICAL), bool(flags & _COMPLEX)
    places = (parts.numbers(), parts.numbers()) if sparse else None
    real = parts.numbers()
    imaginary = parts.numbers() if mixed else None
    # small numbers are packed as bytes: the class tells the type that MATLAB sees
    kind = np.dtype(np.bool_ if logical else _CLASSES[flags & 0xFF])

    def read() -> NDArray[Any]:
        values = real.astype(kind)
        if imaginary is not None:
            values = values.astype(np.result_type(kind, np.complex64))
            values.imag = imaginary
        if places is not None:
            return _dense(*places, values, shape)
        if values.size != math.prod(shape):
            raise ValueError(f"{values.size} numbers for shape {shape}")
        return values.reshape(shape, order="F")

    return Variable(shape, sparse, read)


def _dense(
    rows: NDArray[Any], starts: NDArray[Any], values: NDArray[Any], shape: tuple[int, ...]
) -> NDArray[Any]:
    """Fill a dense array from compressed columns."""
    counts = starts[1:].astype(np.int64) - starts[:-1].astype(np.int64)
    if counts.size != shape[1] or starts[0] != 0 or counts.min(initial=0) < 0:
        raise ValueError("columns of a sparse matrix")
    stored = int(starts[-1])
    places = rows[:stored].astype(np.int64)
    if min(places.size, values.size) < stored or places.min(initial=0) < 0:
        raise ValueError("rows of a sparse matrix")
    dense = np.zeros(shape, dtype=values.dtype)
    dense[places, np.repeat(np.arange(shape[1]), counts)] = values[:stored]
    return dense
