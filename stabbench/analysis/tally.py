"""Statistics of a stream of condition numbers, in memory that does not grow with the patterns.

Counts in fixed bins, sums, the highest and lowest patterns and a sample of every bin; all of them
merge, so that parts of a scan can run apart and be resumed.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
PER_OCTAVE = 32
OCTAVES = 1024
SHIFT = 52 - 5
SAMPLES = 2
LOWEST = 64


class Counts(NamedTuple):
    """Arrays that the compiled scan writes into.

    Attributes
    ----------
    number, total : float64 arrays, shape (bins,)
        Weight of the patterns of each bin of kappa_F^2 and the weighted sum of their kappa_F.
    hashes, samples : float64 and int64 arrays, shape (bins, 2)
        The patterns of a bin with the lowest hashes: a random sample that no order changes.
    high, high_rank : float64 and int64 arrays, shape (K,)
        Heap of the highest bounds on kappa_2^2.
    low, low_rank : float64 and int64 arrays
        Heap of the lowest kappa_F^2, negated.
    unsettled : int64 array, shape (ranges, 3)
        First rank, end and length of the common prefix of patterns that float64 cannot settle.
    used : int64 array, shape (1,)
        How many of them are in use.
    exponent : int
        kappa_F^2 = value * 2^exponent.
    tolerance : float
        Relative error of ||G_S^+||_F^2 up to which float64 settles a pattern.
    """

    number: Array
    total: Array
    hashes: Array
    samples: Array
    high: Array
    high_rank: Array
    low: Array
    low_rank: Array
    unsettled: Array
    used: Array
    exponent: int
    tolerance: float


def new_counts(exponent: int, keep: int, ranges: int, tolerance: float) -> Counts:
    """Empty statistics that keep the `keep` highest patterns."""
    bins = OCTAVES * PER_OCTAVE
    return Counts(
        np.zeros(bins),
        np.zeros(bins),
        np.full((bins, SAMPLES), np.inf),
        np.full((bins, SAMPLES), -1, dtype=np.int64),
        np.full(keep, -np.inf),
        np.full(keep, -1, dtype=np.int64),
        np.full(LOWEST, -np.inf),
        np.full(LOWEST, -1, dtype=np.int64),
        np.zeros((ranges, 3), dtype=np.int64),
        np.zeros(1, dtype=np.int64),
        exponent,
        tolerance,
    )


@numba.njit(cache=True, nogil=True)
def count_patterns(
    counts: Counts,
    ranks: tuple[int, int],
    value: Array,
    root: Array,
    bound: Array,
    weight: Array,
) -> None:
    """Add patterns of consecutive ranks.

    Parameters
    ----------
    counts : Counts
    ranks : tuple of int
        The first and the end.
    value, root, bound, weight : float64 arrays
        kappa_F^2, its root and the bound on kappa_2^2, all divided by 2^exponent (2^(exponent/2)),
        and the weight, of each rank.
    """
    codes = value.view(np.int64)
    shift = (counts.exponent - 1023) * PER_OCTAVE
    scale = 2.0 ** (0.5 * counts.exponent)
    last_bin = counts.number.shape[0] - 1
    for i in range(ranks[1] - ranks[0]):
        index = min(max((codes[i] >> SHIFT) + shift, 0), last_bin)
        counts.number[index] += weight[i]
        counts.total[index] += weight[i] * root[i] * scale
        draw = hashed(ranks[0] + i) / weight[i]
        if draw < counts.hashes[index, 1]:
            _sample(counts.hashes[index], counts.samples[index], draw, ranks[0] + i)
        if bound[i] > counts.high[0]:
            replace_top(counts.high, counts.high_rank, bound[i], ranks[0] + i)
        if -value[i] > counts.low[0]:
            replace_top(counts.low, counts.low_rank, -value[i], ranks[0] + i)


@numba.njit(cache=True, nogil=True)
def _sample(hashes: Array, samples: Array, draw: float, rank: int) -> None:
    slot = 0 if draw < hashes[0] else 1
    if slot == 0:
        hashes[1], samples[1] = hashes[0], samples[0]
    hashes[slot], samples[slot] = draw, rank


@numba.njit(cache=True, nogil=True)
def hashed(rank: int) -> float:
    """Pseudo-random number in (0, 1] that depends on a rank only (splitmix64)."""
    z = np.uint64(rank) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (np.float64(z >> np.uint64(11)) + 1.0) * 2.0**-53


@numba.njit(cache=True, nogil=True)
def replace_top(values: Array, ranks: Array, value: float, rank: int) -> None:
    """Put a value in place of the smallest of a heap."""
    size, at = values.shape[0], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        if child + 1 < size and values[child + 1] < values[child]:
            child += 1
        if values[child] >= value:
            break
        values[at], ranks[at] = values[child], ranks[child]
        at = child
    values[at], ranks[at] = value, rank
