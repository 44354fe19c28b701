"""Lagrange coded computing and its Berrut variant: f of many blocks from f of their interpolant."""

import dataclasses
import functools
from fractions import Fraction
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes import nodes as points
from stabbench.codes.base import System, data_blocks
from stabbench.codes.interpolation import Interpolated, column
from stabbench.codes.operators import Dense
from stabbench.codes.polynomial import Noded
from stabbench.errors import InputError


@dataclasses.dataclass(frozen=True)
class FunctionSystem(System):
    """A code at work whose workers apply a function to their share.

    Attributes
    ----------
    degree : int, optional
        Degree of the functions that it serves; None for any.
    """

    degree: int | None = None


@dataclasses.dataclass(frozen=True)
class Lagrange(Interpolated, Noded):
    """Lagrange code: worker i holds u(alpha_i), u(z) = sum over j of X_j l_j(z), u(beta_j) = X_j.

    f(u(z)) has degree (K-1) deg f, so any (K-1) deg f + 1 replies determine it. Its unknown
    coefficients are those of monomials on roots of unity, of Chebyshev polynomials on other nodes.

    Parameters
    ----------
    k : int, optional
        Data blocks K, as many as n - stragglers replies allow unless given.
    degree : int
        Degree of f.
    systematic : bool
        Whether the betas are among the alphas, so that K workers hold plain blocks.

    Examples
    --------
    >>> Lagrange(7, 2, nodes="integers").threshold
    5
    """

    k: int | None = data_blocks("(n - stragglers - 1) // degree + 1")
    degree: int = dataclasses.field(default=2, metadata={"help": "degree of the function"})
    systematic: bool = dataclasses.field(
        default=False, metadata={"help": "plain blocks on k of the workers"}
    )

    name: ClassVar[str] = "lagrange"
    family: ClassVar[str] = "interpolation"
    source: ClassVar[str] = "Yu, Li, Raviv, Kalan, Soltanolkotabi, Avestimehr, arXiv:1806.00939"
    groups: ClassVar[frozenset[str]] = frozenset({"mds"})
    problems: ClassVar[tuple[str, ...]] = ("evaluate",)
    dense: ClassVar[bool] = True

    def validate(self) -> None:
        """Raise InputError for a bad k or degree."""
        super().validate()
        self.require(degree=1, k=1)
        if self.nodes == "custom" and self.is_complex and not self.systematic:
            raise InputError(f"{self.name}: complex custom nodes; allowed with systematic=true")

    @property
    def blocks(self) -> int:
        """The number K of data blocks after defaults."""
        if self.k is not None:
            return self.k
        return (self.n - self.stragglers - 1) // max(self.degree, 1) + 1

    @property
    def partitions(self) -> int:
        """The number of blocks into which the data are cut."""
        return self.blocks

    @property
    def threshold(self) -> int | None:
        """Replies that suffice, (K-1) deg f + 1."""
        return (self.blocks - 1) * self.degree + 1

    @property
    def places(self) -> list[int]:
        """The workers whose points are the betas of a systematic code, evenly spread."""
        return [(2 * j + 1) * self.n // (2 * self.blocks) for j in range(self.blocks)]

    @functools.cached_property
    def alphas(self) -> Coefficients:
        """The nodes."""
        return column(self.points, self.n, self.is_complex)

    @functools.cached_property
    def betas(self) -> Coefficients:
        """K of the nodes, or points between those that K workers would have."""
        return column(self.data_points, self.blocks, self.is_complex)

    def data_points(self, bits: int) -> list[Any]:
        """The K points at which u takes the data blocks."""
        with flint.ctx.workprec(bits):
            if self.systematic:
                return [self.points(bits)[i] for i in self.places]
            if self.nodes == "roots-of-unity":
                order = 2 * self.n * self.blocks
                return [points.root_of_unity(2 * self.n * j + 1, order) for j in range(self.blocks)]
            ends = sorted((as_ball(x) for x in self.points(bits)), key=float)
            low, high = ends[0], ends[-1]
            # irrational in units of the interval, so that they miss rational and Chebyshev nodes,
            # but for the middle one of an odd number, which is the middle node of an odd number
            turns = [flint.fmpq(4 * j + 3, 4 * self.blocks + 2) for j in range(self.blocks)]
            half = (high - low) / 2
            return [low + half * (1 + flint.arb.cos_pi_fmpq(t)) for t in turns]

    def encoding(self, bits: int) -> Any:
        """Lagrange polynomials l_j(alpha_i), unit rows where alpha_i is a beta."""
        with flint.ctx.workprec(bits):
            alphas, betas = self.points(bits), self.data_points(bits)
            if not all(isinstance(x, Fraction) for x in (*alphas, *betas)):
                alphas, betas = [as_ball(x) for x in alphas], [as_ball(x) for x in betas]
            plain = {i: j for j, i in enumerate(self.places)} if self.systematic else {}
            rows = []
            for i, alpha in enumerate(alphas):
                if i in plain:
                    rows.append([int(j == plain[i]) for j in range(self.blocks)])
                else:
                    rows.append([lagrange_value(betas, j, alpha) for j in range(self.blocks)])
            return rows

    def basis(self, places: Coefficients, bits: int) -> Any:
        """The basis of polynomials of degree (K-1) deg f at some points."""
        count = self.threshold or 1
        with flint.ctx.workprec(bits):
            values = [row[0] for row in places.balls(bits).tolist()]
            if self.is_complex:
                return [[x**e for e in range(count)] for x in values]
            rows = []
            for x in values:
                row = [x * 0 + 1, x]
                while len(row) < count:
                    row.append(2 * x * row[-1] - row[-2])
                rows.append(row[:count])
            return rows

    @functools.cached_property
    def function_system(self) -> FunctionSystem:
        """Encoder, map from the coefficients of f(u) to the replies, and values at the betas."""
        k, count = self.blocks, self.threshold or 1
        complex_ = self.is_complex
        encoder = Coefficients(self.encoding, (self.n, k), complex=complex_)
        reply = Coefficients(
            lambda bits: self.basis(self.alphas, bits), (self.n, count), complex=complex_
        )
        target = Coefficients(
            lambda bits: self.basis(self.betas, bits), (k, count), complex=complex_
        )
        return FunctionSystem(
            (Dense(encoder),), Dense(reply), np.arange(self.n), target, self.degree
        )

    def system(self, problem: str = "evaluate") -> System:
        """See `function_system`."""
        return self.function_system


@dataclasses.dataclass(frozen=True)
class Berrut(Interpolated):
    """Berrut approximated coded computing: u is Berrut's rational interpolant, decoding another.

    Data nodes cos((2j+1) pi / 2K), worker nodes cos(i pi / (n-1)), weights (-1)^i, which alternate
    anew over the sorted survivors. Any number of replies gives an approximation.

    Parameters
    ----------
    k : int, optional
        Data blocks K, (n - stragglers) // 4, at least 1, unless given.

    Examples
    --------
    >>> Berrut(9, 2, k=4).system().encoders[0].coefficients.shape
    (9, 4)
    """

    k: int | None = data_blocks("(n - stragglers) // 4, at least 1")

    name: ClassVar[str] = "berrut"
    family: ClassVar[str] = "interpolation"
    source: ClassVar[str] = "Jahani-Nezhad, Maddah-Ali, IEEE TSP 2023, arXiv:2009.08327"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "approximate"})
    problems: ClassVar[tuple[str, ...]] = ("evaluate",)
    rational: ClassVar[bool] = True

    def validate(self) -> None:
        """Raise InputError for a bad n or k."""
        if self.n < 2:
            raise InputError(f"{self.name}: n={self.n} workers; allowed is n >= 2")
        self.require(k=1)

    @property
    def blocks(self) -> int:
        """The number K of data blocks after defaults."""
        return max(1, (self.n - self.stragglers) // 4) if self.k is None else self.k

    @property
    def partitions(self) -> int:
        """The number of blocks into which the data are cut."""
        return self.blocks

    @property
    def threshold(self) -> int | None:
        """No number of replies makes it exact."""
        return None

    @functools.cached_property
    def alphas(self) -> Coefficients:
        """Chebyshev points of the second kind."""
        return column(lambda bits: cosines(self._worker_turns, bits), self.n, False)

    @functools.cached_property
    def betas(self) -> Coefficients:
        """Chebyshev points of the first kind."""
        return column(lambda bits: cosines(self._data_turns, bits), self.blocks, False)

    @property
    def _worker_turns(self) -> list[Any]:
        return [flint.fmpq(i, self.n - 1) for i in range(self.n)]

    @property
    def _data_turns(self) -> list[Any]:
        return [flint.fmpq(2 * j + 1, 2 * self.blocks) for j in range(self.blocks)]

    def encoding(self, bits: int) -> Any:
        """Berrut's basis at the worker nodes, unit rows where one is a data node."""
        data = self._data_turns
        with flint.ctx.workprec(bits):
            betas, rows = cosines(data, bits), []
            workers = self._worker_turns
            for turn, alpha in zip(workers, cosines(workers, bits), strict=True):
                if turn in data:
                    rows.append([int(turn == other) for other in data])
                    continue
                parts = [(-1) ** j / (alpha - beta) for j, beta in enumerate(betas)]
                total = sum(parts, start=flint.arb(0))
                rows.append([part / total for part in parts])
            return rows

    def system(self, problem: str = "evaluate") -> System:
        """The encoder; the replies are no linear map of unknowns, so it stands for that too."""
        return self._system

    @functools.cached_property
    def _system(self) -> FunctionSystem:
        encoder = Dense(Coefficients(self.encoding, (self.n, self.blocks)))
        return FunctionSystem((encoder,), encoder, np.arange(self.n))


def as_ball(x: Any) -> Any:
    """A point as a ball at the current precision."""
    if isinstance(x, Fraction):
        return flint.arb(flint.fmpq(x.numerator, x.denominator))
    return flint.acb(x) if isinstance(x, complex) else x


def cosines(turns: list[Any], bits: int) -> list[Any]:
    """cos(pi t) as balls, exact where it is 0 or +-1."""
    with flint.ctx.workprec(bits):
        return [flint.arb.cos_pi_fmpq(turn) for turn in turns]


def lagrange_value(nodes: list[Any], j: int, x: Any) -> Any:
    """The Lagrange polynomial of node j at x.

    Examples
    --------
    >>> lagrange_value([0, 1, 2], 1, flint.fmpq(1, 2))
    3/4
    """
    value = x * 0 + 1
    for m, node in enumerate(nodes):
        if m != j:
            value = value * (x - node) / (nodes[j] - node)
    return value
