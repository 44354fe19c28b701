"""Compiled statistics of a stream of condition numbers, in memory that does not grow with it.

Counts in fixed bins, sums, the highest and lowest patterns and a sample of every bin. How they
are merged and read is said in `tally`.
"""

from typing import Any, NamedTuple

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
PER_OCTAVE = 32
OCTAVES = 1024
SHIFT = 52 - 5
SAMPLES = 2
RANGES = 1 << 15


class Counts(NamedTuple):
    """Arrays that the compiled scan writes into.

    Attributes
    ----------
    bins : float64 array, shape (bins, 4)
        Weight of the patterns of each bin of kappa_F^2, their weighted sum of kappa_F, and the
        lowest hashes of their ranks.
    samples : int64 array, shape (bins, 2)
        The ranks of the lowest hashes: a random sample that no order of counting changes.
    extreme, extreme_rank : float64 and int64 arrays, shape (2, K)
        Heaps of the highest bounds on kappa_2^2 and of the lowest kappa_F^2, negated.
    unsettled : int64 array, shape (1 + ranges, 3)
        First rank, end and length of the common prefix of patterns that float64 cannot settle;
        how many there are stands before them.
    exponent : int
        kappa_F^2 = value * 2^exponent for all values above.
    first : int
        kappa_F^2 = 2^first is where the first bin begins; no pattern has less.
    tolerance : float
        Relative error of ||G_S^+||_F^2 up to which float64 settles a pattern.
    """

    bins: Array
    samples: Array
    extreme: Array
    extreme_rank: Array
    unsettled: Array
    exponent: int
    first: int
    tolerance: float


class Found(NamedTuple):
    """Where the sums of consecutive ranks stand in a buffer, and the limits that bounds use.

    Attributes
    ----------
    rank, number, first : int
        The first rank, how many there are, and where their weights begin.
    length : int
        Workers of a pattern.
    total, error, left : int
        ||G_S^+||_F^2 - 1, its error and ||G_S||_F^2, on the scale of `Counts`.
    value, root, bound : int
        To be written: kappa_F^2, kappa_F and the bound on kappa_2^2.
    generator2, inverse2 : float
        ||G||_2^2 and ||W||_2^2.
    """

    rank: int
    number: int
    first: int
    length: int
    total: int
    error: int
    left: int
    value: int
    root: int
    bound: int
    generator2: float
    inverse2: float


def new_counts(scale: tuple[int, int], keep: int, tolerance: float) -> Counts:
    """Empty statistics of a scale (exponent, first) that keep the highest and lowest patterns."""
    bins = np.zeros((OCTAVES * PER_OCTAVE, 2 + SAMPLES))
    bins[:, 2:] = np.inf
    return Counts(
        bins,
        np.full((len(bins), SAMPLES), -1, dtype=np.int64),
        np.full((2, keep), -np.inf),
        np.full((2, keep), -1, dtype=np.int64),
        np.zeros((1 + RANGES, 3), dtype=np.int64),
        *scale,
        tolerance,
    )


@inlined
def count_patterns(counts: Counts, F: Array, weight: Array, found: Found) -> None:
    """Count patterns whose errors are small, list the others."""
    value, root, bound = found.value, found.root, found.bound
    _values(F, found)
    codes = F.view(np.int64)
    shift = (counts.exponent - counts.first - 1023) * PER_OCTAVE
    last = counts.bins.shape[0] - 1
    for i in range(found.number):
        rank = found.rank + i
        if not F[found.error + i] < counts.tolerance * (1 + F[found.total + i]):
            list_unsettled(counts.unsettled, rank, rank + 1, found.length, True)
            continue
        index = min(max((codes[value + i] >> SHIFT) + shift, 0), last)
        share = weight[found.first + i]
        counts.bins[index, 0] += share
        counts.bins[index, 1] += share * F[root + i]
        draw = hashed(rank) / share
        if draw < counts.bins[index, 3]:
            _sample(counts.bins, counts.samples, index, draw, rank)
        if F[bound + i] > counts.extreme[0, 0]:
            replace_top(counts.extreme, counts.extreme_rank, 0, F[bound + i], rank)
        if -F[value + i] > counts.extreme[1, 0]:
            replace_top(counts.extreme, counts.extreme_rank, 1, -F[value + i], rank)


@compiled
def count_each(
    counts: Counts,
    ranks: Array,
    weights: Array,
    sums: tuple[Array, Array],
    limits: tuple[float, float],
) -> None:
    """Count patterns of any ranks by ||G_S^+||_F^2 - 1 and ||G_S||_F^2, on the scale of counts."""
    F = np.zeros(6)
    for p in range(len(ranks)):
        F[0], F[2] = sums[0][p], sums[1][p]
        count_patterns(counts, F, weights, Found(ranks[p], 1, p, 0, 0, 1, 2, 3, 4, 5, *limits))


@inlined
def _values(F: Array, found: Found) -> None:
    value, root, bound = np.uint64(found.value), np.uint64(found.root), np.uint64(found.bound)
    total, left = np.uint64(found.total), np.uint64(found.left)
    for i in range(np.uint64(found.number)):
        F[value + i] = F[left + i] * (1 + F[total + i])
        F[root + i] = np.sqrt(F[value + i])
        F[bound + i] = min(F[left + i], found.generator2) * (found.inverse2 + F[total + i])


@inlined
def list_unsettled(ranges: Array, start: int, stop: int, length: int, join: bool) -> None:
    """List a range of ranks and the length of its prefix; joined to the one before if it may be."""
    at = ranges[0, 0]
    if join and at > 0 and ranges[at, 1] == start and ranges[at, 2] == length:
        ranges[at, 1] = stop
    else:
        at += 1
        ranges[at, 0], ranges[at, 1], ranges[at, 2] = start, stop, length
        ranges[0, 0] = at


@inlined
def _sample(bins: Array, samples: Array, index: int, draw: float, rank: int) -> None:
    slot = 0 if draw < bins[index, 2] else 1
    if slot == 0:
        bins[index, 3], samples[index, 1] = bins[index, 2], samples[index, 0]
    bins[index, 2 + slot], samples[index, slot] = draw, rank


@compiled
def hashed(rank: int) -> float:
    """Pseudo-random number in (0, 1] that depends on a rank only (splitmix64)."""
    z = np.uint64(rank) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return (np.float64(z >> np.uint64(11)) + 1.0) * 2.0**-53


@compiled
def replace_top(values: Array, ranks: Array, heap: int, value: float, rank: int) -> None:
    """Put a value in place of the smallest of a heap; of equal ones the highest rank goes first."""
    size, at = values.shape[1], 0
    while 2 * at + 1 < size:
        child = 2 * at + 1
        lower = values[heap, child]
        if child + 1 < size:
            other = values[heap, child + 1]
            if other < lower or (other == lower and ranks[heap, child + 1] > ranks[heap, child]):
                child, lower = child + 1, other
        if lower > value or (lower == value and ranks[heap, child] < rank):
            break
        values[heap, at], ranks[heap, at] = lower, ranks[heap, child]
        at = child
    values[heap, at], ranks[heap, at] = value, rank
