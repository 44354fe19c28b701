"""Largest eigenvalue of a diagonal matrix changed by a few rows, for many sets of rows at once.

The cost grows with the rows and not with the cube of the order: kappa_2 of one pattern takes
microseconds where a singular value decomposition takes milliseconds.
"""

from typing import Any

import numpy as np

from stabbench.analysis.conditioning.compiled import compiled, inlined

Array = np.ndarray[Any, np.dtype[Any]]
STEPS = 60


@compiled
def largest_eigenvalues(mu: Array, R: Array, sign: int, close: float) -> Array:
    """Largest eigenvalue of diag(mu) + sign R_p^T R_p for each p.

    Parameters
    ----------
    mu : float64 array, shape (k,)
        Falling, not negative.
    R : float64 array, shape (P, c, k)
    sign : int
        1, or -1 if no eigenvalue becomes negative.
    close : float
        Relative accuracy.

    Returns
    -------
    float64 array, shape (P,)

    Notes
    -----
    Bisection. With Z = R (t - diag(mu))^-1 R^T, the number of eigenvalues above t is the number
    of mu above t plus sign times the number of negative eigenvalues of 1 - sign Z, by the inertia
    of the two Schur complements of one matrix.

    Examples
    --------
    >>> largest_eigenvalues(np.array([2.0, 1.0]), np.array([[[1.0, 0.0]]]), -1, 1e-13)
    array([1.])
    """
    P, c, k = R.shape
    found = np.empty(P)
    weight = np.empty(k)
    Z = np.empty((c, c))
    for p in range(P):
        change = 0.0
        for a in range(c):
            for j in range(k):
                change += R[p, a, j] ** 2
        mean = (mu.sum() + sign * change) / k
        if sign > 0:
            low, high = max(mu[0], mean), mu[0] + change
        else:
            low, high = max(mu[c] if c < k else 0.0, mean), mu[0]
        for _ in range(STEPS):
            if high - low <= close * high:
                break
            t = 0.5 * (low + high)
            above = _schur(mu, R[p], t, sign, weight, Z)
            if above + sign * negative_eigenvalues(Z) > 0:
                low = t
            else:
                high = t
        found[p] = high
    return found


@inlined
def _schur(mu: Array, R: Array, t: float, sign: int, weight: Array, Z: Array) -> int:
    """Write 1 - sign R (t - diag(mu))^-1 R^T into Z; returns the number of mu above t."""
    c, k = R.shape
    above = 0
    for j in range(k):
        weight[j] = sign / (t - mu[j])
        above += mu[j] > t
    fours = k // 4 * 4
    for a in range(c):
        for b in range(a + 1):
            # four sums side by side: one alone would wait for every addition
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for j in range(0, fours, 4):
                t0 += R[a, j] * R[b, j] * weight[j]
                t1 += R[a, j + 1] * R[b, j + 1] * weight[j + 1]
                t2 += R[a, j + 2] * R[b, j + 2] * weight[j + 2]
                t3 += R[a, j + 3] * R[b, j + 3] * weight[j + 3]
            for j in range(fours, k):
                t0 += R[a, j] * R[b, j] * weight[j]
            Z[a, b] = Z[b, a] = (a == b) - ((t0 + t1) + (t2 + t3))
    return above


@compiled
def negative_eigenvalues(A: Array) -> int:
    """Number of negative eigenvalues of a symmetric matrix, which is overwritten.

    Elimination with pivots of one or two rows, chosen from the whole matrix (Bunch and Parlett,
    SIAM J. Numer. Anal. 8, 1971).

    Examples
    --------
    >>> negative_eigenvalues(np.array([[0.0, 1.0], [1.0, 0.0]]))
    1
    """
    n = A.shape[0]
    count, first = 0, 0
    while first < n:
        diagonal, off, d, p, q = 0.0, 0.0, first, first, first
        for i in range(first, n):
            if abs(A[i, i]) > diagonal:
                diagonal, d = abs(A[i, i]), i
            for j in range(first, i):
                if abs(A[i, j]) > off:
                    off, p, q = abs(A[i, j]), j, i
        if diagonal >= 0.6403882032022076 * off:
            if diagonal == 0:
                break
            _exchange(A, first, d)
            count += A[first, first] < 0
            for i in range(first + 1, n):
                factor = A[i, first] / A[first, first]
                for j in range(first + 1, n):
                    A[i, j] -= factor * A[first, j]
            first += 1
        else:
            _exchange(A, first, p)
            _exchange(A, first + 1, q)
            count += 1
            x, y, z = A[first, first], A[first, first + 1], A[first + 1, first + 1]
            determinant = x * z - y * y
            for i in range(first + 2, n):
                u, v = A[i, first], A[i, first + 1]
                f, g = (u * z - v * y) / determinant, (v * x - u * y) / determinant
                for j in range(first + 2, n):
                    A[i, j] -= f * A[first, j] + g * A[first + 1, j]
            first += 2
    return count


@inlined
def _exchange(A: Array, i: int, j: int) -> None:
    if i != j:
        for m in range(A.shape[0]):
            A[i, m], A[j, m] = A[j, m], A[i, m]
        for m in range(A.shape[0]):
            A[m, i], A[m, j] = A[m, j], A[m, i]
