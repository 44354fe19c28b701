"""Powers of two: matrices brought to a common size, and numbers beyond the range of float64.

Scaling by a power of two is exact; condition numbers and amplification do not feel it.
"""

import functools
import math
from typing import Any, NamedTuple

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients

Array = np.ndarray[Any, np.dtype[Any]]
NORMAL = 64
"""Matrices whose largest entry is within 2^-64 .. 2^64 are left as they are."""
EVEN = 150
"""Rows that may be lost are no reason to leave float64 up to 2^150 between rows that count."""
LEVEL = 10
"""Rows within a factor of 2^10 are of about one size."""
BITS = 128
NOTHING = -(1 << 60)
"""The exponent of zero."""


class Wide(NamedTuple):
    """A number fraction * 2^exponent that float64 need not be able to hold.

    Examples
    --------
    >>> Wide(0.5, 2001).value, round(Wide(0.5, 2001).log10, 3)
    (inf, 602.06)
    """

    fraction: float
    exponent: int

    @property
    def value(self) -> float:
        """The nearest float64; infinite beyond its range."""
        try:
            return math.ldexp(self.fraction, self.exponent)
        except OverflowError:
            return math.inf

    @property
    def log10(self) -> float:
        """Decimal logarithm; -inf of zero."""
        if self.fraction == 0:
            return -math.inf
        return math.log10(self.fraction) + self.exponent * math.log10(2)

    def times(self, other: "Wide") -> "Wide":
        """The product."""
        return Wide(self.fraction * other.fraction, self.exponent + other.exponent)


class _Scaled(Coefficients):
    """Another matrix, each row over a power of two."""

    def __init__(self, whole: Coefficients, exponents: Array) -> None:
        super().__init__(whole._function, whole.shape, whole.is_complex)
        self._whole = whole
        self._factors = np.array([[flint.fmpq(2) ** -e] for e in exponents.tolist()], dtype=object)
        self._rational = whole._rational
        if whole._array is not None:
            scaled = shifted(whole._array, -exponents[:, None])
            back = shifted(scaled, exponents[:, None]) == whole._array
            self._array = scaled if back.all() and np.isfinite(scaled).all() else None

    def _parts(self, bits: int) -> Any:
        re, im = self._whole._parts(bits)
        with flint.ctx.workprec(bits):
            return re * self._factors, None if im is None else im * self._factors


@functools.lru_cache(maxsize=16)
def normal(matrix: Coefficients) -> tuple[Coefficients, int]:
    """The matrix over 2^e, and e, so that its largest entry is about 1.

    A matrix whose largest entry is within 2^-64 .. 2^64 is returned itself, with e = 0.

    Examples
    --------
    >>> small, exponent = normal(Coefficients.from_array(np.array([[3e-320, 0.0]])))
    >>> small.rounded("float64"), exponent
    (array([[0.74121094, 0.        ]]), -1061)
    """
    exponent = int(_row_exponents(matrix).max(initial=NOTHING))
    if abs(exponent) <= NORMAL or exponent == NOTHING:
        return matrix, 0
    return _Scaled(matrix, np.full(matrix.shape[0], exponent)), exponent


@functools.lru_cache(maxsize=16)
def leveled(matrix: Coefficients) -> tuple[Coefficients, Array]:
    """Each row i over 2^e_i, and e, so that its largest entry is about 1.

    A matrix whose rows are of about one size is returned itself, with e = 0.

    Examples
    --------
    >>> rows, exponents = leveled(Coefficients.from_array(np.array([[3.0], [0.0], [1e99]])))
    >>> rows.rounded("float64").ravel(), exponents
    (array([0.75      , 0.        , 0.91438991]), array([  2,   0, 329]))
    """
    exponents = _row_exponents(matrix)
    none = exponents == NOTHING
    if np.ptp(exponents[~none]) <= LEVEL if (~none).any() else True:
        return matrix, np.zeros(len(exponents), dtype=np.int64)
    exponents = np.where(none, 0, exponents)
    return _Scaled(matrix, exponents), exponents


