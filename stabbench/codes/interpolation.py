"""Codes given by values at points: what a decoder that interpolates needs of them."""

import dataclasses
from abc import abstractmethod
from typing import Any, ClassVar

from stabbench.arithmetic.coefficients import Coefficients
from stabbench.codes.base import Code


@dataclasses.dataclass(frozen=True)
class Interpolated(Code):
    """A reply is the value of one function at the worker's point; wanted are its values elsewhere.

    Worker i sends the value at ``alphas[i]``; what is wanted is ``reduction`` times the values at
    the points ``betas``.
    """

    rational: ClassVar[bool] = False
    """Whether the function is Berrut's rational interpolant; else a polynomial."""

    @property
    @abstractmethod
    def alphas(self) -> Coefficients:
        """The workers' points, shape (n, 1)."""

    @property
    @abstractmethod
    def betas(self) -> Coefficients:
        """The points of the wanted values, shape (points, 1)."""

    @property
    def reduction(self) -> float | None:
        """Factor of the sum of the values at the betas; None where each value is wanted."""
        return None


def column(function: Any, count: int, is_complex: bool) -> Coefficients:
    """Points as a column of coefficients, from a function of the bits that lists them."""
    return Coefficients(lambda bits: [[x] for x in function(bits)], (count, 1), complex=is_complex)
