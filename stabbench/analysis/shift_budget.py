"""The error budget of one decoding of a shift-and-add code, all stages without rounding."""

from abc import ABC, abstractmethod
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import Budget
from stabbench.analysis.sides import block_products, exact_products, flat, share_products
from stabbench.analysis.stages import MOST_WORK, Stages, beyond, split
from stabbench.analysis.structure import OVERFLOWED, Trial
from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.quotients import LeftInverse, Quotient, integer_matrix
from stabbench.arithmetic.zigzag import Peeling
from stabbench.codes.toeplitz import Line
from stabbench.decoders.zigzag import Samples

Array = np.ndarray[Any, np.dtype[Any]]
MOST_STEPS = 3_000_000
"""Subtractions of integers of one budget, about a microsecond each."""
MOST_UNKNOWNS = 1024
"""Unknown samples of exact least squares."""


class Decoding(ABC):
    """What a decoder of shift-and-add codes does to the samples of some workers, on integers."""

    line: Line
    workers: Array

    @abstractmethod
    def excess(self, columns: int) -> str:
        """Why so many columns of the line take too long, an empty string where they do not."""

    @abstractmethod
    def along(self, samples: Array) -> tuple[Array, flint.fmpz]:
        """Blocks (k, positions, columns) as integers over a denominator, from integers."""

    def __call__(self, sides: Quotient, shape: tuple[int, ...]) -> Quotient:
        """The blocks, one row each, of replies (workers, rows, columns) in one row each."""
        depth = sides.shape[0] // len(self.workers)
        parts = sides.entries().reshape(depth, len(self.workers), *shape[1:])
        sent = np.zeros((depth, *shape), dtype=object)
        sent[:, self.workers] = parts
        samples = [_whole(self.line.samples(part)) for part in sent]
        columns = samples[0].shape[-1]
        found, over = self.along(np.concatenate(samples, axis=-1))
        blocks = [
            self.line.blocks(found[None, ..., at : at + columns])[0]
            for at in range(0, depth * columns, columns)
        ]
        rows = _whole(np.stack(blocks).reshape(depth * len(found), -1))
        return Quotient(integer_matrix(rows), sides.over * over)


class ZigzagDecoding(Decoding):
    """The subtractions of a zigzag.

    Parameters
    ----------
    line : Line
    peeling : Peeling
        Of one pattern.
    """

    def __init__(self, line: Line, peeling: Peeling) -> None:
        use = peeling.uses[0]
        assert isinstance(use, Resolution)
        self.line, self._peeling, self._use = line, peeling, use
        self.workers = np.unique(np.concatenate([use.known[use.known >= 0], use.rows]))

    def excess(self, columns: int) -> str:
        """Subtractions beyond `MOST_STEPS`."""
        terms = len(self._use.missing) * len(self.line.positions) * self.line.table.shape[1]
        return beyond(terms * columns, MOST_STEPS, "subtractions")

    def along(self, samples: Array) -> tuple[Array, flint.fmpz]:
        """The same subtractions."""
        return self._peeling.decode(samples)[0], flint.fmpz(1)


class SamplesDecoding(Decoding):
    """Blocks that arrived, and least squares on what is left of the other samples.

    Parameters
    ----------
    line : Line
    use : Resolution
        With missing blocks.
    """

    def __init__(self, line: Line, use: Resolution) -> None:
        self.line, self._samples = line, Samples(line, use)
        self.workers = np.unique(np.concatenate([use.known[use.known >= 0], use.rows]))
        self._inverse: LeftInverse | None = None

    def excess(self, columns: int) -> str:
        """Unknowns beyond `MOST_UNKNOWNS`, or more work than that of other exact decoding."""
        unknowns = len(self._samples.columns[0])
        if reason := beyond(unknowns, MOST_UNKNOWNS):
            return reason
        matrix = Quotient.of(self._samples.matrix()[0].toarray())
        self._inverse = LeftInverse(matrix)
        if self._inverse.work(2 * columns) > MOST_WORK:
            return f"least squares on {unknowns} unknowns for {columns} columns"
        self._inverse.form(2 * columns)
        return ""

    def along(self, samples: Array) -> tuple[Array, flint.fmpz]:
        """Blocks as `Samples.solve` finds them."""
        assert self._inverse is not None
        shape = self.line.table.shape[1], self.line.length, samples.shape[2]
        out = np.zeros(shape, dtype=object)
        right = self._samples.residual(samples, out)
        found = self._inverse(Quotient(integer_matrix(right), flint.fmpz(1)))
        out *= found.over
        block, position = self._samples.columns
        out[self._samples.use.missing[block], position] = found.entries()
        return out, found.over


def shift_budget(line: Line, decoding: Decoding, trial: Trial, estimate: Array) -> Budget | str:
    """Stages of one decoding, by the decoder's own operations without rounding.

    Parameters
    ----------
    line : Line
    decoding : Decoding
    trial : Trial
    estimate : array, shape (k, L, m)
        What the decoder returned.

    Returns
    -------
    Budget or str
        Why there is none, where a number that enters is not finite, or for too many of them.
    """
    taken = [part[decoding.workers] for part in trial.shares[: 1 + bool(line.pitch)]]
    replies = trial.replies[decoding.workers]
    if not all(np.isfinite(x).all() for x in (*taken, replies, estimate)):
        return OVERFLOWED
    is_complex = any(map(np.iscomplexobj, (*taken, *trial.shares, replies)))
    columns = line.chunk * (line.chunk if line.pitch else replies.shape[2])
    if reason := decoding.excess((1 + is_complex) * columns):
        return reason
    if line.pitch:
        encoded = share_products(taken[0], taken[1], is_complex)
        exact = block_products(trial.blocks[0], trial.blocks[1], is_complex)
    else:
        encoded = exact_products(taken[0], trial.shares[1], is_complex)
        exact = exact_products(trial.blocks[0], trial.shares[1], is_complex)
    stages = Stages(
        encoded=encoded,
        computed=flat(replies, is_complex),
        estimate=flat(estimate, is_complex),
        exact=exact,
    )
    return split(Budget, lambda sides: decoding(sides, trial.replies.shape), [stages])


def _integer(entry: Any) -> flint.fmpz:
    return entry if isinstance(entry, flint.fmpz) else flint.fmpz(int(entry))


_whole = np.frompyfunc(_integer, 1, 1)
"""Integers of one type: what pads an array of objects need not be of the type of its entries."""
