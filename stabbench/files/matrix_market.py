"""Matrix Market files: array and coordinate, every field and symmetry, as dense arrays.

SciPy 1.17 crashes the interpreter on some damaged files, so the text is read here, line by line.
"""

import gzip
import io
import zlib
from array import array
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.files.delimited import real

_LAYOUTS: Final = ("array", "coordinate")
_WIDTHS: Final = {
    "real": 1, "double": 1, "complex": 2, "integer": 1, "unsigned-integer": 1, "pattern": 0,
}  # fmt: skip
_SYMMETRIES: Final = ("general", "symmetric", "skew-symmetric", "hermitian")

_Line = tuple[int, str]
_Places = tuple[NDArray[np.int64], NDArray[np.int64]]


@dataclass(frozen=True)
class Market:
    """A Matrix Market file of which the head is read.

    Attributes
    ----------
    where : str
        Begin of error messages.
    shape : tuple of int
        Rows and columns.
    layout, field, symmetry : str
        The words of the first line.
    stored : int
        Number of entries that the head declares.
    lines : iterator
        The lines that count after the head, each with its number in the file.
    """

    where: str
    shape: tuple[int, int]
    layout: str
    field: str
    symmetry: str
    stored: int
    lines: Iterator[_Line]

    def read(self) -> tuple[NDArray[Any], list[str]]:
        """Return the dense matrix, both triangles filled, and notes; to be called once.

        Entries that are repeated are added.
        """
        (rows, columns), values = self._entries()
        if self.layout == "array":
            rows, columns = self._places()
        if self.symmetry != "general":
            mirrored = rows != columns
            other = self._other(values, mirrored)
            values = np.concatenate([values, other])
            rows, columns = (
                np.concatenate([rows, columns[mirrored]]),
                np.concatenate([columns, rows[mirrored]]),
            )
        repeated = rows.size - np.unique(rows * self.shape[1] + columns).size
        if repeated and values.dtype.kind in "iu" and _largest(values) * values.size >= 2**63:
            raise InputError(
                f"{self.where}: repeated entries whose sums may exceed 64 bits; allowed are "
                "entries of one place each"
            )
        dense = np.zeros(self.shape, dtype=values.dtype)
        np.add.at(dense, (rows, columns), values)
        return dense, [f"{repeated} repeated entries: added"] if repeated else []

    def _other(self, values: NDArray[Any], mirrored: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the entries of the other triangle."""
        other = values[mirrored]
        diagonal = values[~mirrored]
        if self.symmetry == "hermitian":
            diagonal, other = diagonal.imag, other.conj()
        elif self.symmetry == "skew-symmetric":
            if values.dtype.kind in "iu" and _largest(other) >= 2**63:
                raise InputError(
                    f"{self.where}: integers beyond 64 bits; allowed are 64-bit integers"
                )
            other = -other
        if self.symmetry != "symmetric" and diagonal.any():
            zero = "real numbers" if self.symmetry == "hermitian" else "zeros"
            raise InputError(
                f"{self.where}: {self.symmetry} with others on the diagonal; allowed are {zero}"
            )
        return other

    def _entries(self) -> tuple[_Places, NDArray[Any]]:
        """Return row and column from 0, where the file tells them, and number of all lines."""
        skipped = 2 if self.layout == "coordinate" else 0
        width = _WIDTHS[self.field] + skipped
        whole = self.field.endswith("integer")
        places = array("q"), array("q")
        integers: list[int] = []
        reals = array("d")
        count = 0
        for count, (number, line) in enumerate(self.lines, start=1):
            words = line.split()
            if len(words) != width:
                raise InputError(
                    f"{self.where}: {len(words)} numbers in line {number}; allowed are {width}"
                )
            if count > self.stored:
                continue
            for axis in range(skipped):
                places[axis].append(self._index(number, words[axis], axis))
            for word in words[skipped:]:
                if whole:
                    integers.append(_integer(number, word, self.where))
                else:
                    reals.append(_real(number, word, self.where))
        if count != self.stored:
            raise InputError(
                f"{self.where}: truncated or damaged, {count} lines for {self.stored} "
                "entries; allowed are whole files"
            )
        rows, columns = (np.array(axis, dtype=np.int64) for axis in places)
        return (rows, columns), self._numbers(integers, reals)

    def _numbers(self, integers: list[int], reals: "array[float]") -> NDArray[Any]:
        """Return the numbers of the lines in the type of the field."""
        if self.field == "pattern":
            return np.ones(self.stored)
        if not self.field.endswith("integer"):
            floats = np.array(reals, dtype=np.float64)
            return floats.view(np.complex128) if self.field == "complex" else floats
        for kind in (np.int64, np.uint64):
            try:
                return np.array(integers, dtype=kind)
            except OverflowError:
                continue
        raise InputError(f"{self.where}: integers beyond 64 bits; allowed are 64-bit integers")

    def _places(self) -> _Places:
        """Return row and column, from 0, of the numbers of an array, which go down the columns."""
        if self.symmetry == "general":
            columns_of, rows_of = np.divmod(np.arange(self.stored), self.shape[0])
        else:
            skew = self.symmetry == "skew-symmetric"
            columns_of, rows_of = np.triu_indices(self.shape[0], k=1 if skew else 0)
        return rows_of, columns_of

    def _index(self, number: int, word: str, axis: int) -> int:
        """Convert a row or column, counted from 1 in the file."""
        index, most = _integer(number, word, self.where), self.shape[axis]
        if not 1 <= index <= most:
            raise InputError(f"{self.where}: line {number}: index {index}; allowed are 1 to {most}")
        return index - 1


def parse_market(content: bytes, where: str) -> Market:
    r"""Read the head of a Matrix Market file; the rest is read by `Market.read`.

    Parameters
    ----------
    content : bytes
        The file; lines end with LF, CRLF or CR.
    where : str
        Begin of every error message: what is read, and from where.

    Raises
    ------
    InputError
        No Matrix Market file, or a kind that does not exist.

    Notes
    -----
    Format: R. Boisvert, R. Pozo, K. Remington, The Matrix Market Exchange Formats, NISTIR 5935,
    1996. Exponents may be written as Fortran does, with D.

    Examples
    --------
    >>> head = b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n.5D0\n3\n"
    >>> parse_market(head, "data 'a.mtx'").read()[0]
    array([[1. , 0.5],
           [0.5, 3. ]])
    """
    stream = io.BytesIO(content.removeprefix(b"\xef\xbb\xbf"))
    text = io.TextIOWrapper(stream, encoding="latin-1", newline=None)
    words = text.readline().lower().split()
    if words[:2] not in (["%%matrixmarket", "matrix"], ["%matrixmarket", "matrix"]) or (
        len(words) != 5
    ):
        raise InputError(
            f"{where}: no .mtx file; allowed is a first line "
            "'%%MatrixMarket matrix LAYOUT FIELD SYMMETRY'"
        )
    _, _, layout, field, symmetry = words
    for word, known in ((layout, _LAYOUTS), (field, _WIDTHS), (symmetry, _SYMMETRIES)):
        if word not in known:
            raise InputError(f"{where}: {word!r} in line 1; allowed are {', '.join(known)}")
    if layout == "array" and field == "pattern":
        raise InputError(f"{where}: array of a pattern; allowed are patterns with coordinates")
    lines = (
        (number, line)
        for number, line in enumerate(text, start=2)
        if line.strip() and not line.lstrip().startswith("%")
    )
    count = 3 if layout == "coordinate" else 2
    number, line = next(lines, (2, ""))
    if len(line.split()) != count:
        raise InputError(f"{where}: no line of sizes; allowed are {count} numbers after line 1")
    sizes = [_integer(number, word, where) for word in line.split()]
    rows, columns = sizes[:2]
    if min(sizes) < 0 or (symmetry != "general" and rows != columns):
        raise InputError(f"{where}: {symmetry} of sizes {sizes}; allowed are matching sizes from 1")
    triangle = {"general": rows * columns, "skew-symmetric": rows * (rows - 1) // 2}
    stored = sizes[2] if layout == "coordinate" else triangle.get(symmetry, rows * (rows + 1) // 2)
    return Market(where, (rows, columns), layout, field, symmetry, stored, lines)


def unpacked(content: bytes, most: int, where: str) -> bytes:
    """Unpack a gzip file.

    Raises
    ------
    InputError
        It is damaged, or unpacks to more than `most` bytes.
    """
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            whole = stream.read(most + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(
            f"{where}: truncated or damaged gzip data; allowed are whole .mtx.gz files"
        ) from error
    if len(whole) > most:
        raise InputError(f"{where}: unpacked too large; allowed are at most {most} bytes")
    return whole


def _largest(values: NDArray[Any]) -> int:
    """Return the largest magnitude of integers, none of which is negated within 64 bits."""
    return max(int(values.max(initial=0)), -int(values.min(initial=0)))


def _integer(number: int, word: str, where: str) -> int:
    """Convert a word to an integer."""
    try:
        if "_" not in word and word.isascii():
            return int(word)
    except ValueError:
        pass
    raise InputError(f"{where}: line {number}: {word[:40]!r} is no integer; allowed are integers")


def _real(number: int, word: str, where: str) -> float:
    """Convert a word to a float."""
    value = real(word)
    if value is None:
        raise InputError(f"{where}: line {number}: {word[:40]!r} is no number; allowed are numbers")
    return value