def _row_exponents(matrix: Coefficients) -> Array:
    """The largest e with an entry of 2^(e-1) or more in size, of each row; NOTHING of zeros."""
    if matrix._array is not None:
        parts = np.stack([np.abs(matrix._array.real), np.abs(matrix._array.imag)])
        top = parts.max(axis=(0, 2), initial=0)
        return np.asarray(np.where(top > 0, np.frexp(top)[1], NOTHING), dtype=np.int64)
    return np.asarray(_exponents(matrix)[1].max(axis=1, initial=NOTHING))


def _exponents(matrix: Coefficients) -> tuple[list[list[Any]], Array]:
    """Real and imaginary parts as balls, and the exponent of each entry, (n, k)."""
    with flint.ctx.workprec(BITS):
        balls = [
            [flint.arb(x) for x in part.flat] for part in matrix._parts(BITS) if part is not None
        ]
        sizes = [[NOTHING if (e := _size(x)) is None else e for x in part] for part in balls]
        return balls, np.array(sizes, dtype=np.int64).max(axis=0).reshape(matrix.shape)


def _size(ball: Any) -> int | None:
    """The exponent of the middle of a ball as `math.frexp` counts it, None of zero."""
    fraction, exponent = ball.mid().man_exp()
    return int(fraction).bit_length() + int(exponent) if fraction else None


def shifted(matrix: Array, exponent: Any) -> Array:
    """A float or complex array times 2^exponent, of each row; rounded where it leaves the range.

    Examples
    --------
    >>> shifted(np.array([3j]), -1)
    array([0.+1.5j])
    """
    parts = np.ascontiguousarray(matrix).view(matrix.real.dtype)
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray(np.ldexp(parts, exponent)).view(matrix.dtype)


def narrowed(balls: Any) -> tuple[Array, int]:
    """Middles of a matrix of balls as floats over 2^e, the largest about 1, and e.

    What is below 2^-1074 of the largest becomes zero.
    """
    is_complex = isinstance(balls, flint.acb_mat)
    entries = balls.entries()
    parts = [[x.real, x.imag] for x in entries] if is_complex else [[x] for x in entries]
    sizes = [e for pair in parts for x in pair if (e := _size(x)) is not None]
    exponent = max(sizes, default=0)
    factor = flint.arb(2) ** -exponent
    values = np.array([[float(x.mid() * factor) for x in pair] for pair in parts])
    flat = values.view(np.complex128) if is_complex else values
    return flat.reshape(balls.nrows(), balls.ncols()), exponent


def wide(ball: Any) -> Wide:
    """The middle of a real ball.

    Examples
    --------
    >>> wide(flint.arb(3))
    Wide(fraction=0.75, exponent=2)
    """
    exponent = _size(ball) or 0
    return Wide(float(ball.mid() * flint.arb(2) ** -exponent), exponent)


def even(matrix: Array, spare: int) -> bool:
    """Whether all rows that may be the largest of some selection are of about one size.

    Parameters
    ----------
    matrix : array, shape (n, k)
        A `normal` matrix, rounded; no entry that counts may have become zero.
    spare : int
        Rows that may be lost.
    """
    sizes = np.sort(np.abs(matrix).max(axis=1, initial=0))[::-1]
    columns = np.abs(matrix).max(axis=0, initial=0)
    least = sizes[min(spare, len(sizes) - 1)]
    return bool(least >= 2.0**-EVEN * sizes[0] and (columns >= 2.0**-950 * sizes[0]).all())


def balanced(matrix: Coefficients) -> Array:
    """Each column, then each row, over a power of two, so that its largest entry is about 1.

    Rows that are independent stay so; what is below 2^-1074 then becomes zero.
    """
    balls, table = _exponents(matrix)
    column = np.maximum(table.max(axis=0, initial=NOTHING), NOTHING // 2)
    row = np.maximum((table - column).max(axis=1, initial=NOTHING), NOTHING // 2)
    shift = np.where(table > NOTHING, -(column + row[:, None]), 0).ravel().tolist()
    two = flint.arb(2)
    with flint.ctx.workprec(BITS):
        parts = [
            np.array([float(x.mid() * two**e) for x, e in zip(part, shift, strict=True)])
            for part in balls
        ]
    flat = parts[0] if len(parts) == 1 else parts[0] + 1j * parts[1]
    return np.asarray(flat.reshape(matrix.shape))
