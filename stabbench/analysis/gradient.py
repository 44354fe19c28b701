"""Gradient codes: condition numbers of their parts, amplification, decoding error and budget."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import Budget, StageBudget
from stabbench.analysis.conditions import Conditions
from stabbench.analysis.gradient_conditions import (
    exact_conditions,
    rms_amplification,
    rounded_products,
)
from stabbench.analysis.metrics import Statistic
from stabbench.analysis.sides import flat
from stabbench.analysis.stages import Decode, Stages, pieces, split
from stabbench.analysis.structure import OVERFLOWED, Choice, Structure, Trial
from stabbench.arithmetic import exact
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.arithmetic.pairs import to_pair
from stabbench.arithmetic.quotients import acting
from stabbench.codes.gradient.approximate import ApproximateCode
from stabbench.codes.gradient.base import GradientCode, Held
from stabbench.codes.gradient.kadhe import Kadhe
from stabbench.decoders.ideal import least_squares_weights, wanted
from stabbench.decoders.weights import exact_weights

Array = np.ndarray[Any, np.dtype[Any]]
Norms = tuple[Any, Any, Any]


class Gradient(Structure):
    """Replies are combinations of partial gradients, and only their sum is wanted."""

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the ideal code; the decoding matrices are those of its parts.

        The worst of the parts counts. Approximate codes have none; their decoding error, for the
        decoder's weights and for the best ones, is among the other measures.
        """
        code = choice.code
        assert isinstance(code, GradientCode)
        held = choice.system.reply
        assert isinstance(held, Held)
        if not np.isfinite(held.coefficients.rounded(choice.precision)).all():
            raise OverflowError(f"a coefficient of {code.spec} overflows {choice.precision.name}")
        arrived = code.arrived(patterns)
        if code.approximate:
            return _approximate(choice, code, arrived)
        return exact_conditions(code, arrived, choice.spare)

    def coefficient_roundings(self, choice: Choice) -> float:
        """One: the weights are those of the ideal coefficients."""
        return 1.0

    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The stages by the ideal weights; ``encode`` is the rounding of workers' combinations."""
        code = choice.code
        assert isinstance(code, GradientCode)
        (arrived,) = code.arrived(pattern[None])
        if not (np.isfinite(estimate).all() and np.isfinite(trial.replies[arrived]).all()):
            return OVERFLOWED
        (hi,), (lo,) = ideal_weights(choice, arrived[None])
        return gradient_budget(choice, (hi, lo), trial, estimate)

    def measures(
        self, choice: Choice, patterns: Array, trials: list[Trial], relative: Array
    ) -> dict[str, Any]:
        """The trade-off of exact codes; of approximate and rounded ones the arithmetic error."""
        code = choice.code
        assert isinstance(code, GradientCode)
        found: dict[str, Any] = {"load": code.load}
        if isinstance(code, Kadhe):
            found["minimum_distance"] = code.minimum_distance
        if not code.approximate:
            found["tradeoff"] = code.tradeoff
        if code.rounded:
            found["tolerance"] = code.allowed_error
        if not (code.approximate or code.rounded):
            return found
        plan = choice.decoder.plan(code, choice.system, patterns, choice.precision, choice.spare)
        ideal = ideal_products(choice, code, code.arrived(patterns))
        own = np.stack([arithmetic_errors(plan.decode(t.replies), ideal, t) for t in trials])
        return found | {"arithmetic_error": Statistic.of(own, patterns)}


def ideal_weights(choice: Choice, arrived: Array) -> tuple[Array, Array]:
    """What the decoder would compute without rounding, as pairs of shape (P, m, rows)."""
    code = choice.code
    assert isinstance(code, GradientCode)
    if not code.approximate:
        return exact_weights(code, arrived, choice.spare)
    pairs = [to_pair(_approximate_weights(choice, code, row)) for row in arrived]
    return np.stack([hi for hi, _ in pairs]), np.stack([lo for _, lo in pairs])


def _approximate_weights(choice: Choice, code: GradientCode, arrived: Array) -> Any:
    """The weights that the decoder of an approximate code means, as a rational matrix 1 x rows."""
    if choice.decoder.name == "closed-form" and isinstance(code, ApproximateCode):
        return _fractions(code.rational_form(arrived))
    return least_squares_weights(code, arrived)


def _fractions(weights: list[Fraction]) -> Any:
    return flint.fmpq_mat([[flint.fmpq(w.numerator, w.denominator) for w in weights]])


def ideal_products(choice: Choice, code: GradientCode, arrived: Array) -> tuple[Array, Array]:
    """D Phi_F of the ideal weights and coefficients, pairs (P, K)."""
    if code.rounded:
        return rounded_products(code, arrived, choice.spare)
    encoding = code.encoding.rational()[0]
    stacked = [(_approximate_weights(choice, code, row) * encoding).tolist()[0] for row in arrived]
    return to_pair(flint.fmpq_mat(stacked))


