"""Products of stored matrices far beyond their precision, at the price of a few float64 products.

Operands are cut into slices whose products BLAS forms without rounding; flint does the same
exactly and much slower, see `stabbench.arithmetic.exact`.
"""

import math
from typing import Any

import numpy as np

from stabbench.arithmetic.double_double import two_sum
from stabbench.arithmetic.pairs import Pair

Array = np.ndarray[Any, np.dtype[Any]]
SIGNIFICAND = 53
BITS = 64
"""Bits below the largest entry of a row or column that enter the product of wide operands."""


def product(A: Array, B: Array) -> Pair:
    """A B as a pair (hi, lo) for operands of any real precision.

    Operands of at most 24 bits (float32, bfloat16, float16): every product of entries is exact in
    float64, so one float64 product serves, with an error below K 2^-53 of |A| |B| and lo = 0.
    Wider operands are cut into slices of so few bits that the products of slices are exact in
    float64; what is left out is below K 2^-64 of the largest entries of the row and the column.

    Parameters
    ----------
    A : array, shape (m, K)
    B : array, shape (K, n)

    Returns
    -------
    Pair, shape (m, n)
        Not finite where an operand is not.

    Notes
    -----
    Ozaki, Ogita, Oishi, Rump, Error-free transformations of matrix multiplication by using fast
    routines of matrix multiplication and its applications, Numer. Algorithms 59 (2012).

    Examples
    --------
    >>> product(np.array([[1.0, 2.0**-40]]), np.array([[1.0], [2.0**-40]]))
    (array([[1.]]), array([[8.27180613e-25]]))
    """
    if max(np.finfo(A.dtype).nmant, np.finfo(B.dtype).nmant) < 24:
        with np.errstate(all="ignore"):
            plain = A.astype(np.float64) @ B.astype(np.float64)
        return plain, np.zeros_like(plain)
    bits = (SIGNIFICAND - max(1, math.ceil(math.log2(A.shape[1])))) // 2
    count = -(-BITS // bits)
    left, right = _slices(A, 1, bits, count), _slices(B, 0, bits, count)
    hi = np.zeros((A.shape[0], B.shape[1]))
    lo = np.zeros_like(hi)
    with np.errstate(all="ignore"):
        for i in range(count):
            for j in range(count - i):
                hi, rest = two_sum(hi, left[i] @ right[j])
                lo += rest
        hi, lo = two_sum(hi, lo)
    return hi, lo


def _slices(matrix: Array, axis: int, bits: int, count: int) -> list[Array]:
    """Parts of `bits` bits each below the largest entry along the axis, as float64 arrays."""
    _, exponent = np.frexp(np.abs(matrix).max(axis=axis, keepdims=True))
    rest, parts = matrix, []
    with np.errstate(all="ignore"):
        for _ in range(count):
            exponent = exponent - bits
            part = np.ldexp(np.rint(np.ldexp(rest, -exponent)), exponent)
            rest = rest - part
            parts.append(part.astype(np.float64))
    return parts


def relative_error(estimate: Array, exact: Pair) -> float:
    """||estimate - exact||_2 / ||exact||_2; infinite if anything is not finite.

    Absolute where the exact product is zero.

    Examples
    --------
    >>> relative_error(np.array([[1.5]]), (np.array([[1.0]]), np.array([[0.0]])))
    0.5
    """
    hi, lo = exact
    with np.errstate(all="ignore"):
        wide = estimate.astype(np.result_type(estimate.dtype, np.float64))
        error = float(np.linalg.norm(((wide - hi) - lo).ravel().astype(_plain(wide))))
        size = float(np.linalg.norm(hi.ravel()))
        value = error / (size or 1.0)
    return value if math.isfinite(value) else math.inf


def _plain(array: Array) -> Any:
    return np.complex128 if array.dtype.kind == "c" else np.float64
