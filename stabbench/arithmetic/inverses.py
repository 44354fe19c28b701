"""Decoding operators of given survivor sets, and the condition numbers that follow from them.

All sets of a batch share one dual; those it cannot serve in float64 go to ball arithmetic.
"""

import dataclasses
from typing import Any

import flint
import numpy as np

from stabbench.arithmetic.balls import rounded
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.double_double import matmul, minus, plus
from stabbench.arithmetic.duality import LAST_BITS, Dual, ExactDual, dual
from stabbench.arithmetic.exact import inverse
from stabbench.arithmetic.extended import extended
from stabbench.arithmetic.norms import column_norm, frobenius_norm, row_norms, spectral_norm
from stabbench.arithmetic.pairs import Pair
from stabbench.arithmetic.scaling import normal, shifted

Array = np.ndarray[Any, np.dtype[Any]]
HEALTHY = 1e-6
HEALTHY_PAIRS = 1e-4
"""Least singular values of scaled lost rows that floats, and refinement in pairs, can serve."""
STEPS = 8
"""Steps of refinement; each gains a factor of about u / HEALTHY_PAIRS^2 = 1e-8."""
BATCH_ENTRIES = 1 << 22
PAIR_ENTRIES = 1 << 16
"""Entries of operators at once; pairs go through many passes and are kept in cache."""


@dataclasses.dataclass(frozen=True)
class DecodingOperators:
    """Pseudo-inverses of the generator's rows of P survivor sets.

    Attributes
    ----------
    D : float64 or complex128 array, shape (P, k, r)
        G_S^+ for each set S of r rows, every row accurate to about 1e-10 of its norm, or to 2^-60
        before its entries are rounded, at any condition number; NaN where the set does not decode.
    status : bool array, shape (P,)
        Whether the rows have rank k, decided exactly.
    """

    D: Array
    status: Array


