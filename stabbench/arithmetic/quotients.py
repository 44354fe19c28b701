"""Rational matrices as integers over one denominator, and left inverses applied to many columns.

Rational numbers entry by entry cost a greatest common divisor for every operation; these do not.
Complex matrices are real ones: the real part stands over the imaginary part.
"""

import dataclasses
import functools
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import Integers, common, embedded

__all__ = ["LeftInverse", "Quotient", "acting", "acting_coefficients", "integer_matrix", "stacked"]

Array = NDArray[Any]
TARGET_BITS = 400
INVERSE = 5
"""How much cheaper a column is by the inverse than by solving: 4 to 18 times for k = 28 to 128."""
WORD_BITS = 64


@dataclasses.dataclass(frozen=True)
class Quotient:
    """The matrix whole / over.

    Attributes
    ----------
    whole : fmpz_mat
    over : fmpz
        Positive.

    Examples
    --------
    >>> half = Quotient.of(np.array([[0.5]]))
    >>> (half * half - half).rational()
    [-1/4]
    """

    whole: flint.fmpz_mat
    over: flint.fmpz

    @classmethod
    def of(cls, array: Array, is_complex: bool = False) -> "Quotient":
        """The exact entries of a matrix of floats; of complex ones stacked, see `stacked`."""
        return stacked(*common(array), is_complex)

    @classmethod
    def ratio(cls, matrix: flint.fmpq_mat) -> "Quotient":
        """A matrix of rationals."""
        return cls(*_parts(matrix))

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.whole.nrows(), self.whole.ncols()

    def __mul__(self, other: "Quotient") -> "Quotient":
        return Quotient(self.whole * other.whole, self.over * other.over)

    def __add__(self, other: "Quotient") -> "Quotient":
        left, right, over = _aligned([self, other])
        return Quotient(left + right, over)

    def __sub__(self, other: "Quotient") -> "Quotient":
        left, right, over = _aligned([self, other])
        return Quotient(left - right, over)

    def rational(self) -> flint.fmpq_mat:
        """The same as a matrix of rationals."""
        return flint.fmpq_mat(self.whole) / self.over

    def entries(self) -> Array:
        """The integers of `whole` as an object array of its shape."""
        found = np.empty(self.whole.nrows() * self.whole.ncols(), dtype=object)
        found[:] = self.whole.entries()
        return found.reshape(self.shape)

    def square(self) -> flint.fmpq:
        """The sum of the squared entries."""
        row = flint.fmpz_mat(1, self.whole.nrows() * self.whole.ncols(), self.whole.entries())
        total = (row * row.transpose()).entries() or [flint.fmpz(0)]
        return flint.fmpq(total[0], self.over**2)


def stacked(parts: Integers, exponent: int, is_complex: bool) -> Quotient:
    """2^exponent parts; the real part over the imaginary one, which is zero if there is none.

    Examples
    --------
    >>> stacked((flint.fmpz_mat([[1, 2]]),), -1, True).rational()
    [1/2, 1]
    [  0, 0]
    """
    whole = parts[0]
    if is_complex:
        rows, columns = whole.nrows(), whole.ncols()
        below = parts[1].entries() if len(parts) > 1 else [0] * (rows * columns)
        whole = flint.fmpz_mat(2 * rows, columns, whole.entries() + below)
    if exponent > 0:
        whole = whole * (flint.fmpz(1) << exponent)
    return Quotient(whole, flint.fmpz(1) << max(0, -exponent))


def integer_matrix(entries: Array) -> flint.fmpz_mat:
    """A matrix of integers from an object array of them."""
    rows, columns = entries.shape
    return flint.fmpz_mat(rows, columns, entries.ravel().tolist())


def acting(matrix: Array, is_complex: bool) -> Quotient:
    """The real matrix that acts on stacked vectors as a matrix of floats does.

    Examples
    --------
    >>> acting(np.array([[1j]]), True).rational()
    [0, -1]
    [1,  0]
    """
    if not is_complex:
        return Quotient.of(matrix)
    re, im = matrix.real, matrix.imag
    return Quotient.of(np.block([[re, -im], [im, re]]))


def acting_coefficients(coefficients: Coefficients, is_complex: bool) -> Quotient:
    """The real matrix that acts on stacked vectors; balls give their midpoints at 400 bits."""
    if coefficients.is_rational:
        re, im = coefficients.rational()
    else:
        rows = coefficients.balls(TARGET_BITS).tolist()
        re = flint.fmpq_mat([[x.real.mid().fmpq() for x in row] for row in rows])
        im = None
        if coefficients.is_complex:
            im = flint.fmpq_mat([[x.imag.mid().fmpq() for x in row] for row in rows])
    if not is_complex:
        return Quotient.ratio(re)
    zero = flint.fmpq_mat(re.nrows(), re.ncols())
    return Quotient.ratio(embedded(re, zero if im is None else im))


