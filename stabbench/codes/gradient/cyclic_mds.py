"""Cyclic MDS codes from consecutive roots of unity."""

import dataclasses
import functools
from typing import Any, ClassVar, Literal

import flint
import numpy as np

from stabbench.arithmetic import dense
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import precision
from stabbench.codes.gradient.base import GradientCode, cyclic_placement
from stabbench.codes.gradient.parts import Part
from stabbench.codes.nodes import root_of_unity

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class CyclicMDS(GradientCode):
    """Cyclic MDS code: B[i, i+k] = g_k, the coefficients of g(x) = product over R of (x - w^r).

    w = exp(2 pi i / n). R holds s consecutive residues modulo n without 0. Decoding solves y_j
    = sum over R of c_r w^(-j r) with y = 1 on the stragglers, then a_j = (1 - y_j) / g(1).

    Parameters
    ----------
    roots : str
        ``adjacent`` R = 1 .. s; ``centred`` R = c .. c+s-1, c = floor((n-s+1)/2), far from 1 and
        with real coefficients if n - s is odd.

    Examples
    --------
    >>> CyclicMDS(4, 1, roots="centred").encoding.rounded("float64")[0]
    array([1., 1., 0., 0.])
    """

    roots: Literal["adjacent", "centred"] = dataclasses.field(
        default="centred", metadata={"help": "which residues are roots of g"}
    )

    name: ClassVar[str] = "cyclic-mds"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Raviv, Tandon, Dimakis, Tamo, arXiv:1707.03858"
    groups: ClassVar[frozenset[str]] = frozenset({"cyclic", "gradient"})
    closed: ClassVar[str] = "the s x s system of the stragglers"

    @property
    def residues(self) -> list[int]:
        """The exponents R of the roots."""
        n, s = self.n, self.stragglers
        first = 1 if self.roots == "adjacent" else (n - s + 1) // 2
        return list(range(first, first + s))

    @property
    def is_complex(self) -> bool:
        """Real if R is symmetric, or empty."""
        return {(-r) % self.n for r in self.residues} != set(self.residues)

    @functools.cached_property
    def placement(self) -> Array:
        """Cyclic, s + 1 partitions each."""
        return cyclic_placement(self.n, self.stragglers + 1)

    def polynomial(self) -> list[Any]:
        """The coefficients g_0 .. g_s as balls at the current precision."""
        g = [flint.acb(1)]
        for r in self.residues:
            root = root_of_unity(r, self.n)
            g = [a - root * b for a, b in zip([flint.acb(0), *g], [*g, flint.acb(0)], strict=True)]
        return g if self.is_complex else [x.real for x in g]

    def at_one(self) -> Any:
        """g(1)."""
        return sum(self.polynomial(), flint.acb(0) if self.is_complex else flint.arb(0))

    def coefficients(self, bits: int) -> Any:
        """The circulant matrix of g."""
        with flint.ctx.workprec(bits + 4 * self.stragglers):
            g = self.polynomial()
        rows = np.full((self.n, self.n), 0, dtype=object)
        for i in range(self.n):
            for k, value in enumerate(g):
                rows[i, (i + k) % self.n] = value
        return rows

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """All workers, with the Fourier vectors on which g does not vanish."""
        n, s = self.n, self.stragglers
        matrix = Coefficients(self._fourier, (n, n - s), complex=self.is_complex)
        target = Coefficients(self._target, (1, n - s), complex=self.is_complex)
        lost = Coefficients(self._lost, (n, s), complex=True) if s else None
        return (Part(np.arange(n), matrix, target, lost),)

    def _fourier(self, bits: int) -> Any:
        """Columns w^(q i), q not in R, 0 first; of a real code their real and imaginary parts."""
        n = self.n
        others = [q for q in range(n) if q not in self.residues]
        if self.is_complex:
            return [[root_of_unity(q * i, n) for q in others] for i in range(n)]
        scale = flint.arb(2).sqrt()
        rows = []
        for i in range(n):
            row = []
            for q in others:
                value = root_of_unity(q * i, n)
                twice = 2 * q % n == 0
                part = value.real if 2 * q <= n else value.imag
                row.append(part if twice else scale * part)
            rows.append(row)
        return rows

    def _target(self, bits: int) -> Any:
        with flint.ctx.workprec(bits + 16 * self.stragglers):
            return [[self.n / self.at_one(), *[0] * (self.n - self.stragglers - 1)]]

    def _lost(self, bits: int) -> Any:
        return [[root_of_unity(-j * r, self.n) for r in self.residues] for j in range(self.n)]

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """Weights from the system of the stragglers, fewer roots for fewer stragglers."""
        form = precision(dtype.name)
        complex_ = form.storage_dtype(True)
        g = Coefficients(lambda bits: [[self.at_one()]], (1, 1), complex=True).rounded(form)[0, 0]
        weights = np.full(arrived.shape, np.nan, dtype=complex_)
        counts = (~arrived).sum(axis=1)
        table = self.parts[0].lost.rounded(form) if self.parts[0].lost else None
        for lost in np.unique(counts[counts <= self.stragglers]):
            at = np.flatnonzero(counts == lost)
            y = np.zeros((len(at), self.n), dtype=complex_)
            if lost:
                assert table is not None
                gone = np.nonzero(~arrived[at])[1].reshape(len(at), lost)
                c = dense.solve(
                    table[gone][:, :, :lost].copy(), np.ones((len(at), lost, 1), complex_)
                )
                y = np.matmul(table[None, :, :lost], c)[:, :, 0]
            weights[at] = np.where(arrived[at], (1 - y) / g, 0)
        found = weights if self.is_complex else weights.real
        return np.ascontiguousarray(found)[:, None]
