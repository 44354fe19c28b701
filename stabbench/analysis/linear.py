"""Codes with a dense generator: conditions by duality, budgets by exact inverses."""

import dataclasses
import functools
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget, budget
from stabbench.analysis.conditioning import bad_sets
from stabbench.analysis.conditions import (
    MOST_UNKNOWNS,
    Conditions,
    conditions,
    merged,
    stored_generator,
)
from stabbench.analysis.structure import (
    BUDGET_ROWS,
    OVERFLOWED,
    Choice,
    Structure,
    Trial,
    beyond,
)
from stabbench.codes.base import Code

Array = np.ndarray[Any, np.dtype[Any]]


class Linear(Structure):
    """Replies are combinations of the unknown blocks, and all unknown blocks are wanted."""

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the rows that the decoder reads, see `conditions`."""
        storage = choice.precision.storage.name
        reads_all = choice.spare == "use" and choice.decoder.uses_spare
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
        return bad_sets(stored, choice.system.owner, code.stragglers, limit)

    def budget(self, choice: Choice, pattern: Array, trial: Trial) -> Budget | str:
        """The budget on the first rows of every block, see `budget`; none for many unknowns."""
        system = choice.system
        if reason := beyond(system.reply.unknowns, MOST_UNKNOWNS):
            return reason
        if system.target is not None:
            return "the blocks are not the unknowns of the reply map"
        plan = _plan(choice, pattern[None])
        (rows,) = plan.rows
        (estimate,) = plan.decode(trial.replies)
        shares, replies = trial.shares[0][rows], trial.replies[rows]
        if not all(np.isfinite(x).all() for x in (estimate, shares, replies)):
            return OVERFLOWED
        stored = stored_generator(choice.code, choice.precision.storage.name)
        top = slice(BUDGET_ROWS)
        return budget(
            stored.rounded(choice.precision)[rows],
            shares[:, top],
            trial.shares[1],
            replies[:, top],
            trial.blocks[0][:, top],
            estimate[:, top],
        )


def _plan(choice: Choice, patterns: Array) -> Any:
    return choice.decoder.plan(choice.code, choice.system, patterns, choice.precision, choice.spare)


@functools.lru_cache(maxsize=32)
def _conditions(code: Code, storage: str, rows: bytes, shape: tuple[int, int]) -> Conditions:
    table = np.frombuffer(rows, dtype=np.int64).reshape(shape)
    target = code.system("matvec").target
    wanted = None if target is None else target.rounded("float64")
    return conditions(stored_generator(code, storage), table, wanted)
