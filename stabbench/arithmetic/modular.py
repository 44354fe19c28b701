"""Ranks of many submatrices at once, modulo a prime: full rank there is full rank for certain."""

from typing import Any

import numba
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients

Array = np.ndarray[Any, np.dtype[Any]]
PRIME = 2147483629


def residues(matrix: Coefficients) -> Array:
    """A real rational matrix modulo 2147483629, int64.

    Raises
    ------
    ValueError
        If the matrix is not rational, or a denominator vanishes modulo the prime.

    Examples
    --------
    >>> residues(Coefficients.from_array(np.array([[0.5, -1.0]]))).tolist()
    [[1073741815, 2147483628]]
    """
    real, imaginary = matrix.rational()
    if imaginary is not None:
        raise ValueError("residues of a complex matrix")
    values = [int(x.p) * pow(int(x.q), -1, PRIME) % PRIME for x in real.entries()]
    return np.array(values, dtype=np.int64).reshape(matrix.shape)


def full_rank(matrix: Array, rows: Array) -> Array:
    """Whether the chosen rows have full column rank modulo the prime.

    Parameters
    ----------
    matrix : int64 array, shape (R, k)
        Residues.
    rows : int array, shape (P, r)

    Returns
    -------
    bool array, shape (P,); True is certain, False is wrong with a probability of about k / 2^31

    Examples
    --------
    >>> full_rank(np.array([[1, 0], [0, 1], [0, 2]]), np.array([[0, 1], [1, 2]]))
    array([ True, False])
    """
    chosen = np.ascontiguousarray(rows, dtype=np.int64)
    full: Array = _full_rank(np.ascontiguousarray(matrix), chosen)
    return full


@numba.njit(cache=True, nogil=True)
def _full_rank(matrix, rows):  # type: ignore[no-untyped-def]
    count, r = rows.shape
    k = matrix.shape[1]
    full = np.ones(count, dtype=np.bool_)
    for p in range(count):
        a = matrix[rows[p]].copy()
        for j in range(k):
            best = j
            while best < r and a[best, j] == 0:
                best += 1
            if best == r:
                full[p] = False
                break
            for c in range(k):
                a[j, c], a[best, c] = a[best, c], a[j, c]
            inverse = _power(a[j, j], PRIME - 2)
            for i in range(j + 1, r):
                if a[i, j]:
                    factor = a[i, j] * inverse % PRIME
                    for c in range(j, k):
                        a[i, c] = (a[i, c] - factor * a[j, c]) % PRIME
    return full


@numba.njit(cache=True, nogil=True)
def _power(base, exponent):  # type: ignore[no-untyped-def]
    result = 1
    while exponent:
        if exponent & 1:
            result = result * base % PRIME
        base = base * base % PRIME
        exponent >>= 1
    return result
