"""Softmax regression and a small multilayer perceptron on labelled data, and problems by name."""

import dataclasses
import functools
from typing import ClassVar

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.files import Input
from stabbench.grammar import bind, canonical, near, parse
from stabbench.problems.data import dataset, labelled
from stabbench.problems.families import Data
from stabbench.training.gossip.problems import (
    Array,
    LeastSquares,
    Local,
    Logistic,
    Problem,
    deal,
)

_SCALE = {"help": "weight of ||x||^2 / 2"}


def _log_softmax(logits: Array) -> Array:
    shifted = logits - logits.max(axis=-1, keepdims=True)
    logs: Array = shifted - np.log(np.exp(shifted).sum(axis=-1, keepdims=True))
    return logs


@dataclasses.dataclass(frozen=True)
class SoftmaxLocal(Local):
    """f_i(x) = mean cross entropy of softmax(a X) + regularisation / 2 ||x||^2, X (p, c) in x."""

    @property
    def classes(self) -> int:
        """Number of classes c."""
        return int(self.targets.shape[2])

    @property
    def dimension(self) -> int:
        """Number of parameters p c."""
        return int(self.features.shape[2]) * self.classes

    def _gradient(self, x: Array, features: Array, targets: Array) -> Array:
        weights = x.reshape(len(x), -1, self.classes)
        residual = np.exp(_log_softmax(np.matmul(features, weights))) - targets
        pulled = np.matmul(features.transpose(0, 2, 1), residual).reshape(x.shape)
        total: Array = pulled * x.dtype.type(1 / features.shape[1])
        total += x.dtype.type(self.regularisation) * x
        return total

    def objective(self, x: Array) -> float:
        """Return f at x; see `Local.objective`."""
        with np.errstate(over="ignore", invalid="ignore"):
            logs = _log_softmax(self.features @ x.reshape(-1, self.classes))
            entropy = -(logs * self.targets).sum(axis=-1).mean()
            return float(entropy + self.regularisation / 2 * (x @ x))

    @functools.cached_property
    def curvature(self) -> float:
        """Return max ||A_i||^2 / (2 m) + regularisation."""
        with np.errstate(over="ignore", invalid="ignore"):
            largest = float(np.linalg.norm(self.features, 2, axis=(1, 2)).max() ** 2)
        return largest / self.samples / 2 + self.regularisation

    def optimum(self) -> float:
        """f* by Newton's method with conjugate gradients, 0 without regularisation."""
        from scipy.optimize import minimize

        if self.regularisation == 0:
            return 0.0
        pooled = self.pooled()
        features = pooled.features[0]

        def product(x: Array, v: Array) -> Array:
            share = np.exp(_log_softmax(features @ x.reshape(-1, self.classes)))
            moved = features @ v.reshape(-1, self.classes)
            moved = share * (moved - (share * moved).sum(axis=1, keepdims=True))
            pulled = (features.T @ moved).ravel() / len(features)
            total: Array = pulled + self.regularisation * v
            return total

        found = minimize(
            pooled.objective,
            np.zeros(self.dimension),
            jac=lambda x: pooled.gradient(x[None])[0],
            hessp=product,
            method="trust-krylov",
            options={"gtol": 1e-10, "inexact": False},
        )
        return pooled.objective(found.x)


@dataclasses.dataclass(frozen=True)
class PerceptronLocal(SoftmaxLocal):
    """Cross entropy of softmax(tanh(a X_1) X_2), X_1 (p, hidden) and X_2 (hidden, c) in x.

    Attributes
    ----------
    hidden : int
    seed : int
        Picks the starting point.
    """

    hidden: int = 16
    seed: int = 0

    @property
    def dimension(self) -> int:
        """Number of parameters hidden (p + c)."""
        return self.hidden * (int(self.features.shape[2]) + self.classes)

    def start(self) -> Array:
        """A random point of the usual scale, the same for all workers."""
        rng = stream("gossip start", self.seed)
        inputs = int(self.features.shape[2])
        first = rng.standard_normal(inputs * self.hidden) / np.sqrt(inputs)
        second = rng.standard_normal(self.hidden * self.classes) / np.sqrt(self.hidden)
        return np.concatenate([first, second])

    def _layers(self, x: Array) -> tuple[Array, Array]:
        cut = int(self.features.shape[2]) * self.hidden
        first = x[..., :cut].reshape(*x.shape[:-1], -1, self.hidden)
        return first, x[..., cut:].reshape(*x.shape[:-1], self.hidden, self.classes)

    def _gradient(self, x: Array, features: Array, targets: Array) -> Array:
        first, second = self._layers(x)
        active = np.tanh(np.matmul(features, first))
        residual = np.exp(_log_softmax(np.matmul(active, second))) - targets
        residual *= x.dtype.type(1 / features.shape[1])
        back = np.matmul(residual, second.transpose(0, 2, 1)) * (1 - active * active)
        parts = (
            np.matmul(features.transpose(0, 2, 1), back).reshape(len(x), -1),
            np.matmul(active.transpose(0, 2, 1), residual).reshape(len(x), -1),
        )
        total: Array = np.concatenate(parts, axis=1)
        total += x.dtype.type(self.regularisation) * x
        return total

    def objective(self, x: Array) -> float:
        """Return f at x; see `Local.objective`."""
        first, second = self._layers(x)
        with np.errstate(over="ignore", invalid="ignore"):
            logs = _log_softmax(np.tanh(self.features @ first) @ second)
            entropy = -(logs * self.targets).sum(axis=-1).mean()
            return float(entropy + self.regularisation / 2 * (x @ x))

    @functools.cached_property
    def curvature(self) -> float:
        """The largest curvature of any f_i at the start, by power iteration: an estimate."""
        x = np.tile(self.start(), (self.workers, 1))
        here, step = self.gradient(x), 1e-5
        v = stream("gossip curvature", self.seed).standard_normal(x.shape)
        size = np.ones((self.workers, 1))
        for _ in range(30):
            v /= np.linalg.norm(v, axis=1, keepdims=True)
            v = (self.gradient(x + step * v) - here) / step
            size = np.linalg.norm(v, axis=1, keepdims=True)
        return float(size.max())

    def optimum(self) -> float:
        """Return 0, as f* is not known: the gap is f itself."""
        return 0.0


