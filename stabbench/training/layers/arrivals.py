"""Which workers reply in each step of a training run: seeded draws, the same for every code."""

import dataclasses
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse

Array = np.ndarray[Any, np.dtype[Any]]


@dataclasses.dataclass(frozen=True)
class Arrivals(ABC):
    """A model of the workers whose replies the master waits for."""

    name: ClassVar[str] = ""

    @abstractmethod
    def patterns(self, n: int, stragglers: int, steps: int, seed: int) -> Array:
        """Patterns of all steps.

        Parameters
        ----------
        n, stragglers : int
        steps : int
        seed : int

        Returns
        -------
        int8 array, shape (steps, n)
            1 where the reply of a worker arrives in time.
        """

    def __str__(self) -> str:
        return canonical(self, self.name, full=True)


@dataclasses.dataclass(frozen=True)
class Random(Arrivals):
    """Any s of the n workers straggle, every set equally likely, drawn anew in each step.

    Examples
    --------
    >>> Random().patterns(5, 2, steps=3, seed=0).sum(axis=1).tolist()
    [3, 3, 3]
    """

    name: ClassVar[str] = "random"

    def patterns(self, n: int, stragglers: int, steps: int, seed: int) -> Array:
        """The n - s workers of the smallest random keys."""
        keys = stream("arrivals", seed).random((steps, n))
        return _first(keys, n - stragglers)


@dataclasses.dataclass(frozen=True)
class Latency(Arrivals):
    """The master waits for the n - s fastest; times are shifted exponentials, workers differ.

    Worker i takes f_i (shift + E / rate) with E a standard exponential, drawn anew in each step,
    and f_i = exp(spread N(0, 1)), drawn once per run: slow workers straggle more often.

    Parameters
    ----------
    shift, rate, spread : float

    Examples
    --------
    >>> Latency(spread=5.0).patterns(4, 1, steps=50, seed=1).sum(axis=0).tolist()
    [0, 50, 50, 50]
    """

    shift: float = dataclasses.field(default=1.0, metadata={"help": "least time of a worker"})
    rate: float = dataclasses.field(default=1.0, metadata={"help": "rate of the random part"})
    spread: float = dataclasses.field(
        default=0.5, metadata={"help": "deviation of the logarithm of the workers' speeds"}
    )

    name: ClassVar[str] = "latency"

    def __post_init__(self) -> None:
        """Check the numbers."""
        if not (self.shift >= 0 and self.rate > 0 and self.spread >= 0):
            raise InputError(f"arrivals {self}: allowed are shift >= 0, rate > 0, spread >= 0")

    def patterns(self, n: int, stragglers: int, steps: int, seed: int) -> Array:
        """The n - s workers of the least times."""
        random = stream("arrivals", seed)
        factors = np.exp(self.spread * random.standard_normal(n))
        times = factors * (self.shift + random.standard_exponential((steps, n)) / self.rate)
        return _first(times, n - stragglers)


@dataclasses.dataclass(frozen=True)
class Punctual(Arrivals):
    """All n workers reply in every step.

    Examples
    --------
    >>> int(Punctual().patterns(4, 1, steps=2, seed=0).sum())
    8
    """

    name: ClassVar[str] = "none"

    def patterns(self, n: int, stragglers: int, steps: int, seed: int) -> Array:
        """Ones."""
        return np.ones((steps, n), dtype=np.int8)


def _first(keys: Array, count: int) -> Array:
    patterns = np.zeros(keys.shape, dtype=np.int8)
    np.put_along_axis(patterns, np.argsort(keys, axis=1)[:, :count], 1, axis=1)
    return patterns


MODELS: dict[str, type[Arrivals]] = {cls.name: cls for cls in (Random, Latency, Punctual)}


def arrivals(text: str) -> Arrivals:
    """The model that a grammar string names: ``random``, ``latency[...]`` or ``none``.

    Raises
    ------
    InputError
        Unknown name or parameter.

    Examples
    --------
    >>> str(arrivals("latency[spread=1]"))
    'latency[shift=1.0,rate=1.0,spread=1.0]'
    """
    spec = parse(text)
    if spec.name not in MODELS:
        raise InputError(f"unknown arrivals {spec.name!r}; {near(spec.name, MODELS)}")
    return bind(MODELS[spec.name], spec)
