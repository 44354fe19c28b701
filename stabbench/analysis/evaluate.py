"""Codes whose workers apply a function to their share: conditions, and budgets of four stages."""

import math
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import rational
from stabbench.analysis.conditions import MOST_UNKNOWNS, Conditions, stored_reply
from stabbench.analysis.product import Product, plan_of, share_products
from stabbench.analysis.stages import StageBudget, Stages, acting_rational, stage_budget
from stabbench.analysis.structure import OVERFLOWED, Choice, Trial, beyond
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.duality import spectral_norm
from stabbench.arithmetic.inverses import column_norm, frobenius_norm
from stabbench.codes.operators import Dense
from stabbench.decoders.barycentric import BarycentricPlan
from stabbench.problems.evaluate import Evaluate

Array = np.ndarray[Any, np.dtype[Any]]
Rational = flint.fmpq_mat
CORNER = 6
"""Rows of every block on which budgets are computed."""


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

    def budget(self, choice: Choice, pattern: Array, trial: Trial) -> StageBudget | str:
        """The budget on a corner of every block; none for many unknowns."""
        if reason := beyond(choice.system.reply.unknowns, MOST_UNKNOWNS):
            return reason
        task = choice.problem
        assert isinstance(task, Evaluate)
        plan = plan_of(choice, pattern[None])
        (rows,) = plan.rows
        (estimate,) = plan.decode(trial.replies)
        share = trial.shares[0][rows][:, :CORNER]
        if not all(np.isfinite(x).all() for x in (estimate, share, trial.replies[rows])):
            return OVERFLOWED
        storage = choice.precision.storage.name
        encoder = choice.system.encoders[0]
        assert isinstance(encoder, Dense)
        generator = encoder.stored(storage)
        is_complex = generator.is_complex or any(map(np.iscomplexobj, (share, estimate)))
        blocks = trial.blocks[0][:, :CORNER]
        width = slice(CORNER) if task.function == "gram" else slice(None)
        corner = (slice(None), slice(CORNER), width)
        stages = Stages(
            ideal=exact_images(task, generator.rows(rows), blocks, is_complex),
            encoded=images(task, share, is_complex),
            computed=_flat(trial.replies[rows][corner], is_complex),
            estimate=_flat(estimate[corner], is_complex),
            exact=images(task, blocks, is_complex),
        )
        received, target = self._decoder(choice, plan, rows, is_complex)
        return stage_budget(received, target, stages)

    def _decoder(
        self, choice: Choice, plan: Any, rows: Array, is_complex: bool
    ) -> tuple[Rational, Rational | None]:
        """The matrices of exact decoding: of the reply map, or the decoder's own weights."""
        if choice.code.dense:
            reply = stored_reply(choice.system.reply, choice.precision.storage.name)
            assert choice.system.target is not None
            return (
                acting_rational(reply.rows(rows), is_complex),
                acting_rational(choice.system.target, is_complex),
            )
        assert isinstance(plan, BarycentricPlan)
        weights = acting_rational(Coefficients.from_array(plan.weights[0]), is_complex)
        scaled = [[x / sum(row[1:], start=row[0]) for x in row] for row in weights.tolist()]
        count = len(scaled[0])
        identity = Rational(count, count, [int(i == j) for i in range(count) for j in range(count)])
        return identity, Rational(scaled)


def _kappas(matrix: Array) -> tuple[float, float, float]:
    """Condition numbers of a decoding matrix, rows at most columns."""
    inverse = np.linalg.pinv(matrix)
    norms = (spectral_norm, frobenius_norm, column_norm)
    first, second, third = (float(norm(matrix) * norm(inverse)) for norm in norms)
    return first, second, third


def images(task: Evaluate, shares: Array, is_complex: bool) -> Rational:
    """F of every share without rounding, one row each; complex ones stacked."""
    if task.function == "gram":
        return share_products(shares, shares, is_complex)
    flat = rational(shares.reshape(len(shares), -1), is_complex)
    return powers(flat, task.degree, is_complex)


def exact_images(
    task: Evaluate, generator: Coefficients, blocks: Array, is_complex: bool
) -> Rational:
    """F of the exact combinations of blocks, one row each; complex ones stacked."""
    flat = rational(blocks.reshape(len(blocks), -1), is_complex)
    shares = acting_rational(generator, is_complex) * flat
    if task.function == "power":
        return powers(shares, task.degree, is_complex)
    length, columns = blocks.shape[1:]
    rows = shares.tolist()
    count = len(rows) // (1 + is_complex)
    parts: list[list[list[Any]]] = [[], []]
    for r in range(count):
        re = Rational(length, columns, rows[r])
        if not is_complex:
            parts[0].append((re * re.transpose()).entries())
            continue
        im = Rational(length, columns, rows[count + r])
        cross = re * im.transpose()
        parts[0].append((re * re.transpose() - im * im.transpose()).entries())
        parts[1].append((cross + cross.transpose()).entries())
    return Rational([row for part in parts[: 1 + is_complex] for row in part])


def powers(values: Rational, degree: int, is_complex: bool) -> Rational:
    """Entries to a power; of stacked matrices, the complex numbers that they stand for."""
    rows = values.tolist()
    if not is_complex:
        return Rational([[x**degree for x in row] for row in rows])
    half = len(rows) // 2
    re, im = [], []
    for row, other in zip(rows[:half], rows[half:], strict=True):
        pairs = [_complex_power(x, y, degree) for x, y in zip(row, other, strict=True)]
        re.append([a for a, _ in pairs])
        im.append([b for _, b in pairs])
    return Rational(re + im)


def _complex_power(x: Any, y: Any, degree: int) -> tuple[Any, Any]:
    a, b = x, y
    for _ in range(degree - 1):
        a, b = a * x - b * y, a * y + b * x
    return a, b


def _flat(array: Array, is_complex: bool) -> Rational:
    return rational(array.reshape(len(array), -1), is_complex)
