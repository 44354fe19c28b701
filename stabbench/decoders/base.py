"""What a decoder is: a plan made from the survivors alone, then decoding of replies."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.errors import InputError
from stabbench.grammar import canonical

Array = np.ndarray[Any, np.dtype[Any]]
Spare = Literal["use", "drop"]


class Plan(ABC):
    """All that decoding needs of the survivors, for a batch of patterns.

    Attributes
    ----------
    rows : int array, shape (P, r)
        The replies that decoding reads, per pattern.
    """

    rows: Array

    @abstractmethod
    def decode(self, replies: Array) -> Array:
        """Estimates of the unknown blocks.

        Parameters
        ----------
        replies : array, shape (rows of the system, L, m), in storage precision

        Returns
        -------
        array, shape (P, unknowns, L, m), in decoding precision; not finite where decoding broke
        down or overflowed
        """


@dataclasses.dataclass(frozen=True)
class Decoder(ABC):
    """How replies become the answer; the parameters are those of the grammar."""

    name: ClassVar[str] = ""
    source: ClassVar[str] = ""
    growth: ClassVar[Literal["amplification", "elimination"]] = "amplification"
    """Which measure of the conditions predicts this decoder's error."""
    uses_spare: ClassVar[bool] = True
    """Whether replies beyond the number of unknowns can enter."""

    @abstractmethod
    def accepts(self, code: Code) -> str:
        """Why this decoder cannot decode `code`, an empty string where it can."""

    def accepts_precision(self, precision: Precision) -> str:
        """Why this decoder cannot run in `precision`, an empty string where it can."""
        if precision.decode == np.dtype(np.longdouble) and precision.decode != np.float64:
            return f"{self.name} runs on LAPACK, which has no longdouble"
        return ""

    @abstractmethod
    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Prepare the decoding of many patterns at once.

        Parameters
        ----------
        code : Code
        system : System
            Built by `code`.
        patterns : int array, shape (P, n)
            Messages that arrived, the same number of rows in every pattern.
        precision : Precision
        spare : {"use", "drop"}
            Whether replies beyond the number of unknowns enter (least squares) or the first
            independent ones, in worker order, are chosen.
        """

    @property
    def spec(self) -> str:
        """The grammar string of this decoder, without defaults."""
        return canonical(self, self.name)

    @property
    def full_spec(self) -> str:
        """The grammar string with every parameter."""
        return canonical(self, self.name, full=True)

    def __str__(self) -> str:
        return self.spec


def require(decoder: Decoder, code: Code) -> None:
    """Raise InputError if the decoder does not apply to the code."""
    reason = decoder.accepts(code)
    if reason:
        raise InputError(f"decoder {decoder.spec} with {code.spec}: {reason}")
