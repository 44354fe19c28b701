"""Ye and Abbe's codes: cyclic placement, replies n - s of which determine m sums."""

import dataclasses
import functools
from typing import Any, ClassVar, Literal

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import (
    GradientCode,
    constant,
    cyclic_placement,
    load_field,
    reduction_field,
    settle_load,
)
from stabbench.codes.gradient.parts import Part
from stabbench.codes.nodes import nodes, root_of_unity
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
Variant = Literal["vandermonde", "gaussian", "chebyshev", "roots-of-unity"]


@dataclasses.dataclass(frozen=True)
class YeAbbe(GradientCode):
    """Any V (N x n), N = n - d + m, whose windows are nonsingular, as a gradient code.

    Q holds m rows of V, T the others. For partition i, held by all workers but the window
    W = i+1 .. i+n-d, the coefficients are C_i = S_i T + Q with S_i = -Q[:, W] T[:, W]^-1, which
    vanish on W; D_F = the columns of V_F^-1 that belong to the rows Q.

    Parameters
    ----------
    variant : str
        ``vandermonde`` (the paper's, at nodes 1, 1.5, .., -1, -1.5, ..), ``gaussian`` (the
        paper's random variant), ``chebyshev`` polynomials at Chebyshev nodes, ``roots-of-unity``.
    d, m : int, optional
        Load and reduction; m = 1 and d = s + m unless given.
    target : str
        Which rows of V are Q: ``edge``, the last m, or ``middle``.
    encoder : str
        ``exact``: coefficients are computed exactly and rounded once; ``float``: in float64, as
        published code does it.
    seed : int
        The draw of ``gaussian``.

    Raises
    ------
    InputError
        Unless 1 <= m <= d - s, d <= n; a window of T that is singular.

    Examples
    --------
    >>> code = YeAbbe(3, 1, m=1)
    >>> code.placement.astype(int).tolist()
    [[1, 1, 0], [0, 1, 1], [1, 0, 1]]
    >>> code.encoding.rounded("float64")[0]
    array([2., 1., 0.])
    """

    variant: Variant = dataclasses.field(
        default="vandermonde", metadata={"help": "the matrix V behind the code"}
    )
    d: int | None = load_field()
    m: int | None = reduction_field()
    target: Literal["edge", "middle"] = dataclasses.field(
        default="edge", metadata={"help": "which coefficients hold the sum"}
    )
    encoder: Literal["exact", "float"] = dataclasses.field(
        default="exact", metadata={"help": "arithmetic of the encoder's construction"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the draw of gaussian"})

    name: ClassVar[str] = "ye-abbe"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Ye, Abbe, arXiv:1802.03475"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient", "cyclic"})

    def validate(self) -> None:
        """Raise InputError for contradicting sizes."""
        self.require(seed=0)
        settle_load(self, self.d, self.m)

    @property
    def load(self) -> int:
        """Partitions per worker."""
        return settle_load(self, self.d, self.m)[0]

    @property
    def reduction(self) -> int:
        """Entries of a piece."""
        return settle_load(self, self.d, self.m)[1]

    @property
    def height(self) -> int:
        """N, the rows of V and the replies that suffice."""
        return self.n - self.load + self.reduction

    @property
    def threshold(self) -> int:
        """N replies suffice."""
        return self.height

    @property
    def is_complex(self) -> bool:
        """Whether V is complex."""
        return self.variant == "roots-of-unity"

    @functools.cached_property
    def placement(self) -> Array:
        """Cyclic."""
        return cyclic_placement(self.n, self.load)

    @property
    def chosen(self) -> list[int]:
        """The rows of V that are Q."""
        N, m = self.height, self.reduction
        first = N - m if self.target == "edge" else (N - m) // 2
        return list(range(first, first + m))

    def transposed(self, bits: int) -> Any:
        """V, transposed: row j belongs to worker j."""
        n, N = self.n, self.height
        if self.variant == "gaussian":
            draw = stream("code ye-abbe", self.seed, n, N).standard_normal((N, n))
            return draw.T.tolist()
        if self.variant == "chebyshev":
            turns = [[flint.fmpq((2 * j + 1) * k, 2 * n) for k in range(N)] for j in range(n)]
            return [[flint.arb.cos_pi_fmpq(turn) for turn in row] for row in turns]
        if self.variant == "roots-of-unity":
            return [[root_of_unity(j * k, n) for k in range(N)] for j in range(n)]
        return [[x**k for k in range(N)] for x in nodes("half-step", n, bits)]

    @functools.cached_property
    def matrix(self) -> Coefficients:
        """V^T, n x N."""
        return Coefficients(self.transposed, (self.n, self.height), complex=self.is_complex)

    def coefficients(self, bits: int) -> Any:
        """C^T, rational where V is."""
        if self.encoder == "float":
            return self.in_float64()
        extra = bits + 8 * self.n
        with flint.ctx.workprec(extra):
            V: Any
            if self.matrix.is_rational and not self.is_complex:
                V = self.matrix.rational()[0].transpose()
            else:
                V = self.matrix.balls(extra).transpose()
            rows = V.tolist()
            Q = [rows[k] for k in self.chosen]
            T = [rows[k] for k in range(self.height) if k not in self.chosen]
            if self.variant == "roots-of-unity":
                return self._masked(self._rotated(self._combined(type(V), T, Q, 0)))
            return self._masked([self._combined(type(V), T, Q, i) for i in range(self.n)])

    def _rotated(self, first: Any) -> list[Any]:
        """All C_i from C_0: a window further on multiplies row q of V by w^q."""
        n = self.n
        return [
            [
                [root_of_unity(i * q, n) * row[(j - i) % n] for j in range(n)]
                for q, row in zip(self.chosen, first, strict=True)
            ]
            for i in range(n)
        ]

    def window(self, i: int) -> list[int]:
        """The workers that do not hold partition i."""
        return [(i + q) % self.n for q in range(1, self.n - self.load + 1)]

    def _combined(self, kind: Any, T: Any, Q: Any, i: int) -> Any:
        """C_i, m x n."""
        W = self.window(i)
        if not W:
            return Q
        left = kind([[row[j] for row in T] for j in W])
        right = kind([[-row[j] for row in Q] for j in W])
        try:
            S = left.solve(right).transpose()
        except ZeroDivisionError:
            raise InputError(
                f"{self.spec}: the window of workers {W} is singular; try another target"
            ) from None
        return (S * kind(T) + kind(Q)).tolist()

    def _masked(self, blocks: Any) -> Any:
        """C^T from the C_i; what a worker does not hold is zero for certain."""
        held = self.placement
        return [
            [
                blocks[i][u][j] if held[j, i] else 0
                for i in range(self.n)
                for u in range(self.reduction)
            ]
            for j in range(self.n)
        ]

    def in_float64(self) -> Array:
        """C^T as published code computes it: every step in float64."""
        V = self.matrix.rounded("float64").T
        if self.variant == "vandermonde" and self.target == "edge":
            blocks = [self._recursion(V, i) for i in range(self.n)]
        else:
            chosen = self.chosen
            Q, T = V[chosen], np.delete(V, chosen, axis=0)
            blocks = [self._solved(T, Q, self.window(i)) for i in range(self.n)]
        return np.array(self._masked(blocks))

    def _recursion(self, V: Array, i: int) -> Array:
        """B_i V by the recursion of the polynomials p_i^(u), section III of the paper."""
        first = np.ones(1)
        for j in self.window(i):
            first = np.convolve(first, [1.0, -V[1, j]])
        polynomials = [first]
        lead = self.n - self.load - 1
        for _ in range(1, self.reduction):
            last = polynomials[-1]
            shifted = np.append(last, 0.0)
            top = last[len(last) - 1 - lead] if lead >= 0 else 0.0
            tail = np.zeros(len(shifted))
            tail[len(shifted) - len(first) :] = first
            polynomials.append(shifted - top * tail)
        rows = np.zeros((self.reduction, self.height))
        for u, polynomial in enumerate(polynomials):
            rows[u, : len(polynomial)] = polynomial[::-1]
        return rows @ V

    def _solved(self, T: Array, Q: Array, W: list[int]) -> Array:
        if not W:
            return Q
        S = -np.linalg.solve(T[:, W].T, Q[:, W].T).T
        return S @ T + Q

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """All workers, with V^T and the rows of the identity that Q names."""
        unit = np.eye(self.height, dtype=int)[self.chosen]
        return (Part(np.arange(self.n), self.matrix, constant(unit.tolist())),)
