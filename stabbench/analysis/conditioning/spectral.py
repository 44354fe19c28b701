"""kappa_2 of the patterns that need it: the exact worst, a best, mean and quantiles."""

import dataclasses
from collections import deque
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.combinations import subsets
from stabbench.analysis.conditioning.estimates import Estimate, exact_estimates, sampled_estimates
from stabbench.analysis.conditioning.kappa import ROUGH
from stabbench.analysis.conditioning.tally import Tally
from stabbench.analysis.conditioning.visit import Task, visit

Array = np.ndarray[Any, np.dtype[Any]]
MARGIN = 1e-6
LOWEST = 16
STEPS = (4, 64)


@dataclasses.dataclass(frozen=True)
class Found:
    """kappa_2: extremes, mean and quantiles, and for how many patterns it was computed."""

    worst: float
    worst_stragglers: tuple[int, ...]
    best: float
    best_stragglers: tuple[int, ...]
    mean: Estimate
    quantiles: dict[float, Estimate]
    evaluated: int


def evaluate_all(task: Task, probabilities: tuple[float, ...]) -> Found:
    """kappa_2 of every pattern that decodes; there must be one."""
    patterns, weights, _ = subsets(
        0, task.end, task.s, task.table, task.symmetry, 2 * task.orbits + task.n
    )
    kappa = task.kappa(patterns)[0]
    finite = np.isfinite(kappa)
    return extremes_of(
        patterns, kappa, exact_estimates(kappa[finite], weights[finite], probabilities)
    )


def extremes_of(
    patterns: Array, kappa: Array, estimates: tuple[Estimate, dict[float, Estimate]]
) -> Found:
    """The worst and the best of patterns, those of infinite kappa apart."""
    finite = np.flatnonzero(np.isfinite(kappa))
    if not finite.size:
        return nothing_decodes(tuple(patterns[0].tolist()), tuple(estimates[1]))
    high, low = int(finite[kappa[finite].argmax()]), int(finite[kappa[finite].argmin()])
    return Found(
        float(kappa[high]),
        tuple(patterns[high].tolist()),
        float(kappa[low]),
        tuple(patterns[low].tolist()),
        *estimates,
        len(kappa),
    )


def nothing_decodes(pattern: tuple[int, ...], probabilities: tuple[float, ...]) -> Found:
    """Where every pattern leaves a rank below k."""
    none = Estimate(np.inf, np.inf, np.inf)
    return Found(np.inf, pattern, np.inf, pattern, none, dict.fromkeys(probabilities, none), 0)


def evaluate_extremes(
    task: Task, tally: Tally, sample: int, probabilities: tuple[float, ...], threads: int
) -> Found:
    """Exact worst kappa_2, the best of the patterns of lowest kappa_F, and a sample."""
    worst, worst_rank, visits = exact_worst(task, tally, threads)
    low, _ = tally.extremes(1)
    kappa = task.kappa(task.patterns(low[:LOWEST]))[0]
    best = int(kappa.argmin())
    estimates = sampled_estimates(
        tally, sample, lambda ranks: task.kappa(task.patterns(ranks), ROUGH), probabilities
    )
    return Found(
        worst,
        task.stragglers(worst_rank),
        float(kappa[best]),
        task.stragglers(int(low[best])),
        *estimates,
        visits + len(kappa) + sample,
    )


def exact_worst(task: Task, tally: Tally, threads: int) -> tuple[float, int, int]:
    """The largest kappa_2, its rank, and how many patterns were visited.

    If the bounds that the tally has kept are all above the largest kappa_2 found, the scan is
    repeated for the bounds above it only.
    """
    worst, rank, visits = 0.0, -1, 0
    while True:
        ranks, bounds = tally.extremes(0)
        done, step = 0, STEPS[0]
        while done < len(ranks) and bounds[done] * (1 + MARGIN) >= worst:
            part = ranks[done : done + step]
            kappa = task.kappa(task.patterns(part))[0]
            if kappa.max() > worst:
                worst, rank = float(kappa.max()), int(part[kappa.argmax()])
            done, step = done + len(part), min(2 * step, STEPS[1])
        visits += done
        keep = tally.counts.extreme.shape[1]
        if done < len(ranks) or len(ranks) < keep:
            return worst, rank, visits
        again = Tally.empty(
            task.exponent, 16 * keep, tally.counts.tolerance, task.identity, worst / (1 + MARGIN)
        )
        tally = deque(visit(task, again, threads), maxlen=1).pop()
