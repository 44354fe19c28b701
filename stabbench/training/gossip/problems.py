"""Problems of decentralized training: what they are made of, and the linear models among them.

Every worker has its own data, f is the mean of all f_i, and all gradients are computed at once.
Softmax regression and the multilayer perceptron are in `classifiers`.
"""

import dataclasses
import functools
from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.files import Input

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Local(ABC):
    """A problem with the data of n workers in one float type.

    Attributes
    ----------
    features : float array, shape (n, m, p)
    targets : float array, shape (n, m) or (n, m, c)
    regularisation : float
        f_i includes regularisation / 2 ||x||^2.
    """

    features: Array
    targets: Array
    regularisation: float

    @property
    def workers(self) -> int:
        """Number of workers n."""
        return int(self.features.shape[0])

    @property
    def samples(self) -> int:
        """Samples of each worker m."""
        return int(self.features.shape[1])

    @property
    def dimension(self) -> int:
        """Number of parameters d."""
        return int(self.features.shape[2])

    def cast(self, dtype: np.dtype[Any]) -> Self:
        """The same problem with its data rounded to another float type."""
        return dataclasses.replace(
            self, features=self.features.astype(dtype), targets=self.targets.astype(dtype)
        )

    def start(self) -> Array:
        """The common starting point x_0, shape (d,)."""
        return np.zeros(self.dimension)

    def gradient(self, x: Array, batch: NDArray[np.int64] | None = None) -> Array:
        """The gradient of every f_i at its own point, in the float type of the data.

        Parameters
        ----------
        x : float array, shape (n, d)
        batch : int array, shape (n, b), optional
            Samples of each worker to use; all unless given.

        Returns
        -------
        float array, shape (n, d)
        """
        features, targets = self.features, self.targets
        if batch is not None:
            rows = np.arange(len(features))[:, None]
            features, targets = features[rows, batch], targets[rows, batch]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._gradient(x, features, targets)

    def pooled(self) -> Self:
        """One worker with the data of all; its f is the f of the problem."""
        return dataclasses.replace(
            self,
            features=self.features.reshape(1, -1, self.features.shape[2]),
            targets=self.targets.reshape(1, -1, *self.targets.shape[2:]),
        )

    @abstractmethod
    def _gradient(self, x: Array, features: Array, targets: Array) -> Array: ...

    @abstractmethod
    def objective(self, x: Array) -> float:
        """Return f at one point x of shape (d,)."""

    @property
    @abstractmethod
    def curvature(self) -> float:
        """The largest curvature h of any f_i, an upper bound where f_i is convex."""

    @abstractmethod
    def optimum(self) -> float:
        """The least value f*; 0 where it is not known."""


class _LinearModel(Local):
    """Losses of the products of features and parameters."""

    def _products(self, x: Array, features: Array) -> Array:
        products: Array = np.matmul(features, x[:, :, None])[:, :, 0]
        return products

    def _pull(self, residual: Array, features: Array, x: Array) -> Array:
        weight = x.dtype.type(1 / features.shape[1])
        pulled = np.matmul(residual[:, None, :], features)[:, 0]
        total: Array = pulled * weight + x.dtype.type(self.regularisation) * x
        return total

    def _norm(self) -> float:
        return float(np.linalg.norm(self.features, 2, axis=(1, 2)).max() ** 2) / self.samples


class LogisticLocal(_LinearModel):
    """f_i(x) = mean log(1 + exp(-b a.x)) + regularisation / 2 ||x||^2, labels b = +-1."""

    def _gradient(self, x: Array, features: Array, targets: Array) -> Array:
        from scipy.special import expit

        margin = targets * self._products(x, features)
        return self._pull(-targets * expit(-margin), features, x)

    def objective(self, x: Array) -> float:
        """Return f at x; see `Local.objective`."""
        with np.errstate(over="ignore", invalid="ignore"):
            margin = self.targets * (self.features @ x)
            return float(np.logaddexp(0, -margin).mean() + self.regularisation / 2 * (x @ x))

    @functools.cached_property
    def curvature(self) -> float:
        """Return max ||A_i||^2 / (4 m) + regularisation."""
        return self._norm() / 4 + self.regularisation

    def optimum(self) -> float:
        """f* by Newton's method."""
        from scipy.special import expit

        features = self.features.reshape(-1, self.dimension)
        targets, x = self.targets.ravel(), np.zeros(self.dimension)
        for _ in range(100):
            share = expit(-targets * (features @ x))
            slope = -(targets * share) @ features / len(features) + self.regularisation * x
            hessian = (features.T * (share * (1 - share))) @ features / len(features)
            hessian += self.regularisation * np.eye(len(x))
            move = np.linalg.solve(hessian, slope)
            x = x - move
            if np.abs(move).max() <= 1e-13 * max(1.0, np.abs(x).max()):
                break
        return self.objective(x)


class SquaresLocal(_LinearModel):
    """f_i(x) = mean (a.x - b)^2 / 2 + regularisation / 2 ||x||^2."""

    def _gradient(self, x: Array, features: Array, targets: Array) -> Array:
        return self._pull(self._products(x, features) - targets, features, x)

    def objective(self, x: Array) -> float:
        """Return f at x; see `Local.objective`."""
        with np.errstate(over="ignore", invalid="ignore"):
            residual = self.features @ x - self.targets
            return float(np.square(residual).mean() / 2 + self.regularisation / 2 * (x @ x))

    @functools.cached_property
    def curvature(self) -> float:
        """Return max ||A_i||^2 / m + regularisation."""
        return self._norm() + self.regularisation

    def optimum(self) -> float:
        """f* by least squares."""
        features = self.features.reshape(-1, self.dimension)
        damping = np.sqrt(self.regularisation * len(features)) * np.eye(self.dimension)
        matrix = np.vstack([features, damping])
        right = np.concatenate([self.targets.ravel(), np.zeros(self.dimension)])
        return self.objective(np.linalg.lstsq(matrix, right)[0])


