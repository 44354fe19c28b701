"""Which analysis serves which kind of code."""

from stabbench.analysis.evaluate import Function
from stabbench.analysis.gradient import Gradient
from stabbench.analysis.linear import Linear
from stabbench.analysis.product import Product
from stabbench.analysis.shift_add import Shifts
from stabbench.analysis.structure import Structure
from stabbench.codes.base import Code, LinearCode, System
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.lagrange import FunctionSystem
from stabbench.codes.operators import Dense
from stabbench.codes.product import ProductSystem
from stabbench.codes.shift_add import ShiftAdd
from stabbench.errors import InputError

STRUCTURES: tuple[tuple[type[Code | System], Structure], ...] = (
    (ShiftAdd, Shifts()),
    (ProductSystem, Product()),
    (FunctionSystem, Function()),
    (LinearCode, Linear()),
    (GradientCode, Gradient()),
)


def structure_of(code: Code, system: System | None = None) -> Structure:
    """The analysis of a code's structure, which may depend on the problem that a system serves.

    A code of no known kind is measured by its reply map where that is a matrix of coefficients.

    Raises
    ------
    InputError
        If no structure is registered for this kind of code.
    """
    for kind, structure in STRUCTURES:
        if isinstance(code, kind) or isinstance(system, kind):
            return structure
    if code.dense and system is not None and isinstance(system.reply, Dense):
        return Linear()
    raise InputError(
        f"{code.spec}: no analysis for codes of type {type(code).__name__}; allowed are "
        "LinearCode, GradientCode, or a Code with dense = True and a Dense reply map"
    )
