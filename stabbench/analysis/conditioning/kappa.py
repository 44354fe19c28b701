"""kappa_2 and kappa_F of what is left of a generator when given rows are lost."""

from typing import Any, NamedTuple

import flint
import numpy as np

from stabbench.analysis.conditioning.downdate import largest_eigenvalues
from stabbench.arithmetic.balls import cholesky, rounded
from stabbench.arithmetic.duality import LAST_BITS, Dual, ExactDual
from stabbench.arithmetic.extended import extended
from stabbench.arithmetic.inverses import complements
from stabbench.arithmetic.norms import frobenius_norm, row_norms, spectral_norm

Array = np.ndarray[Any, np.dtype[Any]]
ACCURATE, ROUGH = 1e-6, 1e-10
FAINT = 1e-6
PRECISE = 2.0**-40
BATCH_ENTRIES = 1 << 20


class Kappa(NamedTuple):
    """Condition numbers of sets of rows, and their decimal logarithms, shape (P,) each.

    Attributes
    ----------
    spectral, frobenius : float64 arrays
        kappa_2 and kappa_F, infinite beyond float64 and where the rest has a rank below k.
    log10_spectral, log10_frobenius : float64 arrays
        Infinite only where the rest has a rank below k.
    """

    spectral: Array
    frobenius: Array
    log10_spectral: Array
    log10_frobenius: Array

    @property
    def decodes(self) -> Array:
        """Where the rest has rank k."""
        return np.isfinite(self.log10_spectral)

    def only(self, chosen: Array | slice) -> "Kappa":
        """Those of chosen sets."""
        return Kappa(*(values[chosen] for values in self))


