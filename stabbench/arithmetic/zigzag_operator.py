"""The linear operator that a zigzag really applies: its matrix, norms and amplification.

It is not the pseudo-inverse: only the samples that are read count. Theory of its growth: `symbol`.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, svds

from stabbench.arithmetic import zigzag_kernels
from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.shift_tables import ABSENT
from stabbench.arithmetic.zigzag import Peeling
from stabbench.errors import InputError

Floats = npt.NDArray[np.float64]
LIMIT = 4096
"""Largest number of unknowns for which the matrix is formed."""
_BATCH = 128
_STARTS = 8


@dataclass(frozen=True)
class Norms:
    """Size of the decoding operator D of one pattern, from all replies to all unknowns.

    Attributes
    ----------
    infinity : float
        Largest sum of |D| over a row.
    two : float
        Largest singular value, by Lanczos iteration.
    amplification : float
        || |D| |Phi| ||_inf, Phi the 0/1 matrix of the replies.
    estimated : bool
        `infinity` and `amplification` are lower bounds by Hager's method: too many unknowns.
    """

    infinity: float
    two: float
    amplification: float
    estimated: bool


class ZigzagOperator:
    """Decoding of one survivor pattern as a linear map D, and its transpose.

    Unknowns are numbered block * positions + position, the samples that are read likewise: sample
    u is the one from which unknown u is read. All other samples of the replies count zero.

    Parameters
    ----------
    peeling : Peeling
    i : int
        Number of the pattern.

    Attributes
    ----------
    worker, sample : ndarray of int, shape (unknowns,)
        Where the sample u stands in the replies.
    terms : ndarray of int, shape (unknowns,)
        How many unknowns the sample adds up.

    Raises
    ------
    InputError
        If the pattern is undecodable.

    Examples
    --------
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> from stabbench.arithmetic.zigzag import plan
    >>> table = shift_table("vandermonde", 2, 2)
    >>> ZigzagOperator(plan(table, [(0, 1)], 2, "forward"), 0).matrix()
    array([[ 1.,  0.,  0.,  0.],
           [ 1.,  1., -1.,  0.],
           [-1.,  0.,  1.,  0.],
           [-1., -1.,  1.,  1.]])
    """

    def __init__(self, peeling: Peeling, i: int) -> None:
        use = peeling.uses[i]
        if not isinstance(use, Resolution):
            raise InputError(str(use))
        self._peeling = peeling.select(i)
        self._use = use
        table, length = peeling.table, peeling.length
        period, width = peeling.grid
        self._position = np.flatnonzero(np.arange(length) % period < width)
        k, longest = table.shape[1], length + int(table.max())
        self._replies = (len(table), longest)
        reader = np.repeat(use.known[:, None], length, axis=1)
        unknown, row = peeling.schedule(i) if len(use.missing) else np.empty((2, 0), np.int32)
        reader[use.missing[unknown // length], unknown % length] = use.rows[row]
        self.worker = reader[:, self._position].ravel()
        block = np.repeat(np.arange(k), len(self._position))
        self.sample = np.tile(self._position, k) + table[self.worker, block]
        place = self.sample[:, None] - table[self.worker]
        inside = (place >= 0) & (place < length) & (place % period < width)
        self.terms = np.sum(inside & (table[self.worker] != ABSENT), axis=1)
        self.unknowns = len(self.sample)
        self._order = (np.asarray(unknown), np.asarray(row))

    def apply(self, samples: Floats) -> Floats:
        """D times columns: shape (unknowns, columns) to (unknowns, columns)."""
        replies = np.zeros((*self._replies, samples.shape[1]))
        replies[self.worker, self.sample] = samples
        blocks = self._peeling.decode(replies)[0]
        return np.asarray(blocks[:, self._position].reshape(self.unknowns, -1))

    def apply_transpose(self, weights: Floats) -> Floats:
        """D^T times columns, by the recursion run backwards."""
        k, length = self._peeling.table.shape[1], self._peeling.length
        blocks = np.zeros((k, length, weights.shape[1]))
        blocks[:, self._position] = weights.reshape(k, -1, weights.shape[1])
        replies = np.zeros((*self._replies, weights.shape[1]))
        use = self._use
        zigzag_kernels.transposed(
            blocks, self._peeling.table, use.known, use.rows, *self._order, replies
        )
        read = replies[self.worker, self.sample].reshape(k, -1, weights.shape[1])
        plain = use.known >= 0
        read[plain] = blocks[plain][:, self._position]
        return np.asarray(read.reshape(self.unknowns, -1))

    def matrix(self) -> Floats:
        """D, shape (unknowns, unknowns); its entries are integers, rounded beyond 2^53."""
        result = np.empty((self.unknowns, self.unknowns))
        for first in range(0, self.unknowns, _BATCH):
            result[:, first : first + _BATCH] = self._columns(first)
        return result

    def norms(self, limit: int = LIMIT) -> Norms:
        """Norms and amplification, from the columns of D up to `limit` unknowns, else estimated."""
        if self.unknowns > limit:
            infinity = self._estimate(np.ones(self.unknowns))
            return Norms(infinity, self.two_norm(), self._estimate(self.terms), True)
        sums = np.zeros((2, self.unknowns))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, self.unknowns, _BATCH):
                size = np.abs(self._columns(first))
                sums += np.stack([size.sum(axis=1), size @ self.terms[first : first + _BATCH]])
        infinity, amplification = np.where(np.isfinite(sums), sums, np.inf).max(axis=1)
        return Norms(float(infinity), self.two_norm(), float(amplification), False)

    def two_norm(self) -> float:
        """Largest singular value; Lanczos iteration from a fixed start."""
        if self.unknowns <= 2:
            return float(np.linalg.norm(self.matrix(), 2))
        start = np.random.default_rng(0).standard_normal(self.unknowns)
        # D^T D of an exponential pattern would overflow
        scale = float(np.abs(self.apply(start[:, None])).max())
        if not np.isfinite(scale):
            return float("inf")
        operator = LinearOperator(
            (self.unknowns, self.unknowns),
            matvec=lambda x: self.apply(x.reshape(-1, 1))[:, 0] / scale,
            rmatvec=lambda x: self.apply_transpose(x.reshape(-1, 1))[:, 0] / scale,
            dtype=np.float64,
        )
        largest = svds(operator, k=1, v0=start, return_singular_vectors=False, tol=1e-6)
        return float(largest[0]) * scale

    def _columns(self, first: int) -> Floats:
        count = min(_BATCH, self.unknowns - first)
        unit = np.zeros((self.unknowns, count))
        unit[np.arange(first, first + count), np.arange(count)] = 1
        return self.apply(unit)

    def _estimate(self, scale: npt.NDArray[np.generic]) -> float:
        """Infinity norm of D diag(scale) from below (Hager 1984): sums over a few likely rows."""
        weights = np.asarray(scale, np.float64)[:, None]
        x = np.random.default_rng(0).choice([-1.0, 1.0], (self.unknowns, _STARTS))
        best = 0.0
        for step in range(_STARTS):
            with np.errstate(over="ignore", invalid="ignore"):
                y = weights * self.apply_transpose(x)
                size = float(np.abs(y).sum(axis=0).max())
            if not np.isfinite(size):
                return float("inf")
            if step and size <= best:
                break
            best = size if step else 0.0
            z = self.apply(weights * np.where(y < 0, -1.0, 1.0))
            x = np.zeros_like(x)
            x[np.argmax(np.abs(z), axis=0), np.arange(_STARTS)] = 1
        return best
