"""Compiled scan of all straggler patterns: ||G_S||_F^2 and ||G_S^+||_F^2 of each.

Orthogonalisation of the rows of a common prefix is shared. What is kept of the numbers is said in
`counts`, what they mean in `conditioning`.
"""

from typing import Any, NamedTuple

import numpy as np

from stabbench.analysis.conditioning.combinations import (
    advance,
    dead_length,
    end_of_prefix,
    unrank,
    window,
)
from stabbench.analysis.conditioning.compiled import compiled, inlined
from stabbench.analysis.conditioning.counts import Counts, Found, count_patterns, list_unsettled
from stabbench.analysis.conditioning.elimination import (
    UNIT,
    Layout,
    complete_block,
    complete_single,
    layout,
    load,
    normalise,
    push,
)
from stabbench.arithmetic.duality import Dual
from stabbench.arithmetic.norms import frobenius_norm, row_norms

Array = np.ndarray[Any, np.dtype[Any]]
Span = tuple[int, int]


class Rows(NamedTuple):
    """Rows (h, w) of the dual, scaled, in real form, with all that the scan asks of a generator.

    Attributes
    ----------
    Z : float64 array, shape (B, m + k, n)
        Coordinates of h, then of w, of up to B rows of each of n workers; |h| = 1.
    absent : bool array, shape (B, n)
        Where a worker has fewer rows than B.
    m : int
        Coordinates of h.
    twin : bool
        Whether rows are complex, each worker owning one: see `elimination.Layout`.
    energy : float64 array, shape (n,)
        Sum of |g|^2 over the rows of each worker.
    generator2, inverse2 : float
        ||G||_2^2 and ||W||_2^2 on the scales of energy and of W, where ||W||_F = 1.
    """

    Z: Array
    absent: Array
    m: int
    twin: bool
    energy: Array
    generator2: float
    inverse2: float


def rows_of(dual: Dual, owner: Array) -> tuple[Rows, int]:
    """Scaled real rows of a dual, grouped by the worker that owns them.

    Parameters
    ----------
    dual : Dual
    owner : int array, shape (rows,)
        The worker of each row.

    Returns
    -------
    Rows, int
        The second is the even exponent e of the scale: ||G_S||_F^2 ||G_S^+||_F^2 is 2^e times
        what the scan finds.
    """
    n = int(owner.max()) + 1
    size = float(frobenius_norm(dual.inverse))
    length = row_norms(dual.null)
    length[length == 0] = 1
    h, w = dual.null / length[:, None], dual.inverse / size / length[:, None]
    twin = np.iscomplexobj(h) and n == len(owner)
    if twin:
        h, w = np.hstack([h.real, -h.imag]), np.hstack([w.real, -w.imag])
    elif np.iscomplexobj(h):
        h, w, owner = real_form(h), real_form(w) / 2**0.5, np.concatenate([owner, owner])
    place = np.array([np.count_nonzero(owner[:i] == owner[i]) for i in range(len(owner))])
    B = int(place.max()) + 1
    Z = np.zeros((B, h.shape[1] + w.shape[1], n))
    absent = np.ones((B, n), dtype=bool)
    Z[place, : h.shape[1], owner] = h
    Z[place, h.shape[1] :, owner] = w
    absent[place, owner] = False
    top = float(frobenius_norm(dual.generator))
    root, exponent = np.frexp(top * size)
    fraction = float(root) ** 2
    parts = np.linalg.norm(dual.generator / top, axis=1) ** 2 * fraction
    energy = np.bincount(owner[: len(parts)], weights=parts, minlength=n)
    of_generator, of_inverse = dual.norms
    limits = (of_generator / top) ** 2 * fraction, (of_inverse / size) ** 2
    return Rows(Z, absent, h.shape[1], twin, energy, *limits), 2 * int(exponent)


def real_form(matrix: Array) -> Array:
    """The real matrix [[Re, -Im], [Im, Re]] of a complex one."""
    return np.block([[matrix.real, -matrix.imag], [matrix.imag, matrix.real]])


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
    at, F = workspace(rows, s)
    limits = rows.generator2, rows.inverse2
    return int(_scan(F, at, rows.energy, limits, (s, symmetry), table, span, counts))


