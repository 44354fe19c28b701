"""Real floating-point operations of the kernels, counted from their loops.

An addition, subtraction, multiplication, division or square root is one operation; a product counts
as many additions as multiplications. Absolute values, comparisons and copies are none. Complex
arithmetic counts four times as much: 6 + 2 operations of a complex multiplication and addition
against 1 + 1 (Blackford and Dongarra, LAPACK Working Note 41).
"""

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
COMPLEX = 4
"""Real operations of a complex one, on average over a multiplication and an addition."""


def factor(is_complex: bool) -> int:
    """Real operations that one operation of this arithmetic counts."""
    return COMPLEX if is_complex else 1


def product(rows: Any, inner: Any, columns: Any, is_complex: bool = False) -> Any:
    """2 rows inner columns: a multiplication and an addition per term.

    Examples
    --------
    >>> product(2, 3, 4), product(2, 3, 4, is_complex=True)
    (48, 192)
    """
    return 2 * rows * inner * columns * factor(is_complex)


def lu(k: int) -> float:
    """Elimination of a k x k matrix: sum over j < k of j quotients and j^2 multiply-additions.

    Examples
    --------
    >>> lu(2), lu(3)
    (3.0, 13.0)
    """
    return k * (k - 1) / 2 + k * (k - 1) * (2 * k - 1) / 3


def solve(rows: int, k: int, columns: int) -> float:
    """`lu`, then k (k - 1) operations forward and k^2 backward per column.

    Examples
    --------
    >>> solve(2, 2, 1)
    9.0
    """
    return lu(k) + (2 * k * k - k) * columns


def invert_and_multiply(rows: int, k: int, columns: int) -> float:
    """`solve` with the k columns of the identity, then a product with the replies."""
    return solve(k, k, k) + float(product(k, k, columns))


def refine(rows: int, k: int, columns: int, steps: int) -> float:
    """`solve`; a step is a residual, another `solve` and a correction."""
    once = solve(k, k, columns)
    return once + steps * (float(product(k, k, columns)) + 2 * k * columns + once)


def least_squares(rows: int, k: int, columns: int) -> float:
    """Householder QR of rows x k, its reflections of the right-hand sides, back substitution.

    With p rows left in step j, making the vector takes 6 p + 3 operations and each of the
    k - 1 - j + columns others 4 p - 2; back substitution takes k^2 per column.
    """
    step = np.arange(k)
    left = rows - step
    vectors = 6 * left + 3
    reflections = (4 * left - 2) * (k - 1 - step + columns)
    return float(vectors.sum() + reflections.sum()) + k * k * columns


def weigh(rows: int, k: int, columns: int) -> float:
    """Weights (k x rows) times replies."""
    return float(product(k, rows, columns))


def vandermonde(k: int, columns: int) -> float:
    """Bjorck-Pereyra: k (k - 1) / 2 differences of nodes and four times as many per column."""
    return k * (k - 1) / 2 * (1 + 4 * columns)


def fourier(length: int) -> float:
    """2.5 q log2 q of a real transform of length q, the convention of FFTW's benchmarks.

    Frigo and Johnson, Proceedings of the IEEE 93, 2005; a prime length takes more.
    """
    return 2.5 * length * math.log2(length)


def triangle(rows: int, columns: int) -> float:
    """Householder QR of rows x columns to its triangle (LAPACK geqrf), to leading order.

    2 n^2 (m - n / 3) with n the smaller dimension of m x n, Golub and Van Loan, section 5.2.
    """
    most, least = max(rows, columns), min(rows, columns)
    return 2 * least * least * (most - least / 3)
