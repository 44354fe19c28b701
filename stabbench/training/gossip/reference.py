"""The same method without rounding, with the masks of a run replayed: mpmath, or longdouble.

Masks of top-k differ between precisions while trajectories agree, so they are replayed and never
compared. This is a second implementation, from the formulas; it shares no code with the kernels.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stabbench.errors import InputError
from stabbench.training.gossip.channel import Channel, Setting, State
from stabbench.training.gossip.methods import Dcd, Ecsd, Method
from stabbench.training.gossip.problems import Local, LogisticLocal, SquaresLocal

Array = NDArray[Any]


class Masks:
    """The entries that a run sent, step by step; give it to `simulate` as `watch`."""

    def __init__(self) -> None:
        self.sent: list[Array] = []

    def __call__(self, step: int, state: State) -> None:
        """Keep the mask of this step, shape (n, d)."""
        assert state.message is not None
        mask = np.zeros(state.x.shape, dtype=bool)
        rows = np.repeat(np.arange(len(mask)), np.diff(state.message.start))
        mask[rows, state.message.index] = True
        self.sent.append(mask)


@dataclasses.dataclass(frozen=True)
class Replay:
    """The end of a run without rounding.

    Attributes
    ----------
    x, e : array, shape (n, d)
        In the arithmetic of the replay.
    local, common : float
        I1 and I2 of the replay itself, 0 up to its own precision.
    """

    x: Array
    e: Array
    local: float
    common: float

    def distance(self, x: Array) -> float:
        """The greatest difference of a computed model from the exact one."""
        return float(np.abs(_like(x, self.x) - self.x).max())


def replay(
    method: Method, setting: Setting, local: Local, masks: Sequence[Array], *, bits: int = 0
) -> Replay:
    """Follow the masks of a run with exact weights and without rounding.

    The learning rate does not decay. The data, gamma and eta are those of the run, rounded to its
    arithmetic: the rounded numbers are the problem.

    Parameters
    ----------
    method : Method
        ``dcd``, or ``ecsd`` in its full variant.
    setting : Setting
    local : Local
        Logistic regression or least squares.
    masks : sequence of bool array, shape (n, d)
        What was sent, see `Masks`.
    bits : int, optional
        Precision of mpmath; 0 takes longdouble.

    Returns
    -------
    Replay

    Raises
    ------
    InputError
        Another method or problem.

    Examples
    --------
    >>> from stabbench.training.gossip import Formats, Run, compressor, method, mixing, problem
    >>> from stabbench.training.gossip import simulate
    >>> setting = Setting(mixing("ring", 3), compressor("top-k"), Formats.of("float64"), 0.1, 0.05)
    >>> local = problem("least-squares[dimension=5,samples=4]").build(3, seed=0)
    >>> masks = Masks()
    >>> result = simulate(method("ecsd"), setting, local, Run(steps=5), watch=masks)
    >>> replay(method("ecsd"), setting, local, masks.sent, bits=200).distance(
    ...     result.state.x
    ... ) < 1e-15
    True
    """
    if not isinstance(method, Dcd | Ecsd) or (
        isinstance(method, Ecsd) and method.variant != "full"
    ):
        raise InputError(f"replay of method {method.name}; allowed are dcd, ecsd[variant=full]")
    if not isinstance(local, LogisticLocal | SquaresLocal):
        raise InputError("replay: allowed are the problems logistic and least-squares")
    channel = Channel(setting, local.dimension, 0)
    numbers = _Numbers(bits)
    data = local.cast(channel.work)
    x = numbers.of(channel.state(local.start(), memory=False).x)
    follow = _Follow(numbers, data, numbers.of_rationals(setting.mixing, x.shape[0]))
    return follow.run(method, x, numbers.scalar(channel.rate), numbers.scalar(channel.eta), masks)


class _Numbers:
    """Arrays of mpmath numbers of a local context, or of longdouble."""

    def __init__(self, bits: int) -> None:
        self.context = None
        if bits:
            import mpmath

            self.context = mpmath.MPContext()
            self.context.prec = bits

    def scalar(self, value: Any) -> Any:
        return self.context.mpf(float(value)) if self.context else np.longdouble(value)

    def of(self, values: Array) -> Array:
        if self.context is None:
            return values.astype(np.longdouble)
        converted: Array = np.frompyfunc(self.scalar, 1, 1)(values)
        return converted

    def of_rationals(self, mixing: Any, n: int) -> Array:
        """W with exact entries."""
        w = self.of(np.zeros((n, n)))
        for (i, j), value in mixing.entries.items():
            w[i, j] = self.scalar(value.numerator) / self.scalar(value.denominator)
        for i, value in enumerate(mixing.own()):
            w[i, i] = self.scalar(value.numerator) / self.scalar(value.denominator)
        return w

    def exp(self, values: Array) -> Array:
        if self.context is None:
            return np.asarray(np.exp(values))
        raised: Array = np.frompyfunc(self.context.exp, 1, 1)(values)
        return raised


@dataclasses.dataclass(frozen=True)
class _Follow:
    """One replay: the arithmetic, the data in it, and W."""

    numbers: _Numbers
    data: LogisticLocal | SquaresLocal
    weights: Array

    def run(
        self, method: Dcd | Ecsd, x: Array, rate: Any, eta: Any, masks: Sequence[Array]
    ) -> Replay:
        start, zero = x.copy(), x * 0
        e, increments, descents = zero.copy(), zero.copy(), zero.copy()
        where = method.gradient if isinstance(method, Ecsd) else "public"
        for mask in masks:
            q = eta * (self.weights.dot(x) - x)
            point = x if where == "public" else x + e
            descent = rate * self.gradient(point + q if where == "lookahead" else point)
            z = e + q - descent
            sent = np.where(mask, z, zero)
            x = x + sent
            e = z - sent if isinstance(method, Ecsd) else zero
            increments = increments + (q - descent)
            descents = descents + descent
        n = len(x)
        local = np.abs(x + e - start - increments).max()
        common = np.abs((x + e - start + descents).sum(axis=0) / n).max()
        return Replay(x, e, float(local), float(common))

    def gradient(self, x: Array) -> Array:
        features, targets = self.numbers.of(self.data.features), self.numbers.of(self.data.targets)
        products = (features * x[:, None, :]).sum(axis=2)
        if isinstance(self.data, LogisticLocal):
            residual = -targets / (self.numbers.exp(targets * products) + 1)
        else:
            residual = products - targets
        pulled = (features * residual[:, :, None]).sum(axis=1) / self.data.samples
        weight = self.numbers.scalar(self.data.regularisation)
        total: Array = pulled + weight * x
        return total


def _like(x: Array, other: Array) -> Array:
    if other.dtype == object:
        return np.frompyfunc(type(other.flat[0]), 1, 1)(x.astype(np.float64))  # type: ignore[no-any-return]
    return x.astype(other.dtype)
