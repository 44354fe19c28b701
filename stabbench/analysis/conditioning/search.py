"""Search for bad patterns where there are too many to visit: a lower bound of the worst case."""

import dataclasses
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled
from stabbench.analysis.conditioning.elimination import Layout, complete_block, push
from stabbench.analysis.conditioning.scan import workspace
from stabbench.analysis.conditioning.visit import Task
from stabbench.analysis.ties import first_set, tied_logarithms
from stabbench.arithmetic.streams import stream

Array = np.ndarray[Any, np.dtype[Any]]
Pattern = tuple[int, ...]
FAMILY_STARTS = 48
PREFIXES = 400
PREFIX_WORK = 4e8
EVALUATED = 48
POLISHED = 3
SUSPECTS = 64
TOLERANCE = 1e-4
UNSETTLED, MEMBER = -1.0, -2.0


@dataclasses.dataclass(frozen=True)
class SearchResult:
    """Patterns tried, shape (P, s), and log10 kappa_2; infinite where one does not decode."""

    patterns: Array
    log10: Array


def search(task: Task) -> SearchResult:
    """Bad patterns by greedy choice and swaps from several starts.

    One worker at a time is exchanged for the one that raises the bound on kappa_2 most. Starts are
    the greedy pattern, patterns known to be bad (contiguous, strided, first and last workers) and
    random sets of s - 2 workers with the best two of all others. The best local optima are then
    improved in kappa_2 itself.

    Parameters
    ----------
    task : Task
        With at least one straggler. Where its dual is beyond float64 there are no bounds to climb,
        and only the starts are evaluated.
    """
    if task.dual.room < 0:
        return _families(task)
    climber = _Climber(task)
    for start in starts(task.n, task.s):
        climber.climb_from(start)
    for prefix in prefixes(task.n, task.s, task.rows.Z.shape[1]):
        climber.climb_from(climber.with_best_pair(prefix))
    climber.evaluate([*climber.best_optima(), *climber.doubtful()])
    for _ in range(POLISHED):
        climber.polish()
    tried = climber.tried
    return SearchResult(np.array([*tried], dtype=np.int64), np.array([*tried.values()]))


def _families(task: Task) -> SearchResult:
    """The patterns that a search starts from; random workers are added to those that are short."""
    random = stream("families of a search", task.n, task.s)
    short = [*starts(task.n, task.s), *prefixes(task.n, task.s, task.n)[: POLISHED * EVALUATED]]
    found = set()
    for start in short:
        others = np.setdiff1d(np.arange(task.n), start)
        more = random.choice(others, task.s - len(start), replace=False)
        found.add(tuple(sorted([*start.tolist(), *more.tolist()])))
    patterns = np.array(sorted(found), dtype=np.int64)
    return SearchResult(patterns, task.kappa(patterns).log10_spectral)


