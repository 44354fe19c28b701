"""Conditions of exact gradient codes, and whether their ideal weights give the sum."""

import functools
from typing import Any

import numpy as np

from stabbench.analysis.conditions import Conditions
from stabbench.arithmetic import exact
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.inverses import decoding_operators
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.arithmetic.rank import first_independent
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.parts import Part
from stabbench.decoders.base import Spare
from stabbench.decoders.weights import assemble, distinct, exact_weights, families
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
UNTRUE = 1e-6
"""Distance of D Phi_F from T beside |D| |Phi_F| that no rounding of the weights explains."""


def exact_conditions(code: GradientCode, arrived: Array, spare: Spare = "use") -> Conditions:
    """Conditions of every pattern of a code that recovers the sum.

    Parameters
    ----------
    code : GradientCode
    arrived : bool array, shape (P, rows)
    spare : {"use", "drop"}

    Returns
    -------
    Conditions
        kappa of the worst part, and a(F) as the greatest over w of the sum over j of
        ``|D_F[j, w]| sum over i, u of |C[(i, u), j]| / K``. Of rounded codes `own_errors` too.

    Raises
    ------
    InputError
        If the weights do not give the sum: the code's parts contradict its coefficients.
    """
    count = len(arrived)
    kappas = np.zeros((3, count))
    kind = np.dtype(np.complex128 if code.is_complex else np.float64)

    def solver(part: Part, taken: Array) -> Array:
        return _part_operators(part, taken, spare)

    with np.errstate(invalid="ignore", over="ignore"):
        weights = assemble(code, arrived, solver, kind)
    decodable = np.asarray(~np.isnan(weights).any(axis=(1, 2)))
    for at, stage in code.stages(arrived):
        for parts in families(stage):
            subsets, each = distinct(parts, arrived[at])
            found = _kappas(parts[0], subsets, spare)[:, each].max(axis=1)
            kappas[:, at] = np.maximum(kappas[:, at], found)
    others: dict[str, Array] = {}
    if code.rounded:
        own = np.full(count, np.inf)
        own[decodable] = own_errors(code, arrived[decodable], spare)
        decodable &= own <= code.allowed_error
        others["decoding_error"] = own
    else:
        check_sum(code, weights, decodable, arrived)
    kappas[:, ~decodable] = np.inf
    sizes = np.abs(code.encoding.rounded("float64")).sum(axis=1) / code.partitions
    with np.errstate(invalid="ignore", over="ignore"):
        growth = (np.abs(weights) * sizes).sum(axis=2).max(axis=1)
    spread = rms_amplification(code, weights)
    growth[~decodable] = spread[~decodable] = np.inf
    first, second, third = kappas
    return Conditions(decodable, first, second, third, growth, growth, spread, others=others)


def rms_amplification(code: GradientCode, weights: Array) -> Array:
    """The root-mean-square amplification of weights, shape (P, m, rows), for independent pieces."""
    sizes = frobenius_norm(code.encoding.rounded("float64")[:, None, :])
    whole = (code.partitions * code.reduction) ** 0.5
    with np.errstate(invalid="ignore", over="ignore"):
        return np.asarray(frobenius_norm(weights * sizes) / whole)


def _part_operators(part: Part, taken: Array, spare: Spare) -> Array:
    """Ideal weights of subsets of a part in float64, to about 1e-10; NaN without full rank."""
    m = part.target.shape[0]
    target = part.target.rounded("float64")
    weights = np.full((len(taken), m, taken.shape[1]), np.nan, part.matrix.rounded("float64").dtype)
    kept = _kept(part, taken, spare)
    try:
        found = decoding_operators(part.matrix, kept)
    except InputError:
        return weights
    ok = found.status
    weights[ok] = 0
    at = (taken[:, None, :] == kept[:, :, None]).argmax(axis=2)[ok]
    values = np.matmul(target, found.D[ok])
    block = weights[ok]
    np.put_along_axis(block, np.repeat(at[:, None, :], m, axis=1), values, axis=2)
    weights[ok] = block
    return weights


def _kept(part: Part, taken: Array, spare: Spare) -> Array:
    if spare == "drop" and taken.shape[1] > part.matrix.shape[1]:
        return first_independent(part.matrix.rounded("float64"), taken)
    return taken


