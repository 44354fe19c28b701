"""Random codes: Gaussian, systematic Gaussian and Haar, each draw named by its seed."""

import dataclasses
import functools
import itertools
import math
from abc import abstractmethod
from typing import Any, ClassVar

import flint
import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.codes.base import LinearCode

Array = np.ndarray[Any, np.dtype[Any]]
PATTERNS_TRIED = 2000


@dataclasses.dataclass(frozen=True)
class RandomCode(LinearCode):
    """A code drawn at random.

    Parameters
    ----------
    seed : int
        Names the draw.
    select : int
        Keep the best of this many draws, seeds `seed` .. `seed + select - 1`: the one with the
        largest worst-case sigma_min(G_S) over the survivor sets (all of them where they are few,
        else a fixed sample of 2000).
    """

    seed: int = dataclasses.field(default=0, metadata={"help": "names the random draw"})
    select: int = dataclasses.field(default=1, metadata={"help": "keep the best of N draws"})

    def validate(self) -> None:
        """Raise InputError for a bad k, seed or select."""
        super().validate()
        self.require(seed=0, select=1)

    @abstractmethod
    def draw(self, seed: int) -> Array:
        """The float64 random numbers of one draw, shape (n, k)."""

    @functools.cached_property
    def chosen_seed(self) -> int:
        """The seed of the draw that `select` keeps."""
        if self.select == 1:
            return self.seed
        rows = survivor_rows(self.n, self.blocks)
        seeds = range(self.seed, self.seed + self.select)
        return max(seeds, key=lambda seed: worst_sigma(self.draw(seed), rows))

    def coefficients(self, bits: int) -> Any:
        """The drawn numbers, exactly."""
        return self.draw(self.chosen_seed)

    def random(self, seed: int) -> np.random.Generator:
        """The generator of random numbers of one draw: it depends on name, n, k and seed only."""
        return stream(f"code {self.name}", seed, self.n, self.blocks)


@dataclasses.dataclass(frozen=True)
class Gaussian(RandomCode):
    """Random Gaussian code: entries N(0, 1); any k rows are independent with probability 1.

    Examples
    --------
    >>> Gaussian(5, 2, seed=1).generator.shape
    (5, 3)
    """

    name: ClassVar[str] = "gaussian"
    family: ClassVar[str] = "random"
    source: ClassVar[str] = "Chen, Dongarra, SIAM J. Matrix Anal. Appl. 27, 2005"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "random"})

    def draw(self, seed: int) -> Array:
        """Standard Gaussian entries."""
        return self.random(seed).standard_normal((self.n, self.blocks))


@dataclasses.dataclass(frozen=True)
class SystematicGaussian(RandomCode):
    """k plain blocks, then n - k Gaussian parities.

    Examples
    --------
    >>> SystematicGaussian(3, 1).generator.rounded("float64")[:2].tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    name: ClassVar[str] = "systematic-gaussian"
    family: ClassVar[str] = "random"
    source: ClassVar[str] = "Chen, Dongarra, SIAM J. Matrix Anal. Appl. 27, 2005"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "random", "systematic"})

    def draw(self, seed: int) -> Array:
        """The identity over standard Gaussian parities."""
        parities = self.random(seed).standard_normal((self.n - self.blocks, self.blocks))
        return np.vstack([np.eye(self.blocks), parities])


@dataclasses.dataclass(frozen=True)
class Haar(RandomCode):
    """k orthonormal columns, uniformly distributed: a Gaussian draw orthonormalised in order.

    Examples
    --------
    >>> g = Haar(6, 2).generator.rounded("float64")
    >>> bool(np.allclose(g.T @ g, np.eye(4)))
    True
    """

    name: ClassVar[str] = "haar"
    family: ClassVar[str] = "random"
    source: ClassVar[str] = "Stewart, SIAM J. Numer. Anal. 17, 1980"
    groups: ClassVar[frozenset[str]] = frozenset({"mds", "real", "random", "orthogonal"})

    def draw(self, seed: int) -> Array:
        """A Gaussian draw, orthonormalised in float64 (what `select` ranks)."""
        q, r = np.linalg.qr(self.random(seed).standard_normal((self.n, self.blocks)))
        return q * np.sign(np.diag(r))

    def coefficients(self, bits: int) -> Any:
        """Gram-Schmidt of the Gaussian draw in ball arithmetic, so that the columns are exact."""
        gaussian = self.random(self.chosen_seed).standard_normal((self.n, self.blocks))
        with flint.ctx.workprec(bits + 4 * self.n):
            return orthonormal_columns(gaussian).tolist()


def orthonormal_columns(matrix: Array) -> Any:
    """The orthonormal columns of a QR factorisation with positive diagonal, as balls.

    Parameters
    ----------
    matrix : float64 array, shape (n, k), of full column rank

    Returns
    -------
    flint.arb_mat, n x k, at the current precision
    """
    n, k = matrix.shape
    rows: list[list[Any]] = []
    for j in range(k):
        column = flint.arb_mat(1, n, [flint.arb(float(x)) for x in matrix[:, j]])
        if rows:
            basis = flint.arb_mat(rows)
            column = column - (column * basis.transpose()) * basis
        norm = (column * column.transpose())[0, 0].sqrt()
        rows.append([x / norm for x in column.entries()])
    return flint.arb_mat(rows).transpose()


def survivor_rows(n: int, k: int) -> Array:
    """Survivor sets of k of n workers, all of them or a fixed sample of 2000."""
    if math.comb(n, k) <= PATTERNS_TRIED:
        return np.array(list(itertools.combinations(range(n), k)))
    random = stream("sets of a selection", n, k)
    return np.array([np.sort(random.permutation(n)[:k]) for _ in range(PATTERNS_TRIED)])


def worst_sigma(generator: Array, rows: Array) -> float:
    """The smallest singular value of the chosen rows over all sets."""
    return float(np.linalg.svd(generator[rows], compute_uv=False)[:, -1].min())
