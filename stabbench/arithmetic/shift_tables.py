"""Shift tables of shift-and-add codes: the designs, their storage, the unit of a shift.

A table is an integer array. Which survivors can be decoded is in `peeling`, data in `zigzag`.
"""

from typing import Any

import numpy as np
import numpy.typing as npt

from stabbench.arithmetic.kernels import padded
from stabbench.errors import InputError

Table = npt.NDArray[np.int32]
Array = np.ndarray[Any, np.dtype[Any]]

DESIGNS = (
    "vandermonde",
    "reflected",
    "systematic",
    "systematic1",
    "systematic-reflected",
    "custom",
)
ABSENT = -1
"""Entry of a table for a data block that the worker does not hold."""


def shift_table(design: str, n: int, k: int, custom: npt.ArrayLike | None = None) -> Table:
    r"""Shifts :math:`t_{ij}`: coded block i adds data block j moved down by :math:`t_{ij}` units.

    With slopes :math:`\sigma_i` the rows are :math:`t_{ij} = \sigma_i j - \min_j \sigma_i j`.

    Parameters
    ----------
    design : str
        `vandermonde`: slopes 0..n-1. `reflected`: slopes -h..n-1-h, h = (n-1)//2. The others
        start with k plain blocks; their m = n-k parities have the slopes 0..m-1 (`systematic`),
        1..m (`systematic1`), -h..m-1-h with h = (m-1)//2 (`systematic-reflected`).
        `custom`: the table given.
    n, k : int
        Number of workers and of data blocks.
    custom : array_like of int, shape (n, k), optional
        The table of the design `custom`; `ABSENT` (-1) marks a block that a worker does not hold.

    Returns
    -------
    ndarray of int32, shape (n, k)
        Entries are at least 0, or `ABSENT`.

    Raises
    ------
    InputError
        For an unknown design, n < k, or a custom table of another shape, type or range.

    Notes
    -----
    `systematic1` has the storage overhead m(k-1) of the increasing-difference design of the
    zigzag-decodable codes of Sung and Gong (2013).

    Examples
    --------
    >>> shift_table("systematic", 4, 2).tolist()
    [[0, -1], [-1, 0], [0, 0], [0, 1]]
    >>> shift_table("reflected", 3, 3).tolist()
    [[2, 1, 0], [0, 0, 0], [0, 1, 2]]
    """
    if design not in DESIGNS:
        raise InputError(f"design {design!r}: allowed are {', '.join(DESIGNS)}")
    if not 1 <= k <= n:
        raise InputError(f"k={k} data blocks for n={n} workers: allowed is 1 <= k <= n")
    if design == "custom":
        return _checked(custom, n, k)
    if custom is not None:
        raise InputError(f"table given with design {design!r}: allowed only with custom")
    if design in ("vandermonde", "reflected"):
        return _sloped(n, k, first=-((n - 1) // 2) if design == "reflected" else 0)
    m = n - k
    first = {"systematic": 0, "systematic1": 1, "systematic-reflected": -(max(m - 1, 0) // 2)}
    plain = np.full((k, k), ABSENT, np.int32)
    np.fill_diagonal(plain, 0)
    return np.concatenate([plain, _sloped(m, k, first[design])])


def _sloped(rows: int, k: int, first: int) -> Table:
    table = np.outer(np.arange(first, first + rows), np.arange(k))
    return np.asarray(table - table.min(axis=1, keepdims=True), np.int32)


def _checked(custom: npt.ArrayLike | None, n: int, k: int) -> Table:
    if custom is None:
        raise InputError("design 'custom': needs a table of n x k integer shifts")
    table = np.asarray(custom)
    if table.shape != (n, k):
        raise InputError(f"custom table of shape {table.shape}: allowed is (n, k) = {(n, k)}")
    broken = np.argwhere(~np.isfinite(table) | (table != np.floor(table)))
    if broken.size:
        i, j = broken[0]
        raise InputError(
            f"custom table, worker {i}, block {j}: {table[i, j]}; allowed are integer shifts"
        )
    outside = (table < ABSENT) | (table >= 2**30)
    if np.any(outside):
        i, j = np.argwhere(outside)[0]
        raise InputError(
            f"custom table, worker {i}, block {j}: {table[i, j]}; allowed are shifts from 0 "
            f"to 2**30-1, and {ABSENT} for a block that the worker does not hold"
        )
    empty = np.flatnonzero(np.all(table == ABSENT, axis=1))
    if empty.size:
        raise InputError(f"custom table, worker {empty[0]}: holds no block; at least one is needed")
    return table.astype(np.int32)


def longest_shifts(table: Table) -> npt.NDArray[np.int64]:
    """Longest shift of each worker: its coded block has that many units more than a data block.

    Examples
    --------
    >>> longest_shifts(shift_table("vandermonde", 3, 3)).tolist()
    [0, 2, 4]
    """
    return np.asarray(np.max(table, axis=1), np.int64)


def to_units(blocks: Array, chunk: int) -> Array:
    """Blocks whose shift unit is a chunk of rows, as blocks whose unit is one row.

    The rows of a chunk move together, so they are columns of the unit: everything numerical
    depends on q = ceil(L/c) alone. Missing rows of the last chunk are zero.

    Parameters
    ----------
    blocks : ndarray, shape (..., L, columns)
    chunk : int
        Rows c per unit.

    Returns
    -------
    ndarray, shape (..., ceil(L/c), c * columns)

    Examples
    --------
    >>> to_units(np.arange(3).reshape(1, 3, 1), 2).tolist()
    [[[0, 1], [2, 0]]]
    """
    *outer, length, columns = blocks.shape
    units = -(-length // chunk)
    whole = padded(blocks, [0] * len(outer) + [units * chunk - length, 0])
    return whole.reshape(*outer, units, chunk * columns)


def from_units(blocks: Array, chunk: int, length: int) -> Array:
    """Inverse of `to_units`: blocks of `length` rows.

    Examples
    --------
    >>> from_units(np.array([[[0, 1], [2, 0]]]), 2, 3).ravel().tolist()
    [0, 1, 2]
    """
    *outer, units, wide = blocks.shape
    return blocks.reshape(*outer, units * chunk, wide // chunk)[..., :length, :]


def is_increasing(table: Table) -> bool:
    """Increasing-difference property of a table without absent entries, rows and columns in order.

    t[i',j'] - t[i',j] > t[i,j'] - t[i,j] for all i' > i, j' > j. Every square sub-table is then
    zigzag-decodable; the closed schedule of the forward order needs it.

    Examples
    --------
    >>> is_increasing(shift_table("reflected", 6, 4)), is_increasing(np.array([[0, 1], [1, 2]]))
    (True, False)
    """
    if np.any(table == ABSENT):
        return False
    return bool(np.all(np.diff(np.diff(table.astype(np.int64), axis=1), axis=0) > 0))
