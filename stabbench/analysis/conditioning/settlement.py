"""Patterns that float64 cannot settle: exact rank first, then ball arithmetic."""

import functools
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np

from stabbench.analysis.conditioning.combinations import images, patterns_of, ranks_of, subsets
from stabbench.analysis.conditioning.pairs import traces_by_pairs
from stabbench.analysis.conditioning.scan import Rows
from stabbench.analysis.conditioning.tally import NAMED, Tally
from stabbench.arithmetic.duality import LAST_BITS, ExactDual

Array = np.ndarray[Any, np.dtype[Any]]
BATCH = 1 << 14
PRECISE = 2.0**-40
FEW = 64
PARTS = "real", "imag"


class BeyondError(Exception):
    """A condition number whose square float64 cannot hold on the scale of a scan."""


class Settlement:
    """Settles ranges of ranks for one generator, and remembers which workers are dependent.

    Parameters
    ----------
    exact : ExactDual
    owner : int array, shape (n,)
        The worker of each row of the generator.
    rows : Rows
        The scaled rows of the scan.
    task : tuple
        Stragglers s, table of binomials and symmetry.
    room : int
        See `Dual.room`.
    """

    def __init__(
        self, exact: ExactDual, owner: Array, rows: Rows, task: tuple[int, Array, int], room: int
    ) -> None:
        self.exact = exact
        self.most = 4.0**room
        self.members = [np.flatnonzero(owner == w).tolist() for w in range(owner.max() + 1)]
        self.rows = rows
        self.s, self.table, self.symmetry = task
        self.circuits: list[Array] = []

    def settle(self, unsettled: Array, tally: Tally) -> None:
        """Add the patterns of ranges (start, stop, length of the common prefix) to a tally.

        Raises
        ------
        BeyondError
            If a pattern decodes whose condition number is too large for a scan.
        """
        waiting: list[tuple[Array, Array]] = []
        for start, stop, length in unsettled.tolist():
            prefix = patterns_of(np.array([start]), self.s, self.table)[0, :length]
            if length < self.s and not self.decodes(prefix):
                tally.fail(self.failed_ranks(start, stop), self.weight(start, stop))
                continue
            for part in self.batches(start, stop):
                waiting.append(part)
                if sum(len(weights) for _, weights in waiting) > BATCH:
                    self.settle_each(*_joined(waiting), tally)
                    waiting = []
        if waiting:
            self.settle_each(*_joined(waiting), tally)

    def batches(self, start: int, stop: int) -> Iterator[tuple[Array, Array]]:
        """Representatives of a range of ranks and their weights."""
        while start < stop:
            patterns, weights, start = subsets(
                start, stop, self.s, self.table, self.symmetry, BATCH
            )
            yield patterns, weights

    def weight(self, start: int, stop: int) -> float:
        """Patterns that the representatives of a range stand for."""
        if not self.symmetry:
            return float(stop - start)
        return float(sum(weights.sum() for _, weights in self.batches(start, stop)))

    def failed_ranks(self, start: int, stop: int) -> list[int]:
        """The last ranks of patterns that a range of representatives that fail stands for."""
        if not self.symmetry:
            return list(range(max(start, stop - NAMED), stop))
        return [r for patterns, _ in self.batches(start, stop) for r in self.last_ranks(patterns)]

    def last_ranks(self, patterns: Array) -> list[int]:
        """The highest rank among the images of each pattern."""
        every = images(patterns, len(self.members), self.symmetry)
        ranks = [ranks_of(image, self.table) for image in every]
        return sorted(np.max(ranks, axis=0).tolist())[-NAMED:]

    def decodes(self, workers: Array) -> bool:
        """Whether the other workers suffice, exactly; a minimal set that must not fail is kept."""
        if self.known(workers[None, :])[0]:
            return False
        if self.exact.independent(self.lost(workers)):
            return True
        minimal = workers
        for worker in workers:
            fewer = minimal[minimal != worker]
            if fewer.size and not self.exact.independent(self.lost(fewer)):
                minimal = fewer
        self.circuits.append(minimal)
        return False

    def known(self, patterns: Array) -> Array:
        """Which patterns hold a set of workers known to be needed."""
        present = np.zeros((len(patterns), len(self.members)), dtype=bool)
        np.put_along_axis(present, patterns, True, axis=1)
        return np.array(
            np.any([present[:, circuit].all(axis=1) for circuit in self.circuits], axis=0)
            if self.circuits
            else np.zeros(len(patterns), dtype=bool)
        )

    def lost(self, workers: Array) -> tuple[int, ...]:
        """Rows of the generator that the workers own."""
        return tuple(row for worker in workers for row in self.members[worker])

    def settle_each(self, patterns: Array, weights: Array, tally: Tally) -> None:
        """Add patterns, settled in twice the precision of float64 or else by balls."""
        ranks = ranks_of(patterns, self.table)
        failed = self.known(patterns)
        totals = self.sums_by_pairs(patterns)
        circuits = len(self.circuits)
        for i in np.flatnonzero(np.isnan(totals)):
            if len(self.circuits) > circuits:
                failed |= self.known(patterns)
                circuits = len(self.circuits)
            total = None if failed[i] else self.sum_by_balls(patterns[i])
            failed[i] = total is None
            totals[i] = np.nan if total is None else total
        if failed.any():
            tally.fail(self.last_ranks(patterns[failed]), float(weights[failed].sum()))
        present = np.ones((len(patterns), len(self.members)), dtype=bool)
        np.put_along_axis(present, patterns, False, axis=1)
        left = present @ self.rows.energy
        limits = self.rows.generator2, self.rows.inverse2
        good = ~failed
        if (totals[good] > self.most).any():
            raise BeyondError
        tally.add(ranks[good], weights[good], (totals[good], left[good]), limits)

    def sums_by_pairs(self, patterns: Array) -> Array:
        """||L^-1 W_C||_F^2 over ||W||_F^2, NaN where this does not settle it."""
        lost = [self.lost(workers) for workers in patterns]
        totals = np.full(len(patterns), np.nan)
        if len(patterns) < FEW:
            return totals
        P, K = self.pairs
        n = len(self.exact.generator.rounded("float64"))
        shifts = (0, n) if self.exact.generator.is_complex else (0,)
        counts = np.array([len(rows) for rows in lost])
        for c in np.unique(counts):
            at = np.flatnonzero(counts == c)
            rows = np.array([lost[i] for i in at], dtype=np.int64)
            rows = np.concatenate([rows + shift for shift in shifts], axis=1)
            found, errors = traces_by_pairs(P, K, rows)
            totals[at] = np.where(errors < PRECISE, found / len(shifts), np.nan)
        return totals

    @functools.cached_property
    def pairs(self) -> tuple[Array, Array]:
        """Real forms of P and of K over ||W||_F^2 as sums hi + lo, both scaled to P_ii about 1."""
        bits = 2 * self.exact.bits
        P, K, size = self.exact.gram(bits)
        with flint.ctx.workprec(bits):
            K = [[x / size for x in row] for row in K]
            forms = [_pairs(matrix) for matrix in (P, K)]
        _, exponent = np.frexp(np.diagonal(forms[0][..., 0]))
        half = -(exponent // 2)
        shift = (half[:, None] + half)[..., None]
        return np.ldexp(forms[0], shift), np.ldexp(forms[1], shift)

    def sum_by_balls(self, workers: Array) -> float | None:
        """||L^-1 W_C||_F^2 over ||W||_F^2, None if the other workers do not suffice.

        With P = H H^H and K = W W^H it is the trace of P_C^-1 K_C.
        """
        C = self.lost(workers)
        bits = 2 * self.exact.bits
        tested = False
        while bits <= LAST_BITS:
            P, K, size = self.exact.gram(bits)
            matrix: Any = flint.acb_mat if self.exact.generator.is_complex else flint.arb_mat
            with flint.ctx.workprec(bits):
                try:
                    left = matrix([[P[i][j] for j in C] for i in C])
                    right = matrix([[K[i][j] for j in C] for i in C])
                    total = left.solve(right).trace()
                except ZeroDivisionError:
                    total = None
                else:
                    total = (total.real if self.exact.generator.is_complex else total) / size
                    if float(total.rad()) <= PRECISE * float(total.mid()):
                        return float(total.mid())
            if total is None and not tested:
                tested = True
                if not self.decodes(workers):
                    return None
            bits *= 2
        return None


def _joined(parts: list[tuple[Array, Array]]) -> tuple[Array, Array]:
    patterns, weights = zip(*parts, strict=True)
    return np.concatenate(patterns), np.concatenate(weights)


def _pairs(matrix: list[list[Any]]) -> Array:
    """Midpoints as sums hi + lo; complex matrices in real form."""
    if isinstance(matrix[0][0], flint.acb):
        re, im = (_pairs([[getattr(x, part) for x in row] for row in matrix]) for part in PARTS)
        return np.concatenate(
            [np.concatenate([re, -im], axis=1), np.concatenate([im, re], axis=1)], axis=0
        )
    middle = [[x.mid() for x in row] for row in matrix]
    high = [[float(x) for x in row] for row in middle]
    low = [
        [float(x - y) for x, y in zip(a, b, strict=True)] for a, b in zip(middle, high, strict=True)
    ]
    return np.stack([high, low], axis=-1)
