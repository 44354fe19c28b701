"""Decoders for any code with a dense reply matrix: elimination, QR, refinement, exact weights."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import dense, exact, operations
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.inverses import decoding_operators
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.rank import first_independent
from stabbench.codes.base import Code, System
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.operators import Dense
from stabbench.codes.shift_add import ShiftAdd
from stabbench.codes.toeplitz import ShiftMap
from stabbench.decoders.base import Decoder, Plan, Spare, as_blocks, as_columns, by_batches, width
from stabbench.decoders.weights import exact_plan, least_squares_plan
from stabbench.decoders.zigzag import samples_plan, samples_too_large
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
Method = Callable[[Array, Array], Array]
Count = Callable[[int, int, int], float]
SINGLE_BITS = 32
MOST_UNKNOWNS = 128
"""Unknowns up to which the weights of all patterns come from one dual of the generator."""


@dataclasses.dataclass(frozen=True)
class DensePlan(Plan):
    """One matrix per pattern and a batched method that applies to it and the replies.

    Attributes
    ----------
    rows : int array, shape (P, r)
    matrices : array, shape (P, r, k) for solvers, (P, k, r) for weights
    method : callable
        (matrices, right-hand sides (P, r, m)) -> (P, k, m)
    target : array, shape (wanted, k), optional
        What is wanted of the unknowns, in decoding precision.
    count : callable, optional
        (replies, unknowns, columns) -> real operations of the method on a real system.
    """

    rows: Array
    matrices: Array
    method: Method
    target: Array | None = None
    count: Count | None = None

    def decode(self, replies: Array) -> Array:
        """Estimates of what is wanted, shape (P, wanted, L, m)."""
        dtype = self.matrices.dtype
        right = as_columns(replies, dtype)[self.rows]
        estimate = checked(self.method(self.matrices, right), dtype)
        if self.target is not None:
            with np.errstate(all="ignore"):
                estimate = checked(np.matmul(self.target, estimate), dtype)
        return as_blocks(estimate, replies)

    def operations(self, replies: Array, sent: Array) -> Array | None:
        """Those of the method, the same for every pattern, and of the product with the target."""
        if self.count is None:
            return None
        count, r = self.rows.shape
        k = self.matrices.size // max(count * r, 1)
        columns = width(replies, self.matrices.dtype)
        total = self.count(r, k, columns)
        if self.target is not None:
            total += operations.product(len(self.target), k, columns)
        return np.full(count, total * operations.factor(np.iscomplexobj(self.matrices)))


@dataclasses.dataclass(frozen=True)
class DenseDecoder(Decoder):
    """A decoder that needs nothing but the rounded rows of the generator."""

    def accepts(self, code: Code) -> str:
        """Any code whose reply map is a matrix of coefficients."""
        return "" if code.dense else "the replies are no dense combinations"

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Gather the generator rows of every pattern in decoding precision."""
        return by_batches(
            system, patterns, lambda rows: self.batch(code, system, rows, precision, spare)
        )

    def batch(
        self, code: Code, system: System, rows: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """The plan of patterns that bring equally many rows, given as row indices (P, r)."""
        reply = _dense(system)
        stored = reply.matrix(precision)
        if spare == "drop":
            rows = first_independent(stored, rows)
        if rows.shape[1] < reply.unknowns:
            raise InputError(
                f"{code.spec}: patterns bring {rows.shape[1]} rows; {reply.unknowns} are needed"
            )
        matrices = stored[rows].astype(precision.decode_dtype(np.iscomplexobj(stored)))
        plan = self.prepare(rows, matrices, stored)
        if system.target is None:
            return plan
        target = system.target.rounded(precision.decoding).astype(matrices.dtype)
        return dataclasses.replace(plan, target=target)

    def prepare(self, rows: Array, matrices: Array, stored: Array) -> DensePlan:
        """The plan for generator rows already in decoding precision, (P, r, k)."""
        if matrices.shape[1] > matrices.shape[2]:
            return DensePlan(rows, matrices, dense.least_squares, count=operations.least_squares)
        return DensePlan(rows, matrices, self.square, count=self.count)

    @property
    def count(self) -> Count | None:
        """The operations of `square`, see `DensePlan`; None where they are not counted."""
        return None

    def square(self, matrices: Array, right: Array) -> Array:
        """Solve the square systems of a batch."""
        raise TypeError(f"{self.name} has no method for square systems")


@dataclasses.dataclass(frozen=True)
class Solve(DenseDecoder):
    """LU with partial pivoting; Householder QR where spare replies are used."""

    name: ClassVar[str] = "solve"
    source: ClassVar[str] = "LAPACK gesv"
    growth = "elimination"

    @property
    def count(self) -> Count:
        """Elimination and two substitutions."""
        return operations.solve

    def square(self, matrices: Array, right: Array) -> Array:
        """LAPACK gesv."""
        return dense.solve(matrices, right)


@dataclasses.dataclass(frozen=True)
class Inverse(DenseDecoder):
    """Explicit inverse times replies, what most published code does (QR with spare replies)."""

    name: ClassVar[str] = "inverse"
    source: ClassVar[str] = "gesv with the identity, as numpy.linalg.inv; Higham, section 14.1"

    @property
    def count(self) -> Count:
        """Elimination with k columns, then a product."""
        return operations.invert_and_multiply

    def square(self, matrices: Array, right: Array) -> Array:
        """LAPACK gesv with the identity, then a product."""
        return dense.invert_and_multiply(matrices, right)


@dataclasses.dataclass(frozen=True)
class Lstsq(DenseDecoder):
    """Least squares by Householder QR, for square systems too.

    Weights of gradient codes are those of least norm, by LAPACK gelsd. Of shift-and-add codes, all
    samples of the replies that a zigzag would use enter.
    """

    name: ClassVar[str] = "lstsq"
    source: ClassVar[str] = "Golub, Van Loan, Matrix Computations, section 5.3"

    def accepts(self, code: Code) -> str:
        """Dense codes, gradient codes and shift-and-add codes."""
        return "" if isinstance(code, GradientCode | ShiftAdd) else super().accepts(code)

    def accepts_size(self, code: Code, system: System, lengths: tuple[int, ...]) -> str:
        """Shift-and-add codes up to a number of operations."""
        if not isinstance(system.reply, ShiftMap):
            return ""
        return samples_too_large(system.reply, lengths, code.stragglers)

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """QR per pattern, or the weights of a gradient code."""
        if isinstance(code, GradientCode):
            return least_squares_plan(code, patterns, precision)
        if isinstance(code, ShiftAdd):
            return samples_plan(system, patterns, precision)
        return super().plan(code, system, patterns, precision, spare)

    @property
    def count(self) -> Count:
        """Householder QR."""
        return operations.least_squares

    def square(self, matrices: Array, right: Array) -> Array:
        """Householder QR."""
        return dense.least_squares(matrices, right)


@dataclasses.dataclass(frozen=True)
class Refined(DenseDecoder):
    """LU, then iterative refinement with residuals in the same precision.

    Parameters
    ----------
    steps : int
        Number of refinement steps.
    """

    steps: int = dataclasses.field(default=1, metadata={"help": "refinement steps"})

    name: ClassVar[str] = "refined"
    source: ClassVar[str] = "Higham, Accuracy and Stability of Numerical Algorithms, chapter 12"

    def __post_init__(self) -> None:
        """Check the number of steps."""
        if not 1 <= self.steps <= 100:
            raise InputError(f"refined: steps={self.steps}; allowed is 1 .. 100")

    @property
    def count(self) -> Count:
        """An elimination at first and in every step."""
        return functools.partial(operations.refine, steps=self.steps)

    def square(self, matrices: Array, right: Array) -> Array:
        """LAPACK gesv and fixed-precision refinement."""
        return dense.refine(matrices, right, self.steps)


@dataclasses.dataclass(frozen=True)
class ExactWeights(DenseDecoder):
    """The decoding matrix computed exactly from the rounded generator, then rounded once."""

    name: ClassVar[str] = "exact-weights"
    source: ClassVar[str] = "exact inverse in ball arithmetic"

    def accepts(self, code: Code) -> str:
        """Dense codes and gradient codes."""
        return "" if isinstance(code, GradientCode) else super().accepts(code)

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Exact inverses, or the weights of the ideal gradient code."""
        if isinstance(code, GradientCode):
            return exact_plan(code, patterns, precision, spare)
        return super().plan(code, system, patterns, precision, spare)

    def accepts_precision(self, precision: Precision) -> str:
        """Weights need products only, which run in every precision."""
        return ""

    def prepare(self, rows: Array, matrices: Array, stored: Array) -> DensePlan:
        """Exact inverses (left inverses with spare replies), rounded to decoding precision."""
        wider = np.finfo(matrices.dtype).nmant > np.finfo(np.float64).nmant
        if wider or stored.shape[1] > MOST_UNKNOWNS or not np.isfinite(stored).all():
            weights = np.stack([_left_inverse(matrix) for matrix in matrices])
        else:
            weights = _by_duality(stored, rows, np.finfo(matrices.dtype).bits > SINGLE_BITS)
        weights = weights.astype(matrices.dtype)
        return DensePlan(rows, weights, _weigh, count=operations.weigh)


def _weigh(weights: Array, right: Array) -> Array:
    with np.errstate(all="ignore"):
        product: Array = np.matmul(weights, right)
    return product


def _by_duality(stored: Array, rows: Array, precise: bool) -> Array:
    """Weights of all patterns at once; ten digits are all that float32 can tell."""
    try:
        return decoding_operators(Coefficients.from_array(stored), rows, precise).D
    except InputError:  # no pattern of a generator without full rank decodes
        return np.full((len(rows), stored.shape[1], rows.shape[1]), np.nan, dtype=stored.dtype)


def _left_inverse(matrix: Array) -> Array:
    try:
        if np.finfo(matrix.dtype).nmant <= np.finfo(np.float64).nmant:
            return exact.inverse(matrix)
        hi, lo = exact.least_squares(matrix, np.eye(len(matrix), dtype=matrix.dtype))
        return hi.astype(matrix.dtype) + lo
    except ZeroDivisionError:
        return np.full(matrix.shape[::-1], np.nan, dtype=matrix.dtype)


def _dense(system: System) -> Dense:
    if not isinstance(system.reply, Dense):
        raise TypeError("a dense decoder needs a dense reply map")
    return system.reply
