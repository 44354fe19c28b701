"""LT codes: sums of random blocks whose number follows the robust soliton distribution."""

import dataclasses
import functools
import math
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import LinearCode, data_blocks
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Luby(LinearCode):
    """LT code: worker i holds the plain sum of d_i blocks, d_i robust soliton.

    No fixed number of replies suffices; peeling decodes once enough have arrived.

    Parameters
    ----------
    k : int, optional
        Data blocks, (n - stragglers) // 2, at least 1, unless given.
    c, delta : float
        Parameters of the robust soliton distribution.
    seed : int
        Names the draw.

    Examples
    --------
    >>> Luby(20, 4).generator.shape
    (20, 8)
    """

    k: int | None = data_blocks("(n - stragglers) // 2, at least 1")
    c: float = dataclasses.field(default=0.03, metadata={"help": "spike of the distribution"})
    delta: float = dataclasses.field(default=0.5, metadata={"help": "failure probability aimed at"})
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})

    name: ClassVar[str] = "lt"
    family: ClassVar[str] = "rateless"
    source: ClassVar[str] = "Luby, FOCS 2002; Mallick, Chaudhari, Joshi, arXiv:1804.10331"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "binary", "sparse", "random"})

    @property
    def blocks(self) -> int:
        """Number of data blocks after defaults."""
        return max(1, (self.n - self.stragglers) // 2) if self.k is None else self.k

    @property
    def threshold(self) -> int | None:
        """No fixed number of replies suffices."""
        return None

    def validate(self) -> None:
        """Raise InputError for parameters outside their ranges."""
        super().validate()
        if self.blocks > self.n - self.stragglers:
            raise InputError(
                f"{self.name}: k={self.blocks} blocks from n - s = {self.n - self.stragglers} "
                "replies; allowed is k <= n - s"
            )
        for key, value, fine in (
            ("c", self.c, self.c > 0),
            ("delta", self.delta, 0 < self.delta < 1),
            ("seed", self.seed, self.seed >= 0),
        ):
            if not fine:
                raise InputError(
                    f"{self.name}: {key}={value}; allowed are c > 0, 0 < delta < 1, seed >= 0"
                )

    @functools.cached_property
    def generator(self) -> Coefficients:
        """The drawn zeros and ones."""
        return Coefficients.from_array(self.coefficients(53))

    def coefficients(self, bits: int) -> Any:
        """Rows of ones at d_i distinct places."""
        random = stream("code lt", self.seed, self.n, self.blocks)
        chances = robust_soliton(self.blocks, self.c, self.delta)
        degrees = random.choice(np.arange(1, self.blocks + 1), size=self.n, p=chances)
        matrix = np.zeros((self.n, self.blocks))
        for row, degree in zip(matrix, degrees, strict=True):
            row[random.choice(self.blocks, size=degree, replace=False)] = 1.0
        return matrix


def robust_soliton(k: int, c: float, delta: float) -> Array:
    """Probabilities of the degrees 1..k.

    With R = c ln(k/delta) sqrt(k), the ideal soliton 1/k, 1/(d(d-1)) plus R/(dk) for d < k/R and
    R ln(R/delta)/k at d = k/R, scaled to 1.

    Examples
    --------
    >>> robust_soliton(4, 0.03, 0.5).round(3).tolist()
    [0.25, 0.5, 0.167, 0.083]
    """
    degrees = np.arange(1, k + 1)
    ideal = np.full(k, 1 / k)
    ideal[1:] = 1 / (degrees[1:] * degrees[:-1])
    scale = c * math.log(k / delta) * math.sqrt(k)
    spike = round(k / scale) if scale > 0 else k + 1
    extra = np.zeros(k)
    if 1 <= spike <= k and scale > delta:
        extra[: spike - 1] = scale / (degrees[: spike - 1] * k)
        extra[spike - 1] = scale * math.log(scale / delta) / k
    chances: Array = (ideal + extra) / (ideal + extra).sum()
    return chances
