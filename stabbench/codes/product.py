"""Codes for matrix products: two generators, the unknown sums of block products, what is wanted.

The left factor is cut into kA x p blocks, the right one into p x kB; families are in other files.
"""

import dataclasses
import functools
from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import Code, LinearCode, System
from stabbench.codes.kronecker import Kronecker, row_products
from stabbench.codes.operators import Dense
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


class Layout(NamedTuple):
    """How the two factors of C = A^T B are cut.

    Block (j, a) of the left factor has index j * left + a, block (j, b) of the right one
    j * right + b, and C[a, b], the sum over j of their products, has index a * right + b.
    """

    left: int
    inner: int
    right: int


@dataclasses.dataclass(frozen=True)
class ProductSystem(System):
    """A code for products at work.

    Attributes
    ----------
    pairs : int array, shape (rows, 2)
        Which left and which right share each reply multiplies.
    layout : Layout
    holders : tuple of int arrays
        The worker that holds each share, per factor.
    """

    pairs: Array = dataclasses.field(default_factory=lambda: np.zeros((0, 2), dtype=int))
    layout: Layout = Layout(1, 1, 1)
    holders: tuple[Array, ...] = ()

    def holder(self, operand: int) -> Array:
        """The worker that holds each share of an operand."""
        return self.holders[operand]


@dataclasses.dataclass(frozen=True)
class Products(Code):
    """What a code needs to serve matrix products; stands before the code's other classes.

    A subclass writes `layout` and `factors`; one whose unknowns are sums of block products writes
    `alignment`, or `replies` and `unknowns`, too.
    """

    problems: ClassVar[tuple[str, ...]] = ("matmul",)
    dense: ClassVar[bool] = True
    kronecker: ClassVar[bool] = True
    """Whether every block product is an unknown of its own."""

    @property
    @abstractmethod
    def layout(self) -> Layout:
        """The pieces (kA, p, kB) after defaults."""

    @abstractmethod
    def factors(self, bits: int) -> tuple[Any, Any]:
        """Rows of the two generators, entries exact or balls of `bits` bits.

        Shapes (left shares, p * kA * sub-blocks) and (right shares, p * kB * sub-blocks).
        """

    @property
    def factors_complex(self) -> bool:
        """Whether the generators are complex."""
        return bool(getattr(self, "is_complex", False))

    @property
    def subdivision(self) -> tuple[int, int]:
        """Sub-blocks of every left and of every right piece."""
        return 1, 1

    @property
    def shares(self) -> tuple[Array, Array]:
        """The worker of every left and of every right share."""
        return tuple(  # type: ignore[return-value]
            np.repeat(np.arange(self.n), parts) for parts in self.subdivision
        )

    @functools.cached_property
    def pairs(self) -> Array:
        """Shares that are multiplied, shape (rows, 2): all pairs of a worker's own shares."""
        left, right = self.shares
        return np.argwhere(left[:, None] == right[None, :])

    @property
    def alignment(self) -> Array:
        """Unknown to which each block product belongs, shape (left blocks, right blocks).

        The ideal products of two generators' entries are equal where the unknown is.
        """
        raise TypeError(f"{self.name} has no alignment")

    @property
    def unknowns(self) -> int:
        """Number of unknown blocks."""
        if self.kronecker:
            left, right = self.generators
            return left.shape[1] * right.shape[1]
        return int(self.alignment.max()) + 1

    @property
    def target(self) -> Coefficients | None:
        """What is wanted of the unknowns, None for all of them."""
        return None

    def replies(self, bits: int) -> Any:
        """The ideal reply map, shape (rows, unknowns), entries exact or balls."""
        left, right = (coefficients.rows(p) for coefficients, p in self._paired)
        with flint.ctx.workprec(bits):
            if left.is_rational and right.is_rational and not self.factors_complex:
                one, two = left.rational()[0], right.rational()[0]
            else:
                one, two = left.balls(bits), right.balls(bits)
            rows = row_products(one, two)
        if self.kronecker:
            return rows
        first = np.unique(self.alignment, return_index=True)[1]
        return [[row[at] for at in first] for row in rows]

    @functools.cached_property
    def generators(self) -> tuple[Coefficients, Coefficients]:
        """The two generators, exact or arbitrarily precise."""
        inner, subs, complex_ = self.layout.inner, self.subdivision, self.factors_complex
        counts = (self.layout.left, self.layout.right)
        made = [
            Coefficients(
                lambda bits, side=side: self.factors(bits)[side],  # type: ignore[misc]
                (len(self.shares[side]), inner * counts[side] * subs[side]),
                complex=complex_,
            )
            for side in (0, 1)
        ]
        return made[0], made[1]

    @property
    def _paired(self) -> Any:
        return zip(self.generators, self.pairs.T, strict=True)

    @functools.cached_property
    def product_system(self) -> ProductSystem:
        """Encoders, reply map and target for C = A^T B."""
        left, right = self.generators
        shape = (len(self.pairs), self.unknowns)
        ideal = Coefficients(self.replies, shape, complex=self.factors_complex)
        reply = Dense(ideal)
        if self.kronecker:
            reply = Kronecker(ideal, left, right, self.pairs)
        layout, subs = self.layout, self.subdivision
        return ProductSystem(
            (Dense(left), Dense(right)),
            reply,
            self.shares[0][self.pairs[:, 0]],
            target=self.target,
            pairs=self.pairs,
            layout=Layout(layout.left * subs[0], layout.inner, layout.right * subs[1]),
            holders=self.shares,
        )

    def system(self, problem: str = "matmul") -> System:
        """Encoders, reply map and target."""
        return self.product_system


