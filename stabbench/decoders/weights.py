"""Decoders of gradient codes: weights per survivor set, then one product with the replies."""

import dataclasses
from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
import scipy.linalg

from stabbench.arithmetic import dense, operations
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.pairs import to_pair
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.precision import precision as named
from stabbench.arithmetic.rank import first_independent
from stabbench.arithmetic.sparse import combine_held
from stabbench.codes.base import Code, System
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.parts import Part
from stabbench.decoders.base import Decoder, Plan, Spare, is_wide
from stabbench.decoders.ideal import least_squares_weights, part_weights

Array = np.ndarray[Any, np.dtype[Any]]
FEW_ROWS, LONG = 8, 1 << 15
Solver = Callable[[Part, Array], Array]


@dataclasses.dataclass(frozen=True)
class WeightsPlan(Plan):
    """Weights of every pattern over all replies, zero for those that it does not read.

    Attributes
    ----------
    rows : int array, shape (P, r)
        The replies that arrive.
    weights : array, shape (P, m, replies), in decoding precision; NaN where there are none
    """

    rows: Array
    weights: Array

    def decode(self, replies: Array) -> Array:
        """The entries of the sum, shape (P, m, L, 1)."""
        count, m, _ = self.weights.shape
        flat = replies.reshape(len(replies), -1)
        dtype = np.result_type(self.weights, flat)
        received = flat.astype(dtype, copy=False)
        with np.errstate(all="ignore"):
            sums = _product(self.weights.reshape(count * m, -1), received)
            estimate = sums.reshape(count, m, -1)
            # a reply that did not arrive may be infinite, and zero times it is not zero
            for p in np.flatnonzero(~np.isfinite(estimate).all(axis=(1, 2))):
                used = (self.weights[p] != 0).any(axis=0)
                estimate[p] = self.weights[p][:, used] @ received[used]
        return checked(estimate.reshape(count, m, *replies.shape[1:]), dtype)

    def operations(self, replies: Array, sent: Array) -> Array:
        """A multiplication and an addition per number of a reply and weight other than zero."""
        is_complex = np.iscomplexobj(self.weights) or np.iscomplexobj(replies)
        weighed = np.count_nonzero(self.weights, axis=1) @ sent
        return np.asarray(operations.product(1, weighed, 1, is_complex))


def _product(weights: Array, received: Array) -> Array:
    """Weights @ received; a few rows of long replies in one walk through memory."""
    rows, count = weights.shape
    if rows > FEW_ROWS or received.shape[1] < LONG:
        return np.asarray(weights @ received)
    held = np.arange(rows + 1) * count, np.tile(np.arange(count), rows)
    return combine_held(weights[..., None], held, received[..., None], received.dtype)


@dataclasses.dataclass(frozen=True)
class Weights(Decoder):
    """Solve D M_F = Q per survivor set, then combine the replies.

    LU with partial pivoting where a part has as many replies as its rank; least-norm weights by
    Householder QR where spare replies are used.

    Parameters
    ----------
    solve : str
        ``working``: weights are computed in decoding precision; ``float64``: in float64, then
        rounded to it once.
    equilibrate : bool
        Whether every equation, a column of M_F, is scaled to size 1 by a power of two. Partial
        pivoting depends on the scales; published code leaves them.
    """

    solve: Literal["working", "float64"] = dataclasses.field(
        default="working", metadata={"help": "precision in which weights are solved"}
    )
    equilibrate: bool = dataclasses.field(
        default=False, metadata={"help": "scale the equations by powers of two first"}
    )

    name: ClassVar[str] = "weights"
    source: ClassVar[str] = "Ye, Abbe, arXiv:1802.03475; Kadhe et al., arXiv:2005.07184"

    def accepts(self, code: Code) -> str:
        """Gradient codes that recover the sum."""
        if not isinstance(code, GradientCode):
            return "it decodes gradient codes"
        return "the code is approximate: allowed are lstsq, closed-form" if code.approximate else ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Solve for the weights of every distinct subset of every part."""
        assert isinstance(code, GradientCode)
        form = precision.decoding
        if self.solve == "float64":
            form = named("float64")
        arrived = code.arrived(patterns)

        def solver(part: Part, taken: Array) -> Array:
            return solved(part, taken, form, spare, self.equilibrate)

        weights = assemble(code, arrived, solver, form.storage_dtype(code.is_complex))
        dtype = precision.decode_dtype(code.is_complex)
        return WeightsPlan(rows_of(arrived), weights.astype(dtype))


@dataclasses.dataclass(frozen=True)
class ClosedForm(Decoder):
    """The scheme's own formula for the weights, evaluated in decoding precision.

    Means of groups, Lagrange interpolation at zero, the s x s system of cyclic-mds, constants of
    designs, components of graphs: see the code's documentation.
    """

    name: ClassVar[str] = "closed-form"
    source: ClassVar[str] = "the paper of each scheme"

    def accepts(self, code: Code) -> str:
        """Gradient codes with a closed form."""
        if isinstance(code, GradientCode) and code.closed:
            return ""
        return "the code has no closed form of its weights"

    def accepts_precision(self, precision: Precision) -> str:
        """Constants are rounded from float64, small systems are solved by LAPACK."""
        return "closed forms are computed in formats up to float64" if is_wide(precision) else ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Evaluate the formula for every pattern."""
        assert isinstance(code, GradientCode)
        arrived = code.arrived(patterns)
        weights = code.closed_form(arrived, precision.decode)
        dtype = precision.decode_dtype(code.is_complex)
        return WeightsPlan(rows_of(arrived), checked(weights, dtype))