def workspace(rows: Rows, s: int) -> tuple[Layout, Array]:
    """Buffer for patterns of s workers; its level 0 holds the rows."""
    B, M, n = rows.Z.shape
    at, length = layout((B, M, n), rows.m, s, rows.twin)
    F = np.zeros(length)
    F[: at.level] = rows.Z.ravel()
    slack = F[at.slack : at.slack + 2 * B * n].reshape(B, 2, n)
    slack[:, 0] = 8 * UNIT
    slack[:, 1] = 8 * UNIT * np.linalg.norm(rows.Z[:, rows.m :], axis=1)
    F[at.absent : at.absent + B * n] = rows.absent.ravel()
    F[at.after : at.after + n - 1] = np.cumsum(rows.energy[:0:-1])[::-1]
    return at, F


@compiled
def _scan(
    F: Array,
    at: Layout,
    energy: Array,
    limits: tuple[float, float],
    task: tuple[int, int],
    table: Array,
    span: Span,
    counts: Counts,
) -> int:
    s, symmetry = task
    n = at.n
    weight = np.empty(n)
    c = np.empty(s, dtype=np.int64)
    ready = 0
    rank, stop = span
    if rank < stop:
        unrank(rank, s, table, c)
    while rank < stop and counts.unsettled[0, 0] + n < counts.unsettled.shape[0]:
        place = dead_length(c, s, n, symmetry) - 2
        if place > -2:
            rank = end_of_prefix(c, place + 1, s, table)
        else:
            place = s - 2
            origin = rank - c[s - 1]
            first, end = window(c, s, n, symmetry, weight)
            first, end = max(first, c[s - 1]), min(end, stop - origin)
            rank = origin + n
            if end > first:
                _energies(F, at, energy, c, ready, (first, end))
                settled, ready = _terms(F, at, c, ready, (first, end), counts.tolerance)
                if settled == s:
                    rest = at.total, at.error, at.sizes, at.value, at.root, at.bound
                    found = Found(origin + first, end - first, first, s, *rest, *limits)
                    count_patterns(counts, F, weight, found)
                else:
                    rank = end_of_prefix(c, settled, s, table)
                    list_unsettled(
                        counts.unsettled, origin + c[s - 1], min(rank, stop), settled, False
                    )
                    place = settled - 1
        ready = min(ready, advance(c, s, n, place))
        if ready < 0:
            rank, ready = stop, 0
    return min(rank, stop)


@inlined
def _terms(
    F: Array, at: Layout, c: Array, ready: int, span: Span, tolerance: float
) -> tuple[int, int]:
    """Sums of the terms of a prefix and each last worker.

    Returns s, or the length of the first part of the prefix that float64 cannot settle, and the
    number of levels that are ready.
    """
    s = c.shape[0]
    single = at.B == 1
    errors = (0.0, 0.0, 0.0)
    for level in range(ready, s - 1):
        if single and level == s - 2:
            load(F, at, level, c[level])
            errors = normalise(F, at, level, c[level], 0)
        else:
            push(F, at, level, c[level], c[level] + 1)
            ready = level + 1
        f = at.f + 2 * (level + 1)
        if not F[f + 1] < tolerance * (1 + F[f]):
            return level + 1, ready
    if single and s > 1:
        complete_single(F, at, s - 2, errors, span)
    else:
        complete_block(F, at, s - 1, span)
    return s, ready


@inlined
def _energies(F: Array, at: Layout, energy: Array, c: Array, ready: int, span: Span) -> None:
    """||G_S||_F^2 for a prefix, of which a part is new, and each last worker, to `sizes`.

    Energies are added up, never subtracted: those of some workers may be all that counts.
    """
    s, before = c.shape[0], at.before
    for level in range(ready, s - 1):
        start = c[level - 1] + 1 if level > 0 else 0
        F[before + level + 1] = F[before + level] + _sum(energy, start, c[level])
    start = c[s - 2] + 1 if s > 1 else 0
    left = F[before + s - 1] + _sum(energy, start, span[0])
    for i in range(span[0], span[1]):
        F[at.sizes + i - span[0]] = left + F[at.after + i]
        left += energy[i]


@inlined
def _sum(values: Array, start: int, stop: int) -> float:
    total = 0.0
    for i in range(start, stop):
        total += values[i]
    return total
