"""Polynomial codes: the data blocks are coefficients, a worker holds a value of the polynomial."""

import dataclasses
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import flint

from stabbench.codes import nodes as points
from stabbench.codes.base import Code, LinearCode
from stabbench.codes.nodes import Nodes
from stabbench.codes.product import GridCode

T0 = Literal["1", "1/sqrt2", "1/2"]


def t0_value(t0: str) -> Any:
    """The constant T_0, exact or as a ball at the current precision."""
    if t0 == "1/sqrt2":
        return 1 / flint.arb(2).sqrt()
    return Fraction(t0)


def chebyshev_values(x: Any, count: int) -> list[Any]:
    """T_0(x) .. T_{count-1}(x) by the three-term recurrence.

    Examples
    --------
    >>> chebyshev_values(2, 4)
    [1, 2, 7, 26]
    """
    values = [x * 0 + 1, x]
    while len(values) < count:
        values.append(2 * x * values[-1] - values[-2])
    return values[:count]


def node_field(default: str = "chebyshev") -> Any:
    """The field of the parameter `nodes`."""
    return dataclasses.field(default=default, metadata={"help": "evaluation points"})


@dataclasses.dataclass(frozen=True)
class Noded(Code):
    """A code whose workers are evaluation points.

    Parameters
    ----------
    nodes : str
        The family of evaluation points, see `stabbench.codes.nodes.nodes`.
    file : str, optional
        The file of ``nodes=custom``.
    """

    nodes: Nodes = node_field()
    file: str | None = dataclasses.field(
        default=None, metadata={"help": "file of nodes=custom, n distinct numbers"}
    )

    def validate(self) -> None:
        """Raise InputError for a bad k, or nodes that do not exist."""
        super().validate()
        points.check(self.name, self.nodes, self.n, self.file_of("file"))

    @property
    def is_complex(self) -> bool:
        """Whether the nodes are complex."""
        return points.is_complex(self.nodes, self.file_of("file"))

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Nodes that are symmetric about zero; for powers, also the roots of unity."""
        return "reflection" if self.nodes in ("equispaced", "chebyshev") else None

    def points(self, bits: int) -> list[Any]:
        """The n evaluation points, exact or as balls of `bits` bits."""
        return points.nodes(self.nodes, self.n, bits, self.file_of("file"))

    def powers(self, exponents: Sequence[int], bits: int) -> list[list[Any]]:
        """Powers of every node; those of roots of unity are reduced before they are rounded."""
        with flint.ctx.workprec(bits):
            if self.nodes == "roots-of-unity":
                return [
                    [points.root_of_unity(i * e, self.n) for e in exponents] for i in range(self.n)
                ]
            return [[x**e for e in exponents] for x in self.points(bits)]

    def chebyshev(self, degrees: Sequence[int], t0: str, bits: int) -> list[list[Any]]:
        """Chebyshev polynomials of some degrees at every node, with T_0 replaced by t0."""
        with flint.ctx.workprec(bits):
            constant = t0_value(t0)
            if self.nodes == "chebyshev":
                turns = [flint.fmpq(2 * i + 1, 2 * self.n) for i in range(self.n)]
                return [
                    [flint.arb.cos_pi_fmpq(d * turn) if d else constant for d in degrees]
                    for turn in turns
                ]
            tables = [chebyshev_values(x, max(degrees, default=0) + 1) for x in self.points(bits)]
            return [[values[d] if d else constant for d in degrees] for values in tables]


@dataclasses.dataclass(frozen=True)
class NodeCode(Noded, LinearCode):
    """A linear code whose workers are evaluation points."""


@dataclasses.dataclass(frozen=True)
class Polynomial(GridCode, NodeCode):
    """Polynomial code: worker i holds the sum over j of A_j x_i^j, and any k values suffice.

    For products, it holds the sum over l of B_l x_i^(kA l) too.

    Examples
    --------
    >>> Polynomial(3, 1, nodes="integers").generator.rounded("float64").tolist()
    [[1.0, 1.0], [1.0, 2.0], [1.0, 3.0]]
    """

    name: ClassVar[str] = "polynomial"
    family: ClassVar[str] = "polynomial"
    source: ClassVar[str] = "Yu, Maddah-Ali, Avestimehr, NIPS 2017, arXiv:1705.10464"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "monomial"})

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Turning all roots of unity multiplies the columns by phases."""
        return "dihedral" if self.nodes == "roots-of-unity" else super().symmetry

    def coefficients(self, bits: int) -> Any:
        """Powers of the nodes, x_i^j for j = 0..k-1."""
        return self.powers(range(self.blocks), bits)

    def factors(self, bits: int) -> tuple[Any, Any]:
        """Powers x_i^j and x_i^(kA l)."""
        left, _, right = self.layout
        steps = range(0, left * right, left)
        return self.powers(range(left), bits), self.powers(steps, bits)


@dataclasses.dataclass(frozen=True)
class ChebyshevBasis(NodeCode):
    """Polynomial code in the basis of Chebyshev polynomials: G[i, j] = T_j(x_i), T_0 = t0.

    Parameters
    ----------
    t0 : str
        The constant that stands for T_0: 1, 1/sqrt2 or 1/2.

    Examples
    --------
    >>> ChebyshevBasis(3, 0, nodes="integers").generator.rounded("float64").tolist()
    [[1.0, 1.0, 1.0], [1.0, 2.0, 7.0], [1.0, 3.0, 17.0]]
    """

    t0: T0 = dataclasses.field(default="1", metadata={"help": "the constant T_0"})

    name: ClassVar[str] = "chebyshev-basis"
    family: ClassVar[str] = "polynomial"
    source: ClassVar[str] = "Fahim, Cadambe, IEEE TIT 2021, arXiv:1903.08326"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "orthogonal"})

    def coefficients(self, bits: int) -> Any:
        """Values T_j(x_i), j = 0..k-1, with T_0 replaced by t0."""
        return self.chebyshev(range(self.blocks), self.t0, bits)
