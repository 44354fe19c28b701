"""What an analysis must know of a structure of codes: its conditions and its error budget."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from stabbench.analysis.budget import Budget
from stabbench.analysis.conditions import Conditions
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.decoders.base import Decoder, Spare
from stabbench.problems.base import Exact, Problem

Array = np.ndarray[Any, np.dtype[Any]]
OVERFLOWED = "a share, reply or estimate is not finite"
"""Why there is no budget where a number that enters it has overflowed."""


@dataclasses.dataclass(frozen=True)
class Choice:
    """A code with its system, and how its replies are decoded."""

    code: Code
    system: System
    decoder: Decoder
    precision: Precision
    spare: Spare
    problem: Problem | None = None


@dataclasses.dataclass(frozen=True)
class Trial:
    """One set of operands, encoded and computed once for all patterns.

    Attributes
    ----------
    blocks : tuple of arrays
        The operands as stored, cut into blocks where they are coded.
    shares : tuple of arrays
        What the workers were sent.
    replies : array, shape (rows, L, m)
    exact : Exact
        The wanted result, shape (wanted, L, m).
    seconds : dict
        Wall time of ``encode`` and ``compute``.
    """

    blocks: tuple[Array, ...]
    shares: tuple[Array, ...]
    replies: Array
    exact: Exact
    seconds: dict[str, float]


class Structure(ABC):
    """One kind of reply map, such as dense linear or block Toeplitz."""

    @abstractmethod
    def conditions(self, choice: Choice, patterns: Array) -> Conditions:
        """Measures of every pattern for the coefficients as the precision stores them.

        Raises
        ------
        OverflowError
            If a coefficient overflows in the storage format.
        """

    @abstractmethod
    def budget(self, choice: Choice, pattern: Array, trial: Trial, estimate: Array) -> Budget | str:
        """The error budget of one decoding, or why there is none.

        Parameters
        ----------
        choice : Choice
        pattern : int array, shape (n,)
        trial : Trial
        estimate : array, shape (wanted, L, m)
            What the decoder returned when its error was measured.
        """

    def budget_or_note(
        self, choice: Choice, pattern: Array, trial: Trial, estimate: Array
    ) -> Budget | str:
        """`budget`; one that fails is a note too, since the errors that were measured stand."""
        try:
            return self.budget(choice, pattern, trial, estimate)
        except Exception as error:  # noqa: BLE001  (whatever it is, the errors were measured)
            return f"it failed, {type(error).__name__}: {error}"

    def coefficient_roundings(self, choice: Choice) -> float:
        """Size, in roundings to storage, of what exact decoding does not know of coefficients.

        None where the exact decoder is that of the coefficients as stored.
        """
        return 0.0

    def worst_sets(self, choice: Choice, limit: int) -> tuple[Array, bool]:
        """Straggler sets that are bad for this very code, and whether the first is the worst.

        Parameters
        ----------
        choice : Choice
        limit : int
            Most sets wanted.

        Returns
        -------
        sets : int array, shape (P, s)
            Worst first; none unless a structure has a search.
        exhaustive : bool
        """
        return np.zeros((0, choice.code.stragglers), dtype=np.int64), False

    def measures(
        self, choice: Choice, patterns: Array, trials: list[Trial], relative: Array
    ) -> dict[str, Any]:
        """Further measures of the decodable patterns, by name; none unless a structure has them.

        Parameters
        ----------
        choice : Choice
        patterns : int array, shape (P, n)
        trials : list of Trial
        relative : array, shape (trials, P)
            Relative errors.
        """
        return {}


def block_lengths(choice: Choice) -> tuple[int, ...]:
    """Rows of one block of every coded operand, which the data decide.

    Raises
    ------
    ValueError
        If the choice names no problem.
    """
    if choice.problem is None:
        raise ValueError("block lengths are those of a problem's operands; the choice has none")
    operands = choice.problem.operands(choice.precision, 0)
    blocks = choice.problem.blocks(choice.system, operands)
    return tuple(part.shape[1] for part in blocks[: len(choice.system.encoders)])
