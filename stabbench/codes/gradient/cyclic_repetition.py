"""Cyclic repetition from a random null space."""

import dataclasses
import functools
from typing import Any, ClassVar

import flint
import numpy as np
import scipy.linalg

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import GradientCode, cyclic_placement
from stabbench.codes.gradient.parts import Part

Array = np.ndarray[Any, np.dtype[Any]]
GRID = 2.0**30


@dataclasses.dataclass(frozen=True)
class CyclicRepetition(GradientCode):
    """Row i of B lives on i .. i+s and the rows span the null space of a random H with H 1 = 0.

    B[i, i] = 1 and the rest of the row is -H[:, rest]^-1 H[:, i]; B depends on the null space of
    H only. With N an orthonormal basis of it, B = (B N) N^T, so that B_F has the condition number
    of (B N)_F.

    Parameters
    ----------
    seed : int
        The draw of H, Gaussian numbers on a grid of 2^-30, the last column minus the sum of the
        others.

    Examples
    --------
    >>> code = CyclicRepetition(4, 1)
    >>> bool((code.encoding.rounded("float64") != 0).sum() == 8)
    True
    """

    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})

    name: ClassVar[str] = "cyclic-repetition"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Tandon, Lei, Dimakis, Karampatziakis, arXiv:1612.03301"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "random", "cyclic", "gradient"})

    def validate(self) -> None:
        """Raise InputError for a negative seed."""
        self.require(seed=0)

    @functools.cached_property
    def placement(self) -> Array:
        """Cyclic, s + 1 partitions each."""
        return cyclic_placement(self.n, self.stragglers + 1)

    @functools.cached_property
    def check_matrix(self) -> Array:
        """H (s x n), float64; its rows sum to zero exactly."""
        s, n = self.stragglers, self.n
        random = stream("code cyclic-repetition", self.seed, n, s)
        H = np.round(random.standard_normal((s, n)) * GRID) / GRID
        H[:, -1] = -H[:, :-1].sum(axis=1)
        return H

    @functools.cached_property
    def rational(self) -> Any:
        """B exactly, n x n."""
        n, s = self.n, self.stragglers
        columns = [[flint.fmpq(*x.as_integer_ratio()) for x in c] for c in self.check_matrix.T]
        B = flint.fmpq_mat(n, n)
        for i in range(n):
            B[i, i] = flint.fmpq(1)
            rest = [(i + q) % n for q in range(1, s + 1)]
            if not rest:
                continue
            H = flint.fmpq_mat([columns[j] for j in rest]).transpose()
            solution = H.solve(flint.fmpq_mat([[-x] for x in columns[i]]))
            for row, j in enumerate(rest):
                B[i, j] = solution[row, 0]
        return B

    def coefficients(self, bits: int) -> Any:
        """B, rational."""
        return self.rational.tolist()

    def projected(self, bits: int) -> tuple[Any, Any]:
        """B N (n x (n - s)) and 1^T N in balls, N an orthonormal basis of the null space."""
        rows, extra = self.null_rows, 4 * self.n
        while True:
            with flint.ctx.workprec(bits + extra):
                N = _orthonormal(flint.arb_mat(rows)).transpose()
                product = flint.arb_mat(self.rational) * N
                sums = flint.arb_mat([[1] * self.n]) * N
            if all(x.is_finite() for x in product.entries()):
                return product, sums
            extra *= 2

    @functools.cached_property
    def null_rows(self) -> Any:
        """A rational basis of the null space of H: the identity on all columns but s pivots."""
        n, s, H = self.n, self.stragglers, self.check_matrix
        pivots: Any = np.sort(scipy.linalg.qr(H, mode="r", pivoting=True)[1][:s]) if s else []
        rest = [c for c in range(n) if c not in pivots]
        rows = flint.fmpq_mat(n - s, n)
        columns = [[flint.fmpq(*x.as_integer_ratio()) for x in c] for c in H.T]
        if s:
            square = flint.fmpq_mat([columns[c] for c in pivots]).transpose()
            X = square.solve(flint.fmpq_mat([columns[c] for c in rest]).transpose())
        for row, c in enumerate(rest):
            rows[row, c] = flint.fmpq(1)
            for k, pivot in enumerate(pivots):
                rows[row, int(pivot)] = -X[k, row]
        return rows

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """All workers, with B N and 1^T N."""
        n, rho = self.n, self.n - self.stragglers
        matrix = Coefficients(lambda bits: self.projected(bits)[0].tolist(), (n, rho))
        target = Coefficients(lambda bits: self.projected(bits)[1].tolist(), (1, rho))
        return (Part(np.arange(n), matrix, target),)


def _orthonormal(rows: Any) -> Any:
    """Gram-Schmidt of the rows of a matrix of balls."""
    found: list[list[Any]] = []
    for entries in rows.tolist():
        row = flint.arb_mat([entries])
        if found:
            basis = flint.arb_mat(found)
            row = row - (row * basis.transpose()) * basis
        length = (row * row.transpose())[0, 0].sqrt()
        found.append([x / length for x in row.tolist()[0]])
    return flint.arb_mat(found)
