"""Combinations of the few partitions that each worker holds, at the speed of memory.

The vectors are walked in tiles that stay in cache; coefficients are one number per partition and
entry of a piece, never one per entry of a vector.
"""

from typing import Any

import numba
import numpy as np
import scipy.sparse
import scipy.sparse.csgraph

Array = np.ndarray[Any, np.dtype[Any]]
CACHE_BYTES = 1 << 19


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
    groups = _groups(start, partition, len(vectors))
    each = np.repeat(np.arange(rows), np.diff(start))
    values = np.ascontiguousarray(coefficients[each, partition], dtype=dtype)
    wide = dtype if vectors.dtype.kind == "c" else np.dtype(values.real.dtype)
    blocks = np.ascontiguousarray(vectors, dtype=wide)
    out = np.empty((rows, length), dtype=dtype)
    with np.errstate(all="ignore"):
        for members, chosen in groups:
            _combine(values, start, partition, blocks, out, members, chosen)
    return out


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
def _combine(values, start, partition, blocks, out, members, chosen):  # type: ignore[no-untyped-def]
    """Tiles of the length outside, rows inside: a tile of the chosen partitions is read once."""
    count, length, m = blocks.shape
    flat = blocks.reshape(count, length * m)
    width = max(256, CACHE_BYTES // (max(len(chosen), 1) * m * blocks.itemsize))
    width = max(min(length, width), 1)
    tile = np.empty((len(chosen) * m if m > 1 else 1, width), dtype=blocks.dtype)
    place = np.empty(count, dtype=np.int64)
    for at in range(len(chosen)):
        place[chosen[at]] = at
    for begin in range(0, length, width):
        size = min(width, length - begin)
        if m > 1:
            for at in range(len(chosen)):
                piece = flat[chosen[at], begin * m : (begin + size) * m]
                _unravel(piece, m, tile[at * m : at * m + m])
        for j in members:
            row = out[j, begin : begin + size]
            terms = values[start[j] : start[j + 1]]
            held = partition[start[j] : start[j + 1]]
            if m > 1:
                _sum(row, terms, place[held], tile, 0)
            else:
                _sum(row, terms, held, flat, begin)


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
def _sum(row, values, held, source, begin):  # type: ignore[no-untyped-def]
    """The sum of all terms, five at a time so that the row is seldom read and written."""
    m = values.shape[1]
    size, count = len(row), values.shape[0] * m
    end = begin + size
    c = np.zeros(5, dtype=values.dtype)
    at = np.zeros(5, dtype=np.int64)
    for first in range(0, count, 5):
        for t in range(5):
            # terms beyond the last are zero times the first
            c[t] = values.flat[first + t] if first + t < count else 0
            e, u = divmod(first + t, m) if first + t < count else (0, 0)
            at[t] = held[e] * m + u
        c0, c1, c2, c3, c4 = c[0], c[1], c[2], c[3], c[4]
        p0, p1 = source[at[0], begin:end], source[at[1], begin:end]
        p2, p3 = source[at[2], begin:end], source[at[3], begin:end]
        p4 = source[at[4], begin:end]
        if first:
            for v in range(size):
                row[v] += c0 * p0[v] + c1 * p1[v] + c2 * p2[v] + c3 * p3[v] + c4 * p4[v]
        else:
            for v in range(size):
                row[v] = c0 * p0[v] + c1 * p1[v] + c2 * p2[v] + c3 * p3[v] + c4 * p4[v]
    if count == 0:
        row[:] = 0
