"""Compiled loops over vectors and blocks of rows that share one flat buffer.

A block holds M coordinates of one row of each of n workers, coordinate by coordinate; the first m
of them are called h, the others w. Offsets are turned into unsigned numbers first: for signed ones
the compiler checks for each number whether it counts from the end.
"""

from typing import Any

import numpy as np

from stabbench.analysis.conditioning.compiled import inlined

Array = np.ndarray[Any, np.dtype[Any]]
Errors = tuple[float, float, float]
Index = Any
ZERO, ONE, TWO, THREE, FOUR = (np.uint64(i) for i in range(5))


@inlined
def fill(F: Array, out: Index, value: float, count: Index) -> None:
    """Write one value into a vector."""
    out = np.uint64(out)
    for i in range(np.uint64(count)):
        F[out + i] = value


@inlined
def copy(F: Array, src: Index, out: Index, count: Index) -> None:
    """Copy a vector."""
    src, out = np.uint64(src), np.uint64(out)
    for i in range(np.uint64(count)):
        F[out + i] = F[src + i]


@inlined
def dot(F: Array, a: Index, b: Index, count: Index) -> float:
    """Product of two vectors: four sums side by side, each waits for its own additions only."""
    a, b = np.uint64(a), np.uint64(b)
    fours = np.uint64(count) // FOUR * FOUR
    t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
    for j in range(ZERO, fours, FOUR):
        t0 += F[a + j] * F[b + j]
        t1 += F[a + j + ONE] * F[b + j + ONE]
        t2 += F[a + j + TWO] * F[b + j + TWO]
        t3 += F[a + j + THREE] * F[b + j + THREE]
    for j in range(fours, np.uint64(count)):
        t0 += F[a + j] * F[b + j]
    return (t0 + t1) + (t2 + t3)


@inlined
def scale(F: Array, row: Index, factor: float, count: Index) -> None:
    """Multiply a vector by a number."""
    row = np.uint64(row)
    for j in range(np.uint64(count)):
        F[row + j] *= factor


@inlined
def subtract(F: Array, row: Index, other: Index, factor: float, count: Index) -> None:
    """Subtract a multiple of another vector."""
    row, other = np.uint64(row), np.uint64(other)
    for j in range(np.uint64(count)):
        F[row + j] -= factor * F[other + j]


@inlined
def factors(
    F: Array, src: Index, z: Index, part: Index, sizes: tuple[Index, Index], count: Index
) -> None:
    """Products of h of each row and of z."""
    m, n = sizes
    for i in range(count):
        F[part + i] = 0
    for j in range(m):
        for i in range(count):
            F[part + i] += F[z + j] * F[src + j * n + i]


@inlined
def project(
    F: Array,
    move: tuple[int, int],
    z: Index,
    vectors: tuple[int, int],
    sizes: tuple[int, int, int],
    count: Index,
) -> None:
    """Make the h of all rows orthogonal to that of z, and subtract the same multiple of its w.

    The absolute factors and the norms of the new h go to two vectors.
    """
    src, dst, z = np.uint64(move[0]), np.uint64(move[1]), np.uint64(z)
    part, rest = np.uint64(vectors[0]), np.uint64(vectors[1])
    m, M, n = np.uint64(sizes[0]), np.uint64(sizes[1]), np.uint64(sizes[2])
    count = np.uint64(count)
    factors(F, src, z, part, (m, n), count)
    for i in range(count):
        F[rest + i] = 0
    for j in range(m):
        for i in range(count):
            t = F[src + j * n + i] - F[z + j] * F[part + i]
            F[dst + j * n + i] = t
            F[rest + i] += t * t
    for j in range(m, M):
        for i in range(count):
            F[dst + j * n + i] = F[src + j * n + i] - F[z + j] * F[part + i]
    for i in range(count):
        F[part + i] = abs(F[part + i])
        F[rest + i] = np.sqrt(F[rest + i])


