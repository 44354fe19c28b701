"""Reed-Solomon gradient codes at the roots of unity, decoded by Lagrange interpolation at zero."""

import dataclasses
import functools
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.precision import precision
from stabbench.codes.gradient.base import GradientCode, constant, cyclic_placement
from stabbench.codes.gradient.parts import Part
from stabbench.codes.nodes import root_of_unity

Array = np.ndarray[Any, np.dtype[Any]]
BATCH_ENTRIES = 1 << 20


@dataclasses.dataclass(frozen=True)
class ReedSolomon(GradientCode):
    """Reed-Solomon code: B[j, i] = t_i(alpha_j), with zeros of t_i at the workers without i.

    t_i(x) = product over workers z without i of (1 - x / alpha_z), alpha_j = exp(2 pi i j / n).
    Every t_i is 1 at zero and of degree n - s - 1, so that a_j = product over z in F, z != j,
    of alpha_z / (alpha_z - alpha_j).

    Examples
    --------
    >>> ReedSolomon(2, 1).encoding.rounded("float64").real.tolist()
    [[1.0, 1.0], [1.0, 1.0]]
    """

    name: ClassVar[str] = "reed-solomon"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Halbawi, Azizan, Salehi, Hassibi, arXiv:1706.05436"
    groups: ClassVar[frozenset[str]] = frozenset({"complex", "cyclic", "gradient"})
    closed: ClassVar[str] = "Lagrange interpolation at zero"

    @property
    def is_complex(self) -> bool:
        """Always."""
        return True

    @functools.cached_property
    def placement(self) -> Array:
        """Cyclic, s + 1 partitions each."""
        return cyclic_placement(self.n, self.stragglers + 1)

    def coefficients(self, bits: int) -> Any:
        """The values t_i(alpha_j), of 1 - w^(j - z) taken together."""
        n, s = self.n, self.stragglers
        with flint.ctx.workprec(bits + 4 * n):
            factor = [1 - root_of_unity(t, n) for t in range(n)]
            value = {}
            for offset in range(s + 1):  # j holds i = j + offset
                product = flint.acb(1)
                for q in range(1, n - s):
                    product *= factor[(-offset - q) % n]
                value[offset] = product
        rows = np.full((n, n), 0, dtype=object)
        for j in range(n):
            for offset, entry in value.items():
                rows[j, (j + offset) % n] = entry
        return rows

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """All workers: powers of the nodes, of which the sum is the value at zero."""
        n, rho = self.n, self.n - self.stragglers
        matrix = Coefficients(
            lambda bits: [[root_of_unity(j * k, n) for k in range(rho)] for j in range(n)],
            (n, rho),
            complex=True,
        )
        return (Part(np.arange(n), matrix, constant([[1, *[0] * (rho - 1)]])),)

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """Products of quotients of rounded nodes; NaN for fewer than n - s replies."""
        form = precision(dtype.name)
        nodes = Coefficients(
            lambda bits: [[root_of_unity(j, self.n)] for j in range(self.n)],
            (self.n, 1),
            complex=True,
        ).rounded(form)[:, 0]
        gap = nodes[None, :] - nodes[:, None]
        np.fill_diagonal(gap, 1)
        quotient = nodes[None, :] / gap
        np.fill_diagonal(quotient, 1)
        weights = np.empty((len(arrived), 1, self.n), dtype=quotient.dtype)
        step = max(1, BATCH_ENTRIES // self.n**2)
        one = quotient.dtype.type(1)
        for start in range(0, len(arrived), step):
            part = arrived[start : start + step]
            taken = np.where(part[:, None, :], quotient, one)
            weights[start : start + step, 0] = np.where(part, taken.prod(axis=2), 0)
        weights[arrived.sum(axis=1) < self.n - self.stragglers] = np.nan
        return weights
