"""A function of every data block: its Gram matrix, or a power of its entries."""

import dataclasses
import math
from fractions import Fraction
from typing import Any, ClassVar, Literal

import mpmath
import numpy as np

from stabbench.arithmetic import exact, multiprecision, operations
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.pairs import joined, ratio_pair
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.errors import InputError
from stabbench.problems.base import Exact, Problem, cut
from stabbench.problems.families import Data

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = {"flint": exact.product, "mpmath": multiprecision.product}
Function = Literal["gram", "power"]


@dataclasses.dataclass(frozen=True)
class Evaluate(Problem):
    """f(X_0) .. f(X_{K-1}) for K row blocks of a data matrix.

    Parameters
    ----------
    data : Data
        Where X comes from.
    partitions : int
        K.
    function : str
        ``gram``: X X^T; ``power``: every entry to the power `degree`.
    degree : int
        Of ``power``; ``gram`` has degree 2.
    """

    data: Data
    partitions: int
    function: Function = dataclasses.field(default="gram", metadata={"help": "what f is"})
    degree: int = dataclasses.field(default=2, metadata={"help": "degree of power"})

    name: ClassVar[str] = "evaluate"

    def __post_init__(self) -> None:
        """Check the degree."""
        if self.degree < 1 or (self.function == "gram" and self.degree != 2):
            raise InputError(
                f"problem evaluate: function={self.function}, degree={self.degree}; allowed are "
                "gram of degree 2 and power of degree >= 1"
            )

    def refuses(self, code: Code) -> str:
        """Codes for another problem or for functions of a lower degree."""
        degree = getattr(code, "degree", None)
        if degree is not None and degree < self.degree:
            return f"the code is for functions of degree {degree}, not {self.degree}"
        return super().refuses(code)

    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """The K blocks (K, L, columns), padded with zero rows, rounded to storage."""
        return (cut(precision.store(self.data.matrix(seed)), self.partitions),)

    def summands(self, blocks: tuple[Array, ...]) -> int:
        """Columns of a block, or for powers one for every multiplication."""
        return int(blocks[0].shape[2]) if self.function == "gram" else self.degree

    def exact(self, operands: tuple[Array, ...], reference: str) -> Exact:
        """Values of f at every block as pairs, shape (K, L, L) or (K, L, columns)."""
        (blocks,) = operands
        if self.function == "gram":
            pairs = [REFERENCES[reference](x, x.T.copy()) for x in blocks]
        else:
            power = _power if reference == "flint" else _mpmath_power
            pairs = [power(x, self.degree) for x in blocks]
        return Exact(np.stack([hi for hi, _ in pairs]), np.stack([lo for _, lo in pairs]))

    def blocks(self, system: System, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """The blocks themselves."""
        return operands

    def encode(
        self, system: System, blocks: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """Coded blocks, shape (n, L, columns)."""
        return (system.encoders[0].apply(blocks[0], precision),)

    def work(self, system: System, shares: tuple[Array, ...], precision: Precision) -> Array:
        """Values of f at every share in work precision, rounded to storage."""
        is_complex = np.iscomplexobj(shares[0])
        dtype = precision.work_dtype(is_complex)
        share = shares[0].astype(dtype, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            if self.function == "gram":
                result = np.matmul(share, share.swapaxes(1, 2))
            else:
                result = share.copy()
                for _ in range(self.degree - 1):
                    result *= share
        stored = precision.store(checked(result, dtype))
        return checked(stored, precision.storage_dtype(is_complex))

    def operations(self, system: System, shares: tuple[Array, ...]) -> Array:
        """A product of each share with its transpose, or degree - 1 products of its entries."""
        (share,) = shares
        rows, length, columns = share.shape
        if self.function == "gram":
            count = operations.product(length, columns, length)
        else:
            count = (self.degree - 1) * length * columns
        return np.full(rows, count * operations.factor(np.iscomplexobj(share)))

    def wanted(self, system: System, exact: Exact) -> Exact:
        """Values of f at every block."""
        return exact


def _power(block: Array, degree: int) -> tuple[Array, Array]:
    """Powers of the entries in rationals, as pairs."""

    def pairs(values: list[Fraction]) -> tuple[Array, Array]:
        split = np.array([ratio_pair(v.numerator, v.denominator) for v in values])
        return split[:, 0].reshape(block.shape), split[:, 1].reshape(block.shape)

    real = [Fraction(x) for x in block.real.astype(np.float64).ravel().tolist()]
    if not np.iscomplexobj(block):
        return pairs([x**degree for x in real])
    imag = [Fraction(x) for x in block.imag.astype(np.float64).ravel().tolist()]
    powers = [(Fraction(1), Fraction(0))] * len(real)
    for _ in range(degree):
        powers = [
            (a * x - b * y, a * y + b * x) for (a, b), x, y in zip(powers, real, imag, strict=True)
        ]
    return joined([pairs([a for a, _ in powers]), pairs([b for _, b in powers])])


def _mpmath_power(block: Array, degree: int) -> tuple[Array, Array]:
    """The same by plain mpmath numbers with bits for every digit of a power."""
    context = mpmath.MPContext()
    context.prec = 64 * degree + 64
    if np.iscomplexobj(block):
        values = [context.mpc(complex(x)) ** degree for x in block.ravel()]
        parts = [[v.real for v in values], [v.imag for v in values]]
    else:
        parts = [[context.mpf(float(x)) ** degree for x in block.ravel()]]
    pairs = []
    for part in parts:
        hi = [float(v) for v in part]
        lo = [float(v - h) if math.isfinite(h) else 0.0 for v, h in zip(part, hi, strict=True)]
        pairs.append((np.array(hi).reshape(block.shape), np.array(lo).reshape(block.shape)))
    return joined(pairs)
