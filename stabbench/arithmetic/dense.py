"""Dense solvers over a batch of systems, each in the dtype of its input and no wider.

`numpy.linalg` is not used here: it computes float32 input in float64. A system on which the
elimination breaks down gives NaN, which the caller counts as an infinite error.
"""

import warnings
from typing import Any

import numba
import numpy as np
import scipy.linalg

from stabbench.arithmetic.kernels import checked

Array = np.ndarray[Any, np.dtype[Any]]


def solve(matrices: Array, right: Array) -> Array:
    """Solve by LU with partial pivoting (LAPACK gesv), one system per slice.

    Parameters
    ----------
    matrices : array, shape (P, k, k)
    right : array, shape (P, k, m), of the same dtype

    Returns
    -------
    array, shape (P, k, m); NaN where a pivot is exactly zero or the input is not finite

    Examples
    --------
    >>> singular = np.array([[[1.0, 1.0], [1.0, 1.0]], [[2.0, 0.0], [0.0, 2.0]]])
    >>> solve(singular, np.ones((2, 2, 1)))[:, 0, 0]
    array([nan, 0.5])
    """
    return _each(_gesv, matrices, right)


def invert_and_multiply(matrices: Array, right: Array) -> Array:
    """Form each inverse explicitly, then multiply: what most published code does.

    The inverse is that of numpy.linalg.inv, LAPACK gesv with the identity on the right. It leaves
    a small A X - I but not a small X A - I, on which the error of X (A c) rests.

    Parameters and result as in `solve`.

    Notes
    -----
    Higham, Accuracy and Stability of Numerical Algorithms (2002), section 14.1.
    """
    return _each(_inverse_product, matrices, right)


def refine(matrices: Array, right: Array, steps: int) -> Array:
    """`solve`, then steps of iterative refinement with residuals in the same precision.

    Parameters and result as in `solve`.
    """
    solution = solve(matrices, right)
    with np.errstate(all="ignore"):
        for _ in range(steps):
            residual = right - np.matmul(matrices, solution)
            solution = solution + solve(matrices, residual)
    return checked(solution, matrices.dtype)


def least_squares(matrices: Array, right: Array) -> Array:
    """Minimise ||A x - b||_2 by Householder QR, one system per slice.

    Parameters
    ----------
    matrices : array, shape (P, r, k) with r >= k
    right : array, shape (P, r, m), of the same dtype

    Returns
    -------
    array, shape (P, k, m); NaN where a diagonal entry of R is exactly zero
    """
    count, _, k = matrices.shape
    solution = np.empty((count, k, right.shape[2]), dtype=matrices.dtype)
    one = np.ones(1, dtype=matrices.real.dtype)
    with np.errstate(all="ignore"):
        _householder(np.ascontiguousarray(matrices), np.ascontiguousarray(right), solution, one)
    return checked(solution, matrices.dtype)


def elimination_size(matrices: Array) -> Array:
    """Row sums of P |L| |U|, the size of what Gaussian elimination works with.

    Parameters
    ----------
    matrices : float64 or complex128 array, shape (P, k, k)

    Returns
    -------
    float64 array, shape (P, k), in the order of the rows of each matrix
    """
    sums = np.zeros(matrices.shape[:2])
    _lu_row_sums(np.ascontiguousarray(matrices), sums)
    return checked(sums, np.dtype(np.float64))


def vandermonde_solve(nodes: Array, right: Array) -> Array:
    """Bjorck-Pereyra: coefficients of the polynomial with given values, nodes in the given order.

    Parameters
    ----------
    nodes : array, shape (P, k)
    right : array, shape (P, k, m), of the same dtype

    Returns
    -------
    array, shape (P, k, m): x with sum over j of x_j node_i^j = right_i

    Notes
    -----
    Bjorck and Pereyra, Math. Comp. 24 (1970), the dual system: divided differences, then the
    change from Newton's basis to monomials; k (k - 1) subtractions and half as many quotients.
    """
    k = nodes.shape[1]
    x = right.copy()
    with np.errstate(all="ignore"):
        for step in range(1, k):
            gaps = nodes[:, step:] - nodes[:, :-step]
            x[:, step:] = (x[:, step:] - x[:, step - 1 : -1]) / gaps[:, :, None]
        for step in range(k - 2, -1, -1):
            x[:, step:-1] -= nodes[:, step, None, None] * x[:, step + 1 :]
    return checked(x, nodes.dtype)


def _each(method: Any, matrices: Array, right: Array) -> Array:
    """Run a batched LAPACK method; split the batch to isolate slices on which it raises."""
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", scipy.linalg.LinAlgWarning)
            solution = checked(method(matrices, right), matrices.dtype)
            # LAPACK turns an infinite pivot into a zero, and its row into a finite answer
            solution[~np.isfinite(matrices).all(axis=(1, 2))] = np.nan
            return solution
    except (np.linalg.LinAlgError, ValueError):
        if len(matrices) == 1:
            return np.full(right.shape, np.nan, dtype=matrices.dtype)
    half = len(matrices) // 2
    parts = [_each(method, matrices[s], right[s]) for s in (slice(half), slice(half, None))]
    return np.concatenate(parts)


