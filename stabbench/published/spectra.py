"""Condition numbers and squared norms of the decoding matrices of all survivor sets of one size."""

import dataclasses
import functools
import itertools
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditions import (
    MOST_UNKNOWNS,
    conditions,
    operators_of,
    stored_reply,
)
from stabbench.analysis.survivors import All
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.inverses import condition_numbers
from stabbench.arithmetic.norms import spectral_norm
from stabbench.codes.base import Code
from stabbench.codes.circulant import Circulant
from stabbench.codes.operators import Dense
from stabbench.codes.product import ProductSystem

Array = np.ndarray[Any, np.dtype[Any]]
MANY = 20_000
"""Survivor sets beyond which those of cyclic codes are taken that lack worker 0."""
BATCH = 1 << 14


@dataclasses.dataclass(frozen=True)
class Spectra:
    """Of every survivor set, or of one that stands for each by cyclic symmetry.

    Attributes
    ----------
    kappa : float64 array, shape (P,)
        kappa_2 of the rows that arrive.
    energy : float64 array, shape (P,)
        ||G_S^+||_F^2 / unknowns.
    """

    kappa: Array
    energy: Array


@functools.lru_cache(maxsize=64)
def spectra(code: Code, problem: str, survivors: int) -> Spectra:
    """All survivor sets of a size.

    Parameters
    ----------
    code : Code
        With a dense reply map.
    problem : str
    survivors : int

    Notes
    -----
    Reply maps with orthogonal columns of one length go by G_S^H G_S = c (1 - P_C), P the projector
    onto the complement of the columns and C the rows lost; others by the duality of `conditions`.
    Means over the sets that lack worker 0 are means over all sets, as every orbit of a rotation
    of the workers meets them in proportion to its size.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> float(spectra(code("rotation", 31, 2), "matvec", 29).kappa.max().round(3))
    54.964
    """
    if isinstance(code, Circulant):
        return _circulant(code, survivors)
    system = code.system(problem)
    reply = stored_reply(system.reply, "exact")
    matrix = reply.rounded("float64")
    tight = tight_bound(matrix)
    if tight is not None and code.n - survivors <= min(code.n - code.stragglers, survivors):
        return _of_frame(matrix, tight, _lost(code, survivors), system.owner)
    table = All(survivors=survivors).patterns(code.n, code.stragglers)
    kappas, sizes = np.empty((2, len(table))), np.empty(len(table))
    for group, rows in system.batches(table):
        kappas[:, group] = _kappas(reply, rows)
        for start in range(0, len(rows), BATCH // 8):
            part = slice(start, start + BATCH // 8)
            sizes[group[part]] = np.square(np.abs(matrix[rows[part]])).sum(axis=(1, 2))
    return Spectra(kappas[0], kappas[1] ** 2 / sizes / matrix.shape[1])


def _kappas(reply: Coefficients, rows: Array) -> tuple[Array, Array]:
    """kappa_2 and kappa_F of chosen rows."""
    if reply.shape[1] <= MOST_UNKNOWNS:
        return condition_numbers(reply, rows)[:2]
    found = conditions(reply, rows)
    return found.kappa_2, found.kappa_F


@functools.lru_cache(maxsize=16)
def share_energy(code: Code, survivors: int) -> Array:
    """What noise on both factors' shares becomes: of every set, shape (P,).

    Returns
    -------
    float64 array
        Sum over the replies r of ||column r of G_S^+||^2 (||a_r||^2 + ||b_r||^2) / unknowns, with
        a_r and b_r the rows of the two generators: noise on a share of A meets a share of B, whose
        entries have ||b_r||^2 times the power of B.
    """
    system = code.system("matmul")
    assert isinstance(system, ProductSystem)
    rows = [
        encoder.coefficients.rounded("float64")[system.pairs[:, side]]
        for side, encoder in enumerate(system.encoders)
        if isinstance(encoder, Dense)
    ]
    weights = sum(np.square(np.abs(part)).sum(axis=1) for part in rows)
    if np.ptp(weights) <= 1e-12 * weights.max():
        return np.asarray(weights[0] * spectra(code, "matmul", survivors).energy)
    reply = stored_reply(system.reply, "exact")
    table = All(survivors=survivors).patterns(code.n, code.stragglers)
    energy = np.empty(len(table))
    for group, arrived in system.batches(table):
        for start in range(0, len(arrived), BATCH // 8):
            part = arrived[start : start + BATCH // 8]
            columns = np.square(np.abs(operators_of(reply, part).D)).sum(axis=1)
            found = (columns * weights[part]).sum(axis=1) / reply.shape[1]
            energy[group[start : start + BATCH // 8]] = np.where(np.isnan(found), np.inf, found)
    return energy


def tight_bound(matrix: Array) -> float | None:
    """C where G^H G = c 1 to rounding, else None."""
    gram = matrix.conj().T @ matrix
    c = float(np.trace(gram).real) / len(gram)
    apart = float(np.abs(gram - c * np.eye(len(gram))).max())
    return c if apart <= 1e-13 * len(matrix) * c else None


def _lost(code: Code, survivors: int, many: int = MANY) -> Array:
    """Sets of workers lost, shape (P, count)."""
    count = code.n - survivors
    if count == 0:
        return np.empty((1, 0), dtype=np.int64)
    sets = itertools.combinations(range(code.n), count)
    cyclic = "cyclic" in code.groups or getattr(code, "nodes", "") == "roots-of-unity"
    if isinstance(code, Circulant):
        cyclic = code.order == code.n
    if cyclic and math.comb(code.n, count) > many:
        rest = itertools.combinations(range(1, code.n), count - 1)
        sets = ((0, *others) for others in rest)  # type: ignore[assignment]
    return np.array(list(sets), dtype=np.int64).reshape(-1, count)


def _of_frame(matrix: Array, c: float, lost: Array, owner: Array) -> Spectra:
    """Sets of a code with orthogonal columns, by the eigenvalues of P_C."""
    rows, k = matrix.shape
    if lost.shape[1] == 0:
        return Spectra(np.ones(1), np.full(1, 1 / c))
    projector = np.eye(rows) - matrix @ matrix.conj().T / c
    every = np.argsort(owner, kind="stable").reshape(int(owner.max()) + 1, -1)
    kappa, energy = np.empty(len(lost)), np.empty(len(lost))
    for start in range(0, len(lost), BATCH):
        part = slice(start, start + BATCH)
        C = every[lost[part]].reshape(len(lost[part]), -1)
        values = np.linalg.eigvalsh(projector[C[:, :, None], C[:, None, :]])
        with np.errstate(divide="ignore"):
            kappa[part] = 1 / np.sqrt(values[:, 0])
            energy[part] = (k - C.shape[1] + (1 / values).sum(axis=1)) / (c * k)
    return Spectra(kappa, energy)


def _circulant(code: Circulant, survivors: int) -> Spectra:
    """Frequency by frequency, each a polynomial code on roots of unity; rows of the sub-blocks.

    kappa is that of whole blocks; energy that of the unknowns, which are all sub-blocks but the
    last: (q-1)/q of the sum over the frequencies, since errors are alike in every sub-block.
    """
    q, k, n = code.order, code.blocks, code.n
    lost = _lost(code, survivors, many=1)
    sets = np.array([np.setdiff1d(np.arange(n), row) for row in lost])
    frequencies = np.arange(1, q)
    energy = np.zeros(len(sets))
    largest, inverse = np.zeros(len(sets)), np.zeros(len(sets))
    for m in frequencies:
        values = np.exp(2j * np.pi * (m * np.multiply.outer(sets, np.arange(k)) % q) / q)
        decoder = np.linalg.pinv(values)
        energy += np.square(np.abs(decoder)).sum(axis=(1, 2)) / (q * k)
        largest = np.maximum(largest, spectral_norm(values))
        inverse = np.maximum(inverse, spectral_norm(decoder))
    return Spectra(largest * inverse, energy)
