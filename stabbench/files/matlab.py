"""Variables of MATLAB files, versions 4 to 7.

SciPy 1.17 crashes the interpreter on damaged files of version 5 and later and returns wrong numbers
for VAX files of version 4, so both are read here, every index checked. Version 7.3: hdf5.py.
"""

import math
import struct
import zlib
from collections.abc import Iterator
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from stabbench.files.variables import Columns, Contents, Variable, as_class, joined

_Order = Literal["<", ">"]

_FULL_4, _TEXT_4, _SPARSE_4 = 0, 1, 2
_HEADER, _HEAD = 128, 2**16
_MATRIX, _COMPRESSED = 14, 15
_UINT8, _DOUBLE = 2, 9
_STORED: Final = {
    1: "i1", _UINT8: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", _DOUBLE: "f8", 12: "i8",
    13: "u8",
}  # fmt: skip
_NAMES: Final = (1, 16)
_SPARSE, _OPAQUE = 5, 17
_LOGICAL, _COMPLEX = 0x200, 0x800
_CLASSES: Final = {
    _SPARSE: "f8", 6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4",
    14: "i8", 15: "u8",
}  # fmt: skip
_OTHERS: Final = {
    1: "cell array", 2: "structure", 3: "MATLAB object", 4: "char array", 16: "function handle",
    _OPAQUE: "MATLAB object",
}  # fmt: skip
_STORED_4: Final = {0: "f8", 1: "f4", 2: "i4", 3: "i2", 4: "u2", 5: "u1"}
_KINDS_4: Final = (_FULL_4, _TEXT_4, _SPARSE_4)
_LAST_MODE = 4052


def contents(content: bytes, most: int) -> Contents:
    """List the variables of a MATLAB file; only those that are asked for are unpacked.

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
    >>> found = contents(stream.getvalue(), most=1000)
    >>> found.numeric["a"].shape, found.numeric["a"].read()
    ((1, 2), array([[1.5, 2. ]]))
    >>> found.others
    {'b': 'char array'}
    """
    if 0 in content[:4]:
        return _version_4(content)
    orders: dict[bytes, _Order] = {b"IM": "<", b"MI": ">"}
    order = orders.get(content[126:_HEADER])
    if order is None or struct.unpack(order + "H", content[124:126]) != (0x100,):
        raise ValueError("no header of MATLAB")
    found = Contents()
    for element in _elements(content, order, most):
        head = _Parts(element.body(_HEAD), order)
        flags = int(head.numbers()[0])
        kind = flags & 0xFF
        shape = () if kind == _OPAQUE else tuple(int(length) for length in head.numbers())
        name = head.name()
        if kind not in _CLASSES:
            found.others[name] = _OTHERS.get(kind, f"variable of class {kind}")
        elif len(shape) < 2 or min(shape) < 0:
            raise ValueError(f"shape {shape}")
        elif name:  # a nameless one holds the objects of MATLAB's own
            found.numeric[name] = _variable(element, head.position, flags, shape)
    return found


def _version_4(content: bytes) -> Contents:
    """List the variables of a file of version 4: records of one matrix each."""
    found, position = Contents(), 0
    while position < len(content):
        first = struct.unpack_from("<i", content, position)[0]
        order: _Order = "<" if 0 <= first <= _LAST_MODE else ">"
        mode, *shape, mixed, length = struct.unpack_from(order + "5i", content, position)
        machine, stored, kind = mode // 1000, mode // 10 % 100, mode % 10
        if machine != "<>".index(order) or stored not in _STORED_4 or kind not in _KINDS_4:
            raise ValueError(f"a matrix of mode {mode}, or of a VAX or Cray")
        dtype = np.dtype(_STORED_4[stored]).newbyteorder(order)
        start = position + 20 + length
        count = math.prod(shape)
        position = start + (2 if mixed else 1) * count * dtype.itemsize
        if min(*shape, length - 1) < 0 or position > len(content):
            raise ValueError(f"{len(content)} bytes for a matrix of shape {tuple(shape)}")
        name = content[start - length : start].rstrip(b"\0").decode("latin-1")
        parts = np.frombuffer(content[start:position], dtype)
        columns = parts.reshape(-1, *shape[::-1]).swapaxes(1, 2)
        if kind == _TEXT_4:
            found.others[name] = "char array"
        else:
            found.numeric[name] = (_full_4 if kind == _FULL_4 else _sparse_4)(columns)
    return found


def _full_4(parts: NDArray[Any]) -> Variable:
    """Return a matrix of which real and imaginary part are given."""
    imaginary = parts[1] if len(parts) > 1 else None
    return Variable(parts[0].shape, False, lambda: joined(parts[0], imaginary, parts.dtype))


