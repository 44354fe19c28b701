"""What coded weights are an encoding of: against given weights, against any, and the nearest."""

from typing import Any

import numpy as np

from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.precision import precision
from stabbench.codes.operators import Dense
from stabbench.training.layers.coding import Coding
from stabbench.training.layers.reference import product

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
    """||W~ - C(decoded W~)|| / ||W~||, decoded by least squares from all workers in float64.

    The decoded weights are the ones whose encoding is nearest to W~, so this is the distance of
    the coded weights from the code; an orthonormal basis of the code makes it accurate whatever
    the condition of the code.

    Parameters
    ----------
    coding, shares
        As for `invariant`.
    rows : int
        Rows of the weights.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.decoders.registry import decoder
    >>> coding = Coding(sb.code("gaussian", 5, 2), decoder("solve"), precision("float64"))
    >>> shares = coding.encode(np.arange(12.0).reshape(6, 2))
    >>> distance(coding, shares, 6) < 1e-15, distance(coding, shares + np.eye(2), 6) > 1e-3
    (True, True)
    """
    with np.errstate(all="ignore"):
        if not np.isfinite(shares).all():
            return np.inf
    matrix, sent = encoding_matrix(coding, rows), received(coding, shares, rows)
    wide = np.result_type(shares.dtype, np.float64)
    if wide.kind == "f":
        wide = np.dtype(np.float64)
    basis, _ = np.linalg.qr(matrix.astype(wide))
    sent = sent.astype(wide)
    nearest = basis @ (basis.conj().T @ sent)
    return float(np.linalg.norm(sent - nearest) / np.linalg.norm(sent))


def encoding_matrix(coding: Coding, rows: int) -> Array:
    """The matrix that encodes blocks, or where codes shift rows of blocks the rows of weights."""
    if isinstance(coding.encoder, Dense):
        return coding.encoder.matrix(coding.precision)
    length = coding.length(rows)
    unknowns = coding.blocks * length
    blocks = np.eye(unknowns).reshape(coding.blocks, length, unknowns)
    coded = coding.encoder.apply(blocks, precision("float64"))
    return np.concatenate(coding.parts(coded, rows))


def received(coding: Coding, shares: Array, rows: int) -> Array:
    """Coded weights as `encoding_matrix` gives them, one row each."""
    if isinstance(coding.encoder, Dense):
        return shares.reshape(len(shares), -1)
    return np.concatenate(coding.parts(shares, rows))


class Nearest:
    """The real weights whose encoding is nearest to given coded weights, of all workers.

    Parameters
    ----------
    coding : Coding
    rows : int
        Rows of the weights.

    Examples
    --------
    >>> import stabbench as sb
    >>> from stabbench.decoders.registry import decoder
    >>> coding = Coding(sb.code("gaussian", 5, 2), decoder("solve"), precision("float64"))
    >>> weights = np.arange(12.0).reshape(6, 2)
    >>> hi, lo = Nearest(coding, 6).weights(coding.encode(weights))
    >>> bool(np.abs(hi + lo - weights).max() < 1e-14)
    True
    """

    def __init__(self, coding: Coding, rows: int) -> None:
        self.coding, self.rows = coding, rows
        self._matrix = _real(encoding_matrix(coding, rows)).astype(np.float64)
        self._inverse = np.linalg.pinv(self._matrix)

    def weights(self, shares: Array) -> Pair:
        """The weights as a pair (hi, lo) of float64 arrays; not finite where the shares are not.

        One step of refinement with residuals to 64 bits makes the pair more accurate than float64
        where the shares are an encoding up to rounding. For shares of at most 24 bits, beside
        whose rounding that of float64 is nothing, lo is zero.
        """
        sent = _real(received(self.coding, shares, self.rows))
        with np.errstate(all="ignore"):
            hi = self._inverse @ sent.astype(np.float64)
            lo = np.zeros_like(hi)
            if self.coding.precision.storage.p > SINGLE_BITS:
                first, rest = product(self._matrix, hi)
                lo = self._inverse @ np.asarray((sent - first) - rest, dtype=np.float64)
        shape = (-1, shares.shape[2])
        return hi.reshape(shape)[: self.rows], lo.reshape(shape)[: self.rows]

    def product(self, shares: Array, operand: Array) -> Pair:
        """The weights times an operand, as a pair."""
        hi, lo = self.weights(shares)
        wide = operand.astype(np.float64)
        with np.errstate(all="ignore"):
            if self.coding.precision.storage.p <= SINGLE_BITS:
                return hi @ wide, np.zeros((len(hi), wide.shape[1]))
            first, rest = product(hi, operand)
            return first, rest + lo @ wide


def _real(matrix: Array) -> Array:
    """Real over imaginary parts of a complex matrix."""
    return np.concatenate([matrix.real, matrix.imag]) if np.iscomplexobj(matrix) else matrix
