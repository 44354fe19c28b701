"""kappa_2 of the patterns that need it: the exact worst, a best, mean and quantiles."""

import dataclasses
import math
from collections import deque
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.combinations import subsets
from stabbench.analysis.conditioning.estimates import (
    Estimate,
    Estimates,
    Sample,
    exact_estimates,
    sampled_estimates,
)
from stabbench.analysis.conditioning.kappa import ROUGH, Kappa
from stabbench.analysis.conditioning.tally import Tally
from stabbench.analysis.conditioning.visit import Task, visit
from stabbench.analysis.ties import tied, tied_logarithms

Array = np.ndarray[Any, np.dtype[Any]]
MARGIN = 1e-6
LOWEST = 16
STEPS = (4, 64)


@dataclasses.dataclass(frozen=True)
class Found:
    """kappa_2: extremes, mean and quantiles, and for how many patterns it was computed."""

    worst: float
    log10_worst: float
    worst_stragglers: tuple[int, ...]
    best: float
    log10_best: float
    best_stragglers: tuple[int, ...]
    best_label: str
    mean: Estimate
    quantiles: dict[float, Estimate]
    evaluated: int


class Listed:
    """Condition numbers of listed patterns, all that a task has or some."""

    def __init__(self, task: Task, patterns: Array, weights: Array) -> None:
        self.task, self.patterns, self.weights = task, patterns, weights
        self.kappa = task.kappa(patterns)

    @classmethod
    def every(cls, task: Task) -> "Listed":
        """One pattern of each orbit."""
        if task.s == 0:
            return cls(task, np.zeros((1, 0), dtype=np.int64), np.ones(1))
        patterns, weights, _ = subsets(
            0, task.end, task.s, task.table, task.symmetry, 2 * task.orbits + task.n
        )
        return cls(task, patterns, weights)

    def samples(self) -> tuple[Sample, Sample]:
        """kappa_2 and kappa_F of those that decode."""
        good = self.kappa.decodes
        kappa, weights = self.kappa.only(good), self.weights[good]
        return (
            Sample(kappa.spectral, kappa.log10_spectral, weights),
            Sample(kappa.frobenius, kappa.log10_frobenius, weights),
        )

    def found(self, estimates: Estimates, label: str) -> Found:
        """The worst and the best of those that decode, with estimates from elsewhere."""
        finite = np.flatnonzero(self.kappa.decodes)
        if not finite.size:
            first = self.task.first(self.patterns)
            return nothing_decodes(first, estimates)
        log10, kappa = self.kappa.log10_spectral[finite], self.kappa.spectral[finite]
        high, low = finite[tied_logarithms(log10)], finite[tied_logarithms(-log10)]
        return Found(
            float(kappa.max()),
            float(log10.max()),
            self.task.first(self.patterns[high]),
            float(kappa.min()),
            float(log10.min()),
            self.task.first(self.patterns[low]),
            label,
            *estimates,
            len(self.patterns),
        )


def evaluate_all(task: Task, probabilities: tuple[float, ...], label: str) -> Found:
    """kappa_2 of every pattern that decodes; there must be one."""
    listed = Listed.every(task)
    return listed.found(exact_estimates(listed.samples()[0], probabilities, label), label)


def nothing_decodes(pattern: tuple[int, ...], estimates: Estimates) -> Found:
    """Where every pattern leaves a rank below k."""
    worst = math.inf, math.inf, pattern
    return Found(*worst, *worst, estimates[0].label, *estimates, 0)


def lowest_of(count: int) -> str:
    """The label of a best of so many patterns."""
    return f"lowest of {count} evaluated"


def evaluate_extremes(
    task: Task, tally: Tally, sample: int, probabilities: tuple[float, ...], threads: int
) -> Found:
    """Exact worst kappa_2, the best of the patterns of lowest kappa_F, and a sample."""
    worst, stragglers, visits = exact_worst(task, tally, threads)
    low = np.sort(tally.extremes(1)[0][:LOWEST])
    kappa = task.kappa(task.patterns(low)).spectral

    def evaluate(ranks: Array) -> tuple[Array, Array]:
        found: Kappa = task.kappa(task.patterns(ranks), ROUGH)
        return found.spectral, found.frobenius

    return Found(
        worst,
        math.log10(worst),
        stragglers,
        float(kappa.min()),
        math.log10(kappa.min()),
        task.first(task.patterns(low[tied(-kappa)])),
        lowest_of(visits + len(kappa)),
        *sampled_estimates(tally, sample, evaluate, probabilities),
        visits + len(kappa) + sample,
    )


def exact_worst(task: Task, tally: Tally, threads: int) -> tuple[float, tuple[int, ...], int]:
    """The largest kappa_2, the first pattern of those that tie, and how many were visited.

    If the bounds that the tally has kept are all above the largest kappa_2 found, the scan is
    repeated for the bounds above it only.
    """
    worst, equal, visits = 0.0, np.zeros(0, dtype=np.int64), 0
    values = np.zeros(0)
    while True:
        ranks, bounds = tally.extremes(0)
        done, step = 0, STEPS[0]
        while done < len(ranks) and bounds[done] * (1 + MARGIN) >= worst:
            part = ranks[done : done + step]
            kappa = task.kappa(task.patterns(part)).spectral
            equal, values = np.append(equal, part), np.append(values, kappa)
            chosen = tied(values)
            equal, values = equal[chosen], values[chosen]
            worst = float(values.max())
            done, step = done + len(part), min(2 * step, STEPS[1])
        visits += done
        keep = tally.counts.extreme.shape[1]
        if done < len(ranks) or len(ranks) < keep:
            return worst, task.first(task.patterns(np.unique(equal))), visits
        floor = worst / (1 + MARGIN)
        again = Tally.empty(task.scale, 16 * keep, tally.counts.tolerance, task.identity, floor)
        tally = deque(visit(task, again, threads), maxlen=1).pop()
