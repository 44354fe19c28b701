"""Matrix Market files: array and coordinate, every field and symmetry, as dense arrays.

SciPy 1.17 crashes the interpreter on some damaged files, so the text is read here. Unpacking of
.mtx.gz: arrays.py.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError

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
    shape : tuple of int
        Rows and columns.
    layout, field, symmetry : str
        The words of the first line.
    """

    where: str
    shape: tuple[int, int]
    layout: str
    field: str
    symmetry: str
    stored: int
    lines: list[_Line]

    def read(self) -> tuple[NDArray[Any], list[str]]:
        """Return the dense matrix, both triangles filled, and notes.

        Entries that are repeated are added.
        """
        if len(self.lines) != self.stored:
            raise InputError(
                f"{self.where}: truncated or damaged, {len(self.lines)} lines for {self.stored} "
                "entries; allowed are whole files"
            )
        width = _WIDTHS[self.field] + (2 if self.layout == "coordinate" else 0)
        for number, line in self.lines:
            count = len(line.split())
            if count != width:
                raise InputError(
                    f"{self.where}: {count} numbers in line {number}; allowed are {width}"
                )
        values = self._values()
        rows, columns = self._places()
        if self.symmetry != "general":
            mirrored = rows != columns
            other = values[mirrored]
            if self.symmetry == "skew-symmetric":
                other = -other
            elif self.symmetry == "hermitian":
                other = other.conj()
            values = np.concatenate([values, other])
            rows, columns = (
                np.concatenate([rows, columns[mirrored]]),
                np.concatenate([columns, rows[mirrored]]),
            )
        dense = np.zeros(self.shape, dtype=values.dtype)
        np.add.at(dense, (rows, columns), values)
        repeated = rows.size - np.unique(rows * self.shape[1] + columns).size
        return dense, [f"{repeated} repeated entries: added"] if repeated else []

    def _values(self) -> NDArray[Any]:
        """Return the numbers of all lines."""
        skipped = 2 if self.layout == "coordinate" else 0
        if self.field == "pattern":
            return np.ones(len(self.lines))
        if self.field.endswith("integer"):
            integers = [_integer(line, line[1].split()[skipped], self.where) for line in self.lines]
            for kind in (np.int64, np.uint64):
                try:
                    return np.array(integers, dtype=kind)
                except OverflowError:
                    continue
            raise InputError(f"{self.where}: integers beyond 64 bits; allowed are 64-bit integers")
        parts = [
            [_real(line, word, self.where) for word in line[1].split()[skipped:]]
            for line in self.lines
        ]
        floats = np.array(parts, dtype=np.float64).reshape(len(parts), _WIDTHS[self.field])
        return floats.view(np.complex128)[:, 0] if self.field == "complex" else floats[:, 0]

    def _places(self) -> _Places:
        """Return row and column, from 0, of all lines."""
        if self.layout == "coordinate":
            rows, columns = (
                [
                    _index(line, line[1].split()[axis], self.shape[axis], self.where)
                    for line in self.lines
                ]
                for axis in (0, 1)
            )
            return np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)
        if self.symmetry == "general":
            columns_of, rows_of = np.divmod(np.arange(self.stored), self.shape[0])
        else:
            skew = self.symmetry == "skew-symmetric"
            columns_of, rows_of = np.triu_indices(self.shape[0], k=1 if skew else 0)
        return rows_of, columns_of


def parse_market(content: bytes, where: str) -> Market:
    r"""Read the head of a Matrix Market file and divide the rest into lines.

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
    1996.

    Examples
    --------
    >>> head = b"%%MatrixMarket matrix array real symmetric\n2 2\n1\n.5\n3\n"
    >>> parse_market(head, "data 'a.mtx'").read()[0]
    array([[1. , 0.5],
           [0.5, 3. ]])
    """
    text = content.removeprefix(b"\xef\xbb\xbf").decode("latin-1")
    first, *rest = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    words = first.lower().split()
    if words[:2] != ["%%matrixmarket", "matrix"] or len(words) != 5:
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
    lines = [
        (number, line)
        for number, line in enumerate(rest, start=2)
        if line.strip() and not line.startswith("%")
    ]
    count = 3 if layout == "coordinate" else 2
    if not lines or len(lines[0][1].split()) != count:
        raise InputError(f"{where}: no line of sizes; allowed are {count} numbers after line 1")
    sizes = [_integer(lines[0], word, where) for word in lines[0][1].split()]
    rows, columns = sizes[:2]
    if min(sizes) < 0 or (symmetry != "general" and rows != columns):
        raise InputError(f"{where}: {symmetry} of sizes {sizes}; allowed are matching sizes from 1")
    triangle = {"general": rows * columns, "skew-symmetric": rows * (rows - 1) // 2}
    stored = sizes[2] if layout == "coordinate" else triangle.get(symmetry, rows * (rows + 1) // 2)
    return Market(where, (rows, columns), layout, field, symmetry, stored, lines[1:])


def _integer(line: _Line, word: str, where: str) -> int:
    """Convert a word to an integer."""
    try:
        if "_" not in word and word.isascii():
            return int(word)
    except ValueError:
        pass
    raise InputError(f"{where}: line {line[0]}: {word[:40]!r} is no integer; allowed are integers")


def _index(line: _Line, word: str, most: int, where: str) -> int:
    """Convert a row or column, counted from 1 in the file."""
    index = _integer(line, word, where)
    if not 1 <= index <= most:
        raise InputError(f"{where}: line {line[0]}: index {index}; allowed are 1 to {most}")
    return index - 1


def _real(line: _Line, word: str, where: str) -> float:
    """Convert a word to a float."""
    try:
        if "_" not in word and word.isascii():
            return float(word)
    except ValueError:
        pass
    raise InputError(f"{where}: line {line[0]}: {word[:40]!r} is no number; allowed are numbers")
