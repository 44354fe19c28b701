"""What first-order theory predicts of an error, stage by stage, before any data are decoded."""

import dataclasses
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditions import Conditions
from stabbench.analysis.structure import Choice, Structure
from stabbench.arithmetic.precision import Precision

Array = np.ndarray[Any, np.dtype[Any]]
ROUNDING = 1 / math.sqrt(3)
"""Root mean square, in unit round-offs, of errors that are uniform between minus and plus one."""
TRUSTED = 0.1
"""Largest growth times unit round-off of the decoder at which first-order theory holds."""


@dataclasses.dataclass(frozen=True)
class Prediction:
    """Relative errors of every pattern as theory predicts them, each of shape (P,).

    The size of one rounding, grown by the code: rounding errors are independent, of root mean
    square u / sqrt(3), and a sum of N terms collects sqrt((N + 1) / 2) of them. The bound lets the
    errors of all replies add up with the worst signs, by the entries of |D_F| |Phi_F| whose
    greatest row sum is a(F) and whose sums over the terms of a share hold the roundings of encoding
    already, taken in the norm in which errors are measured; what is expected lets them add up as
    independent numbers do, by the root-mean-square amplification.

    Attributes
    ----------
    bounds : dict of arrays
        By stage, ``approximation`` (rounded coefficients that exact decoding does not know),
        ``encode``, ``compute`` and ``decode``; the last acts on what the others made of the
        replies.
    expected : array
        Root of the sum of squares of the stages, by the root-mean-square amplification.
    trusted : bool array
        Where first-order theory of the decoder holds.
    """

    bounds: dict[str, Array]
    expected: Array
    trusted: Array

    @property
    def total(self) -> Array:
        """The sum of the bounds of all stages."""
        return np.asarray(sum(self.bounds.values()))

    def distrusted(self) -> "Prediction":
        """The same where rounding does not explain the error: of approximate codes, of noise."""
        return dataclasses.replace(self, trusted=np.zeros_like(self.trusted))

    def at(self, pattern: int) -> dict[str, float]:
        """The bounds of one pattern by stage and their sum, as a budget names them."""
        found = {name: float(values[pattern]) for name, values in self.bounds.items()}
        return found | {"total": float(self.total[pattern])}


def predict(
    choice: Choice, structure: Structure, found: Conditions, blocks: tuple[Array, ...]
) -> Prediction:
    """Predict the error of every pattern of a choice.

    Parameters
    ----------
    choice : Choice
        With a problem.
    structure : Structure
    found : Conditions
        Of the patterns.
    blocks : tuple of arrays
        The operands as stored, which say how many terms the workers add up.

    Returns
    -------
    Prediction

    Notes
    -----
    N. J. Higham, Accuracy and Stability of Numerical Algorithms (2002), chapters 3, 7 and 9; sums
    of independent rounding errors: N. J. Higham, T. Mary, SIAM J. Sci. Comput. 41 (2019) A2815.
    """
    task = choice.problem
    assert task is not None
    worked, encoders = task.summands(blocks), choice.system.encoders
    units = {
        "approximation": ROUNDING * choice.precision.unit * structure.coefficient_roundings(choice),
        "encode": task.degree * len(encoders) ** 0.5 * _sum_unit(choice.precision, 1),
        "compute": _sum_unit(choice.precision, worked) if worked else 0.0,
    }
    sums = [_sum_unit(choice.precision, encoder.summands) for encoder in encoders]
    typical = math.hypot(units["approximation"], task.degree * math.hypot(*sums), units["compute"])
    a, growth = found.amplification, getattr(found, choice.decoder.growth)
    own = choice.decoder.unit(choice.precision)
    bounds = {name: _grown(unit, found.norm_amplification) for name, unit in units.items()}
    received = 1 + np.asarray(sum(bounds.values()))
    bounds["decode"] = _grown(own, growth) * received
    with np.errstate(invalid="ignore", over="ignore"):
        excess = np.where(np.isfinite(a) & (a > 0), growth / np.where(a > 0, a, 1), np.inf)
        spread = _grown(typical, found.rms_amplification)
        decoded = _grown(own, found.rms_amplification) * excess * (1 + spread)
    return Prediction(bounds, np.hypot(spread, decoded), _grown(own, growth) < TRUSTED)


def _sum_unit(precision: Precision, terms: int) -> float:
    """Root mean square of the error of a sum in work arithmetic that is stored, of size 1."""
    work = float(np.finfo(precision.work).eps) / 2 * math.sqrt((terms + 1) / 2)
    if precision.storage.holds(precision.work):
        return ROUNDING * work
    return ROUNDING * math.hypot(work, precision.unit)


def _grown(size: float, growth: Array) -> Array:
    """Size times growth; nothing grows to nothing, even without limit."""
    return np.asarray(size * growth if size else np.zeros_like(growth))
