"""Condition numbers of every straggler pattern: worst, best, mean and distribution.

Exhaustive, by one representative of each orbit of a symmetry, or by search above a budget.
"""

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.combinations import SYMMETRIES, Symmetry
from stabbench.analysis.conditioning.estimates import (
    Estimate,
    exact_estimates,
    nothing,
    random_estimates,
)
from stabbench.analysis.conditioning.search import search
from stabbench.analysis.conditioning.settlement import BeyondError
from stabbench.analysis.conditioning.spectral import (
    Listed,
    evaluate_all,
    evaluate_extremes,
    lowest_of,
    nothing_decodes,
)
from stabbench.analysis.conditioning.tally import NAMED, Tally
from stabbench.analysis.conditioning.visit import TOLERANCE, Task, visit
from stabbench.analysis.ties import in_falling_order
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
PROBABILITIES = (0.5, 0.95, 0.99)
KEEP = 1024
VISITED = 200_000
BINS = 80
EXHAUSTIVE, SYMMETRIC, SEARCH = "exhaustive", "symmetric", "search (lower bound)"


@dataclasses.dataclass(frozen=True)
class Budget:
    """How much work a survey may do.

    Attributes
    ----------
    patterns : int
        Patterns, or orbits of a symmetry, up to which all are visited; above it is a search.
    exact : int
        Patterns, or orbits, up to which kappa_2 is computed for each of them.
    sample : int
        Patterns whose kappa_2 is computed otherwise, for its mean and quantiles.
    """

    patterns: int = 200_000_000
    exact: int = 5_000
    sample: int = 200

    def __post_init__(self) -> None:
        """Check the numbers."""
        for name, least in (("patterns", 0), ("exact", 0), ("sample", 1)):
            if getattr(self, name) < least:
                raise InputError(f"budget: {name}={getattr(self, name)}; allowed is >= {least}")


@dataclasses.dataclass(frozen=True)
class Survey:
    """Condition numbers of the generator's rows that remain after s workers are lost.

    Attributes
    ----------
    worst, best : float
        The largest kappa_2 of all patterns that decode, and the smallest that was evaluated;
        infinite if none decodes, or beyond float64.
    log10_worst, log10_best : float
        Decimal logarithms of these; infinite only if none decodes.
    worst_stragglers, best_stragglers : tuple of int
        Workers lost there; of patterns that tie, see `ties`, those of the first survivors in
        lexicographic order.
    best_label : str
        ``exhaustive``, ``symmetric`` or ``lowest of N evaluated``: what `best` is.
    mean : Estimate
        Mean of kappa_2 over the patterns that decode.
    quantiles : dict of Estimate
        Quantiles of kappa_2 for the probabilities 0.5, 0.95 and 0.99.
    evaluated : int
        Patterns whose kappa_2 was computed.
    kappa_F_mean : Estimate
        Mean of kappa_F over the patterns that decode, exact unless it is a search.
    label : str
        ``exhaustive``, ``symmetric`` or ``search (lower bound)``: what `worst` is.
    patterns : int
        Patterns that the numbers stand for; of a search, those that it has evaluated.
    kappa_F_edges, kappa_F_counts : float64 arrays
        Histogram: edges in log10 kappa_F, and patterns between them; empty for a search.
    undecodable : int
        How many patterns do not decode, by exact rank.
    undecodable_stragglers : tuple of tuples of int
        The first of these, by their survivors.
    escalated : int
        Patterns of the scan that needed ball arithmetic.
    seconds : float
        Time spent, without the preparation of the dual.
    """

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
    kappa_F_mean: Estimate
    label: str
    patterns: int
    kappa_F_edges: Array = dataclasses.field(default_factory=lambda: np.zeros(1))
    kappa_F_counts: Array = dataclasses.field(default_factory=lambda: np.zeros(0))
    undecodable: int = 0
    undecodable_stragglers: tuple[tuple[int, ...], ...] = ()
    escalated: int = 0
    seconds: float = 0.0

    @property
    def seconds_per_pattern(self) -> float:
        """Time per pattern, all statistics included."""
        return self.seconds / max(self.patterns, 1)


