"""An adaptive code: the load follows the stragglers that there really are."""

import dataclasses
import functools
from typing import Any, ClassVar, Literal

import numpy as np

from stabbench.codes.gradient.base import GradientCode, entries
from stabbench.codes.gradient.cyclic_mds import CyclicMDS
from stabbench.codes.gradient.cyclic_repetition import CyclicRepetition
from stabbench.codes.gradient.parts import Part

Array = np.ndarray[Any, np.dtype[Any]]
Inner = Literal["cyclic-repetition", "cyclic-mds"]


def cyclic_code(inner: Inner, n: int, tolerance: int, seed: int) -> GradientCode:
    """The cyclic code of load tolerance + 1."""
    if inner == "cyclic-mds":
        return CyclicMDS(n, tolerance)
    return CyclicRepetition(n, tolerance, seed=seed)


@dataclasses.dataclass(frozen=True)
class Nested(GradientCode):
    """Worker j works through partitions j, j+1, .. and tells after each what it has.

    Its q-th message is the combination of its first q partitions under the cyclic code of
    tolerance q - 1, q = 1 .. s+1. The master decodes at the least q of which n - (q-1) messages
    have come. Patterns count messages; in a pattern of 0 and 1 who replies sends them all.

    Parameters
    ----------
    inner : str
        ``cyclic-mds`` or ``cyclic-repetition``.
    seed : int
        The draws of cyclic-repetition.

    Examples
    --------
    >>> code = Nested(4, 2)
    >>> code.level(code.arrived(np.array([[1, 2, 2, 0]])))  # three workers finished two partitions
    array([0])
    >>> code.level(code.arrived(np.array([[2, 2, 2, 0]])))
    array([2])
    """

    inner: Inner = dataclasses.field(
        default="cyclic-mds", metadata={"help": "the cyclic code of every level"}
    )
    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draws"})

    name: ClassVar[str] = "nested"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "after Massny et al., 2022"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient", "cyclic", "adaptive"})

    def validate(self) -> None:
        """Raise InputError for a negative seed."""
        self.require(seed=0)

    @functools.cached_property
    def levels(self) -> tuple[GradientCode, ...]:
        """The code of every level q - 1 = 0 .. s."""
        tolerances = range(self.stragglers + 1)
        return tuple(cyclic_code(self.inner, self.n, t, self.seed) for t in tolerances)

    @property
    def messages(self) -> int:
        """One per level, s + 1."""
        return self.stragglers + 1

    @property
    def tradeoff(self) -> str:
        """How every level stands to the bound."""
        return "by level: " + ", ".join(level.tradeoff for level in self.levels)

    @property
    def is_complex(self) -> bool:
        """Whether some level is."""
        return any(level.is_complex for level in self.levels)

    @functools.cached_property
    def placement(self) -> Array:
        """Message q of worker j reads partitions j .. j+q-1."""
        stacked = np.stack([level.placement for level in self.levels], axis=1)
        return stacked.reshape(self.n * self.messages, self.n)

    def coefficients(self, bits: int) -> Any:
        """The rows of all levels, those of a worker together."""
        tables = [entries(level.encoding, bits) for level in self.levels]
        return [tables[q][j] for j in range(self.n) for q in range(self.messages)]

    @functools.cached_property
    def by_level(self) -> tuple[tuple[Part, ...], ...]:
        """The parts of every level."""
        found = []
        for q, level in enumerate(self.levels):
            rows = np.arange(self.n) * self.messages + q
            found.append(tuple(part.at(rows[part.rows]) for part in level.parts))
        return tuple(found)

    def level(self, arrived: Array) -> Array:
        """The least level q that decodes, shape (P,); 0 where none does."""
        counts = arrived.reshape(len(arrived), self.n, self.messages).sum(axis=1)
        enough = counts >= self.n - np.arange(self.messages)
        return np.where(enough.any(axis=1), enough.argmax(axis=1) + 1, 0)

    def stages(self, arrived: Array) -> list[tuple[Array, tuple[Part, ...]]]:
        """Every pattern by its level; those without one by the last, which tells that it fails."""
        chosen = self.level(arrived)
        chosen[chosen == 0] = self.messages
        return [(np.flatnonzero(chosen == q), self.by_level[q - 1]) for q in np.unique(chosen)]
