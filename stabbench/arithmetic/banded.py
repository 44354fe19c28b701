"""Least squares with a sparse matrix of narrow band: QR window by window, in the given precision.

Only the triangle is kept; the right-hand sides are transformed along with the matrix.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from stabbench.arithmetic import operations
from stabbench.arithmetic.kernels import checked

Array = np.ndarray[Any, np.dtype[Any]]
LEAST_WINDOW = 32


@dataclass(frozen=True)
class Triangle:
    """The upper triangular factor R of a matrix of narrow band.

    Attributes
    ----------
    windows : tuple of (int, array)
        First row and column of each window, and its rows of R: square part, then what is right.
    size : int
        Number of columns.
    """

    windows: tuple[tuple[int, Array], ...]
    size: int

    def solve(self, right: Array) -> Array:
        """R^-1 times columns; NaN where a diagonal entry is exactly zero."""
        x = np.zeros_like(right)
        for start, rows in reversed(self.windows):
            stop, end = start + len(rows), start + rows.shape[1]
            with np.errstate(all="ignore"):
                rest = right[start:stop] - rows[:, len(rows) :] @ x[stop:end]
            x[start:stop] = _substitute(rows[:, : len(rows)], rest, transposed=False)
        return checked(x, right.dtype)

    def solve_transposed(self, right: Array) -> Array:
        """R^-T times columns."""
        z = right.copy()
        for start, rows in self.windows:
            stop, end = start + len(rows), start + rows.shape[1]
            z[start:stop] = _substitute(rows[:, : len(rows)], z[start:stop], transposed=True)
            with np.errstate(all="ignore"):
                z[stop:end] -= rows[:, len(rows) :].T @ z[start:stop]
        return checked(z, right.dtype)


def triangularize(matrix: Any, right: Array) -> tuple[Triangle, Array]:
    """R and the first rows of Q^T b, by Householder QR (LAPACK geqrf) of overlapping windows.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, rows x columns
        Of full column rank; no row is empty.
    right : array, shape (rows, m)
        Float32 or float64; the arithmetic is of this type and no wider.

    Returns
    -------
    triangle : Triangle
    transformed : array, shape (columns, m)
        `triangle.solve` of it is the least-squares solution.

    Examples
    --------
    >>> import scipy.sparse
    >>> matrix = scipy.sparse.csr_array(np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]))
    >>> triangle, transformed = triangularize(matrix, np.array([[1.0], [3.0], [2.0]]))
    >>> triangle.solve(transformed).ravel().round(12).tolist()
    [1.0, 2.0]
    """
    order, first, band = shape_of(matrix)
    size = matrix.shape[1]
    ordered, b = matrix[order], right[order]
    columns = ordered.astype(right.dtype).tocsc()
    carry = np.zeros((0, min(band, size)), right.dtype)
    carried = np.zeros((0, right.shape[1]), right.dtype)
    windows, transformed = [], np.zeros((size, right.shape[1]), right.dtype)
    for start, stop, end, mine in windows_of(size, first, band):
        top = np.zeros((len(carry), end - start), right.dtype)
        top[:, : carry.shape[1]] = carry
        fresh = columns[mine, start:end].toarray()
        window = np.vstack([top, fresh])
        augmented = np.hstack([window, np.vstack([carried, b[mine]])])
        (reduced,) = scipy.linalg.qr(augmented, overwrite_a=True, mode="r", check_finite=False)
        reduced = checked(reduced, right.dtype)[: end - start]
        count = stop - start
        windows.append((start, reduced[:count, : end - start].copy()))
        transformed[start:stop] = reduced[:count, end - start :]
        carry = reduced[count:, count : end - start].copy()
        carried = reduced[count:, end - start :].copy()
    return Triangle(tuple(windows), size), transformed


def windows_of(size: int, first: Array, band: int) -> Iterator[tuple[int, int, int, slice]]:
    """Windows: first column, end of the columns that are finished, end of all, and the rows.

    Parameters
    ----------
    size : int
        Columns of the matrix.
    first, band
        As `shape_of` returns them.
    """
    step = min(size, max(LEAST_WINDOW, band // 2))
    for start in range(0, size, step):
        stop, end = min(start + step, size), min(start + step + band, size)
        yield start, stop, end, slice(*np.searchsorted(first, [start, stop]))


def operations_of(matrix: Any, columns: int) -> float:
    """Operations of `triangularize` and of `Triangle.solve` for a number of right-hand sides.

    Householder QR of every window beside its right-hand sides, to leading order; then a product
    with what is right of its square part and the substitution of that part.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array, rows x columns
    columns : int
    """
    _, first, band = shape_of(matrix)
    total, carried = 0.0, 0
    for start, stop, end, mine in windows_of(matrix.shape[1], first, band):
        rows, wide, count = carried + mine.stop - mine.start, end - start, stop - start
        total += operations.triangle(rows, wide + columns)
        total += operations.product(count, end - stop, columns) + count * count * columns
        carried = min(rows, wide) - count
    return total


def shape_of(matrix: Any) -> tuple[Array, Array, int]:
    """Rows by first column, those first columns in order, and the band: columns in a row's reach.

    Parameters
    ----------
    matrix : scipy.sparse.csr_array without empty rows
    """
    first = np.minimum.reduceat(matrix.indices, matrix.indptr[:-1])
    last = np.maximum.reduceat(matrix.indices, matrix.indptr[:-1])
    order = np.argsort(first, kind="stable")
    return order, first[order], int((last - first).max()) + 1


def _substitute(triangle: Array, right: Array, *, transposed: bool) -> Array:
    (trtrs,) = scipy.linalg.get_lapack_funcs(("trtrs",), (triangle,))
    x, info = trtrs(triangle, right, trans=1 if transposed else 0)
    if info:
        return np.full_like(right, np.nan)
    return checked(x, right.dtype)
