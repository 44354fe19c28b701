"""Peeling: a reply with one unknown block left resolves it, which is subtracted from the others."""

import dataclasses
from typing import Any, ClassVar

import numba
import numpy as np

from stabbench.arithmetic import operations
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.codes.operators import Dense
from stabbench.decoders.base import Decoder, Plan, Spare, as_blocks, as_columns, width

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class PeelingPlan(Plan):
    """The order in which replies resolve unknowns, per pattern.

    Attributes
    ----------
    taken : bool array, shape (P, rows of the system)
        The replies that arrived.
    matrix : array, shape (rows of the system, k)
    unknown, source : int arrays, shape (P, k)
        Unknowns in the order of resolution and the reply that each is read from; -1 beyond the
        last one that peeling reaches.
    """

    taken: Array
    matrix: Array
    unknown: Array
    source: Array

    @property
    def rows(self) -> Array:  # type: ignore[override]
        """The replies that arrived, padded with -1."""
        rows = np.full((len(self.taken), int(self.taken.sum(axis=1).max())), -1)
        for row, taken in zip(rows, self.taken, strict=True):
            row[: int(taken.sum())] = np.flatnonzero(taken)
        return rows

    @property
    def solved(self) -> Array:
        """Whether peeling resolves every unknown, shape (P,)."""
        everything: Array = np.all(self.unknown >= 0, axis=1)
        return everything

    def decode(self, replies: Array) -> Array:
        """Substitute in the order of the plan, shape (P, k, L, m)."""
        dtype = self.matrix.dtype
        flat = as_columns(replies, dtype)
        estimate = np.full((*self.unknown.shape, flat.shape[1]), np.nan, dtype=dtype)
        matrix = np.ascontiguousarray(self.matrix)
        for p, taken in enumerate(self.taken):
            with np.errstate(all="ignore"):
                substitute(matrix, flat.copy(), taken, self.unknown[p], self.source[p], estimate[p])
        return as_blocks(checked(estimate, dtype), replies)

    def operations(self, replies: Array, sent: Array) -> Array:
        """A quotient per unknown that is resolved; two operations per other reply that holds it."""
        holders = self.taken.astype(int) @ (self.matrix != 0)
        resolved = np.zeros(holders.shape, dtype=bool)
        p, step = np.nonzero(self.unknown >= 0)
        resolved[p, self.unknown[p, step]] = True
        steps = np.where(resolved, 1 + 2 * (holders - 1), 0).sum(axis=1)
        each = width(replies, self.matrix.dtype) * operations.factor(np.iscomplexobj(self.matrix))
        return np.asarray(steps * float(each))


@dataclasses.dataclass(frozen=True)
class Peeling(Decoder):
    """Peeling of sparse codes: no elimination, one subtraction per entry of the generator.

    First in, first out: the queue starts with the replies of one unknown, worker ascending; a
    reply that becomes single joins at the end. It can get stuck on patterns of full rank.
    """

    name: ClassVar[str] = "peeling"
    source: ClassVar[str] = "Luby, Mitzenmacher, Shokrollahi, Spielman, IEEE TIT 47, 2001"
    may_fail: ClassVar[bool] = True

    def accepts(self, code: Code) -> str:
        """Codes of group sparse."""
        return "" if "sparse" in code.groups else "the code's replies are no sparse sums"

    def accepts_precision(self, precision: Precision) -> str:
        """Elementwise operations, compiled for float32 and float64."""
        if precision.decode.itemsize > 8:
            return "peeling is compiled for float32 and float64"
        return ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> PeelingPlan:
        """Peel every pattern symbolically."""
        assert isinstance(system.reply, Dense)
        matrix = system.reply.matrix(precision)
        matrix = matrix.astype(precision.decode_dtype(np.iscomplexobj(matrix)))
        taken = patterns[:, system.owner] > 0
        shape = (len(patterns), system.reply.unknowns)
        unknown, source = np.full(shape, -1), np.full(shape, -1)
        holds = np.ascontiguousarray(matrix != 0)
        for p in range(len(patterns)):
            peel(holds, taken[p], unknown[p], source[p])
        return PeelingPlan(taken, matrix, unknown, source)


@numba.njit(cache=True)
def peel(holds: Array, taken: Array, unknown: Array, source: Array) -> None:
    """Write the order of resolution.

    Parameters
    ----------
    holds : bool array, shape (rows, k)
        Which unknowns each reply combines.
    taken : bool array, shape (rows,)
    unknown, source : int arrays, shape (k,), written

    Examples
    --------
    >>> unknown, source = np.full(2, -1), np.full(2, -1)
    >>> peel(np.array([[True, True], [False, True]]), np.array([True, True]), unknown, source)
    >>> unknown.tolist(), source.tolist()
    ([1, 0], [1, 0])
    """
    rows, k = holds.shape
    left = np.zeros(rows, np.int64)
    queue = np.empty(rows, np.int64)
    known = np.zeros(k, np.bool_)
    tail = 0
    for i in range(rows):
        if taken[i]:
            for j in range(k):
                left[i] += holds[i, j]
            if left[i] == 1:
                queue[tail] = i
                tail += 1
    head = 0
    done = 0
    while head < tail:
        i = queue[head]
        head += 1
        if left[i] != 1:
            continue
        for j in range(k):
            if holds[i, j] and not known[j]:
                break
        known[j] = True
        unknown[done], source[done] = j, i
        done += 1
        for other in range(rows):
            if taken[other] and holds[other, j]:
                left[other] -= 1
                if left[other] == 1:
                    queue[tail] = other
                    tail += 1


@numba.njit(cache=True)
def substitute(
    matrix: Array, rest: Array, taken: Array, unknown: Array, source: Array, found: Array
) -> None:
    """Resolve the unknowns in the order of a plan.

    Parameters
    ----------
    matrix : array, shape (rows, k)
    rest : array, shape (rows, width), overwritten
        The replies, from which what is known is subtracted.
    taken : bool array, shape (rows,)
    unknown, source : int arrays, shape (k,)
    found : array, shape (k, width), written
        All arrays of numbers have one dtype, so that no arithmetic is wider.
    """
    width = rest.shape[1]
    for step in range(len(unknown)):
        j, i = unknown[step], source[step]
        if j < 0:
            return
        for c in range(width):
            found[j, c] = rest[i, c] / matrix[i, j]
        for other in range(len(rest)):
            factor = matrix[other, j]
            if taken[other] and other != i and factor != 0:
                for c in range(width):
                    rest[other, c] -= factor * found[j, c]
