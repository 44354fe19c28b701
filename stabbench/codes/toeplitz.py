"""Operators of shift-and-add codes: encoders and reply maps in one and in two dimensions.

A reply map is laid along one line, where the tables, orders and kernels of a zigzag apply.
"""

import dataclasses
import math
from abc import abstractmethod
from typing import Any

import numpy as np
import scipy.sparse

from stabbench.arithmetic.kernels import checked, padded
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.shift_tables import ABSENT, Table, from_units, longest_shifts, to_units
from stabbench.arithmetic.zigzag import encode
from stabbench.arithmetic.zigzag2d import product_table
from stabbench.codes.operators import Operator
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
DENSE_LIMIT = 4096
"""Unknown samples up to which a reply map is formed as a dense matrix."""


@dataclasses.dataclass(frozen=True, eq=False)
class Line:
    """The unknown samples and the replies of a code along one line, for blocks of given lengths.

    Attributes
    ----------
    table : ndarray of int32, shape (n, k)
        Shifts along the line.
    length : int
        Positions of one block.
    grid : tuple of int
        (period, width): positions p with p % period < width hold unknowns.
    lengths : tuple of int
        Rows of a block, or rows and columns of a block product.
    chunk : int
        Rows (and columns) that move together; they become columns of the line.
    pitch : int
        Units in one row of replies laid end to end; 0 in one dimension.
    """

    table: Table
    length: int
    grid: tuple[int, int]
    lengths: tuple[int, ...]
    chunk: int
    pitch: int = 0

    @property
    def positions(self) -> Array:
        """Positions of a block that hold unknowns."""
        return np.flatnonzero(np.arange(self.length) % self.grid[0] < self.grid[1])

    @property
    def unknowns(self) -> int:
        """Unknown samples of all blocks, for one column."""
        return int(self.table.shape[1]) * len(self.positions)

    def samples(self, replies: Array) -> Array:
        """Replies (n, rows, columns) along the line: shape (n, positions, columns of the line)."""
        if not self.pitch:
            return replies if self.chunk == 1 else to_units(replies, self.chunk)
        n, c = len(replies), self.chunk
        whole = padded(replies, [0, *(-size % c for size in replies.shape[1:])])
        parts = whole.reshape(n, whole.shape[1] // c, c, whole.shape[2] // c, c)
        return np.ascontiguousarray(parts.swapaxes(2, 3)).reshape(n, -1, c * c)

    def blocks(self, found: Array) -> Array:
        """Blocks (..., k, L, columns) from decoded positions (..., k, length, line columns)."""
        if not self.pitch:
            return found if self.chunk == 1 else from_units(found, self.chunk, self.lengths[0])
        *outer, _, _ = found.shape
        c, width = self.chunk, self.grid[1]
        rows = -(-self.length // self.pitch)
        line = padded(found, [0] * len(outer) + [rows * self.pitch - self.length, 0])
        parts = line.reshape(*outer, rows, self.pitch, c, c)[..., :width, :, :]
        whole = parts.swapaxes(-3, -2).reshape(*outer, rows * c, width * c)
        return whole[..., : self.lengths[0], : self.lengths[1]]

    def places(self, worker: int, block: int) -> Array:
        """Positions in a worker's reply at which the unknowns of a block stand."""
        return np.asarray(self.positions + int(self.table[worker, block]))

    def matrix(self, limit: int = DENSE_LIMIT) -> Array:
        """Phi as a dense 0/1 matrix, shape (n * longest reply, unknowns), float64.

        Raises
        ------
        InputError
            If there are more than `limit` unknown samples.
        """
        if self.unknowns > limit:
            raise InputError(f"{self.unknowns} unknown samples of a reply map; allowed: {limit}")
        return np.asarray(self.sparse().toarray())

    def sparse(self) -> Any:
        """Phi as a scipy sparse matrix of zeros and ones, rows worker by worker."""
        n, k = self.table.shape
        longest, count = self.length + int(self.table.max()), len(self.positions)
        pairs = np.argwhere(self.table != ABSENT)
        rows = [i * longest + self.places(i, j) for i, j in pairs]
        columns = [j * count + np.arange(count) for _, j in pairs]
        place = np.concatenate(rows), np.concatenate(columns)
        shape = n * longest, k * count
        return scipy.sparse.csr_array((np.ones(len(place[0])), place), shape=shape)


class ShiftMap(Operator):
    """A reply map of shifts and additions."""

    chunk: int

    @abstractmethod
    def line(self, lengths: tuple[int, ...]) -> Line:
        """The map along one line, for blocks of the given rows (and columns)."""

    @abstractmethod
    def lengths(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Rows (and columns) of a data block, from the shape of the replies."""


@dataclasses.dataclass(frozen=True, eq=False)
class Toeplitz(ShiftMap):
    """Row p of coded block i is the sum over j of row p - c t[i,j] of data block j.

    Parameters
    ----------
    table : ndarray of int32, shape (n, k)
        Shifts t in units of a chunk; `ABSENT` where a worker does not hold a block.
    chunk : int
        Rows c per unit.

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> pair = Toeplitz(np.array([[0, 0], [0, 1]], np.int32))
    >>> blocks = np.array([[[1.0], [2.0]], [[10.0], [20.0]]])
    >>> pair.apply(blocks, precision("float64"))[..., 0].tolist()
    [[11.0, 22.0, 0.0], [1.0, 12.0, 20.0]]
    >>> pair.overhead(2).tolist()
    [1.0, 1.5]
    """

    table: Table
    chunk: int = 1

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of coded blocks."""
        return len(self.table)

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        """Number of data blocks."""
        return int(self.table.shape[1])

    def apply(self, blocks: Array, precision: Precision) -> Array:
        """Coded blocks (n, L + longest shift, ...), summed over j ascending, rounded to storage.

        Rows beyond a block's own longest shift are zero; they are neither stored nor sent.
        """
        dtype = precision.work_dtype(np.iscomplexobj(blocks))
        flat = blocks.reshape(*blocks.shape[:2], -1).astype(dtype, copy=False)
        coded = checked(encode(self._shifts, flat), dtype)
        coded = coded.reshape(*coded.shape[:2], *blocks.shape[2:])
        if precision.storage.holds(precision.work):
            return coded
        return checked(precision.store(coded), precision.storage_dtype(np.iscomplexobj(blocks)))

    @property
    def summands(self) -> int:
        """The most blocks that one worker holds."""
        return int((self.table != ABSENT).sum(axis=1).max())

    def overhead(self, length: int) -> Array:
        """Rows stored per coded block in units of a data block, 1 + c max_j t[i,j] / length."""
        return 1 + self.chunk * longest_shifts(self.table) / length

    def kept(self, shape: tuple[int, ...]) -> Array:
        """A block and the longest shift of each row; what is beyond is padding."""
        own = self.lengths(shape)[0] + self.chunk * longest_shifts(self.table)
        return np.asarray(own * math.prod(shape[2:]))

    def operations(self, blocks: Array, precision: Precision) -> Array:
        """An addition per number of every block that a worker holds, shape (rows,)."""
        parts = 2 if np.iscomplexobj(blocks) else 1
        return np.asarray((self.table != ABSENT).sum(axis=1) * blocks[0].size * parts)

    def line(self, lengths: tuple[int, ...]) -> Line:
        """The table itself, for blocks of ceil(L / c) units."""
        return Line(self.table, -(-lengths[0] // self.chunk), (1, 1), lengths, self.chunk)

    def lengths(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Rows of a data block, from the shape of coded blocks or replies."""
        return (shape[1] - int(self._shifts.max()),)

    def to_dense(self, length: int, limit: int = DENSE_LIMIT) -> Array:
        """The map of one column, shape (n * rows of the longest, k * L), see `Line.matrix`."""
        whole = Toeplitz(self._shifts)
        return whole.line((length,)).matrix(limit)

    @property
    def _shifts(self) -> Table:
        return np.asarray(np.where(self.table == ABSENT, ABSENT, self.table * self.chunk), np.int32)


@dataclasses.dataclass(frozen=True, eq=False)
class ToeplitzProduct(ShiftMap):
    """Worker i holds block product (a, b) at offset (c s[i,a], c t[i,b]).

    Parameters
    ----------
    left, right : Toeplitz
        The encoders of the two factors, of one chunk.
    """

    left: Toeplitz
    right: Toeplitz

    @property
    def chunk(self) -> int:  # type: ignore[override]
        """Rows and columns per unit."""
        return self.left.chunk

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of replies."""
        return self.left.rows

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        """Number of block products; (a, b) is number a * kB + b."""
        return self.left.unknowns * self.right.unknowns

    def apply(self, blocks: Array, precision: Precision) -> Array:
        """Replies (n, rows, columns) of exact block products (kA * kB, height, width)."""
        k_a, k_b = self.left.unknowns, self.right.unknowns
        dtype = precision.work_dtype(np.iscomplexobj(blocks))
        grid = blocks.reshape(k_a, k_b, *blocks.shape[1:]).astype(dtype, copy=False)
        shifts = self.left.table * self.chunk, self.right.table * self.chunk
        height, width = grid.shape[2:]
        shape = (self.rows, height + int(shifts[0].max()), width + int(shifts[1].max()))
        coded = np.zeros(shape, dtype=dtype)
        for i, a in np.argwhere(self.left.table != ABSENT):
            for b in np.flatnonzero(self.right.table[i] != ABSENT):
                top, side = shifts[0][i, a], shifts[1][i, b]
                coded[i, top : top + height, side : side + width] += grid[a, b]
        return checked(precision.store(coded), precision.storage_dtype(np.iscomplexobj(blocks)))

    def overhead(self, length: int) -> Array:
        """Rows of a reply in units of a block product's."""
        return self.left.overhead(length)

    def kept(self, shape: tuple[int, ...]) -> Array:
        """Rows times columns of each reply, as its two shares have them."""
        rows, columns = (
            part.kept((shape[0], size))
            for part, size in zip((self.left, self.right), shape[1:], strict=True)
        )
        return np.asarray(rows * columns)

    def line(self, lengths: tuple[int, ...]) -> Line:
        """Rows of the replies laid end to end, see `zigzag2d`."""
        height, width = (-(-length // self.chunk) for length in lengths)
        pitch = width + int(self.right.table.max())
        table = product_table(self.left.table, self.right.table, pitch)
        length = (height - 1) * pitch + width
        return Line(table, length, (pitch, width), lengths, self.chunk, pitch)

    def lengths(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Height and width of a block product, from the shape of the replies."""
        parts = (self.left, self.right)
        return tuple(
            size - self.chunk * int(part.table.max())
            for size, part in zip(shape[1:], parts, strict=True)
        )
