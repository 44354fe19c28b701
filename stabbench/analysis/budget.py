"""The error of one decoding split exactly into its stages: encode, compute, decode."""

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.integers import scaled, times

Array = np.ndarray[Any, np.dtype[Any]]
Rational = flint.fmpq_mat
STAGES = ("encode", "compute", "decode")


@dataclasses.dataclass(frozen=True)
class Budget:
    """Norms of the stage errors, relative to the norm of the exact result.

    Attributes
    ----------
    encode : float
        Exact decoding of exact products of the rounded shares, against the exact result.
    compute : float
        What the rounding of the workers' products adds.
    decode : float
        What the rounding of the decoder adds.
    total : float
        The relative error; the three vectors behind the norms add up to its vector exactly.
    """

    encode: float
    compute: float
    decode: float
    total: float

    @property
    def dominant(self) -> str:
        """The stage with the largest error."""
        return max(STAGES, key=lambda stage: float(getattr(self, stage)))


def budget(
    received: Array, shares: Array, operand: Array, replies: Array, blocks: Array, estimate: Array
) -> Budget:
    """Where the error of one decoding comes from, computed in rational arithmetic.

    Parameters
    ----------
    received : array, shape (r, k)
        The generator rows that arrived, as stored, of rank k.
    shares : array, shape (r, L, columns)
        The rounded shares of those workers.
    operand : array, shape (columns, m)
    replies : array, shape (r, L, m)
        Their rounded replies.
    blocks : array, shape (k, L, columns)
        The data blocks, as stored.
    estimate : array, shape (k, L, m)
        What the decoder returned; finite.

    Returns
    -------
    Budget

    Raises
    ------
    ZeroDivisionError
        If the rows have a rank below k.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> budget(np.ones((1, 1)), one, one[0], one, one, one * 1.5)
    Budget(encode=0.0, compute=0.0, decode=0.5, total=0.5)
    """
    stages, exact = stage_errors(received, shares, operand, replies, blocks, estimate)
    size = norm(exact) or 1.0
    total = stages["encode"] + stages["compute"] + stages["decode"]
    parts = {stage: norm(stages[stage]) / size for stage in STAGES}
    return Budget(**parts, total=norm(total) / size)


def stage_errors(
    received: Array, shares: Array, operand: Array, replies: Array, blocks: Array, estimate: Array
) -> tuple[dict[str, Rational], Rational]:
    """The error vectors of the stages and the exact result, as rational matrices.

    Parameters are those of `budget`; complex vectors are stacked as (real; imaginary). The exact
    decoder is the inverse of the rows as stored, the left inverse (G^H G)^-1 G^H if r > k.
    """
    is_complex = any(map(np.iscomplexobj, (received, shares, operand, replies, estimate)))
    r, k = received.shape
    exact = exact_products(blocks, operand, is_complex)
    products = exact_products(shares, operand, is_complex)
    arrived = rational(replies.reshape(r, -1), is_complex)
    width = products.ncols()
    sides = beside(products, arrived)
    decoded = exact_decode(acting(received, is_complex), sides)
    encoded = Rational([row[:width] for row in decoded.tolist()])
    computed = Rational([row[width:] for row in decoded.tolist()])
    return {
        "encode": encoded - exact,
        "compute": computed - encoded,
        "decode": rational(estimate.reshape(k, -1), is_complex) - computed,
    }, exact


def exact_decode(matrix: Rational, sides: Rational) -> Rational:
    """Solution, in the least-squares sense for more rows than columns, of a real system."""
    if matrix.nrows() == matrix.ncols():
        return matrix.solve(sides)
    adjoint = matrix.transpose()
    return (adjoint * matrix).solve(adjoint * sides)


def exact_products(stack: Array, operand: Array, is_complex: bool) -> Rational:
    """stack[i] @ operand for every i without rounding, one row of the result per i."""
    count, length, columns = stack.shape
    left, rows = scaled(stack.reshape(-1, columns), 1)
    right, cols = scaled(operand, 0)
    exponents = (rows + cols).ravel().tolist()
    parts = [
        [dyadic(int(z), e) for z, e in zip(part.entries(), exponents, strict=True)]
        for part in times(left, right)
    ]
    return _stacked(parts, count, length * operand.shape[1], is_complex)


def rational(rows: Array, is_complex: bool) -> Rational:
    """The exact entries; of complex rows the real parts over the imaginary parts."""
    parts = [rows.real, rows.imag] if np.iscomplexobj(rows) else [rows]
    entries = [[flint.fmpq(*x.as_integer_ratio()) for x in p.ravel().tolist()] for p in parts]
    return _stacked(entries, rows.shape[0], rows.shape[1], is_complex)


def acting(matrix: Array, is_complex: bool) -> Rational:
    """The real matrix that acts on stacked vectors as `matrix` does."""
    if not is_complex:
        return rational(matrix, False)
    turned = matrix.astype(np.result_type(matrix, np.complex64))
    left, right = rational(turned, True), 1j * turned
    return beside(left, rational(right, True))


def _stacked(parts: list[list[Any]], rows: int, columns: int, is_complex: bool) -> Rational:
    if is_complex and len(parts) == 1:
        parts = [parts[0], [flint.fmpq(0)] * len(parts[0])]
    return Rational(rows * len(parts), columns, [x for part in parts for x in part])


def beside(left: Rational, right: Rational) -> Rational:
    """The columns of both."""
    return Rational([[*a, *b] for a, b in zip(left.tolist(), right.tolist(), strict=True)])


def dyadic(mantissa: int, exponent: int) -> flint.fmpq:
    """Mantissa * 2^exponent."""
    if exponent >= 0:
        return flint.fmpq(mantissa << exponent)
    return flint.fmpq(mantissa, 1 << -exponent)


def norm(vector: Rational) -> float:
    """Euclidean norm of all entries."""
    return math.hypot(*_floats(vector.entries()))


def _floats(entries: Iterable[Any]) -> Iterable[float]:
    for entry in entries:
        try:
            yield int(entry.p) / int(entry.q)
        except OverflowError:
            yield math.inf
