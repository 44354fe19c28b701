"""The sum of partial gradients: drawn ones, or those of a softmax regression on labelled data."""

import dataclasses
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic import exact, multiprecision
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.streams import stream
from stabbench.codes.base import System
from stabbench.codes.gradient.base import Held
from stabbench.errors import InputError, MissingError
from stabbench.files import MAX_ENTRIES
from stabbench.problems.base import Exact, Problem
from stabbench.problems.families import Data

Array = np.ndarray[Any, np.dtype[Any]]
REFERENCES = {"flint": exact.product, "mpmath": multiprecision.product}


@dataclasses.dataclass(frozen=True)
class Gradient(Problem):
    """The sum of K partial gradients.

    Parameters
    ----------
    data : Data
        Labelled data (digits, breast-cancer, files with X and y) are split into K parts, whose
        gradients of a softmax regression at one seeded point are the partial gradients; of other
        data, row i is partial gradient i.
    partitions : int
        K.

    Examples
    --------
    >>> from stabbench.arithmetic.precision import precision
    >>> from stabbench.problems.data import Digits
    >>> Gradient(Digits(), 4).operands(precision("float32"), seed=0)[0].shape
    (4, 640)
    """

    data: Data
    partitions: int

    name: ClassVar[str] = "gradient"

    def operands(self, precision: Precision, seed: int) -> tuple[Array, ...]:
        """The partial gradients, shape (K, l), rounded to storage."""
        matrix = self.data.matrix(seed)
        if matrix.dtype.kind == "c":
            raise InputError(f"data {self.data.name!r}: complex; allowed are real gradients")
        try:
            labels = self.data.labels(seed)
        except MissingError:
            if len(matrix) < self.partitions:
                raise InputError(
                    f"data {self.data.name!r}: {len(matrix)} rows for {self.partitions} partial "
                    f"gradients; allowed are rows >= {self.partitions}"
                ) from None
            return (precision.store(matrix[: self.partitions]),)
        return (precision.store(softmax_gradients(matrix, labels, self.partitions, seed)),)

    def summands(self, blocks: tuple[Array, ...]) -> int:
        """None: what a worker sends is its share."""
        return 0

    def exact(self, operands: tuple[Array, ...], reference: str) -> Exact:
        """The sum as a pair, shape (1, l)."""
        ones = np.ones((1, self.partitions))
        return Exact(*REFERENCES[reference](ones, operands[0].astype(np.float64)))

    def blocks(self, system: System, operands: tuple[Array, ...]) -> tuple[Array, ...]:
        """Partial gradients cut into pieces of m entries, shape (K, L, m), padded with zeros."""
        return (held(system).cut(operands[0]),)

    def encode(
        self, system: System, blocks: tuple[Array, ...], precision: Precision
    ) -> tuple[Array, ...]:
        """What each worker makes of the partial gradients that it holds, shape (rows, L)."""
        return (held(system).combine(blocks[0], precision),)

    def work(self, system: System, shares: tuple[Array, ...], precision: Precision) -> Array:
        """The replies, shape (rows, L, 1): nothing is left to compute."""
        return shares[0][..., None]

    def operations(self, system: System, shares: tuple[Array, ...]) -> Array:
        """None: the workers have encoded."""
        return np.zeros(len(system.owner))

    def wanted(self, system: System, exact: Exact) -> Exact:
        """The sum by its place within a piece, shape (m, L, 1)."""
        hi, lo = (held(system).cut(part)[0].T[..., None] for part in (exact.hi, exact.lo))
        return Exact(hi, lo)


def held(system: System) -> Held:
    """The reply map of a gradient code."""
    if not isinstance(system.reply, Held):
        raise TypeError("problem gradient needs a gradient code")
    return system.reply


def softmax_gradients(features: Array, labels: Array, parts: int, seed: int) -> Array:
    """Partial gradients of the mean cross-entropy at W ~ N(0, 0.01), shape (parts, l).

    Parameters
    ----------
    features : array, shape (samples, columns)
    labels : int array, shape (samples,)
        Classes, numbered from 0.
    parts : int
        Samples are split into this many consecutive parts of nearly equal size.
    seed : int
        Of the point W (columns x classes).

    Raises
    ------
    InputError
        Labels that are no classes, or too many for memory, fewer samples than parts.
    """
    if labels.dtype.kind != "i" or labels.min() < 0:
        raise InputError("labels: allowed are classes 0, 1, 2, ...")
    samples, columns = features.shape
    if samples < parts:
        raise InputError(f"{samples} samples for {parts} partitions; allowed are at least as many")
    classes, rows = int(labels.max()) + 1, max(samples, parts * columns)
    if classes * rows > MAX_ENTRIES:
        raise InputError(f"labels: {classes} classes; allowed are at most {MAX_ENTRIES // rows}")
    one_hot = np.zeros((samples, classes))
    one_hot[np.arange(samples), labels] = 1.0
    random = stream("point of gradients", seed)
    weights = 0.1 * random.standard_normal((columns, classes))
    # features beyond the square root of float64 overflow here: the gradients say so by themselves
    with np.errstate(over="ignore", invalid="ignore"):
        scores = features @ weights
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        residual = (odds / odds.sum(axis=1, keepdims=True) - one_hot) / samples
        chunks = np.array_split(np.arange(samples), parts)
        return np.stack([(features[rows].T @ residual[rows]).ravel() for rows in chunks])
