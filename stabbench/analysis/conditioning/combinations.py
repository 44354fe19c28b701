"""Subsets in lexicographic order: ranks, and one representative of each orbit of a symmetry.

Compiled; what is computed for each subset lives in `scan`.
"""

import math
from collections.abc import Iterator
from typing import Any, Literal

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
Symmetry = Literal["cyclic", "reflection", "dihedral"]
NONE, CYCLIC, REFLECTION, DIHEDRAL = range(4)
SYMMETRIES = {None: NONE, "cyclic": CYCLIC, "reflection": REFLECTION, "dihedral": DIHEDRAL}
LARGEST = 1 << 62


def binomials(n: int, s: int) -> Array:
    """Table of C(a, b) for a <= n, b <= s, cut off at 2^62.

    Examples
    --------
    >>> int(binomials(50, 5)[50, 5])
    2118760
    """
    table = [[min(math.comb(a, b), LARGEST) for b in range(s + 1)] for a in range(n + 1)]
    return np.array(table, dtype=np.int64)


def ranks_of(patterns: Array, table: Array) -> Array:
    """Ranks of sorted subsets, shape (P, s), in lexicographic order.

    Examples
    --------
    >>> ranks_of(np.array([[0, 1], [2, 3]]), binomials(4, 2)).tolist()
    [0, 5]
    """
    n, s = table.shape[0] - 1, patterns.shape[1]
    return np.asarray(table[n, s] - 1 - table[n - 1 - patterns, s - np.arange(s)].sum(axis=1))


def patterns_of(ranks: Array, s: int, table: Array) -> Array:
    """Subsets of given ranks, shape (P, s).

    Examples
    --------
    >>> patterns_of(np.array([0, 5]), 2, binomials(4, 2)).tolist()
    [[0, 1], [2, 3]]
    """
    patterns = np.empty((len(ranks), s), dtype=np.int64)
    for rank, pattern in zip(ranks, patterns, strict=True):
        unrank(rank, s, table, pattern)
    return patterns


def images(patterns: Array, n: int, symmetry: int) -> Iterator[Array]:
    """What the permutations of a symmetry make of sorted subsets, sorted, the same first.

    Examples
    --------
    >>> [image.tolist() for image in images(np.array([[0, 1]]), 3, CYCLIC)]
    [[[0, 1]], [[1, 2]], [[0, 2]]]
    """
    mirrored = (patterns, n - 1 - patterns) if symmetry in (REFLECTION, DIHEDRAL) else (patterns,)
    for turn in range(n) if symmetry in (CYCLIC, DIHEDRAL) else range(1):
        for image in mirrored:
            yield np.sort((image + turn) % n, axis=1)


@inlined
def end_of_prefix(c: Array, length: int, s: int, table: Array) -> int:
    """Rank of the first subset after all that begin with c[:length]."""
    n = table.shape[0] - 1
    end = table[n, s]
    for i in range(length):
        end -= table[n - 1 - c[i], s - i]
    return int(end)


@compiled
def unrank(rank: int, s: int, table: Array, c: Array) -> None:
    """Write into c the subset of a rank."""
    n = table.shape[0] - 1
    left = table[n, s] - 1 - rank
    value = n
    for i in range(s):
        value -= 1
        while table[value, s - i] > left:
            value -= 1
        left -= table[value, s - i]
        c[i] = n - 1 - value


@inlined
def advance(c: Array, s: int, n: int, place: int) -> int:
    """Next prefix: increase c[place], or the last place before it that can grow.

    The places after it become minimal. Returns the place that grew, -1 at the end.
    """
    while place >= 0 and c[place] == n - s + place:
        place -= 1
    if place >= 0:
        c[place] += 1
        for q in range(place + 1, s):
            c[q] = c[q - 1] + 1
    return place


