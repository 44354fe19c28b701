"""Data families that are drawn: random, graded and badly scaled matrices; the base of all families.

A family is a value with typed parameters; the numbers depend on it and on the seed only. Real data
and files: data.py.
"""

import math
import operator
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError, MissingError
from stabbench.files import MAX_ENTRIES, Input

_MATRIX, _VECTOR = "data matrix", "data vectors"
_LABELLED = "digits, breast-cancer and .npz or .mat files with arrays X and y"

_ROWS = {"help": "number of rows of the data matrix"}
_COLUMNS = {"help": "number of columns of the data matrix"}


@dataclass(frozen=True)
class Data(ABC):
    """A family of data matrices A, to be multiplied by vectors or used for training."""

    name: ClassVar[str]
    source: ClassVar[str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the numbers and what weakens a measurement on them."""
        return ()

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that the numbers are read from."""
        return ()

    @abstractmethod
    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the data matrix.

        Parameters
        ----------
        seed : int
            Picks a random draw; real data are the same for every seed.

        Returns
        -------
        ndarray, shape (rows, columns)
            A new array, float64 or (files only) complex128.

        Raises
        ------
        InputError
            A negative seed, a fault of a file.

        Examples
        --------
        >>> Gaussian(rows=2, columns=3).matrix(seed=0).shape
        (2, 3)
        """

    def vector(self, seed: int, columns: int, count: int = 1) -> NDArray[np.float64]:
        """Return standard Gaussian vectors to multiply the matrix by.

        They are the same for every family, and the first ones are the same for every `count`.

        Parameters
        ----------
        seed : int
            Picks a random draw, independent of the matrix of the same seed.
        columns : int
            Length of a vector.
        count : int, optional
            Number of vectors.

        Returns
        -------
        ndarray, shape (columns, count)

        Raises
        ------
        InputError
            A negative seed, a length or count below 1.

        Examples
        --------
        >>> Gaussian().vector(seed=0, columns=64).shape
        (64, 1)
        """
        what = f"vectors for data {self.name!r}"
        check_whole(what, "columns", columns)
        check_whole(what, "count", count)
        draws = _generator(seed, _VECTOR).standard_normal((count, columns))
        return np.ascontiguousarray(draws.T)

    def labels(self, seed: int) -> NDArray[Any]:
        """Return the label of every row of the matrix, for training.

        Parameters
        ----------
        seed : int
            As for `matrix`.

        Returns
        -------
        ndarray, shape (rows,)
            int64 classes, or float64 where a file holds other numbers.

        Raises
        ------
        MissingError
            The family has no labels.

        Examples
        --------
        >>> from stabbench.problems.data import Digits
        >>> Digits().labels(seed=0)[:5]
        array([0, 1, 2, 3, 4])
        """
        raise MissingError(f"data {self.name!r}, seed={seed}: no labels; allowed are {_LABELLED}")


@dataclass(frozen=True)
class Gaussian(Data):
    """Independent standard Gaussian entries.

    Parameters
    ----------
    rows, columns : int
        Shape of the matrix.
    """

    rows: int = field(default=512, metadata=_ROWS)
    columns: int = field(default=64, metadata=_COLUMNS)

    name: ClassVar[str] = "gaussian"
    source: ClassVar[str] = "independent standard Gaussian entries"

    def __post_init__(self) -> None:
        """Refuse empty and unbearable shapes."""
        check_size(self.name, self.rows, self.columns)

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the matrix of this seed, shape (rows, columns); see `Data.matrix`."""
        return _generator(seed, _MATRIX).standard_normal((self.rows, self.columns))


@dataclass(frozen=True)
class Uniform(Data):
    """Independent entries, uniform on [-1, 1).

    Parameters
    ----------
    rows, columns : int
        Shape of the matrix.
    """

    rows: int = field(default=512, metadata=_ROWS)
    columns: int = field(default=64, metadata=_COLUMNS)

    name: ClassVar[str] = "uniform"
    source: ClassVar[str] = "independent entries, uniform on [-1, 1)"

    def __post_init__(self) -> None:
        """Refuse empty and unbearable shapes."""
        check_size(self.name, self.rows, self.columns)

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the matrix of this seed, shape (rows, columns); see `Data.matrix`."""
        return _generator(seed, _MATRIX).uniform(-1.0, 1.0, (self.rows, self.columns))


@dataclass(frozen=True)
class Graded(Data):
    """Singular values that fall geometrically, between random orthonormal singular vectors.

    A = U diag(s) V^T with s_1 = 1, ..., s_r = 1/range, r = min(rows, columns), and U, V uniformly
    distributed, each the product of r Householder reflections.

    Parameters
    ----------
    rows, columns : int
        Shape of the matrix.
    range : float
        Largest over smallest singular value, the condition number of A.
    """

    rows: int = field(default=512, metadata=_ROWS)
    columns: int = field(default=64, metadata=_COLUMNS)
    range: float = field(
        default=1e8, metadata={"help": "largest over smallest singular value (largest: 1)"}
    )

    name: ClassVar[str] = "graded"
    source: ClassVar[str] = (
        "singular values geometric from 1 to 1/range; singular vectors uniform by Householder "
        "reflections (G. W. Stewart, SIAM J. Numer. Anal. 17 (1980) 403)"
    )

    def __post_init__(self) -> None:
        """Refuse empty and unbearable shapes, a range below 1."""
        check_size(self.name, self.rows, self.columns)
        object.__setattr__(self, "range", checked_range(self.name, self.range))

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the matrix of this seed, shape (rows, columns); see `Data.matrix`."""
        rng = _generator(seed, _MATRIX)
        rank = min(self.rows, self.columns)
        array = np.zeros((self.rows, self.columns))
        array[np.arange(rank), np.arange(rank)] = _geometric(self.range, rank)
        _rotate(array, rank, rng)
        transposed = np.ascontiguousarray(array.T)
        _rotate(transposed, rank, rng)
        return np.ascontiguousarray(transposed.T)


@dataclass(frozen=True)
class IllScaled(Data):
    """Gaussian entries, the rows in blocks of very different size.

    Block i of the rows is multiplied by range^(-(i-1)/(blocks-1)), i = 1, ..., blocks.

    Parameters
    ----------
    rows, columns : int
        Shape of the matrix.
    range : float
        Factor of the first block (which is 1) over that of the last.
    blocks : int
        Number of blocks of rows, as equal in size as possible.
    """

    rows: int = field(default=512, metadata=_ROWS)
    columns: int = field(default=64, metadata=_COLUMNS)
    range: float = field(
        default=1e8, metadata={"help": "scale of the first block of rows (1) over that of the last"}
    )
    blocks: int = field(default=8, metadata={"help": "number of blocks of rows"})

    name: ClassVar[str] = "ill-scaled"
    source: ClassVar[str] = (
        "standard Gaussian entries, row blocks scaled geometrically from 1 to 1/range"
    )

    def __post_init__(self) -> None:
        """Refuse empty and unbearable shapes, a range below 1, more blocks than rows."""
        check_size(self.name, self.rows, self.columns)
        object.__setattr__(self, "range", checked_range(self.name, self.range))
        check_whole(f"data {self.name!r}", "blocks", self.blocks, self.rows)

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the matrix of this seed, shape (rows, columns); see `Data.matrix`."""
        array = _generator(seed, _MATRIX).standard_normal((self.rows, self.columns))
        factors = _geometric(self.range, self.blocks)
        for block, factor in zip(np.array_split(array, self.blocks), factors, strict=True):
            np.multiply(block, factor, out=block)
        return array


def _generator(seed: int, purpose: str) -> np.random.Generator:
    """Return the random generator of a seed; those of different purposes are independent."""
    check_whole("data", "seed", seed, least=0)
    return stream(purpose, seed)


def _rotate(array: NDArray[np.float64], rank: int, rng: np.random.Generator) -> None:
    """Multiply from the left by a random orthogonal matrix, exact up to rounding, in place.

    Only the first `rank` columns of the orthogonal matrix meet rows that are not zero.
    """
    rows = array.shape[0]
    for first in reversed(range(rank)):
        normal = rng.standard_normal(rows - first)
        sign = math.copysign(1.0, normal[0])
        normal[0] += sign * math.sqrt(math.fsum(normal * normal))
        normal /= math.sqrt(math.fsum(normal * normal))
        tail = array[first:]
        tail[0] *= -sign
        # no BLAS: its last bits depend on its kernel and threads
        tail -= np.multiply.outer(2.0 * normal, np.einsum("i,ij->j", normal, tail))


def _geometric(span: float, count: int) -> NDArray[np.float64]:
    """Return `count` numbers, geometric from 1 to 1/span; a single one is 1."""
    exponents = np.arange(count) / max(count - 1, 1)
    return np.asarray(span**-exponents, dtype=np.float64)


def check_size(name: str, rows: int, columns: int) -> None:
    """Refuse shapes that are empty or too large."""
    check_whole(f"data {name!r}", "rows", rows, MAX_ENTRIES)
    check_whole(f"data {name!r}", "columns", columns, MAX_ENTRIES)
    if rows * columns > MAX_ENTRIES:
        raise InputError(
            f"data {name!r}: rows={rows}, columns={columns}; "
            f"allowed are at most {MAX_ENTRIES} entries"
        )


def check_whole(where: str, name: str, value: int, most: int | None = None, least: int = 1) -> None:
    """Refuse what is no integer between `least` and `most`."""
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if isinstance(value, bool) or number < least or (most is not None and number > most):
        allowed = f"integers from {least}" + ("" if most is None else f" to {most}")
        raise InputError(f"{where}: {name}={value!r}; allowed are {allowed}")


def checked_range(name: str, value: object) -> float:
    """Return a range as float, refuse what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 1 <= value <= 1e300:
        raise InputError(f"data {name!r}: range={value!r}; allowed are numbers from 1 to 1e300")
    return float(value)
