"""Codes for matrix products: conditions of the map from block products, budgets of four stages."""

import functools
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget, StageBudget
from stabbench.analysis.conditions import Conditions, conditions, merged, stored_reply
from stabbench.analysis.sides import block_products, flat, share_products
from stabbench.analysis.stages import Stages, pieces, solved
from stabbench.analysis.structure import OVERFLOWED, Choice, Structure, Trial
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.quotients import acting_coefficients
from stabbench.codes.kronecker import Kronecker
from stabbench.codes.operators import Dense, Operator
from stabbench.codes.product import ProductSystem

Array = np.ndarray[Any, np.dtype[Any]]


class Product(Structure):
    """Replies are products of shares, linear in the unknown block products or sums of them.

    The reply map of Kronecker type is the exact product of the stored generators. Where block
    products share an unknown, the powers that made them do so are rounded apart: the reply map is
    then the ideal one, rounded once, and what the rounded generators do beside it is the stage
    ``approximation``.
    """

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the rows that the decoder reads."""
        parts = []
        reads_all = choice.spare == "use" and choice.decoder.uses_spare
        for group, arrived in choice.system.batches(patterns):
            rows = arrived
            if not reads_all:
                rows = np.sort(plan_of(choice, patterns[group]).rows, axis=1)
            storage = choice.precision.storage.name
            found = _conditions(
                choice.system.reply, choice.system.target, storage, rows.tobytes(), rows.shape
            )
            parts.append((group, found))
        return merged(parts)

    def coefficient_roundings(self, choice: Choice) -> float:
        """Of two factors and of the reply map, where the products of powers no longer align."""
        return 0.0 if isinstance(choice.system.reply, Kronecker) else 3**0.5

    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The stages by the left inverse of the reply map's rows that the decoder reads."""
        system = choice.system
        assert isinstance(system, ProductSystem)
        (rows,) = plan_of(choice, pattern[None]).rows
        pairs = system.pairs[rows]
        taken = [trial.shares[side][pairs[:, side]] for side in (0, 1)]
        replies = trial.replies[rows]
        if not all(np.isfinite(x).all() for x in (estimate, *taken, replies)):
            return OVERFLOWED
        storage = choice.precision.storage.name
        reply = stored_reply(system.reply, storage)
        shares = mixing(*system.encoders, system.pairs.tobytes(), storage)
        is_complex = any(map(np.iscomplexobj, (*taken, *trial.blocks, estimate)))
        is_complex = is_complex or reply.is_complex or shares.is_complex
        left, right = trial.blocks
        mixed = acting_coefficients(shares.rows(rows), is_complex)
        summed = acting_coefficients(sums(system), is_complex)

        def stages(piece: slice) -> Stages:
            products = block_products(left[:, piece], right, is_complex)
            return Stages(
                ideal=mixed * products,
                encoded=share_products(taken[0][:, piece], taken[1], is_complex),
                computed=flat(replies[:, piece], is_complex),
                estimate=flat(estimate[:, piece], is_complex),
                exact=summed * products,
            )

        count, length, m = estimate.shape
        target = system.target
        return solved(
            StageBudget,
            (acting_coefficients(reply.rows(rows), is_complex), is_complex),
            map(stages, pieces(length, count * m)),
            length * m,
            None if target is None else acting_coefficients(target, is_complex),
        )


def plan_of(choice: Choice, patterns: Array) -> Any:
    """The decoder's plan of patterns."""
    return choice.decoder.plan(choice.code, choice.system, patterns, choice.precision, choice.spare)


@functools.lru_cache(maxsize=32)
def _conditions(
    reply: Operator,
    target: Coefficients | None,
    storage: str,
    rows: bytes,
    shape: tuple[int, int],
) -> Conditions:
    table = np.frombuffer(rows, dtype=np.int64).reshape(shape)
    wanted = None if target is None else target.rounded("float64")
    return conditions(stored_reply(reply, storage), table, wanted)


@functools.lru_cache(maxsize=8)
def mixing(left: Operator, right: Operator, pairs: bytes, storage: str) -> Coefficients:
    """Kronecker products of the rows of two stored generators, exactly."""
    assert isinstance(left, Dense)
    assert isinstance(right, Dense)
    table = np.frombuffer(pairs, dtype=np.int64).reshape(-1, 2)
    one, two = left.coefficients, right.coefficients
    ideal = Coefficients(lambda bits: [], (len(table), one.shape[1] * two.shape[1]))
    return Kronecker(ideal, one, two, table).stored(storage)


def sums(system: ProductSystem) -> Coefficients:
    """The 0/1 matrix from block products to the wanted blocks C[a, b].

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> sums(code("matdot[p=2]", n=3, stragglers=0).product_system).rounded("float64")
    array([[1., 0., 0., 1.]])
    """
    m, p, n = system.layout
    left, right = (encoder.unknowns for encoder in system.encoders)
    matrix = np.zeros((m * n, left * right))
    for j in range(p):
        for a in range(m):
            for b in range(n):
                matrix[a * n + b, (j * m + a) * right + j * n + b] = 1.0
    return Coefficients.from_array(matrix)
