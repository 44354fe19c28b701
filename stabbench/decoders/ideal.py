"""Decoding weights of gradient codes without rounding: balls for parts, rationals for the rest."""

import weakref
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.pairs import Pair, joined
from stabbench.arithmetic.rank import independent, residues
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.parts import Part

Array = np.ndarray[Any, np.dtype[Any]]
FIRST_BITS = 256
LAST_BITS = 1 << 14
# bits that sufficed for other replies of the same matrix
_SUFFICED: weakref.WeakKeyDictionary[Coefficients, int] = weakref.WeakKeyDictionary()


def ball_weights(part: Part, taken: Array, bits: int) -> Any:
    """D with D M_F = Q, of least norm, as a matrix of balls (m x r) at `bits` bits.

    Parameters
    ----------
    part : Part
    taken : int array, shape (r,)
        Positions within the part of the replies that arrived, of rank rho.
    bits : int

    Raises
    ------
    ZeroDivisionError
        If the bits do not show that the rows have full rank.
    """
    with flint.ctx.workprec(bits):
        matrix: Any = part.matrix.rows(taken).balls(bits)
        target: Any = part.target.balls(bits)
        if isinstance(matrix, flint.acb_mat):
            target = flint.acb_mat(target)
        if matrix.nrows() < matrix.ncols():
            raise ZeroDivisionError("fewer replies than the rank of the part")
        if matrix.nrows() == matrix.ncols():
            return matrix.transpose().solve(target.transpose(), algorithm="lu").transpose()
        left = matrix.transpose()
        left = left.conjugate() if isinstance(left, flint.acb_mat) else left
        return (left * matrix).transpose().solve(target.transpose()).transpose() * left


def part_weights(part: Part, taken: Array) -> Pair:
    """`ball_weights`, each entry as a pair (hi, lo), shape (m, r).

    Raises
    ------
    ZeroDivisionError
        If 16384 bits do not show full rank.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> part = code("fractional-repetition", n=3, stragglers=2).parts[0]
    >>> part_weights(part, np.array([0, 2]))[0]
    array([[0.5, 0.5]])
    """
    bits = _SUFFICED.get(part.matrix, FIRST_BITS)
    while bits <= LAST_BITS:
        try:
            weights = ball_weights(part, taken, bits)
        except ZeroDivisionError:
            if len(taken) < part.matrix.shape[1]:
                raise
        else:
            pair = _pair(weights)
            if pair is not None:
                _SUFFICED[part.matrix] = bits
                return pair
        bits *= 2
    raise ZeroDivisionError(f"{LAST_BITS} bits do not show that the replies have full rank")


def _pair(weights: Any) -> Pair | None:
    """Pairs of the midpoints, or None while a radius exceeds 2^-115 of the largest weight."""
    entries = [x for row in weights.tolist() for x in row]
    is_complex = isinstance(weights, flint.acb_mat)
    parts = [[x.real for x in entries], [x.imag for x in entries]] if is_complex else [entries]
    largest = max(abs(float(x.mid())) for part in parts for x in part)
    if any(float(x.rad()) > largest * 2.0**-115 for part in parts for x in part):
        return None
    shape = weights.nrows(), weights.ncols()
    pairs = []
    for part in parts:
        hi = [float(x.mid()) for x in part]
        lo = [float(x.mid() - h) for x, h in zip(part, hi, strict=True)]
        pairs.append((np.array(hi).reshape(shape), np.array(lo).reshape(shape)))
    return joined(pairs)


def least_squares_weights(code: GradientCode, arrived: Array) -> Any:
    """Weights of least norm among those with least ||D Phi_F - T||_F, exactly, as flint.fmpq_mat.

    Parameters
    ----------
    code : GradientCode
        With rational coefficients.
    arrived : bool array, shape (rows,)

    Returns
    -------
    flint.fmpq_mat, m x rows; zero where nothing arrived
    """
    taken = np.flatnonzero(arrived)
    weights = flint.fmpq_mat(code.reduction, len(arrived))
    if not taken.size:
        return weights
    received = code.encoding.rows(taken)
    matrix = received.rational()[0]
    target = wanted(code)
    basis = independent(residues(received))
    chosen = flint.fmpq_mat([matrix.tolist()[i] for i in basis])
    normal = chosen * chosen.transpose()
    projected = normal.solve(chosen * target.transpose())
    if len(basis) < len(taken):
        spread = normal.solve(chosen * matrix.transpose())
        projected = spread.transpose() * (spread * spread.transpose()).solve(projected)
    for w in range(code.reduction):
        for at, j in enumerate(taken):
            weights[w, int(j)] = projected[at, w]
    return weights


def wanted(code: GradientCode) -> Any:
    """T, the map from the entries of all pieces to those of the sum: m x (K m), rational."""
    m = code.reduction
    rows = [[int(c % m == w) for c in range(code.partitions * m)] for w in range(m)]
    return flint.fmpq_mat(rows)
