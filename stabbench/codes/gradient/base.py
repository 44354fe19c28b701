"""What a gradient code is: who holds which partition, the coefficients, and how groups decode.

Each scheme writes placement, coefficients and parts; decoders and analyses need no more.
"""

import dataclasses
import functools
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.kernels import padded
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.sparse import combine_held
from stabbench.codes.base import Code, System
from stabbench.codes.gradient.parts import Derivation, Derived, Part, sum_target
from stabbench.codes.operators import Operator
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Held(Operator):
    """Replies as combinations of the partitions that their workers hold.

    Parameters
    ----------
    coefficients : Coefficients, rows x (K m)
        C^T; column i m + u belongs to entry u of a piece of partition i.
    placement : bool array, shape (rows, K)
        Which partitions enter which reply.
    reduction : int
        m, the entries of a piece.
    sizes : callable, optional
        From the length of a gradient to those of m consecutive segments; entry u of the pieces is
        then segment u. Without it a piece is m consecutive entries.
    """

    coefficients: Coefficients
    placement: Array
    reduction: int
    sizes: Callable[[int], list[int]] | None = None

    @property
    def rows(self) -> int:  # type: ignore[override]
        """Number of replies."""
        return self.coefficients.shape[0]

    @property
    def unknowns(self) -> int:  # type: ignore[override]
        """K m, the columns of the coefficients."""
        return self.coefficients.shape[1]

    @property
    def partitions(self) -> int:
        """K, the number of partial gradients."""
        return self.unknowns // self.reduction

    def apply(self, blocks: Array, precision: Precision) -> Array:
        """The replies, shape (rows, L, ...), of the unknowns (K m, L, ...) in coefficient order."""
        flat = blocks.reshape(self.partitions, self.reduction, -1)
        return self.combine(flat.swapaxes(1, 2), precision).reshape(self.rows, *blocks.shape[1:])

    def combine(self, vectors: Array, precision: Precision) -> Array:
        """The replies, shape (rows, L), of partial gradients cut to (K, L, m), in one walk."""
        matrix = self.coefficients.rounded(precision)
        dtype = precision.work_dtype(np.iscomplexobj(matrix) or np.iscomplexobj(vectors))
        coefficients = matrix.reshape(self.rows, self.partitions, self.reduction)
        sums = combine_held(coefficients, self.compressed, vectors, dtype)
        plain = precision.storage.holds(precision.work)
        return sums if plain else precision.store(sums)

    def cut(self, gradients: Array) -> Array:
        """Gradients (K, l) as pieces (K, L, m), padded with zeros."""
        return pieces(gradients, self.reduction) if self.sizes is None else segments(
            gradients, self.sizes(gradients.shape[1])
        )  # fmt: skip

    @functools.cached_property
    def compressed(self) -> tuple[Array, Array]:
        """The placement as compressed rows: starts and partitions."""
        start = np.concatenate([[0], np.cumsum(self.placement.sum(axis=1))])
        return start, np.nonzero(self.placement)[1]

    @property
    def summands(self) -> int:
        """Entries of a piece times the most partitions that enter one reply."""
        return int(self.placement.sum(axis=1).max()) * self.reduction

    def lengths(self, entries: int) -> Array:
        """Numbers of every entry u of the pieces for gradients of `entries` numbers, shape (m,).

        Examples
        --------
        >>> from stabbench.codes.registry import code
        >>> code("kadhe[d=5,m=3]", n=5, stragglers=2).system().reply.lengths(640).tolist()
        [214, 214, 214]
        """
        m = self.reduction
        sizes = [-(-entries // m)] * m if self.sizes is None else self.sizes(entries)
        return np.array(sizes)

    @functools.cached_property
    def combined(self) -> Array:
        """Partitions whose entry u enters each reply, int, shape (rows, m)."""
        held = self.coefficients.rounded("float64") != 0
        return np.asarray(held.reshape(self.rows, self.partitions, self.reduction).sum(axis=1))

    def sent(self, entries: int) -> Array:
        """Numbers of each reply for gradients of `entries` numbers: the longest u that enters it.

        Replies of entries that no gradient has are empty.

        Examples
        --------
        >>> from stabbench.codes.registry import code
        >>> code("block-coordinate", n=4, stragglers=2).system().reply.sent(100).tolist()[:2]
        [83, 17]
        """
        return np.asarray(np.where(self.combined > 0, self.lengths(entries), 0).max(axis=1))

    def overhead(self, length: int) -> Array:
        """The reduction m per partition held: a worker's share of the data is its load over K."""
        return np.asarray(self.placement.sum(axis=1) * float(self.reduction))


@dataclasses.dataclass(frozen=True)
class GradientCode(Code):
    """A code for the sum of K partial gradients; worker j sends l/m numbers of its own.

    y_j[v] = sum over i, u of C[(i, u), j] g_i[v m + u], and the weights D_F of survivors F give
    sum[v m + w] = sum over j in F of y_j[v] D_F[j, w].
    """

    problems: ClassVar[tuple[str, ...]] = ("gradient",)
    approximate: ClassVar[bool] = False
    """Whether the sum is only approximated, whatever the arithmetic."""
    rounded: ClassVar[bool] = False
    """Whether the sum is recovered to rounding alone, because the coefficients are rounded."""
    closed: ClassVar[str] = ""
    """The closed form of the weights, in words; empty where there is none."""

    @property
    def partitions(self) -> int:
        """K, the number of data partitions; n unless a scheme says otherwise."""
        return self.n

    @property
    def reduction(self) -> int:
        """m, the factor by which a reply is shorter than a gradient."""
        return 1

    @property
    def load(self) -> int:
        """d, the most partitions that one worker holds."""
        return int(self.holdings.sum(axis=1).max())

    @property
    def messages(self) -> int:
        """Messages that one worker sends, in order."""
        return 1

    @property
    def owner(self) -> Array:
        """The worker of each reply, shape (rows,); the messages of a worker follow each other."""
        return np.repeat(np.arange(self.n), self.messages)

    @property
    def holdings(self) -> Array:
        """Which partitions each worker holds, bool, shape (n, K)."""
        return np.asarray(self.placement.reshape(self.n, self.messages, -1).any(axis=1))

    @property
    def threshold(self) -> int | None:
        """Any n - s workers suffice."""
        return self.n - self.stragglers

    @property
    def tradeoff(self) -> str:
        """How the parameters stand to the bound d >= s + m of Ye and Abbe."""
        return tradeoff(self.load, self.stragglers, self.reduction)

    @property
    def is_complex(self) -> bool:
        """Whether the coefficients are complex numbers."""
        return False

    @property
    def allowed_error(self) -> float:
        """The largest ||D Phi_F - T|| of the ideal weights at which survivors decode."""
        return 0.0

    @property
    @abstractmethod
    def placement(self) -> Array:
        """Which partitions enter each reply, bool, shape (rows, K)."""

    @abstractmethod
    def coefficients(self, bits: int) -> Any:
        """C^T, entries exact or as balls of `bits` bits, shape (rows, K m)."""

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """The sets of replies that decode by themselves; none where they are `derived`."""
        return ()

    @functools.cached_property
    def derived(self) -> Derivation:
        """The parts that follow from the coefficients, for a scheme that gives none."""
        return Derived(self.spec, self.encoding, self.reduction)

    def stages(self, arrived: Array) -> list[tuple[Array, tuple[Part, ...]]]:
        """Which parts decode which patterns: pairs of pattern indices and parts.

        A pattern that no pair names does not determine the sum.
        """
        if self.parts:
            return [(np.arange(len(arrived)), self.parts)]
        return self.derived.stages(arrived)

    @functools.cached_property
    def sum_map(self) -> Coefficients:
        """T, from the entries of all pieces to those of the sum, shape (m, K m)."""
        return sum_target(self.partitions * self.reduction, self.reduction)

    @functools.cached_property
    def encoding(self) -> Coefficients:
        """C^T as exact or arbitrarily precise coefficients."""
        shape = self.placement.shape[0], self.partitions * self.reduction
        return Coefficients(self.coefficients, shape, complex=self.is_complex)

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """The scheme's own weights, shape (P, m, rows), computed in `dtype`.

        NaN where the replies of an exact code do not determine the sum.

        Parameters
        ----------
        arrived : bool array, shape (P, rows)
        dtype : dtype
            Real; the weights of complex codes are of its complex type.
        """
        raise TypeError(f"{self.name} has no closed form")

    def arrived(self, patterns: Array, counted: bool = False) -> Array:
        """Which replies arrive, bool, shape (P, rows).

        Parameters
        ----------
        patterns : int array, shape (P, n), or bool array, shape (P, rows)
            Messages of each worker that arrived; in a table of 0 and 1, 1 stands for all of them.
            A table of replies is given back.
        counted : bool
            Whether 1 is one message there, too.

        Examples
        --------
        >>> from stabbench.codes.registry import code
        >>> nested = code("nested", n=2, stragglers=1)
        >>> first = nested.arrived(np.ones((1, 2), dtype=int), counted=True)
        >>> first.tolist(), nested.arrived(first).tolist()
        ([[True, False, True, False]], [[True, False, True, False]])
        """
        if patterns.shape[1] == self.n * self.messages > self.n:
            return patterns > 0
        whole = not counted and patterns.max(initial=0) <= 1
        counts = patterns * self.messages if whole else patterns
        number = np.tile(np.arange(self.messages), self.n)
        return np.asarray(counts[:, self.owner] > number)

    def system(self, problem: str = "gradient") -> System:
        """The reply map, which is also what a worker does to the partitions that it holds."""
        operator = Held(self.encoding, self.placement, self.reduction)
        return System((operator,), operator, self.owner)


def pieces(gradients: Array, m: int) -> Array:
    """Cut rows of l entries into pieces of m: shape (K, ceil(l / m), m), padded with zeros.

    Examples
    --------
    >>> pieces(np.array([[1.0, 2.0, 3.0]]), 2).tolist()
    [[[1.0, 2.0], [3.0, 0.0]]]
    """
    count, entries = gradients.shape
    length = -(-entries // m)
    if length * m != entries:
        gradients = padded(gradients, (0, length * m - entries))
    return np.ascontiguousarray(gradients).reshape(count, length, m)


def segments(gradients: Array, sizes: list[int]) -> Array:
    """Cut rows into consecutive segments: shape (K, largest size, segments), padded with zeros.

    Examples
    --------
    >>> segments(np.array([[1.0, 2.0, 3.0]]), [1, 2]).tolist()
    [[[1.0, 2.0], [0.0, 3.0]]]
    """
    cut = np.zeros((len(gradients), max(sizes), len(sizes)), dtype=gradients.dtype)
    start = 0
    for u, size in enumerate(sizes):
        cut[:, :size, u] = gradients[:, start : start + size]
        start += size
    return cut


def tradeoff(d: int, s: int, m: int) -> str:
    """How load, stragglers and reduction stand to the bound d >= s + m, in words.

    Examples
    --------
    >>> tradeoff(5, 2, 3), tradeoff(7, 2, 4)
    ('d = 5 >= s + m = 5 (met with equality)', 'd = 7 >= s + m = 6 (1 above)')
    """
    words = "met with equality" if d == s + m else f"{d - s - m} above"
    return f"d = {d} >= s + m = {s + m} ({words})"


def cyclic_placement(n: int, load: int) -> Array:
    """Worker j holds partitions j .. j + load - 1 modulo n.

    Examples
    --------
    >>> cyclic_placement(3, 2).astype(int).tolist()
    [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    """
    held = np.zeros((n, n), dtype=bool)
    np.put_along_axis(held, (np.arange(n)[:, None] + np.arange(load)) % n, True, axis=1)
    return held


def settle_load(code: Code, d: int | None, m: int | None) -> tuple[int, int]:
    """Load d and reduction m after defaults: m = 1, d = s + m, or m = d - s where only d is given.

    Raises
    ------
    InputError
        Unless 1 <= m <= d - s and d <= n.
    """
    s = code.stragglers
    if m is None:
        m = 1 if d is None else d - s
    d = s + m if d is None else d
    if m < 1 or d < s + m:
        raise InputError(f"{code.name}: d={d}, m={m}, stragglers={s}; allowed is 1 <= m <= d - s")
    if d > code.n:
        raise InputError(f"{code.name}: d={d}; allowed is d <= n={code.n}")
    return d, m


def load_field() -> Any:
    """The field of the parameter d."""
    return dataclasses.field(
        default=None, metadata={"help": "partitions per worker (default s + m)"}
    )


def reduction_field() -> Any:
    """The field of the parameter m."""
    return dataclasses.field(
        default=None,
        metadata={"help": "reduction of a reply's length (default d - s, 1 without d)"},
    )


def entries(matrix: Coefficients, bits: int) -> list[list[Any]]:
    """The entries of a matrix: rationals where all are real and rational, else balls.

    Examples
    --------
    >>> entries(constant([[1, 2]]), 64)
    [[1, 2]]
    """
    if matrix.is_rational and not matrix.is_complex:
        return matrix.rational()[0].tolist()
    table: Any = matrix.balls(bits)
    return list(table.tolist())


def constant(rows: Any) -> Coefficients:
    """A small rational matrix as coefficients."""
    return Coefficients(lambda bits: rows, (len(rows), len(rows[0])))
