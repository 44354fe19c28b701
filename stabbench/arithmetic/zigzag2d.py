"""Zigzag of a matrix product: worker i holds block (a, b) of A B at offset (s[i,a], t[i,b]).

Rows of a product, laid end to end, make it one-dimensional: a block is then a run of positions with
gaps that are known to be zero, and the tables, orders and kernels of `zigzag` apply.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from stabbench.arithmetic.shift_tables import ABSENT, Array, Table, shift_table
from stabbench.arithmetic.zigzag import Peeling, encode, plan
from stabbench.errors import InputError


def factor_tables(design: str, n: int, k_a: int, k_b: int) -> tuple[Table, Table]:
    """Tables of the two factors: `shift_table` of each, with the same plain workers.

    Systematic designs start with kA * kB workers that hold A_a and B_b alone, a * kB + b ascending;
    both factors of a parity have the slope of the parity.

    Examples
    --------
    >>> rows, columns = factor_tables("systematic", 5, 2, 2)
    >>> rows.tolist(), columns.tolist()[:3]
    ([[0, -1], [0, -1], [-1, 0], [-1, 0], [0, 0]], [[0, -1], [-1, 0], [0, -1]])
    """
    k = k_a * k_b
    if k > n:
        raise InputError(f"kA*kB={k} block products for n={n} workers: allowed is kA*kB <= n")
    if not design.startswith("systematic"):
        return shift_table(design, n, k_a), shift_table(design, n, k_b)
    tables = []
    for count, block in ((k_a, np.arange(k) // k_b), (k_b, np.arange(k) % k_b)):
        plain = np.where(block[:, None] == np.arange(count), 0, ABSENT)
        tables.append(np.concatenate([plain, shift_table(design, n - k + count, count)[count:]]))
    return tables[0].astype(np.int32), tables[1].astype(np.int32)


def product_table(rows: Table, columns: Table, pitch: int) -> Table:
    """Shifts of the block products in the one-dimensional picture: s[i,a] * pitch + t[i,b].

    Parameters
    ----------
    rows : ndarray of int32, shape (n, kA)
    columns : ndarray of int32, shape (n, kB)
    pitch : int
        Columns of a reply, at least those of a block and its longest shift.

    Returns
    -------
    ndarray of int32, shape (n, kA * kB)
        Block (a, b) in column a * kB + b; absent where either factor is.

    Notes
    -----
    Two tables with slopes, t[i,j] = slope_i * j, give slope_i * (a * pitch + b): the
    increasing-difference property again, so the forward order goes along the rows.

    Examples
    --------
    >>> half = shift_table("vandermonde", 3, 2)
    >>> product_table(half, half, 10).tolist()
    [[0, 0, 0, 0], [0, 1, 10, 11], [0, 2, 20, 22]]
    """
    linear = rows.astype(np.int64)[:, :, None] * pitch + columns[:, None, :]
    present = (rows != ABSENT)[:, :, None] & (columns != ABSENT)[:, None, :]
    table = np.where(present, linear, ABSENT).reshape(len(rows), -1)
    if table.max(initial=0) >= 2**30:
        raise InputError(f"longest shift {table.max()} of a product: allowed is below 2**30")
    return np.asarray(table, np.int32)


def encode_factors(
    rows: Table, columns: Table, a: Array, b: Array, store: int = 0
) -> tuple[Array, Array]:
    """Shares of the factors: sum_a shift_rows(A_a, s[i,a]) and sum_b shift_cols(B_b, t[i,b]).

    Parameters
    ----------
    rows, columns : ndarray of int32, shapes (n, kA), (n, kB)
    a : ndarray, shape (kA, height, inner)
    b : ndarray, shape (kB, inner, width)
    store : int
        As `zigzag.encode`.

    Returns
    -------
    shares_a : ndarray, shape (n, height + longest shift, inner)
    shares_b : ndarray, shape (n, inner, width + longest shift)
        Their products are the replies of `Peeling2D.decode`.
    """
    shares_b = encode(columns, np.ascontiguousarray(b.swapaxes(1, 2)), store)
    return encode(rows, a, store), shares_b.swapaxes(1, 2)


@dataclass(frozen=True)
class Peeling2D:
    """The decoding of given survivor patterns of a product: see `plan2d`.

    Attributes
    ----------
    linear : zigzag.Peeling
        In the one-dimensional picture; block (a, b) is number a * kB + b.
    grid : tuple of int
        (kA, kB).
    block : tuple of int
        (height, width) of a block product.
    reply : tuple of int
        (rows, columns) of the replies.
    """

    linear: Peeling
    grid: tuple[int, int]
    block: tuple[int, int]
    reply: tuple[int, int]

    @property
    def ok(self) -> npt.NDArray[np.bool_]:
        """Which patterns can be decoded."""
        return self.linear.ok

    def decode(self, replies: Array, source: npt.ArrayLike | None = None, store: int = 0) -> Array:
        """Block products from replies.

        Parameters
        ----------
        replies : ndarray, shape (n, rows, columns) or (batch, n, rows, columns)
            One set for all patterns or one per pattern; read only.
        source, store
            As `zigzag.Peeling.decode`.

        Returns
        -------
        ndarray, shape (patterns, kA, kB, height, width), of the dtype of `replies`
        """
        if replies.shape[-2:] != self.reply:
            raise InputError(f"replies of shape {replies.shape[-2:]}: allowed is {self.reply}")
        flat = replies.reshape(*replies.shape[:-2], -1, 1)
        found = self.linear.decode(flat, source, store)
        height, width = self.block
        padded = np.zeros((*found.shape[:2], height * self.reply[1]), found.dtype)
        padded[..., : found.shape[2]] = found[..., 0]
        return padded.reshape(len(found), *self.grid, height, self.reply[1])[..., :width]


def plan2d(
    rows: Table,
    columns: Table,
    patterns: Iterable[Iterable[int]],
    block: tuple[int, int],
    order: str = "both-ends",
) -> Peeling2D:
    """The peeling of survivor patterns of a product; all that does not depend on the data.

    The orders are those of `zigzag.plan`, samples and positions taken row by row.

    Parameters
    ----------
    rows, columns : ndarray of int32, shapes (n, kA), (n, kB)
        Shifts of the row blocks of A and of the column blocks of B.
    patterns : iterable of survivor sets
    block : tuple of int
        (height, width) of a block product, in units of the shifts.
    order : str

    Examples
    --------
    >>> half = shift_table("vandermonde", 6, 2)
    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.integers(-9, 9, (2, 3, 4)), rng.integers(-9, 9, (2, 4, 5))
    >>> shares_a, shares_b = encode_factors(half, half, a, b)
    >>> found = plan2d(half, half, [(0, 2, 3, 5)], (3, 5)).decode(shares_a @ shares_b)
    >>> bool(np.all(found[0, 0, 1] == a[0] @ b[1]))
    True
    """
    height, width = block
    reply = (height + int(rows.max()), width + int(columns.max()))
    table = product_table(rows, columns, reply[1])
    length = (height - 1) * reply[1] + width
    linear = plan(table, patterns, length, order, (reply[1], width))
    return Peeling2D(linear, (rows.shape[1], columns.shape[1]), block, reply)