def _kappas(part: Part, subsets: Array, spare: Spare) -> Array:
    """kappa_2, kappa_F and kappa_1 of subsets of a part, shape (3, U)."""
    kappas = np.full((3, len(subsets)), np.inf)
    counts = subsets.sum(axis=1)
    for r in np.unique(counts[counts > 0]):
        at = np.flatnonzero(counts == r)
        taken = np.nonzero(subsets[at])[1].reshape(len(at), r)
        if part.lost is not None:
            if part.lost.shape[0] - r > part.lost.shape[1]:
                continue
            matrices, inverses = _lost_systems(part, taken)
            good = np.ones(len(at), dtype=bool)
        else:
            kept = _kept(part, taken, spare)
            try:
                found = decoding_operators(part.matrix, kept)
            except InputError:
                continue
            good = found.status
            matrices, inverses = part.matrix.rounded("float64")[kept[good]], found.D[good]
        with np.errstate(over="ignore"):
            for row, norm in enumerate((spectral_norm, frobenius_norm, column_norm)):
                kappas[row, at[good]] = norm(matrices) * norm(inverses)
    return kappas


def _lost_systems(part: Part, taken: Array) -> tuple[Array, Array]:
    """The stragglers' systems and their inverses, exactly where float64 does not tell them."""
    assert part.lost is not None
    c = part.lost.shape[0]
    lost = c - taken.shape[1]
    if lost == 0:
        one = np.ones((len(taken), 1, 1))
        return one, one
    absent = np.ones((len(taken), c), dtype=bool)
    np.put_along_axis(absent, taken, False, axis=1)
    rows = np.nonzero(absent)[1].reshape(len(taken), lost)
    matrices = part.lost.rounded("float64")[rows][:, :, :lost]
    sigma = np.linalg.svd(matrices, compute_uv=False)
    inverses = np.empty_like(matrices.swapaxes(1, 2))
    healthy = sigma[:, -1] > 1e-6 * sigma[:, 0]
    inverses[healthy] = np.linalg.inv(matrices[healthy])
    for p in np.flatnonzero(~healthy):
        inverses[p] = exact.inverse(matrices[p])
    return matrices, inverses


def check_sum(code: GradientCode, weights: Array, decodable: Array, arrived: Array) -> None:
    """Raise InputError unless |D Phi_F - T| is rounding beside |D| |Phi_F| for every pattern."""
    phi = code.encoding.rounded("float64")
    target = code.sum_map.rounded("float64")
    for p in np.flatnonzero(decodable):
        with np.errstate(over="ignore", invalid="ignore"):
            gap = np.abs(weights[p] @ phi - target).max()
            size = (np.abs(weights[p]) @ np.abs(phi)).max()
        if gap > UNTRUE * max(size, 1.0):
            replies = np.flatnonzero(arrived[p]).tolist()
            raise InputError(
                f"{code.spec}: the weights of replies {replies} miss the sum by {gap:.2g}: the "
                "parts contradict the coefficients, see stabbench check"
            )


def own_errors(code: GradientCode, arrived: Array, spare: Spare) -> Array:
    """||D Phi_F - T||_2 of the ideal weights: what a rounded matrix has lost, shape (P,).

    Weights and products are exact to about 2^-100 of the sizes that enter.
    """
    target = code.sum_map.rounded("float64")[0]
    hi, lo = rounded_products(code, arrived, spare)
    rest = (exact.error(target, pair) for pair in zip(hi, lo, strict=True))
    return np.array([exact.norm(row) for row in rest])


def rounded_products(code: GradientCode, arrived: Array, spare: Spare) -> tuple[Array, Array]:
    """D Phi_F of the ideal weights of a matrix of floats, pairs (P, K)."""
    weights = _ideal_pairs(code, code.encoding, arrived.tobytes(), arrived.shape, spare)
    phi = code.encoding.rounded("float64")
    return exact.product(np.hstack([part[:, 0] for part in weights]), np.vstack([phi, phi]))


@functools.lru_cache(maxsize=2)
def _ideal_pairs(
    code: GradientCode, encoding: Coefficients, arrived: bytes, shape: tuple[int, int], spare: Spare
) -> tuple[Array, Array]:
    """`exact_weights`, kept for the errors of the same patterns; an encoding is one reading."""
    return exact_weights(code, np.frombuffer(arrived, dtype=bool).reshape(shape), spare)
