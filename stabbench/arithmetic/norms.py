"""Norms of stacks of matrices, without overflow or underflow of the squares.

Infinite where an entry is infinite or no number.
"""

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def spectral_norm(matrices: Array) -> Any:
    """2-norms of a stack of matrices at any magnitude; 0 for an empty matrix."""
    if 0 in matrices.shape[-2:]:
        return np.zeros(matrices.shape[:-2])[()]
    parts, scale = _fractions(matrices, (-2, -1))
    return _times(np.linalg.svd(parts, compute_uv=False)[..., 0], scale)


def frobenius_norm(matrices: Array) -> Any:
    """Frobenius norms of a stack of matrices at any magnitude."""
    parts, scale = _fractions(matrices, (-2, -1))
    return _times(np.linalg.norm(parts, axis=(-2, -1)), scale)


def column_norm(matrices: Array) -> Any:
    """1-norms of a stack of matrices: the largest absolute column sum."""
    return np.abs(matrices).sum(axis=-2).max(axis=-1, initial=0)


def row_norms(matrix: Array) -> Array:
    """2-norms of the rows of a matrix at any magnitude.

    Examples
    --------
    >>> row_norms(np.array([[3e-200, 4e-200], [0.0, np.inf]]))
    array([5.e-200,     inf])
    """
    parts, scale = _fractions(matrix, (-1,))
    return np.asarray(_times(np.linalg.norm(parts, axis=-1), scale))


def _fractions(matrices: Array, axes: tuple[int, ...]) -> tuple[Array, Array]:
    """Matrices or rows over their largest entries, zero where one is infinite, and these."""
    top = np.abs(matrices).max(axis=axes, initial=0, keepdims=True)
    finite = np.isfinite(top)
    scale = np.where((top > 0) & finite, top, 1.0)
    parts = np.where(finite, matrices, 0) if not finite.all() else matrices
    if np.iscomplexobj(parts):  # division of complex numbers by subnormal ones would overflow
        parts = parts.real / scale + 1j * (parts.imag / scale)
    else:
        parts = parts / scale
    return parts, np.squeeze(np.where(finite, scale, np.inf), axis=axes)


def _times(norms: Array, scale: Array) -> Any:
    with np.errstate(over="ignore", invalid="ignore"):
        return np.where(np.isinf(scale), np.inf, norms * scale)[()]
