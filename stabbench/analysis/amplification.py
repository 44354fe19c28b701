"""Amplification: how much rounding errors of unit size can grow on the way to the answer."""

from typing import Any

import numpy as np

from stabbench.arithmetic.dense import elimination_size
from stabbench.arithmetic.norms import frobenius_norm
from stabbench.arithmetic.scaling import shifted

Array = np.ndarray[Any, np.dtype[Any]]
BATCH_ENTRIES = 1 << 22


def amplification(decoding: Array, received: Array) -> Array:
    """a(F) = || |D_F| |Phi_F| ||_inf per pattern, for a wanted T = identity.

    Parameters
    ----------
    decoding : array, shape (P, k, r)
        Exact decoding operators D_F, rounded.
    received : array, shape (P, r, k)
        The rows Phi_F of the reply map.

    Returns
    -------
    float64 array, shape (P,); NaN where D_F is

    Examples
    --------
    >>> amplification(np.eye(2)[None], np.array([[[1.0, 0.0], [0.0, 1.0]]]))
    array([1.])
    """
    sizes = np.abs(received).sum(axis=2, dtype=np.float64)
    return _weighted(decoding, sizes)


def norm_amplification(decoding: Array, received: Array, wanted: float) -> Array:
    """|| |T D_F| |Phi_F| 1 ||_2 / ||T||_F per pattern, the bound of errors that norms measure.

    Where a(F) is the greatest entry of |D_F| |Phi_F| 1, this is their root mean square: at most
    a(F) for T = identity, and far less where few of many unknowns decide a(F).

    Parameters
    ----------
    decoding : array, shape (P, wanted, r)
    received : array, shape (P, r, k)
    wanted : float
        ||T||_F.

    Examples
    --------
    >>> float(norm_amplification(np.diag([1.0, 0.0])[None], np.eye(2)[None], 2**0.5)[0])
    0.70710678
    """
    sizes = np.abs(received).sum(axis=2, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        rows = np.matmul(np.abs(decoding), sizes[:, :, None])
        return np.asarray(frobenius_norm(rows) / wanted)


def rms_amplification(decoding: Array, received: Array, wanted: float) -> Array:
    """|| D_F diag(||Phi_r||_2) ||_F / ||T||_F per pattern: how far independent errors grow.

    Where a(F) lets the errors of all replies add up with the worst signs, this lets them add up as
    independent numbers of mean zero do, over unknowns of independent signs.

    Parameters
    ----------
    decoding : array, shape (P, wanted, r)
        Exact decoding operators T Phi_F^+, rounded.
    received : array, shape (P, r, k)
        The rows Phi_F of the reply map.
    wanted : float
        ||T||_F, the root of k where all unknowns are wanted.

    Returns
    -------
    float64 array, shape (P,); NaN where D_F is

    Examples
    --------
    >>> inverse, rows = np.array([[[1.0, 0.0], [-1.0, 1.0]]]), np.array([[[1.0, 0.0], [1.0, 1.0]]])
    >>> float(rms_amplification(inverse, rows, 2**0.5)[0])
    1.41421356
    """
    with np.errstate(over="ignore", invalid="ignore"):
        sizes = frobenius_norm(received[:, :, None, :])
        return np.asarray(frobenius_norm(decoding * sizes[:, None, :]) / wanted)


def elimination_amplification(
    decoding: Array, received: Array, exponents: Array | int = 0
) -> Array:
    """|| |Phi_F^-1| P |L| |U| ||_inf per pattern: what Gaussian elimination itself adds.

    Parameters
    ----------
    decoding : array, shape (P, k, k)
    received : array, shape (P, k, k)
    exponents : int array, shape (P, k), optional
        `decoding` is of the rows over these powers of two; elimination is of the rows themselves.

    Returns
    -------
    float64 array, shape (P,)

    Notes
    -----
    Higham, Accuracy and Stability of Numerical Algorithms (2002), theorem 9.4.
    """
    return _weighted(decoding, shifted(elimination_size(received), -np.asarray(exponents)))


def _weighted(decoding: Array, sizes: Array) -> Array:
    """Largest row sum of |D| diag(sizes), in batches."""
    worst = np.empty(len(decoding))
    step = max(1, BATCH_ENTRIES // max(1, decoding[0].size if len(decoding) else 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(decoding), step):
            part = slice(start, start + step)
            rows = np.matmul(np.abs(decoding[part]), sizes[part, :, None])
            worst[part] = rows[:, :, 0].max(axis=1)
    return worst
