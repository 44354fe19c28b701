"""The product code: an MDS code on the pieces of A times one on the pieces of B."""

import dataclasses
import functools
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.codes.polynomial import t0_value
from stabbench.codes.product import GridProducts, Layout, most_square, pieces
from stabbench.errors import InputError

LARGEST = "the largest kA * kB that tolerates the stragglers"


@dataclasses.dataclass(frozen=True)
class ProductGrid(GridProducts):
    """Product code: worker (i, j) multiplies coded piece i of A by coded piece j of B.

    Both factors are coded by Chebyshev values, T_0 = 1/sqrt 2, on Chebyshev points. Any s losses
    are decodable if s < (nA - kA + 1)(nB - kB + 1).

    Parameters
    ----------
    nA, nB : int, optional
        Coded pieces, nA * nB = n; the most square factorisation unless given.
    kA, kB : int, optional
        Pieces; those with the largest kA * kB that tolerate the stragglers unless given.

    Examples
    --------
    >>> ProductGrid(12, 3).layout, ProductGrid(12, 3).coded
    (Layout(left=2, inner=1, right=3), (3, 4))
    """

    kA: int | None = pieces("A", LARGEST)
    kB: int | None = pieces("B", LARGEST)
    nA: int | None = pieces("A after coding")
    nB: int | None = pieces("B after coding")

    name: ClassVar[str] = "product"
    family: ClassVar[str] = "product"
    source: ClassVar[str] = "Lee, Suh, Ramchandran, ISIT 2017"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "orthogonal"})

    @property
    def coded(self) -> tuple[int, int]:
        """Coded pieces (nA, nB) after defaults."""
        if self.nA is not None and self.nB is not None:
            return self.nA, self.nB
        if self.nA is not None:
            return self.nA, self.n // max(self.nA, 1)
        if self.nB is not None:
            return self.n // max(self.nB, 1), self.nB
        rows = most_square(self.n)
        return rows, self.n // rows

    @functools.cached_property
    def layout(self) -> Layout:
        """Pieces (kA, 1, kB) after defaults."""
        n_a, n_b = self.coded
        choices = [
            (a * b, a, b)
            for a in ([self.kA] if self.kA is not None else range(1, n_a + 1))
            for b in ([self.kB] if self.kB is not None else range(1, n_b + 1))
            if (n_a - a + 1) * (n_b - b + 1) > self.stragglers
        ]
        _, left, right = max(choices, default=(0, self.kA or 1, self.kB or 1))
        return Layout(left, 1, right)

    def validate(self) -> None:
        """Raise InputError if the pieces do not fit n."""
        n_a, n_b = self.coded
        if n_a * n_b != self.n or n_a < 1:
            raise InputError(
                f"{self.name}: nA * nB = {n_a} * {n_b} is not n={self.n}; allowed are its divisors"
            )
        left, _, right = self.layout
        if not (1 <= left <= n_a and 1 <= right <= n_b):
            raise InputError(
                f"{self.name}: kA={left}, kB={right} of nA={n_a}, nB={n_b}; "
                "allowed is 1 <= kA <= nA and 1 <= kB <= nB"
            )

    @property
    def threshold(self) -> int | None:
        """Any n - (nA - kA + 1)(nB - kB + 1) + 1 replies suffice."""
        n_a, n_b = self.coded
        left, _, right = self.layout
        return self.n - (n_a - left + 1) * (n_b - right + 1) + 1

    def factors(self, bits: int) -> tuple[Any, Any]:
        """Chebyshev values; worker (i, j) has number i nB + j."""
        n_a, n_b = self.coded
        left, _, right = self.layout
        workers = np.arange(self.n)
        return values(n_a, left, workers // n_b, bits), values(n_b, right, workers % n_b, bits)


def values(count: int, degrees: int, rows: Any, bits: int) -> list[list[Any]]:
    """Rows of T_j(x_i), T_0 = 1/sqrt 2, at `count` Chebyshev points, as balls."""
    with flint.ctx.workprec(bits):
        constant = t0_value("1/sqrt2")
        table = [
            [
                flint.arb.cos_pi_fmpq(flint.fmpq(j * (2 * i + 1), 2 * count)) if j else constant
                for j in range(degrees)
            ]
            for i in range(count)
        ]
    return [table[int(i)] for i in rows]