def pieces(name: str, default: str = "from the most square factorisation") -> Any:
    """The field of kA or kB, the number of pieces of a factor; the default in words."""
    words = f"pieces of {name} (default: {default})"
    return dataclasses.field(default=None, metadata={"help": words})


@dataclasses.dataclass(frozen=True)
class GridProducts(Products):
    """Products with kA pieces of the left and kB of the right factor.

    Parameters
    ----------
    kA, kB : int, optional
        Absent, the most square factorisation of `pieces_wanted` with kA <= kB.
    """

    kA: int | None = pieces("A")
    kB: int | None = pieces("B")

    @property
    def pieces_wanted(self) -> int:
        """The number kA * kB that the defaults factorise."""
        return self.n - self.stragglers

    @property
    def inner(self) -> int:
        """Number of pieces of the inner dimension."""
        return 1

    @functools.cached_property
    def layout(self) -> Layout:
        """The pieces (kA, p, kB) after defaults.

        Raises
        ------
        InputError
            If kA or kB is below 1 or one of them alone does not divide what is wanted.
        """
        return grid_layout(self.name, (self.kA, self.kB), self.pieces_wanted, self.inner)

    def validate(self) -> None:
        """Raise InputError if kA and kB contradict each other or the number of replies."""
        super().validate()
        assert self.layout.left >= 1

    @property
    def threshold(self) -> int | None:
        """Replies that suffice: kA * kB for an MDS code with one unknown per worker."""
        return self.layout.left * self.layout.right


@dataclasses.dataclass(frozen=True)
class GridCode(GridProducts, LinearCode):
    """A linear code that serves products too, where its k blocks are the kA x kB products."""

    problems: ClassVar[tuple[str, ...]] = ("matvec", "matmul")

    @property
    def pieces_wanted(self) -> int:
        """The k data blocks."""
        return self.n - self.stragglers if self.k is None else self.k

    @property
    def blocks(self) -> int:
        """The number of data blocks, kA * kB where both are given."""
        if self.k is None and self.kA is not None and self.kB is not None:
            return self.kA * self.kB
        return self.pieces_wanted

    def validate(self) -> None:
        """Raise InputError if k, kA and kB contradict each other."""
        LinearCode.validate(self)
        super().validate()
        if self.k not in (None, self.layout.left * self.layout.right):
            raise InputError(
                f"{self.name}: k={self.k} is not kA * kB = {self.layout.left} * "
                f"{self.layout.right}; allowed is one of k and kA, kB"
            )

    def system(self, problem: str = "matvec") -> System:
        """The generator for matrix-vector products, both generators for matrix products."""
        return self.product_system if problem == "matmul" else LinearCode.system(self)


def grid_layout(
    name: str, given: tuple[int | None, int | None], total: int, inner: int = 1
) -> Layout:
    """The pieces (kA, p, kB): those given, the rest from the most square factorisation of `total`.

    Parameters
    ----------
    name : str
        Of the code, for messages.
    given : tuple of int or None
        kA and kB.
    total : int
    inner : int

    Raises
    ------
    InputError
        If kA or kB is below 1 or one of them alone does not divide `total`.

    Examples
    --------
    >>> grid_layout("code", (None, None), 12), grid_layout("code", (6, None), 12)
    (Layout(left=3, inner=1, right=4), Layout(left=6, inner=1, right=2))
    """
    for key, value in zip(("kA", "kB"), given, strict=True):
        if value is not None and value < 1:
            raise InputError(f"{name}: {key}={value}; allowed is an integer >= 1")
    left, right = given
    if left is not None and right is not None:
        return Layout(left, inner, right)
    known = left or right
    if known is None:
        known = left = most_square(total)
    if total % known:
        key, other = ("kA", "kB") if right is None else ("kB", "kA")
        raise InputError(
            f"{name}: {key}={known} does not divide {total}; allowed are its divisors, "
            f"or {other} given too"
        )
    return Layout(left or total // known, inner, right or total // known)


def most_square(total: int) -> int:
    """The largest divisor of `total` that is at most its square root.

    Examples
    --------
    >>> most_square(28), most_square(7)
    (4, 1)
    """
    return next(d for d in range(int(total**0.5 + 1e-9), 0, -1) if total % d == 0)


def selection(wanted: Any, unknowns: int) -> Coefficients:
    """A target that picks unknowns.

    Examples
    --------
    >>> selection([2], 3).rounded("float64")
    array([[0., 0., 1.]])
    """
    matrix = np.zeros((len(wanted), unknowns))
    matrix[np.arange(len(wanted)), wanted] = 1.0
    return Coefficients.from_array(matrix)