def decoding_operators(
    generator: Coefficients, survivors: Array, precise: bool = False
) -> DecodingOperators:
    """Moore-Penrose inverses G_S^+ of chosen rows, right at any magnitude.

    Parameters
    ----------
    generator : Coefficients (n x k)
        Of rank k.
    survivors : int array, shape (P, r)
        Distinct row indices of each set; the columns of G_S^+ come in the same order.
    precise : bool
        Whether rows are to be accurate to 2^-60 of their norms, not to about 1e-10.

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
    Rows of H_C are scaled to length 1; where its smallest singular value is then below 1e-6 (1e-4
    for precise rows, which pairs of floats and steps of refinement serve) the set is computed with
    balls at rising precision, or shown to be dependent by exact rank.

    Examples
    --------
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> decoding_operators(parity, np.array([[0, 2]])).D[0]
    array([[ 1.,  0.],
           [-1.,  1.]])
    """
    even, exponent = normal(generator)
    basis = dual(even)
    n, k = basis.shape
    survivors = np.asarray(survivors, dtype=np.intp)
    P, r = survivors.shape
    D = np.full((P, k, r), np.nan, dtype=basis.inverse.dtype)
    status = np.zeros(P, dtype=bool)
    if r < k:
        return DecodingOperators(D, status)
    if basis.room < 0:
        return _one_by_one(generator, survivors, D, status)
    lost = complements(survivors, n)
    status[:] = ~basis.essential[lost].any(axis=1)
    form, entries = (_by_pairs, PAIR_ENTRIES) if precise else (_by_floats, BATCH_ENTRIES)
    tolerance = 2.0 ** (-60 if precise else -40)
    step = max(1, entries // (k * r))
    for start in range(0, P, step):
        part = np.arange(start, min(P, start + step))
        with np.errstate(all="ignore"):
            D[part], sound = form(basis, survivors[part], lost[part])
        for p in part[status[part] & ~sound]:
            balls = operator_by_balls(basis.exact, survivors[p], lost[p], tolerance)
            status[p] = balls is not None
            D[p] = np.nan if balls is None else balls
    D[~status] = np.nan
    return DecodingOperators(shifted(D, -exponent) if exponent else D, status)


def _one_by_one(
    generator: Coefficients, survivors: Array, D: Array, status: Array
) -> DecodingOperators:
    """Inverses without a dual, for rows of such different sizes that float64 cannot hold it."""
    for p, rows in enumerate(survivors):
        try:
            D[p], status[p] = inverse(generator.rows(rows)), True
        except ZeroDivisionError:
            continue
    return DecodingOperators(D, status)


def _by_floats(basis: Dual, S: Array, C: Array) -> tuple[Array, Array]:
    """Operators of sets S that lose C, shape (P, k, r), and which of them to trust."""
    length = _lengths(basis)[C][..., None]
    U, sigma, V = np.linalg.svd(basis.null[C] / length, full_matrices=False)
    X = U.conj().swapaxes(1, 2) @ (basis.inverse[C] / length)
    X = V.conj().swapaxes(1, 2) @ (X / sigma[..., None])
    D = (basis.inverse[S] - basis.null[S] @ X).conj().swapaxes(1, 2)
    return D, sigma.min(axis=1, initial=1) >= HEALTHY


def _by_pairs(basis: Dual, S: Array, C: Array) -> tuple[Array, Array]:
    """The same in pairs of floats: H_C^+ W_C = A^T Y with A A^T Y = W_C, A = H_C, by refinement.

    Complex numbers stand as 2 x 2 real blocks.
    """
    W, H = basis.pairs
    n, k = basis.shape
    scale = np.ldexp(1.0, -np.frexp(_lengths(basis))[1])
    if np.iscomplexobj(W[0]):
        W, H = _real_form(W), _real_form(H)
        scale = np.tile(scale, 2)
        S, C = np.concatenate([S, S + n], axis=1), np.concatenate([C, C + n], axis=1)
    scaled = scale[C][..., None]
    A, Y = ((x[0][C] * scaled, x[1][C] * scaled) for x in (H, W))
    AT = A[0].swapaxes(1, 2), A[1].swapaxes(1, 2)
    U, sigma, _ = np.linalg.svd(A[0], full_matrices=False)
    inverse = (U / sigma[:, None] ** 2) @ U.swapaxes(1, 2)
    gram, rest = matmul(A, AT), Y
    Y = np.zeros_like(Y[0]), np.zeros_like(Y[0])
    for _ in range(STEPS):
        change = inverse @ rest[0]
        Y = plus(Y, (change, np.zeros_like(change)))
        rest = plus(rest, minus(matmul(gram, (change, np.zeros_like(change)))))
    done = (np.abs(change) <= 2.0**-70 * np.linalg.norm(Y[0], axis=1, keepdims=True)).all((1, 2))
    lost = matmul((H[0][S], H[1][S]), matmul(AT, Y))
    kept = plus((W[0][S], W[1][S]), minus(lost))[0]
    if np.iscomplexobj(basis.inverse):
        half = kept.shape[1] // 2
        kept = kept[:, :half, :k] + 1j * kept[:, half:, :k]
    sound = done & (sigma.min(axis=1, initial=1) >= HEALTHY_PAIRS)
    return kept.conj().swapaxes(1, 2), sound & np.isfinite(kept).all(axis=(1, 2))


def _lengths(basis: Dual) -> Array:
    """Norms of the rows of H, 1 where a row is zero."""
    return np.where(basis.essential, 1.0, row_norms(basis.null))


def _real_form(pair: Pair) -> Pair:
    """Real matrices that multiply as the complex ones do."""
    hi, lo = (np.block([[x.real, -x.imag], [x.imag, x.real]]) for x in pair)
    return hi, lo


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
    generator = normal(generator)[0]
    k = generator.shape[1]
    kappa = np.full((3, len(survivors)), np.inf)
    basis = dual(generator)
    status = np.ones(len(survivors), dtype=bool)
    step = max(1, BATCH_ENTRIES // max(1, k * survivors.shape[1]))
    for start in range(0, len(survivors) if basis.room >= 0 else 0, step):
        part = survivors[start : start + step]
        found = decoding_operators(generator, part)
        status[start : start + step] = found.status
        at = start + np.flatnonzero(found.status)
        with np.errstate(over="ignore"):
            for row, norm in enumerate((spectral_norm, frobenius_norm, column_norm)):
                kappa[row, at] = norm(basis.generator[part[found.status]]) * norm(
                    found.D[found.status]
                )
    for p in np.flatnonzero(status & ~np.isfinite(kappa).all(axis=0)):
        measures = extended(generator.rows(survivors[p]))
        if measures is not None:
            kappa[:, p] = [number.value for number in measures[:3]]
    return kappa[0], kappa[1], kappa[2]


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


def operator_by_balls(
    exact: ExactDual, survivors: Array, lost: Array, tolerance: float = 2.0**-40
) -> Array | None:
    """G_S^+ (k x r) with balls at rising precision, each entry rounded once.

    Parameters
    ----------
    exact : ExactDual
    survivors, lost : int arrays
    tolerance : float
        The largest radius of a ball, in units of the norm of its row.

    Returns
    -------
    array or None
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
                size = row_norms(value.T)
                if (radius <= tolerance * size).all():
                    return value.conj().T
        bits *= 2
    return None
