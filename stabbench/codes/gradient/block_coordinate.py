"""An adaptive code: the coordinates of the gradient are coded against different stragglers."""

import dataclasses
import functools
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import System
from stabbench.codes.gradient.base import GradientCode, Held, entries
from stabbench.codes.gradient.nested import Inner, cyclic_code
from stabbench.codes.gradient.parts import Part
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class BlockCoordinate(GradientCode):
    """The l coordinates are cut into blocks, block x_q coded for q stragglers at load q + 1.

    q runs from s to n - 1 and workers send their blocks in this order, so that
    (q+1) x_q = E[T_(n)] (1 / E[T_(n-q)] - 1 / E[T_(n+1-q)]) x_0 makes all blocks due at the same
    expected moment; with s > 0 the first block takes the place of x_0. Worker times are shifted
    exponentials, E[T_(q)] = (H_n - H_(n-q)) / mu + t0. Sizes are whole by largest remainders
    (Hamilton's method): rounded down, then one more for those that lost most, so that none is as
    much as one entry away from its share.

    Parameters
    ----------
    mu, t0 : fraction
        Rate and shift of the time per unit of work.
    inner : str
        ``cyclic-mds`` or ``cyclic-repetition``, the code of every block.
    seed : int

    Examples
    --------
    >>> BlockCoordinate(4, 0, mu=Fraction(1), t0=Fraction(1)).sizes(100)
    [66, 16, 10, 8]
    """

    mu: Fraction = dataclasses.field(default=Fraction(1), metadata={"help": "rate of worker times"})
    t0: Fraction = dataclasses.field(default=Fraction(1), metadata={"help": "least worker time"})
    inner: Inner = dataclasses.field(
        default="cyclic-mds", metadata={"help": "the cyclic code of every block"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draws"})

    name: ClassVar[str] = "block-coordinate"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Wang, Cui, Li, Zou, Xiong, arXiv:2109.08933"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient", "cyclic", "adaptive"})

    def validate(self) -> None:
        """Raise InputError for impossible worker times."""
        if self.mu <= 0 or self.t0 < 0 or self.seed < 0:
            raise InputError(
                f"block-coordinate: mu={self.mu}, t0={self.t0}, seed={self.seed}; "
                "allowed are mu > 0, t0 >= 0, seed >= 0"
            )

    @property
    def messages(self) -> int:
        """One per block, n - s."""
        return self.n - self.stragglers

    @property
    def reduction(self) -> int:
        """The number of blocks: entry u of the pieces is block s + u."""
        return self.messages

    @functools.cached_property
    def levels(self) -> tuple[GradientCode, ...]:
        """The code of every block."""
        tolerances = range(self.stragglers, self.n)
        return tuple(cyclic_code(self.inner, self.n, t, self.seed) for t in tolerances)

    @property
    def tradeoff(self) -> str:
        """How every block stands to the bound; a worker sends them all, a whole gradient."""
        return "by block: " + ", ".join(level.tradeoff for level in self.levels)

    @property
    def is_complex(self) -> bool:
        """Whether the code of some block is."""
        return any(level.is_complex for level in self.levels)

    def order_statistic(self, q: int) -> Fraction:
        """E[T_(q)], the expected time of the q-th fastest of n workers."""
        late = sum((Fraction(1, i) for i in range(self.n - q + 1, self.n + 1)), Fraction(0))
        return late / self.mu + self.t0

    def sizes(self, entries: int) -> list[int]:
        """The sizes of the blocks q = s .. n-1 of a gradient of that many entries."""
        n, s = self.n, self.stragglers
        speed = [1 / self.order_statistic(n - q) for q in range(s, n)]
        share = [speed[0] / (s + 1)]
        share += [(speed[u] - speed[u - 1]) / (s + u + 1) for u in range(1, n - s)]
        quotas = [entries * x / sum(share) for x in share]
        whole = [int(quota) for quota in quotas]
        # what rounding down leaves: one each to the largest remainders, the first ones at ties
        largest = sorted(range(len(quotas)), key=lambda q: whole[q] - quotas[q])
        for q in largest[: entries - sum(whole)]:
            whole[q] += 1
        return whole

    @functools.cached_property
    def placement(self) -> Array:
        """Message u of worker j reads s + u + 1 partitions from j on."""
        stacked = np.stack([level.placement for level in self.levels], axis=1)
        return stacked.reshape(self.n * self.messages, self.n)

    def coefficients(self, bits: int) -> Any:
        """Row (j, u) has its level's coefficients at entry u of every partition."""
        b = self.messages
        rows = np.full((self.n, b, self.n, b), 0, dtype=object)
        for u, level in enumerate(self.levels):
            for j, row in enumerate(entries(level.encoding, bits)):
                for i, value in enumerate(row):
                    rows[j, u, i, u] = value
        return rows.reshape(self.n * b, self.n * b)

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """One per block."""
        found = []
        for u, level in enumerate(self.levels):
            (part,) = level.parts
            rows = np.arange(self.n) * self.messages + u
            target = _only_row(part.target, u, self.messages)
            found.append(dataclasses.replace(part, rows=rows, target=target))
        return tuple(found)

    def system(self, problem: str = "gradient") -> System:
        """The reply map, which cuts gradients into the blocks."""
        operator = Held(self.encoding, self.placement, self.reduction, self.sizes)
        return System((operator,), operator, self.owner)


def _only_row(target: Coefficients, u: int, count: int) -> Coefficients:
    """A target of `count` rows whose row u is the given one; the others are zero."""
    width = target.shape[1]

    def rows(bits: int) -> Any:
        row = entries(target, bits)[0]
        return [row if w == u else [0] * width for w in range(count)]

    return Coefficients(rows, (count, width), complex=target.is_complex)
