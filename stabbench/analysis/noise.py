"""Noise added to shares or replies, and the error that a formula expects of it."""

import dataclasses
import math
from typing import Any

import numpy as np

from stabbench.analysis.conditions import operators_of, stored_reply
from stabbench.analysis.metrics import Statistic, mean_squares
from stabbench.analysis.structure import Choice, Trial
from stabbench.arithmetic.pairs import norm
from stabbench.arithmetic.precision import Precision
from stabbench.arithmetic.streams import stream
from stabbench.codes.operators import Dense
from stabbench.codes.product import ProductSystem
from stabbench.errors import InputError
from stabbench.grammar import near

Array = np.ndarray[Any, np.dtype[Any]]
BATCH = 1 << 11
LARGEST = 1000
MODELS = ("inputs", "outputs", "relative")


@dataclasses.dataclass(frozen=True)
class Noise:
    """Additive Gaussian noise.

    Parameters
    ----------
    model : str
        ``inputs``: variance 10^(-SNR/10) on every share and on the uncoded operand, one draw of
        the latter for all workers; ``outputs``: the same variance on every reply; ``relative``:
        10^(-SNR/10) times the mean square of each worker's reply.
    snr : float
        In decibels.
    """

    model: str
    snr: float

    @property
    def variance(self) -> float:
        """10^(-SNR/10)."""
        return float(10.0 ** (-self.snr / 10))

    def on_shares(self, shares: tuple[Array, ...], seed: int, precision: Precision) -> Any:
        """Shares with noise, rounded to storage; as they are unless the model is ``inputs``."""
        if self.model != "inputs":
            return shares
        deviation = math.sqrt(self.variance)
        return tuple(
            precision.store(share + deviation * draw(share, "noise on shares", seed, operand))
            for operand, share in enumerate(shares)
        )

    def on_replies(self, replies: Array, seed: int, precision: Precision) -> Array:
        """Replies with noise, rounded to storage; as they are if the model is ``inputs``."""
        if self.model == "inputs":
            return replies
        deviation = np.full((len(replies), 1, 1), math.sqrt(self.variance))
        if self.model == "relative":
            deviation = deviation * np.array([[[size(reply)]] for reply in replies])
        with np.errstate(over="ignore", invalid="ignore"):  # replies may have overflowed
            noisy: Array = replies + deviation * draw(replies, "noise on replies", seed)
        return precision.store(noisy)

    def __str__(self) -> str:
        return f"{self.model}:{self.snr:.15g}"


def draw(like: Array, purpose: str, *numbers: int) -> Array:
    """Standard Gaussian noise of a shape; complex noise has variance 1 in all."""
    random = stream(purpose, *numbers)
    if not np.iscomplexobj(like):
        return np.asarray(random.standard_normal(like.shape))
    parts = random.standard_normal((2, *like.shape)) / math.sqrt(2)
    return np.asarray(parts[0] + 1j * parts[1])


def noise(text: str) -> Noise:
    """The noise that ``MODEL:SNR`` names.

    Raises
    ------
    InputError
        Unknown model, or an SNR that is no number from -1000 to 1000.

    Examples
    --------
    >>> noise("inputs:80").variance
    1e-08
    """
    model, _, number = text.partition(":")
    if model not in MODELS:
        raise InputError(f"noise {text!r}: unknown model {model!r}; {near(model, MODELS)}")
    try:
        snr = float(number)
    except ValueError:
        snr = math.nan
    if not abs(snr) <= LARGEST:
        raise InputError(
            f"noise {text!r}; allowed is {model}:SNR with SNR in decibels, -{LARGEST} .. {LARGEST}"
        )
    return Noise(model, snr)


def statistics(
    noise: Noise, choice: Choice, patterns: Array, relative: Array, trials: list[Trial]
) -> dict[str, Any]:
    """The normalised squared error of a noise study over the trials, and what is expected.

    Parameters
    ----------
    noise : Noise
    choice : Choice
    patterns : int array, shape (P, n)
    relative : array, shape (trials, P)
        Relative errors.
    trials : list of Trial
    """
    measures = {"noise_nmse": Statistic.of(mean_squares(relative), patterns)}
    expected = [found for t in trials if (found := formula(noise, choice, patterns, t)) is not None]
    if expected:
        measures["expected_nmse"] = Statistic.of(np.mean(expected, axis=0), patterns)
    return measures


