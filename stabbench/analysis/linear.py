"""Codes with a dense generator: conditions by duality, budgets by exact inverses."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget
from stabbench.analysis.conditioning import bad_sets
from stabbench.analysis.conditions import Conditions, conditions, merged, stored_generator
from stabbench.analysis.sides import exact_products, flat
from stabbench.analysis.stages import Stages, pieces, solved
from stabbench.analysis.structure import OVERFLOWED, Choice, Structure, Trial
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.quotients import acting, acting_coefficients
from stabbench.codes.base import Code

Array = np.ndarray[Any, np.dtype[Any]]


class Linear(Structure):
    """Replies are combinations of the unknown blocks, and all unknown blocks are wanted."""

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the rows that the decoder reads, see `conditions`."""
        storage = choice.precision.storage.name
        reads_all = _reads_spare(choice)
        parts = []
        for group, arrived in choice.system.batches(patterns):
            rows = arrived
            if not reads_all:
                rows = np.sort(_plan(choice, patterns[group]).rows, axis=1)
            found = _conditions(choice.code, storage, rows.tobytes(), rows.shape)
            parts.append((group, found))
        found = merged(parts)
        if not choice.decoder.may_fail:
            return found
        solved = _plan(choice, patterns).solved
        return dataclasses.replace(found, decodable=found.decodable & solved)

    def worst_sets(self, choice: Choice, limit: int) -> tuple[Array, bool]:
        """Sets with the largest condition numbers, by search or by visiting all."""
        code = choice.code
        if code.stragglers == 0:
            return np.zeros((0, 0), dtype=np.int64), True
        stored = stored_generator(code, choice.precision.storage.name)
        sets, exhaustive = bad_sets(stored, choice.system.owner, code.stragglers, limit)
        # the search is over all replies; conditions may be those of fewer
        arriving = np.sort(np.bincount(choice.system.owner))[: code.n - code.stragglers].sum()
        reads_all = _reads_spare(choice) or arriving == choice.system.reply.unknowns
        return sets, exhaustive and reads_all

    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The stages by the left inverse of the rows that the decoder reads."""
        (rows,) = _plan(choice, pattern[None]).rows
        shares, replies = trial.shares[0][rows], trial.replies[rows]
        if not all(np.isfinite(x).all() for x in (estimate, shares, replies)):
            return OVERFLOWED
        stored = stored_generator(choice.code, choice.precision.storage.name)
        received = stored.rounded(choice.precision)[rows]
        arrays = shares, trial.shares[1], replies, trial.blocks[0], estimate
        return linear_budget(received, *arrays, choice.system.target)


def linear_budget(
    received: Array,
    shares: Array,
    operand: Array,
    replies: Array,
    blocks: Array,
    estimate: Array,
    target: Coefficients | None = None,
) -> Budget | str:
    """Where the error of one decoding of combined blocks comes from.

    Parameters
    ----------
    received : array, shape (r, u)
        The reply map's rows that arrived, as stored, of rank u.
    shares : array, shape (r, L, columns)
        The rounded shares of those workers.
    operand : array, shape (columns, m)
    replies : array, shape (r, L, m)
        Their rounded replies.
    blocks : array, shape (k, L, columns)
        The data blocks, as stored.
    estimate : array, shape (k, L, m)
        What the decoder returned; finite.
    target : Coefficients, optional
        The blocks in terms of the u unknowns, where they are not these.

    Returns
    -------
    Budget or str
        Why there is none, see `solved`.

    Raises
    ------
    ZeroDivisionError
        If the rows have a rank below u.

    Examples
    --------
    >>> one = np.ones((1, 1, 1))
    >>> split = linear_budget(np.ones((1, 1)), one, one[0], one, one, one * 1.5)
    >>> split.encode, split.decode, split.total
    (0.0, 0.5, 0.5)
    """
    is_complex = any(map(np.iscomplexobj, (received, shares, operand, replies, estimate)))
    is_complex = is_complex or (target is not None and target.is_complex)
    wanted = None if target is None else acting_coefficients(target, is_complex)
    k, length, m = estimate.shape
    parts = (
        linear_stages((shares, operand, replies, blocks, estimate), piece, is_complex)
        for piece in pieces(length, k * m)
    )
    return solved(Budget, (acting(received, is_complex), is_complex), parts, length * m, wanted)


def linear_stages(arrays: tuple[Array, ...], piece: slice, is_complex: bool) -> Stages:
    """The vectors of some rows of every block; arrays as `linear_budget` takes them."""
    shares, operand, replies, blocks, estimate = arrays
    return Stages(
        encoded=exact_products(shares[:, piece], operand, is_complex),
        computed=flat(replies[:, piece], is_complex),
        estimate=flat(estimate[:, piece], is_complex),
        exact=exact_products(blocks[:, piece], operand, is_complex),
    )


def _reads_spare(choice: Choice) -> bool:
    """Whether the decoder reads all replies, not only as many as there are unknowns."""
    return choice.spare == "use" and choice.decoder.uses_spare


def _plan(choice: Choice, patterns: Array) -> Any:
    return choice.decoder.plan(choice.code, choice.system, patterns, choice.precision, choice.spare)


@functools.lru_cache(maxsize=32)
def _conditions(code: Code, storage: str, rows: bytes, shape: tuple[int, int]) -> Conditions:
    table = np.frombuffer(rows, dtype=np.int64).reshape(shape)
    target = code.system("matvec").target
    wanted = None if target is None else target.rounded("float64")
    return conditions(stored_generator(code, storage), table, wanted)
