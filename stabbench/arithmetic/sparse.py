"""Combinations of the few partitions that each worker holds, at the speed of memory.

The vectors are walked in tiles that stay in cache; coefficients are one number per partition and
entry of a piece, never one per entry of a vector. Rows that combine nothing but the sum of the same
partitions, as the groups of a code do, share that sum, which is formed first.
"""

from typing import Any

import numba
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

Array = np.ndarray[Any, np.dtype[Any]]
CACHE_BYTES = 1 << 19
"""What the tiles of one group may take."""
LEAST_WIDTH = 4096
"""Below it the set-up of a tile's sums costs more than a miss of the cache."""


def combine_held(
    coefficients: Array, held: tuple[Array, Array], vectors: Array, dtype: np.dtype[Any]
) -> Array:
    """Sum over the partitions i that row j holds, and over u, of C[j, i, u] g[i, v, u].

    Parameters
    ----------
    coefficients : array, shape (rows, K, m)
    held : tuple of int arrays
        Compressed rows: ``start`` of shape (rows + 1,) and ``partition``, so that row j holds
        ``partition[start[j]:start[j+1]]``.
    vectors : array, shape (K, L, m)
    dtype : dtype
        The arithmetic, and the type of the result.

    Returns
    -------
    array, shape (rows, L)

    Raises
    ------
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> one = np.ones((1, 2, 1))
    >>> held = np.array([0, 2]), np.array([0, 1])
    >>> combine_held(one, held, np.array([[[1.0]], [[2.0]]]), np.dtype("float64"))
    array([[3.]])
    """
    if vectors.shape[::2] != coefficients.shape[1:]:
        raise ValueError(f"vectors {vectors.shape} do not fit coefficients {coefficients.shape}")
    start, partition = held
    rows, length = coefficients.shape[0], vectors.shape[1]
    each = np.repeat(np.arange(rows), np.diff(start))
    values = np.ascontiguousarray(coefficients[each, partition], dtype=dtype)
    wide = dtype if vectors.dtype.kind == "c" else np.dtype(values.real.dtype)
    blocks = np.ascontiguousarray(vectors, dtype=wide)
    out = np.empty((rows, length), dtype=dtype)
    with np.errstate(all="ignore"):
        if dtype.char in "gG":  # not compiled: Numba has no longdouble
            for j in range(rows):
                mine = slice(start[j], start[j + 1])
                out[j] = (values[mine, None] * blocks[partition[mine]]).sum(axis=(0, 2))
            return out
        for members, chosen in _groups(start, partition, len(vectors)):
            alike = _alike(values, start, members, chosen)
            _combine(values, start, partition, blocks, out, members, chosen, alike)
    return out


def _alike(values: Array, start: Array, members: Array, chosen: Array) -> bool:
    """Whether each member combines nothing but the sum of all chosen partitions."""
    if len(chosen) < 2 or np.any(start[members + 1] - start[members] != len(chosen)):
        return False
    terms = values[start[members, None] + np.arange(len(chosen))]
    return bool(np.all(terms == terms[:, :1]))


