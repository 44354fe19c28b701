"""Ye and Abbe's idea for any placement of the partitions."""

import dataclasses
import functools
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import GradientCode, constant
from stabbench.codes.gradient.parts import Part
from stabbench.codes.nodes import Nodes, check, is_complex, nodes
from stabbench.errors import InputError
from stabbench.files import read_array

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Heterogeneous(GradientCode):
    """Any placement: partition i on any set A_i of at least s + m workers.

    With distinct nonzero alpha: pi_i(x) = product over j outside A_i of (x - alpha_j),
    t_u(x) = x^u (1 / pi_i(x) mod x^(m-u)), C[(i, u), j] = pi_i(alpha_j) t_u(alpha_j); the sum
    stands in the first m coefficients.

    Parameters
    ----------
    m : int
        Reduction.
    K : int, optional
        Partitions, n unless given; of a placement file, its columns.
    holdings_file : str, optional
        An n x K matrix, 1 where a worker holds a partition, else 0. Without it partition i is on
        workers i .. i+s+m-1 modulo n and up to `extra` more, drawn by `seed`.
    extra, seed : int
    nodes : str
        alpha, as for polynomial codes; ``custom`` with `file`.
    file : str, optional

    Raises
    ------
    InputError
        A partition on fewer than s + m workers, nodes that repeat or are zero.

    Examples
    --------
    >>> code = Heterogeneous(6, 1, m=2, seed=1)
    >>> int(code.placement.sum(axis=0).min()), code.load
    (3, 5)
    """

    m: int = dataclasses.field(default=1, metadata={"help": "reduction of a reply's length"})
    K: int | None = dataclasses.field(default=None, metadata={"help": "partitions (default n)"})
    holdings_file: str | None = dataclasses.field(
        default=None, metadata={"help": "file of the n x K placement"}
    )
    extra: int = dataclasses.field(default=2, metadata={"help": "most workers beyond s + m"})
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random placement"})
    nodes: Nodes = dataclasses.field(
        default="roots-of-unity", metadata={"help": "evaluation points"}
    )
    file: str | None = dataclasses.field(default=None, metadata={"help": "file of custom nodes"})

    name: ClassVar[str] = "heterogeneous"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Jahani-Nezhad, Maddah-Ali, arXiv:2103.01589"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient"})

    def validate(self) -> None:
        """Raise InputError for thin placements and bad nodes."""
        needed = self.stragglers + self.m
        if not 1 <= self.m <= self.n - self.stragglers:
            raise InputError(
                f"heterogeneous: m={self.m}; allowed is 1 <= m <= n - s = "
                f"{self.n - self.stragglers}"
            )
        self.require(extra=0, seed=0)
        drawn = (self.extra, self.seed) != (type(self).extra, type(self).seed)
        if self.holdings_file is not None and drawn:
            raise InputError(
                f"heterogeneous: extra={self.extra}, seed={self.seed} with holdings_file="
                f"{self.holdings_file}; allowed without a file"
            )
        counts = self.placement.sum(axis=0)
        if (counts < needed).any():
            i = int(np.argmax(counts < needed))
            raise InputError(
                f"heterogeneous: partition {i} is on {counts[i]} workers; allowed are at least "
                f"s + m = {needed}"
            )
        check(self.name, self.nodes, self.n, self.file_of("file"))
        values = [complex(x) for x in self.points(64)]
        if 0 in values:
            raise InputError(f"heterogeneous: nodes={self.nodes} hold 0; allowed are nonzero nodes")

    @property
    def reduction(self) -> int:
        """Entries of a piece."""
        return self.m

    @property
    def partitions(self) -> int:
        """K, the number of data partitions."""
        return int(self.placement.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether the nodes are."""
        return is_complex(self.nodes, self.file_of("file"))

    @functools.cached_property
    def placement(self) -> Array:
        """From the file, or cyclic with random additions."""
        file = self.file_of("holdings_file")
        if file is not None:
            table = read_array(file, what="placement")[0]
            other = np.argwhere((table != 0) & (table != 1))
            if other.size:
                j, i = other[0]
                raise InputError(
                    f"{self.holdings_file}: row {j}, column {i} of the placement is "
                    f"{table[j, i]:g}; allowed are 1 where a worker holds a partition, else 0 "
                    "(a matrix of coefficients is a code of its own: gradient-matrix)"
                )
            held = table == 1
            if held.shape[0] != self.n or (self.K is not None and held.shape[1] != self.K):
                raise InputError(
                    f"{self.holdings_file}: the placement is {held.shape[0]} x {held.shape[1]}; "
                    f"allowed is n x K = {self.n} x {self.K or 'any'}"
                )
            return np.asarray(held)
        K = self.n if self.K is None else self.K
        if K < 1:
            raise InputError(f"heterogeneous: K={K}; allowed is K >= 1")
        random = stream("code heterogeneous", self.seed, self.n, K)
        held = np.zeros((self.n, K), dtype=bool)
        for i in range(K):
            base = (i + np.arange(self.stragglers + self.m)) % self.n
            more = random.permutation(self.n)[: random.integers(0, self.extra + 1)]
            held[np.concatenate([base, more]), i] = True
        return held

    def points(self, bits: int) -> list[Any]:
        """alpha, exact or as balls."""
        return nodes(self.nodes, self.n, bits, self.file_of("file"))

    def coefficients(self, bits: int) -> Any:
        """C^T at the nodes."""
        with flint.ctx.workprec(bits + 8 * self.n):
            alpha = [_number(x) for x in self.points(bits + 8 * self.n)]
            columns = [self._columns(alpha, i) for i in range(self.partitions)]
        return [
            [columns[i][u][j] for i in range(self.partitions) for u in range(self.m)]
            for j in range(self.n)
        ]

    def _columns(self, alpha: list[Any], i: int) -> list[list[Any]]:
        """C[(i, u), j] for all u and j."""
        held = self.placement[:, i]
        absent = [alpha[j] for j in np.flatnonzero(~held)]
        low = [alpha[0] * 0 + 1]  # pi mod x^m
        for x in absent:
            low = [a - x * b for a, b in zip([low[0] * 0, *low], [*low, low[0] * 0], strict=True)]
            low = low[: self.m]
        low += [low[0] * 0] * (self.m - len(low))
        series = [1 / low[0]]
        for k in range(1, self.m):
            total = low[0] * 0
            for a in range(1, k + 1):
                total += low[a] * series[k - a]
            series.append(-total / low[0])
        found = []
        for u in range(self.m):
            row = []
            for j, x in enumerate(alpha):
                value = 0
                if held[j]:
                    value = x**u
                    for y in absent:
                        value *= x - y
                    value *= _horner(series[: self.m - u], x)
                row.append(value)
            found.append(row)
        return found

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """All workers: powers of the nodes, of which the first m coefficients are the sum."""
        rho = self.n - self.stragglers

        def powers(bits: int) -> Any:
            return [[x**k for k in range(rho)] for x in map(_number, self.points(bits + 16 * rho))]

        matrix = Coefficients(powers, (self.n, rho), complex=self.is_complex)
        return (Part(np.arange(self.n), matrix, constant(np.eye(self.m, rho, dtype=int).tolist())),)


def _number(x: Any) -> Any:
    """A node as a flint number."""
    if isinstance(x, flint.arb | flint.acb):
        return x
    if isinstance(x, complex):
        return flint.acb(x)
    return flint.fmpq(x.numerator, x.denominator)


def _horner(coefficients: list[Any], x: Any) -> Any:
    value = x * 0
    for c in reversed(coefficients):
        value = value * x + c
    return value