@inlined
def dead_length(c: Array, s: int, n: int, symmetry: int) -> int:
    """Length of the shortest prefix without representatives, from its last element on; 0 if none.

    A dead prefix stays dead when its last element grows.
    """
    widest = 0
    for d in range(s - 1):
        left = s - 1 - d
        if symmetry == REFLECTION:
            if c[0] + c[d] + left > n - 1:
                return d + 1
        elif symmetry != NONE:
            if d > 0:
                widest = max(widest, c[d] - c[d - 1])
            if c[0] > 0 or n - c[d] - left < widest:
                return d + 1
    return 0


@inlined
def window(c: Array, s: int, n: int, symmetry: int, weight: Array) -> tuple[int, int]:
    """Range of last elements that complete c[:s-1] to representatives, and their weights.

    Weights of all representatives add up to C(n, s), and any invariant function has the weighted
    mean over representatives that it has over all subsets. A cyclic representative holds 0 and
    has its widest gap around the end; t subsets of an orbit do if t gaps are widest. A
    reflection of it compares its first and last gap.
    """
    first = c[s - 2] + 1 if s > 1 else 0
    end = n
    if symmetry == NONE:
        weight[first:end] = 1
    elif symmetry == REFLECTION:
        end = n - c[0] if s > 1 else (n + 1) // 2
        weight[first:end] = 2
        if end > first and (s > 1 or n % 2 == 1):
            weight[end - 1] = 1
    elif s == 1:
        end = 1
        weight[0] = n
    else:
        first, end = _cyclic_window(c, s, n, symmetry, weight)
    return first, end


@inlined
def _cyclic_window(c: Array, s: int, n: int, symmetry: int, weight: Array) -> tuple[int, int]:
    last = c[s - 2]
    widest, ties = 0, 0
    for i in range(s - 2):
        gap = c[i + 1] - c[i]
        if gap > widest:
            widest, ties = gap, 0
        ties += gap == widest
    first = last + 1
    mirrored = symmetry == DIHEDRAL and s > 2
    if mirrored:
        first = last + c[1] - c[0]
    end = min(n - widest, (n + last) // 2) + 1
    if c[0] > 0 or end <= first:
        return first, first
    weight[first:end] = 2 * n if mirrored else n
    for j in (end - 1, first):
        equal = 1 + (ties if n - j == widest else 0) + (n - j == j - last)
        both = mirrored and j - last > c[1] - c[0]
        weight[j] = (2 if both else 1) * n / equal
    return first, end


@compiled
def subsets(
    start: int, stop: int, s: int, table: Array, symmetry: int, limit: int
) -> tuple[Array, Array, int]:
    """Representatives with ranks start .. stop - 1, at most `limit`, with their weights.

    Parameters
    ----------
    start, stop : int
        Ranks among all subsets.
    s : int
        Size of the subsets, at least 1.
    table : int64 array
        `binomials(n, s)`.
    symmetry : int
        One of `SYMMETRIES`.
    limit : int

    Returns
    -------
    (P, s) int64 array, (P,) float64 array, int
        The last is the rank to go on from.

    Examples
    --------
    >>> subsets(0, 6, 2, binomials(4, 2), CYCLIC, 10)
    (array([[0, 1],
           [0, 2]]), array([4., 2.]), 6)
    """
    n = table.shape[0] - 1
    found = np.empty((limit, s), dtype=np.int64)
    weights = np.empty(limit, dtype=np.float64)
    weight = np.empty(n, dtype=np.float64)
    c = np.empty(s, dtype=np.int64)
    count, rank = 0, start
    if rank < stop:
        unrank(rank, s, table, c)
    while rank < stop:
        dead = dead_length(c, s, n, symmetry)
        place = s - 2
        if dead > 0:
            rank = end_of_prefix(c, dead - 1, s, table)
            place = dead - 2
        else:
            origin = rank - c[s - 1]
            first, end = window(c, s, n, symmetry, weight)
            for j in range(max(first, c[s - 1]), min(end, stop - origin)):
                if count == limit:
                    return found, weights, origin + j
                found[count, : s - 1] = c[: s - 1]
                found[count, s - 1] = j
                weights[count] = weight[j]
                count += 1
            rank = origin + n
        if advance(c, s, n, place) < 0:
            break
    return found[:count], weights[:count], min(rank, stop)