def _groups(start: Array, partition: Array, count: int) -> list[tuple[Array, Array]]:
    """Rows that share partitions, and these: what one group holds no other needs."""
    rows = len(start) - 1
    graph = scipy.sparse.csr_array(
        (
            np.ones(len(partition), dtype=np.int8),
            partition + rows,
            np.append(start, [start[-1]] * count),
        ),
        shape=(rows + count, rows + count),
    )
    number, label = scipy.sparse.csgraph.connected_components(graph, directed=False)
    order = np.argsort(label, kind="stable")
    parts = np.split(order, np.searchsorted(label[order], np.arange(1, number)))
    return [(p[p < rows], p[p >= rows] - rows) for p in parts if p[0] < rows]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _combine(values, start, partition, blocks, out, members, chosen, alike):  # type: ignore[no-untyped-def]
    """Tiles of the length outside, rows inside: a tile of the chosen partitions is read once."""
    count, length, m = blocks.shape
    flat = blocks.reshape(count, length * m)
    kept = 1 if alike else len(chosen)
    width = max(LEAST_WIDTH, CACHE_BYTES // (max(kept, 1) * m * blocks.itemsize))
    width = max(min(length, width), 1)
    copied = alike or m > 1
    tile = np.empty((kept * m if copied else 1, width), dtype=blocks.dtype)
    total = np.empty(width * m if alike else 1, dtype=blocks.dtype)
    nothing = np.zeros(width, dtype=blocks.dtype)
    place = np.zeros(count, dtype=np.int64)
    for at in range(kept):
        place[chosen[at]] = at
    for begin in range(0, length, width):
        size = min(width, length - begin)
        first, last = begin * m, (begin + size) * m
        if alike:
            _add(flat, chosen, first, total[: size * m])
            _unravel(total[: size * m], m, tile)
        elif copied:
            for at in range(kept):
                _unravel(flat[chosen[at], first:last], m, tile[at * m : at * m + m])
        for j in members:
            row = out[j, begin : begin + size]
            stop = start[j] + 1 if alike else start[j + 1]
            terms, held = values[start[j] : stop], partition[start[j] : stop]
            if copied:
                _sum(row, terms, place[held], tile, 0, nothing)
            else:
                _sum(row, terms, held, flat, begin, nothing)


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add(flat, chosen, first, total):  # type: ignore[no-untyped-def]
    """The sum of the chosen vectors from `first` on, two more at a time."""
    last = first + len(total)
    total[:] = flat[chosen[0], first:last]
    for at in range(1, len(chosen) - 1, 2):
        one, two = flat[chosen[at], first:last], flat[chosen[at + 1], first:last]
        for v in range(len(total)):
            total[v] += one[v] + two[v]
    if len(chosen) % 2 == 0:
        one = flat[chosen[-1], first:last]
        for v in range(len(total)):
            total[v] += one[v]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _unravel(piece, m, rows):  # type: ignore[no-untyped-def]
    """Entry u of every piece into row u; the common sizes apart, so that they are vectorised."""
    size = len(piece) // m
    if m == 2:
        for v in range(size):
            rows[0, v] = piece[2 * v]
            rows[1, v] = piece[2 * v + 1]
    elif m == 3:
        for v in range(size):
            rows[0, v] = piece[3 * v]
            rows[1, v] = piece[3 * v + 1]
            rows[2, v] = piece[3 * v + 2]
    elif m == 4:
        for v in range(size):
            rows[0, v] = piece[4 * v]
            rows[1, v] = piece[4 * v + 1]
            rows[2, v] = piece[4 * v + 2]
            rows[3, v] = piece[4 * v + 3]
    elif m == 5:
        for v in range(size):
            rows[0, v] = piece[5 * v]
            rows[1, v] = piece[5 * v + 1]
            rows[2, v] = piece[5 * v + 2]
            rows[3, v] = piece[5 * v + 3]
            rows[4, v] = piece[5 * v + 4]
    else:
        for u in range(m):
            for v in range(size):
                rows[u, v] = piece[v * m + u]


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _sum(row, values, held, source, begin, nothing):  # type: ignore[no-untyped-def]
    """The sum of all terms, five at a time so that the row is seldom read and written."""
    m = values.shape[1]
    size, count = len(row), values.size
    end = begin + size
    c = np.zeros(5, dtype=values.dtype)
    at = np.zeros(5, dtype=np.int64)
    for first in range(0, count, 5):
        many = min(5, count - first)
        for t in range(5):
            c[t] = values.flat[first + t] if t < many else 0
            e, u = divmod(first + min(t, many - 1), m)
            at[t] = held[e] * m + u
        c0, c1, c2, c3, c4 = c[0], c[1], c[2], c[3], c[4]
        p0 = source[at[0], begin:end]
        p1 = source[at[1], begin:end] if many > 1 else nothing
        p2 = source[at[2], begin:end] if many > 2 else nothing
        p3 = source[at[3], begin:end] if many > 3 else nothing
        p4 = source[at[4], begin:end] if many > 4 else nothing
        if first:
            for v in range(size):
                row[v] += c0 * p0[v] + c1 * p1[v] + c2 * p2[v] + c3 * p3[v] + c4 * p4[v]
        else:
            for v in range(size):
                row[v] = c0 * p0[v] + c1 * p1[v] + c2 * p2[v] + c3 * p3[v] + c4 * p4[v]
    if count == 0:
        row[:] = 0
