"""Which analysis serves which kind of code."""

from stabbench.analysis.gradient import Gradient
from stabbench.analysis.linear import Linear
from stabbench.analysis.structure import Structure
from stabbench.codes.base import Code, LinearCode
from stabbench.codes.gradient.base import GradientCode

STRUCTURES: tuple[tuple[type[Code], Structure], ...] = (
    (LinearCode, Linear()),
    (GradientCode, Gradient()),
)


def structure_of(code: Code) -> Structure:
    """The analysis of a code's structure.

    Raises
    ------
    TypeError
        If no structure is registered for this kind of code.
    """
    for kind, structure in STRUCTURES:
        if isinstance(code, kind):
            return structure
    raise TypeError(f"no analysis for codes of type {type(code).__name__}")
