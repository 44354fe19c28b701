"""Shift-and-add codes: linear combinations become shifts and additions of row blocks."""

import dataclasses
import functools
import itertools
import math
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.peeling import undecodable
from stabbench.arithmetic.shift_tables import Table, shift_table
from stabbench.arithmetic.streams import stream
from stabbench.arithmetic.zigzag import plan
from stabbench.arithmetic.zigzag2d import factor_tables, product_table
from stabbench.codes.base import Code, System, data_blocks
from stabbench.codes.product import Layout, ProductSystem, grid_layout, pieces
from stabbench.codes.toeplitz import Toeplitz, ToeplitzProduct
from stabbench.errors import InputError
from stabbench.files import read_array

Array = np.ndarray[Any, np.dtype[Any]]
Design = Literal[
    "vandermonde", "reflected", "systematic", "systematic1", "systematic-reflected", "custom"
]
MOST_PATTERNS = 2000
"""Survivor sets on which a custom table is tried; beyond that number, a fixed sample."""


def table_file(words: str) -> Any:
    """The field of a file of shifts."""
    return dataclasses.field(default=None, metadata={"help": words})


@dataclasses.dataclass(frozen=True)
class ShiftAdd(Code):
    r"""Shift-and-add code: worker i adds the blocks, block j moved down by t[i,j] chunks.

    Any k of n replies are decoded by a zigzag, with subtractions alone. With q = L / c chunks per
    block, worker i stores max_j t[i,j] / q of a block more than it would of a plain one.

    Parameters
    ----------
    design : str
        The shifts :math:`t_{ij} = \sigma_i j - \min_j \sigma_i j`. ``vandermonde``: slopes 0..n-1;
        ``reflected``: -h..n-1-h, h = (n-1)//2. The others start with k plain blocks; the slopes of
        their m = n - k parities are 0..m-1 (``systematic``), 1..m (``systematic1``), or -h..m-1-h,
        h = (m-1)//2 (``systematic-reflected``). ``custom``: a table of the user's.
    chunk : int
        Rows c of the unit of a shift; for products columns of B too.
    table, tableB : str, optional
        File of the custom shifts, n rows, one column per block, -1 where a worker does not hold a
        block; `tableB` is that of B, for products.
    k : int, optional
        Number of data blocks, n - stragglers unless given.
    kA, kB : int, optional
        Pieces of A and B for products; absent, the most square factorisation of k.

    Raises
    ------
    InputError
        If the parameters contradict each other, or a custom table cannot be decoded for some
        survivor set; the message names the set and the two workers and two blocks at fault.

    Notes
    -----
    Sung and Gong, zigzag-decodable codes, 2013; ``systematic1`` has their storage overhead m(k-1).

    Examples
    --------
    >>> ShiftAdd(6, 2).shifts.tolist()[4:]
    [[0, 0, 0, 0], [0, 1, 2, 3]]
    >>> ShiftAdd(6, 2, chunk=8).system().encoders[0].overhead(64).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0, 1.375]
    """

    design: Design = dataclasses.field(default="systematic", metadata={"help": "family of shifts"})
    chunk: int = dataclasses.field(default=1, metadata={"help": "rows of the unit of a shift"})
    table: str | None = table_file("file of the shifts of design custom")
    tableB: str | None = table_file("file of the shifts of B, for products of design custom")
    k: int | None = data_blocks("n - stragglers, or the columns of the tables")
    kA: int | None = pieces("A")
    kB: int | None = pieces("B")

    name: ClassVar[str] = "shift-add"
    family: ClassVar[str] = "shift-add"
    source: ClassVar[str] = "Sung, Gong, ISIT 2013; Das, Ramamoorthy, Vaswani, arXiv:1907.08064"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "binary", "shift-add"})
    problems: ClassVar[tuple[str, ...]] = ("matvec", "matmul")

    @functools.cached_property
    def files(self) -> tuple[Array, ...]:
        """The custom tables, as read."""
        return tuple(
            read_array(file, what="table of shifts")[0]
            for file in map(self.file_of, ("table", "tableB"))
            if file is not None
        )

    @property
    def blocks(self) -> int:
        """Number of data blocks, or of block products."""
        if self.files:
            return math.prod(table.shape[1] for table in self.files)
        if self.k is None and self.kA is not None and self.kB is not None:
            return self.kA * self.kB
        return self.n - self.stragglers if self.k is None else self.k

    @property
    def threshold(self) -> int | None:
        """Replies that suffice, any k."""
        return self.blocks

    @functools.cached_property
    def layout(self) -> Layout:
        """The pieces (kA, 1, kB) of a product."""
        if len(self.files) == 2:
            return Layout(self.files[0].shape[1], 1, self.files[1].shape[1])
        return grid_layout(self.name, (self.kA, self.kB), self.blocks)

    def validate(self) -> None:
        """Raise InputError if parameters contradict each other or a custom table is no code."""
        self.require(chunk=1)
        custom = self.design == "custom"
        if custom != (self.table is not None) or (self.tableB is not None and not custom):
            raise InputError(
                f"{self.name}: design={self.design}, table={self.table}, tableB={self.tableB}; "
                "allowed are files with design=custom, which needs table"
            )
        if not 1 <= self.blocks <= self.n:
            raise InputError(f"{self.name}: k={self.blocks} of n={self.n}; allowed is 1 <= k <= n")
        pieces_given = self.layout.left * self.layout.right
        if pieces_given != self.blocks or self.k not in (None, self.blocks):
            raise InputError(
                f"{self.name}: k={self.k}, kA={self.layout.left}, kB={self.layout.right} of "
                f"{self.blocks} blocks; allowed is k = kA * kB"
            )
        if custom and self.blocks <= self.n - self.stragglers:
            self._check_tables()

    def _check_tables(self) -> None:
        sets = survivor_sets(self.n, self.blocks)
        if len(self.files) == 1:
            fault = undecodable(self.shifts, sets, 2 * int(self.shifts.max()) + 4)
        else:
            rows, columns = self.factor_shifts
            reach = 2 * max(int(rows.max()), int(columns.max())) + 4
            pitch = reach + int(columns.max())
            linear = product_table(rows, columns, pitch)
            peeling = plan(linear, sets, (reach - 1) * pitch + reach, grid=(pitch, reach))
            bad = np.flatnonzero(~peeling.ok)
            fault = peeling.uses[bad[0]] if bad.size else None
        if fault is not None:
            raise InputError(f"{self.table}: no zigzag decodes {fault}")

    @functools.cached_property
    def shifts(self) -> Table:
        """The shifts of a matrix-vector product, shape (n, k)."""
        if self.files:
            return shift_table("custom", self.n, self.files[0].shape[1], real(self.files[0]))
        return shift_table(self.design, self.n, self.blocks)

    @functools.cached_property
    def factor_shifts(self) -> tuple[Table, Table]:
        """The shifts of both factors of a product, shapes (n, kA) and (n, kB)."""
        k_a, _, k_b = self.layout
        if self.files:
            left, right = (
                shift_table("custom", self.n, count, real(table))
                for count, table in zip((k_a, k_b), self.files, strict=True)
            )
            return left, right
        return factor_tables(self.design, self.n, k_a, k_b)

    def refuses(self, problem: str) -> str:
        """Custom tables serve the product for which they are given."""
        wanted = 2 if problem == "matmul" else 1
        if self.files and len(self.files) != wanted:
            return f"design=custom needs {'table and tableB' if wanted == 2 else 'table alone'}"
        return super().refuses(problem)

    def system(self, problem: str = "matvec") -> System:
        """Shifts and additions of row blocks of A, and for products of column blocks of B."""
        owner = np.arange(self.n)
        if problem != "matmul":
            encoder = Toeplitz(self.shifts, self.chunk)
            return System((encoder,), encoder, owner)
        left, right = (Toeplitz(table, self.chunk) for table in self.factor_shifts)
        return ProductSystem(
            (left, right),
            ToeplitzProduct(left, right),
            owner,
            pairs=np.stack([owner, owner], axis=1),
            layout=self.layout,
            holders=(owner, owner),
        )


def real(table: Array) -> Array:
    """A table read from a file, which must not be complex."""
    if np.iscomplexobj(table):
        raise InputError("table of shifts: complex; allowed are integers")
    return table


def survivor_sets(n: int, k: int, most: int = MOST_PATTERNS) -> list[tuple[int, ...]]:
    """Sets of k of n workers: all where there are no more than `most`, else a fixed sample.

    Examples
    --------
    >>> survivor_sets(3, 2)
    [(0, 1), (0, 2), (1, 2)]
    """
    if math.comb(n, k) <= most:
        return list(itertools.combinations(range(n), k))
    random = stream("sets of a shift table", n, k)
    drawn = (np.sort(random.permutation(n)[:k]) for _ in range(most))
    return [tuple(range(k)), tuple(range(n - k, n)), *(tuple(map(int, row)) for row in drawn)]
