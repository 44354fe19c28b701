"""One pass over all straggler patterns, in parts that can run apart and be gone on with."""

import concurrent.futures
import dataclasses
import functools
import hashlib
import math
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from stabbench.analysis.conditioning.combinations import (
    CYCLIC,
    DIHEDRAL,
    NONE,
    REFLECTION,
    binomials,
    images,
    patterns_of,
)
from stabbench.analysis.conditioning.counts import Counts, new_counts
from stabbench.analysis.conditioning.kappa import ACCURATE, Kappa, kappa_of_rest
from stabbench.analysis.conditioning.scan import Rows, rows_of, scan
from stabbench.analysis.conditioning.settlement import Settlement
from stabbench.analysis.conditioning.tally import Tally
from stabbench.analysis.ties import first_set
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import Dual, dual
from stabbench.arithmetic.scaling import normal

Array = np.ndarray[Any, np.dtype[Any]]
TOLERANCE = 1e-7
SMALLEST, LARGEST = 1 << 16, 1 << 20
LEAST = 2.0**-500


@dataclasses.dataclass(frozen=True)
class Task:
    """What a survey looks at: a dual, the owners of its rows, s stragglers and a symmetry."""

    generator: Coefficients
    dual: Dual
    owner: Array
    s: int
    symmetry: int

    @classmethod
    def of(cls, generator: Coefficients, owner: Array, s: int, symmetry: int) -> "Task":
        """Prepare a survey; powers of two are taken out of the generator."""
        generator = normal(generator)[0]
        return cls(generator, dual(generator), owner, s, symmetry)

    @property
    def n(self) -> int:
        """Number of workers."""
        return int(self.owner.max()) + 1

    @functools.cached_property
    def scanned(self) -> tuple[Rows, int]:
        """What the scan asks of the dual, see `rows_of`; only for duals that float64 can serve."""
        return rows_of(self.dual, self.owner)

    @property
    def rows(self) -> Rows:
        """Rows for the scan."""
        return self.scanned[0]

    @property
    def scale(self) -> tuple[int, int]:
        """Exponents of the scale of a scan and of the least kappa_F^2 there can be."""
        exponent = self.scanned[1]
        least = float(np.sort(self.rows.energy)[: self.n - self.s].sum())
        return exponent, max(0, exponent + math.frexp(max(least, LEAST))[1] - 1)

    @functools.cached_property
    def table(self) -> Array:
        """Binomial coefficients."""
        return binomials(self.n, self.s)

    @property
    def end(self) -> int:
        """The rank after the last representative."""
        n, s = self.n, self.s
        return math.comb(n - 1, s - 1) if self.symmetry in {CYCLIC, DIHEDRAL} else math.comb(n, s)

    @property
    def orbits(self) -> int:
        """Representatives, about."""
        share = {NONE: 1, CYCLIC: self.n, REFLECTION: 2, DIHEDRAL: 2 * self.n}[self.symmetry]
        return math.comb(self.n, self.s) // share + 1

    @property
    def identity(self) -> str:
        """Name of the task, so that only its own statistics are gone on with."""
        key = hashlib.sha256(self.dual.generator.tobytes() + self.owner.tobytes())
        key.update(repr((self.s, self.symmetry)).encode())
        return key.hexdigest()[:16]

    def patterns(self, ranks: Array) -> Array:
        """Stragglers of given ranks."""
        return patterns_of(ranks, self.s, self.table)

    def stragglers(self, rank: int) -> tuple[int, ...]:
        """Stragglers of a rank."""
        return tuple(self.patterns(np.array([rank]))[0].tolist())

    def first(self, patterns: Array) -> tuple[int, ...]:
        """The first of patterns, and of what a symmetry makes of them, by their survivors."""
        every = np.concatenate(list(images(patterns, self.n, self.symmetry)))
        return tuple(every[first_set(every)].tolist())

    def kappa(self, patterns: Array, healthy: float = ACCURATE) -> Kappa:
        """Condition numbers of patterns of stragglers, shape (P, s); see `kappa_of_rest`."""
        away = np.zeros((len(patterns), self.n), dtype=bool)
        np.put_along_axis(away, patterns, True, axis=1)
        rows = away[:, self.owner]
        kappa = np.empty((4, len(patterns)))
        count = rows.sum(axis=1)
        for c in np.unique(count):
            at = np.flatnonzero(count == c)
            lost = np.nonzero(rows[at])[1].reshape(len(at), c)
            kappa[:, at] = kappa_of_rest(self.dual, lost, healthy)
        return Kappa(*kappa)


def visit(task: Task, tally: Tally, threads: int = 1) -> Iterator[Tally]:
    """Go on with a tally to the last rank; it is given out, up to date, after each part.

    Parameters
    ----------
    task : Task
        With at least one straggler.
    tally : Tally
        Changed in place.
    threads : int
        Parts that are scanned at the same time.

    Raises
    ------
    BeyondError
        If a condition number is too large for a scan.
    """
    how = task.s, task.table, task.symmetry
    settlement = Settlement(task.dual.exact, task.owner, task.rows, how, task.dual.room)
    began = time.perf_counter() - tally.seconds
    for counts, stop in _parts(task, tally, threads):
        settlement.settle(counts.unsettled[1 : 1 + counts.unsettled[0, 0]], tally)
        counts.unsettled[0, 0] = 0
        if counts is not tally.counts:
            tally.merge(counts)
        tally.next_rank = stop
        tally.seconds = time.perf_counter() - began
        yield tally


def _parts(task: Task, tally: Tally, threads: int) -> Iterator[tuple[Counts, int]]:
    """Statistics of consecutive parts and the rank after each, in order."""
    size = min(max(task.end // (4 * threads), SMALLEST), LARGEST)
    starts = range(tally.next_rank, task.end, size)
    spans = deque((start, min(start + size, task.end)) for start in starts)
    if threads == 1:
        while spans:
            start, end = spans.popleft()
            while start < end:
                span = start, end
                start = scan(task.rows, task.s, task.table, task.symmetry, span, tally.counts)
                yield tally.counts, start
        return
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        running: deque[concurrent.futures.Future[tuple[Counts, int, int]]] = deque()
        while spans or running:
            while spans and len(running) < 2 * threads:
                running.append(pool.submit(_part, task, tally, spans.popleft()))
            counts, stop, end = running.popleft().result()
            yield counts, stop
            while stop < end:
                counts, stop, end = _part(task, tally, (stop, end))
                yield counts, stop


def _part(task: Task, tally: Tally, span: tuple[int, int]) -> tuple[Counts, int, int]:
    """Statistics of the ranks of a span, how far they go, and its end."""
    mine = tally.counts
    scale = mine.exponent, mine.first
    counts = new_counts(scale, mine.extreme.shape[1], mine.tolerance)
    counts.extreme[:] = mine.extreme[:, :1]
    return counts, scan(task.rows, task.s, task.table, task.symmetry, span, counts), span[1]
