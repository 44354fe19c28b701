"""What coded weights are an encoding of: against given weights, against any, and the nearest."""

from typing import Any

import numpy as np

from stabbench.arithmetic.pairs import Pair
from stabbench.codes.operators import Dense
from stabbench.training.layers.coding import Coding, real_blocks
from stabbench.training.layers.reference import product, relative_error

Array = np.ndarray[Any, np.dtype[Any]]
SINGLE_BITS = 24


def invariant(coding: Coding, shares: Array, weights: Array) -> float:
    """||W~ - C(W)|| / ||C(W)||: how far coded weights are from the encoding of given weights.

    Parameters
    ----------
    coding : Coding
    shares : array
        The coded weights W~.
    weights : array, shape (rows, columns)
        W, encoded here in storage precision.
    """
    encoded = coding.encode(weights)
    wide = np.result_type(shares.dtype, np.float64)
    with np.errstate(all="ignore"):
        difference = np.linalg.norm((shares.astype(wide) - encoded).ravel())
        value = float(difference / np.linalg.norm(encoded.astype(wide).ravel()))
    return value if np.isfinite(value) else np.inf


def distance(coding: Coding, shares: Array, rows: int) -> float:
    """||W~ - C(W)|| / ||W~|| of the nearest weights W: how far coded weights are from the code.

    Parameters
    ----------
    coding, shares
        As for `invariant`.
    rows : int
        Rows of the weights.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.decoders.registry import decoder
    >>> coding = Coding(sb.code("gaussian", 5, 2), decoder("solve"), precision("float64"))
    >>> shares = coding.encode(np.arange(12.0).reshape(6, 2))
    >>> distance(coding, shares, 6) < 1e-15, distance(coding, shares + np.eye(2), 6) > 1e-3
    (True, True)
    """
    return Nearest(coding, rows).distance(shares)


class Nearest:
    """The real weights whose encoding is nearest to given coded weights, of all workers.

    Least squares by the QR factorisation of the encoding as it is stored, in float64. With kappa
    the condition number of the encoding for all workers, that adds about kappa 2^-53 to the kappa
    units of their format that the rounding of the shares counts. Where shares have more than 24
    bits, one step of refinement with residuals of a pair follows, which leaves about kappa^2 2^-106
    where shares are an encoding up to rounding. Beyond kappa = 2^53 no digit is determined.

    Parameters
    ----------
    coding : Coding
    rows : int
        Rows of the weights.

    Notes
    -----
    Golub, Wilkinson, Note on the iterative refinement of least squares solution, Numer. Math. 9
    (1966): plain refinement serves where the residual is small, as it is here.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.decoders.registry import decoder
    >>> coding = Coding(sb.code("gaussian", 5, 2), decoder("solve"), precision("float64"))
    >>> weights = np.arange(12.0).reshape(6, 2)
    >>> hi, lo = Nearest(coding, 6).weights(coding.encode(weights))
    >>> bool(np.abs(hi + lo - weights).max() < 1e-14)
    True
    """

    def __init__(self, coding: Coding, rows: int) -> None:
        self.coding, self.rows = coding, rows

    def weights(self, shares: Array) -> Pair:
        """The weights as a pair (hi, lo) of float64 arrays.

        NaN where the shares are not finite, or do not determine weights because a coefficient of
        the code overflows or its columns depend on each other in storage precision.
        """
        return self._decoded(_pair(real_blocks(shares)))

    def product(self, shares: Array, operand: Array) -> Pair:
        """The weights times an operand, as a pair; by linearity decoded from products of shares."""
        real = real_blocks(shares)
        shape = (*real.shape[:2], operand.shape[1])
        hi, lo = product(real.reshape(-1, real.shape[2]), operand)
        return self._decoded((hi.reshape(shape), lo.reshape(shape)))

    def distance(self, shares: Array) -> float:
        """What the encoding of the weights leaves of the shares, relative to them."""
        coded = _pair(real_blocks(shares))
        with np.errstate(all="ignore"):
            size = np.linalg.norm(self._sides(coded[0])) or 1.0
            value = float(np.linalg.norm(self._fit(coded)[1]) / size)
        return value if np.isfinite(value) else np.inf

    def _decoded(self, coded: Pair) -> Pair:
        columns = coded[0].shape[2]
        hi, lo = (part.reshape(-1, columns)[: self.rows] for part in self._fit(coded)[0])
        return hi, lo

    def _sides(self, coded: Array) -> Array:
        """Coded blocks as right-hand sides of `Coding.factored`."""
        if isinstance(self.coding.encoder, Dense):
            return coded.reshape(len(coded), -1)
        return np.concatenate(self.coding.parts(coded, self.rows))

    def _fit(self, coded: Pair) -> tuple[Pair, Array]:
        """Blocks whose encoding is nearest to coded ones, and what it leaves of these."""
        from scipy.linalg import solve_triangular

        matrix, basis, factor = self.coding.factored(self.rows)
        hi, lo = map(self._sides, coded)
        zeros = np.zeros((matrix.shape[1], hi.shape[1]))
        if not (np.isfinite(hi).all() and np.diag(factor).all()):
            return (np.full_like(zeros, np.nan), zeros), np.full_like(hi, np.nan)
        along = basis.T @ hi
        first = solve_triangular(factor, along, check_finite=False)
        if self.coding.precision.storage.p <= SINGLE_BITS:
            return (first, zeros), hi - basis @ along
        there, rest = product(matrix, first)
        rest = (hi - there) + (lo - rest)
        along = basis.T @ rest
        second = solve_triangular(factor, along, check_finite=False)
        return (first, second), rest - basis @ along


def joined(value: Pair) -> Array:
    """The sum of a pair in the widest format of the platform."""
    return np.asarray(value[0].astype(np.longdouble) + value[1])


def departure(weights: Pair, shadow: Array) -> float:
    """||W - S|| / ||S||: how far decoded weights W are from others S; infinite if not finite.

    Examples
    --------
    >>> departure((np.array([[3.0]]), np.array([[0.0]])), np.array([[2.0]]))
    0.5
    """
    return relative_error(joined(weights), _pair(shadow))


def _pair(array: Array) -> Pair:
    hi = array.astype(np.float64)
    with np.errstate(invalid="ignore"):
        return hi, (array - hi).astype(np.float64)
