"""The error budget of codes whose workers compute products or functions of shares.

The four stages of one decoding in rational arithmetic; codes with plain combinations: `budget`.
"""

import dataclasses
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import Budget, beside, exact_decode, norm
from stabbench.arithmetic.coefficients import Coefficients

Array = np.ndarray[Any, np.dtype[Any]]
Rational = flint.fmpq_mat
TARGET_BITS = 400


@dataclasses.dataclass(frozen=True)
class StageBudget(Budget):
    """A budget with a fourth stage.

    Attributes
    ----------
    approximation : float
        Exact decoding of exact replies to exact shares, against the exact result: the error of
        approximate codes, and of rounded coefficients whose products no longer align.
    """

    approximation: float = 0.0


@dataclasses.dataclass(frozen=True)
class Stages:
    """Vectors of one decoding, complex ones as real over imaginary parts, one column each reply.

    Attributes
    ----------
    ideal, encoded, computed : fmpq_mat
        Exact replies to exact shares, exact replies to the rounded shares, the rounded replies.
    estimate, exact : fmpq_mat
        What the decoder returned, and the exact result.
    """

    ideal: Rational
    encoded: Rational
    computed: Rational
    estimate: Rational
    exact: Rational


def stage_vectors(received: Rational, target: Rational | None, stages: Stages) -> dict[str, Any]:
    """Error vectors of the stages, which add up to the error exactly.

    Parameters
    ----------
    received : fmpq_mat, r x k
        The reply map's rows as stored.
    target : fmpq_mat, optional
        What is wanted of the unknowns.
    stages : Stages

    Raises
    ------
    ZeroDivisionError
        If the rows have a rank below k.
    """
    width = stages.ideal.ncols()
    sides = beside(beside(stages.ideal, stages.encoded), stages.computed)
    decoded = exact_decode(received, sides)
    if target is not None:
        decoded = target * decoded
    rows = decoded.tolist()
    ideal, encoded, computed = (
        Rational([row[at : at + width] for row in rows]) for at in (0, width, 2 * width)
    )
    return {
        "approximation": ideal - stages.exact,
        "encode": encoded - ideal,
        "compute": computed - encoded,
        "decode": stages.estimate - computed,
    }


def stage_budget(received: Rational, target: Rational | None, stages: Stages) -> StageBudget:
    """Norms of the stages relative to the exact result, see `stage_vectors`."""
    vectors = stage_vectors(received, target, stages)
    size = norm(stages.exact) or 1.0
    total = sum(vectors.values(), start=Rational(*_shape(stages.exact)))
    parts = {name: norm(vector) / size for name, vector in vectors.items()}
    return StageBudget(**parts, total=norm(total) / size)


def acting_rational(coefficients: Coefficients, is_complex: bool) -> Rational:
    """The real matrix that acts on stacked vectors; balls give their midpoints at 400 bits."""
    if coefficients.is_rational:
        re, im = coefficients.rational()
    else:
        rows = coefficients.balls(TARGET_BITS).tolist()
        re = Rational([[x.real.mid().fmpq() for x in row] for row in rows])
        im = None
        if coefficients.is_complex:
            im = Rational([[x.imag.mid().fmpq() for x in row] for row in rows])
    if not is_complex:
        return re
    if im is None:
        im = Rational(*_shape(re))
    top = [[*a, *b] for a, b in zip(re.tolist(), (-im).tolist(), strict=True)]
    bottom = [[*b, *a] for a, b in zip(re.tolist(), im.tolist(), strict=True)]
    return Rational(top + bottom)


def _shape(matrix: Rational) -> tuple[int, int]:
    return matrix.nrows(), matrix.ncols()
