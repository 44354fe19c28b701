"""Compiled scan of all straggler patterns: ||G_S||_F^2 and ||G_S^+||_F^2 of each.

Orthogonalisation of the rows of a common prefix is shared. What is done with the numbers of
single patterns lives in `tally`, what they mean in `conditioning`.
"""

from typing import Any, NamedTuple

import numba
import numpy as np

from stabbench.analysis.combinations import advance, dead_length, end_of_prefix, unrank, window
from stabbench.analysis.tally import Counts, count_patterns

Array = np.ndarray[Any, np.dtype[Any]]
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
        Sum of |g|^2 over the rows of each worker; their total is 1 on a scale of its own.
    generator2, inverse2 : float
        ||G||_2^2 and ||W||_2^2 where ||G||_F = ||W||_F = 1.
    """

    Z: Array
    size: Array
    absent: Array
    m: int
    energy: Array
    generator2: float
    inverse2: float


@numba.njit(cache=True, nogil=True)
def scan(
    rows: Rows, s: int, table: Array, symmetry: int, span: tuple[int, int], counts: Counts
) -> int:
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
        Changed in place. Patterns, or whole prefixes, that float64 cannot settle to 1e-8 are
        listed as ranges of ranks.

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
    B, M, n = rows.Z.shape
    Z = np.empty((s, B, M, n))
    Z[0] = rows.Z
    slack = np.empty((s, 2, B, n))
    slack[0, 0] = 8 * UNIT
    slack[0, 1] = 8 * UNIT * rows.size
    f = np.zeros((s, 2))
    last = np.empty((8, n))
    weight = np.empty(n)
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
            first, end = window(c, s, n, symmetry, weight)
            first, end = max(first, c[s - 1]), min(end, stop - origin)
            rank = origin + n
            while ready < s - 1 and end > first:
                _push(rows, c[ready], Z[ready:], slack[ready:], f[ready:], last)
                if not f[ready + 1, 1] <= counts.tolerance * (1 + f[ready + 1, 0]):
                    rank = end_of_prefix(c, ready + 1, s, table)
                    _unsettled(counts, origin + c[s - 1], min(rank, stop), ready + 1)
                    place, end = ready, first
                ready += 1
            if end > first:
                _complete(rows, Z[s - 1], slack[s - 1], f[s - 1], (first, end), last)
                _settle(rows, c[: s - 1], origin, (first, end), weight, last, counts)
        ready = min(ready, advance(c, s, n, place))
        if ready < 0:
            rank, ready = stop, 0
    return min(rank, stop)


@numba.njit(cache=True, nogil=True)
def _unsettled(counts: Counts, start: int, stop: int, length: int) -> None:
    """List a range of ranks, joined to the one before it if they touch."""
    at = counts.used[0]
    before = counts.unsettled[max(at - 1, 0)]
    if at > 0 and before[1] == start and before[2] == length:
        before[1] = stop
    else:
        counts.unsettled[at, 0], counts.unsettled[at, 1] = start, stop
        counts.unsettled[at, 2] = length
        counts.used[0] += 1


@numba.njit(cache=True, nogil=True)
def _push(rows: Rows, worker: int, Z: Array, slack: Array, f: Array, work: Array) -> None:
    """Orthogonalise all later rows, of level 0 of Z into level 1, against those of a worker."""
    B, M, _ = rows.Z.shape
    own = np.empty((B, M))
    own[:] = Z[0, :, :, worker]
    own_slack = slack[0, :, :, worker].copy()
    f[1] = f[0]
    for b in range(B):
        z = own[b]
        rho = np.sqrt(rows.absent[b, worker] + _square(z, 0, rows.m))
        z /= rho
        y = np.sqrt(_square(z, rows.m, M))
        turn = own_slack[0, b] / rho + UNIT
        error = own_slack[1, b] / rho + y * turn
        f[1, 0] += y * y
        f[1, 1] += 2 * y * error
        for a in range(b + 1, B):
            part = 0.0
            for j in range(rows.m):
                part += own[a, j] * z[j]
            own[a] -= part * z
            rest = np.sqrt(_square(own[a], 0, rows.m))
            own_slack[1, a] += abs(part) * error + (own_slack[0, a] + rest * turn) * y
            own_slack[0, a] += abs(part) * turn
        source = 0 if b == 0 else 1
        for a in range(B):
            _project(Z[source, a], Z[1, a], z, rows.m, worker + 1, work)
            _bend(slack[source], slack[1], a, (turn, y, error), worker + 1, work)


@numba.njit(cache=True, nogil=True)
def _square(z: Array, first: int, end: int) -> float:
    total = 0.0
    for j in range(first, end):
        total += z[j] * z[j]
    return total


@numba.njit(cache=True, nogil=True)
def _project(src: Array, dst: Array, z: Array, m: int, first: int, work: Array) -> None:
    """Subtract the multiple of z that makes src[:m] orthogonal to z[:m].

    The absolute factors go to work[0], the norms of the new dst[:m] to work[1].
    """
    M, n = src.shape
    part, rest = work[0], work[1]
    part[first:] = 0
    rest[first:] = 0
    for j in range(m):
        for i in range(first, n):
            part[i] += z[j] * src[j, i]
    for j in range(m):
        for i in range(first, n):
            t = src[j, i] - part[i] * z[j]
            dst[j, i] = t
            rest[i] += t * t
    for j in range(m, M):
        for i in range(first, n):
            dst[j, i] = src[j, i] - part[i] * z[j]
    for i in range(first, n):
        part[i] = abs(part[i])
        rest[i] = np.sqrt(rest[i])


@numba.njit(cache=True, nogil=True)
def _bend(
    src: Array, dst: Array, a: int, of: tuple[float, float, float], first: int, work: Array
) -> None:
    """First-order errors of rows h and w after a projection, from those of the row projected on."""
    turn, y, error = of
    for i in range(first, src.shape[2]):
        bend, part, rest = src[0, a, i], work[0, i], work[1, i]
        dst[1, a, i] = src[1, a, i] + part * error + (bend + rest * turn) * y
        dst[0, a, i] = bend + part * turn


@numba.njit(cache=True, nogil=True)
def _complete(
    rows: Rows, Z: Array, slack: Array, f: Array, span: tuple[int, int], work: Array
) -> None:
    """Add the terms of each possible last worker to f; sums in work[2], their errors in work[3].

    Rows of one worker are made orthogonal in place.
    """
    B, M, _ = Z.shape
    first, end = span
    h2, w2, total, error = work[0], work[1], work[2], work[3]
    total[first:end] = f[0]
    error[first:end] = f[1]
    for b in range(B):
        h2[first:end] = rows.absent[b, first:end]
        w2[first:end] = 0
        _add_squares(Z[b], 0, rows.m, h2, span)
        _add_squares(Z[b], rows.m, M, w2, span)
        for i in range(first, end):
            x = w2[i] / h2[i]
            turn = slack[0, b, i] / np.sqrt(h2[i])
            total[i] += x
            error[i] += 2 * x * (turn + UNIT) + 2 * np.sqrt(x / h2[i]) * slack[1, b, i]
        for a in range(b + 1, B):
            _project_pairs(Z[b], Z[a], rows.m, span, work)
            for i in range(first, end):
                rho = np.sqrt(h2[i])
                turn = slack[0, b, i] / rho + UNIT
                y = np.sqrt(w2[i]) / rho
                part = abs(work[4, i]) * rho
                slack[1, a, i] += part * (slack[1, b, i] / rho + y * turn)
                slack[1, a, i] += (slack[0, a, i] + rho * turn) * y
                slack[0, a, i] += part * turn


@numba.njit(cache=True, nogil=True)
def _project_pairs(Zb: Array, Za: Array, m: int, span: tuple[int, int], work: Array) -> None:
    """Make each worker's row of Za orthogonal to its row of Zb; factors in work[4]."""
    first, end = span
    part = work[4]
    part[first:end] = 0
    for j in range(m):
        for i in range(first, end):
            part[i] += Za[j, i] * Zb[j, i]
    for i in range(first, end):
        part[i] /= work[0, i]
    for j in range(Za.shape[0]):
        for i in range(first, end):
            Za[j, i] -= part[i] * Zb[j, i]


