"""Decoding operators of given survivor sets, and the condition numbers that follow from them.

All sets of a batch share one dual; those it cannot serve in float64 go to ball arithmetic.
"""

import dataclasses
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import (
    LAST_BITS,
    ExactDual,
    dual,
    rounded,
    spectral_norm,
)

Array = np.ndarray[Any, np.dtype[Any]]
HEALTHY = 1e-6
BATCH_ENTRIES = 1 << 22


@dataclasses.dataclass(frozen=True)
class DecodingOperators:
    """Pseudo-inverses of the generator's rows of P survivor sets.

    Attributes
    ----------
    D : float64 or complex128 array, shape (P, k, r)
        G_S^+ for each set S of r rows, every row accurate to about 1e-10 of its norm at any
        condition number; NaN where the set does not decode.
    status : bool array, shape (P,)
        Whether the rows have rank k, decided exactly.
    """

    D: Array
    status: Array


def decoding_operators(generator: Coefficients, survivors: Array) -> DecodingOperators:
    """Moore-Penrose inverses G_S^+ of chosen rows, right at any magnitude.

    Parameters
    ----------
    generator : Coefficients (n x k)
        Of rank k.
    survivors : int array, shape (P, r)
        Distinct row indices of each set; the columns of G_S^+ come in the same order.

    Returns
    -------
    DecodingOperators

    Raises
    ------
    InputError
        If the generator has no rank k.

    Notes
    -----
    With C the rows lost and W, H of `Dual`, G_S^+ is the adjoint of the rows S of W - H H_C^+ W_C.
    Rows of H_C are scaled to length 1; where its smallest singular value is then below 1e-6 the
    set is computed with balls at rising precision, or shown to be dependent by exact rank.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> decoding_operators(parity, np.array([[0, 2]])).D[0]
    array([[ 1.,  0.],
           [-1.,  1.]])
    """
    basis = dual(generator)
    n, k = basis.shape
    survivors = np.asarray(survivors, dtype=np.intp)
    P, r = survivors.shape
    D = np.full((P, k, r), np.nan, dtype=basis.inverse.dtype)
    status = np.zeros(P, dtype=bool)
    if r < k:
        return DecodingOperators(D, status)
    lost = complements(survivors, n)
    status[:] = ~basis.essential[lost].any(axis=1)
    length = np.linalg.norm(basis.null, axis=1)
    length[basis.essential] = 1
    step = max(1, BATCH_ENTRIES // (k * r))
    for start in range(0, P, step):
        part = np.arange(start, min(P, start + step))
        C, S = lost[part], survivors[part]
        U, sigma, V = np.linalg.svd(basis.null[C] / length[C][..., None], full_matrices=False)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            X = U.conj().swapaxes(1, 2) @ (basis.inverse[C] / length[C][..., None])
            X = V.conj().swapaxes(1, 2) @ (X / sigma[..., None])
            D[part] = (basis.inverse[S] - basis.null[S] @ X).conj().swapaxes(1, 2)
        for p in part[status[part] & (sigma.min(axis=1, initial=1) < HEALTHY)]:
            balls = operator_by_balls(basis.exact, survivors[p], lost[p])
            status[p] = balls is not None
            D[p] = np.nan if balls is None else balls
    D[~status] = np.nan
    return DecodingOperators(D, status)


def condition_numbers(generator: Coefficients, survivors: Array) -> tuple[Array, Array, Array]:
    """Condition numbers of the generator's rows of given survivor sets, at any magnitude.

    Parameters
    ----------
    generator : Coefficients (n x k)
    survivors : int array, shape (P, r)
        Distinct row indices of each set.

    Returns
    -------
    kappa_2, kappa_F, kappa_1 : float64 arrays, shape (P,)
        ||G_S|| ||G_S^+|| in each norm; infinite where the set does not decode.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> condition_numbers(parity, np.array([[0, 1], [0, 2]]))[0]
    array([1.       , 2.618034])
    """
    survivors = np.asarray(survivors, dtype=np.intp)
    k = generator.shape[1]
    kappa = np.full((3, len(survivors)), np.inf)
    G = dual(generator).generator
    step = max(1, BATCH_ENTRIES // max(1, k * survivors.shape[1]))
    for start in range(0, len(survivors), step):
        part = survivors[start : start + step]
        found = decoding_operators(generator, part)
        at = start + np.flatnonzero(found.status)
        with np.errstate(over="ignore"):
            for row, norm in enumerate((spectral_norm, frobenius_norm, column_norm)):
                kappa[row, at] = norm(G[part[found.status]]) * norm(found.D[found.status])
    return kappa[0], kappa[1], kappa[2]


def frobenius_norm(matrices: Array) -> Any:
    """Frobenius norms of a stack of matrices at any magnitude."""
    top = np.abs(matrices).max(axis=(-2, -1), initial=0, keepdims=True)
    scale = np.where(top > 0, top, 1.0)
    return np.linalg.norm(matrices / scale, axis=(-2, -1)) * scale[..., 0, 0]


def column_norm(matrices: Array) -> Any:
    """1-norms of a stack of matrices: the largest absolute column sum."""
    return np.abs(matrices).sum(axis=-2).max(axis=-1, initial=0)


def complements(subsets: Array, n: int) -> Array:
    """The elements of 0 .. n-1 that each subset lacks, ascending.

    Parameters
    ----------
    subsets : int array, shape (P, r)
    n : int

    Returns
    -------
    int array, shape (P, n - r)

    Examples
    --------
    >>> complements(np.array([[3, 0]]), 4)
    array([[1, 2]])
    """
    absent = np.ones((len(subsets), n), dtype=bool)
    np.put_along_axis(absent, subsets, False, axis=1)
    return np.nonzero(absent)[1].reshape(len(subsets), n - subsets.shape[1])


def operator_by_balls(exact: ExactDual, survivors: Array, lost: Array) -> Array | None:
    """G_S^+ (k x r) with balls at rising precision, each entry rounded once.

    None if the rows lost leave a rank below k.
    """
    C, S = [int(i) for i in lost], [int(i) for i in survivors]
    bits = 2 * exact.bits
    while bits <= LAST_BITS:
        P, W = exact.balls(bits)
        matrix: Any = flint.acb_mat if exact.generator.is_complex else flint.arb_mat
        with flint.ctx.workprec(bits):
            try:
                X = matrix([[P[i][j] for j in C] for i in C]).solve(matrix([W[i] for i in C]))
                Y = matrix([W[i] for i in S]) - matrix([[P[i][j] for j in C] for i in S]) * X
            except ZeroDivisionError:
                if not exact.independent(tuple(C)):
                    return None
            else:
                value, radius = rounded(Y)
                size = np.linalg.norm(value, axis=0)
                if (radius <= 2.0**-40 * size).all():
                    return value.conj().T
        bits *= 2
    return None
