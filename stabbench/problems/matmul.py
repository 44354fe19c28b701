"""The matrix products A^T B and A B, both factors coded and cut as the code's layout says."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import exact, multiprecision, operations
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.products import multiply_pairs
from stabbench.codes.base import System
from stabbench.codes.product import Layout, ProductSystem
from stabbench.errors import InputError
from stabbench.problems.base import Exact, Problem
from stabbench.problems.families import Data

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = {"flint": exact.product, "mpmath": multiprecision.product}


@dataclasses.dataclass(frozen=True)
class Matmul(Problem):
    """A^T B, or A B, for a data matrix A and a Gaussian matrix B.

    Parameters
    ----------
    data : Data
        Where A comes from.
    transpose : bool
        Whether the product is A^T B.
    columns : int, optional
        Columns of B; as many as A has unless given.
    """

    data: Data
    transpose: bool = dataclasses.field(default=True, metadata={"help": "A^T B, else A B"})
    columns: int | None = dataclasses.field(
        default=None, metadata={"help": "columns of B (default: as many as A has)"}
    )

    name: ClassVar[str] = "matmul"

    def __post_init__(self) -> None:
        """Check the number of columns."""
        if self.columns is not None and self.columns < 1:
            raise InputError(f"problem matmul: columns={self.columns}; allowed is >= 1")

    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """The left factor (r, N), A^T or A, and B (N, t), rounded to storage."""
        matrix = self.data.matrix(seed)
        left = matrix.T if self.transpose else matrix
        columns = matrix.shape[1] if self.columns is None else self.columns
        right = self.data.vector(seed, left.shape[1], columns)
        return precision.store(left), precision.store(right)

    def summands(self, blocks: tuple[Array, ...]) -> int:
        """Columns of a block."""
        return int(blocks[0].shape[2])

    def exact(self, operands: tuple[Array, ...], reference: str) -> Exact:
        """The product as a pair, shape (r, t)."""
        return Exact(*REFERENCES[reference](*operands))

    def blocks(self, system: System, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """Blocks (p kA, r / kA, N / p) of the left factor, (p kB, t / kB, N / p) of B^T."""
        layout = layout_of(system)
        left, right = operands
        return (
            cut_grid(left, layout.left, layout.inner),
            cut_grid(right.T, layout.right, layout.inner),
        )

    def encode(
        self, system: System, blocks: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """Coded blocks of both factors."""
        return tuple(
            encoder.apply(part, precision)
            for encoder, part in zip(system.encoders, blocks, strict=True)
        )

    def work(self, system: System, shares: tuple[Array, ...], precision: Precision) -> Array:
        """The products of every worker's shares, shape (rows, r / kA, t / kB)."""
        assert isinstance(system, ProductSystem)
        return multiply_pairs(shares[0], shares[1], system.pairs, precision)

    def operations(self, system: System, shares: tuple[Array, ...]) -> Array:
        """A multiplication and an addition per row of one share, row of the other and column."""
        assert isinstance(system, ProductSystem)
        left, right = (
            encoder.kept(share.shape[:2])[column]
            for encoder, share, column in zip(system.encoders, shares, system.pairs.T, strict=True)
        )
        is_complex = any(map(np.iscomplexobj, shares))
        return np.asarray(operations.product(left, shares[0].shape[2], right, is_complex))

    def wanted(self, system: System, exact: Exact) -> Exact:
        """The blocks C[a, b], shape (kA kB, r / kA, t / kB); padding is zero."""
        layout = layout_of(system)
        return Exact(*(cut_product(part, layout) for part in (exact.hi, exact.lo)))


def layout_of(system: System) -> Layout:
    """How a system cuts its factors."""
    assert isinstance(system, ProductSystem)
    return system.layout


def cut_grid(matrix: Array, rows: int, columns: int) -> Array:
    """Cut a matrix into rows x columns blocks, padded with zeros; columns come first.

    Parameters
    ----------
    matrix : array, shape (r, N)
    rows, columns : int

    Returns
    -------
    array, shape (columns * rows, ceil(r / rows), ceil(N / columns))

    Examples
    --------
    >>> cut_grid(np.arange(6.0).reshape(2, 3), 2, 2)[:, 0].tolist()
    [[0.0, 1.0], [3.0, 4.0], [2.0, 0.0], [5.0, 0.0]]
    """
    length, width = -(-matrix.shape[0] // rows), -(-matrix.shape[1] // columns)
    padded = matrix
    if matrix.shape != (rows * length, columns * width):
        padded = np.zeros((rows * length, columns * width), dtype=matrix.dtype)
        padded[: matrix.shape[0], : matrix.shape[1]] = matrix
    blocks = padded.reshape(rows, length, columns, width).transpose(2, 0, 1, 3)
    return np.ascontiguousarray(blocks.reshape(columns * rows, length, width))


def cut_product(product: Array, layout: Layout) -> Array:
    """The blocks of a product (r, t) in the order of decoders, see `Layout`."""
    blocks = cut_grid(product, layout.left, layout.right)
    shape = (layout.right, layout.left, *blocks.shape[1:])
    return blocks.reshape(shape).swapaxes(0, 1).reshape(blocks.shape)


def joined(blocks: Array, layout: Layout, shape: tuple[int, int]) -> Array:
    """The product of a given shape whose blocks a decoder returned, the inverse of cutting.

    Examples
    --------
    >>> layout = Layout(2, 1, 3)
    >>> product = np.arange(20.0).reshape(4, 5)
    >>> bool((joined(cut_product(product, layout), layout, (4, 5)) == product).all())
    True
    """
    length, width = blocks.shape[-2:]
    grid = blocks.reshape(layout.left, layout.right, length, width).swapaxes(1, 2)
    whole = grid.reshape(layout.left * length, layout.right * width)
    return whole[: shape[0], : shape[1]]
