"""Linear operators between blocks: what an encoder or a reply map does to a stack of blocks."""

import dataclasses
import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from stabbench.arithmetic import operations
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.kernels import combine
from stabbench.arithmetic.precision import Precision

Array = np.ndarray[Any, np.dtype[Any]]


class Operator(ABC):
    """A linear map from `unknowns` blocks to `rows` blocks."""

    rows: int
    unknowns: int

    @abstractmethod
    def apply(self, blocks: Array, precision: Precision) -> Array:
        """The images of `blocks` (unknowns, L, ...), rounded to the storage of `precision`."""

    @property
    def summands(self) -> int:
        """The most blocks that one row adds up."""
        return self.unknowns

    @abstractmethod
    def overhead(self, length: int) -> Array:
        """Blocks stored per row, in units of one data block of `length` rows, shape (rows,)."""

    def kept(self, shape: tuple[int, ...]) -> Array:
        """Numbers of each image that are no padding, for images of that shape, shape (rows,)."""
        return np.full(shape[0], math.prod(shape[1:]))

    def operations(self, blocks: Array, precision: Precision) -> Array:
        """Real operations of each row of `apply`, as of a matrix without zeros, shape (rows,)."""
        count = operations.product(1, self.unknowns, blocks[0].size, np.iscomplexobj(blocks))
        return np.full(self.rows, count)


@dataclasses.dataclass(frozen=True)
class Dense(Operator):
    """A matrix of coefficients, one row per coded block.

    Parameters
    ----------
    coefficients : Coefficients
        The ideal matrix, shape (rows, unknowns).

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> parity = Dense(Coefficients.from_array(np.ones((1, 2))))
    >>> parity.apply(np.array([[1.0], [2.0]]), precision("float64"))
    array([[3.]])
    """

    coefficients: Coefficients

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of coded blocks."""
        return self.coefficients.shape[0]

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        """Number of unknown blocks."""
        return self.coefficients.shape[1]

    @property
    def summands(self) -> int:
        """The most coefficients of a row that are not zero."""
        return int(np.count_nonzero(self.coefficients.rounded("float64"), axis=1).max())

    def matrix(self, precision: Precision) -> Array:
        """The coefficients, each rounded once to the storage of `precision`, (rows, unknowns)."""
        return self.coefficients.rounded(precision)

    def stored(self, storage: str) -> Coefficients:
        """The coefficients as a format stores them, exactly; the ideal ones for ``exact``.

        Raises
        ------
        OverflowError
            If a coefficient overflows in the storage format.
        """
        if storage == "exact":
            return self.coefficients
        values = self.coefficients.rounded(storage)
        if not np.isfinite(values).all():
            raise OverflowError(f"a coefficient of the reply map overflows {storage}")
        return Coefficients.from_array(values)

    def apply(self, blocks: Array, precision: Precision) -> Array:
        """The coded blocks, shape (rows, L, ...), rounded to the storage of `precision`."""
        return combine(self.matrix(precision), blocks, precision)

    def overhead(self, length: int) -> Array:
        """One block per row, whatever the length."""
        return np.ones(self.rows)

    def operations(self, blocks: Array, precision: Precision) -> Array:
        """A multiplication and an addition per number and coefficient other than zero, (rows,)."""
        matrix = self.matrix(precision)
        is_complex = np.iscomplexobj(matrix) or np.iscomplexobj(blocks)
        terms = np.count_nonzero(matrix, axis=1)
        return np.asarray(operations.product(1, terms, blocks[0].size, is_complex))
