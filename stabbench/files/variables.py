"""Variables of MATLAB files in any version: what is listed, how numbers are put together.

How the versions store them: matlab.py, hdf5.py.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray


@dataclass(frozen=True)
class Variable:
    """A numeric variable: its shape before it is read, and how to read it (sparse as dense)."""

    shape: tuple[int, ...]
    sparse: bool
    read: Callable[[], NDArray[Any]]


@dataclass(frozen=True)
class Contents:
    """The variables of a file by name: the numeric and logical ones, and what the others are."""

    numeric: dict[str, Variable] = field(default_factory=dict)
    others: dict[str, str] = field(default_factory=dict)


def as_class(stored: NDArray[Any], kind: DTypeLike) -> NDArray[Any]:
    """Convert numbers, which may be stored in fewer bytes, to the type that MATLAB sees.

    Raises
    ------
    ValueError
        A number is none of the type.

    Examples
    --------
    >>> as_class(np.array([1, 255], dtype=np.uint8), np.float64)
    array([  1., 255.])
    """
    with np.errstate(invalid="ignore", over="ignore"):
        values = stored.astype(kind)
    exact = values.dtype.kind == "b" or np.can_cast(stored.dtype, values.dtype)
    if not (exact or np.array_equal(values, stored, equal_nan=True)):
        raise ValueError(f"numbers beyond {values.dtype.name}")
    return values


def joined(real: NDArray[Any], imaginary: NDArray[Any] | None, kind: DTypeLike) -> NDArray[Any]:
    """Return numbers of type `kind`, complex ones where imaginary parts are given.

    Examples
    --------
    >>> joined(np.array([1, 2]), np.array([0, 3]), np.float64)
    array([1.+0.j, 2.+3.j])
    """
    values = as_class(real, kind)
    if imaginary is None:
        return values
    if imaginary.shape != real.shape:
        raise ValueError(f"{imaginary.size} imaginary parts of {real.size} numbers")
    mixed = values.astype(np.result_type(values, np.complex64))
    mixed.imag = as_class(imaginary, kind)
    return mixed


class Columns(NamedTuple):
    """Compressed columns of a sparse matrix: rows of the entries, where each column starts."""

    rows: NDArray[Any]
    starts: NDArray[Any]

    @property
    def counts(self) -> tuple[int, int]:
        """How many entries have a place, and how many are stored."""
        return self.rows.size, int(self.starts[-1])

    def dense(self, values: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Fill a dense array; entries that are repeated are added.

        Raises
        ------
        ValueError, IndexError
            The columns are none of the shape.

        Examples
        --------
        >>> Columns(np.array([1, 0]), np.array([0, 1, 2])).dense(np.array([5.0, 7.0]), (2, 2))
        array([[0., 7.],
               [5., 0.]])
        """
        if self.rows.dtype.kind not in "iu" or self.starts.dtype.kind not in "iu":
            raise ValueError("places of a sparse matrix are no integers")
        starts = self.starts.astype(np.int64)
        lengths = starts[1:] - starts[:-1]
        if lengths.size != shape[1] or starts[0] != 0 or lengths.min(initial=0) < 0:
            raise ValueError("columns of a sparse matrix")
        stored = self.counts[1]
        places = self.rows[:stored].astype(np.int64)
        if min(places.size, values.size) < stored or places.min(initial=0) < 0:
            raise ValueError("rows of a sparse matrix")
        dense = np.zeros(shape, dtype=values.dtype)
        np.add.at(dense, (places, np.repeat(np.arange(shape[1]), lengths)), values[:stored])
        return dense