@inlined
def bend(
    F: Array,
    move: tuple[int, int],
    vectors: tuple[int, int],
    errors: Errors,
    apart: int,
    count: Index,
) -> None:
    """First-order errors of rows after a projection, those of w `apart` from those of h."""
    src, dst, n = np.uint64(move[0]), np.uint64(move[1]), np.uint64(apart)
    part, rest = np.uint64(vectors[0]), np.uint64(vectors[1])
    turn, y, error = errors
    for i in range(np.uint64(count)):
        bend = F[src + i]
        F[dst + n + i] = F[src + n + i] + F[part + i] * error + (bend + F[rest + i] * turn) * y
        F[dst + i] = bend + F[part + i] * turn


@inlined
def squares_of_rest(
    F: Array,
    src: Index,
    z: Index,
    vectors: tuple[int, int, int, int],
    sizes: tuple[int, int, int],
    count: Index,
) -> None:
    """Squared norms of h and w after a projection that is not stored; h2 begins as it is.

    The absolute factors and the norms of h go to the first two vectors.
    """
    src, z, count = np.uint64(src), np.uint64(z), np.uint64(count)
    part, rest = np.uint64(vectors[0]), np.uint64(vectors[1])
    h2, w2 = np.uint64(vectors[2]), np.uint64(vectors[3])
    m, M, n = np.uint64(sizes[0]), np.uint64(sizes[1]), np.uint64(sizes[2])
    factors(F, src, z, part, (m, n), count)
    for j in range(m):
        for i in range(count):
            t = F[src + j * n + i] - F[z + j] * F[part + i]
            F[h2 + i] += t * t
    for i in range(count):
        F[w2 + i] = 0
    fours = m + (M - m) // FOUR * FOUR
    for j in range(m, fours, FOUR):
        row0 = src + j * n
        row1, row2, row3 = row0 + n, row0 + TWO * n, row0 + THREE * n
        z0, z1, z2, z3 = F[z + j], F[z + j + ONE], F[z + j + TWO], F[z + j + THREE]
        for i in range(count):
            x = F[part + i]
            t0, t1 = F[row0 + i] - z0 * x, F[row1 + i] - z1 * x
            t2, t3 = F[row2 + i] - z2 * x, F[row3 + i] - z3 * x
            F[w2 + i] += t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3
    for j in range(fours, M):
        for i in range(count):
            t = F[src + j * n + i] - F[z + j] * F[part + i]
            F[w2 + i] += t * t
    for i in range(count):
        F[part + i] = abs(F[part + i])
        F[rest + i] = np.sqrt(F[h2 + i])


@inlined
def add_squares(
    F: Array, src: Index, out: Index, coordinates: Index, n: Index, count: Index
) -> None:
    """Add the squares of coordinates of all rows to a vector."""
    src, out, n = np.uint64(src), np.uint64(out), np.uint64(n)
    for j in range(np.uint64(coordinates)):
        for i in range(np.uint64(count)):
            F[out + i] += F[src + j * n + i] * F[src + j * n + i]


@inlined
def project_pairs(
    F: Array,
    blocks: tuple[int, int],
    vectors: tuple[int, int],
    sizes: tuple[int, int, int],
    count: Index,
) -> None:
    """Make the h of each row of the second block orthogonal to its own row of the first.

    The factors go to the first vector; the second holds the squares of h in the first block.
    """
    src, dst, count = np.uint64(blocks[0]), np.uint64(blocks[1]), np.uint64(count)
    part, h2 = np.uint64(vectors[0]), np.uint64(vectors[1])
    m, M, n = np.uint64(sizes[0]), np.uint64(sizes[1]), np.uint64(sizes[2])
    for i in range(count):
        F[part + i] = 0
    for j in range(m):
        for i in range(count):
            F[part + i] += F[dst + j * n + i] * F[src + j * n + i]
    for i in range(count):
        F[part + i] /= F[h2 + i]
    for j in range(M):
        for i in range(count):
            F[dst + j * n + i] -= F[part + i] * F[src + j * n + i]
