"""Mean and quantiles of kappa_2 from a stratified sample, where there are too many patterns.

kappa_F is known for every pattern, so only the ratio of the two is left to chance.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.counts import SAMPLES
from stabbench.analysis.conditioning.tally import Tally

Array = np.ndarray[Any, np.dtype[Any]]
Evaluate = Callable[[Array], tuple[Array, Array]]
NORMAL = 1.959963984540054


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A number, and an interval that holds it: of 95% for a sample, of width 0 if it is exact."""

    value: float
    low: float
    high: float

    def __float__(self) -> float:
        return self.value


def exact_estimates(
    kappa: Array, weights: Array, probabilities: tuple[float, ...]
) -> tuple[Estimate, dict[float, Estimate]]:
    """Mean and quantiles of numbers that are all known.

    Examples
    --------
    >>> exact_estimates(np.array([1.0, 3.0]), np.array([3.0, 1.0]), (0.5,))[0].value
    1.5
    """
    mean = float(np.average(kappa, weights=weights))
    quantiles = {p: weighted_quantile(kappa, weights, p) for p in probabilities}
    return Estimate(mean, mean, mean), {p: Estimate(q, q, q) for p, q in quantiles.items()}


def random_estimates(
    kappa: Array, probabilities: tuple[float, ...]
) -> tuple[Estimate, dict[float, Estimate]]:
    """Mean and quantiles with 95% intervals from a uniform random sample."""
    count = len(kappa)
    if count == 0:
        none = Estimate(np.inf, np.inf, np.inf)
        return none, dict.fromkeys(probabilities, none)
    mean, one = float(kappa.mean()), np.ones(count)
    error = NORMAL * float(kappa.std()) / max(count - 1, 1) ** 0.5
    quantiles = {}
    for p in probabilities:
        shift = NORMAL * (p * (1 - p) / count) ** 0.5
        at = (p, max(p - shift, 0), min(p + shift, 1))
        quantiles[p] = Estimate(*(weighted_quantile(kappa, one, q) for q in at))
    return Estimate(mean, mean - error, mean + error), quantiles


def sampled_estimates(
    tally: Tally, size: int, evaluate: Evaluate, probabilities: tuple[float, ...]
) -> tuple[Estimate, dict[float, Estimate]]:
    """Mean and quantiles of kappa_2 with 95% intervals, from two patterns of each stratum.

    Parameters
    ----------
    tally : Tally
    size : int
        Patterns to evaluate, about.
    evaluate : callable
        Gives kappa_2 and kappa_F of an array of ranks.
    probabilities : tuple of float
    """
    number, total, ranks, of = stratify(tally, max(1, size // 2))
    kappa_2, kappa_F = evaluate(ranks)
    drawn = np.bincount(of)
    ratio = kappa_2 / kappa_F
    mean_ratio = np.bincount(of, ratio) / drawn
    spread = np.bincount(of, (ratio - mean_ratio[of]) ** 2) / np.maximum(drawn - 1, 1)
    mean = float((mean_ratio * total).sum() / number.sum())
    error = NORMAL * float(np.sqrt((total**2 * spread / drawn).sum()) / number.sum())
    weights = (number / drawn)[of]
    quantiles = {}
    for p in probabilities:
        value = weighted_quantile(kappa_2, weights, p)
        below = np.bincount(of, kappa_2 <= value) / drawn
        variance = (number**2 * below * (1 - below) / np.maximum(drawn - 1, 1)).sum()
        shift = (
            NORMAL * float(np.sqrt(variance)) / number.sum() + 0.5 * weights.max() / number.sum()
        )
        low = weighted_quantile(kappa_2, weights, max(p - shift, 0))
        high = weighted_quantile(kappa_2, weights, min(p + shift, 1))
        quantiles[p] = Estimate(value, low, high)
    return Estimate(mean, mean - error, mean + error), quantiles


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


def weighted_quantile(values: Array, weights: Array, p: float) -> float:
    """The smallest value that a share p of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = int(np.searchsorted(reached, p * reached[-1] * (1 - 1e-12)))
    return float(values[order[min(at, len(order) - 1)]])
