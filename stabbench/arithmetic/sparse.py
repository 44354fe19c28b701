"""Combinations of the few partitions that each worker holds, at the speed of memory.

The vectors are walked in tiles that stay in cache; coefficients are one number per partition and
entry of a piece, never one per entry of a vector.
"""

from typing import Any

import numba
import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
TILE = 1024


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

    Examples
    --------
    >>> one = np.ones((1, 2, 1))
    >>> held = np.array([0, 2]), np.array([0, 1])
    >>> combine_held(one, held, np.array([[[1.0]], [[2.0]]]), np.dtype("float64"))
    array([[3.]])
    """
    start, partition = held
    rows, length = coefficients.shape[0], vectors.shape[1]
    each = np.repeat(np.arange(rows), np.diff(start))
    values = np.ascontiguousarray(coefficients[each, partition], dtype=dtype)
    wide = dtype if vectors.dtype.kind == "c" else np.dtype(values.real.dtype)
    blocks = np.ascontiguousarray(vectors, dtype=wide)
    out = np.empty((rows, length), dtype=dtype)
    with np.errstate(all="ignore"):
        _combine(values, start, partition, blocks, out)
    return out


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _combine(values, start, partition, blocks, out):  # type: ignore[no-untyped-def]
    """Tiles of the length outside, rows inside: a tile of all partitions is read once."""
    count, length, m = blocks.shape
    tile = np.empty((count * m, TILE), dtype=blocks.dtype)
    for begin in range(0, length, TILE):
        width = min(TILE, length - begin)
        for i in range(count):
            for v in range(width):
                for u in range(m):
                    tile[i * m + u, v] = blocks[i, begin + v, u]
        for j in range(out.shape[0]):
            row = out[j, begin : begin + width]
            row[:] = 0
            for e in range(start[j], start[j + 1]):
                for u in range(m):
                    _add(row, values[e, u], tile[partition[e] * m + u])


@numba.njit(cache=True, nogil=True, error_model="numpy")
def _add(row, c, part):  # type: ignore[no-untyped-def]
    for v in range(len(row)):
        row[v] += c * part[v]
