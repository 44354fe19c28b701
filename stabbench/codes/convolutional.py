"""Convolutional codes: plain blocks and parities that add blocks moved down by whole sub-blocks.

They are shift-and-add codes with chunks, written out as matrices over the sub-blocks.
"""

import dataclasses
import functools
from fractions import Fraction
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.shift_tables import ABSENT, longest_shifts, shift_table
from stabbench.arithmetic.streams import stream
from stabbench.codes.product import GridCode
from stabbench.codes.toeplitz import DENSE_LIMIT, Toeplitz
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


def storage_field(what: str, blocks: str) -> Any:
    """The field of a storage fraction gamma of a matrix cut into a number of blocks, by name."""
    words = f"largest share of {what} that a worker holds (default 1/({blocks}-1))"
    return dataclasses.field(default=None, metadata={"help": words})


@dataclasses.dataclass(frozen=True)
class Convolutional(GridCode):
    """Convolutional code: parity p adds block j moved down by j p sub-blocks, p = 0 .. n-k-1.

    A block has q = Delta / k sub-blocks, Delta = (s-1)(k-1) / (gamma - 1/k) rounded and raised to
    a multiple of k, s = n - k. For products, A and B have sub-blocks of their own, parity p
    multiplies parity p of A by parity p of B, and worker i < k multiplies plain blocks.

    Parameters
    ----------
    gamma, gammaA, gammaB : Fraction, optional
        Largest share of A (of A and B in products) that one worker holds, above 1/k.
    coefficients : str
        ``ones``, which peeling decodes, or ``random`` standard Gaussian ones.
    seed : int
        Names the draw of the random coefficients.

    Examples
    --------
    >>> code = Convolutional(6, 2, gamma=Fraction(1, 3))
    >>> code.subblocks(4, code.gamma)
    9
    """

    gamma: Fraction | None = storage_field("A", "k")
    gammaA: Fraction | None = storage_field("A in products", "kA")
    gammaB: Fraction | None = storage_field("B in products", "kB")
    coefficients: Literal["ones", "random"] = dataclasses.field(  # type: ignore[assignment]
        default="ones", metadata={"help": "coefficients of the parities"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})

    name: ClassVar[str] = "convolutional"
    family: ClassVar[str] = "shift-add"
    source: ClassVar[str] = "Das, Ramamoorthy, Vaswani, arXiv:1907.08064"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "systematic", "sparse"})

    def validate(self) -> None:
        """Raise InputError for a bad k, seed or storage share."""
        super().validate()
        self.require(seed=0)
        left, _, right = self.layout
        for key, count in (("gamma", self.blocks), ("gammaA", left), ("gammaB", right)):
            value = getattr(self, key)
            if value is not None and not Fraction(1, count) < value:
                raise InputError(f"{self.name}: {key}={value}; allowed is above 1/{count}")

    def subblocks(self, count: int, gamma: Fraction | None) -> int:
        """Sub-blocks q of each of `count` blocks for a storage share gamma."""
        parities = self.n - self.blocks
        if count == 1 or parities < 2:
            return 1
        share = Fraction(1, count - 1) if gamma is None else gamma
        delta = round((parities - 1) * (count - 1) / (share - Fraction(1, count)))
        return max(1, -(-delta // count))

    @functools.cached_property
    def weights(self) -> Array:
        """Coefficients of the parities, shape (n, k): of every block that a worker holds."""
        if self.coefficients == "ones":
            return np.ones((self.n, self.blocks))
        drawn = stream("code convolutional", self.seed, self.n, self.blocks)
        weights = drawn.standard_normal((self.n, self.blocks))
        weights[: self.blocks] = 1.0
        return weights

    @property
    def table(self) -> Array:
        """Shifts t[i, j] in sub-blocks, -1 where worker i does not hold block j."""
        return shift_table("systematic", self.n, self.blocks)

    @functools.cached_property
    def expanded(self) -> tuple[Array, Array]:
        """The generator over sub-blocks, and the worker of each row."""
        return self._written_out("gamma", self.table, self.weights)

    def _written_out(self, key: str, table: Array, weights: Array) -> tuple[Array, Array]:
        """See `expand`; `key` names the storage share on which the number of sub-blocks rests."""
        count, gamma = table.shape[1], getattr(self, key)
        length = self.subblocks(count, gamma)
        if count * length > DENSE_LIMIT:
            raise InputError(
                f"{self.name}: {key}={gamma or f'1/{count - 1}'} cuts {count} blocks into "
                f"{count * length} sub-blocks; allowed are {DENSE_LIMIT}, with a larger {key}"
            )
        return expand(table, weights, length)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows of all workers, sub-blocks of all blocks."""
        rows, columns = self.expanded[0].shape
        return rows, columns

    @property
    def owner(self) -> Array:
        """The worker of each row."""
        return self.expanded[1]

    @functools.cached_property
    def generator(self) -> Coefficients:
        """The generator over sub-blocks, exactly."""
        return Coefficients.from_array(self.expanded[0])

    @functools.cached_property
    def _factors(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        left, _, right = self.layout
        plain = np.arange(left * right)
        found: list[tuple[Array, Array]] = []
        for key, count, block in (
            ("gammaA", left, plain // right),
            ("gammaB", right, plain % right),
        ):
            table = np.full((self.n, count), ABSENT)
            table[plain, block] = 0
            table[left * right :] = np.outer(np.arange(self.n - left * right), np.arange(count))
            weights = np.ones((self.n, count))
            if self.coefficients == "random":
                drawn = stream(f"code convolutional {key}", self.seed, self.n, count)
                weights[left * right :] = drawn.standard_normal((self.n - left * right, count))
            found.append(self._written_out(key, table, weights))
        return found[0], found[1]

    @property
    def subdivision(self) -> tuple[int, int]:
        """Sub-blocks of every piece of A and of B."""
        left, _, right = self.layout
        return self.subblocks(left, self.gammaA), self.subblocks(right, self.gammaB)

    @property
    def shares(self) -> tuple[Array, Array]:
        """The worker of every share."""
        return self._factors[0][1], self._factors[1][1]

    def factors(self, bits: int) -> tuple[Any, Any]:
        """Both generators over sub-blocks, exactly."""
        return self._factors[0][0], self._factors[1][0]


def expand(table: Array, weights: Array, length: int) -> tuple[Array, Array]:
    """A shift table over blocks of `length` sub-blocks, written out as a matrix.

    Parameters
    ----------
    table : int array, shape (n, k)
        Shifts, -1 for a block that the worker does not hold.
    weights : float64 array, shape (n, k)
    length : int

    Returns
    -------
    matrix : float64 array, shape (rows, k * length)
        Worker i sends length + (its longest shift) rows.
    owner : int array, shape (rows,)

    Examples
    --------
    >>> expand(np.array([[0, 1]]), np.ones((1, 2)), 2)[0]
    array([[1., 0., 0., 0.],
           [0., 1., 1., 0.],
           [0., 0., 0., 1.]])
    """
    n, k = table.shape
    whole = Toeplitz(table.astype(np.int32)).to_dense(length)
    owner, position = np.divmod(np.arange(len(whole)), len(whole) // n)
    sent = position < length + longest_shifts(table)[owner]
    block = np.arange(k * length) // length
    return whole[sent] * weights[owner[sent]][:, block], owner[sent]
