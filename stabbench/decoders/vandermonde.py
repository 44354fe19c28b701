"""Bjorck-Pereyra: decoding of polynomial codes from the nodes, without a matrix."""

import dataclasses
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.arithmetic import operations
from stabbench.arithmetic.coefficients import Coefficients
from stabbench.arithmetic.dense import vandermonde_solve
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import Code, System
from stabbench.codes.polynomial import Polynomial
from stabbench.codes.product import ProductSystem
from stabbench.decoders.base import Decoder, Plan, Spare, as_blocks, as_columns, width

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class NodePlan(Plan):
    """Nodes of every pattern in the order in which they are taken, and their replies.

    Attributes
    ----------
    rows : int array, shape (P, k)
    nodes : array, shape (P, k)
    degrees : int array, shape (k,)
        The power of the node that each unknown is the coefficient of.
    """

    rows: Array
    nodes: Array
    degrees: Array

    def decode(self, replies: Array) -> Array:
        """Divided differences and Newton to monomial, shape (P, k, L, m)."""
        received = as_columns(replies, self.nodes.dtype)[self.rows]
        coefficients = vandermonde_solve(self.nodes, received)
        return as_blocks(coefficients[:, self.degrees], replies)

    def operations(self, replies: Array, sent: Array) -> Array:
        """Those of `operations.vandermonde`, the same for every pattern."""
        count, k = self.nodes.shape
        once = operations.vandermonde(k, width(replies, self.nodes.dtype))
        return np.full(count, once * operations.factor(np.iscomplexobj(self.nodes)))


@dataclasses.dataclass(frozen=True)
class BjorckPereyra(Decoder):
    """Divided differences on the survivors' nodes, O(k^2) per column and no elimination.

    The nodes are rounded once to the decoding precision; that mismatch with the generator's
    entries counts as decoding error. Spare replies are dropped: it interpolates through k values.

    Parameters
    ----------
    order : str
        ``ascending`` (by real part, then imaginary part), ``random`` (a fixed permutation) or
        ``leja`` (greedy, each node farthest from those before it in the product of distances).
    """

    order: Literal["ascending", "random", "leja"] = dataclasses.field(
        default="leja", metadata={"help": "order of the nodes"}
    )

    name: ClassVar[str] = "bjorck-pereyra"
    uses_spare = False
    source: ClassVar[str] = "Bjorck, Pereyra, Math. Comp. 24, 1970; Higham, BIT 30, 1990"

    def accepts(self, code: Code) -> str:
        """Polynomial codes in the monomial basis."""
        if isinstance(code, Polynomial):
            return ""
        return "it needs a polynomial code in the monomial basis"

    def accepts_precision(self, precision: Precision) -> str:
        """Elementwise operations run in every precision."""
        return ""

    def plan(
        self, code: Code, system: System, patterns: Array, precision: Precision, spare: Spare
    ) -> Plan:
        """Order the nodes of the first k survivors of every pattern."""
        assert isinstance(code, Polynomial)
        rows = system.rows(patterns)[:, : code.blocks]
        points = Coefficients(
            lambda bits: [[x] for x in code.points(bits)], (code.n, 1), complex=code.is_complex
        )
        nodes = points.rounded(precision.decoding)[:, 0]
        rows = np.take_along_axis(rows, self.arrange(nodes[rows]), axis=1)
        return NodePlan(rows, nodes[rows], degrees(code, system))

    def arrange(self, nodes: Array) -> Array:
        """Positions of the nodes of each pattern in the order of this decoder, shape (P, k)."""
        if self.order == "ascending":
            return np.argsort(nodes, axis=1, kind="stable")
        if self.order == "random":
            permutation = stream("order of nodes", nodes.shape[1]).permutation(nodes.shape[1])
            return np.broadcast_to(permutation, nodes.shape)
        return leja(nodes)


def degrees(code: Polynomial, system: System) -> Array:
    """Powers of the node in the order of the unknowns: j, for products a + kA b in block (a, b).

    Examples
    --------
    >>> grid = Polynomial(6, 0, kA=2, kB=3)
    >>> degrees(grid, grid.system()).tolist(), degrees(grid, grid.system("matmul")).tolist()
    ([0, 1, 2, 3, 4, 5], [0, 2, 4, 1, 3, 5])
    """
    if not isinstance(system, ProductSystem):
        return np.arange(code.blocks)
    left, _, right = code.layout
    return np.add.outer(np.arange(left), left * np.arange(right)).ravel()


def leja(nodes: Array) -> Array:
    """Greedy Leja order of each row: from the node of largest magnitude on.

    Examples
    --------
    >>> leja(np.array([[0.0, 0.5, -1.0, 1.0]])).tolist()
    [[2, 3, 0, 1]]
    """
    values = nodes.astype(np.complex128)
    every = np.arange(len(values))
    chosen = np.argmax(np.abs(values), axis=1)
    order = [chosen]
    score = np.zeros(values.shape)
    with np.errstate(divide="ignore"):
        for _ in range(values.shape[1] - 1):
            score += np.log(np.abs(values - values[every, chosen][:, None]))
            chosen = np.argmax(score, axis=1)
            order.append(chosen)
    return np.stack(order, axis=1)
