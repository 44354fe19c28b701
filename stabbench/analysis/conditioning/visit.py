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
    patterns_of,
)
from stabbench.analysis.conditioning.counts import Counts, new_counts
from stabbench.analysis.conditioning.kappa import ACCURATE, kappa_of_rest
from stabbench.analysis.conditioning.scan import Rows, rows_of, scan
from stabbench.analysis.conditioning.settlement import Settlement
from stabbench.analysis.conditioning.tally import Tally
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import Dual, dual

Array = np.ndarray[Any, np.dtype[Any]]
TOLERANCE = 1e-7
SMALLEST, LARGEST = 1 << 16, 1 << 20


@dataclasses.dataclass(frozen=True)
class Task:
    """What a survey looks at: a dual, the owners of its rows, s stragglers and a symmetry."""

    generator: Coefficients
    dual: Dual
    rows: Rows
    exponent: int
    owner: Array
    s: int
    symmetry: int

    @classmethod
    def of(cls, generator: Coefficients, owner: Array, s: int, symmetry: int) -> "Task":
        """Prepare a survey."""
        basis = dual(generator)
        return cls(generator, basis, *rows_of(basis, owner), owner, s, symmetry)

    @property
    def n(self) -> int:
        """Number of workers."""
        return len(self.rows.energy)

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

    def kappa(self, patterns: Array, healthy: float = ACCURATE) -> tuple[Array, Array]:
        """kappa_2 and kappa_F of patterns of stragglers, shape (P, s); see `kappa_of_rest`."""
        away = np.zeros((len(patterns), self.n), dtype=bool)
        np.put_along_axis(away, patterns, True, axis=1)
        rows = away[:, self.owner]
        kappa = np.empty((2, len(patterns)))
        count = rows.sum(axis=1)
        for c in np.unique(count):
            at = np.flatnonzero(count == c)
            lost = np.nonzero(rows[at])[1].reshape(len(at), c)
            kappa[:, at] = kappa_of_rest(self.dual, lost, healthy)
        return kappa[0], kappa[1]


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
    """
    settlement = Settlement(
        task.dual.exact, task.owner, task.rows, (task.s, task.table, task.symmetry)
    )
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
    counts = new_counts(mine.exponent, mine.extreme.shape[1], mine.tolerance)
    counts.extreme[:] = mine.extreme[:, :1]
    return counts, scan(task.rows, task.s, task.table, task.symmetry, span, counts), span[1]