def formula(noise: Noise, choice: Choice, patterns: Array, trial: Trial) -> Array | None:
    """Expected normalised squared error of every pattern, rounding aside.

    With v the variance of the noise, d_r the norms of the columns of D_F = T Phi_F^+, w the number
    of wanted blocks and P_A, P_B, P_C the mean squares of the operands' and the result's entries:

    * outputs: v sum d_r^2 / (w P_C); relative: v sum d_r^2 p_r / (w P_C), p_r of reply r;
    * inputs of A x: v (1 / P_x + sum d_r^2 / (w P_A));
    * inputs of A^T B: v sum d_r^2 (||a_r||^2 / P_B + ||b_r||^2 / P_A) / (w p), with a_r and b_r
      the rows of the generators and the inner dimension cut into p pieces.

    Entries of the operands are taken to be independent with mean zero.

    Returns
    -------
    float64 array, shape (P,), infinite where a pattern does not decode, or None for structures
    and problems without a formula
    """
    system, problem = choice.system, "" if choice.problem is None else choice.problem.name
    if not isinstance(system.reply, Dense) or not choice.code.dense:
        return None
    if noise.model == "inputs" and problem not in ("matvec", "matmul"):
        return None
    if not all(np.isfinite(x).all() for x in (*trial.blocks, trial.replies, trial.exact.hi)):
        return np.full(len(patterns), np.inf)
    powers = [power(block) for block in trial.blocks]
    first = 0.0
    if noise.model == "outputs":
        weights = np.full(len(system.owner), 1 / power(trial.exact.hi))
    elif noise.model == "relative":
        sizes = np.array([size(reply) for reply in trial.replies])
        weights = np.square(sizes / size(trial.exact.hi))
    elif problem == "matvec":
        first, weights = 1 / powers[1], np.full(len(system.owner), 1 / powers[0])
    else:
        weights = share_weights(system, powers)
    return noise.variance * (first + _weighted(choice, patterns, weights))


def power(array: Array) -> float:
    """Mean square of the entries; infinite beyond float64."""
    with np.errstate(over="ignore"):
        return float(np.square(np.abs(array.astype(np.result_type(array, np.float64)))).mean())


def size(array: Array) -> float:
    """Root mean square of the entries, where their squares overflow too."""
    return norm(array) / math.sqrt(array.size)


def share_weights(system: Any, powers: list[float]) -> Array:
    """(||a_r||^2 / P_B + ||b_r||^2 / P_A) / p for every reply of a system for products."""
    assert isinstance(system, ProductSystem)
    weights = np.zeros(len(system.pairs))
    for side, encoder in enumerate(system.encoders):
        assert isinstance(encoder, Dense)
        rows = encoder.coefficients.rounded("float64")[system.pairs[:, side]]
        weights += np.square(np.abs(rows)).sum(axis=1) / powers[1 - side]
    return weights / system.layout.inner


def _weighted(choice: Choice, patterns: Array, weights: Array) -> Array:
    """Sum over r of weights[r] d_r^2 / w for every pattern."""
    reply = stored_reply(choice.system.reply, choice.precision.storage.name)
    target = choice.system.target
    found = np.full(len(patterns), np.inf)
    for group, arrived in choice.system.batches(patterns):
        for start in range(0, len(group), BATCH):
            rows = arrived[start : start + BATCH]
            operators = operators_of(reply, rows)
            D = operators.D if target is None else target.rounded("float64") @ operators.D
            columns = np.square(np.abs(D)).sum(axis=1) / D.shape[1]
            values = (columns * weights[rows]).sum(axis=1)
            found[group[start : start + BATCH]] = np.where(operators.status, values, np.inf)
    return found
