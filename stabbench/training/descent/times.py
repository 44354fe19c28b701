"""The time of one iteration when the master waits for the first n - s workers."""

import dataclasses
import itertools
from typing import Any, ClassVar

import numpy as np

from stabbench.errors import InputError
from stabbench.grammar import bind, canonical, near, parse

Array = np.ndarray[Any, np.dtype[Any]]
STREAM = 37


@dataclasses.dataclass(frozen=True)
class Shifted:
    """A worker takes d X + Y / m: X per partition computed, Y for a whole gradient sent.

    X = x_shift + Exp(x_rate) and Y = y_shift + Exp(y_rate), independent, drawn per worker and
    iteration.

    Parameters
    ----------
    x_shift, x_rate, y_shift, y_rate : float

    Raises
    ------
    InputError
        A negative shift, a rate that is not positive.

    Examples
    --------
    >>> model = Shifted()
    >>> round(model.expected(8, wait=7, load=4, reduction=3), 3)
    21.37
    """

    x_shift: float = dataclasses.field(default=1.6, metadata={"help": "least time per partition"})
    x_rate: float = dataclasses.field(default=0.8, metadata={"help": "rate of its random part"})
    y_shift: float = dataclasses.field(default=6.0, metadata={"help": "least time of sending"})
    y_rate: float = dataclasses.field(default=0.1, metadata={"help": "rate of its random part"})

    name: ClassVar[str] = "shifted"
    source: ClassVar[str] = "Ye, Abbe, Communication-computation efficient gradient coding, 2018"

    def __post_init__(self) -> None:
        """Check the numbers."""
        if min(self.x_shift, self.y_shift) < 0 or min(self.x_rate, self.y_rate) <= 0:
            raise InputError(f"times {self}: allowed are shifts >= 0 and rates > 0")

    def __str__(self) -> str:
        return canonical(self, self.name, full=True)

    def distribution(self, t: Array | float, load: int, reduction: int) -> Any:
        """P(worker time - its least time <= t), a sum of two exponentials."""
        a, b = self.x_rate / load, self.y_rate * reduction
        t = np.asarray(t, dtype=np.float64)
        if abs(a - b) < 1e-9 * (a + b):
            return 1 - (1 + a * t) * np.exp(-a * t)
        return 1 - (b * np.exp(-a * t) - a * np.exp(-b * t)) / (b - a)

    def expected(self, n: int, wait: int, load: int, reduction: int) -> float:
        """E of the wait-th smallest of n worker times, by quadrature of its tail.

        Parameters
        ----------
        n, wait : int
            Workers, and how many the master waits for.
        load, reduction : int
            d and m.
        """
        from scipy import integrate, special

        def tail(t: float) -> float:
            share = float(np.clip(self.distribution(t, load, reduction), 0.0, 1.0))
            return float(special.bdtr(wait - 1, n, share))

        least = load * self.x_shift + self.y_shift / reduction
        scale = load / self.x_rate + 1 / (self.y_rate * reduction)
        edges = [0.0, 0.5 * scale, scale, 2 * scale, 5 * scale, 15 * scale, 60 * scale]
        parts = (
            integrate.quad(tail, low, high, epsrel=1e-9, epsabs=1e-12)[0]
            for low, high in itertools.pairwise(edges)
        )
        return float(least + sum(parts))

    def best(self, n: int, reduction: int | None = None) -> tuple[int, int, float]:
        """Load d and reduction m of the least expected time with s = d - m, and that time.

        Parameters
        ----------
        n : int
        reduction : int, optional
            Only this m.

        Examples
        --------
        >>> d, m, time = Shifted().best(8)
        >>> d, m, round(time, 3)
        (4, 3, 21.37)
        """
        choices = [
            (d, m) for d in range(1, n + 1) for m in range(1, d + 1) if reduction in (None, m)
        ]
        times = {(d, m): self.expected(n, n - d + m, d, m) for d, m in choices}
        d, m = min(times, key=lambda choice: times[choice])
        return d, m, times[d, m]

    def draw(self, n: int, load: int, reduction: int, steps: int, seed: int) -> Array:
        """Times of every worker, shape (steps, n); the same random numbers for every d and m."""
        random = np.random.default_rng([seed, STREAM])
        x = self.x_shift + random.standard_exponential((steps, n)) / self.x_rate
        y = self.y_shift + random.standard_exponential((steps, n)) / self.y_rate
        return load * x + y / reduction


MODELS: dict[str, type[Shifted]] = {Shifted.name: Shifted}


def times(text: str) -> Shifted:
    """The time model that a grammar string names.

    Examples
    --------
    >>> times("shifted[x_shift=0]").x_shift
    0.0
    """
    spec = parse(text)
    if spec.name not in MODELS:
        raise InputError(f"unknown times {spec.name!r}; {near(spec.name, MODELS)}")
    return bind(MODELS[spec.name], spec)
