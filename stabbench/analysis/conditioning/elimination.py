"""Compiled Gram-Schmidt on blocks of rows that share one flat buffer.

A block holds M coordinates of one row of each of n workers, coordinate by coordinate. A row is
made orthogonal in its first m coordinates, called h; the others, called w, follow. One array and
offsets into it cost far less to pass than many arrays. What it is for is said in `scan`.
"""

from typing import Any, NamedTuple

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
Errors = tuple[float, float, float]
Index = (
    Any  # int for Python, unsigned in loops: the compiler then leaves out a check for negative ones
)
UNIT = 2.0**-52
VECTORS = 12
ZERO, ONE, TWO, THREE, FOUR = (np.uint64(i) for i in range(5))


class Layout(NamedTuple):
    """Sizes, and offsets into the buffer.

    Attributes
    ----------
    n, B, M, m : int
        Workers, rows of a worker, coordinates of a row, coordinates of its h.
    level : int
        Numbers of one level of Z: B blocks of M n.
    slack : int
        Bounds on the errors of h and of w, n numbers each, for each row of each level.
    f : int
        For each level, the sum of the terms of its prefix, and the error of the sum.
    own : int
        The rows of one worker, M numbers each.
    own_slack : int
        Their errors, 2 numbers each.
    absent : int
        1 where a worker has fewer rows than B, else 0: B n numbers.
    before : int
        For each level, the energy of the workers before the last of its prefix, without the prefix.
    after : int
        The energy of all workers after each.
    sizes, part, rest, h2, w2, total, error, left, value, root, bound : int
        n numbers each.
    """

    n: int
    B: int
    M: int
    m: int
    level: int
    slack: int
    f: int
    own: int
    own_slack: int
    absent: int
    before: int
    after: int
    sizes: int
    part: int
    rest: int
    h2: int
    w2: int
    total: int
    error: int
    left: int
    value: int
    root: int
    bound: int


def layout(shape: tuple[int, int, int], m: int, levels: int) -> tuple[Layout, int]:
    """Offsets for blocks of a shape (B, M, n), and the length of the buffer."""
    B, M, n = shape
    level = B * M * n
    slack = levels * level
    f = slack + levels * 2 * B * n
    own = f + 2 * levels
    own_slack = own + B * M
    absent = own_slack + 2 * B
    before = absent + B * n
    vectors = [before + levels + i * n for i in range(VECTORS + 1)]
    scalars = n, B, M, m, level, slack, f, own, own_slack, absent, before
    return Layout(*scalars, *vectors[:-1]), vectors[-1]


@compiled
def push(F: Array, at: Layout, level: int, worker: int, begin: int) -> None:
    """Make the rows of all workers from `begin` on orthogonal to those of a worker.

    The result is the next level.
    """
    B, block, sizes = at.B, at.M * at.n, (at.m, at.M, at.n)
    count = at.n - begin
    load(F, at, level, worker)
    for b in range(B):
        errors = normalise(F, at, level, worker, b)
        source = level if b == 0 else level + 1
        for a in range(B):
            src = source * at.level + a * block + begin
            dst = (level + 1) * at.level + a * block + begin
            _project(F, (src, dst), at.own + b * at.M, (at.part, at.rest), sizes, count)
            src = at.slack + (source * B + a) * 2 * at.n + begin
            dst = at.slack + ((level + 1) * B + a) * 2 * at.n + begin
            _bend(F, (src, dst), (at.part, at.rest), errors, at.n, count)


@inlined
def load(F: Array, at: Layout, level: int, worker: int) -> None:
    """Copy the rows of a worker that joins the prefix, and begin the sum of the next level."""
    n, f = at.n, at.f + 2 * level
    F[f + 2], F[f + 3] = F[f], F[f + 1]
    own, src, step = np.uint64(at.own), np.uint64(level * at.level + worker), np.uint64(n)
    for j in range(np.uint64(at.B * at.M)):
        F[own + j] = F[src + j * step]
    for e in range(2 * at.B):
        F[at.own_slack + e] = F[at.slack + (level * at.B * 2 + e) * n + worker]


@inlined
def normalise(F: Array, at: Layout, level: int, worker: int, b: int) -> Errors:
    """Divide own row b by |h|, add |w|^2 to the sum and make the own rows after b orthogonal.

    Returns the error of the direction of h, |w| and the error of w, after the division.
    """
    m, M = at.m, at.M
    row, slack, f = at.own + b * M, at.own_slack + 2 * b, at.f + 2 * (level + 1)
    rho = np.sqrt(F[at.absent + b * at.n + worker] + _dot(F, row, row, m))
    _scale(F, row, 1 / rho, M)
    y = np.sqrt(_dot(F, row + m, row + m, M - m))
    turn = F[slack] / rho + UNIT
    error = F[slack + 1] / rho + y * turn
    F[f] += y * y
    F[f + 1] += 2 * y * error
    for a in range(b + 1, at.B):
        other, bent = at.own + a * M, at.own_slack + 2 * a
        part = _dot(F, other, row, m)
        _subtract(F, other, row, part, M)
        rest = np.sqrt(_dot(F, other, other, m))
        F[bent + 1] += abs(part) * error + (F[bent] + rest * turn) * y
        F[bent] += abs(part) * turn
    return turn, y, error


