"""The k entries of largest magnitude of every row, by radix selection on the bits, not by a sort.

Among equal magnitudes the entry with the smallest index comes first; NaN counts as the largest.
"""

from typing import Any

import numba
import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError

_DIGIT = 11


@numba.njit(cache=True)
def _threshold(keys, mask, width, rank, histogram, buffer):  # type: ignore[no-untyped-def]
    """The key of this rank from the top, and how many equal ones are wanted."""
    count, shift, value = keys.size, width, keys[0] & (mask ^ mask)
    first = True
    while shift > 0:
        digit = min(_DIGIT, shift)
        shift -= digit
        step, low = keys.dtype.type(shift), keys.dtype.type((1 << digit) - 1)
        histogram[:] = 0
        if first:
            for t in range(count):
                histogram[((keys[t] & mask) >> step) & low] += 1
        else:
            for t in range(count):
                histogram[(buffer[t] >> step) & low] += 1
        bucket = (1 << digit) - 1
        while histogram[bucket] < rank:
            rank -= histogram[bucket]
            bucket -= 1
        wanted = keys.dtype.type(bucket)
        kept = 0
        for t in range(count):
            key = keys[t] & mask if first else buffer[t]
            # the store is unconditional, which spares a branch that cannot be predicted
            buffer[kept] = key
            kept += ((key >> step) & low) == wanted
        value |= wanted << step
        count, first = kept, False
    return value, rank


@numba.njit(cache=True)
def _largest(bits, mask, width, k, out):  # type: ignore[no-untyped-def]
    n, d = bits.shape
    histogram = np.empty(1 << _DIGIT, np.int64)
    buffer = np.empty(d + 1, bits.dtype)
    for i in range(n):
        row = bits[i]
        limit, ties = _threshold(row, mask, width, k, histogram, buffer)
        found = 0
        for t in range(d):
            key = row[t] & mask
            if key > limit:
                out[i, found] = t
                found += 1
            elif key == limit and ties > 0:
                out[i, found] = t
                found += 1
                ties -= 1


def largest(values: NDArray[Any], k: int) -> NDArray[np.int64]:
    """Indices of the k entries of largest magnitude of every row, in rising order.

    Ties are resolved to the smallest index, so that the choice depends on nothing but the numbers.

    Parameters
    ----------
    values : float32 or float64 array, shape (n, d)
    k : int
        From 1 to d.

    Returns
    -------
    int64 array, shape (n, k)

    Raises
    ------
    InputError
        If k is not between 1 and d.

    Examples
    --------
    >>> largest(np.array([[1.0, -3.0, 3.0, 2.0, -3.0]]), 2)
    array([[1, 2]])
    """
    n, d = values.shape
    if not 1 <= k <= d:
        raise InputError(f"top-k: k={k} of d={d} entries; allowed is 1 .. d")
    out = np.empty((n, k), np.int64)
    if k == d:
        out[:] = np.arange(d)
        return out
    unsigned = np.dtype(f"u{values.dtype.itemsize}")
    bits = np.ascontiguousarray(values).view(unsigned)
    width = 8 * unsigned.itemsize - 1
    mask = unsigned.type((1 << width) - 1)
    _largest(bits, mask, width, k, out)
    return out
