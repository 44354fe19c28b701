"""Random Khatri-Rao product codes: a worker's row is the Kronecker product of two random rows."""

import dataclasses
import functools
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.codes.product import GridProducts
from stabbench.codes.random import survivor_rows, worst_sigma

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class KhatriRao(GridProducts):
    """Khatri-Rao code: row i is g_A (x) g_B; systematic, the first k rows are unit rows.

    Parameters
    ----------
    distribution : str
        ``normal``, or ``uniform`` on [0, 1), of the random rows.
    systematic : bool
        Whether the first kA kB workers multiply plain blocks.
    seed, select : int
        Names the draw; keep the best of `select` draws, the one with the largest worst-case
        sigma_min over the survivor sets (a fixed sample of 2000 where they are many).

    Examples
    --------
    >>> KhatriRao(6, 2).generators[0].rounded("float64")[:4].tolist()
    [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]]
    """

    distribution: Literal["normal", "uniform"] = dataclasses.field(
        default="normal", metadata={"help": "distribution of the random rows"}
    )
    systematic: bool = dataclasses.field(
        default=True, metadata={"help": "plain blocks on the first workers"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})
    select: int = dataclasses.field(default=1, metadata={"help": "keep the best of N draws"})

    name: ClassVar[str] = "khatri-rao"
    family: ClassVar[str] = "random"
    source: ClassVar[str] = "Subramaniam, Heidarzadeh, Narayanan, arXiv:1907.05965"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "random"})

    def validate(self) -> None:
        """Raise InputError for a bad kA, kB, seed or select."""
        super().validate()
        self.require(seed=0, select=1)

    def draw(self, seed: int) -> tuple[Array, Array]:
        """Both generators of one draw, float64, shapes (n, kA) and (n, kB)."""
        left, _, right = self.layout
        random = stream("code khatri-rao", seed, self.n, left, right)
        drawn = random.standard_normal if self.distribution == "normal" else random.random
        one, two = drawn((self.n, left)), drawn((self.n, right))
        if self.systematic:
            plain = np.arange(left * right)
            one[plain] = np.eye(left)[plain // right]
            two[plain] = np.eye(right)[plain % right]
        return one, two

    @functools.cached_property
    def chosen_seed(self) -> int:
        """The seed of the draw that `select` keeps."""
        if self.select == 1:
            return self.seed
        rows = survivor_rows(self.n, self.layout.left * self.layout.right)
        seeds = range(self.seed, self.seed + self.select)
        return max(seeds, key=lambda seed: worst_sigma(self._whole(seed), rows))

    def _whole(self, seed: int) -> Array:
        left, right = self.draw(seed)
        return (left[:, :, None] * right[:, None, :]).reshape(self.n, -1)

    def factors(self, bits: int) -> tuple[Any, Any]:
        """The drawn numbers, exactly."""
        return self.draw(self.chosen_seed)