def exact_plan(code: GradientCode, patterns: Array, precision: Precision, spare: Spare) -> Plan:
    """Weights of the ideal code, each rounded once to decoding precision."""
    arrived = code.arrived(patterns)
    hi, lo = exact_weights(code, arrived, spare)
    dtype = precision.decode_dtype(code.is_complex)
    weights = hi.astype(dtype)
    if dtype.itemsize > hi.dtype.itemsize:
        weights = weights + lo.astype(dtype)
    return WeightsPlan(rows_of(arrived), weights)


def least_squares_plan(code: GradientCode, patterns: Array, precision: Precision) -> Plan:
    """Weights of least norm that minimise ||D Phi_F - T||, in decoding precision.

    Singular values below max(shape) eps of the largest count as zero, as in LAPACK's gelsd.
    """
    arrived = code.arrived(patterns)
    encoding = code.encoding.rounded(precision)
    dtype = precision.decode_dtype(np.iscomplexobj(encoding))
    matrix = encoding.astype(dtype)
    m = code.reduction
    target = np.tile(np.eye(m, dtype=dtype), (code.partitions, 1))
    weights = np.zeros((len(arrived), m, arrived.shape[1]), dtype=dtype)
    for p, row in enumerate(arrived):
        weights[p][:, row] = _minimum_norm(matrix[row].T, target).T
    return WeightsPlan(rows_of(arrived), weights)


def _minimum_norm(matrix: Array, right: Array) -> Array:
    """Least-norm least-squares solution in the dtype of the matrix; NaN where LAPACK fails."""
    cond = max(matrix.shape) * float(np.finfo(matrix.dtype).eps)
    if 0 in matrix.shape or not np.isfinite(matrix).all():
        return np.full((matrix.shape[1], right.shape[1]), np.nan, dtype=matrix.dtype)
    try:
        solution: Array = scipy.linalg.lstsq(
            matrix, right, cond=cond, lapack_driver="gelsd", check_finite=False
        )[0]
    except np.linalg.LinAlgError:
        return np.full((matrix.shape[1], right.shape[1]), np.nan, dtype=matrix.dtype)
    return checked(solution, matrix.dtype)


def solved(
    part: Part, taken: Array, form: Precision, spare: Spare, equilibrate: bool = False
) -> Array:
    """Weights of a batch of subsets of one part, shape (U, m, r), NaN without full rank.

    Parameters
    ----------
    part : Part
    taken : int array, shape (U, r)
        Positions within the part.
    form : Precision
        Its storage is the arithmetic.
    spare : {"use", "drop"}
    equilibrate : bool
        Whether columns of M, and those of Q alike, are scaled by powers of two first.
    """
    matrix, target = part.matrix.rounded(form), part.target.rounded(form)
    if equilibrate:
        exponent = np.frexp(np.abs(matrix).max(axis=0))[1]
        scale = np.ldexp(matrix.real.dtype.type(1), -exponent)
        matrix, target = matrix * scale, target * scale
    dtype = np.result_type(matrix, target)
    m, rho = target.shape
    count, r = taken.shape
    if r < rho:
        return np.full((count, m, r), np.nan, dtype=dtype)
    kept = first_independent(matrix, taken) if spare == "drop" else taken
    received = matrix[kept].astype(dtype, copy=False)
    right = np.broadcast_to(target.T.astype(dtype), (count, rho, m))
    if kept.shape[1] == rho:
        found = dense.solve(received.swapaxes(1, 2).copy(), right.copy()).swapaxes(1, 2)
    else:
        unit = np.broadcast_to(np.eye(r, dtype=dtype), (count, r, r))
        with np.errstate(all="ignore"):
            found = np.matmul(target.astype(dtype), dense.least_squares(received, unit.copy()))
    weights = np.zeros((count, m, r), dtype=dtype)
    where = (taken[:, None, :] == kept[:, :, None]).argmax(axis=2)
    np.put_along_axis(weights, np.repeat(where[:, None, :], m, axis=1), found, axis=2)
    return checked(weights, dtype)