def _gesv(matrices: Array, right: Array) -> Array:
    solution: Array = scipy.linalg.solve(matrices, right, assume_a="gen", check_finite=False)
    # SciPy hands the right-hand side back, unsolved, where the norm of a finite matrix overflows
    size = np.abs(matrices).max(axis=(1, 2), initial=0)
    for p in np.flatnonzero(size > np.finfo(matrices.dtype).max / max(matrices.shape[1], 1)):
        solution[p] = _gesv_alone(matrices[p], right[p])
    return solution


def _gesv_alone(matrix: Array, right: Array) -> Array:
    (gesv,) = scipy.linalg.get_lapack_funcs(("gesv",), (matrix,))
    factors, _, solution, _ = gesv(matrix, right)
    if np.isfinite(factors).all() and np.diagonal(factors).all():
        return np.asarray(solution)
    return np.full(right.shape, np.nan, dtype=matrix.dtype)


def _inverse_product(matrices: Array, right: Array) -> Array:
    identity = np.eye(matrices.shape[-1], dtype=matrices.dtype)
    inverse = _gesv(matrices, np.broadcast_to(identity, matrices.shape))
    product: Array = np.matmul(checked(inverse, matrices.dtype), right)
    return product


@numba.njit(cache=True, nogil=True)
def _householder(matrices, right, solution, one):  # type: ignore[no-untyped-def]
    """QR of each slice; `one` carries the real dtype so that no literal widens the arithmetic."""
    count, r, k = matrices.shape
    m = right.shape[2]
    unit = one[0]
    dot = np.empty(max(k, m), dtype=matrices.dtype)
    v = np.empty(r, dtype=matrices.dtype)
    for p in range(count):
        a = matrices[p].copy()
        b = right[p].copy()
        regular = True
        for j in range(k):
            largest = unit - unit
            for i in range(j, r):
                largest = max(largest, abs(a[i, j]))
            if not (largest > 0 and largest < np.inf):
                regular = False
                break
            square = unit - unit
            for i in range(j, r):
                size = abs(a[i, j]) / largest
                square += size * size
            norm = largest * np.sqrt(square)
            head = abs(a[j, j])
            alpha = -a[j, j] / head * norm if head > 0 else a[j, j] - norm
            v0 = a[j, j] - alpha
            square = unit
            v[j] = unit
            for i in range(j + 1, r):
                v[i] = a[i, j] / v0
                size = abs(v[i])
                square += size * size
            tau = (unit + unit) / square
            a[j, j] = alpha
            _reflect(a, v, tau, dot, j, j + 1, k)
            _reflect(b, v, tau, dot, j, 0, m)
        if regular:
            _back_substitute(a, b, solution[p])
        else:
            solution[p, :, :] = np.nan


@numba.njit(cache=True, nogil=True)
def _reflect(a, v, tau, dot, top, left, right):  # type: ignore[no-untyped-def]
    """Apply I - tau v v^H to the rows from `top` and the columns left..right-1 of a."""
    for c in range(left, right):
        dot[c] = a[top, c]
    for i in range(top + 1, a.shape[0]):
        w = np.conj(v[i])
        for c in range(left, right):
            dot[c] += w * a[i, c]
    for c in range(left, right):
        dot[c] *= tau
    for c in range(left, right):
        a[top, c] -= dot[c]
    for i in range(top + 1, a.shape[0]):
        for c in range(left, right):
            a[i, c] -= v[i] * dot[c]


@numba.njit(cache=True, nogil=True)
def _back_substitute(a, b, x):  # type: ignore[no-untyped-def]
    k, m = x.shape
    for j in range(k - 1, -1, -1):
        for c in range(m):
            x[j, c] = b[j, c]
        for i in range(j + 1, k):
            for c in range(m):
                x[j, c] -= a[j, i] * x[i, c]
        for c in range(m):
            x[j, c] /= a[j, j]


@numba.njit(cache=True, nogil=True)
def _eliminate(a, order):  # type: ignore[no-untyped-def]
    """LU with partial pivoting in place; `order` receives the original place of every row.

    Complex pivots are the largest by |re| + |im|, as in LAPACK.
    """
    k = len(a)
    for i in range(k):
        order[i] = i
    for j in range(k):
        best, largest = j, -1.0
        for i in range(j, k):
            size = abs(a[i, j].real) + abs(a[i, j].imag)
            if size > largest:
                best, largest = i, size
        if best != j:
            order[j], order[best] = order[best], order[j]
            for c in range(k):
                a[j, c], a[best, c] = a[best, c], a[j, c]
        if a[j, j] == 0:
            continue
        for i in range(j + 1, k):
            a[i, j] /= a[j, j]
            for c in range(j + 1, k):
                a[i, c] -= a[i, j] * a[j, c]


@numba.njit(cache=True, nogil=True)
def _lu_row_sums(matrices, sums):  # type: ignore[no-untyped-def]
    """Sums over the rows of |L| |U| of every slice, in the original row order."""
    count, k, _ = matrices.shape
    order = np.empty(k, dtype=np.int64)
    upper = np.empty(k, dtype=np.float64)
    for p in range(count):
        a = matrices[p].copy()
        _eliminate(a, order)
        for j in range(k):
            upper[j] = 0.0
            for c in range(j, k):
                upper[j] += abs(a[j, c])
        for i in range(k):
            total = upper[i]
            for j in range(i):
                total += abs(a[i, j]) * upper[j]
            sums[p, order[i]] = total
