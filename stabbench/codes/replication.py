"""Codes that copy plain blocks, the baseline without any arithmetic."""

import dataclasses
from typing import Any, ClassVar, Literal

from stabbench.codes.base import LinearCode, data_blocks
from stabbench.errors import InputError


@dataclasses.dataclass(frozen=True)
class CopyCode(LinearCode):
    """Worker i holds the plain block i mod k, so that every block has at least s + 1 copies.

    Parameters
    ----------
    k : int, optional
        Number of data blocks, n // (stragglers + 1) unless given.
    """

    k: int | None = data_blocks("n // (stragglers + 1)")

    @property
    def blocks(self) -> int:
        """Number of data blocks, n // (s + 1) unless k is given."""
        return self.n // (self.stragglers + 1) if self.k is None else self.k

    @property
    def threshold(self) -> int | None:
        """Any n - s replies hold every block."""
        return self.n - self.stragglers

    def validate(self) -> None:
        """Raise InputError if some block would have fewer than s + 1 copies."""
        super().validate()
        copies = self.n // self.blocks
        if copies < self.stragglers + 1:
            raise InputError(
                f"{self.name}: k={self.blocks} blocks on n={self.n} workers are held {copies} "
                f"times; allowed is k <= n // (stragglers + 1) = {self.n // (self.stragglers + 1)}"
            )

    def coefficients(self, bits: int) -> Any:
        """Unit rows."""
        return [[int(i % self.blocks == j) for j in range(self.blocks)] for i in range(self.n)]


@dataclasses.dataclass(frozen=True)
class Replication(CopyCode):
    """Plain copies; workers beyond a multiple of k hold one copy more of the first blocks.

    Examples
    --------
    >>> Replication(5, 1).generator.rounded("float64").sum(axis=0).tolist()
    [3.0, 2.0]
    """

    name: ClassVar[str] = "replication"
    family: ClassVar[str] = "replication"
    source: ClassVar[str] = "Lee et al., IEEE TIT 64, 2018, arXiv:1512.02673"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "binary"})


@dataclasses.dataclass(frozen=True)
class UncodedCyclic(CopyCode):
    """n = k (s+1) workers, each block exactly s + 1 times, in cyclic order.

    Examples
    --------
    >>> UncodedCyclic(6, 2).blocks
    2
    """

    name: ClassVar[str] = "uncoded-cyclic"
    family: ClassVar[str] = "replication"
    source: ClassVar[str] = "Das, Ramamoorthy, Vaswani, arXiv:1907.08064"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "binary", "cyclic"})

    @property
    def symmetry(self) -> Literal["cyclic", "reflection", "dihedral"] | None:
        """Turning or reflecting the workers permutes the blocks."""
        return "dihedral"

    def validate(self) -> None:
        """Raise InputError unless n = k (s + 1)."""
        super().validate()
        if self.n != self.blocks * (self.stragglers + 1):
            raise InputError(
                f"{self.name}: n={self.n} is not k (stragglers + 1) = "
                f"{self.blocks} * {self.stragglers + 1}; allowed are multiples of stragglers + 1"
            )