def assemble(code: GradientCode, arrived: Array, solver: Solver, dtype: np.dtype[Any]) -> Array:
    """Weights of all patterns, shape (P, m, replies), from a solver of subsets of parts.

    Every distinct subset of a part is solved once, and once for all parts of the same matrix.
    Patterns that no part decodes have NaN.
    """
    weights = np.full((len(arrived), code.reduction, arrived.shape[1]), np.nan, dtype=dtype)
    for at, stage in code.stages(arrived):
        weights[at] = 0
        for parts in families(stage):
            subsets, each = distinct(parts, arrived[at])
            found = _by_count(parts[0], subsets, solver, (code.reduction, dtype))
            for part, index in zip(parts, each, strict=True):
                weights[np.ix_(at, np.arange(code.reduction), part.rows)] = found[index]
    return weights


def distinct(parts: list[Part], arrived: Array) -> tuple[Array, Array]:
    """The distinct subsets of parts of one matrix, (U, c) bool, and which one, (parts, P)."""
    stacked = np.concatenate([arrived[:, part.rows] for part in parts])
    subsets, inverse = np.unique(stacked, axis=0, return_inverse=True)
    return subsets, inverse.reshape(len(parts), len(arrived))


def _by_count(part: Part, subsets: Array, solver: Solver, form: tuple[int, np.dtype[Any]]) -> Array:
    """Weights of all subsets, shape (U, m, c), solved in batches of equal size."""
    m, dtype = form
    found = np.zeros((len(subsets), m, subsets.shape[1]), dtype=dtype)
    counts = subsets.sum(axis=1)
    for r in np.unique(counts):
        at = np.flatnonzero(counts == r)
        if r == 0:
            found[at] = np.nan
            continue
        taken = np.nonzero(subsets[at])[1].reshape(len(at), r)
        block = found[at]
        spread = np.repeat(taken[:, None, :], m, axis=1)
        np.put_along_axis(block, spread, solver(part, taken), axis=2)
        found[at] = block
    return found


def families(parts: tuple[Part, ...]) -> list[list[Part]]:
    """Parts of the same matrix together."""
    found: dict[tuple[int, int], list[Part]] = {}
    for part in parts:
        found.setdefault((id(part.matrix), id(part.target)), []).append(part)
    return list(found.values())


def exact_weights(code: GradientCode, arrived: Array, spare: Spare) -> tuple[Array, Array]:
    """The weights of the ideal code as pairs (hi, lo), shape (P, m, replies) each.

    Of least norm where spare replies are used, by the first independent replies otherwise; NaN
    where a part lacks rank. For approximate codes the best weights there are.
    """
    if code.approximate:
        pairs = [to_pair(least_squares_weights(code, row)) for row in arrived]
        return np.stack([hi for hi, _ in pairs]), np.stack([lo for _, lo in pairs])
    kind = np.dtype(np.complex128 if code.is_complex else np.float64)
    lows: dict[tuple[int, bytes], Array] = {}

    def high(part: Part, taken: Array) -> Array:
        values = np.full((len(taken), code.reduction, taken.shape[1]), np.nan, dtype=kind)
        for at, rows in enumerate(taken):
            hi, lo = _part_pair(part, rows, spare)
            values[at] = hi
            lows[id(part.matrix), rows.tobytes()] = lo
        return values

    def low(part: Part, taken: Array) -> Array:
        return np.stack([lows[id(part.matrix), rows.tobytes()] for rows in taken])

    return assemble(code, arrived, high, kind), assemble(code, arrived, low, kind)


def _part_pair(part: Part, rows: Array, spare: Spare) -> tuple[Array, Array]:
    m, rho = part.target.shape
    if len(rows) < rho:
        return (np.full((m, len(rows)), np.nan),) * 2
    kept = rows
    if spare == "drop":
        kept = first_independent(part.matrix.rounded("float64"), rows[None])[0]
    try:
        found = part_weights(part, kept)
    except ZeroDivisionError:
        return (np.full((m, len(rows)), np.nan),) * 2
    at = np.searchsorted(rows, kept)
    spread = []
    for values in found:
        whole = np.zeros((m, len(rows)), dtype=values.dtype)
        whole[:, at] = values
        spread.append(whole)
    return spread[0], spread[1]


def rows_of(arrived: Array) -> Array:
    """Indices of the replies that arrive, padded with -1 where patterns differ in number."""
    counts = arrived.sum(axis=1)
    rows = np.full((len(arrived), counts.max(initial=0)), -1)
    rows[np.arange(rows.shape[1]) < counts[:, None]] = np.nonzero(arrived)[1]
    return rows
