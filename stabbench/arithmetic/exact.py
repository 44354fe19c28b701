"""Exact products, solutions, inverses and ranks of matrices, rounded only at the end.

Integers and rationals decide; ball arithmetic is used where its certified radius is small enough.
"""

from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import (
    Exponents,
    Integers,
    adjoint,
    balls,
    embedded,
    scaled,
    times,
)
from stabbench.arithmetic.pairs import (
    Pair,
    certified_pair,
    dyadic_pairs,
    error,
    joined,
    norm,
    to_pair,
)
from stabbench.errors import InputError

__all__ = [
    "Pair",
    "error",
    "inverse",
    "inverse_balls",
    "least_squares",
    "norm",
    "product",
    "rank",
    "solve",
    "to_pair",
]

_FIRST_BITS = 256
_LAST_BITS = 1 << 17
_RANK_BITS = (512, 1024, 2048)


def product(A: NDArray[Any], B: NDArray[Any]) -> Pair:
    """Matrix product A B without rounding, as a pair.

    Parameters
    ----------
    A : ndarray (m x k) of floats, real or complex
    B : ndarray (k x n) or (k,) of floats, real or complex

    Returns
    -------
    Pair, (m x n) or (m,)
        hi is the float64 nearest to the exact product, lo the one nearest to the rest; hi is
        infinite and lo zero where the product is beyond float64. Complex if A or B is.

    Raises
    ------
    InputError
        If an operand is not finite or the shapes do not fit.

    Examples
    --------
    >>> product(np.array([[1e17, 1.0, -1e17]]), np.ones((3, 1)))
    (array([[1.]]), array([[0.]]))
    """
    right = B[:, None] if B.ndim == 1 else B
    _check_inner(A.shape, right.shape, 1, 0)
    left_integers, row = scaled(A, 1)
    right_integers, column = scaled(right, 0)
    whole = times(left_integers, right_integers)
    hi, lo = joined([dyadic_pairs(part.entries(), row + column) for part in whole])
    return (hi[:, 0], lo[:, 0]) if B.ndim == 1 else (hi, lo)


def solve(G: NDArray[Any], Y: NDArray[Any]) -> Pair:
    """Solution X of the square system G X = Y without rounding, as a pair.

    Parameters
    ----------
    G : ndarray (k x k) of floats, real or complex
    Y : ndarray (k x m) or (k,) of floats, real or complex

    Returns
    -------
    Pair, (k x m) or (k,)

    Raises
    ------
    ZeroDivisionError
        If G is singular.
    InputError
        If an operand is not finite or the shapes do not fit.

    Examples
    --------
    >>> hi, lo = solve(np.array([[3.0]]), np.array([[1.0]]))
    >>> float(hi[0, 0]), float(lo[0, 0])
    (0.3333333333333333, 1.850371707708594e-17)
    """
    right = Y[:, None] if Y.ndim == 1 else Y
    _check_inner(G.shape, right.shape, 0, 0)
    _check_inner(G.shape, G.shape, 0, 1)
    matrix, row = scaled(G, 1)
    sides, column = scaled(right, 0, row)
    hi, lo = _solved(matrix, sides, np.broadcast_to(column, right.shape))
    return (hi[:, 0], lo[:, 0]) if Y.ndim == 1 else (hi, lo)


def least_squares(G: NDArray[Any], Y: NDArray[Any]) -> Pair:
    """Least-squares solution X = (G^H G)^-1 G^H Y without rounding, as a pair.

    Parameters
    ----------
    G : ndarray (r x k) of floats, real or complex, r >= k
    Y : ndarray (r x m) or (r,) of floats, real or complex

    Returns
    -------
    Pair, (k x m) or (k,)

    Raises
    ------
    ZeroDivisionError
        If G has not full column rank.
    InputError
        If an operand is not finite or the shapes do not fit.

    Examples
    --------
    >>> least_squares(np.array([[1.0], [1.0]]), np.array([[0.0], [1.0]]))
    (array([[0.5]]), array([[0.]]))
    """
    right = Y[:, None] if Y.ndim == 1 else Y
    _check_inner(G.shape, right.shape, 0, 0)
    columns, unknown = scaled(G, 0)
    sides, column = scaled(right, 0)
    left = adjoint(columns)
    normal, projected = times(left, columns), times(left, sides)
    hi, lo = _solved(normal, projected, column - unknown.T)
    return (hi[:, 0], lo[:, 0]) if Y.ndim == 1 else (hi, lo)


def inverse(G: Coefficients | NDArray[Any], bits: int | None = None) -> NDArray[Any]:
    """Inverse (k x k), or left inverse (G^H G)^-1 G^H (k x r), rounded to double precision.

    Ball arithmetic at a precision that is doubled until the radius of every entry is below
    2^-60 of the largest entry of its row; entries beyond float64 are infinite.

    Parameters
    ----------
    G : Coefficients or ndarray (r x k), r >= k
    bits : int, optional
        First precision to try, 256 unless given.

    Returns
    -------
    ndarray (k x r) of float64 or complex128

    Raises
    ------
    ZeroDivisionError
        If the columns of G are linearly dependent, as told by `rank`.
    InputError
        If G is not finite or has fewer rows than columns.

    Examples
    --------
    >>> inverse(np.array([[2.0, 0.0], [0.0, 1e-300]]))
    array([[5.e-001, 0.e+000],
           [0.e+000, 1.e+300]])
    """
    coefficients = G if isinstance(G, Coefficients) else Coefficients.from_array(G)
    result = inverse_balls(coefficients, bits or _FIRST_BITS)
    kind = complex if coefficients.is_complex else float
    entries = [kind(entry) for entry in result.entries()]
    return np.array(entries).reshape(result.nrows(), result.ncols())


