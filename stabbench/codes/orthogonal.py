"""Codes for products in orthogonal polynomials: OrthoPoly, its shifted variant, OrthoMatDot."""

import dataclasses
import functools
from typing import Any, ClassVar

import flint

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.aligned import InnerProducts
from stabbench.codes.interpolation import Interpolated, column
from stabbench.codes.nodes import nodes
from stabbench.codes.polynomial import T0, Noded
from stabbench.codes.product import GridProducts


@dataclasses.dataclass(frozen=True)
class ChebyshevProducts(GridProducts, Noded):
    """A worker multiplies the sum of A_i T_d(i)(x) by the sum of B_l T_e(l)(x)."""

    shift: ClassVar[int] = 0
    family: ClassVar[str] = "orthogonal"

    @property
    def constant(self) -> str:
        """What stands for T_0 in both factors."""
        return "1"

    def factors(self, bits: int) -> tuple[Any, Any]:
        """T_(i + shift) for A and T_(kA (l + shift)) for B."""
        left, _, right = self.layout
        low = [i + self.shift for i in range(left)]
        high = [left * (i + self.shift) for i in range(right)]
        return (
            self.chebyshev(low, self.constant, bits),
            self.chebyshev(high, self.constant, bits),
        )


@dataclasses.dataclass(frozen=True)
class OrthoPoly(ChebyshevProducts):
    """OrthoPoly code: T_i for A, T_(kA l) for B; any kA kB of the products determine all.

    Parameters
    ----------
    t0 : str
        The constant that stands for T_0 in both factors: 1, 1/sqrt2 or 1/2.

    Examples
    --------
    >>> left, right = OrthoPoly(4, 0, t0="1/2").generators
    >>> left.rounded("float64")[:, 0].tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    t0: T0 = dataclasses.field(default="1/sqrt2", metadata={"help": "the constant T_0"})

    name: ClassVar[str] = "orthopoly"
    source: ClassVar[str] = "Fahim, Cadambe, IEEE TIT 2021, arXiv:1903.08326"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "orthogonal"})

    @property
    def constant(self) -> str:
        """The parameter t0."""
        return self.t0


@dataclasses.dataclass(frozen=True)
class ShiftedOrthoPoly(ChebyshevProducts):
    """The variant without T_0: T_(i+1) for A, T_(kA (l+1)) for B; some survivor sets may fail.

    Examples
    --------
    >>> ShiftedOrthoPoly(6, 2, kA=2, kB=2).generators[0].shape
    (6, 2)
    """

    shift: ClassVar[int] = 1

    name: ClassVar[str] = "orthopoly-shifted"
    source: ClassVar[str] = "data of Ramamoorthy, Tang, arXiv:1910.06515"
    groups: ClassVar[frozenset[str]] = frozenset({"orthogonal"})


@dataclasses.dataclass(frozen=True)
class OrthoMatDot(InnerProducts, Interpolated):
    """OrthoMatDot code: sums of A_i q_i(x) and B_i q_i(x), q_0 = 1/sqrt 2, q_i = T_i.

    The product of the two polynomials has degree 2p - 2; C is 2/p times the sum of its values at
    the zeros of T_p, which is sqrt 2 times its coefficient of q_0.

    Examples
    --------
    >>> OrthoMatDot(7, 2).threshold
    5
    """

    kronecker: ClassVar[bool] = False

    name: ClassVar[str] = "orthomatdot"
    family: ClassVar[str] = "orthogonal"
    source: ClassVar[str] = "Fahim, Cadambe, IEEE TIT 2021, arXiv:1903.08326"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "orthogonal"})

    def factors(self, bits: int) -> tuple[Any, Any]:
        """The same generator for both factors."""
        rows = self.chebyshev(range(self.layout.inner), "1/sqrt2", bits)
        return rows, rows

    @property
    def unknowns(self) -> int:
        """Coefficients of the product polynomial in q_0 .. q_(2p-2)."""
        return 2 * self.layout.inner - 1

    def replies(self, bits: int) -> Any:
        """Values q_t(x_i)."""
        return self.chebyshev(range(self.unknowns), "1/sqrt2", bits)

    @functools.cached_property
    def target(self) -> Coefficients | None:
        """Sqrt 2 times the coefficient of q_0."""
        unknowns = self.unknowns

        def row(bits: int) -> Any:
            with flint.ctx.workprec(bits):
                return [[flint.arb(2).sqrt(), *[0] * (unknowns - 1)]]

        return Coefficients(row, (1, unknowns), complex=False)

    @functools.cached_property
    def alphas(self) -> Coefficients:
        """The nodes."""
        return column(self.points, self.n, self.is_complex)

    @functools.cached_property
    def betas(self) -> Coefficients:
        """The zeros of T_p."""
        count = self.layout.inner
        return column(lambda bits: nodes("chebyshev", count, bits), count, False)

    @property
    def reduction(self) -> float | None:
        """C is 2/p times the sum of the values at the zeros of T_p."""
        return 2 / self.layout.inner

    @property
    def threshold(self) -> int | None:
        """Replies that suffice, 2p - 1."""
        return self.unknowns