class LeftInverse:
    """The inverse of a matrix, or its left inverse (A^T A)^-1 A^T, applied to columns exactly.

    Parameters
    ----------
    matrix : Quotient, r x k
        r >= k.
    is_complex : bool
        Whether the matrix is `acting` on stacked vectors.

    Attributes
    ----------
    unit : float
        Products of 64-bit words that solving for one column takes, about 20 ns each, from
        Hadamard's bound of the determinant.

    Examples
    --------
    >>> pair = LeftInverse(Quotient.of(np.array([[1.0], [1.0]])))
    >>> pair(Quotient.of(np.array([[0.5], [1.0]]))).rational()
    [3/4]
    """

    def __init__(self, matrix: Quotient, is_complex: bool = False) -> None:
        r, k = matrix.shape
        self._over, self._is_complex = matrix.over, is_complex
        self._formed: Quotient | None = None
        before = _diagonal([1] * k) if r == k else matrix.whole.transpose()
        rows = (matrix.whole if r == k else before * matrix.whole).tolist()
        contents = [_content(row) for row in rows]
        self._square = flint.fmpz_mat(
            [[x // g for x in row] for row, g in zip(rows, contents, strict=True)]
        )
        self._common = functools.reduce(_lcm, contents)
        self._before = _diagonal([self._common // g for g in contents]) * before
        bits = sum(sum(x * x for x in row).bit_length() for row in self._square.tolist()) / 2
        self.unit = k * k * max(1.0, bits / WORD_BITS)

    def work(self, columns: int) -> float:
        """Products of words for so many columns, the cheaper of solving and of an inverse."""
        inverse = self._before.ncols() / (1 + self._is_complex)
        return self.unit * min(columns, inverse + columns / INVERSE)

    def form(self, columns: int) -> "LeftInverse":
        """Form the inverse if that is cheaper for so many columns; self.

        Raises
        ------
        ZeroDivisionError
            If the columns of the matrix are linearly dependent.
        """
        if self.work(columns) < self.unit * columns:
            k, r = self._before.nrows(), self._before.ncols()
            right = self._before
            if self._is_complex:  # the second half of its columns repeats the first
                right = flint.fmpz_mat([row[: r // 2] for row in right.tolist()])
            whole, over = _parts(self._square.solve(right))
            if self._is_complex:
                rows = whole.tolist()
                top, bottom = rows[: k // 2], rows[k // 2 :]
                turned = [[-x for x in row] for row in bottom]
                whole = flint.fmpz_mat(_beside(top, turned) + _beside(bottom, top))
            self._formed = Quotient(whole, over)
        return self

    def __call__(self, sides: Quotient) -> Quotient:
        """What the columns of the sides decode to; raises as `form` does."""
        if self._formed is None:
            whole, over = _parts(self._square.solve(self._before * sides.whole))
        else:
            whole, over = self._formed.whole * sides.whole, self._formed.over
        return Quotient(whole * self._over, over * self._common * sides.over)


def _beside(left: list[Any], right: list[Any]) -> list[Any]:
    return [[*a, *b] for a, b in zip(left, right, strict=True)]


def _diagonal(entries: list[Any]) -> flint.fmpz_mat:
    count = len(entries)
    whole = [0] * (count * count)
    whole[:: count + 1] = entries
    return flint.fmpz_mat(count, count, whole)


def _parts(matrix: Any) -> tuple[flint.fmpz_mat, flint.fmpz]:
    whole, over = matrix.numer_denom()
    return whole, over


def _content(row: list[Any]) -> flint.fmpz:
    """The greatest common divisor, 1 of a row of zeros."""
    found = functools.reduce(lambda a, b: a.gcd(b), row, flint.fmpz(0))
    return found if found != 0 else flint.fmpz(1)


def _lcm(a: flint.fmpz, b: flint.fmpz) -> flint.fmpz:
    return a // a.gcd(b) * b


def _aligned(parts: list[Quotient]) -> list[Any]:
    """The integers of all parts over the least common denominator, and that denominator."""
    over = functools.reduce(_lcm, [part.over for part in parts])
    return [
        *(part.whole if part.over == over else part.whole * (over // part.over) for part in parts),
        over,
    ]
