"""Codes whose workers apply a function to their share: conditions, and budgets of four stages."""

import math
from collections.abc import Callable
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import Budget, StageBudget
from stabbench.analysis.conditions import Conditions, stored_reply
from stabbench.analysis.product import Product, plan_of
from stabbench.analysis.sides import flat, rows_of, share_products
from stabbench.analysis.stages import Stages, pieces, solved, split
from stabbench.analysis.structure import OVERFLOWED, Choice, Trial
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import Integers, times
from stabbench.arithmetic.norms import column_norm, frobenius_norm, spectral_norm
from stabbench.arithmetic.quotients import Quotient, acting_coefficients, integer_matrix
from stabbench.codes.operators import Dense
from stabbench.decoders.barycentric import BarycentricPlan
from stabbench.problems.evaluate import Evaluate

Array = np.ndarray[Any, np.dtype[Any]]


class Function(Product):
    """Replies are f of combinations of blocks; wanted are the values of f at the blocks.

    A code with a reply map has the coefficients of f(u(z)) as unknowns. Berrut's code has none:
    its conditions are those of the decoding matrices themselves.
    """

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the reply map, or of the decoding matrices where there is none."""
        if choice.code.dense:
            return super().conditions(choice, patterns)
        parts = [plan_of(choice, row[None]).operator()[0] for row in patterns]
        kind = np.complex128 if np.iscomplexobj(parts[0]) else np.float64
        matrices = [part.astype(kind) for part in parts]
        kappa = np.array([_kappas(matrix) for matrix in matrices])
        growth = np.array([np.abs(matrix).sum(axis=1).max() for matrix in matrices])
        decodable = np.ones(len(patterns), dtype=bool)
        spread = np.array([frobenius_norm(matrix) / len(matrix) ** 0.5 for matrix in matrices])
        first, second, third = kappa.T
        return Conditions(decodable, first, second, third, growth, growth, spread)

    def coefficient_roundings(self, choice: Choice) -> float:
        """Of the generator, by the degree of f, and of the reply map."""
        assert choice.problem is not None
        return math.hypot(choice.problem.degree, 1)

    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The stages by the left inverse of the reply map, or by the decoder's own weights."""
        task = choice.problem
        assert isinstance(task, Evaluate)
        plan = plan_of(choice, pattern[None])
        (rows,) = plan.rows
        share, replies = trial.shares[0][rows], trial.replies[rows]
        if not all(np.isfinite(x).all() for x in (estimate, share, replies)):
            return OVERFLOWED
        encoder = choice.system.encoders[0]
        assert isinstance(encoder, Dense)
        generator = encoder.stored(choice.precision.storage.name).rows(rows)
        is_complex = generator.is_complex or any(map(np.iscomplexobj, (share, estimate)))
        (blocks,) = trial.blocks
        ideal = exact_images(task, generator, blocks, is_complex)

        def stages(piece: slice) -> Stages:
            return Stages(
                ideal=ideal(piece),
                encoded=images(task, share, piece, is_complex),
                computed=flat(replies[:, piece], is_complex),
                estimate=flat(estimate[:, piece], is_complex),
                exact=images(task, blocks, piece, is_complex),
            )

        count, length, m = estimate.shape
        parts = map(stages, pieces(length, count * m))
        if not choice.code.dense:
            assert isinstance(plan, BarycentricPlan)
            weights = normalised(plan.weights[0], is_complex)
            return split(StageBudget, lambda sides: weights * sides, parts)
        reply = stored_reply(choice.system.reply, choice.precision.storage.name)
        assert choice.system.target is not None
        target = acting_coefficients(choice.system.target, is_complex)
        received = acting_coefficients(reply.rows(rows), is_complex), is_complex
        return solved(StageBudget, received, parts, length * m, target)


def normalised(weights: Array, is_complex: bool) -> Quotient:
    """Barycentric weights over their exact sums, as a real matrix that acts on stacked vectors."""
    rows = acting_coefficients(Coefficients.from_array(weights), is_complex).rational().tolist()
    return Quotient.ratio(
        flint.fmpq_mat([[x / sum(row[1:], start=row[0]) for x in row] for row in rows])
    )


def _kappas(matrix: Array) -> tuple[float, float, float]:
    """Condition numbers of a decoding matrix, rows at most columns."""
    inverse = np.linalg.pinv(matrix)
    norms = (spectral_norm, frobenius_norm, column_norm)
    first, second, third = (float(norm(matrix) * norm(inverse)) for norm in norms)
    return first, second, third


def images(task: Evaluate, shares: Array, piece: slice, is_complex: bool) -> Quotient:
    """Some rows of f of every share without rounding, one row each; complex ones stacked."""
    if task.function == "gram":
        return share_products(shares[:, piece], shares, is_complex)
    return powers(flat(shares[:, piece], is_complex), task.degree, is_complex)


def exact_images(
    task: Evaluate, generator: Coefficients, blocks: Array, is_complex: bool
) -> Callable[[slice], Quotient]:
    """The same of the exact combinations of blocks, whose numbers are longer than floats."""
    matrix = acting_coefficients(generator, is_complex)
    if task.function == "power":
        return lambda piece: powers(
            matrix * flat(blocks[:, piece], is_complex), task.degree, is_complex
        )
    shares = matrix * flat(blocks, is_complex)
    depth, (_, length, columns) = 1 + is_complex, blocks.shape
    entries = shares.entries().reshape(depth, -1, length, columns).swapaxes(0, 1)
    turned = [_integers(share.swapaxes(1, 2)) for share in entries]

    def gram(piece: slice) -> Quotient:
        found = [
            times(_integers(share[:, piece]), right)
            for share, right in zip(entries, turned, strict=True)
        ]
        whole = rows_of([(one, 0) for one in found], is_complex)
        return Quotient(whole.whole, shares.over**2)

    return gram


def _integers(parts: Array) -> Integers:
    """Real and imaginary part of a matrix of integers."""
    return tuple(map(integer_matrix, parts))


def powers(values: Quotient, degree: int, is_complex: bool) -> Quotient:
    """Entries to a power; of stacked matrices, the complex numbers that they stand for."""
    entries = values.entries().reshape(1 + is_complex, -1)
    re, im = entries[0], entries[-1]
    found = entries
    for _ in range(degree - 1):
        if is_complex:
            found = np.stack([found[0] * re - found[1] * im, found[0] * im + found[1] * re])
        else:
            found = found * entries
    return Quotient(integer_matrix(found.reshape(values.shape)), values.over**degree)
