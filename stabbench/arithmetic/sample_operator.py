"""Norms of a linear decoder that is given by its action, without its matrix or row by row."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import LinearOperator, svds

Floats = npt.NDArray[np.float64]
LIMIT = 4096
"""Largest number of unknowns for which rows are formed one by one."""
BATCH = 128
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
        ``|| |D| |Phi| ||_inf``, Phi the 0/1 matrix of the replies.
    estimated : bool
        Too many unknowns: `infinity`, `one` and `amplification` are lower bounds by Hager's method,
        `frobenius` is a mean over random vectors.
    one, frobenius : float
        Largest sum of |D| over a column; root of the sum of squares.
    """

    infinity: float
    two: float
    amplification: float
    estimated: bool
    one: float = math.inf
    frobenius: float = math.inf


class SampleOperator(ABC):
    """A decoder of one survivor pattern as a linear map D from samples to unknowns.

    Attributes
    ----------
    terms : ndarray of int, shape (samples,)
        How many unknowns each sample adds up.
    unknowns : int
    missing : ndarray of int
        Unknowns of the blocks that did not arrive plain; the others are samples of their own.
    """

    terms: npt.NDArray[Any]
    unknowns: int
    missing: npt.NDArray[Any]

    @abstractmethod
    def apply(self, samples: Floats) -> Floats:
        """D times columns: shape (samples, columns) to (unknowns, columns)."""

    @abstractmethod
    def apply_transpose(self, weights: Floats) -> Floats:
        """D^T times columns: shape (unknowns, columns) to (samples, columns)."""

    def norms(self, limit: int = LIMIT) -> Norms:
        """Norms and amplification, from the rows of D up to `limit` unknowns, else estimated."""
        if self.unknowns > limit:
            infinity, frobenius = self._estimate(np.ones(len(self.terms)))
            amplification, _ = self._estimate(self.terms)
            one, _ = self._estimate(np.ones(self.unknowns), transposed=True)
            two = self.two_norm()
            return Norms(infinity, two, amplification, True, one, max(two, frobenius))
        plain = self.unknowns - len(self.missing)
        rows, growth, squares = float(plain > 0), float(plain > 0), math.sqrt(plain)
        columns = np.zeros(len(self.terms))
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(self.missing), BATCH):
                size = np.abs(self._rows(self.missing[first : first + BATCH]))
                size[~np.isfinite(size)] = np.inf
                rows = max(rows, float(size.sum(axis=0).max()))
                growth = max(growth, float((self.terms @ size).max()))
                largest = float(size.max()) or 1.0
                part = math.inf
                if math.isfinite(largest):
                    part = largest * float(np.linalg.norm(size / largest))
                squares = math.hypot(squares, part)
                columns += size.sum(axis=1)
        columns += self._plain_columns()
        return Norms(rows, self.two_norm(), growth, False, float(columns.max()), squares)

    def two_norm(self) -> float:
        """Largest singular value; Lanczos iteration from a fixed start."""
        shape = (self.unknowns, len(self.terms))
        if min(shape) <= 2:
            return float(np.linalg.norm(self.apply(np.eye(shape[1])), 2))
        start = np.random.default_rng(0).standard_normal(max(shape))
        # D^T D of an exponential pattern would overflow
        scale = float(np.abs(self.apply(start[: shape[1], None])).max())
        if not np.isfinite(scale):
            return math.inf
        operator = LinearOperator(
            shape,
            matvec=lambda x: self.apply(x.reshape(-1, 1))[:, 0] / scale,
            rmatvec=lambda x: self.apply_transpose(x.reshape(-1, 1))[:, 0] / scale,
            dtype=np.float64,
        )
        start = start[: min(shape)]
        largest = svds(operator, k=1, v0=start, return_singular_vectors=False, tol=1e-6)
        return float(largest[0]) * scale

    def _plain_columns(self) -> Floats:
        """Column sums of the unit rows."""
        ones = np.ones((self.unknowns, 1))
        ones[self.missing] = 0
        return np.asarray(self.apply_transpose(ones)[:, 0])

    def _rows(self, numbers: npt.NDArray[Any]) -> Floats:
        unit = np.zeros((self.unknowns, len(numbers)))
        unit[numbers, np.arange(len(numbers))] = 1
        return self.apply_transpose(unit)

    def _estimate(
        self, scale: npt.NDArray[np.generic], *, transposed: bool = False
    ) -> tuple[float, float]:
        """Infinity norm of D diag(scale) from below (Hager 1984): sums over a few likely rows.

        The second value is the Frobenius norm, as the root mean square over random signs.
        """
        weights = np.asarray(scale, np.float64)[:, None]
        both = (self.apply, self.apply_transpose)
        forth, back = both[::-1] if transposed else both
        count = len(self.terms) if transposed else self.unknowns
        x = np.random.default_rng(0).choice([-1.0, 1.0], (count, _STARTS))
        best = frobenius = 0.0
        for step in range(_STARTS):
            with np.errstate(over="ignore", invalid="ignore"):
                y = weights * back(x)
                size = float(np.abs(y).sum(axis=0).max())
            if not np.isfinite(size):
                return math.inf, math.inf
            if not step:
                largest = float(np.abs(y).max()) or 1.0
                frobenius = largest * float(np.linalg.norm(y / largest)) / math.sqrt(_STARTS)
            if step and size <= best:
                break
            best = size if step else 0.0
            z = forth(weights * np.where(y < 0, -1.0, 1.0))
            x = np.zeros_like(x)
            x[np.argmax(np.abs(z), axis=0), np.arange(_STARTS)] = 1
        return best, frobenius
