"""Codes for matrix products: conditions of the map from block products, budgets of four stages."""

import functools
from typing import Any

import flint
import numpy as np

from stabbench.analysis.budget import dyadic, rational
from stabbench.analysis.conditions import (
    MOST_UNKNOWNS,
    Conditions,
    conditions,
    merged,
    stored_reply,
)
from stabbench.analysis.stages import StageBudget, Stages, acting_rational, stage_budget
from stabbench.analysis.structure import OVERFLOWED, Choice, Structure, Trial, beyond
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.integers import scaled, times
from stabbench.codes.kronecker import Kronecker
from stabbench.codes.operators import Dense, Operator
from stabbench.codes.product import ProductSystem

Array = np.ndarray[Any, np.dtype[Any]]
Rational = flint.fmpq_mat
CORNER = 6
"""Rows and columns of every block product on which budgets are computed."""


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

    def budget(self, choice: Choice, pattern: Array, trial: Trial) -> StageBudget | str:
        """The budget on a corner of every block product; none for many unknowns."""
        if reason := beyond(choice.system.reply.unknowns, MOST_UNKNOWNS):
            return reason
        plan = plan_of(choice, pattern[None])
        (rows,) = plan.rows
        (estimate,) = plan.decode(trial.replies)
        system = choice.system
        assert isinstance(system, ProductSystem)
        pairs = system.pairs[rows]
        taken = [trial.shares[side][pairs[:, side]] for side in (0, 1)]
        if not all(np.isfinite(x).all() for x in (estimate, *taken, trial.replies[rows])):
            return OVERFLOWED
        storage = choice.precision.storage.name
        reply = stored_reply(system.reply, storage)
        shares = mixing(*system.encoders, system.pairs.tobytes(), storage)
        is_complex = any(map(np.iscomplexobj, (*taken, *trial.blocks, estimate)))
        is_complex = is_complex or reply.is_complex or shares.is_complex
        left, right = (part[:, :CORNER] for part in trial.blocks)
        corner = (slice(None), slice(CORNER), slice(CORNER))
        products = block_products(left, right, is_complex)
        stages = Stages(
            ideal=acting_rational(shares.rows(rows), is_complex) * products,
            encoded=share_products(taken[0][:, :CORNER], taken[1][:, :CORNER], is_complex),
            computed=_flat(trial.replies[rows][corner], is_complex),
            estimate=_flat(estimate[corner], is_complex),
            exact=acting_rational(sums(system), is_complex) * products,
        )
        target = None if system.target is None else acting_rational(system.target, is_complex)
        return stage_budget(acting_rational(reply.rows(rows), is_complex), target, stages)


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


def block_products(left: Array, right: Array, is_complex: bool) -> Rational:
    """All products left[a] right[b]^T without rounding, one row per pair (a, b).

    Parameters
    ----------
    left, right : arrays, shapes (a, L, N) and (b, m, N)

    Returns
    -------
    fmpq_mat, a * b x L * m; complex ones stacked
    """
    one, rows = scaled(left.reshape(-1, left.shape[2]), 1)
    two, columns = scaled(right.reshape(-1, right.shape[2]).T.copy(), 0)
    exponents = (rows + columns).ravel().tolist()
    shape = (len(left), left.shape[1], len(right), right.shape[1])
    parts = []
    for part in times(one, two):
        values = np.empty(len(exponents), dtype=object)
        values[:] = [dyadic(int(z), e) for z, e in zip(part.entries(), exponents, strict=True)]
        ordered = values.reshape(shape).transpose(0, 2, 1, 3)
        parts.append(ordered.reshape(shape[0] * shape[2], -1))
    return stacked(parts, is_complex)


def share_products(left: Array, right: Array, is_complex: bool) -> Rational:
    """Products left[r] right[r]^T of pairs of shares without rounding, one row per pair."""
    rows = []
    for one, two in zip(left, right, strict=True):
        rows.append(block_products(one[None], two[None], is_complex).tolist())
    return Rational([row[part] for part in range(1 + is_complex) for row in rows])


def stacked(parts: list[Array], is_complex: bool) -> Rational:
    """Real part over imaginary part (zero where there is none) of a matrix of rationals."""
    if is_complex and len(parts) == 1:
        parts = [parts[0], np.full(parts[0].shape, flint.fmpq(0), dtype=object)]
    return Rational([row for part in parts for row in part.tolist()])


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


def _flat(array: Array, is_complex: bool) -> Rational:
    return rational(array.reshape(len(array), -1), is_complex)
