"""Deterministic codes with structure of their own: DCT columns, Cauchy, rotation matrices."""

import dataclasses
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, ClassVar, Literal

import flint

from stabbench.codes.base import LinearCode
from stabbench.codes.nodes import nodes
from stabbench.codes.product import GridCode


@dataclasses.dataclass(frozen=True)
class Dct(LinearCode):
    """The first k columns of the orthonormal DCT-II: G[i, j] = c_j cos(pi j (2i+1) / 2n).

    Examples
    --------
    >>> Dct(4, 2).generator.rounded("float64")[:, 0].tolist()
    [0.5, 0.5, 0.5, 0.5]
    """

    name: ClassVar[str] = "dct"
    family: ClassVar[str] = "structured"
    source: ClassVar[str] = "Strang, The discrete cosine transform, SIAM Review 41, 1999"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "orthogonal"})

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Row n - 1 - i is row i with the signs of the odd columns changed."""
        return "reflection"

    def coefficients(self, bits: int) -> Any:
        """Scaled cosines; c_0 = sqrt(1/n), c_j = sqrt(2/n)."""
        n = self.n
        with flint.ctx.workprec(bits):
            first, other = (flint.arb(flint.fmpq(c, n)).sqrt() for c in (1, 2))
            return [
                [
                    (other if j else first)
                    * flint.arb.cos_pi_fmpq(flint.fmpq(j * (2 * i + 1), 2 * n))
                    for j in range(self.blocks)
                ]
                for i in range(n)
            ]


@dataclasses.dataclass(frozen=True)
class Cauchy(LinearCode):
    """Cauchy code G[i, j] = 1 / (x_i - y_j): every square submatrix is nonsingular.

    Parameters
    ----------
    nodes : str
        ``chebyshev``: n + k Chebyshev points, k of them, evenly spread, are the y_j;
        ``integers``: x_i = i + 1, y_j = -j, the Hilbert matrix.

    Examples
    --------
    >>> Cauchy(3, 1, nodes="integers").generator.rounded("float64")[1].tolist()
    [0.5, 0.3333333333333333]
    """

    nodes: Literal["chebyshev", "integers"] = dataclasses.field(
        default="chebyshev", metadata={"help": "points x_i and y_j"}
    )

    name: ClassVar[str] = "cauchy"
    family: ClassVar[str] = "structured"
    source: ClassVar[str] = "Higham, Accuracy and Stability of Numerical Algorithms, section 28.1"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real"})

    def coefficients(self, bits: int) -> Any:
        """Reciprocals of differences."""
        n, k = self.n, self.blocks
        if self.nodes == "integers":
            return [[Fraction(1, i + j + 1) for j in range(k)] for i in range(n)]
        with flint.ctx.workprec(bits):
            points = nodes("chebyshev", n + k, bits)
            data = [(2 * j + 1) * (n + k) // (2 * k) for j in range(k)]
            workers = sorted(set(range(n + k)) - set(data))
            return [[1 / (points[i] - points[j]) for j in data] for i in workers]


@dataclasses.dataclass(frozen=True)
class Rotation(GridCode):
    """Powers of a rotation by 2 pi / n as 2 x 2 blocks: real arithmetic, the unit circle's kappa.

    Every data block is cut into two sub-blocks and every worker sends two rows; block (i, j) of
    the generator is R^(ij). For products, A is coded with R^(kB i j) and B with R^(i l), and a
    worker multiplies its two sub-blocks of A by its two of B.

    Examples
    --------
    >>> Rotation(4, 2).generator.rounded("float64")[2:4].tolist()
    [[1.0, 0.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0]]
    """

    name: ClassVar[str] = "rotation"
    family: ClassVar[str] = "structured"
    source: ClassVar[str] = "Ramamoorthy, Tang, IEEE TIT 2022, arXiv:1910.06515"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "cyclic"})

    @property
    def shape(self) -> tuple[int, int]:
        """Two rows per worker, two sub-blocks per data block."""
        return 2 * self.n, 2 * self.blocks

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Turning all workers multiplies every block column by a rotation."""
        return "dihedral"

    def coefficients(self, bits: int) -> Any:
        """Cosines and sines of ij turns, reduced modulo n before rounding."""
        return self.rotations(range(self.blocks), bits)

    @property
    def subdivision(self) -> tuple[int, int]:
        """Two sub-blocks of every piece."""
        return 2, 2

    def factors(self, bits: int) -> tuple[Any, Any]:
        """R^(kB i j) and R^(i l)."""
        left, _, right = self.layout
        steps = range(0, left * right, right)
        return self.rotations(steps, bits), self.rotations(range(right), bits)

    def rotations(self, exponents: Iterable[int], bits: int) -> list[list[Any]]:
        """Blocks R^(i e), two rows for every worker i and two columns for every exponent e."""
        n = self.n
        with flint.ctx.workprec(bits):
            turns = [flint.fmpq(2 * p, n) for p in range(n)]
            table = [(flint.arb.cos_pi_fmpq(t), flint.arb.sin_pi_fmpq(t)) for t in turns]
            rows = []
            for i in range(n):
                pairs = [table[i * e % n] for e in exponents]
                rows.append([x for c, s in pairs for x in (c, -s)])
                rows.append([x for c, s in pairs for x in (s, c)])
            return rows
