"""The matrix-vector product A x with A cut into row blocks, one coded row block per worker."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import exact, multiprecision
from stabbench.arithmetic.kernels import multiply
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import System
from stabbench.problems.base import Blocks, Problem, cut
from stabbench.problems.data import Family

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = {"flint": exact.product, "mpmath": multiprecision.product}


@dataclasses.dataclass(frozen=True)
class Matvec(Problem):
    """A X for a data matrix A and `vectors` Gaussian columns X.

    Parameters
    ----------
    data : Family
        Where A comes from.
    vectors : int
        Number of columns of X.
    """

    data: Family
    vectors: int = 1

    name: ClassVar[str] = "matvec"

    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """A (rows, columns) and X (columns, vectors), rounded to storage."""
        matrix = self.data.matrix(seed)
        vector = self.data.vector(seed, matrix.shape[1], self.vectors)
        return precision.store(matrix), precision.store(vector)

    def encode(
        self, system: System, operands: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """Coded row blocks (rows, L, columns) and the plain X."""
        matrix, vector = operands
        (encoder,) = system.encoders
        return encoder.apply(cut(matrix, encoder.unknowns), precision), vector

    def work(self, shares: tuple[Array, ...], precision: Precision) -> Array:
        """Every coded block times X, shape (rows, L, vectors)."""
        return multiply(*shares, precision)

    def exact(self, system: System, operands: tuple[Array, ...], reference: str) -> Blocks:
        """The blocks of A X, shape (k, L, vectors); rows of padding are zero."""
        hi, lo = REFERENCES[reference](*operands)
        blocks = system.encoders[0].unknowns
        return Blocks(cut(hi, blocks), cut(lo, blocks))
