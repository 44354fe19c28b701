"""Gradient codes from symmetric balanced incomplete block designs."""

import dataclasses
import functools
import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from stabbench.codes.gradient.approximate import EqualWeights
from stabbench.errors import InputError
from stabbench.files import read_array

Array = np.ndarray[Any, np.dtype[Any]]
DIFFERENCE_SETS = {
    3: (0, 1),
    7: (1, 2, 4),
    11: (1, 3, 4, 5, 9),
    13: (0, 1, 3, 9),
    15: (0, 1, 2, 4, 5, 8, 10),
    21: (3, 6, 7, 12, 14),
    31: (1, 5, 11, 24, 25, 27),
}
"""One cyclic (v, k, lambda) difference set for each number of workers v."""


@dataclasses.dataclass(frozen=True)
class Bibd(EqualWeights):
    """Worker j holds block j of a symmetric (v, k, lambda) design on v = n partitions.

    The best weights of r survivors are k / (k - lambda + lambda r), the same for all;
    error^2 = v - k^2 r / (k - lambda + lambda r), and
    kappa(A_F) = sqrt((k - lambda + lambda r) / (k - lambda)) for r >= 2.

    Parameters
    ----------
    file : str, optional
        The n x n incidence matrix of a design; without it the cyclic design of n points is taken:
        n = 7 (Fano), 11, 13 (PG(2,3)), 15, 21 (PG(2,4)), 31 (PG(2,5)).

    Raises
    ------
    InputError
        No cyclic design known for n; a matrix that is no symmetric design.

    Examples
    --------
    >>> Bibd(7, 2).design
    (7, 3, 1)
    """

    file: str | None = dataclasses.field(
        default=None, metadata={"help": "file of the incidence matrix"}
    )

    name: ClassVar[str] = "bibd"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "Kadhe, Koyluoglu, Ramchandran, arXiv:1904.13373"
    groups: ClassVar[frozenset[str]] = frozenset({"real", "binary", "gradient", "approximate"})
    closed: ClassVar[str] = "the constant k / (k - lambda + lambda r)"

    def validate(self) -> None:
        """Raise InputError unless the matrix is a symmetric design."""
        A = self.placement.astype(int)
        v, k, lam = self.design
        gram = (k - lam) * np.eye(v, dtype=int) + lam
        if not 1 <= k < v or not (A.sum(axis=0) == k).all() or not (gram == A @ A.T).all():
            raise InputError(f"{self.file}: allowed is the incidence matrix of a symmetric design")

    @functools.cached_property
    def placement(self) -> Array:
        """The incidence matrix."""
        file = self.file_of("file")
        if file is not None:
            A = read_array(file, what="design")[0]
            if A.shape != (self.n, self.n) or not ((A == 0) | (A == 1)).all():
                raise InputError(
                    f"{self.file}: {A.shape[0]} x {A.shape[1]} numbers; allowed are "
                    f"n x n = {self.n} x {self.n} zeros and ones"
                )
            return np.asarray(A == 1)
        if self.n not in DIFFERENCE_SETS:
            raise InputError(
                f"bibd: n={self.n}; allowed are {', '.join(map(str, DIFFERENCE_SETS))}, or a file"
            )
        A = np.zeros((self.n, self.n), dtype=bool)
        for j in range(self.n):
            A[j, [(j + x) % self.n for x in DIFFERENCE_SETS[self.n]]] = True
        return A

    @property
    def design(self) -> tuple[int, int, int]:
        """(v, k, lambda)."""
        k = int(self.placement[0].sum())
        return self.n, k, k * (k - 1) // max(1, self.n - 1)

    def weight(self, survivors: int) -> Fraction:
        """The weight k / (k - lambda + lambda r)."""
        _, k, lam = self.design
        return Fraction(k, k - lam + lam * survivors)

    def squared_error(self, survivors: int) -> Fraction:
        """error^2 for any r survivors.

        Examples
        --------
        >>> Bibd(7, 2).squared_error(5)
        Fraction(4, 7)
        """
        v, k, lam = self.design
        return v - Fraction(k * k * survivors, k - lam + lam * survivors)

    def condition(self, survivors: int) -> float:
        """kappa(A_F) for any r >= 2 survivors."""
        _, k, lam = self.design
        return math.sqrt(Fraction(k - lam + lam * survivors, k - lam))
