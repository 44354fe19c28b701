"""Independent rows, certified modulo a prime: exact answers at the price of word arithmetic."""

from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients

Array = np.ndarray[Any, np.dtype[Any]]
PRIME = 2305843009213693921
"""The largest prime below 2^61 that is 1 modulo 4, so that -1 has a square root."""
ROOT = pow(next(a for a in range(2, 100) if pow(a, PRIME // 2, PRIME) != 1), PRIME // 4, PRIME)


def independent_rows(matrix: Array) -> Array:
    """Indices of the first rows that are linearly independent, in order.

    Each row enters if it is independent of those before it. Independence modulo a prime proves
    independence over the numbers, so that the rows returned are independent for certain; a row
    could be missed with a probability of about 2^-61.

    Parameters
    ----------
    matrix : finite float or complex array, shape (r, k)
        Taken as the dyadic numbers that it holds.

    Returns
    -------
    int array, shape (rank,)

    Examples
    --------
    >>> independent_rows(np.array([[1.0, 2.0], [0.5, 1.0], [0.0, 3.0]])).tolist()
    [0, 2]
    """
    return np.array(independent([[_residue(x) for x in row] for row in matrix]), dtype=int)


def independent(rows: list[list[int]]) -> list[int]:
    """`independent_rows` of a matrix of residues.

    Examples
    --------
    >>> independent([[1, 2], [2, 4], [0, 1]])
    [0, 2]
    """
    reduced, rank = flint.nmod_mat(list(zip(*rows, strict=True)), PRIME).rref()
    table = reduced.tolist()
    return [next(c for c, x in enumerate(table[i]) if int(x)) for i in range(rank)]


def residues(matrix: Coefficients) -> list[list[int]]:
    """A rational matrix, complex or not, modulo the prime.

    Examples
    --------
    >>> residues(Coefficients.from_array(np.array([[2.0, 1j]])))[0] == [2, ROOT]
    True
    """
    real, imaginary = matrix.rational()
    values = [_ratio(x) for x in real.entries()]
    if imaginary is not None:
        both = zip(values, imaginary.entries(), strict=True)
        values = [(x + ROOT * _ratio(y)) % PRIME for x, y in both]
    k = matrix.shape[1]
    return [values[i * k : i * k + k] for i in range(matrix.shape[0])]


def _ratio(x: Any) -> int:
    return int(x.p) * pow(int(x.q), -1, PRIME) % PRIME


def _residue(value: Any) -> int:
    if np.iscomplexobj(value):
        return (_residue(value.real) + ROOT * _residue(value.imag)) % PRIME
    numerator, denominator = value.item().as_integer_ratio()
    return int(numerator * pow(denominator, -1, PRIME) % PRIME)


def first_independent(matrix: Array, rows: Array) -> Array:
    """The first k independent rows of each pattern.

    Parameters
    ----------
    matrix : array, shape (R, k)
    rows : int array, shape (P, r), with r >= k

    Returns
    -------
    int array, shape (P, k); patterns of lower rank keep their first k rows

    Notes
    -----
    A pattern whose first k rows have sigma_min well above the rounding error of the SVD needs no
    more than that; the others are reduced modulo a prime.
    """
    k = matrix.shape[1]
    chosen = rows[:, :k].copy()
    if rows.shape[1] == k or not len(rows):
        return chosen
    wide = matrix.astype(np.complex128 if np.iscomplexobj(matrix) else np.float64)
    if not np.isfinite(wide).all():
        return chosen
    sigma = np.linalg.svd(wide[chosen], compute_uv=False)
    for p in np.flatnonzero(sigma[:, -1] <= 1e-8 * sigma[:, 0]):
        independent = independent_rows(wide[rows[p]])
        if len(independent) == k:
            chosen[p] = rows[p, independent]
    return chosen
