"""The time model of the papers: worker time d X + Y / m, the master waits for enough workers.

d X is the work on d / n of the data: where there are K partitions, d is the load times n / K.

Expected iteration times by quadrature of exact distributions, or by simulation with an interval.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from stabbench.arithmetic.streams import stream
from stabbench.codes.gradient.base import GradientCode
from stabbench.codes.gradient.block_coordinate import BlockCoordinate
from stabbench.codes.gradient.kadhe import GroupCode
from stabbench.codes.gradient.nested import Nested
from stabbench.errors import InputError

Array = np.ndarray[Any, np.dtype[Any]]
TAIL = 1e-14
NODES = 400
AT_ONCE = 1 << 21
"""Most message times in memory at once."""


@dataclasses.dataclass(frozen=True)
class TimeModel:
    """X = x0 + Exp(x_rate) per n-th of the data and Y = y0 + Exp(y_rate) per full gradient sent.

    Parameters
    ----------
    x0, x_rate, y0, y_rate : float
        Shifts and rates; an infinite rate is no random part.

    Examples
    --------
    >>> round(TimeModel().expected(8, d=4, m=3, stragglers=1), 2)
    21.37
    """

    x0: float = 1.6
    x_rate: float = 0.8
    y0: float = 6.0
    y_rate: float = 0.1

    def __post_init__(self) -> None:
        """Check the numbers."""
        if min(self.x0, self.y0) < 0 or min(self.x_rate, self.y_rate) <= 0:
            raise InputError(f"time model {self}: allowed are shifts >= 0 and rates > 0")

    def late(self, d: float, m: int, t: Array) -> Array:
        """P(a worker takes longer than its least time by more than t)."""
        a, b = sorted((self.x_rate / d, self.y_rate * m))
        if math.isinf(b):
            return np.zeros_like(t) if math.isinf(a) else np.exp(-a * t)
        apart = (b - a) * t
        with np.errstate(invalid="ignore"):
            # (1 - exp(-x)) / x, as the difference of the exponentials cancels for close rates
            share = np.where(apart > 0, -np.expm1(-apart) / apart, 1.0)
        return np.asarray(np.exp(-a * t) * (1 + a * t * share))

    def least(self, d: float, m: int) -> float:
        """The least time of a worker."""
        return d * self.x0 + self.y0 / m

    def expected(self, n: int, d: float, m: int, stragglers: int) -> float:
        """E of the time of the (n - s)-th fastest of n workers.

        The integral of P(more than s workers are late), to about 1e-10.
        """

        def waiting(t: Array) -> Array:
            return _more_than(stragglers, n, self.late(d, m, t))

        return self.least(d, m) + self._integral(waiting, d, m, n)

    def expected_groups(self, n: int, d: int, m: int) -> float:
        """E of the time at which every one of n / d groups of d workers has m replies."""

        def waiting(t: Array) -> Array:
            return 1 - (1 - _more_than(d - m, d, self.late(d, m, t))) ** (n // d)

        return self.least(d, m) + self._integral(waiting, d, m, n)

    def _integral(self, function: Callable[[Array], Array], d: float, m: int, n: int) -> float:
        rate = min(self.x_rate / d, self.y_rate * m)
        if math.isinf(rate):
            return 0.0
        # beyond the end n workers are late with a probability of 1e-14 in all
        end = (math.log(n / TAIL) + 6) / rate
        x, w = _nodes()
        return float(end / 2 * (w * function(end / 2 * (x + 1))).sum())

    def draw(self, random: np.random.Generator, shape: tuple[int, ...]) -> tuple[Array, Array]:
        """Samples of X and Y."""
        x = self.x0 + random.standard_exponential(shape) / self.x_rate
        return x, self.y0 + random.standard_exponential(shape) / self.y_rate


@dataclasses.dataclass(frozen=True)
class Time:
    """An expected time.

    Attributes
    ----------
    value : float
    half_width : float
        Of the 95% interval; 0 where the value is not simulated.
    method : str
        ``quadrature`` or ``simulation``.
    """

    value: float
    half_width: float
    method: str


def expected_time(
    code: GradientCode, model: TimeModel, draws: int = 20_000, seed: int = 0, early: bool = False
) -> Time:
    """Expected iteration time of a gradient code.

    Parameters
    ----------
    code : GradientCode
        Decoded as `iterations` says.
    model : TimeModel
    draws, seed : int
        Of the simulation.
    early : bool
        Whether codes of groups stop when every group has enough replies.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> time = expected_time(code("kadhe[d=4,m=3]", n=8, stragglers=1), TimeModel())
    >>> round(time.value, 2), time.method
    (21.37, 'quadrature')
    """
    if isinstance(code, Nested | BlockCoordinate):
        random = stream("expected time", seed, code.n, draws)
        moments, _ = iterations(code, *model.draw(random, (draws, code.n)))
        return Time(float(moments.mean()), 1.96 * float(moments.std(ddof=1)) / draws**0.5,
                    "simulation")  # fmt: skip
    if early and isinstance(code, GroupCode):
        d, m = code.sizes
        return Time(model.expected_groups(code.n, d, m), 0.0, "quadrature")
    value = model.expected(code.n, work(code), code.reduction, code.stragglers)
    return Time(value, 0.0, "quadrature")


def work(code: GradientCode) -> float:
    """The most data that one worker reads, in n-ths: the load of codes with n partitions.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> work(code("cyclic-mds", n=12, stragglers=2)), work(code("graph[d=3]", n=12, stragglers=2))
    (3.0, 3.0)
    """
    return code.load * code.n / code.partitions


def message_times(code: GradientCode | None, x: Array, y: Array) -> Array:
    """When every message is there, shape (draws, n, messages); one each without a code.

    Parameters
    ----------
    code : GradientCode or None
        Message q of nested takes q X + Y, as every message is a gradient; block-coordinate sends
        its blocks as they are finished; every other code sends all that it has after d X + Y / m,
        d of `work`, the same for all workers.
    x, y : arrays, shape (draws, n)
    """
    if isinstance(code, Nested):
        return np.stack([q * x + y for q in range(1, code.messages + 1)], axis=2)
    if isinstance(code, BlockCoordinate):
        shares = np.array(code.sizes(10**6)) / 10**6
        read = np.cumsum((code.stragglers + 1 + np.arange(code.messages)) * shares)
        return np.asarray(x[:, :, None] * read + y[:, :, None] * np.cumsum(shares))
    if code is None:
        return np.asarray(x + y)[:, :, None]
    return np.repeat((work(code) * x + y / code.reduction)[:, :, None], code.messages, axis=2)


def iterations(code: GradientCode | None, x: Array, y: Array) -> tuple[Array, Array]:
    """When the master can decode, and which messages have come by then, of the same draws.

    Parameters
    ----------
    code : GradientCode or None
        nested decodes at the first moment that a level allows it, block-coordinate when its last
        block is decodable, every other code when n - s workers have replied; without a code all
        replies are waited for.
    x, y : arrays, shape (draws, n)

    Returns
    -------
    moments : float64 array, shape (draws,)
    counts : int64 array, shape (draws, n)
        Messages of every worker that have come.

    Examples
    --------
    >>> from stabbench.codes.registry import code
    >>> moments, counts = iterations(
    ...     code("nested", n=3, stragglers=1), np.array([[1.0, 2.0, 9.0]]), np.zeros((1, 3))
    ... )
    >>> moments.tolist(), counts.tolist()
    ([4.0], [[2, 2, 0]])
    """
    size = max(1, AT_ONCE // (x.shape[1] * (code.messages if code else 1)))
    starts = range(0, max(1, len(x)), size)
    found = [_iterations(code, x[at : at + size], y[at : at + size]) for at in starts]
    moments, counts = map(np.concatenate, zip(*found, strict=True))
    return moments, counts


def _iterations(code: GradientCode | None, x: Array, y: Array) -> tuple[Array, Array]:
    ready = message_times(code, x, y)
    n, messages = ready.shape[1:]
    late = np.full(messages, code.stragglers if code else 0)
    if isinstance(code, Nested):
        late = np.arange(messages)
    if isinstance(code, BlockCoordinate):
        late = code.stragglers + np.arange(messages)
    enough = np.sort(ready, axis=1)[:, n - 1 - late, np.arange(messages)]
    moments = enough.min(axis=1) if isinstance(code, Nested) else enough.max(axis=1)
    return moments, (ready <= moments[:, None, None]).sum(axis=2)


def best(model: TimeModel, n: int) -> list[tuple[float, int, int]]:
    """All (time, d, m) with d >= m and s = d - m, fastest first.

    Examples
    --------
    >>> [(d, m) for _, d, m in best(TimeModel(), 8)][0]
    (4, 3)
    """
    pairs = [(d, m) for d in range(1, n + 1) for m in range(1, d + 1)]
    return sorted((model.expected(n, d, m, d - m), d, m) for d, m in pairs)


@functools.cache
def _nodes() -> tuple[Array, Array]:
    x, w = np.polynomial.legendre.leggauss(NODES)
    return x, w


def _more_than(s: int, n: int, late: Array) -> Array:
    """P(more than s of n workers are late)."""
    total = np.zeros_like(late)
    for k in range(s + 1):
        total += math.comb(n, k) * late**k * (1 - late) ** (n - k)
    return np.asarray(np.clip(1 - total, 0, 1))
