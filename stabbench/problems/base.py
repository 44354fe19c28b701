"""What is computed: operands, the work of one worker, and the exact result."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.grammar import canonical

Array = np.ndarray[Any, np.dtype[Any]]
FIXED = ("data", "vectors", "partitions")
"""Fields that a case or its code gives, which are no parameters of the grammar."""


@dataclasses.dataclass(frozen=True)
class Exact:
    """An exact result as an unevaluated pair: hi + lo is its value to about 106 bits.

    Attributes
    ----------
    hi, lo : float64 or complex128 arrays of one shape
    """

    hi: Array
    lo: Array


class Problem(ABC):
    """A computation that is coded; its operands depend on neither code nor worker."""

    name: ClassVar[str]

    @property
    def spec(self) -> str:
        """The grammar string of this problem, without defaults and `FIXED`."""
        return canonical(self, self.name, FIXED)

    def refuses(self, code: Code) -> str:
        """Why the problem cannot be coded with `code`, an empty string where it can."""
        return code.refuses(self.name)

    @property
    def degree(self) -> int:
        """The degree of a reply as a polynomial in one coded operand."""
        return 1

    @abstractmethod
    def summands(self, blocks: tuple[Array, ...]) -> int:
        """Terms of the sums that a worker computes, 0 where it computes nothing of its own."""

    @abstractmethod
    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """The operands, rounded to the storage of `precision`."""

    @abstractmethod
    def exact(self, operands: tuple[Array, ...], reference: str) -> Exact:
        """The exact result for the rounded operands, by ``flint`` or ``mpmath``."""

    @abstractmethod
    def blocks(self, system: System, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """The coded operands cut into the blocks of a system; uncoded operands stay whole."""

    @abstractmethod
    def encode(
        self, system: System, blocks: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """The shares of all workers, one array per operand; uncoded operands stay whole."""

    @abstractmethod
    def work(self, system: System, shares: tuple[Array, ...], precision: Precision) -> Array:
        """The replies of all workers, shape (rows, L, m), rounded to storage."""

    @abstractmethod
    def operations(self, system: System, shares: tuple[Array, ...]) -> Array:
        """Real operations of `work` for every reply, padding left out, shape (rows,)."""

    @abstractmethod
    def wanted(self, system: System, exact: Exact) -> Exact:
        """The exact result cut as decoders return it, shape (wanted, L, m)."""


def cut(matrix: Array, blocks: int) -> Array:
    """Cut a matrix into row blocks of equal length, padded with zero rows.

    Parameters
    ----------
    matrix : array, shape (rows, columns)
    blocks : int

    Returns
    -------
    array, shape (blocks, ceil(rows / blocks), columns)

    Examples
    --------
    >>> cut(np.array([[1.0], [2.0], [3.0]]), 2)[:, :, 0].tolist()
    [[1.0, 2.0], [3.0, 0.0]]
    """
    rows, columns = matrix.shape
    length = -(-rows // blocks)
    padded = np.zeros((blocks * length, columns), dtype=matrix.dtype)
    padded[:rows] = matrix
    return padded.reshape(blocks, length, columns)
