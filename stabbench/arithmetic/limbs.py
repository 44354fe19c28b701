"""Products of floating-point matrices without rounding, by products of short integers in float64.

Numbers are cut into limbs so short that float64 multiplies and sums them exactly; long integers
are made of the few entries of the result, not of the many of the factors (Ozaki, Ogita, Oishi,
Rump, Error-free transformations of matrix multiplication, Numer. Algorithms 59, 2012).
"""

from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.integers import Integers, check_finite, common, least_exponent, times

__all__ = ["product"]

Array = NDArray[Any]
DIGITS = 53
MOST_LIMBS = 16
"""Limbs of a factor beyond which its numbers are made long integers at once."""


def product(left: Array, right: Array) -> tuple[Integers, int]:
    """Integers Z and an exponent e with left @ right = 2^e Z.

    Parameters
    ----------
    left : ndarray (m x k) of finite floats, real or complex
    right : ndarray (k x n) of finite floats, real or complex

    Raises
    ------
    InputError
        If the entries are not floats or not finite.

    Examples
    --------
    >>> product(np.array([[1e17, 1.0, -1e17]]), np.array([[1.0], [0.5], [1.0]]))
    (([1],), -1)
    """
    check_finite(left)
    check_finite(right)
    width = (DIGITS - (MOST_LIMBS * max(1, left.shape[1])).bit_length()) // 2
    one, two = _Cut.of(left, width), _Cut.of(right, width)
    entries = left.shape[0] * right.shape[1] * (one.count + two.count)
    if max(one.count, two.count) > MOST_LIMBS or entries > 2 * (left.size + right.size):
        (first, e), (second, f) = common(left), common(right)
        return times(first, second), e + f
    a, b = one.limbs(), two.limbs()
    if len(a) == 1 or len(b) == 1:
        whole = [_sum(x, y, width) for x in a for y in b]
    else:
        (re, im), (other, imag) = a, b
        whole = [
            _sum(re, other, width) - _sum(im, imag, width),
            _sum(re, imag, width) + _sum(im, other, width),
        ]
    return tuple(whole), one.low + two.low


class _Cut:
    """A matrix as a sum over a of limbs[a] 2^(low + width a), of its real and imaginary part."""

    def __init__(self, parts: list[Array], low: int, count: int, width: int) -> None:
        self.parts, self.low, self.count, self.width = parts, low, count, width

    @classmethod
    def of(cls, matrix: Array, width: int) -> "_Cut":
        parts = [matrix.real, matrix.imag] if matrix.dtype.kind == "c" else [matrix]
        wide = [part.astype(np.result_type(part.dtype, np.float64)) for part in parts]
        low = least_exponent(wide)
        top = max((int(np.frexp(np.abs(x).max(initial=0))[1]) for x in wide if x.any()), default=0)
        # rounded to nearest, the highest limb may carry into one more bit
        return cls(wide, low, max(1, -(-(top + 1 - low) // width)), width)

    def limbs(self) -> list[list[Array]]:
        """Per part its limbs, the lowest first: integers up to 2^width."""
        found = []
        for part in self.parts:
            rest, limbs = part, []
            for a in range(self.count - 1, -1, -1):
                place = self.low + self.width * a
                limb = np.rint(np.ldexp(rest, -place))
                rest = rest - np.ldexp(limb, place)
                limbs.append(limb.astype(np.float64))
            found.append(limbs[::-1])
        return found


def _sum(left: list[Array], right: list[Array], width: int) -> Any:
    """The product of two cut matrices: every sum of limbs' products is an integer below 2^53."""
    rows, columns = left[0].shape[0], right[0].shape[1]
    total = flint.fmpz_mat(rows, columns)
    for place in range(len(left) + len(right) - 2, -1, -1):
        first = max(0, place - len(right) + 1)
        pairs = [(left[a], right[place - a]) for a in range(first, min(place + 1, len(left)))]
        found = sum(a @ b for a, b in pairs)
        digits = flint.fmpz_mat(rows, columns, np.asarray(found, np.int64).ravel().tolist())
        total = total * (1 << width) + digits
    return total
