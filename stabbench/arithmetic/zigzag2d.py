"""Zigzag of a matrix product: worker i holds block (a, b) of A B at offset (s[i,a], t[i,b]).

Rows of a product, laid end to end, make it one-dimensional: a block is then a run of positions with
gaps that are known to be zero, and the tables, orders and kernels of `zigzag` apply.
"""

import numpy as np

from stabbench.arithmetic.shift_tables import ABSENT, Table, shift_table
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
