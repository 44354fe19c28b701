"""Sums and products of pairs, elementwise and of matrices, to about 100 bits in float64 alone."""

from typing import Any

import numpy as np

from stabbench.arithmetic.pairs import Pair

Array = np.ndarray[Any, np.dtype[Any]]
SPLITTER = 2.0**27 + 1


def two_sum(a: Array, b: Array) -> Pair:
    """The rounded sum of two real arrays and its error, exactly (Knuth).

    Examples
    --------
    >>> hi, lo = two_sum(np.array([1.0]), np.array([2.0**-60]))
    >>> float(hi[0]), float(lo[0]) == 2.0**-60
    (1.0, True)
    """
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def two_product(a: Array, b: Array) -> Pair:
    """The rounded product of two float64 arrays and its error, exactly (Dekker, Veltkamp).

    Not finite where a factor exceeds 2^996, not exact where the product falls below 2^-969.

    Examples
    --------
    >>> hi, lo = two_product(np.array([1 + 2.0**-30]), np.array([1 - 2.0**-30]))
    >>> float(hi[0]), float(lo[0]) == -(2.0**-60)
    (1.0, True)
    """
    product = a * b
    (a1, a2), (b1, b2) = _halves(a), _halves(b)
    return product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2


def plus(x: Pair, y: Pair) -> Pair:
    """The sum x + y, with an error of a few 2^-105 of |x| + |y|."""
    hi, rest = two_sum(x[0], y[0])
    return two_sum(hi, rest + (x[1] + y[1]))


def times(x: Pair, y: Pair) -> Pair:
    """The product x y, with an error of a few 2^-105 of it."""
    hi, rest = two_product(x[0], y[0])
    return two_sum(hi, rest + (x[0] * y[1] + x[1] * y[0]))


def minus(x: Pair) -> Pair:
    """The negative -x."""
    return -x[0], -x[1]


def matmul(A: Pair, B: Pair) -> Pair:
    """A B for stacks of real matrices with few inner indices, which are walked one by one.

    Parameters
    ----------
    A : Pair of float64 arrays, shape (..., r, m)
    B : Pair of float64 arrays, shape (..., m, k)

    Returns
    -------
    Pair, shape (..., r, k)
        With an error of about m 2^-104 of |A| |B|.

    Notes
    -----
    Dekker, A floating-point technique for extending the available precision, Numer. Math. 18
    (1971); Hida, Li, Bailey, Library for double-double and quad-double arithmetic (2007).

    Examples
    --------
    >>> one, tiny = np.array([[1.0, 2.0**-40]]), np.zeros((1, 2))
    >>> float(matmul((one, tiny), (one.T, tiny.T))[1][0, 0]) == 2.0**-80
    True
    """
    shape = np.broadcast_shapes(A[0].shape[:-2], B[0].shape[:-2])
    zero = np.zeros((*shape, A[0].shape[-2], B[0].shape[-1]))
    total = zero, zero
    for j in range(A[0].shape[-1]):
        column = A[0][..., :, j, None], A[1][..., :, j, None]
        row = B[0][..., j, None, :], B[1][..., j, None, :]
        total = plus(total, times(column, row))
    return total


def _halves(x: Array) -> Pair:
    wide = SPLITTER * x
    high = wide - (wide - x)
    return high, x - high
