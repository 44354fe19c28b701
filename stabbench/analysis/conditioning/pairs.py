"""Traces for many patterns in twice the precision of float64: numbers are sums hi + lo."""

from typing import Any

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
UNIT = 2.0**-98
SPLIT = 134217729.0


@compiled
def traces_by_pairs(P: Array, K: Array, lost: Array) -> tuple[Array, Array]:
    """Traces of P_C^-1 K_C for sets C of rows, by elimination without exchange of rows.

    Parameters
    ----------
    P, K : float64 arrays, shape (n, n, 2)
        Symmetric; hi and lo. P is positive semidefinite with ones on its diagonal, about.
    lost : int64 array, shape (sets, c)

    Returns
    -------
    traces, errors : float64 arrays, shape (sets,)
        The errors are relative estimates.
    """
    sets, c = lost.shape
    traces, errors = np.empty(sets), np.empty(sets)
    A = np.empty((c, 2 * c, 2))
    for p in range(sets):
        for i in range(c):
            for j in range(c):
                for e in range(2):
                    A[i, j, e] = P[lost[p, i], lost[p, j], e]
                    A[i, c + j, e] = 1.0 if i == j and e == 0 else 0.0
        _eliminate(A)
        total, largest, size = (0.0, 0.0), 0.0, 0.0
        for i in range(c):
            largest = max(largest, abs(A[i, c + i, 0]))
            size += K[lost[p, i], lost[p, i], 0]
            for j in range(c):
                k = K[lost[p, j], lost[p, i], 0], K[lost[p, j], lost[p, i], 1]
                total = _add(total, _multiply((A[i, c + j, 0], A[i, c + j, 1]), k))
        traces[p] = total[0]
        errors[p] = UNIT * c * largest * max(1.0, largest * size / total[0])
    return traces, errors


@inlined
def _eliminate(A: Array) -> None:
    """Gauss-Jordan on [P, 1] to [1, P^-1]."""
    c = A.shape[0]
    for i in range(c):
        pivot = A[i, i, 0], A[i, i, 1]
        for j in range(i, 2 * c):
            A[i, j, 0], A[i, j, 1] = _divide((A[i, j, 0], A[i, j, 1]), pivot)
        for r in range(c):
            if r == i:
                continue
            factor = -A[r, i, 0], -A[r, i, 1]
            for j in range(i, 2 * c):
                change = _multiply(factor, (A[i, j, 0], A[i, j, 1]))
                A[r, j, 0], A[r, j, 1] = _add((A[r, j, 0], A[r, j, 1]), change)


@inlined
def _quick_sum(a: float, b: float) -> tuple[float, float]:
    total = a + b
    return total, b - (total - a)


@inlined
def _add(a: Any, b: Any) -> Any:
    total = a[0] + b[0]
    part = total - a[0]
    error = (a[0] - (total - part)) + (b[0] - part)
    return _quick_sum(total, error + a[1] + b[1])


@inlined
def _multiply(a: Any, b: Any) -> Any:
    product = a[0] * b[0]
    t = SPLIT * a[0]
    high = t - (t - a[0])
    low = a[0] - high
    t = SPLIT * b[0]
    top = t - (t - b[0])
    rest = b[0] - top
    error = ((high * top - product) + high * rest + low * top) + low * rest
    return _quick_sum(product, error + a[0] * b[1] + a[1] * b[0])


@inlined
def _divide(a: Any, b: Any) -> Any:
    first = a[0] / b[0]
    left = _add(a, _multiply((-first, 0.0), b))
    second = left[0] / b[0]
    left = _add(left, _multiply((-second, 0.0), b))
    whole = _quick_sum(first, second)
    return _add(whole, (left[0] / b[0], 0.0))
