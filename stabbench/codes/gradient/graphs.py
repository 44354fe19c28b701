"""Approximate gradient codes from graphs: expanders, and machines as edges."""

import dataclasses
import functools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.approximate import ApproximateCode, EqualWeights
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
Edge = tuple[int, int]


def regular_graph(d: int, vertices: int, seed: int, what: str) -> list[Edge]:
    """Edges of a random connected d-regular graph, sorted.

    Raises
    ------
    InputError
        If there is none.

    Examples
    --------
    >>> regular_graph(2, 3, 0, "graph")
    [(0, 1), (0, 2), (1, 2)]
    """
    import networkx as nx

    if not 2 <= d < vertices or d * vertices % 2:
        raise InputError(
            f"{what}: d={d} on {vertices} vertices; allowed are "
            "2 <= d < vertices, d * vertices even"
        )
    for attempt in range(100):
        random = stream("graph tried again", seed, attempt) if attempt else seed
        graph = nx.random_regular_graph(d, vertices, seed=random)
        if nx.is_connected(graph):
            return sorted((min(a, b), max(a, b)) for a, b in graph.edges)
    raise InputError(f"{what}: d={d}, seed={seed} give no connected graph; allowed is another seed")


@dataclasses.dataclass(frozen=True)
class Expander(EqualWeights):
    """B = adjacency / d of a d-regular graph on the n workers, weights n / (n - s).

    ||B_F^T a - 1|| <= (lambda / d) sqrt(n s / (n - s)) for any s stragglers, lambda the second
    largest absolute eigenvalue of the adjacency matrix.

    Parameters
    ----------
    d : int
        Degree of the graph, the load.
    seed : int
        The random regular graph.

    Examples
    --------
    >>> code = Expander(10, 2, d=4)
    >>> code.placement.sum(axis=0).tolist() == [4] * 10, round(code.bound(2), 3) > 0
    (True, True)
    """

    d: int = dataclasses.field(default=4, metadata={"help": "degree of the graph"})
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random graph"})

    name: ClassVar[str] = "expander"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Raviv, Tandon, Dimakis, Tamo, arXiv:1707.03858"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "random", "gradient", "approximate"})
    closed: ClassVar[str] = "the constant n / (n - s)"

    def validate(self) -> None:
        """Raise InputError if there is no such graph."""
        self.require(seed=0)
        regular_graph(self.d, self.n, self.seed, self.name)

    @functools.cached_property
    def placement(self) -> Array:
        """The adjacency matrix."""
        A = np.zeros((self.n, self.n), dtype=bool)
        for a, b in regular_graph(self.d, self.n, self.seed, self.name):
            A[a, b] = A[b, a] = True
        return A

    @property
    def scale(self) -> Fraction:
        """1 / d."""
        return Fraction(1, self.d)

    def weight(self, survivors: int) -> Fraction:
        """The weight n / r."""
        return Fraction(self.n, survivors)

    @functools.cached_property
    def second_eigenvalue(self) -> float:
        """lambda, the second largest absolute eigenvalue of the adjacency matrix."""
        values = np.sort(np.abs(np.linalg.eigvalsh(self.placement.astype(np.float64))))
        return float(values[-2])

    def bound(self, stragglers: int) -> float:
        """(lambda / d) sqrt(n s / (n - s))."""
        n, s = self.n, stragglers
        return float(self.second_eigenvalue / self.d * np.sqrt(n * s / (n - s)))