@numba.njit(cache=True, nogil=True)
def _add_squares(Z: Array, low: int, high: int, out: Array, span: tuple[int, int]) -> None:
    """Add Z[low]^2 + .. + Z[high - 1]^2 to out, four rows at a time."""
    first, end = np.uint64(span[0]), np.uint64(span[1])
    fours = low + (high - low) // 4 * 4
    for j in range(low, fours, 4):
        j0, j1, j2, j3 = np.uint64(j), np.uint64(j + 1), np.uint64(j + 2), np.uint64(j + 3)
        for i in range(first, end):
            a, b, c, d = Z[j0, i], Z[j1, i], Z[j2, i], Z[j3, i]
            out[i] += a * a + b * b + c * c + d * d
    for j in range(np.uint64(fours), np.uint64(high)):
        for i in range(first, end):
            out[i] += Z[j, i] * Z[j, i]


@numba.njit(cache=True, nogil=True)
def _settle(
    rows: Rows,
    prefix: Array,
    origin: int,
    span: tuple[int, int],
    weight: Array,
    work: Array,
    counts: Counts,
) -> None:
    """Count the patterns of a prefix whose errors are small, list the others."""
    first, end = span
    total, error, left, value, root = work[2], work[3], work[4], work[5], work[6]
    bound = work[7]
    _energies(rows.energy, prefix, span, left, bound)
    for i in range(np.uint64(first), np.uint64(end)):
        value[i] = left[i] * (1 + total[i])
        root[i] = np.sqrt(value[i])
        bound[i] = min(left[i], rows.generator2) * (rows.inverse2 + total[i])
    begin = first
    for i in range(first, end):
        if not error[i] <= counts.tolerance * (1 + total[i]):
            _unsettled(counts, origin + i, origin + i + 1, prefix.shape[0] + 1)
            _count(counts, origin, (begin, i), work, weight)
            begin = i + 1
    _count(counts, origin, (begin, end), work, weight)


@numba.njit(cache=True, nogil=True)
def _count(
    counts: Counts, origin: int, span: tuple[int, int], work: Array, weight: Array
) -> None:
    first, end = span
    count_patterns(
        counts,
        (origin + first, origin + end),
        work[5, first:end],
        work[6, first:end],
        work[7, first:end],
        weight[first:end],
    )


@numba.njit(cache=True, nogil=True)
def _energies(
    energy: Array, prefix: Array, span: tuple[int, int], left: Array, work: Array
) -> None:
    """||G_S||_F^2 of a prefix and each last worker, without cancellation."""
    n = energy.shape[0]
    first, end = span
    before = 0.0
    gone = 0
    for i in range(first):
        if gone < prefix.shape[0] and prefix[gone] == i:
            gone += 1
        else:
            before += energy[i]
    after = 0.0
    for i in range(n - 1, first - 1, -1):
        work[i] = after
        after += energy[i]
    for i in range(first, end):
        left[i] = before + work[i]
        before += energy[i]
