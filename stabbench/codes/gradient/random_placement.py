"""Approximate gradient codes of random placements."""

import dataclasses
import functools
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.approximate import EqualWeights
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Bernoulli(EqualWeights):
    """Worker j holds partition i with probability d / K and sends the plain sum.

    One-step weights of r survivors are K / (r d), right in the mean.

    Parameters
    ----------
    d : int
        Mean load.
    K : int, optional
        Partitions, n unless given.
    seed : int
        The draw.

    Examples
    --------
    >>> Bernoulli(20, 4, d=5).placement.shape
    (20, 20)
    """

    d: int = dataclasses.field(default=5, metadata={"help": "mean partitions per worker"})
    K: int | None = dataclasses.field(default=None, metadata={"help": "partitions (default n)"})
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})

    name: ClassVar[str] = "bernoulli"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Charles, Papailiopoulos, Ellenberg, arXiv:1711.06771"
    groups: ClassVar[frozenset[str]] = frozenset(
        {"real", "binary", "random", "gradient", "approximate"}
    )
    closed: ClassVar[str] = "the one-step weights K / (r d)"

    def validate(self) -> None:
        """Raise InputError for an impossible mean load."""
        if not 1 <= self.d <= self.partitions or self.seed < 0:
            raise InputError(
                f"bernoulli: d={self.d}, K={self.partitions}, seed={self.seed}; "
                "allowed are 1 <= d <= K, seed >= 0"
            )

    @property
    def partitions(self) -> int:
        """K, the number of data partitions."""
        return self.n if self.K is None else self.K

    @functools.cached_property
    def placement(self) -> Array:
        """Independent entries."""
        random = stream("code bernoulli", self.seed, self.n, self.partitions)
        return random.random((self.n, self.partitions)) < self.d / self.partitions

    def weight(self, survivors: int) -> Fraction:
        """The weight K / (r d)."""
        return Fraction(self.partitions, survivors * self.d)


@dataclasses.dataclass(frozen=True)
class Stochastic(EqualWeights):
    """Partition i on d random workers, each of which sends the sum of g_i / (d (1 - p)).

    p is the probability that a worker straggles; the master adds what arrives, which is right in
    the mean.

    Parameters
    ----------
    d : int
        Workers per partition.
    p : fraction, optional
        s / n unless given.
    seed : int
        The draw.

    Examples
    --------
    >>> Stochastic(10, 2, d=3).placement.sum(axis=0).tolist() == [3] * 10
    True
    """

    d: int = dataclasses.field(default=3, metadata={"help": "workers per partition"})
    p: Fraction | None = dataclasses.field(
        default=None, metadata={"help": "probability that a worker straggles (default s / n)"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})

    name: ClassVar[str] = "stochastic"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Bitar, Wootters, El Rouayheb, arXiv:1905.05383"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "random", "gradient", "approximate"})
    closed: ClassVar[str] = "the plain sum of what arrives"

    def validate(self) -> None:
        """Raise InputError for impossible parameters."""
        if not 1 <= self.d <= self.n or not 0 <= self.probability < 1 or self.seed < 0:
            raise InputError(
                f"stochastic: d={self.d}, p={self.probability}, seed={self.seed}; "
                "allowed are 1 <= d <= n, 0 <= p < 1, seed >= 0"
            )

    @property
    def probability(self) -> Fraction:
        """The probability p after defaults."""
        return Fraction(self.stragglers, self.n) if self.p is None else self.p

    @functools.cached_property
    def placement(self) -> Array:
        """The d distinct workers of every partition."""
        random = stream("code stochastic", self.seed, self.n, self.d)
        held = np.zeros((self.n, self.n), dtype=bool)
        for i in range(self.n):
            held[random.permutation(self.n)[: self.d], i] = True
        return held

    @property
    def scale(self) -> Fraction:
        """1 / (d (1 - p))."""
        return 1 / (self.d * (1 - self.probability))

    def weight(self, survivors: int) -> Fraction:
        """One."""
        return Fraction(1)