def survey(
    generator: Coefficients,
    s: int | None = None,
    *,
    owner: Array | None = None,
    symmetry: Symmetry | None = None,
    threads: int = 1,
    budget: Budget | None = None,
    progress: Callable[[Tally, int], object] | None = None,
    resume: dict[str, Any] | None = None,
) -> Survey:
    """Condition numbers of every set of survivors, right at any magnitude.

    Parameters
    ----------
    generator : Coefficients (rows x k)
        Of rank k; what its rows are multiplied with are the k unknown blocks.
    s : int, optional
        Workers lost; rows - k where every worker owns one row.
    owner : int array, shape (rows,), optional
        The worker of each row; one row each unless given.
    symmetry : {"cyclic", "reflection", "dihedral"}, optional
        Permutations of the workers that leave all condition numbers as they are: i + 1 modulo n,
        n - 1 - i, or both. Only one pattern of each orbit is visited.
    threads : int
    budget : Budget, optional
    progress : callable, optional
        Called with the `Tally` and the last rank after each part of the scan. ``to_dict`` of the
        tally is a state to go on from.
    resume : dict, optional
        Such a state.

    Returns
    -------
    Survey

    Raises
    ------
    InputError
        If the generator has no rank k, or s or `resume` do not belong to it.

    Notes
    -----
    The duality of `Dual` gives kappa_F of every pattern. The worst kappa_2 is found by visiting
    patterns in falling order of min(||G||_2, ||G_S||_F) (||W||_2^2 + ||L^-1 W_C||_F^2)^(1/2), a
    bound on kappa_2, until it drops below the largest kappa_2 found.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.vstack([np.eye(3), np.ones((1, 3))]))
    >>> found = survey(parity)
    >>> round(found.worst, 4), found.worst_stragglers, found.label
    (3.7321, (2,), 'exhaustive')
    """
    budget = Budget() if budget is None else budget
    task = _task(generator, s, owner, symmetry)
    if task.s == 0 or task.dual.room < 0:
        return _listed(task, budget)
    if task.orbits > budget.patterns:
        return _by_search(task, budget)
    tally = _begin(task, resume)
    try:
        for found in visit(task, tally, threads):
            if progress is not None:
                progress(found, task.end)
    except BeyondError:
        return _listed(task, budget)
    return _summary(task, tally, budget, threads)


def _task(
    generator: Coefficients, s: int | None, owner: Array | None, symmetry: Symmetry | None
) -> Task:
    rows, k = generator.shape
    owner = np.arange(rows) if owner is None else np.asarray(owner)
    n = int(owner.max()) + 1
    s = rows - k if s is None else s
    if not 0 <= s < n:
        raise InputError(f"survey: stragglers={s} of n={n} workers; allowed is 0 .. {n - 1}")
    if symmetry not in SYMMETRIES:
        allowed = ", ".join(name for name in SYMMETRIES if name)
        raise InputError(f"survey: symmetry={symmetry!r}; allowed are {allowed}")
    return Task.of(generator, owner, s, SYMMETRIES[symmetry])


def _begin(task: Task, resume: dict[str, Any] | None) -> Tally:
    if resume is None:
        return Tally.empty(task.scale, KEEP, TOLERANCE, task.identity)
    try:
        tally = Tally.from_dict(resume)
    except (KeyError, IndexError, TypeError, ValueError):
        raise InputError(
            "survey: resume is damaged; allowed is what Tally.to_dict has written"
        ) from None
    if tally.identity != task.identity:
        raise InputError(
            f"survey: resume of task {tally.identity}; allowed is a state of {task.identity}"
        )
    return tally


def _label(task: Task) -> str:
    return SYMMETRIC if task.symmetry and task.s else EXHAUSTIVE


def _listed(task: Task, budget: Budget) -> Survey:
    """Every pattern by itself: no worker lost, or numbers that the scan in float64 cannot hold."""
    if task.orbits > min(budget.patterns, VISITED):
        return _by_search(task, budget)
    began = time.perf_counter()
    listed, label = Listed.every(task), _label(task)
    kappa, kappa_F = listed.samples()
    found = listed.found(exact_estimates(kappa, PROBABILITIES, label), label)
    failed = listed.patterns[~listed.kappa.decodes]
    counts, edges = np.histogram(kappa_F.log10, weights=kappa_F.weights, bins=BINS)
    return Survey(
        **vars(found),
        kappa_F_mean=exact_estimates(kappa_F, (), label)[0],
        label=label,
        patterns=math.comb(task.n, task.s),
        kappa_F_edges=edges if len(kappa_F.values) else np.zeros(1),
        kappa_F_counts=counts if len(kappa_F.values) else np.zeros(0),
        undecodable=round(float(listed.weights[~listed.kappa.decodes].sum())),
        undecodable_stragglers=_named(task, failed),
        escalated=len(listed.patterns) if task.dual.room < 0 else 0,
        seconds=time.perf_counter() - began,
    )


