"""The worst of many numbers where some are equal but for rounding: the first of them in order.

Condition numbers are computed to about 1e-10, so that which of two equal ones is larger is chance.
"""

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
TIE = 1e-9
"""Relative difference up to which two computed numbers are the same."""
LOG_TIE = TIE * math.log10(math.e)


def tied(values: Array, tolerance: float = TIE) -> Array:
    """Places of the numbers that are the greatest, as far as a relative tolerance tells.

    A value that is no number counts as the greatest; infinite ones are equal.

    Parameters
    ----------
    values : float array, not empty
    tolerance : float
        0 for numbers that were measured: the greatest is then the greatest.

    Examples
    --------
    >>> tied(np.array([1.0, 3.0, 3.0 + 1e-12]))
    array([1, 2])
    """
    flat = np.ravel(values)
    top = float(flat.max())
    if np.isnan(top):
        return np.flatnonzero(np.isnan(flat))
    return np.flatnonzero((flat == top) | (flat >= top - tolerance * abs(top)))


def first_greatest(values: Array, tolerance: float = TIE) -> int:
    """The first place of a number that is the greatest, see `tied`.

    Examples
    --------
    >>> first_greatest(np.array([1.0, 3.0, 3.0 + 1e-12])), first_greatest(np.array([1.0, 3.0]), 0)
    (1, 1)
    """
    return int(tied(values, tolerance)[0])


def tied_logarithms(log10: Array) -> Array:
    """`tied` of numbers whose decimal logarithms are given.

    Examples
    --------
    >>> tied_logarithms(np.array([600.0, 600.0 - 1e-12, 599.0]))
    array([0, 1])
    """
    return np.flatnonzero(log10 >= log10.max() - LOG_TIE)


def in_falling_order(log10: Array) -> Array:
    """Places from the greatest number to the least; those that tie keep their order.

    Parameters
    ----------
    log10 : float array
        Decimal logarithms; numbers tie with the greatest of their group.

    Examples
    --------
    >>> in_falling_order(np.log10([1.0, 3.0, 2.0, 3.0 + 1e-12]))
    array([1, 3, 2, 0])
    """
    order = np.argsort(-log10, kind="stable")
    falling = log10[order].tolist()
    group = np.zeros(len(order), dtype=np.int64)
    top = 0
    for place in range(1, len(order)):
        if falling[place] < falling[top] - LOG_TIE:
            top = place
        group[place] = top
    return np.asarray(order[np.lexsort((order, group))])


def first_set(stragglers: Array) -> int:
    """Place of the set whose survivors come first in lexicographic order: the order of `All`.

    Parameters
    ----------
    stragglers : int array, shape (P, s)
        Each sorted.

    Examples
    --------
    >>> first_set(np.array([[0, 1], [2, 3], [1, 3]]))
    1
    """
    if not stragglers.shape[1]:
        return 0
    return int(np.lexsort(-stragglers.T[::-1])[0])
