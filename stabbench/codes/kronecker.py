"""The reply map of products of shares: Kronecker products of the rows of two generators."""

import dataclasses
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import Precision
from stabbench.codes.operators import Dense

Array = np.ndarray[Any, np.dtype[Any]]
EXACT_BITS = 4400
"""Bits that hold every product of two float64 numbers exactly, subnormal ones included."""


@dataclasses.dataclass(frozen=True, eq=False)
class Kronecker(Dense):
    """Reply map of products of shares: row r is the Kronecker product of a row of each factor.

    Parameters
    ----------
    coefficients : Coefficients
        The ideal map, shape (rows, left columns * right columns).
    left, right : Coefficients
        The generators of the two factors.
    pairs : int array, shape (rows, 2)
        Which left and which right share each reply multiplies.
    """

    left: Coefficients
    right: Coefficients
    pairs: Array

    def matrix(self, precision: Precision) -> Array:
        """Products of the stored generators' entries, computed in decoding precision."""
        complex_ = self.left.is_complex or self.right.is_complex
        dtype = precision.decode_dtype(complex_)
        left, right = (
            part.rounded(precision)[column].astype(dtype)
            for part, column in zip((self.left, self.right), self.pairs.T, strict=True)
        )
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            products: Array = left[:, :, None] * right[:, None, :]
        return products.reshape(self.rows, -1)

    def stored(self, storage: str) -> Coefficients:
        """The exact products of the stored entries, which are what the replies hold.

        The ideal map for ``exact``.

        Raises
        ------
        OverflowError
            If an entry of a generator overflows in the storage format.
        """
        if storage == "exact":
            return self.coefficients
        rows = []
        for part, column in zip((self.left, self.right), self.pairs.T, strict=True):
            values = part.rounded(storage)
            if not np.isfinite(values).all():
                raise OverflowError(f"an entry of the generator overflows {storage}")
            rows.append(Coefficients.from_array(values).rows(column))
        left, right = rows
        complex_ = left.is_complex or right.is_complex

        def products(bits: int) -> Any:
            with flint.ctx.workprec(EXACT_BITS):
                return row_products(left.balls(EXACT_BITS), right.balls(EXACT_BITS))

        return Coefficients(products, self.coefficients.shape, complex=complex_)


def row_products(left: Any, right: Any) -> list[list[Any]]:
    """Kronecker products of equal rows of two matrices of balls, at the current precision.

    Examples
    --------
    >>> row_products(flint.arb_mat([[1, 2]]), flint.arb_mat([[3, 5]]))
    [[3.00000000000000, 5.00000000000000, 6.00000000000000, 10.0000000000000]]
    """
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    return [[a * b for a in one for b in two] for one, two in pairs]
