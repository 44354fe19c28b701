"""Floating-point matrices as integer matrices times powers of two.

Everything here is exact; algorithms on these matrices live in the modules that use them.
"""

from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError

__all__ = [
    "Exponents",
    "Integers",
    "adjoint",
    "balls",
    "check_finite",
    "common",
    "embedded",
    "least_exponent",
    "scaled",
    "times",
]

Integers = tuple[flint.fmpz_mat, ...]
"""Real part, and imaginary part of a complex matrix."""
Exponents = NDArray[np.int64]
WORD = 62
"""Bits of an integer that is kept in one machine word."""


def check_finite(x: NDArray[Any]) -> None:
    """Raise `InputError` unless the entries are finite floats, real or complex."""
    if x.dtype.kind not in "fc":
        raise InputError(f"operand of type {x.dtype}: allowed are floats, real or complex")
    if not np.all(np.isfinite(x)):
        raise InputError("operand with inf or NaN: allowed are finite numbers")


def scaled(x: NDArray[Any], axis: int, offset: Exponents | int = 0) -> tuple[Integers, Exponents]:
    """Integers Z and exponents e, constant along an axis, with x = 2^(offset + e) Z.

    Parameters
    ----------
    x : ndarray (m x k) of finite floats, real or complex
    axis : int
        1 gives one exponent for each row, shape (m, 1); 0 one for each column, shape (1, k).
    offset : integer array that broadcasts with `x`
        Power of two that is taken out beforehand.

    Returns
    -------
    Integers, Exponents

    Raises
    ------
    InputError
        If the entries are not floats or not finite.

    Examples
    --------
    >>> scaled(np.array([[0.5, 4.0], [3.0, 0.0]]), 1)
    (([1, 8]
    [3, 0],), array([[-1],
           [ 0]]))
    """
    check_finite(x)
    parts = [_odd(part) for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    far = np.iinfo(np.int64).max // 4
    least = np.min(
        [np.where(m == 0, far, e - offset) for m, e in parts], axis=(0, axis + 1), initial=far
    )
    exponents = np.expand_dims(np.where(least == far, 0, least), axis).astype(np.int64)
    shifts = [np.where(m == 0, 0, e - offset - exponents) for m, e in parts]
    matrices = tuple(_shifted(m, s) for (m, _), s in zip(parts, shifts, strict=True))
    return matrices, exponents


def common(x: NDArray[Any]) -> tuple[Integers, int]:
    """Integers Z and one exponent e with x = 2^e Z, the largest e for which Z are integers.

    Parameters
    ----------
    x : ndarray (m x k) of finite floats, real or complex

    Raises
    ------
    InputError
        If the entries are not floats or not finite.

    Examples
    --------
    >>> common(np.array([[0.5, 4.0], [3.0, 0.0]]))
    (([1, 8]
    [6, 0],), -1)
    """
    check_finite(x)
    parts = [_odd(part) for part in ((x.real, x.imag) if x.dtype.kind == "c" else (x,))]
    exponent = _least(parts)
    shifts = [np.where(m == 0, 0, e - exponent) for m, e in parts]
    return tuple(_shifted(m, s) for (m, _), s in zip(parts, shifts, strict=True)), exponent


def least_exponent(parts: list[NDArray[Any]]) -> int:
    """The largest e for which all entries of real matrices are integers times 2^e; 0 for zeros.

    Examples
    --------
    >>> least_exponent([np.array([[0.75, 8.0]])])
    -2
    """
    return _least([_odd(part) for part in parts])


def _least(parts: list[tuple[NDArray[Any], Exponents]]) -> int:
    return min((int(e[m != 0].min()) for m, e in parts if m.any()), default=0)


def _odd(x: NDArray[Any]) -> tuple[NDArray[Any], Exponents]:
    """Odd integers m (or 0) and exponents e with x = m 2^e; Python integers for longdouble."""
    if x.dtype.itemsize > 8:
        fraction, exponent = np.frexp(x)
        digits = np.finfo(x.dtype).nmant + 1
        whole = np.array([int(v) for v in np.ldexp(fraction, digits).flat], dtype=object)
        return whole.reshape(x.shape), exponent.astype(np.int64) - digits
    fraction, exponent = np.frexp(x.astype(np.float64))
    whole = np.ldexp(fraction, 53).astype(np.int64)
    zeros = np.maximum(np.frexp((whole & -whole).astype(np.float64))[1] - 1, 0)
    return whole >> zeros, exponent.astype(np.int64) - 53 + zeros


def _shifted(whole: NDArray[Any], shift: NDArray[Any]) -> flint.fmpz_mat:
    rows, columns = whole.shape
    if whole.dtype != object and whole.size:
        bits = np.frexp(np.abs(whole).astype(np.float64))[1] + shift
        if bits.max() <= WORD:
            return flint.fmpz_mat(rows, columns, (whole << shift).ravel().tolist())
        if bits.max() <= 2 * WORD and shift.max() <= WORD:
            # 2^62 high + low, both within a word, are made faster than one long integer
            high = whole >> (WORD - shift)
            low = (whole - (high << (WORD - shift))) << shift
            parts = (flint.fmpz_mat(rows, columns, x.ravel().tolist()) for x in (high, low))
            return next(parts) * (flint.fmpz(1) << WORD) + next(parts)
    pairs = zip(whole.ravel().tolist(), shift.ravel().tolist(), strict=True)
    return flint.fmpz_mat(rows, columns, [flint.fmpz(m) << s for m, s in pairs])


def times(a: Integers, b: Integers) -> Integers:
    """Product of integer matrices, real or complex."""
    if len(a) == 1:
        return tuple(a[0] * part for part in b)
    if len(b) == 1:
        return tuple(part * b[0] for part in a)
    return a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]


def adjoint(matrix: Integers) -> Integers:
    """Transposed matrix, conjugated if complex."""
    if len(matrix) == 1:
        return (matrix[0].transpose(),)
    return matrix[0].transpose(), -matrix[1].transpose()


def balls(matrix: Integers) -> Any:
    """Matrix of balls, arb_mat or acb_mat, at the working precision of flint."""
    if len(matrix) == 1:
        return flint.arb_mat(matrix[0])
    re, im = matrix
    entries = [flint.acb(a, b) for a, b in zip(re.entries(), im.entries(), strict=True)]
    return flint.acb_mat(re.nrows(), re.ncols(), entries)


def embedded(re: Any, im: Any) -> flint.fmpq_mat:
    """The real matrix [[re, -im], [im, re]], of twice the rank."""
    top = [[*a, *b] for a, b in zip(re.tolist(), (-im).tolist(), strict=True)]
    bottom = [[*b, *a] for a, b in zip(re.tolist(), im.tolist(), strict=True)]
    return flint.fmpq_mat(top + bottom)
