"""Mean and quantiles of kappa_2 from a stratified sample, where there are too many patterns.

kappa_F is known for every pattern, so only the ratio of the two is left to chance.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np

from stabbench.analysis.conditioning.counts import SAMPLES
from stabbench.analysis.conditioning.tally import Tally

Array = np.ndarray[Any, np.dtype[Any]]
Evaluate = Callable[[Array], tuple[Array, Array]]
NORMAL = 1.959963984540054
SAMPLED = "sampled"


class Estimate(float):
    """A number, an interval that holds it, and what it was computed from.

    Parameters
    ----------
    value : float
    low, high : float, optional
        Of 95% for a sample, both the value itself where it is exact.
    label : str
        ``exhaustive``, ``symmetric``, or ``sampled (N patterns)``.
    log10 : float, optional
        Decimal logarithm of the value, finite where float64 cannot hold the value.

    Examples
    --------
    >>> mean = Estimate(2.5, 2.0, 3.0, "sampled (20 patterns)")
    >>> mean < 3, mean.low, mean.label
    (True, 2.0, 'sampled (20 patterns)')
    """

    low: float
    high: float
    label: str
    log10: float

    def __new__(
        cls,
        value: float,
        low: float | None = None,
        high: float | None = None,
        label: str = "exhaustive",
        log10: float | None = None,
    ) -> Self:
        """Make a number that knows its interval."""
        self = super().__new__(cls, value)
        self.low = float(value if low is None else low)
        self.high = float(value if high is None else high)
        self.label = label
        self.log10 = _log10(float(value)) if log10 is None else float(log10)
        return self

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    @property
    def exact(self) -> bool:
        """Whether nothing was left to chance."""
        return not self.label.startswith(SAMPLED)

    def __repr__(self) -> str:
        return f"Estimate({float(self)!r}, {self.low!r}, {self.high!r}, {self.label!r})"


Estimates = tuple[Estimate, dict[float, Estimate]]
"""A mean, and quantiles by their probabilities."""


class Sample(NamedTuple):
    """Positive numbers, their decimal logarithms and weights, all of one length."""

    values: Array
    log10: Array
    weights: Array

    def mean(self) -> tuple[float, float]:
        """The weighted mean and its logarithm."""
        top = float(self.log10.max())
        shares = 10.0 ** (self.log10 - top)
        with np.errstate(over="ignore"):
            mean = float(np.average(self.values, weights=self.weights))
        if np.isfinite(mean):
            return mean, _log10(mean)
        log10 = top + _log10(float(np.average(shares, weights=self.weights)))
        return _power(log10), log10

    def quantile(self, p: float) -> tuple[float, float]:
        """The smallest value that a share p of the weight does not exceed, and its logarithm."""
        order = np.lexsort((self.log10, self.values))
        reached = np.cumsum(self.weights[order])
        at = int(np.searchsorted(reached, p * reached[-1] * (1 - 1e-12)))
        place = order[min(at, len(order) - 1)]
        return float(self.values[place]), float(self.log10[place])

    def quantile_estimate(self, p: float, shift: float, label: str) -> Estimate:
        """A quantile, between those of p - shift and p + shift."""
        low, high = (self.quantile(q)[0] for q in (max(p - shift, 0), min(p + shift, 1)))
        value, log10 = self.quantile(p)
        return Estimate(value, low, high, label, log10)


def nothing(probabilities: tuple[float, ...], label: str) -> Estimates:
    """Where there is no number at all."""
    none = Estimate(np.inf, label=label)
    return none, dict.fromkeys(probabilities, none)


def exact_estimates(sample: Sample, probabilities: tuple[float, ...], label: str) -> Estimates:
    """Mean and quantiles of numbers that are all known.

    Examples
    --------
    >>> kappa = np.array([1.0, 3.0])
    >>> sample = Sample(kappa, np.log10(kappa), np.array([3.0, 1.0]))
    >>> exact_estimates(sample, (0.5,), "exhaustive")[0]
    Estimate(1.5, 1.5, 1.5, 'exhaustive')
    """
    if not len(sample.values):
        return nothing(probabilities, label)
    mean, log10 = sample.mean()
    quantiles = {p: sample.quantile_estimate(p, 0.0, label) for p in probabilities}
    return Estimate(mean, label=label, log10=log10), quantiles


def random_estimates(values: Array, log10: Array, probabilities: tuple[float, ...]) -> Estimates:
    """Mean and quantiles with 95% intervals from a uniform random sample of numbers >= 1."""
    count = len(values)
    label = sampled(count)
    if count == 0:
        return nothing(probabilities, label)
    sample = Sample(values, log10, np.ones(count))
    mean, logarithm = sample.mean()
    spread = float(np.std(10.0 ** (log10 - logarithm)))
    error = NORMAL * spread / (count - 1) ** 0.5 if count > 1 else np.inf
    low = _power(logarithm + _log10(1 - error)) if error < 1 else 1.0
    interval = max(low, 1.0), _power(logarithm + np.log10(1 + error))
    quantiles = {}
    for p in probabilities:
        shift = NORMAL * (p * (1 - p) / count) ** 0.5
        quantiles[p] = sample.quantile_estimate(p, shift, label)
    return Estimate(mean, *interval, label, logarithm), quantiles


def sampled_estimates(
    tally: Tally, size: int, evaluate: Evaluate, probabilities: tuple[float, ...]
) -> Estimates:
    """Mean and quantiles of kappa_2 with 95% intervals, from two patterns of each stratum.

    Parameters
    ----------
    tally : Tally
    size : int
        Patterns to evaluate, about.
    evaluate : callable
        Gives kappa_2 and kappa_F of an array of ranks, both within float64.
    probabilities : tuple of float
    """
    number, total, ranks, of = stratify(tally, max(1, size // 2))
    kappa_2, kappa_F = evaluate(ranks)
    drawn = np.bincount(of)
    ratio = kappa_2 / kappa_F
    mean_ratio = np.bincount(of, ratio) / drawn
    spread = np.bincount(of, (ratio - mean_ratio[of]) ** 2) / np.maximum(drawn - 1, 1)
    share = total / number.sum()
    mean = float((mean_ratio * share).sum())
    error = NORMAL * float(np.linalg.norm(share * np.sqrt(spread / drawn)))
    sample = Sample(kappa_2, np.log10(kappa_2), (number / drawn)[of])
    label, quantiles = sampled(len(ranks)), {}
    for p in probabilities:
        below = np.bincount(of, kappa_2 <= sample.quantile(p)[0]) / drawn
        variance = (number**2 * below * (1 - below) / np.maximum(drawn - 1, 1)).sum()
        shift = NORMAL * float(np.sqrt(variance)) + 0.5 * sample.weights.max()
        quantiles[p] = sample.quantile_estimate(p, float(shift / number.sum()), label)
    return Estimate(mean, max(mean - error, 1.0), mean + error, label), quantiles


def sampled(count: int) -> str:
    """The label of an estimate from so many patterns."""
    return f"{SAMPLED} ({count} patterns)"


def _log10(value: float) -> float:
    return math.log10(value) if value > 0 else -math.inf


def _power(log10: float) -> float:
    """Ten to a power; infinite beyond float64."""
    with np.errstate(over="ignore"):
        return float(np.float64(10.0) ** log10)


def stratify(tally: Tally, count: int) -> tuple[Array, Array, Array, Array]:
    """Neighbouring bins joined to strata of about equal shares of the patterns and of the sum.

    Returns
    -------
    number, total : float64 arrays, shape (strata,)
        Patterns, and sum of kappa_F.
    ranks, of : int arrays
        Up to two random patterns of each stratum, and its index.
    """
    used = np.flatnonzero(tally.counts.bins[:, 0])
    number, total = tally.counts.bins[used, 0], tally.sums_of_bins[used]
    share = number / number.sum() + total / total.sum()
    group = np.minimum((np.cumsum(share) - share / 2) / 2 * count, count - 1).astype(int)
    group = np.unique(group, return_inverse=True)[1]
    hashes, ranks = tally.counts.bins[used, 2:].ravel(), tally.counts.samples[used].ravel()
    of = np.repeat(group, SAMPLES)
    order = np.lexsort((hashes, of))
    order = order[np.isfinite(hashes[order])]
    place = np.arange(len(order)) - np.searchsorted(of[order], of[order])
    chosen = order[place < SAMPLES]
    return np.bincount(group, number), np.bincount(group, total), ranks[chosen], of[chosen]