def _named(task: Task, patterns: Array) -> tuple[tuple[int, ...], ...]:
    """The first of patterns by their survivors, at most 32; of each orbit its first."""
    images = sorted({task.first(row[None]) for row in patterns}, reverse=True)
    return tuple(images[:NAMED])


def _summary(task: Task, tally: Tally, budget: Budget, threads: int) -> Survey:
    """What a finished tally says, with kappa_2 of the patterns that need it."""
    began = time.perf_counter()
    decodable, label = tally.decodable, _label(task)
    named = tuple(task.stragglers(rank) for rank in reversed(tally.named))
    mean_F = np.inf
    if decodable == 0:
        found = nothing_decodes(named[0], nothing(PROBABILITIES, label))
    else:
        if task.orbits <= budget.exact:
            found = evaluate_all(task, PROBABILITIES, label)
        else:
            found = evaluate_extremes(task, tally, budget.sample, PROBABILITIES, threads)
        mean_F = float((tally.sums_of_bins / decodable).sum())
    edges, counts = tally.histogram()
    return Survey(
        **vars(found),
        kappa_F_mean=Estimate(mean_F, label=label),
        label=label,
        patterns=math.comb(task.n, task.s),
        kappa_F_edges=edges,
        kappa_F_counts=counts,
        undecodable=round(tally.undecodable),
        undecodable_stragglers=named,
        escalated=tally.escalated,
        seconds=tally.seconds + time.perf_counter() - began,
    )


def _by_search(task: Task, budget: Budget) -> Survey:
    """Worst of a search; mean and quantiles of a uniform random sample."""
    began = time.perf_counter()
    bad = search(task)
    random = stream("sample of a survey", task.n, task.s)
    drawn = np.array([random.choice(task.n, task.s, replace=False) for _ in range(budget.sample)])
    patterns = np.sort(np.concatenate([bad.patterns, drawn]), axis=1)
    listed = Listed(task, patterns, np.ones(len(patterns)))
    chosen = listed.kappa.only(slice(len(bad.patterns), None))
    chosen = chosen.only(chosen.decodes)
    estimates = random_estimates(chosen.spectral, chosen.log10_spectral, PROBABILITIES)
    failed = np.unique(patterns[~listed.kappa.decodes], axis=0)
    return Survey(
        **vars(listed.found(estimates, lowest_of(len(patterns)))),
        kappa_F_mean=random_estimates(chosen.frobenius, chosen.log10_frobenius, ())[0],
        label=SEARCH,
        patterns=len(np.unique(patterns, axis=0)),
        undecodable=len(failed),
        undecodable_stragglers=_named(task, failed),
        seconds=time.perf_counter() - began,
    )


def bad_sets(generator: Coefficients, owner: Array, s: int, limit: int) -> tuple[Array, bool]:
    """Straggler sets with large condition numbers, worst first.

    Parameters
    ----------
    generator : Coefficients (rows x k)
    owner : int array, shape (rows,)
    s : int
        Stragglers, at least one.
    limit : int
        Most sets returned.

    Returns
    -------
    sets : int array, shape (P, s)
    exhaustive : bool
        Whether every set was visited, so that the first is the worst of all, one that does not
        decode if there is any.

    Examples
    --------
    >>> sums = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1], [1, 3]]))
    >>> bad_sets(sums, np.arange(4), 2, 3)[0].tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    task = Task.of(generator, owner, s, SYMMETRIES[None])
    found = search(task)
    by_survivors = np.lexsort(-found.patterns.T[::-1])
    patterns, log10 = found.patterns[by_survivors], found.log10[by_survivors]
    sets = patterns[in_falling_order(log10)[:limit]]
    whole = survey(generator, s, owner=owner) if task.orbits <= VISITED else None
    if whole is not None and whole.label == EXHAUSTIVE:
        worst = whole.undecodable_stragglers[:1] or (whole.worst_stragglers,)
        first = np.array(worst, dtype=np.int64)
        sets = np.vstack([first, sets[(sets != first).any(axis=1)]])[:limit]
    return sets, whole is not None and whole.label == EXHAUSTIVE
