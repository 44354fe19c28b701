"""Compiled scan of all straggler patterns: ||G_S||_F^2 and ||G_S^+||_F^2 of each.

Orthogonalisation of the rows of a common prefix is shared. What is kept of the numbers is said in
`tally`, what they mean in `conditioning`.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from stabbench.analysis.combinations import advance, dead_length, end_of_prefix, unrank, window
from stabbench.analysis.tally import Counts, count_patterns, list_unsettled

Array = np.ndarray[Any, np.dtype[Any]]
Span = tuple[int, int]
UNIT = 2.0**-52


class Rows(NamedTuple):
    """Rows (h, w) of the dual, scaled, in real form, with all that the scan asks of a generator.

    Attributes
    ----------
    Z : float64 array, shape (B, m + k, n)
        Coordinates of h, then of w, of up to B rows of each of n workers; |h| = 1.
    size, absent : float64 arrays, shape (B, n)
        |w|; 1 where a worker has fewer rows than B, else 0.
    m : int
        Coordinates of h.
    energy : float64 array, shape (n,)
        Sum of |g|^2 over the rows of each worker.
    generator2, inverse2 : float
        ||G||_2^2 and ||W||_2^2 on the scales of energy and of W, where ||W||_F = 1.
    """

    Z: Array
    size: Array
    absent: Array
    m: int
    energy: Array
    generator2: float
    inverse2: float


class Work(NamedTuple):
    """Arrays of the scan: per level of the prefix first, then per last worker.

    Attributes
    ----------
    Z : shape (levels, B, m + k, n)
        Rows made orthogonal to those of the first workers of the prefix.
    slack : shape (levels, 2, B, n)
        Bounds on the errors of their h and w.
    f : shape (levels, 2)
        Sum of the terms of the prefix and its error.
    own, own_slack : shapes (B, m + k), (2, B)
        Rows of the worker that joins the prefix.
    part, rest, h2, w2, total, error, left, value, root, bound, weight : shape (n,)
    """

    Z: Array
    slack: Array
    f: Array
    own: Array
    own_slack: Array
    part: Array
    rest: Array
    h2: Array
    w2: Array
    total: Array
    error: Array
    left: Array
    value: Array
    root: Array
    bound: Array
    weight: Array


@numba.njit(cache=True, nogil=True, error_model="numpy")
def workspace(rows: Rows, s: int) -> Work:
    """Arrays for patterns of s workers; level 0 holds the rows themselves."""
    B, M, n = rows.Z.shape
    Z = np.empty((s, B, M, n))
    Z[0] = rows.Z
    slack = np.empty((s, 2, B, n))
    slack[0, 0] = 8 * UNIT
    slack[0, 1] = 8 * UNIT * rows.size
    return Work(
        Z,
        slack,
        np.zeros((s, 2)),
        np.empty((B, M)),
        np.empty((2, B)),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
        np.empty(n),
    )


@numba.njit(cache=True, nogil=True, error_model="numpy")
def scan(rows: Rows, s: int, table: Array, symmetry: int, span: Span, counts: Counts) -> int:
    """Count the representatives of the ranks span[0] .. span[1] - 1.

    Parameters
    ----------
    rows : Rows
    s : int
        Stragglers, at least 1.
    table : int64 array
        `binomials(n, s)`.
    symmetry : int
        One of `combinations.SYMMETRIES`.
    span : tuple of int
        Ranks among all subsets.
    counts : Counts
        Changed in place. Patterns, or whole prefixes, that float64 cannot settle are listed as
        ranges of ranks.

    Returns
    -------
    int
        The rank to go on from: span[1], less if the list of ranges is full.

    Notes
    -----
    Gram-Schmidt on the rows h of the stragglers, applied to their rows w as well, gives
    ||L^-1 W_C||_F^2 as a sum with one term per straggler. All rows after the prefix are kept
    orthogonal to it, so the last straggler costs its own term only. First-order error bounds run
    along.
    """
    n = rows.energy.shape[0]
    work = workspace(rows, s)
    c = np.empty(s, dtype=np.int64)
    ready = 0
    rank, stop = span
    if rank < stop:
        unrank(rank, s, table, c)
    while rank < stop and counts.used[0] + n < counts.unsettled.shape[0]:
        place = dead_length(c, s, n, symmetry) - 2
        if place > -2:
            rank = end_of_prefix(c, place + 1, s, table)
        else:
            place = s - 2
            origin = rank - c[s - 1]
            first, end = window(c, s, n, symmetry, work.weight)
            first, end = max(first, c[s - 1]), min(end, stop - origin)
            rank = origin + n
            while ready < s - 1 and end > first:
                push(rows, work, ready, c[ready])
                ready += 1
                if not work.f[ready, 1] <= counts.tolerance * (1 + work.f[ready, 0]):
                    rank = end_of_prefix(c, ready, s, table)
                    list_unsettled(counts, origin + c[s - 1], min(rank, stop), ready)
                    place, end = ready - 1, first
            if end > first:
                complete(rows, work, s - 1, (first, end))
                _settle(rows, work, c, origin, (first, end), counts)
        ready = min(ready, advance(c, s, n, place))
        if ready < 0:
            rank, ready = stop, 0
    return min(rank, stop)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def push(rows: Rows, work: Work, level: int, worker: int) -> None:
    """Make all later rows orthogonal to those of a worker, from one level into the next."""
    B, M, _ = rows.Z.shape
    m, own, slack, f = rows.m, work.own, work.own_slack, work.f
    for b in range(B):
        for j in range(M):
            own[b, j] = work.Z[level, b, j, worker]
        slack[0, b] = work.slack[level, 0, b, worker]
        slack[1, b] = work.slack[level, 1, b, worker]
    f[level + 1, 0], f[level + 1, 1] = f[level, 0], f[level, 1]
    for b in range(B):
        rho = np.sqrt(rows.absent[b, worker] + _dot(own, b, b, 0, m))
        for j in range(M):
            own[b, j] /= rho
        y = np.sqrt(_dot(own, b, b, m, M))
        turn = slack[0, b] / rho + UNIT
        error = slack[1, b] / rho + y * turn
        f[level + 1, 0] += y * y
        f[level + 1, 1] += 2 * y * error
        for a in range(b + 1, B):
            part = _dot(own, a, b, 0, m)
            for j in range(M):
                own[a, j] -= part * own[b, j]
            rest = np.sqrt(_dot(own, a, a, 0, m))
            slack[1, a] += abs(part) * error + (slack[0, a] + rest * turn) * y
            slack[0, a] += abs(part) * turn
        source = level if b == 0 else level + 1
        for a in range(B):
            _project(work, (source, level + 1), a, b, m, worker + 1)
            _bend(work, (source, level + 1), a, (turn, y, error), worker + 1)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _dot(own: Array, a: int, b: int, first: int, end: int) -> float:
    total = 0.0
    for j in range(first, end):
        total += own[a, j] * own[b, j]
    return total


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _project(work: Work, levels: Span, a: int, b: int, m: int, begin: int) -> None:
    """Make the h of rows a orthogonal to row b of `own`, and subtract the same multiple of its w.

    The absolute factors go to work.part, the norms of the new h to work.rest.
    """
    Z, own, part, rest = work.Z, work.own, work.part, work.rest
    src, dst = np.uint64(levels[0]), np.uint64(levels[1])
    row, first, end = np.uint64(a), np.uint64(begin), np.uint64(Z.shape[3])
    for i in range(first, end):
        part[i] = 0
        rest[i] = 0
    for j in range(np.uint64(m)):
        z = own[b, j]
        for i in range(first, end):
            part[i] += z * Z[src, row, j, i]
    for j in range(np.uint64(m)):
        z = own[b, j]
        for i in range(first, end):
            t = Z[src, row, j, i] - part[i] * z
            Z[dst, row, j, i] = t
            rest[i] += t * t
    for j in range(np.uint64(m), np.uint64(Z.shape[2])):
        z = own[b, j]
        for i in range(first, end):
            Z[dst, row, j, i] = Z[src, row, j, i] - part[i] * z
    for i in range(first, end):
        part[i] = abs(part[i])
        rest[i] = np.sqrt(rest[i])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _bend(work: Work, levels: Span, a: int, of: tuple[float, float, float], begin: int) -> None:
    """First-order errors of rows after a projection, from those of the row projected on."""
    slack, part, rest = work.slack, work.part, work.rest
    src, dst, row = np.uint64(levels[0]), np.uint64(levels[1]), np.uint64(a)
    turn, y, error = of
    for i in range(np.uint64(begin), np.uint64(slack.shape[3])):
        bend = slack[src, 0, row, i]
        slack[dst, 1, row, i] = (
            slack[src, 1, row, i] + part[i] * error + (bend + rest[i] * turn) * y
        )
        slack[dst, 0, row, i] = bend + part[i] * turn


@numba.njit(cache=True, nogil=True, error_model="numpy")
def complete(rows: Rows, work: Work, level: int, span: Span) -> None:
    """Add the terms of each possible last worker: sums in work.total, their errors in work.error.

    Rows of one worker are made orthogonal in place.
    """
    B, M, _ = rows.Z.shape
    h2, w2, total, error, slack = work.h2, work.w2, work.total, work.error, work.slack
    first, end = np.uint64(span[0]), np.uint64(span[1])
    at = np.uint64(level)
    for i in range(first, end):
        total[i] = work.f[level, 0]
        error[i] = work.f[level, 1]
    for b in range(np.uint64(B)):
        for i in range(first, end):
            h2[i] = rows.absent[b, i]
            w2[i] = 0
        _add_squares(work.Z, at, b, (0, rows.m), h2, span)
        _add_squares(work.Z, at, b, (rows.m, M), w2, span)
        for i in range(first, end):
            x = w2[i] / h2[i]
            turn = slack[at, 0, b, i] / np.sqrt(h2[i])
            total[i] += x
            error[i] += 2 * x * (turn + UNIT) + 2 * np.sqrt(x / h2[i]) * slack[at, 1, b, i]
        for a in range(b + np.uint64(1), np.uint64(B)):
            _project_pairs(work, at, a, b, rows.m, span)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add_squares(Z: Array, level: int, b: int, coordinates: Span, out: Array, span: Span) -> None:
    """Add the squares of coordinates of rows b to out, four at a time."""
    first, end = np.uint64(span[0]), np.uint64(span[1])
    low, high = coordinates
    fours = low + (high - low) // 4 * 4
    for j in range(low, fours, 4):
        j0, j1, j2, j3 = np.uint64(j), np.uint64(j + 1), np.uint64(j + 2), np.uint64(j + 3)
        for i in range(first, end):
            x, y = Z[level, b, j0, i], Z[level, b, j1, i]
            u, v = Z[level, b, j2, i], Z[level, b, j3, i]
            out[i] += x * x + y * y + u * u + v * v
    for j in range(np.uint64(fours), np.uint64(high)):
        for i in range(first, end):
            out[i] += Z[level, b, j, i] * Z[level, b, j, i]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _project_pairs(work: Work, level: int, a: int, b: int, m: int, span: Span) -> None:
    """Make row a of each worker orthogonal to its own row b."""
    first, end = np.uint64(span[0]), np.uint64(span[1])
    Z, slack, part, h2, w2 = work.Z, work.slack, work.part, work.h2, work.w2
    for i in range(first, end):
        part[i] = 0
    for j in range(np.uint64(m)):
        for i in range(first, end):
            part[i] += Z[level, a, j, i] * Z[level, b, j, i]
    for i in range(first, end):
        part[i] /= h2[i]
    for j in range(np.uint64(Z.shape[2])):
        for i in range(first, end):
            Z[level, a, j, i] -= part[i] * Z[level, b, j, i]
    for i in range(first, end):
        rho = np.sqrt(h2[i])
        turn = slack[level, 0, b, i] / rho + UNIT
        y = np.sqrt(w2[i]) / rho
        share = abs(part[i]) * rho
        slack[level, 1, a, i] += share * (slack[level, 1, b, i] / rho + y * turn)
        slack[level, 1, a, i] += (slack[level, 0, a, i] + rho * turn) * y
        slack[level, 0, a, i] += share * turn


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _settle(rows: Rows, work: Work, c: Array, origin: int, span: Span, counts: Counts) -> None:
    """Count the patterns of a prefix whose errors are small, list the others."""
    total, error, left = work.total, work.error, work.left
    first, end = span
    _energies(rows.energy, c, span, left, work.part)
    for i in range(np.uint64(first), np.uint64(end)):
        work.value[i] = left[i] * (1 + total[i])
        work.root[i] = np.sqrt(work.value[i])
        work.bound[i] = min(left[i], rows.generator2) * (rows.inverse2 + total[i])
    begin = first
    for i in range(first, end):
        if not error[i] <= counts.tolerance * (1 + total[i]):
            list_unsettled(counts, origin + i, origin + i + 1, c.shape[0])
            count_patterns(
                counts, origin, (begin, i), work.value, work.root, work.bound, work.weight
            )
            begin = i + 1
    count_patterns(counts, origin, (begin, end), work.value, work.root, work.bound, work.weight)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _energies(energy: Array, c: Array, span: Span, left: Array, after: Array) -> None:
    """||G_S||_F^2 for the prefix of c and each last worker, without cancellation."""
    n, prefix = energy.shape[0], c.shape[0] - 1
    first, end = span
    before, gone = 0.0, 0
    for i in range(first):
        if gone < prefix and c[gone] == i:
            gone += 1
        else:
            before += energy[i]
    behind = 0.0
    for i in range(n - 1, first - 1, -1):
        after[i] = behind
        behind += energy[i]
    for i in range(first, end):
        left[i] = before + after[i]
        before += energy[i]
