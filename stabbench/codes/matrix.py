"""A code whose generator is read from a file."""

import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np

from stabbench.codes.base import LinearCode, data_blocks
from stabbench.errors import InputError
from stabbench.files import read_array


@dataclasses.dataclass(frozen=True)
class Matrix(LinearCode):
    """Any generator from a .npy, .npz, .csv, .mat or Matrix Market file, one row per worker.

    The number of data blocks is the number of columns. Nothing is assumed of the matrix: survivor
    sets that cannot be decoded are found by exact rank and reported.

    Parameters
    ----------
    file : str
        Path of the matrix, as in ``matrix[file=G.npy]``.
    """

    k: int | None = data_blocks("the columns of the file")
    file: str | None = dataclasses.field(default=None, metadata={"help": "file of the generator"})

    name: ClassVar[str] = "matrix"
    family: ClassVar[str] = "matrix"
    source: ClassVar[str] = "the user's file"
    groups: ClassVar[frozenset[str]] = frozenset()

    @functools.cached_property
    def values(self) -> np.ndarray[Any, np.dtype[Any]]:
        """The matrix of the file, float64 or complex128."""
        file = self.file_of("file")
        if file is None:
            raise InputError("matrix: parameter 'file' is required, as in matrix[file=G.npy]")
        return read_array(file, what="generator")[0]

    def validate(self) -> None:
        """Raise InputError if the shape of the file contradicts n, k or a row or column is zero."""
        rows, columns = self.values.shape
        if rows != self.n:
            raise InputError(f"{self.file}: the generator has {rows} rows; n={self.n} are needed")
        if self.k is not None and self.k != columns:
            raise InputError(f"{self.file}: the generator has {columns} columns, not k={self.k}")
        for axis, word in ((1, "row"), (0, "column")):
            zero = np.flatnonzero(~self.values.any(axis=axis))
            if zero.size:
                raise InputError(f"{self.file}: {word} {zero[0]} of the generator is zero")
        super().validate()

    @property
    def blocks(self) -> int:
        """Number of columns of the file."""
        return int(self.values.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether the file holds complex numbers."""
        return bool(self.values.dtype.kind == "c")

    def coefficients(self, bits: int) -> Any:
        """The numbers of the file, exactly."""
        return self.values
