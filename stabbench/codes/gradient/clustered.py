"""Clusters of workers, each with a gradient code of its own."""

import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np

from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.parts import Part
from stabbench.codes.registry import code as build
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Clustered(GradientCode):
    """n / c clusters of c workers; each codes its own c partitions against s stragglers.

    Parameters
    ----------
    c : int, optional
        Workers per cluster, s + 1 unless given.
    inner : str
        The gradient code inside each cluster, as in ``clustered[c=5,inner='kadhe[d=5,m=3]']``.

    Raises
    ------
    InputError
        c that does not divide n, c <= s, an inner code that is none or only approximate.

    Examples
    --------
    >>> Clustered(6, 1, c=3).placement.astype(int)[0].tolist()
    [1, 1, 0, 0, 0, 0]
    """

    c: int | None = dataclasses.field(
        default=None, metadata={"help": "workers per cluster (default s + 1)"}
    )
    inner: str = dataclasses.field(
        default="cyclic-repetition", metadata={"help": "the code inside each cluster"}
    )

    name: ClassVar[str] = "clustered"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "clusters of any gradient code"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient"})

    def validate(self) -> None:
        """Raise InputError for clusters that do not fit."""
        c, s = self.size, self.stragglers
        if not s < c <= self.n or self.n % c:
            raise InputError(
                f"clustered: c={c}, n={self.n}, stragglers={s}; allowed are divisors of n above s"
            )
        if not isinstance(self.cluster, GradientCode) or self.cluster.approximate:
            raise InputError(f"clustered: inner={self.inner}; allowed are exact gradient codes")
        if self.cluster.messages != 1:
            raise InputError(f"clustered: inner={self.inner}; allowed are codes of one message")
        if self.cluster.partitions != c:
            raise InputError(
                f"clustered: inner={self.inner} has {self.cluster.partitions} partitions; "
                f"allowed are c={c}"
            )
        object.__setattr__(self, "inputs", (*self.inputs, *self.cluster.inputs))

    @property
    def size(self) -> int:
        """Workers per cluster."""
        return self.stragglers + 1 if self.c is None else self.c

    @functools.cached_property
    def cluster(self) -> Any:
        """The inner code."""
        return build(self.inner, self.size, self.stragglers)

    @property
    def closed(self) -> str:  # type: ignore[override]
        """The closed form of the inner code."""
        return str(self.cluster.closed)

    @property
    def reduction(self) -> int:
        """That of the inner code."""
        return int(self.cluster.reduction)

    @property
    def is_complex(self) -> bool:
        """Whether the inner code is."""
        return bool(self.cluster.is_complex)

    @functools.cached_property
    def placement(self) -> Array:
        """Block diagonal."""
        return np.kron(np.eye(self.n // self.size), self.cluster.placement) > 0

    def coefficients(self, bits: int) -> Any:
        """Block diagonal."""
        inner = self.cluster.coefficients(bits)
        rows = inner.tolist() if hasattr(inner, "tolist") else inner
        width = self.size * self.reduction
        return [
            [*[0] * (a * width), *rows[t], *[0] * (self.n * self.reduction - (a + 1) * width)]
            for a in range(self.n // self.size)
            for t in range(self.size)
        ]

    @functools.cached_property
    def parts(self) -> tuple[Part, ...]:
        """The parts of every cluster."""
        return tuple(
            part.at(part.rows + start)
            for start in range(0, self.n, self.size)
            for part in self.cluster.parts
        )

    def closed_form(self, arrived: Array, dtype: np.dtype[Any]) -> Array:
        """The inner closed form, cluster by cluster."""
        starts = range(0, self.n, self.size)
        found = [self.cluster.closed_form(arrived[:, a : a + self.size], dtype) for a in starts]
        return np.concatenate(found, axis=2)