@dataclasses.dataclass(frozen=True)
class Softmax(Problem):
    """Softmax regression on labelled data, dealt out to the workers in equal parts.

    Parameters
    ----------
    data : str
        ``digits``, ``breast-cancer``, or a .npz or .mat file with X and y.
    label_skew : float
        Fraction of the samples that are dealt out sorted by label.
    regularisation : float
    """

    data: str = dataclasses.field(default="digits", metadata={"help": "labelled data"})
    label_skew: float = dataclasses.field(default=0.5, metadata={"help": "fraction sorted"})
    regularisation: float = dataclasses.field(default=0.01, metadata=_SCALE)
    labelled: Data = dataclasses.field(init=False, repr=False)

    name: ClassVar[str] = "softmax"
    source: ClassVar[str] = "labelled data, real by default"

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not 0 <= self.label_skew <= 1:
            raise InputError(
                f"problem {self.name}: label_skew={self.label_skew:g}; allowed is 0 .. 1"
            )
        if self.regularisation < 0:
            raise InputError(
                f"problem {self.name}: regularisation={self.regularisation:g}; allowed is >= 0"
            )
        object.__setattr__(self, "labelled", labelled(self.data))

    @property
    def inputs(self) -> tuple[Input, ...]:
        """The file of the data."""
        return self.labelled.inputs

    def parameters(self, n: int) -> int:
        """(features + 1) classes."""
        features, classes = self._labelled(n)
        return (int(features.shape[1]) + 1) * len(np.unique(classes))

    def build(self, n: int, seed: int) -> Local:
        """The first n m samples after dealing; see `Problem.build`."""
        return SoftmaxLocal(*self._dealt(n, seed), self.regularisation)

    def _labelled(self, n: int) -> tuple[Array, Array]:
        features, classes = dataset(self.labelled)
        if classes.dtype.kind != "i" or np.iscomplexobj(features):
            raise InputError(f"problem {self.name}: {self.data}; allowed are real X, whole y")
        if len(features) < n:
            raise InputError(
                f"problem {self.name}: {len(features)} samples; allowed is n={n} or more"
            )
        return features, classes

    def _dealt(self, n: int, seed: int) -> tuple[Array, Array]:
        features, classes = self._labelled(n)
        rng = stream("gossip data", seed)
        order = deal(classes, self.label_skew, rng)
        m = len(order) // n
        # what is left over is left out evenly, not the last label
        order = order[np.linspace(0, len(order) - 1, n * m).astype(np.int64)]
        names = np.unique(classes)
        targets = (classes[order, None] == names).astype(np.float64)
        # a constant column that is no data serves as the bias
        columns = np.hstack([features[order], np.ones((n * m, 1))])
        return columns.reshape(n, m, -1), targets.reshape(n, m, -1)


@dataclasses.dataclass(frozen=True)
class Perceptron(Softmax):
    """A network with one hidden layer of tanh on labelled data.

    Parameters
    ----------
    hidden : int
        Width of the hidden layer.
    """

    hidden: int = dataclasses.field(default=16, metadata={"help": "width of the hidden layer"})

    name: ClassVar[str] = "perceptron"

    def __post_init__(self) -> None:
        """Check the numbers."""
        super().__post_init__()
        if self.hidden < 1:
            raise InputError(f"problem perceptron: hidden={self.hidden}; allowed is >= 1")

    def parameters(self, n: int) -> int:
        """Hidden (features + 1 + classes)."""
        features, classes = self._labelled(n)
        return self.hidden * (int(features.shape[1]) + 1 + len(np.unique(classes)))

    def build(self, n: int, seed: int) -> Local:
        """As for `Softmax`."""
        return PerceptronLocal(
            *self._dealt(n, seed), self.regularisation, hidden=self.hidden, seed=seed
        )


PROBLEMS: dict[str, type[Problem]] = {
    problem.name: problem for problem in (Logistic, LeastSquares, Softmax, Perceptron)
}


def problem(text: str) -> Problem:
    """The problem that a grammar string names.

    Raises
    ------
    InputError
        Unknown name or parameter, a value that is not allowed.

    Examples
    --------
    >>> problem("logistic[dimension=20]").build(n=4, seed=0).features.shape
    (4, 400, 20)
    """
    spec = parse(text)
    if spec.name not in PROBLEMS:
        raise InputError(f"unknown problem {spec.name!r}; {near(spec.name, PROBLEMS)}")
    return bind(PROBLEMS[spec.name], spec)


def problem_spec(text: str) -> str:
    """The grammar string of a problem with every parameter."""
    built = problem(text)
    return canonical(built, built.name, full=True)


def built(text: str, n: int, seed: int) -> tuple[Local, float]:
    """The data of a problem and f*, kept for the next case on the same numbers.

    Raises
    ------
    OverflowError
        If the curvature of the objective is beyond float64: then no step size is small enough.
    """
    return _built(problem(text), n, seed)


@functools.lru_cache(maxsize=8)
def _built(source: Problem, n: int, seed: int) -> tuple[Local, float]:
    local = source.build(n, seed)
    if not np.isfinite(local.curvature):
        raise OverflowError("the curvature of the objective overflows float64")
    return local, local.optimum()
