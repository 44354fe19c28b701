"""Communication graphs and their mixing weights; the graphs themselves are built by networkx."""

import dataclasses
import functools
import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any, ClassVar, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.precision import precision
from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse

Weights = Literal["uniform", "metropolis"]


@dataclasses.dataclass(frozen=True)
class Topology(ABC):
    """A family of connected undirected graphs on n workers."""

    name: ClassVar[str]
    transitive: ClassVar[bool] = False
    """Whether every worker sees the same graph."""

    @abstractmethod
    def build(self, n: int) -> Any:
        """The networkx graph; its nodes are numbered afterwards, in their order."""


class Ring(Topology):
    """A cycle; two workers share one edge."""

    name = "ring"
    transitive = True

    def build(self, n: int) -> Any:
        """The cycle of n >= 3 workers, else the path."""
        import networkx as nx

        return nx.cycle_graph(n) if n > 2 else nx.path_graph(n)


@dataclasses.dataclass(frozen=True)
class Torus(Topology):
    """A periodic grid, as square as n allows unless `rows` is given.

    Parameters
    ----------
    rows : int, optional
    """

    rows: int | None = dataclasses.field(default=None, metadata={"help": "rows of the grid"})

    name: ClassVar[str] = "torus"
    transitive: ClassVar[bool] = True

    def build(self, n: int) -> Any:
        """The grid of `rows` times n / rows workers."""
        import networkx as nx

        rows = self.rows
        if rows is None:
            rows = max(r for r in range(1, math.isqrt(n) + 1) if n % r == 0)
        if rows < 1 or n % rows:
            raise InputError(f"graph torus: rows={rows}; allowed are divisors of n={n}")
        if 1 in (rows, n // rows):
            return Ring().build(n)
        return nx.grid_2d_graph(rows, n // rows, periodic=True)


class Hypercube(Topology):
    """The hypercube; n is a power of two."""

    name = "hypercube"
    transitive = True

    def build(self, n: int) -> Any:
        """The hypercube of log2 n dimensions."""
        import networkx as nx

        if n & (n - 1):
            raise InputError(f"graph hypercube: n={n}; allowed are powers of two")
        return nx.hypercube_graph(n.bit_length() - 1) if n > 1 else nx.path_graph(1)


class Complete(Topology):
    """Every worker talks to every other."""

    name = "complete"
    transitive = True

    def build(self, n: int) -> Any:
        """The complete graph."""
        import networkx as nx

        return nx.complete_graph(n)


class Exponential(Topology):
    """Worker i talks to i +- 1, 2, 4, ..., modulo n."""

    name = "exponential"
    transitive = True

    def build(self, n: int) -> Any:
        """The circulant graph of the powers of two up to n / 2."""
        import networkx as nx

        hops = [2**t for t in range(n.bit_length()) if 2**t <= n // 2]
        return nx.circulant_graph(n, hops)


class Path(Topology):
    """A line of workers."""

    name = "path"

    def build(self, n: int) -> Any:
        """The path graph."""
        import networkx as nx

        return nx.path_graph(n)


class Star(Topology):
    """Worker 0 talks to all others."""

    name = "star"

    def build(self, n: int) -> Any:
        """The star with centre 0."""
        import networkx as nx

        return nx.star_graph(n - 1)


@dataclasses.dataclass(frozen=True)
class ErdosRenyi(Topology):
    """Every edge is there with probability p.

    Parameters
    ----------
    p : float
    seed : int
    """

    p: float = dataclasses.field(default=0.5, metadata={"help": "probability of an edge"})
    seed: int = dataclasses.field(default=0, metadata={"help": "picks the graph"})

    name: ClassVar[str] = "erdos-renyi"

    def build(self, n: int) -> Any:
        """The random graph of this seed."""
        import networkx as nx

        if not 0 <= self.p <= 1:
            raise InputError(f"graph erdos-renyi: p={self.p}; allowed is 0 .. 1")
        return nx.gnp_random_graph(n, self.p, seed=self.seed)


TOPOLOGIES: dict[str, type[Topology]] = {
    topology.name: topology
    for topology in (Ring, Torus, Hypercube, Complete, Exponential, Path, Star, ErdosRenyi)
}


@dataclasses.dataclass(frozen=True, eq=False)
class Mixing:
    """A symmetric, doubly stochastic matrix W on a connected graph, with its lists of neighbours.

    Attributes
    ----------
    entries : dict of (int, int) to Fraction
        W_ij of the edges, both directions.
    n : int
    transitive : bool
        Whether every worker sees the same graph and the same weights.

    Examples
    --------
    >>> mixing("ring", 4).matrix[0]
    array([0.33333333, 0.33333333, 0.        , 0.33333333])
    """

    n: int
    entries: dict[tuple[int, int], Fraction]
    transitive: bool = False

    @classmethod
    def from_matrix(cls, matrix: NDArray[Any]) -> "Mixing":
        """The mixing of a user's matrix; off-diagonal entries are taken as they are.

        Parameters
        ----------
        matrix : float array, shape (n, n)

        Raises
        ------
        InputError
            If it is not square, symmetric, nonnegative, of row sums 1 or of a connected graph.

        Examples
        --------
        >>> Mixing.from_matrix(np.array([[0.5, 0.5], [0.25, 0.75]]))
        Traceback (most recent call last):
        ...
        stabbench.errors.InputError: mixing matrix: W[0,1]=0.5 but W[1,0]=0.25; allowed are
        symmetric matrices
        """
        w = np.asarray(matrix, dtype=np.float64)
        if w.ndim != 2 or w.shape[0] != w.shape[1] or not w.size:
            raise InputError(f"mixing matrix of shape {w.shape}; allowed is (n, n)")
        if not np.isfinite(w).all() or (w < 0).any():
            raise InputError("mixing matrix: negative or not finite; allowed are numbers from 0")
        if (w != w.T).any():
            i, j = np.argwhere(w != w.T)[0]
            raise InputError(
                f"mixing matrix: W[{i},{j}]={w[i, j]:g} but W[{j},{i}]={w[j, i]:g}; "
                "allowed are symmetric matrices"
            )
        sums = w.sum(axis=1)
        if (off := np.abs(sums - 1)).max() > 1e-12:
            row = int(off.argmax())
            raise InputError(f"mixing matrix: row {row} sums to {sums[row]:g}; allowed is 1")
        rows, columns = np.nonzero(w)
        edges = {
            (int(i), int(j)): Fraction(float(w[i, j]))
            for i, j in zip(rows, columns, strict=True)
            if i != j
        }
        _check_connected(len(w), edges, "mixing matrix")
        return cls(len(w), edges)

    @functools.cached_property
    def start(self) -> NDArray[np.int64]:
        """Where the neighbours of each worker begin in `sender`, shape (n + 1,)."""
        degree = np.bincount([i for i, _ in sorted(self.entries)], minlength=self.n)
        return np.concatenate([[0], np.cumsum(degree)]).astype(np.int64)

    @functools.cached_property
    def sender(self) -> NDArray[np.int64]:
        """The neighbours of all workers, one after the other; slot s holds a copy of sender[s]."""
        return np.array([j for _, j in sorted(self.entries)], dtype=np.int64)

    def own(self) -> list[Fraction]:
        """The diagonal 1 - sum of the others, exactly."""
        sums = [Fraction(1)] * self.n
        for (i, _), value in self.entries.items():
            sums[i] -= value
        return sums

    def rounded(self, dtype: np.dtype[Any]) -> NDArray[Any]:
        """The weight of every slot, each rounded once."""
        form = precision(dtype.name).storage
        values = [self.entries[edge] for edge in sorted(self.entries)]
        return np.array([form.round_ratio(*v.as_integer_ratio()) for v in values], dtype=dtype)

    def diagonal(self, dtype: np.dtype[Any], *, complement: bool) -> NDArray[Any]:
        """The diagonal rounded once; with `complement`, of 1 - sum of the rounded others."""
        form = precision(dtype.name).storage
        own = self.own()
        if complement:
            own = [Fraction(1)] * self.n
            for (i, _), value in zip(sorted(self.entries), self.rounded(dtype), strict=True):
                own[i] -= Fraction(float(value))
        return np.array([form.round_ratio(*v.as_integer_ratio()) for v in own], dtype=dtype)

    @functools.cached_property
    def matrix(self) -> NDArray[np.float64]:
        """W in float64."""
        w = np.diag([float(v) for v in self.own()])
        for (i, j), value in self.entries.items():
            w[i, j] = float(value)
        return w

    @functools.cached_property
    def spectrum(self) -> NDArray[np.float64]:
        """The eigenvalues of I - W, rising; the first is 0."""
        values = np.linalg.eigvalsh(np.eye(self.n) - self.matrix).astype(np.float64)
        values[0] = 0.0
        return values

    @property
    def largest(self) -> float:
        """lambda_max(I - W); 0 for one worker."""
        return float(self.spectrum[-1])

    @property
    def away(self) -> float:
        """max(1 - W_ii); 0 for one worker."""
        return float(1 - np.diag(self.matrix).min())


def topology(text: str) -> Topology:
    """The family of graphs that a grammar string names.

    Raises
    ------
    InputError
        Unknown name or parameter.
    """
    spec = parse(text)
    if spec.name not in TOPOLOGIES:
        raise InputError(f"unknown graph {spec.name!r}; {near(spec.name, TOPOLOGIES)}")
    return bind(TOPOLOGIES[spec.name], spec)


def graph_spec(text: str) -> str:
    """The grammar string of a graph with every parameter."""
    built = topology(text)
    return canonical(built, built.name, full=True)


def mixing(graph: str | Topology, n: int, weights: str = "uniform") -> Mixing:
    """Mixing weights on a graph of n workers.

    Parameters
    ----------
    graph : str or Topology
        ``ring``, ``torus[rows=R]``, ``hypercube``, ``complete``, ``exponential``, ``path``,
        ``star`` or ``erdos-renyi[p=P,seed=S]``.
    n : int
        Number of workers.
    weights : str
        ``uniform``: 1 / (degree + 1), on regular graphs only, since elsewhere W is not symmetric;
        ``metropolis``: 1 / (1 + the larger degree of the two).

    Returns
    -------
    Mixing

    Raises
    ------
    InputError
        Unknown names, n < 1, a graph that is not connected, uniform weights where the degrees
        differ.

    Examples
    --------
    >>> mixing("star", 4, "uniform")
    Traceback (most recent call last):
    ...
    stabbench.errors.InputError: graph star, n=4: weights uniform are not symmetric, as degrees
    differ (1 to 3); allowed is metropolis
    >>> round(mixing("ring", 8).largest, 4)
    1.3333
    """
    built = topology(graph) if isinstance(graph, str) else graph
    if weights not in get_args(Weights):
        raise InputError(f"weights {weights!r}; {near(weights, get_args(Weights))}")
    if n < 1:
        raise InputError(f"graph {built.name}: n={n} workers; allowed is an integer >= 1")
    graph_ = built.build(n)
    number = {node: i for i, node in enumerate(graph_.nodes)}
    pairs = [(number[a], number[b]) for a, b in graph_.edges if a != b]
    degree = np.bincount(np.array(pairs, dtype=np.int64).ravel(), minlength=n)
    where = f"graph {built.name}, n={n}"
    if weights == "uniform" and degree.min() != degree.max():
        raise InputError(
            f"{where}: weights uniform are not symmetric, as degrees differ "
            f"({degree.min()} to {degree.max()}); allowed is metropolis"
        )
    entries = {}
    for a, b in pairs:
        entries[a, b] = entries[b, a] = Fraction(1, 1 + int(max(degree[a], degree[b])))
    _check_connected(n, entries, where)
    return Mixing(n, entries, built.transitive)


def _check_connected(n: int, edges: dict[tuple[int, int], Fraction], where: str) -> None:
    import networkx as nx

    graph = nx.Graph()
    graph.add_nodes_from(range(n))
    graph.add_edges_from(edges)
    parts = nx.number_connected_components(graph)
    if parts != 1:
        raise InputError(f"{where}: {parts} parts without a link; allowed are connected graphs")
