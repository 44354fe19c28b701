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
        Weight of the patterns of each bin of kappa_F^2 and the weighted sum of their kappa_F, the
        latter divided by 2^(exponent / 2).
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


@numba.njit(cache=True, nogil=True, error_model="numpy")
def count_patterns(
    counts: Counts,
    origin: int,
    span: tuple[int, int],
    value: Array,
    root: Array,
    bound: Array,
    weight: Array,
) -> None:
    """Add the patterns of the ranks origin + i, i = span[0] .. span[1] - 1.

    Parameters
    ----------
    counts : Counts
    origin : int
    span : tuple of int
    value, root, bound, weight : float64 arrays
        kappa_F^2, its root and the bound on kappa_2^2, all on the scale of `counts`, and the
        weight, of each i.
    """
    codes = value.view(np.int64)
    shift = (counts.exponent - 1023) * PER_OCTAVE
    last = counts.number.shape[0] - 1
    for i in range(span[0], span[1]):
        index = min(max((codes[i] >> SHIFT) + shift, 0), last)
        counts.number[index] += weight[i]
        counts.total[index] += weight[i] * root[i]
        draw = hashed(origin + i) / weight[i]
        if draw < counts.hashes[index, 1]:
            _sample(counts, index, draw, origin + i)
        if bound[i] > counts.high[0]:
            replace_top(counts.high, counts.high_rank, bound[i], origin + i)
        if -value[i] > counts.low[0]:
            replace_top(counts.low, counts.low_rank, -value[i], origin + i)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def list_unsettled(counts: Counts, start: int, stop: int, length: int) -> None:
    """List a range of ranks and its common prefix, joined to the one before it if they touch."""
    at = counts.used[0]
    ranges = counts.unsettled
    if at > 0 and ranges[at - 1, 1] == start and ranges[at - 1, 2] == length:
        ranges[at - 1, 1] = stop
    else:
        ranges[at, 0], ranges[at, 1], ranges[at, 2] = start, stop, length
        counts.used[0] += 1


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sample(counts: Counts, index: int, draw: float, rank: int) -> None:
    hashes, samples = counts.hashes, counts.samples
    slot = 0 if draw < hashes[index, 0] else 1
    if slot == 0:
        hashes[index, 1], samples[index, 1] = hashes[index, 0], samples[index, 0]
    hashes[index, slot], samples[index, slot] = draw, rank


@numba.njit(cache=True, nogil=True, error_model="numpy")
def hashed(rank: int) -> float:
    """Pseudo-random number in (0, 1] that depends on a rank only (splitmix64)."""
    z = np.uint64(rank) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (np.float64(z >> np.uint64(11)) + 1.0) * 2.0**-53


@numba.njit(cache=True, nogil=True, error_model="numpy")
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
