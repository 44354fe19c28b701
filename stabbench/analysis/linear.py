"""Codes with a dense generator: conditions by duality, budgets by exact inverses."""

import functools
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget, budget
from stabbench.analysis.conditions import Conditions, conditions, stored_generator
from stabbench.analysis.structure import BUDGET_ROWS, Choice, Structure, Trial
from stabbench.codes.base import LinearCode

Array = np.ndarray[Any, np.dtype[Any]]


class Linear(Structure):
    """Replies are combinations of the unknown blocks, and all unknown blocks are wanted."""

    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Conditions of the rows that the decoder reads, see `conditions`."""
        rows = choice.system.rows(patterns)
        if choice.spare == "drop" or not choice.decoder.uses_spare:
            rows = np.sort(_plan(choice, patterns).rows, axis=1)
        assert isinstance(choice.code, LinearCode)
        return _conditions(choice.code, choice.precision.storage.name, rows.tobytes(), rows.shape)

    def budget(self, choice: Choice, pattern: Array, trial: Trial) -> Budget | None:
        """The budget on the first rows of every block, see `budget`."""
        plan = _plan(choice, pattern[None])
        (rows,) = plan.rows
        (estimate,) = plan.decode(trial.replies)
        shares, replies = trial.shares[0][rows], trial.replies[rows]
        if not all(np.isfinite(x).all() for x in (estimate, shares, replies)):
            return None
        assert isinstance(choice.code, LinearCode)
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
def _conditions(code: LinearCode, storage: str, rows: bytes, shape: tuple[int, int]) -> Conditions:
    table = np.frombuffer(rows, dtype=np.int64).reshape(shape)
    return conditions(stored_generator(code, storage), table)
