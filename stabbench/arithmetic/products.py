"""What workers compute when both factors are coded, each kernel in a stated precision."""

from typing import Any

import numpy as np

from stabbench.arithmetic.kernels import rounded
from stabbench.arithmetic.precision import Precision

Array = np.ndarray[Any, np.dtype[Any]]


def multiply_pairs(left: Array, right: Array, pairs: Array, precision: Precision) -> Array:
    """Products of shares, ``left[a] @ right[b].T`` for every pair (a, b), rounded to storage.

    Parameters
    ----------
    left : array, shape (left shares, L, N)
    right : array, shape (right shares, m, N)
    pairs : int array, shape (rows, 2)
    precision : Precision
        Products run in its work arithmetic.

    Returns
    -------
    array, shape (rows, L, m)

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> one = np.ones((1, 2, 3))
    >>> multiply_pairs(one, 2 * one, np.array([[0, 0]]), precision("float64"))[0, 0]
    array([6., 6.])
    """
    is_complex = np.iscomplexobj(left) or np.iscomplexobj(right)
    dtype = precision.work_dtype(is_complex)
    left, right = left.astype(dtype, copy=False), right.astype(dtype, copy=False)
    result = np.empty((len(pairs), left.shape[1], right.shape[1]), dtype=dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        for row, (a, b) in enumerate(pairs):
            np.matmul(left[a], right[b].T, out=result[row])
    return rounded(result, precision)