def arithmetic_errors(estimates: Array, ideal: tuple[Array, Array], trial: Trial) -> Array:
    """||estimate - D Phi_F z|| / ||sum|| per pattern, shape (P,); inf where z overflowed."""
    z = trial.blocks[0].reshape(len(trial.blocks[0]), -1).astype(np.float64)
    if not np.isfinite(z).all():
        return np.full(len(estimates), np.inf)
    hi, lo = exact.product(np.hstack(ideal), np.vstack([z, z]))
    size = exact.norm((trial.exact.hi, trial.exact.lo)) or 1.0
    flat = estimates.reshape(len(estimates), -1)
    return np.array(
        [
            exact.norm(exact.error(e, (h, low))) / size
            for e, h, low in zip(flat, hi, lo, strict=True)
        ]
    )


def _approximate(choice: Choice, code: GradientCode, arrived: Array) -> Conditions:
    """Amplification and decoding errors of the decoder's own weights."""
    count = len(arrived)
    encoding = code.encoding.rational()[0]
    target = wanted(code)
    growth, own, best, spread = np.empty((4, count))
    sizes = np.abs(code.encoding.rounded("float64")).sum(axis=1) / code.partitions
    for p, row in enumerate(arrived):
        weights = _approximate_weights(choice, code, row)
        optimal = least_squares_weights(code, row)
        rounded = to_pair(weights)[0]
        growth[p] = (np.abs(rounded) * sizes).sum(axis=1).max()
        spread[p] = rms_amplification(code, rounded[None])[0]
        own[p] = _size(weights * encoding - target)
        best[p] = _size(optimal * encoding - target)
    kappas = _rank_conditions(code.encoding.rounded("float64"), arrived)
    return Conditions(
        np.ones(count, dtype=bool),
        kappas[0],
        kappas[1],
        kappas[2],
        growth,
        growth,
        spread,
        others={"decoding_error": own, "least_decoding_error": best},
    )


def _rank_conditions(encoding: Array, arrived: Array) -> Array:
    """kappa_2, kappa_F and kappa_1 of A_F on its row space, shape (3, P), in float64."""
    kappas = np.full((3, len(arrived)), np.inf)
    for p, row in enumerate(arrived):
        matrix = encoding[row]
        if not matrix.any():
            continue
        inverse = np.linalg.pinv(matrix, rcond=1e-10)
        for at, norm in enumerate((spectral_norm, frobenius_norm, column_norm)):
            kappas[at, p] = norm(matrix) * norm(inverse)
    return kappas


def _size(matrix: Any) -> float:
    total = sum((x * x for x in matrix.entries()), flint.fmpq(0))
    return float(np.sqrt(float(flint.arb(total))))


def gradient_budget(
    choice: Choice, ideal: tuple[Array, Array], trial: Trial, estimate: Array
) -> StageBudget:
    """Norms of the stages of one decoding, relative to the exact sum.

    Parameters
    ----------
    choice : Choice
    ideal : pair of arrays, shape (m, rows)
        Weights without rounding; zero for replies that are not read.
    trial : Trial
    estimate : array, shape (m, L, 1)

    Returns
    -------
    StageBudget
        ``approximation`` is what the ideal weights leave of the error: that of approximate codes,
        and of coefficients rounded to storage.
    """
    decode, stages = gradient_stages(choice, ideal, trial, estimate)
    m, length, _ = estimate.shape
    split_up = split(StageBudget, decode, map(stages, pieces(length, m)))
    assert isinstance(split_up, StageBudget)
    return split_up


def gradient_stages(
    choice: Choice, ideal: tuple[Array, Array], trial: Trial, estimate: Array
) -> tuple[Decode, Callable[[slice], Stages]]:
    """The map of the ideal weights, and the vectors of some pieces of the sum.

    Parameters are those of `gradient_budget`.
    """
    held = choice.system.reply
    assert isinstance(held, Held)
    read = np.flatnonzero(((ideal[0] != 0) | (ideal[1] != 0)).any(axis=0))
    phi, replies = held.coefficients.rounded(choice.precision)[read], trial.replies[read]
    is_complex = any(map(np.iscomplexobj, (ideal[0], phi, replies, estimate)))
    hi, lo = (acting(part[:, read], is_complex) for part in ideal)
    weights, map_ = hi + lo, acting(phi, is_complex)
    m = held.reduction
    ones = acting(np.tile(np.eye(m), (1, held.partitions)), is_complex)

    def stages(piece: slice) -> Stages:
        blocks = trial.blocks[0][:, piece].swapaxes(1, 2)
        z = flat(blocks.reshape(held.unknowns, -1), is_complex)
        sent = flat(replies[:, piece], is_complex)
        return Stages(
            ideal=map_ * z,
            encoded=sent,
            computed=sent,
            estimate=flat(estimate[:, piece], is_complex),
            exact=ones * z,
        )

    return lambda sides: weights * sides, stages
