"""Least squares on a shift-and-add code as a linear operator, for its norms."""

from typing import Any

import numpy as np
import numpy.typing as npt

from stabbench.arithmetic.banded import triangularize
from stabbench.arithmetic.peeling import Resolution
from stabbench.arithmetic.sample_operator import Floats, SampleOperator
from stabbench.codes.toeplitz import Line
from stabbench.decoders.zigzag import Samples


class SamplesOperator(SampleOperator):
    """Blocks that arrived, and the pseudo-inverse on what is left of the other replies.

    D = R^-1 R^-T A^T on the residuals, with one step of refinement, in float64.

    Parameters
    ----------
    line : Line
    use : Resolution

    Attributes
    ----------
    reads : int array, shape (samples,)
        Where each sample stands among all replies: worker times the longest reply, plus sample.

    Examples
    --------
    >>> from stabbench.arithmetic.peeling import resolution
    >>> from stabbench.arithmetic.shift_tables import shift_table
    >>> table = shift_table("vandermonde", 2, 2)
    >>> line = Line(table, 32, (1, 1), (32,), 1)
    >>> SamplesOperator(line, resolution(table, [0, 1])).norms().infinity < 64
    True
    """

    def __init__(self, line: Line, use: Resolution) -> None:
        positions = line.positions
        count, longest = len(positions), line.length + int(line.table.max())
        known = np.flatnonzero(use.known >= 0)
        plain = [use.known[j] * longest + line.places(int(use.known[j]), int(j)) for j in known]
        self.unknowns = line.unknowns
        self._known = (known[:, None] * count + np.arange(count)).ravel()
        samples = Samples(line, use)
        self._matrix, places = samples.matrix()
        block, position = samples.columns
        self.missing = use.missing[block] * count + np.searchsorted(positions, position)
        i, sample = np.divmod(places, longest)
        received = use.rows[i] * longest + sample
        self.reads: npt.NDArray[Any] = np.concatenate([*plain, received]).astype(np.int64)
        self._coupling: Any = line.sparse()[received][:, self._known]
        sizes = np.diff(self._matrix.indptr) + np.diff(self._coupling.tocsr().indptr)
        self.terms = np.concatenate([np.ones(len(self._known), np.int64), sizes])
        self._triangle, _ = triangularize(self._matrix, np.zeros((len(places), 1)))

    def apply(self, samples: Floats) -> Floats:
        """D times columns."""
        plain, received = np.split(samples, [len(self._known)])
        out = np.zeros((self.unknowns, samples.shape[1]))
        out[self._known] = plain
        right = received - self._coupling @ plain
        found = self._normal(right)
        out[self.missing] = found + self._normal(right - self._matrix @ found)
        return out

    def apply_transpose(self, weights: Floats) -> Floats:
        """D^T times columns."""
        triangle = self._triangle
        spread = self._matrix @ triangle.solve(triangle.solve_transposed(weights[self.missing]))
        plain = weights[self._known] - self._coupling.T @ spread
        return np.concatenate([plain, spread])

    def _normal(self, right: Floats) -> Floats:
        triangle = self._triangle
        return np.asarray(triangle.solve(triangle.solve_transposed(self._matrix.T @ right)))
