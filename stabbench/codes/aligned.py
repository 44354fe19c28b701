"""Codes with a cut inner dimension: powers are such that the wanted sums align in one degree."""

import dataclasses
import functools
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.polynomial import Noded
from stabbench.codes.product import GridProducts, Layout, Products, selection
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


def inner_pieces(default: str = "(n - stragglers + 1) // 2") -> Any:
    """The field of p, the number of pieces of the inner dimension; the default in words."""
    words = f"pieces of the inner dimension (default {default})"
    return dataclasses.field(default=None, metadata={"help": words})


@dataclasses.dataclass(frozen=True)
class InnerProducts(Products, Noded):
    """Products of which only the inner dimension is cut.

    Parameters
    ----------
    p : int, optional
        Pieces of the inner dimension, (n - stragglers + 1) // 2 unless given.
    """

    p: int | None = inner_pieces()

    def validate(self) -> None:
        """Raise InputError if p is no number of pieces."""
        super().validate()
        self.require(p=1)

    @functools.cached_property
    def layout(self) -> Layout:
        """The factors in one row and one column of p blocks."""
        return Layout(1, (self.n - self.stragglers + 1) // 2 if self.p is None else self.p, 1)


@dataclasses.dataclass(frozen=True)
class AlignedCode(Products, Noded):
    """Block j, a of A is the coefficient of one power of x, block j, b of B of another.

    The unknowns are the coefficients of the product polynomial, degree 0 first.
    """

    kronecker: ClassVar[bool] = False

    @property
    @abstractmethod
    def degrees(self) -> tuple[Array, Array]:
        """The powers of the blocks of each factor, shapes (p, kA) and (p, kB)."""

    @property
    @abstractmethod
    def read(self) -> Array:
        """The degrees that hold the wanted blocks, shape (kA, kB)."""

    def factors(self, bits: int) -> tuple[Any, Any]:
        """Powers of the nodes."""
        left, right = (self.powers(d.ravel().tolist(), bits) for d in self.degrees)
        return left, right

    @property
    def alignment(self) -> Array:
        """The degree of every block product."""
        left, right = self.degrees
        return np.add.outer(left.ravel(), right.ravel())

    @property
    def target(self) -> Coefficients | None:
        """The wanted degrees."""
        return selection(self.read.ravel(), self.unknowns)

    @property
    def threshold(self) -> int | None:
        """Replies that suffice: the number of coefficients of the product polynomial."""
        return self.unknowns


@dataclasses.dataclass(frozen=True)
class MatDot(InnerProducts, AlignedCode):
    """MatDot code: A_i x^i, B_i x^(p-1-i); the product is the coefficient of x^(p-1).

    Examples
    --------
    >>> MatDot(4, 1, nodes="integers").product_system.encoders[1].coefficients.rounded("float64")
    array([[1., 1.],
           [2., 1.],
           [3., 1.],
           [4., 1.]])
    """

    name: ClassVar[str] = "matdot"
    family: ClassVar[str] = "aligned"
    source: ClassVar[str] = "Dutta, Fahim, Haddadpour, Jeong, Cadambe, Grover, arXiv:1801.10292"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "monomial"})

    @property
    def degrees(self) -> tuple[Array, Array]:
        """Ascending powers for A, descending ones for B."""
        powers = np.arange(self.layout.inner)[:, None]
        return powers, powers[::-1]

    @property
    def read(self) -> Array:
        """Degree p - 1."""
        return np.array([[self.layout.inner - 1]])


@dataclasses.dataclass(frozen=True)
class InnerCode(AlignedCode, GridProducts):
    """An aligned code whose outer dimensions are cut too.

    Parameters
    ----------
    p : int, optional
        Pieces of the inner dimension, 2 (1 where n - stragglers < 3) unless given.
    """

    p: int | None = inner_pieces("2, or 1 where n - stragglers < 3")

    def validate(self) -> None:
        """Raise InputError if p is no number of pieces, or leaves none of the outer ones."""
        if self.inner < 1 or self.pieces_wanted < 1:
            raise InputError(
                f"{self.name}: p={self.inner} with n={self.n}, stragglers={self.stragglers}; "
                f"allowed is p >= 1 that leaves a threshold up to {self.n - self.stragglers}"
            )
        super().validate()

    @property
    def inner(self) -> int:
        """The pieces of the inner dimension after defaults."""
        if self.p is not None:
            return self.p
        return 2 if self.n - self.stragglers >= 3 else 1


@dataclasses.dataclass(frozen=True)
class PolyDot(InnerCode):
    """PolyDot code: A_ja x^(a + m j), B_jb x^(m(p-1-j) + m(2p-1) b), m = kA.

    Examples
    --------
    >>> PolyDot(13, 1, kA=2, kB=2).threshold
    12
    """

    name: ClassVar[str] = "polydot"
    family: ClassVar[str] = "aligned"
    source: ClassVar[str] = "Dutta, Fahim, Haddadpour, Jeong, Cadambe, Grover, arXiv:1801.10292"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "monomial"})

    @property
    def pieces_wanted(self) -> int:
        """The largest kA * kB with threshold kA kB (2p - 1) <= n - s."""
        return (self.n - self.stragglers) // (2 * self.inner - 1)

    @property
    def degrees(self) -> tuple[Array, Array]:
        """The powers of A and B."""
        m, p, n = self.layout
        j = np.arange(p)[:, None]
        return np.arange(m) + m * j, m * (p - 1 - j) + m * (2 * p - 1) * np.arange(n)

    @property
    def read(self) -> Array:
        """Degrees a + m (p-1) + m (2p-1) b."""
        m, p, n = self.layout
        return np.add.outer(np.arange(m) + m * (p - 1), m * (2 * p - 1) * np.arange(n))


@dataclasses.dataclass(frozen=True)
class Entangled(InnerCode):
    """Entangled polynomial code: A_ja x^(j + a p), B_jb x^(p-1-j + b p m), m = kA.

    Examples
    --------
    >>> Entangled(10, 1, kA=2, kB=2).threshold
    9
    """

    name: ClassVar[str] = "entangled"
    family: ClassVar[str] = "aligned"
    source: ClassVar[str] = "Yu, Maddah-Ali, Avestimehr, IEEE TIT 2020, arXiv:1801.07487"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "monomial"})

    @property
    def pieces_wanted(self) -> int:
        """The largest kA * kB with threshold p kA kB + p - 1 <= n - s."""
        return (self.n - self.stragglers - self.inner + 1) // self.inner

    @property
    def degrees(self) -> tuple[Array, Array]:
        """The powers of A and B."""
        m, p, n = self.layout
        j = np.arange(p)[:, None]
        return j + p * np.arange(m), p - 1 - j + p * m * np.arange(n)

    @property
    def read(self) -> Array:
        """Degrees p-1 + a p + b p m."""
        m, p, n = self.layout
        return np.add.outer(p - 1 + p * np.arange(m), p * m * np.arange(n))
