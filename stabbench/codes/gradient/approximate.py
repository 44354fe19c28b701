"""What all approximate gradient codes share: rational 0/1-like matrices and rational weights."""

from abc import abstractmethod
from fractions import Fraction
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.codes.gradient.base import GradientCode

Array = np.ndarray[Any, np.dtype[Any]]


class ApproximateCode(GradientCode):
    """A code whose decoded sum misses T by error(F) = min over w of ||A_F^T w - 1||.

    The weights of the scheme are rational numbers; each is rounded once.
    """

    approximate: ClassVar[bool] = True

    @property
    def threshold(self) -> int | None:
        """None: any number of replies gives some approximation."""
        return None

    @abstractmethod
    def rational_form(self, arrived: Array) -> list[Fraction]:
        """The scheme's weights of one pattern over all workers, zero for stragglers.

        Parameters
        ----------
        arrived : bool array, shape (n,)
        """

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """The rational weights, each rounded once, shape (P, 1, n)."""
        weights = [[float(w) for w in self.rational_form(row)] for row in arrived]
        return np.array(weights, dtype=dtype)[:, None]

    def coefficients(self, bits: int) -> Any:
        """The placement times `scale`."""
        scale = self.scale
        entry = flint.fmpq(scale.numerator, scale.denominator)
        return [[entry if held else 0 for held in row] for row in self.placement.tolist()]

    @property
    def scale(self) -> Fraction:
        """The coefficient of every partition held."""
        return Fraction(1)


class EqualWeights(ApproximateCode):
    """An approximate code that gives all survivors of a pattern the same weight."""

    @abstractmethod
    def weight(self, survivors: int) -> Fraction:
        """The weight of each of r >= 1 survivors."""

    def rational_form(self, arrived: Array) -> list[Fraction]:
        """The weight of the pattern at its survivors."""
        weight = self.weight(max(1, int(arrived.sum())))
        return [weight if reply else Fraction(0) for reply in arrived.tolist()]

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """The weights by the number of survivors, each rounded once, shape (P, 1, n)."""
        by_number = np.array([0.0, *(float(self.weight(r + 1)) for r in range(self.n))], dtype)
        return np.where(arrived, by_number[arrived.sum(axis=1)][:, None], 0)[:, None]
