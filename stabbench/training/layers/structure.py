"""Whether coded weights still are an encoding: against given weights, and against any weights."""

from typing import Any

import numpy as np

from stabbench.arithmetic.precision import precision
from stabbench.codes.operators import Dense
from stabbench.training.layers.coding import Coding

Array = np.ndarray[Any, np.dtype[Any]]


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
    if isinstance(coding.encoder, Dense):
        matrix = coding.encoder.matrix(coding.precision)
        received = shares.reshape(len(shares), -1)
    else:
        length = coding.length(rows)
        unknowns = coding.blocks * length
        blocks = np.eye(unknowns).reshape(coding.blocks, length, unknowns)
        coded = coding.encoder.apply(blocks, precision("float64"))
        matrix = np.concatenate(coding.parts(coded, rows))
        received = np.concatenate(coding.parts(shares, rows))
    wide = np.result_type(shares.dtype, np.float64)
    if wide.kind == "f":
        wide = np.dtype(np.float64)
    basis, _ = np.linalg.qr(matrix.astype(wide))
    received = received.astype(wide)
    nearest = basis @ (basis.conj().T @ received)
    return float(np.linalg.norm(received - nearest) / np.linalg.norm(received))