def kappa_of_rest(dual: Dual, lost: Array, healthy: float = ACCURATE) -> Kappa:
    """kappa_2 and kappa_F of the rows that are left, right at any magnitude.

    Parameters
    ----------
    dual : Dual
    lost : int array, shape (P, c)
        Distinct rows lost.
    healthy : float
        Singular value of the rows of H_C, scaled to length 1, below which balls replace float64;
        the relative error is about 1e-16 over it.

    Returns
    -------
    Kappa

    Notes
    -----
    With R = L^-1 W_C, ||G_S^+||_2^2 is the largest eigenvalue of W^H W + R^H R, and ||G_S||_2^2
    that of G^H G - G_C^H G_C; both are found by `largest_eigenvalues`. R comes from balls where
    float64 does not suffice, all of it where its range does not.

    Examples
    --------
    >>> from stabbench.arithmetic.duality import dual
    >>> from stabbench.arithmetic.coefficients import Coefficients
    >>> parity = Coefficients.from_array(np.array([[1, 0], [0, 1], [1, 1]]))
    >>> kappa_of_rest(dual(parity), np.array([[2], [1]]))[0]
    array([1.       , 2.618034])
    """
    kappa = np.full((2, len(lost)), np.inf)
    decode = np.full(len(lost), dual.room < 0 and lost.shape[1] <= dual.shape[0] - dual.shape[1])
    close = 1e-13 if healthy >= ACCURATE else 1e-8
    n, k = dual.shape
    c = lost.shape[1]
    step = max(1, BATCH_ENTRIES // (max(c, 1) * (n + k)))
    for start in range(0, len(lost) if c <= n - k and dual.room >= 0 else 0, step):
        part = lost[start : start + step]
        R, decodes = _excess(dual, part, healthy)
        at = start + np.flatnonzero(decodes)
        decode[at] = True
        inverse = _inverse_norms(dual, R[decodes], close)
        rest = _generator_norms(dual, part[decodes], close)
        with np.errstate(over="ignore"):
            kappa[0, at] = inverse[0] * rest[0]
            kappa[1, at] = inverse[1] * rest[1]
    log10 = np.log10(kappa)
    for p in np.flatnonzero(decode & ~np.isfinite(kappa).all(axis=0)):
        found = extended(dual.exact.generator.rows(complements(lost[p : p + 1], n)[0]))
        if found is not None:
            kappa[:, p] = found.kappa_2.value, found.kappa_F.value
            log10[:, p] = found.kappa_2.log10, found.kappa_F.log10
    return Kappa(*kappa, *log10)


def _excess(dual: Dual, lost: Array, healthy: float) -> tuple[Array, Array]:
    """R = L^-1 W_C up to a unitary factor on the left, shape (P, c, k), and what decodes."""
    length = row_norms(dual.null)
    length[dual.essential] = 1
    decodes = np.asarray(~dual.essential[lost].any(axis=1))
    U, sigma, _ = np.linalg.svd(dual.null[lost] / length[lost][..., None], full_matrices=False)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        R = U.conj().swapaxes(1, 2) @ (dual.inverse[lost] / length[lost][..., None])
        R /= sigma[..., None]
    for p in np.flatnonzero(decodes & (sigma.min(axis=1, initial=1) < healthy)):
        balls = excess_by_balls(dual.exact, tuple(lost[p].tolist()))
        decodes[p] = balls is not None
        R[p] = np.nan if balls is None else balls
    return R, decodes


def excess_by_balls(exact: ExactDual, lost: tuple[int, ...]) -> Array | None:
    """R = L^-1 W_C (c x k) with P_C = L L^H, in balls at rising precision, rounded once.

    None if what is left has a rank below k.
    """
    bits, tested = 2 * exact.bits, False
    while bits <= LAST_BITS:
        P, W = exact.balls(bits)
        matrix: Any = flint.acb_mat if exact.generator.is_complex else flint.arb_mat
        with flint.ctx.workprec(bits):
            try:
                L = cholesky(matrix([[P[i][j] for j in lost] for i in lost]))
                value, radius = rounded(L.solve(matrix([W[i] for i in lost])))
                if frobenius_norm(radius) <= PRECISE * frobenius_norm(value):
                    return value
            except ZeroDivisionError:
                if not tested and not exact.independent(lost):
                    return None
                tested = True
        bits *= 2
    return None


def _inverse_norms(dual: Dual, R: Array, close: float) -> tuple[Array, Array]:
    """||G_S^+||_2 and ||G_S^+||_F."""
    vectors, values = dual.inverse_spectrum
    size = values[0]
    with np.errstate(over="ignore"):
        change = np.square(frobenius_norm(R) / size)
        held = np.isfinite(change)
        real = _real(np.where(held[:, None, None], R, 0) / size @ vectors)
        mu = np.repeat((values / size) ** 2, 2 if np.iscomplexobj(R) else 1)
        spectral = np.sqrt(largest_eigenvalues(mu, real, 1, close)) * size
        spectral[~held] = np.inf
        whole = np.linalg.norm(values / size) ** 2
        return spectral, np.sqrt(whole + change) * size


def _generator_norms(dual: Dual, lost: Array, close: float) -> tuple[Array, Array]:
    """||G_S||_2 and ||G_S||_F."""
    vectors, values = dual.generator_spectrum
    G, size = dual.generator / values[0], values[0]
    stay = np.ones((len(lost), len(G)), dtype=bool)
    np.put_along_axis(stay, lost, False, axis=1)
    left = stay @ (np.linalg.norm(G, axis=1) ** 2)
    mu = np.repeat((values / size) ** 2, 2 if np.iscomplexobj(G) else 1)
    spectral = np.sqrt(largest_eigenvalues(mu, _real(G[lost] @ vectors), -1, close))
    # what is left of large rows would be a difference of nearly equal numbers
    for p in np.flatnonzero(left < FAINT * left.max(initial=1)):
        spectral[p] = spectral_norm(G[stay[p]])
    return spectral * size, np.sqrt(left) * size


def _real(matrices: Array) -> Array:
    """Real forms [[Re, -Im], [Im, Re]] of a stack, with the columns of each number side by side."""
    if not np.iscomplexobj(matrices):
        return np.ascontiguousarray(matrices)
    P, c, k = matrices.shape
    real = np.empty((P, 2, c, k, 2))
    real[:, 0, :, :, 0] = real[:, 1, :, :, 1] = matrices.real
    real[:, 0, :, :, 1], real[:, 1, :, :, 0] = -matrices.imag, matrices.imag
    return real.reshape(P, 2 * c, 2 * k)
