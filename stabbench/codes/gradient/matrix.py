"""A gradient code whose encoding matrix is read from a file of floats."""

import dataclasses
import functools
from typing import Any, ClassVar

import numpy as np

from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.parts import Derivation, Rounded
from stabbench.errors import InputError
from stabbench.files import read_array

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class GradientMatrix(GradientCode):
    """Any encoding matrix B (n x K) of floats from a file; worker i sends the sum of B[i, j] g_j.

    Rounding has moved the row space of B, so that the best weights a_F leave an error of the matrix
    itself, ||a_F B_F - 1||_2, which no arithmetic mends. Survivors decode where it is at most
    `tolerance`. For gradients of equal size and random directions it is sqrt(K) times the relative
    error of the sum.

    Parameters
    ----------
    file : str
        Path of the matrix, as in ``gradient-matrix[file=B.csv]``; what is not zero is held.
    tolerance : float
        Rounding to float64 leaves about 2^-53 a(F) sqrt(K), 1e-15 to 1e-10 where decoding is of
        use; survivors that miss partitions leave about 1 / sqrt(n). The default lies between,
        and six digits of the sum are left there. A matrix of float32 needs about 1e-3.

    Raises
    ------
    InputError
        A shape that contradicts n, a zero row or column, a tolerance outside 0 .. 1.
    """

    file: str | None = dataclasses.field(default=None, metadata={"help": "file of the matrix B"})
    tolerance: float = dataclasses.field(
        default=1e-6, metadata={"help": "largest ||a B_F - 1|| of the best weights that decodes"}
    )

    name: ClassVar[str] = "gradient-matrix"
    family: ClassVar[str] = "gradient"
    source: ClassVar[str] = "the user's file"
    groups: ClassVar[frozenset[str]] = frozenset({"gradient"})
    rounded: ClassVar[bool] = True

    @functools.cached_property
    def values(self) -> Array:
        """The matrix of the file, float64 or complex128."""
        file = self.file_of("file")
        if file is None:
            raise InputError(f"{self.name}: parameter 'file' is required, as in [file=B.csv]")
        return read_array(file, what="encoding matrix")[0]

    def validate(self) -> None:
        """Raise InputError for a matrix that is no code of n workers."""
        rows = len(self.values)
        if rows != self.n:
            raise InputError(f"{self.file}: the matrix has {rows} rows; n={self.n} are needed")
        for axis, word in ((1, "row"), (0, "column")):
            zero = np.flatnonzero(~self.values.any(axis=axis))
            if zero.size:
                raise InputError(f"{self.file}: {word} {zero[0]} of the matrix is zero")
        if not 0 < self.tolerance < 1:
            raise InputError(
                f"{self.name}: tolerance={self.tolerance}; allowed is 0 < tolerance < 1"
            )

    @property
    def partitions(self) -> int:
        """K, the columns of the file."""
        return int(self.values.shape[1])

    @property
    def is_complex(self) -> bool:
        """Whether the file holds complex numbers."""
        return bool(self.values.dtype.kind == "c")

    @property
    def allowed_error(self) -> float:
        """The tolerance."""
        return self.tolerance

    @property
    def placement(self) -> Array:
        """What is not zero."""
        return np.asarray(self.values != 0)

    def coefficients(self, bits: int) -> Any:
        """The numbers of the file, exactly."""
        return self.values

    @functools.cached_property
    def derived(self) -> Derivation:
        """The parts by numerical rank."""
        return Rounded(self.values)
