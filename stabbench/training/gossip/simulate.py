"""The loop over steps, and what is measured on the way: objective, consensus, invariants, bits.

Errors of rounding are measured against sums of all increments that are exact to about 106 bits.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stabbench.arithmetic.streams import stream
from stabbench.errors import InputError, require_least
from stabbench.training.gossip import kernels
from stabbench.training.gossip.channel import Channel, Setting, State
from stabbench.training.gossip.limits import Load
from stabbench.training.gossip.methods import Method
from stabbench.training.gossip.problems import Local

Array = NDArray[Any]
_BLOCK = 256


@dataclasses.dataclass(frozen=True)
class Run:
    """How long a simulation is, and what of it is looked at.

    Parameters
    ----------
    steps : int
    batch : int, optional
        Samples per worker and step, drawn with replacement; 0 takes all.
    seed : int, optional
        Picks masks and batches.
    points : int, optional
        About how many steps are measured, the first and the last among them.
    decay : float, optional
        Step t = 0, 1, ... has the learning rate gamma / (1 + decay t).
    invariants : bool, optional
        Whether I1 and I2 are measured, at the cost of four arrays of the size of the model.
    """

    steps: int
    batch: int = 0
    seed: int = 0
    points: int = 40
    decay: float = 0.0
    invariants: bool = True

    def __post_init__(self) -> None:
        """Check the numbers."""
        require_least(vars(self), steps=1, batch=0, seed=0, points=2)
        if not 0 <= self.decay < float("inf"):
            raise InputError(f"decay={self.decay:g}; allowed are numbers from 0")

    def measured(self) -> NDArray[np.int64]:
        """The steps that are measured: half of the points evenly, half in a geometric row."""
        half = self.points // 2 + 1
        even = np.linspace(0, self.steps, half)
        geometric = np.geomspace(1, self.steps, half)
        return np.unique(np.rint(np.concatenate([even, geometric])).astype(np.int64))


@dataclasses.dataclass(frozen=True)
class Point:
    """What is measured after a number of steps.

    Attributes
    ----------
    step : int
    gap : float
        f(mean x) - f*.
    consensus : float
        Root of the mean over workers of ||x_i - mean x||^2.
    local : float
        I1: the greatest |x_i + e_i - x_0 - sum of increments| over workers and coordinates.
    common : float
        I2: the greatest |mean(x_i + e_i) - x_0 + sum of mean gamma g_i| over coordinates.
    replicas : float
        The greatest difference between a replica and what it copies.
    memory : float
        Root of the mean over workers of ||e_i||^2.
    bits : float
        Sent over one link in one direction since the start.
    largest : float
        max |x|.
    """

    step: int
    gap: float
    consensus: float
    local: float
    common: float
    replicas: float
    memory: float
    bits: float
    largest: float


@dataclasses.dataclass(frozen=True)
class Result:
    """A finished simulation.

    Attributes
    ----------
    points : list of Point
    diverged : int or None
        The first step at which a number was inf, NaN or beyond 1e12; the run ended there.
    state : State
        After the last step.
    """

    points: list[Point]
    diverged: int | None
    state: State

    @property
    def last(self) -> Point:
        """What was measured last."""
        return self.points[-1]

    def trace(self, key: str) -> list[Any]:
        """One measure at all points."""
        return [getattr(point, key) for point in self.points]


Watch = Callable[[int, State], None]


def simulate(
    method: Method,
    setting: Setting,
    local: Local,
    run: Run,
    *,
    optimum: float = 0.0,
    watch: Watch | None = None,
) -> Result:
    """Train on all workers at once.

    Parameters
    ----------
    method : Method
    setting : Setting
    local : Local
        Data in float64; gradients are taken in the arithmetic of the setting.
    run : Run
    optimum : float, optional
        f*, subtracted from f.
    watch : callable, optional
        Called with the number and the state after every step; it must not change the state.

    Returns
    -------
    Result

    Raises
    ------
    InputError
        Settings that the method does not have, numbers of workers that differ.

    Examples
    --------
    >>> from stabbench.training.gossip import Formats, compressor, method, mixing, problem
    >>> setting = Setting(mixing("ring", 4), compressor("top-k"), Formats.of("float32"), 0.05, 0.05)
    >>> local = problem("logistic[dimension=20]").build(4, seed=0)
    >>> result = simulate(method("ecsd"), setting, local, Run(steps=50))
    >>> result.last.replicas, result.diverged
    (0.0, None)
    """
    method.check(setting)
    if local.workers != setting.mixing.n:
        raise InputError(
            f"problem of {local.workers} workers, graph of {setting.mixing.n}; allowed are equal"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        return _Simulation(method, setting, local, run, optimum).go(watch)


class _Simulation:
    """A running simulation: its state, the exact sums beside it, and the points so far."""

    def __init__(
        self, method: Method, setting: Setting, local: Local, run: Run, optimum: float
    ) -> None:
        self.method, self.run, self.optimum = method, run, optimum
        self.channel = Channel(setting, local.dimension, run.seed)
        self.rate = setting.rate
        self.pooled, self.local = local.pooled(), local.cast(self.channel.work)
        self.state = method.state(self.channel, local.start())
        self.start = self.state.x.copy()
        self.batches = stream("gossip batches", run.seed)
        self.block = np.empty((0, local.workers, run.batch), np.int64)
        size = self.start.size if run.invariants else 0
        self.increments = np.zeros(size), np.zeros(size)
        self.descents = np.zeros(size), np.zeros(size)
        self.points: list[Point] = []
        self.bits = 0.0

    def go(self, watch: Watch | None) -> Result:
        measured = set(self.run.measured().tolist())
        self.measure(0)
        for step in range(1, self.run.steps + 1):
            bounded = self.advance(step)
            if watch is not None:
                watch(step, self.state)
            if not bounded:
                self.measure(step)
                return Result(self.points, step, self.state)
            if step in measured:
                self.measure(step)
        return Result(self.points, None, self.state)

    def advance(self, step: int) -> bool:
        batch = None
        if self.run.batch:
            batch = self.draw(step)
        if self.run.decay:
            self.channel.set_rate(self.rate / (1 + self.run.decay * (step - 1)))
        bounded = self.method.step(
            self.channel, self.state, lambda point: self.local.gradient(point, batch)
        )
        message = self.state.message
        self.bits += message.bits if message else self.channel.d * self.channel.wire.bits
        if self.run.invariants:
            kernels.accumulate(*self.increments, self.state.increment.ravel())
            kernels.accumulate(*self.descents, self.state.descent.ravel())
        return bool(bounded)

    def draw(self, step: int) -> NDArray[np.int64]:
        place = (step - 1) % _BLOCK
        if place == 0:
            self.block = self.batches.integers(
                0, self.local.samples, (_BLOCK, self.local.workers, self.run.batch)
            )
        batch: NDArray[np.int64] = self.block[place]
        return batch

    def measure(self, step: int) -> None:
        state = self.state
        x = state.x.astype(np.float64)
        mean = x.mean(axis=0)
        local, common = self.drifts() if self.run.invariants else (float("nan"),) * 2
        memory = self.method.memory(state)
        self.points.append(
            Point(
                step=step,
                gap=self.pooled.objective(mean) - self.optimum,
                consensus=_spread(x - mean),
                local=local,
                common=common,
                replicas=float(kernels.apart(state.replicas, state.public, self.channel.sender)),
                memory=0.0 if memory is None else _spread(memory),
                bits=self.bits,
                largest=float(np.abs(x).max()),
            )
        )

    def drifts(self) -> tuple[float, float]:
        """I1 and I2, summed to about 106 bits."""
        n, d = self.start.shape
        hi, lo = np.zeros(n * d), np.zeros(n * d)
        for part in (*self.method.held(self.state), -self.start):
            kernels.accumulate(hi, lo, part.ravel())
        rows, rest = np.zeros(d), np.zeros(d)
        for pair in ((hi, lo), self.descents):
            for term in pair:
                kernels.accumulate_rows(rows, rest, term.reshape(n, d))
        for term in self.increments:
            kernels.accumulate(hi, lo, -term)
        local = np.abs(hi + lo).max()
        return float(local), float(np.abs(rows + rest).max()) / n


def load_of(method: Method, setting: Setting, local: Local) -> Load | None:
    """What decides the stability of a run, None for methods without a known limit.

    Methods without a memory have the limits of gossip with everything kept.
    """
    if method.name in ("naive", "deepsqueeze"):
        return None
    kept = 1.0 if method.full_step else setting.compressor.delta(local.dimension)
    return Load(
        setting.mixing,
        kept,
        setting.rate,
        local.curvature,
        setting.consensus,
        common=setting.compressor.common,
        private=method.private_gradient,
    )


def _spread(rows: Array) -> float:
    return float(np.sqrt(np.square(rows.astype(np.float64)).sum(axis=1).mean()))
