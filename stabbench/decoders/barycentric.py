"""Barycentric interpolation: decoding of codes given by values, straight from values to values."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import operations
from stabbench.arithmetic.kernels import checked
from stabbench.arithmetic.precision import Precision
from stabbench.codes.base import Code, System
from stabbench.codes.interpolation import Interpolated
from stabbench.decoders.base import Decoder, Plan, Spare, as_blocks, as_columns, width

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class BarycentricPlan(Plan):
    """Weights of the replies for every wanted point.

    Attributes
    ----------
    rows : int array, shape (P, r)
    weights : array, shape (P, points, r)
        w_i / (beta_j - alpha_i), or a unit row where beta_j is alpha_i.
    reduction : float, optional
        Factor of the sum over the points.
    """

    rows: Array
    weights: Array
    reduction: float | None

    def decode(self, replies: Array) -> Array:
        """Quotients of weighted sums, shape (P, wanted, L, m)."""
        dtype = self.weights.dtype
        received = as_columns(replies, dtype)[self.rows]
        with np.errstate(all="ignore"):
            values = np.matmul(self.weights, received) / self.weights.sum(axis=2)[..., None]
            if self.reduction is not None:
                values = values.sum(axis=1, keepdims=True) * dtype.type(self.reduction)
        return as_blocks(checked(values, dtype), replies)

    def operations(self, replies: Array, sent: Array) -> Array:
        """Weighted sums, sums of weights, quotients per point; a sum over points and a factor."""
        count, points, r = self.weights.shape
        columns = width(replies, self.weights.dtype)
        total = operations.product(points, r, columns) + points * (r - 1) + points * columns
        if self.reduction is not None:
            total += points * columns
        return np.full(count, float(total) * operations.factor(np.iscomplexobj(self.weights)))

    def operator(self) -> Array:
        """The decoding matrices D_F, shape (P, wanted, r)."""
        with np.errstate(all="ignore"):
            matrices: Array = self.weights / self.weights.sum(axis=2, keepdims=True)
            if self.reduction is not None:
                matrices = matrices.sum(axis=1, keepdims=True) * self.reduction
        return matrices


@dataclasses.dataclass(frozen=True)
class Barycentric(Decoder):
    """Second barycentric formula on the survivors' points, which are rounded once.

    Polynomials are interpolated through as many replies as they have coefficients; Berrut's
    rational interpolant through all that arrive.
    """

    name: ClassVar[str] = "barycentric"
    source: ClassVar[str] = "Berrut, Trefethen, SIAM Review 46, 2004; Higham, IMAJNA 24, 2004"
    uses_spare = False

    def accepts(self, code: Code) -> str:
        """Codes given by values."""
        return "" if isinstance(code, Interpolated) else "it needs a code given by values"

    def accepts_precision(self, precision: Precision) -> str:
        """Products and quotients run in every precision."""
        return ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> BarycentricPlan:
        """Weights from the points rounded to decoding precision."""
        assert isinstance(code, Interpolated)
        rows = system.rows(patterns)
        if not code.rational:
            rows = rows[:, : code.threshold]
        alphas = code.alphas.rounded(precision.decoding)[:, 0]
        betas = code.betas.rounded(precision.decoding)[:, 0]
        survivors = alphas[rows]
        weights = alternating(survivors) if code.rational else polynomial_weights(survivors)
        return BarycentricPlan(rows, point_weights(survivors, weights, betas), code.reduction)


def alternating(nodes: Array) -> Array:
    """(-1)^i over the nodes of each set in descending order.

    Examples
    --------
    >>> alternating(np.array([[0.5, -1.0, 1.0]])).tolist()
    [[-1.0, 1.0, 1.0]]
    """
    rank = np.argsort(np.argsort(-nodes, axis=1), axis=1)
    signs: Array = (1 - 2 * (rank % 2)).astype(nodes.dtype)
    return signs


def polynomial_weights(nodes: Array) -> Array:
    """1 / product of the differences to the other nodes, scaled by the capacity of the set."""
    gaps = nodes[:, :, None] - nodes[:, None, :]
    widest = np.abs(gaps).max(axis=(1, 2), initial=0)
    capacity = np.where(widest > 0, widest, 1) / (2 if np.iscomplexobj(nodes) else 4)
    scaled = gaps / capacity[:, None, None].astype(nodes.real.dtype)
    scaled[:, np.arange(nodes.shape[1]), np.arange(nodes.shape[1])] = 1
    with np.errstate(all="ignore"):
        weights: Array = 1 / np.prod(scaled, axis=2)
    return checked(weights, nodes.dtype)


def point_weights(nodes: Array, weights: Array, points: Array) -> Array:
    """w_i / (point - node_i), and unit rows where a point is a node, shape (P, points, r)."""
    kind = np.result_type(nodes, points)
    gaps = points[None, :, None] - nodes[:, None, :]
    with np.errstate(all="ignore"):
        quotients = weights[:, None, :] / gaps
    hit = gaps == 0
    chosen: Array = np.where(hit.any(axis=2, keepdims=True), hit, quotients).astype(kind)
    return chosen