@dataclasses.dataclass(frozen=True)
class Problem(ABC):
    """A family of problems; the numbers depend on it, on n and on the seed only."""

    name: ClassVar[str]
    source: ClassVar[str]

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The files that the numbers are read from."""
        return ()

    @abstractmethod
    def parameters(self, n: int) -> int:
        """The number of parameters d of what `build` makes of n workers, at little cost.

        Raises
        ------
        InputError
            As `build`.
        """

    @abstractmethod
    def build(self, n: int, seed: int) -> Local:
        """The data of n workers in float64.

        Raises
        ------
        InputError
            Parameters that contradict each other or n.
        """


def _number(default: float, words: str) -> Any:
    return dataclasses.field(default=default, metadata={"help": words})


@dataclasses.dataclass(frozen=True)
class _Synthetic(Problem):
    """Gaussian features, a planted solution, and two kinds of difference between the workers.

    Parameters
    ----------
    dimension, samples : int
        d, and samples of each worker.
    label_skew : float
        Fraction of the samples that are dealt out sorted by label, the others at random.
    feature_skew : float
        Length of a random shift of all features of a worker.
    noise : float
        Standard deviation of the noise of the labels.
    regularisation : float
    """

    dimension: int = dataclasses.field(default=200, metadata={"help": "parameters d"})
    samples: int = dataclasses.field(default=400, metadata={"help": "samples of a worker"})
    label_skew: float = _number(0.2, "fraction dealt out sorted by label")
    feature_skew: float = _number(0.3, "length of a worker's shift of features")
    noise: float = _number(1.0, "noise of the labels")
    regularisation: float = _number(0.1, "weight of ||x||^2 / 2")

    def __post_init__(self) -> None:
        """Check the numbers."""
        for key, least in (("dimension", 1), ("samples", 1)):
            if getattr(self, key) < least:
                raise InputError(f"problem {self.name}: {key}={getattr(self, key)}; allowed >= 1")
        if not 0 <= self.label_skew <= 1:
            raise InputError(
                f"problem {self.name}: label_skew={self.label_skew:g}; allowed is 0 .. 1"
            )
        for key in ("feature_skew", "noise", "regularisation"):
            if getattr(self, key) < 0:
                raise InputError(f"problem {self.name}: {key}={getattr(self, key):g}; allowed >= 0")

    def parameters(self, n: int) -> int:
        """The dimension."""
        return self.dimension

    def _draw(self, n: int, seed: int) -> tuple[Array, Array]:
        """Features (n, m, d) and the noisy scores (n, m) of a planted solution."""
        rng = stream("gossip data", seed)
        d, count = self.dimension, n * self.samples
        planted = rng.standard_normal(d) / np.sqrt(d)
        features = rng.standard_normal((count, d))
        scores = features @ planted + self.noise * rng.standard_normal(count)
        order = deal(scores, self.label_skew, rng)
        shift = rng.standard_normal((n, 1, d))
        shift *= self.feature_skew / np.linalg.norm(shift, axis=2, keepdims=True)
        return (
            features[order].reshape(n, self.samples, d) + shift,
            scores[order].reshape(n, self.samples),
        )


class Logistic(_Synthetic):
    """Heterogeneous logistic regression."""

    name = "logistic"
    source = "synthetic; label and feature skew as in the field's studies of heterogeneous workers"

    def build(self, n: int, seed: int) -> LogisticLocal:
        """Labels are the signs of the scores; see `Problem.build`."""
        features, scores = self._draw(n, seed)
        return LogisticLocal(features, np.where(scores < 0, -1.0, 1.0), self.regularisation)


class LeastSquares(_Synthetic):
    """Heterogeneous least squares."""

    name = "least-squares"
    source = "synthetic"

    def build(self, n: int, seed: int) -> SquaresLocal:
        """Targets are the scores; see `Problem.build`."""
        features, scores = self._draw(n, seed)
        return SquaresLocal(features, scores, self.regularisation)


def deal(labels: Array, skew: float, rng: np.random.Generator) -> NDArray[np.int64]:
    """An order of samples for dealing out to workers in equal blocks.

    A random fraction `skew` of the places is filled in the order of the labels, the others at
    random, so that 0 gives equal workers and 1 a worker per label.

    Parameters
    ----------
    labels : array, shape (count,)
    skew : float
    rng : numpy.random.Generator

    Returns
    -------
    int array, shape (count,)

    Examples
    --------
    >>> labels = np.array([1, 0, 1, 0])
    >>> labels[deal(labels, 1.0, np.random.default_rng(0))]
    array([0, 0, 1, 1])
    """
    count = len(labels)
    shuffled = rng.permutation(count)
    places = rng.permutation(count)
    cut = round(skew * count)
    order = np.empty(count, np.int64)
    chosen = shuffled[:cut]
    order[np.sort(places[:cut])] = chosen[np.argsort(labels[chosen], kind="stable")]
    order[places[cut:]] = shuffled[cut:]
    return order
