"""Condition numbers and amplification of one set of rows, at any magnitude whatever.

Where float64 and its squares cannot hold the numbers: balls, each matrix over a power of two.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.exact import inverse_balls
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.arithmetic.scaling import Wide, narrowed, normal, wide

Array = np.ndarray[Any, np.dtype[Any]]
BITS, LAST_BITS = 256, 1 << 15
PRECISE = 2.0**-50
ELIMINATION_BITS = 1 << 12


class Extended(NamedTuple):
    """Measures of one set of rows, see `Conditions`."""

    kappa_2: Wide
    kappa_F: Wide
    kappa_1: Wide
    amplification: Wide
    elimination: Wide
    rms_amplification: Wide


def extended(rows: Coefficients, target: Array | None = None) -> Extended | None:
    """Measures of a system of r replies in k unknowns, from its inverse in balls.

    Parameters
    ----------
    rows : Coefficients (r x k)
    target : array, shape (wanted, k), optional
        What is wanted of the unknowns; all of them unless given.

    Returns
    -------
    Extended or None
        None where the rows have a rank below k.

    Examples
    --------
    >>> graded = Coefficients.from_array(np.diag([1e300, 1e-300]))
    >>> found = extended(graded)
    >>> found.kappa_2.value, round(found.kappa_2.log10, 9), found.amplification.value
    (inf, 600.0, 1.0)
    """
    r, k = rows.shape
    rows, bits = normal(rows)[0], BITS
    while bits <= LAST_BITS:
        try:
            inverse = inverse_balls(rows, bits) if r >= k else None
        except ZeroDivisionError:
            inverse = None
        if inverse is None:
            return None
        with flint.ctx.workprec(bits):
            grown = _amplifications(rows, inverse, target, bits)
        if grown is not None:
            break
        bits *= 2
    else:
        raise ArithmeticError(f"amplification: not certified at {LAST_BITS} bits")
    (G, up), (D, down) = narrowed(rows.balls(BITS)), narrowed(inverse)
    norms = spectral_norm, frobenius_norm, column_norm
    first, second, third = (Wide(float(norm(G) * norm(D)), up + down) for norm in norms)
    return Extended(first, second, third, *grown)


def _amplifications(
    rows: Coefficients, inverse: Any, target: Array | None, bits: int
) -> tuple[Wide, Wide, Wide] | None:
    """Amplification, that of elimination and the root mean square; None if the bits do not do.

    A row of the inverse is right to its largest entry, which a small row of the system may meet.
    """
    r, k = rows.shape
    received = rows.balls(bits)
    decoder, size, whole = inverse, 1.0, k**0.5
    if target is not None:
        decoder = type(inverse)(target.tolist()) * inverse
        size, whole = float(np.abs(target).sum(axis=1).max()), float(np.linalg.norm(target))
    sums = [_sum(abs(x) for x in row) for row in received.tolist()]
    growth = [x / size for x in _row_sums(decoder, sums)]
    own = growth
    if r == k:
        own = [x / size for x in _row_sums(decoder, _elimination_sizes(rows))]
    squares = [_sum(abs(x) * abs(x) for x in row) for row in received.tolist()]
    energy = _sum(_weighted([abs(x) * abs(x) for x in row], squares) for row in decoder.tolist())
    most, worst = (max(x.mid() for x in found) for found in (growth, [*growth, *own]))
    precise = all(x.rad() <= PRECISE * most for x in [*growth, *own])
    if not (precise and energy.rad() <= PRECISE * energy.mid()):
        return None
    return wide(most), wide(worst), wide(energy.mid().sqrt() / whole)


def _row_sums(decoder: Any, sizes: list[Any]) -> list[Any]:
    """Row sums of |D| diag(sizes)."""
    return [_weighted([abs(x) for x in row], sizes) for row in decoder.tolist()]


def _weighted(values: list[Any], weights: list[Any]) -> Any:
    return _sum(x * y for x, y in zip(values, weights, strict=True))


def _sum(balls: Iterable[Any]) -> Any:
    return sum(balls, flint.arb(0))


def _elimination_sizes(matrix: Coefficients) -> list[Any]:
    """Row sums of P |L| |U| with the pivots of LAPACK, see `dense.elimination_size`."""
    with flint.ctx.workprec(ELIMINATION_BITS):
        A: list[list[Any]] = list(matrix.balls(ELIMINATION_BITS).tolist())
        k, order = len(A), list(range(len(A)))
        for j in range(k):
            sizes = [(abs(A[i][j].real) + abs(A[i][j].imag)).mid() for i in range(j, k)]
            best = j + max(range(k - j), key=lambda i: sizes[i])
            A[j], A[best], order[j], order[best] = A[best], A[j], order[best], order[j]
            for i in range(j + 1, k):
                factor = A[i][j] / A[j][j]
                rest = [x - factor * y for x, y in zip(A[i][j + 1 :], A[j][j + 1 :], strict=True)]
                A[i][j:] = [factor, *rest]
        upper = [_sum(abs(x) for x in A[j][j:]) for j in range(k)]
        sums = [upper[i] + _weighted([abs(x) for x in A[i][:i]], upper[:i]) for i in range(k)]
        return [sums[order.index(row)] for row in range(k)]
