"""Matrices of balls, of real or complex numbers: factors, transposes, and what they round to."""

from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.pairs import Pair

Array = np.ndarray[Any, np.dtype[Any]]


def orthonormal(N: Any, S: Any) -> Any:
    """N L^-H with L L^H = S = N^H N, in balls: orthonormal columns of the same range."""
    return adjoint(cholesky(S).solve(adjoint(N))) if N.ncols() else N


def adjoint(matrix: Any) -> Any:
    """Conjugate transpose of a matrix of balls."""
    turned = matrix.transpose()
    return turned.conjugate() if isinstance(turned, flint.acb_mat) else turned


def cholesky(matrix: Any) -> Any:
    """Lower triangular L with L L^H = matrix, in balls.

    Raises
    ------
    ZeroDivisionError
        If the bits do not show that the matrix is positive definite.
    """
    A = matrix.tolist()
    L: list[list[Any]] = []
    for i, row in enumerate(A):
        new: list[Any] = []
        for j in range(i):
            new.append((row[j] - _dot(new, L[j])) / L[j][j])
        rest = row[i] - _dot(new, new)
        rest = rest.real if isinstance(rest, flint.acb) else rest
        if not rest > 0:
            raise ZeroDivisionError("the bits do not show a positive definite matrix")
        L.append([*new, rest.sqrt()])
    n = len(A)
    return type(matrix)(n, n, [x for row in L for x in [*row, *[0] * (n - len(row))]])


def rounded(balls: Any) -> tuple[Array, Array]:
    """Midpoints of a matrix of balls, rounded to the nearest, and radii."""
    shape = balls.nrows(), balls.ncols()
    entries = flat(balls.tolist())
    if not isinstance(balls, flint.acb_mat):
        middle = np.array([float(x.mid()) for x in entries], dtype=np.float64)
        radius = np.array([float(x.rad()) for x in entries], dtype=np.float64)
        return middle.reshape(shape), radius.reshape(shape)
    parts = [(x.real, x.imag) for x in entries]
    middle = np.array([complex(float(a.mid()), float(b.mid())) for a, b in parts], np.complex128)
    radius = np.array([float(a.rad() + b.rad()) for a, b in parts], dtype=np.float64)
    return middle.reshape(shape), radius.reshape(shape)


def paired(balls: Any) -> tuple[Pair, Array]:
    """Midpoints of a matrix of balls as pairs, and radii."""
    high, radius = rounded(balls)
    low, _ = rounded(balls - type(balls)(high.tolist())) if high.size else (high, radius)
    return (high, low), radius


def flat(rows: list[list[Any]]) -> list[Any]:
    """The entries of a matrix, row by row."""
    return [x for row in rows for x in row]


def _dot(a: list[Any], b: list[Any]) -> Any:
    """Sum of a_i conj(b_i) over the length of a."""
    total: Any = flint.arb(0)
    for x, y in zip(a, b, strict=False):
        total += x * (y.conjugate() if isinstance(y, flint.acb) else y)
    return total
