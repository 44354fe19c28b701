"""Norms of a linear decoder that is given by its action, without its matrix or row by row."""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse.linalg import ArpackError, LinearOperator, aslinearoperator, eigsh

from stabbench.arithmetic.streams import stream

Floats = npt.NDArray[np.float64]
LIMIT = 4096
"""Largest number of unknowns for which rows are formed one by one."""
BATCH = 128
VECTORS = (None, 50, 200)
"""Vectors that a Lanczos iteration keeps, none for what SciPy chooses, until one converges."""
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
        `frobenius` and `rms_amplification` are means over random vectors.
    one, frobenius : float
        Largest sum of |D| over a column; root of the sum of squares.
    rms_amplification : float
        ``|| D diag(||Phi_r||_2) ||_F`` over the root of the number of unknowns.
    """

    infinity: float
    two: float
    amplification: float
    estimated: bool
    one: float = math.inf
    frobenius: float = math.inf
    rms_amplification: float = math.inf


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
            infinity = self._estimate(np.ones(len(self.terms)))
            amplification = self._estimate(self.terms)
            one = self._estimate(np.ones(self.unknowns), transposed=True)
            frobenius, spread = self._spread(np.ones(len(self.terms)), np.sqrt(self.terms))
            two = self.two_norm()
            rms = spread / math.sqrt(self.unknowns)
            return Norms(infinity, two, amplification, True, one, max(two, frobenius), rms)
        plain = self.unknowns - len(self.missing)
        rows, growth, squares = float(plain > 0), float(plain > 0), math.sqrt(plain)
        columns, energy, roots = np.zeros(len(self.terms)), squares, np.sqrt(self.terms)[:, None]
        with np.errstate(over="ignore", invalid="ignore"):
            for first in range(0, len(self.missing), BATCH):
                size = np.abs(self._rows(self.missing[first : first + BATCH]))
                size[~np.isfinite(size)] = np.inf
                rows = max(rows, float(size.sum(axis=0).max()))
                growth = max(growth, float((self.terms @ size).max()))
                squares = math.hypot(squares, _norm(size))
                energy = math.hypot(energy, _norm(roots * size))
                columns += size.sum(axis=1)
        columns += self._plain_columns()
        rms = energy / math.sqrt(self.unknowns)
        return Norms(rows, self.two_norm(), growth, False, float(columns.max()), squares, rms)

    def two_norm(self) -> float:
        """Largest singular value; Lanczos iteration from a fixed start."""
        shape = (self.unknowns, len(self.terms))
        if min(shape) <= 2:
            return float(np.linalg.norm(self.apply(np.eye(shape[1])), 2))
        start = stream("start of Lanczos iteration").standard_normal(max(shape))
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
        return largest_singular_value(operator, start[: min(shape)]) * scale

    def _plain_columns(self) -> Floats:
        """Column sums of the unit rows."""
        ones = np.ones((self.unknowns, 1))
        ones[self.missing] = 0
        return np.asarray(self.apply_transpose(ones)[:, 0])

    def _rows(self, numbers: npt.NDArray[Any]) -> Floats:
        unit = np.zeros((self.unknowns, len(numbers)))
        unit[numbers, np.arange(len(numbers))] = 1
        return self.apply_transpose(unit)

    def _estimate(self, scale: npt.NDArray[np.generic], *, transposed: bool = False) -> float:
        """Infinity norm of D diag(scale) from below (Hager 1984): sums over a few likely rows."""
        weights = np.asarray(scale, np.float64)[:, None]
        both = (self.apply, self.apply_transpose)
        forth, back = both[::-1] if transposed else both
        count = len(self.terms) if transposed else self.unknowns
        x = stream("signs of row sums").choice([-1.0, 1.0], (count, _STARTS))
        best = 0.0
        for step in range(_STARTS):
            with np.errstate(over="ignore", invalid="ignore"):
                y = weights * back(x)
                size = float(np.abs(y).sum(axis=0).max())
            if not np.isfinite(size):
                return math.inf
            if step and size <= best:
                break
            best = size if step else 0.0
            z = forth(weights * np.where(y < 0, -1.0, 1.0))
            x = np.zeros_like(x)
            x[np.argmax(np.abs(z), axis=0), np.arange(_STARTS)] = 1
        return best

    def _spread(self, *scales: Floats) -> list[float]:
        """Frobenius norms of D diag(scale), as root mean squares over random signs."""
        signs = stream("signs of norms").choice([-1.0, 1.0], (self.unknowns, _STARTS))
        with np.errstate(over="ignore", invalid="ignore"):
            rows = self.apply_transpose(signs)
            return [_norm(scale[:, None] * rows) / math.sqrt(_STARTS) for scale in scales]


def largest_singular_value(matrix: Any, start: Floats) -> float:
    """Largest singular value by Lanczos iteration to full accuracy, the same in every run.

    Where the start lies in an invariant subspace the iteration goes on from a random vector. Its
    generator is given here, which `scipy.sparse.linalg.svds` does not do. Where the iteration
    stops short it begins again with more vectors.

    Parameters
    ----------
    matrix : sparse array or LinearOperator, more than two rows and columns
    start : array
        Of the length of its shorter side.

    Examples
    --------
    >>> import scipy.sparse
    >>> round(largest_singular_value(scipy.sparse.diags_array([1.0, 3.0, 2.0]), np.ones(3)), 9)
    3.0
    """
    tall = aslinearoperator(matrix)
    tall = tall.adjoint() if tall.shape[0] < tall.shape[1] else tall
    size = len(start)
    gram = LinearOperator((size, size), lambda x: tall.rmatvec(tall.matvec(x)), dtype=np.float64)
    reason = ""
    for vectors in VECTORS:
        count = None if vectors is None else min(vectors, size)
        try:
            _, vector = eigsh(gram, k=1, v0=start, ncv=count, rng=0)
            return float(np.linalg.norm(tall.matvec(vector[:, 0])))
        except ArpackError as error:
            reason = str(error)
    raise ArithmeticError(f"largest singular value: {reason}")


def _norm(matrix: Floats) -> float:
    """Frobenius norm without overflow of the squares; infinite where an entry is no number."""
    largest = float(np.abs(matrix).max(initial=0.0))
    if not math.isfinite(largest):
        return math.inf
    return largest * float(np.linalg.norm(matrix / (largest or 1.0)))