def inverse_balls(G: Coefficients, bits: int = _FIRST_BITS) -> Any:
    """The same as a matrix of balls, which holds numbers beyond the range of float64.

    Raises
    ------
    ZeroDivisionError, InputError
        As `inverse` does.
    """
    r, k = G.shape
    if r < k:
        raise InputError(f"matrix of shape {r} x {k}: allowed are at least as many rows as columns")
    checked = False
    while bits <= _LAST_BITS:
        with flint.ctx.workprec(bits):
            try:
                result = _ball_inverse(G.balls(bits), square=r == k)
            except ZeroDivisionError:
                result = None
            if result is not None and all(_is_certified(row) for row in result.tolist()):
                return result
        if not checked and rank(G) < k:
            raise ZeroDivisionError("matrix without full column rank")
        checked, bits = True, 2 * bits
    raise ArithmeticError(f"inverse: not certified at {_LAST_BITS} bits")


def rank(G: Coefficients | NDArray[Any]) -> int:
    """Rank of a matrix, by exact elimination where the entries are rational.

    Parameters
    ----------
    G : Coefficients or ndarray (r x k)
        Entries that are balls are eliminated with balls at 512, 1024 and 2048 bits; what then
        still contains zero counts as zero, so that the result is a lower bound.

    Returns
    -------
    int

    Examples
    --------
    >>> rank(np.array([[0.1, 0.3], [0.7, 2.1]])), rank(np.array([[0.25, 0.5], [0.75, 1.5]]))
    (2, 1)
    """
    coefficients = G if isinstance(G, Coefficients) else Coefficients.from_array(G)
    if coefficients.is_rational:
        re, im = coefficients.rational()
        return int(re.rank()) if im is None else int(embedded(re, im).rank()) // 2
    best = 0
    for bits in _RANK_BITS:
        with flint.ctx.workprec(bits):
            best = max(best, _ball_rank(coefficients.balls(bits).tolist()))
        if best == min(coefficients.shape):
            break
    return best


def _check_inner(left: tuple[int, ...], right: tuple[int, ...], i: int, j: int) -> None:
    if len(left) != 2 or len(right) != 2 or left[i] != right[j]:
        raise InputError(f"shapes {left} and {right}: allowed are matrices that fit together")


def _solved(matrix: Integers, sides: Integers, exponents: Exponents) -> Pair:
    """Pairs of 2^exponents (matrix^-1 sides), by balls where they tell, else by rationals."""
    if len(matrix) < len(sides):
        return joined([_solved(matrix, (part,), exponents) for part in sides])
    if len(matrix) > len(sides):
        sides = (sides[0], flint.fmpz_mat(sides[0].nrows(), sides[0].ncols()))
    bits = _FIRST_BITS
    while bits <= 4 * _FIRST_BITS:
        with flint.ctx.workprec(bits):
            try:
                solution = balls(matrix).solve(balls(sides), algorithm="lu")
            except ZeroDivisionError:
                solution = None
            pair = None if solution is None else certified_pair(solution, exponents)
        if pair is not None:
            return pair
        bits *= 2
    return _rational_solution(matrix, sides, exponents)


def _rational_solution(matrix: Integers, sides: Integers, exponents: Exponents) -> Pair:
    if len(matrix) == 1:
        return to_pair(flint.fmpq_mat(matrix[0].solve(sides[0]).tolist()), None, exponents)
    stacked = flint.fmpq_mat(sides[0].tolist() + sides[1].tolist())
    both = embedded(*matrix).solve(stacked).tolist()
    k = len(both) // 2
    return to_pair(flint.fmpq_mat(both[:k]), flint.fmpq_mat(both[k:]), exponents)


def _ball_inverse(matrix: Any, square: bool) -> Any:
    if square:
        identity = np.eye(matrix.nrows()).tolist()
        return matrix.solve(type(matrix)(identity), algorithm="lu")
    transposed = matrix.transpose()
    left = transposed.conjugate() if isinstance(matrix, flint.acb_mat) else transposed
    return (left * matrix).solve(left, algorithm="lu")


def _is_certified(row: list[Any]) -> bool:
    largest = row[0].abs_lower()
    for entry in row[1:]:
        largest = max(largest, entry.abs_lower())
    bound = largest * 2.0**-60
    return all(entry.rad() <= bound for entry in row)


def _ball_rank(rows: list[list[Any]]) -> int:
    """Number of pivots that certainly differ from zero."""
    rank_ = 0
    for column in range(len(rows[0]) if rows else 0):
        sizes = [row[column].abs_lower() for row in rows[rank_:]]
        best = max(range(len(sizes)), key=lambda i: sizes[i], default=None)
        if best is None or not sizes[best] > 0:
            continue
        rows[rank_], rows[rank_ + best] = rows[rank_ + best], rows[rank_]
        pivot = rows[rank_]
        tail = pivot[column + 1 :]
        for row in rows[rank_ + 1 :]:
            factor = row[column] / pivot[column]
            row[column + 1 :] = [
                x - factor * y for x, y in zip(row[column + 1 :], tail, strict=True)
            ]
        rank_ += 1
    return rank_
