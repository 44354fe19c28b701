"""Circulant code: blocks combined by powers of a cyclic shift of a prime number of points."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.codes.base import LinearCode
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Circulant(LinearCode):
    """Circulant code: every block has q sub-blocks, the last minus the sum of the others.

    Worker i sends the sum over j of P^(ij) times block j, q rows, P the cyclic shift of q points.
    Its discrete Fourier transform has, at every frequency but zero, the values of a polynomial
    code on roots of unity of order q.

    Parameters
    ----------
    q : int, optional
        A prime >= n, the least one unless given.

    Examples
    --------
    >>> Circulant(2, 1, q=3).generator.rounded("float64")[:3]
    array([[ 1.,  0.],
           [ 0.,  1.],
           [-1., -1.]])
    """

    q: int | None = dataclasses.field(
        default=None,
        metadata={"help": "points of the cyclic shift, a prime >= n (default the least)"},
    )

    name: ClassVar[str] = "circulant"
    family: ClassVar[str] = "structured"
    source: ClassVar[str] = "Ramamoorthy, Tang, IEEE TIT 2022, arXiv:1910.06515"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real"})

    @property
    def order(self) -> int:
        """The prime q after defaults."""
        return next_prime(self.n) if self.q is None else self.q

    def validate(self) -> None:
        """Raise InputError if q is no prime or below n."""
        super().validate()
        if self.order < self.n or not is_prime(self.order):
            raise InputError(
                f"{self.name}: q={self.order} for n={self.n} workers; allowed are primes >= n, "
                f"such as {next_prime(self.n)}"
            )

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, q for every worker, and unknown sub-blocks, q - 1 for every data block."""
        return self.n * self.order, self.blocks * (self.order - 1)

    def coefficients(self, bits: int) -> Any:
        """0, 1 and -1: row r of P^(ij) reads sub-block r - ij modulo q."""
        q, points = self.order, np.arange(self.order)
        whole = np.zeros((self.n, q, self.blocks, q))
        for i in range(self.n):
            for j in range(self.blocks):
                whole[i, points, j, (points - i * j) % q] = 1.0
        free = whole[..., : q - 1] - whole[..., q - 1 :]
        return free.reshape(self.shape)


def is_prime(number: int) -> bool:
    """Whether a small number is prime.

    Examples
    --------
    >>> [p for p in range(20) if is_prime(p)]
    [2, 3, 5, 7, 11, 13, 17, 19]
    """
    return number > 1 and all(number % d for d in range(2, int(number**0.5) + 1))


def next_prime(number: int) -> int:
    """The least prime that is at least `number`."""
    return next(p for p in range(max(number, 2), 2 * number + 3) if is_prime(p))
