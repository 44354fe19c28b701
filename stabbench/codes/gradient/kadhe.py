"""The communication-efficient framework: any linear code, shared by groups of workers."""

import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.gradient import generators
from stabbench.codes.gradient.base import (
    GradientCode,
    Part,
    constant,
    load_field,
    reduction_field,
    settle_load,
)
from stabbench.errors import InputError
from stabbench.files import SUFFIXES
from stabbench.grammar import near

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class GroupCode(GradientCode):
    """Workers in groups of d that hold the same d partitions and share one generator."""

    @property
    def sizes(self) -> tuple[int, int]:
        """Load d and reduction m."""
        raise NotImplementedError

    @functools.cached_property
    def transposed(self) -> Coefficients:
        """The generator, transposed: d x m."""
        raise NotImplementedError

    def validate(self) -> None:
        """Raise InputError unless d divides n."""
        d = self.sizes[0]
        if self.n % d:
            raise InputError(f"{self.name}: d={d} does not divide n={self.n}")

    @property
    def reduction(self) -> int:
        """m, the dimension of the generator."""
        return self.sizes[1]

    @functools.cached_property
    def placement(self) -> Array:
        """Blocks of ones."""
        d = self.sizes[0]
        return np.kron(np.eye(self.n // d), np.ones((d, d))) > 0

    def coefficients(self, bits: int) -> Any:
        """Entry ((i, u), (a, t)) is G[u, t] for every partition i of group a, else zero."""
        d, m = self.sizes
        entries = self.transposed.balls(bits).tolist() if not self.transposed.is_rational else (
            self.transposed.rational()[0].tolist()
        )  # fmt: skip
        rows = []
        for j in range(self.n):
            group, t = divmod(j, d)
            before, after = [0] * (group * d * m), [0] * ((self.n - group * d - d) * m)
            rows.append([*before, *entries[t] * d, *after])
        return rows

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """One part per group, all with the same matrix."""
        d, m = self.sizes
        first = Part(np.arange(d), self.transposed, constant(np.eye(m, dtype=int).tolist()))
        return tuple(first.at(first.rows + start) for start in range(0, self.n, d))


@dataclasses.dataclass(frozen=True)
class Kadhe(GroupCode):
    """Any real linear [d, m, s + 1] code as a gradient code of load d and reduction m.

    Group a of d workers holds the same d partitions, with sum S_a; worker (a, t) sends
    y[v] = sum over u of G[u, t] S_a[v m + u]. Each group decodes from any m independent replies.

    Parameters
    ----------
    generator : str
        ``gaussian`` (the paper's own choice), ``repetition``, ``parity``, ``hamming``,
        ``vandermonde``, ``chebyshev``, ``systematic-gaussian`` or a file with G (m x d).
    d, m : int, optional
        Load and reduction; m = d - s where only d is given, d = s + m where only m is.
    seed, select : int
        The random draw, and of how many draws to keep the best.

    Raises
    ------
    InputError
        d that does not divide n, m > d - s, a generator whose minimum distance is below s + 1
        (the erasure that fails is named).

    Examples
    --------
    >>> code = Kadhe(20, 2, generator_name="chebyshev", d=5, m=3)
    >>> code.minimum_distance, code.tradeoff
    (3, 'd = 5 >= s + m = 5 (met with equality)')
    """

    generator_name: str = dataclasses.field(
        default="gaussian", metadata={"help": "generator of the linear code, or a file"}
    )
    d: int | None = load_field()
    m: int | None = reduction_field()
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})
    select: int = dataclasses.field(default=1, metadata={"help": "keep the best of N draws"})

    name: ClassVar[str] = "kadhe"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Kadhe, Koyluoglu, Ramchandran, arXiv:2005.07184"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "gradient"})
