"""Kernels that run in a stated precision; each asserts the dtype of its result.

Products and combinations are here; dense solvers are in `dense`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.files.types import type_name

Array = np.ndarray[Any, np.dtype[Any]]


def checked(array: Array, dtype: np.dtype[Any]) -> Array:
    """`array`, after asserting that its dtype is `dtype`: silent promotion is a fault.

    Raises
    ------
    TypeError
        If the dtype differs.

    Examples
    --------
    >>> checked(np.ones(2, np.float32), np.dtype("float64"))
    Traceback (most recent call last):
    ...
    TypeError: a kernel returned float32 where float64 was asked for
    """
    if array.dtype != dtype:
        found, asked = type_name(array.dtype), type_name(dtype)
        raise TypeError(f"a kernel returned {found} where {asked} was asked for")
    return array


def padded(array: Array, widths: Sequence[int]) -> Array:
    """`array` with so many zeros after the end of every axis, each of the kind of the entries.

    ``np.pad`` puts fixed-width integers into arrays of Python integers, where they wrap or raise.

    Examples
    --------
    >>> padded(np.array([[1 << 70]], dtype=object), (0, 1)).tolist()
    [[1180591620717411303424, 0]]
    """
    zero = np.zeros((), array.dtype)
    return np.pad(array, [(0, width) for width in widths], constant_values=zero)


def rounded(result: Array, precision: Precision) -> Array:
    """A result in work arithmetic rounded to storage; itself where the two are one format.

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> x = np.ones(2, np.float32)
    >>> rounded(x, precision("float32")) is x
    True
    """
    dtype = precision.storage_dtype(np.iscomplexobj(result))
    if precision.storage.holds(precision.work):
        return checked(result, dtype)
    return checked(precision.store(result), dtype)


def combine(generator: Array, blocks: Array, precision: Precision) -> Array:
    """Linear combinations of blocks: row i is the sum over j of ``generator[i, j] * blocks[j]``.

    Parameters
    ----------
    generator : array, shape (rows, k)
    blocks : array, shape (k, ...)
    precision : Precision
        Sums run in its work arithmetic and are rounded once to its storage.

    Returns
    -------
    array, shape (rows, ...)
    """
    is_complex = np.iscomplexobj(generator) or np.iscomplexobj(blocks)
    dtype = precision.work_dtype(is_complex)
    with np.errstate(over="ignore", invalid="ignore"):
        flat = blocks.reshape(blocks.shape[0], -1).astype(dtype, copy=False)
        result = checked(generator.astype(dtype, copy=False) @ flat, dtype)
    return rounded(result.reshape((generator.shape[0], *blocks.shape[1:])), precision)


def multiply(shares: Array, operand: Array, precision: Precision) -> Array:
    """What a worker computes: ``shares[i] @ operand`` for every share, rounded to storage.

    Parameters
    ----------
    shares : array, shape (rows, L, columns)
    operand : array, shape (columns, m)

    Returns
    -------
    array, shape (rows, L, m)
    """
    is_complex = np.iscomplexobj(shares) or np.iscomplexobj(operand)
    dtype = precision.work_dtype(is_complex)
    with np.errstate(over="ignore", invalid="ignore"):
        flat = shares.reshape(-1, shares.shape[-1]).astype(dtype, copy=False)
        result = checked(flat @ operand.astype(dtype, copy=False), dtype)
    return rounded(result.reshape((*shares.shape[:-1], operand.shape[1])), precision)
