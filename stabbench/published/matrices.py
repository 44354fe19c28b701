"""Square matrices of course notes, which are no codes of anybody."""

import dataclasses
import functools
from fractions import Fraction
from typing import Any, ClassVar

from stabbench.codes.base import Code, LinearCode
from stabbench.codes.registry import code as build
from stabbench.grammar import bind, parse


@dataclasses.dataclass(frozen=True)
class Vandermonde(LinearCode):
    """Powers of equally spaced nodes.

    Parameters
    ----------
    first, step : Fraction
        Node i is first + i step, i = 0 .. n-1.
    """

    first: Fraction = Fraction(1)
    step: Fraction = Fraction(1)

    name: ClassVar[str] = "vandermonde"

    def coefficients(self, bits: int) -> Any:
        """Powers of the nodes."""
        nodes = [self.first + i * self.step for i in range(self.n)]
        return [[x**j for j in range(self.blocks)] for x in nodes]


@functools.lru_cache(maxsize=256)
def code_of(text: str, n: int, stragglers: int) -> Code:
    """The code, or the matrix of course notes, that a grammar string names."""
    spec = parse(text)
    if spec.name == Vandermonde.name:
        return bind(Vandermonde, spec, n=n, stragglers=stragglers)
    return build(spec, n, stragglers)