@inlined
def complete_single(
    F: Array, at: Layout, level: int, errors: Errors, span: tuple[int, int]
) -> None:
    """Terms of each last worker of a span, its one row made orthogonal to own row 0.

    Writes the sums with these terms to `total` and their errors to `error`.
    """
    first, count, n = span[0], span[1] - span[0], at.n
    _copy(F, at.absent + first, at.h2, count)
    vectors = at.part, at.rest, at.h2, at.w2
    _squares_of_rest(F, level * at.level + first, at.own, vectors, (at.m, at.M, n), count)
    slack = at.slack + level * 2 * n + first
    _bend(F, (slack, at.left), (at.part, at.rest), errors, n, count)
    _begin(F, at, level + 1, count)
    _add_terms(F, at, at.left, at.left + n, count)


@compiled
def complete_block(F: Array, at: Layout, level: int, span: tuple[int, int]) -> None:
    """Terms of each last worker of a span with all its rows, made orthogonal in place.

    Writes the sums with these terms to `total` and their errors to `error`.
    """
    first, count = span[0], span[1] - span[0]
    m, M, n, block = at.m, at.M, at.n, at.M * at.n
    _begin(F, at, level, count)
    for b in range(at.B):
        row = level * at.level + b * block + first
        slack = at.slack + (level * at.B + b) * 2 * n + first
        _copy(F, at.absent + b * n + first, at.h2, count)
        _add_squares(F, row, at.h2, m, n, count)
        _fill(F, at.w2, 0.0, count)
        _add_squares(F, row + m * n, at.w2, M - m, n, count)
        _add_terms(F, at, slack, slack + n, count)
        for a in range(b + 1, at.B):
            other = level * at.level + a * block + first
            bent = at.slack + (level * at.B + a) * 2 * n + first
            _project_pairs(F, (row, other), (at.part, at.h2), (m, M, n), count)
            for i in range(count):
                rho, part = np.sqrt(F[at.h2 + i]), abs(F[at.part + i])
                turn, y = F[slack + i] / rho + UNIT, np.sqrt(F[at.w2 + i]) / rho
                F[bent + n + i] += part * (F[slack + n + i] + rho * y * turn)
                F[bent + n + i] += (F[bent + i] + rho * turn) * y
                F[bent + i] += part * rho * turn


@inlined
def _begin(F: Array, at: Layout, level: int, count: int) -> None:
    """Begin with the sum of the prefix and its error."""
    f = at.f + 2 * level
    _fill(F, at.total, F[f], count)
    _fill(F, at.error, F[f + 1], count)


@inlined
def _fill(F: Array, out: Index, value: float, count: Index) -> None:
    out = np.uint64(out)
    for i in range(np.uint64(count)):
        F[out + i] = value


@inlined
def _copy(F: Array, src: Index, out: Index, count: Index) -> None:
    src, out = np.uint64(src), np.uint64(out)
    for i in range(np.uint64(count)):
        F[out + i] = F[src + i]


@inlined
def _add_terms(F: Array, at: Layout, slack_h: Index, slack_w: Index, count: Index) -> None:
    """Add |w|^2 / |h|^2 and its error to `total` and `error`."""
    h2, w2, total, error = (
        np.uint64(at.h2),
        np.uint64(at.w2),
        np.uint64(at.total),
        np.uint64(at.error),
    )
    slack_h, slack_w = np.uint64(slack_h), np.uint64(slack_w)
    for i in range(np.uint64(count)):
        share = 1 / np.sqrt(F[h2 + i])
        y = np.sqrt(F[w2 + i]) * share
        F[total + i] += y * y
        F[error + i] += 2 * y * (y * (F[slack_h + i] * share + UNIT) + F[slack_w + i] * share)


@inlined
def _dot(F: Array, a: Index, b: Index, count: Index) -> float:
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
def _scale(F: Array, row: Index, factor: float, count: Index) -> None:
    row = np.uint64(row)
    for j in range(np.uint64(count)):
        F[row + j] *= factor


@inlined
def _subtract(F: Array, row: Index, other: Index, factor: float, count: Index) -> None:
    row, other = np.uint64(row), np.uint64(other)
    for j in range(np.uint64(count)):
        F[row + j] -= factor * F[other + j]


@inlined
def _factors(
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
def _project(
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
    _factors(F, src, z, part, (m, n), count)
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
def _bend(
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
def _squares_of_rest(
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
    _factors(F, src, z, part, (m, n), count)
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
def _add_squares(
    F: Array, src: Index, out: Index, coordinates: Index, n: Index, count: Index
) -> None:
    """Add the squares of coordinates of all rows to a vector."""
    src, out, n = np.uint64(src), np.uint64(out), np.uint64(n)
    for j in range(np.uint64(coordinates)):
        for i in range(np.uint64(count)):
            F[out + i] += F[src + j * n + i] * F[src + j * n + i]


@inlined
def _project_pairs(
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
