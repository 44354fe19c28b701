"""All data families by name: those that are drawn, real data sets and a user's file.

The drawn ones: families.py. Reading files: stabbench.files.
"""

import functools
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.files import SUFFIXES, Input, read_array
from stabbench.problems.families import Data, Gaussian, Graded, IllScaled, Uniform, check_whole


@dataclass(frozen=True)
class _Real(Data):
    """A data set that scikit-learn carries, standardised."""

    loader: ClassVar[str]

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the numbers."""
        return ("standardised: columns of mean 0 and standard deviation 1, constant columns 0",)

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the standardised data, the same for every seed; see `Data.matrix`."""
        check_whole(f"data {self.name!r}", "seed", seed, least=0)
        return _standardised(_bundled(self.loader)[0])

    def labels(self, seed: int) -> NDArray[Any]:
        """Return the int64 class of every row, the same for every seed; see `Data.labels`."""
        check_whole(f"data {self.name!r}", "seed", seed, least=0)
        return _bundled(self.loader)[1].copy()


@dataclass(frozen=True)
class Digits(_Real):
    """Images of handwritten digits, 1797 x 64, ten classes, standardised."""

    name: ClassVar[str] = "digits"
    source: ClassVar[str] = (
        "E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits (test part), UCI "
        "Machine Learning Repository, 1998, doi:10.24432/C50P49, as in scikit-learn's load_digits"
    )
    loader: ClassVar[str] = "load_digits"


@dataclass(frozen=True)
class BreastCancer(_Real):
    """Features of cell nuclei, 569 x 30, two classes, standardised."""

    name: ClassVar[str] = "breast-cancer"
    source: ClassVar[str] = (
        "W. Wolberg, O. Mangasarian, N. Street, W. Street: Breast Cancer Wisconsin (Diagnostic), "
        "UCI Machine Learning Repository, 1993, doi:10.24432/C5DW2B, as in scikit-learn's "
        "load_breast_cancer"
    )
    loader: ClassVar[str] = "load_breast_cancer"


@dataclass(frozen=True)
class File(Data):
    """A matrix of finite numbers from a user's file, as it is; it is read when first used.

    What is read has the content that the file had when this was built, or reading raises
    InputError; with another content it is other data.

    Parameters
    ----------
    path : str
        A file that `stabbench.files.read_array` reads; ``file.npz:name`` selects an array.
    """

    path: str = field(metadata={"help": f"file of the data matrix ({', '.join(SUFFIXES)})"})
    content: Input = field(init=False, repr=False, metadata={"help": "the file by its content"})

    name: ClassVar[str] = "file"
    source: ClassVar[str] = "a user's file"

    def __post_init__(self) -> None:
        """Refuse a path that is none."""
        object.__setattr__(self, "path", str(self.path))
        if not self.path:
            raise InputError("data file: the path is empty; allowed are paths of files")
        object.__setattr__(self, "content", Input.of(self.path))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The file itself."""
        return (self.content,)

    @property
    def notes(self) -> tuple[str, ...]:
        """What reading converted, and what weakens a measurement on the numbers."""
        return read_array(self.content)[1]

    def matrix(self, seed: int) -> NDArray[Any]:
        """Return the matrix of the file, the same for every seed; see `Data.matrix`."""
        check_whole(f"data {self.path!r}", "seed", seed, least=0)
        return read_array(self.content)[0]

    def labels(self, seed: int) -> NDArray[Any]:
        """Return array ``y`` of the file, one label per row; see `Data.labels`."""
        rows = self.matrix(seed).shape[0]
        where = f"labels of data {self.path!r}"
        values = read_array(self.content, "labels", key="y")[0]
        if values.shape != (rows, 1) or values.dtype.kind == "c":
            raise InputError(
                f"{where}: array y of shape {values.shape} and type {values.dtype}; "
                f"allowed is one real number for each of the {rows} rows"
            )
        column = values[:, 0]
        whole = np.array_equal(column, np.rint(column)) and np.abs(column).max() < 2.0**53
        return column.astype(np.int64) if whole else column


FAMILIES: dict[str, type[Data]] = {
    family.name: family
    for family in (Gaussian, Uniform, Graded, IllScaled, Digits, BreastCancer, File)
}


def labelled(name: str) -> Data:
    """Return the family that has labels: ``digits``, ``breast-cancer``, or a file by its path."""
    family = FAMILIES.get(name)
    return File(name) if family is None or family is File else family()


def dataset(name: str | Data) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return a labelled data set for training.

    Parameters
    ----------
    name : str or Data
        ``digits``, ``breast-cancer`` or the path of a .npz or .mat file with arrays X and y.

    Returns
    -------
    X : ndarray, shape (rows, columns)
        Features; those of the named sets are standardised.
    y : ndarray, shape (rows,)
        int64 classes, or float64 where a file holds other numbers.

    Raises
    ------
    InputError
        A family without labels, a fault of the file.

    Examples
    --------
    >>> X, y = dataset("breast-cancer")
    >>> X.shape, y.shape
    ((569, 30), (569,))
    """
    data = labelled(name) if isinstance(name, str) else name
    labels = data.labels(0)
    return data.matrix(0), labels


@functools.cache
def _bundled(loader: str) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return features and classes of a data set that scikit-learn carries."""
    from sklearn import datasets

    features, classes = getattr(datasets, loader)(return_X_y=True)
    return np.asarray(features, dtype=np.float64), np.asarray(classes, dtype=np.int64)


def _standardised(array: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return columns of mean 0 and standard deviation 1; constant columns become 0."""
    constant = array.min(axis=0) == array.max(axis=0)
    centred = array - array.mean(axis=0)
    centred[:, constant] = 0.0
    deviation = centred.std(axis=0)
    deviation[constant] = 1.0
    standardised: NDArray[np.float64] = centred / deviation
    return standardised
