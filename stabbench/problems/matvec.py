"""The matrix-vector product A x with A cut into row blocks, one coded row block per worker."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import exact, multiprecision, operations
from stabbench.arithmetic.kernels import multiply
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import System
from stabbench.errors import InputError
from stabbench.problems.base import Exact, Problem, cut
from stabbench.problems.families import Data

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = {"flint": exact.product, "mpmath": multiprecision.product}


@dataclasses.dataclass(frozen=True)
class Matvec(Problem):
    """A X for a data matrix A and `vectors` Gaussian columns X.

    Parameters
    ----------
    data : Data
        Where A comes from.
    vectors : int
        Number of columns of X.
    """

    data: Data
    vectors: int = 1

    name: ClassVar[str] = "matvec"

    def __post_init__(self) -> None:
        """Check the number of vectors."""
        if self.vectors < 1:
            raise InputError(f"problem matvec: vectors={self.vectors}; allowed is >= 1")

    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """A (rows, columns) and X (columns, vectors), rounded to storage."""
        matrix = self.data.matrix(seed)
        vector = self.data.vector(seed, matrix.shape[1], self.vectors)
        return precision.store(matrix), precision.store(vector)

    def summands(self, blocks: tuple[Array, ...]) -> int:
        """Columns of A."""
        return int(blocks[1].shape[0])

    def exact(self, operands: tuple[Array, ...], reference: str) -> Exact:
        """A X as a pair, shape (rows, vectors)."""
        return Exact(*REFERENCES[reference](*operands))

    def blocks(self, system: System, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """Row blocks of A, shape (k, L, columns), padded with zero rows; X as it is."""
        matrix, vector = operands
        return cut(matrix, system.encoders[0].unknowns), vector

    def encode(
        self, system: System, blocks: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """Coded row blocks (rows, L, columns) and the plain X."""
        return system.encoders[0].apply(blocks[0], precision), blocks[1]

    def work(self, system: System, shares: tuple[Array, ...], precision: Precision) -> Array:
        """Every coded block times X, shape (rows, L, vectors)."""
        return multiply(shares[0], shares[1], precision)

    def operations(self, system: System, shares: tuple[Array, ...]) -> Array:
        """A multiplication and an addition per number of a share and column of X."""
        share, vector = shares
        numbers = system.encoders[0].kept(share.shape)
        is_complex = np.iscomplexobj(share) or np.iscomplexobj(vector)
        return np.asarray(operations.product(1, numbers, vector.shape[1], is_complex))

    def wanted(self, system: System, exact: Exact) -> Exact:
        """The blocks of A X, shape (k, L, vectors); rows of padding are zero."""
        count = system.encoders[0].unknowns
        return Exact(cut(exact.hi, count), cut(exact.lo, count))