class _Climber:
    """Local optima of the bound on kappa_2, and kappa_2 of the patterns that deserve it."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.at, self.F = workspace(task.rows, task.s)
        self.of = task.rows.energy, (task.rows.generator2, task.rows.inverse2)
        self.suspects = np.full((SUSPECTS, task.s), -1, dtype=np.int64)
        self.used = np.zeros(1, dtype=np.int64)
        self.optima: dict[Pattern, float] = {}
        self.tried: dict[Pattern, float] = {}

    def climb_from(self, start: Array) -> None:
        """Fill a start greedily where it is short, and climb."""
        c = np.zeros(self.task.s, dtype=np.int64)
        c[: len(start)] = start
        grow(self.F, self.at, *self.of, c, len(start))
        bound = climb(self.F, self.at, *self.of, c, self.suspects, self.used)
        if bound > 0:
            self.optima[tuple(sorted(c.tolist()))] = bound

    def with_best_pair(self, prefix: Array) -> Array:
        """A prefix of s - 2 workers and the two that give the highest bound with it."""
        return np.append(prefix, best_pair(self.F, self.at, *self.of, prefix))

    def best_optima(self) -> list[Pattern]:
        """The optima of the highest bounds."""
        return sorted(self.optima, key=lambda pattern: -self.optima[pattern])[:EVALUATED]

    def doubtful(self) -> list[Pattern]:
        """Patterns that float64 did not settle: perhaps the worst, perhaps not decodable."""
        return sorted({tuple(sorted(row)) for row in self.suspects[: self.used[0]].tolist()})

    def evaluate(self, patterns: list[Pattern]) -> None:
        """Compute log10 kappa_2 of those patterns that are new."""
        new = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self.tried]
        if new:
            log10 = self.task.kappa(np.array(new, dtype=np.int64)).log10_spectral
            self.tried.update(zip(new, log10.tolist(), strict=True))

    def polish(self) -> None:
        """Evaluate the neighbours of the worst pattern so far that have the highest bounds."""
        finite = [pattern for pattern, log10 in self.tried.items() if np.isfinite(log10)]
        if not finite:
            return
        tied = tied_logarithms(np.array([self.tried[pattern] for pattern in finite]))
        equal = np.array([finite[i] for i in tied], dtype=np.int64)
        worst = equal[first_set(equal)]
        near: list[tuple[float, Pattern]] = []
        for place in range(self.task.s):
            prefix = np.delete(worst, place)
            bounds = candidates(self.F, self.at, *self.of, prefix)
            near += [
                (float(bounds[j]), tuple(sorted([*prefix.tolist(), int(j)])))
                for j in np.flatnonzero(bounds > 0)
            ]
        near.sort(reverse=True)
        self.evaluate([pattern for _, pattern in near[:EVALUATED]])


def starts(n: int, s: int) -> list[Array]:
    """Patterns to start from, the first of them empty: contiguous, first, last and strided."""
    base = np.arange(s)
    families = [np.array([], dtype=np.int64), base, n - s + base]
    families += [(base + first) % n for first in range(0, n, max(1, n // FAMILY_STARTS))]
    families += [(first + step * base) % n for step in range(2, n // s + 1) for first in (0, 1)]
    return [pattern for pattern in families if len(set(pattern.tolist())) in {0, s}]


def prefixes(n: int, s: int, coordinates: int) -> list[Array]:
    """Random sets of s - 2 workers, with a fixed seed; fewer where each costs more."""
    if s < 2:
        return []
    count = int(np.clip(PREFIX_WORK / (coordinates * n**2), 8, PREFIXES))
    random = stream("prefixes of a search", n, s)
    return [np.sort(random.choice(n, s - 2, replace=False)) for _ in range(count)]


@compiled
def candidates(
    F: Array, at: Layout, energy: Array, limits: tuple[float, float], prefix: Array
) -> Array:
    """Bounds on kappa_2^2 of a prefix with each further worker.

    UNSETTLED where float64 does not settle the pattern, MEMBER for workers of the prefix.
    """
    n, length = at.n, prefix.shape[0]
    for level in range(length):
        push(F, at, level, prefix[level], 0)
    complete_block(F, at, length, (0, n))
    bounds = np.zeros(n)
    for worker in prefix:
        bounds[worker] = MEMBER
    before = 0.0
    for i in range(n):
        F[at.left + i] = before
        before += energy[i] if bounds[i] == 0 else 0.0
    behind = 0.0
    for i in range(n - 1, -1, -1):
        left = F[at.left + i] + behind
        behind += energy[i] if bounds[i] == 0 else 0.0
        total = F[at.total + i]
        if bounds[i] == 0:
            settled = F[at.error + i] < TOLERANCE * (1 + total)
            bounds[i] = min(left, limits[0]) * (limits[1] + total) if settled else UNSETTLED
    return bounds


@compiled
def best_pair(
    F: Array, at: Layout, energy: Array, limits: tuple[float, float], prefix: Array
) -> Array:
    """The two workers that give the highest settled bound with a prefix."""
    n, length = at.n, prefix.shape[0]
    best, pair = -1.0, np.array([0, 1])
    free = np.ones(n)
    for level in range(length):
        push(F, at, level, prefix[level], 0)
        free[prefix[level]] = 0
    pair[:] = np.argsort(-free)[:2]
    whole = (energy * free).sum()
    for i in range(n):
        if free[i] == 0:
            continue
        push(F, at, length, i, i + 1)
        complete_block(F, at, length + 1, (i + 1, n))
        for j in range(i + 1, n):
            total = F[at.total + j - i - 1]
            error = F[at.error + j - i - 1]
            left = max(whole - energy[i] - energy[j], 1e-3 * whole)
            bound = min(left, limits[0]) * (limits[1] + total)
            if free[j] > 0 and bound > best and error < TOLERANCE * (1 + total):
                best, pair[0], pair[1] = bound, i, j
    return pair


@compiled
def grow(
    F: Array, at: Layout, energy: Array, limits: tuple[float, float], c: Array, length: int
) -> None:
    """Fill c from a length on, each time with the worker of the highest bound."""
    for t in range(length, c.shape[0]):
        c[t] = np.argmax(candidates(F, at, energy, limits, c[:t]))


@compiled
def climb(
    F: Array,
    at: Layout,
    energy: Array,
    limits: tuple[float, float],
    c: Array,
    suspects: Array,
    used: Array,
) -> float:
    """Exchange workers of c until no exchange of one raises the bound, which is returned.

    Patterns that float64 does not settle are put among the suspects, as long as there is room.
    """
    s = c.shape[0]
    best, place, kept = 0.0, 0, 0
    prefix = np.empty(s - 1, dtype=np.int64)
    while kept < s:
        prefix[:place] = c[:place]
        prefix[place:] = c[place + 1 :]
        bounds = candidates(F, at, energy, limits, prefix)
        for i in range(at.n):
            if bounds[i] == UNSETTLED and used[0] < suspects.shape[0]:
                suspects[used[0], : s - 1] = prefix
                suspects[used[0], s - 1] = i
                used[0] += 1
        j = np.argmax(bounds)
        kept += 1
        if bounds[j] > best * (1 + 1e-12):
            best, kept = bounds[j], 1
            c[place] = j
        place = (place + 1) % s
    return best