def _sparse_4(parts: NDArray[Any]) -> Variable:
    """Return a matrix whose rows are row, column, value, and imaginary part; the last is sizes."""
    table = parts[0]
    if len(parts) > 1 or table.shape[0] == 0 or table.shape[1] not in (3, 4):
        raise ValueError(f"a sparse matrix of shape {table.shape}")
    places = as_class(table[:, :2], np.int64)
    shape = tuple(int(length) for length in places[-1])

    def read() -> NDArray[Any]:
        if places.min() < 1 or (places[:-1] > places[-1]).any():
            raise ValueError("places of a sparse matrix")
        imaginary = table[:-1, 3] if table.shape[1] > 3 else None
        values = joined(table[:-1, 2], imaginary, table.dtype)
        dense = np.zeros(shape, dtype=values.dtype)
        np.add.at(dense, (places[:-1, 0] - 1, places[:-1, 1] - 1), values)
        return dense

    return Variable(shape, True, read)


class _Element(NamedTuple):
    """A variable as it lies in the file, packed or not."""

    data: memoryview
    packed: bool
    order: _Order
    most: int

    def body(self, wanted: int) -> bytes | memoryview:
        """Return the first `wanted` bytes, unpacked; fewer where it has fewer."""
        if not self.packed:
            return self.data[:wanted]
        unpacking = zlib.decompressobj()
        kind, size = struct.unpack(self.order + "II", unpacking.decompress(self.data, 8))
        if kind != _MATRIX or not 0 < size <= self.most:
            raise ValueError(f"{size} bytes of type {kind} are packed")
        body = unpacking.decompress(unpacking.unconsumed_tail, min(size, wanted))
        if len(body) < min(size, wanted):
            raise ValueError(f"{len(body)} of {size} bytes of a packed variable")
        if size <= wanted:  # to its end, where the checksum is
            unpacking.decompress(unpacking.unconsumed_tail, 8)
            if not unpacking.eof:
                raise ValueError("a packed variable is cut, or longer than it says")
        return body


def _elements(content: bytes, order: _Order, most: int) -> Iterator[_Element]:
    """Yield every variable."""
    position, view = _HEADER, memoryview(content)
    while position < len(content):
        kind, size = struct.unpack_from(order + "II", content, position)
        position += 8
        data = view[position : position + size]
        if len(data) < size:
            raise ValueError(f"{len(data)} of {size} bytes of a variable")
        position += size
        if kind in (_MATRIX, _COMPRESSED):
            yield _Element(data, kind == _COMPRESSED, order, most)


class _Parts:
    """The data elements inside a variable, one after the other, from a position on."""

    def __init__(self, body: bytes | memoryview, order: _Order, position: int = 0) -> None:
        self._body, self._order, self.position = body, order, position

    def part(self) -> tuple[int, bytes | memoryview]:
        """Return type and bytes of the next element."""
        kind, size = struct.unpack_from(self._order + "II", self._body, self.position)
        start = self.position + 8
        self.position = start + -(-size // 8) * 8
        if kind >> 16:  # up to four bytes packed into the tag
            kind, size, start = kind & 0xFFFF, kind >> 16, start - 4
            self.position = start + 4
            if size > 4:
                raise ValueError(f"{size} bytes packed into four")
        data = self._body[start : start + size]
        if len(data) < size:
            raise ValueError(f"{len(data)} of {size} bytes of type {kind}")
        return kind, data

    def numbers(self) -> NDArray[Any]:
        """Return the next element as it is stored."""
        return self.decoded(*self.part())

    def decoded(self, kind: int, data: bytes | memoryview) -> NDArray[Any]:
        """Return bytes as numbers of a type."""
        if kind not in _STORED:
            raise ValueError(f"{len(data)} bytes of type {kind}")
        return np.frombuffer(data, np.dtype(_STORED[kind]).newbyteorder(self._order))

    def name(self) -> str:
        """Return the next element as a name."""
        kind, data = self.part()
        if kind not in _NAMES:
            raise ValueError(f"a name of type {kind}")
        return bytes(data).decode("utf-8")


def _variable(element: _Element, position: int, flags: int, shape: tuple[int, ...]) -> Variable:
    """Return the variable whose numbers begin at a position of the element."""
    sparse = flags & 0xFF == _SPARSE
    logical, mixed = bool(flags & _LOGICAL), bool(flags & _COMPLEX)
    kind = np.dtype(np.bool_ if logical else _CLASSES[flags & 0xFF])

    def read() -> NDArray[Any]:
        parts = _Parts(element.body(element.most), element.order, position)
        columns = Columns(parts.numbers(), parts.numbers()) if sparse else None
        stored, data = parts.part()
        if columns is not None and logical and len(data) in columns.counts and stored == _DOUBLE:
            stored = _UINT8  # so MATLAB writes them: tagged double, one byte each
        values = joined(parts.decoded(stored, data), parts.numbers() if mixed else None, kind)
        if columns is not None:
            return columns.dense(values, shape)
        if values.size != math.prod(shape):
            raise ValueError(f"{values.size} numbers for shape {shape}")
        return values.reshape(shape, order="F")

    return Variable(shape, sparse, read)