@dataclasses.dataclass(frozen=True)
class Graph(ApproximateCode):
    """Vertices are the partitions, edges the n workers, each of which sends the sum of two.

    The best combination of the survivors weighs the partitions of a component of the surviving
    graph with 1 if it is not bipartite, else, with sides L and R, |L| >= |R|, with
    1 - (|L| - |R|) / (|L| + |R|) on L and 1 + .. on R. Weights of the edges follow along a
    spanning tree, in time linear in n.

    Parameters
    ----------
    d : int
        Degree; there are K = 2 n / d partitions.
    seed : int
        The random regular graph.

    Raises
    ------
    InputError
        If d does not divide 2 n, or no such graph exists.

    Examples
    --------
    >>> code = Graph(3, 1, d=2)
    >>> code.rational_form(np.array([True, True, False]))
    [Fraction(2, 3), Fraction(2, 3), Fraction(0, 1)]
    """

    d: int = dataclasses.field(default=3, metadata={"help": "degree of the graph"})
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random graph"})

    name: ClassVar[str] = "graph"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Glasgow, Wootters, arXiv:2006.09638"
    groups: ClassVar[frozenset[str]] = frozenset(
        {"real", "binary", "random", "gradient", "approximate"}
    )
    closed: ClassVar[str] = "the sides of the components of the surviving graph"

    def validate(self) -> None:
        """Raise InputError if there is no such graph."""
        self.require(seed=0)
        if self.d < 1 or 2 * self.n % self.d:
            raise InputError(f"graph: d={self.d}, n={self.n} edges; allowed is d dividing 2 n")
        regular_graph(self.d, self.partitions, self.seed, self.name)

    @property
    def partitions(self) -> int:
        """K = 2 n / d vertices."""
        return 2 * self.n // self.d

    @functools.cached_property
    def edges(self) -> list[Edge]:
        """The two partitions of each worker."""
        return regular_graph(self.d, self.partitions, self.seed, self.name)

    @functools.cached_property
    def placement(self) -> Array:
        """The incidence matrix, n x K."""
        A = np.zeros((self.n, self.partitions), dtype=bool)
        A[np.arange(self.n)[:, None], np.array(self.edges)] = True
        return A

    def vertex_form(self, arrived: Array) -> list[Fraction]:
        """How often each partition enters the best sum, shape (K,)."""
        values = [Fraction(0)] * self.partitions
        for tree in components(self.edges, arrived, self.partitions):
            for vertex in tree.order:
                values[vertex] = tree.value(vertex)
        return values

    def rational_form(self, arrived: Array) -> list[Fraction]:
        """Weights of the edges, from the leaves of each component's spanning tree up."""
        weights = [Fraction(0)] * self.n
        for tree in components(self.edges, arrived, self.partitions):
            rest = {vertex: tree.value(vertex) for vertex in tree.order}
            if tree.odd is not None:
                # an odd edge changes the root's remainder by twice its weight, up to sign
                a, b = self.edges[tree.odd]
                excess = sum((tree.sign[v] * rest[v] for v in tree.order), Fraction(0))
                weights[tree.odd] = tree.sign[a] * excess / 2
                rest[a] -= weights[tree.odd]
                rest[b] -= weights[tree.odd]
            for vertex in reversed(tree.order[1:]):
                edge, parent = tree.parent[vertex]
                weights[edge] = rest[vertex]
                rest[parent] -= rest[vertex]
        return weights


@dataclasses.dataclass
class Tree:
    """A spanning tree of a component, its two colours, and an edge within one colour if any."""

    order: list[int]
    sign: dict[int, int]
    parent: dict[int, Edge]
    odd: int | None = None

    def value(self, vertex: int) -> Fraction:
        """How often the best combination of this component takes a partition."""
        if self.odd is not None:
            return Fraction(1)
        excess = sum(self.sign[v] for v in self.order)
        return 1 - self.sign[vertex] * Fraction(excess, len(self.order))


def components(edges: list[Edge], arrived: Array, vertices: int) -> Iterator[Tree]:
    """Spanning trees of the components of the graph of the edges that arrived."""
    near: list[list[Edge]] = [[] for _ in range(vertices)]
    for edge in np.flatnonzero(arrived).tolist():
        a, b = edges[edge]
        near[a].append((edge, b))
        near[b].append((edge, a))
    seen: set[int] = set()
    for root in range(vertices):
        if root in seen:
            continue
        tree = Tree([root], {root: 1}, {})
        for vertex in tree.order:  # grows while it is walked
            for edge, other in near[vertex]:
                if other not in tree.sign:
                    tree.sign[other] = -tree.sign[vertex]
                    tree.parent[other] = (edge, vertex)
                    tree.order.append(other)
                elif tree.sign[other] == tree.sign[vertex]:
                    tree.odd = edge
        seen.update(tree.order)
        yield tree
