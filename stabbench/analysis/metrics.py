"""Errors of estimates against exact pairs, and statistics over patterns and trials."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from stabbench.analysis.structure import Trial
from stabbench.analysis.ties import first_greatest
from stabbench.arithmetic.precision import Precision
from stabbench.problems.base import Exact

Array = np.ndarray[Any, np.dtype[Any]]
LEVELS = (0.5, 0.95, 0.99)


@dataclasses.dataclass(frozen=True)
class Errors:
    """Errors per pattern, each of shape (P,).

    Attributes
    ----------
    relative : float64 array
        ||estimate - exact||_2 / ||exact||_2 over all blocks; inf on overflow or breakdown;
        absolute where the exact result is zero.
    componentwise : float64 array
        max |estimate - exact| / |exact| over the entries whose exact value is not zero.
    """

    relative: Array
    componentwise: Array


def errors(estimates: Array, exact: Exact) -> Errors:
    """Compare estimates with the exact result.

    Parameters
    ----------
    estimates : array, shape (P, k, L, m)
    exact : Exact, shape (k, L, m)

    Returns
    -------
    Errors

    Examples
    --------
    >>> exact = Exact(np.ones((1, 1, 2)), np.zeros((1, 1, 2)))
    >>> errors(np.array([[[[1.0, 1.5]]]]), exact).componentwise
    array([0.5])
    """
    wide = np.result_type(estimates.dtype, exact.hi.dtype, np.float64)
    with np.errstate(all="ignore"):
        difference = np.abs((estimates.astype(wide) - exact.hi) - exact.lo)
        flat = difference.reshape(len(estimates), -1).astype(np.float64)
        size = np.abs(exact.hi).ravel()
        relative = _norms(flat) / (_norms(size[None])[0] or 1.0)
        nonzero = size > 0
        ratios = flat[:, nonzero] / size[nonzero]
        componentwise = ratios.max(axis=1) if nonzero.any() else flat.max(axis=1)
    relative[~np.isfinite(relative)] = np.inf
    componentwise[~np.isfinite(relative)] = np.inf
    return Errors(relative, componentwise)


def is_zero(exact: Exact) -> bool:
    """Whether the exact result is zero, so that errors are absolute."""
    return not exact.hi.any()


def digits(relative: Array | float) -> Any:
    """Correct decimal digits, -log10 of the relative error; inf for no error at all.

    Examples
    --------
    >>> float(digits(1e-7))
    7.0
    """
    with np.errstate(divide="ignore"):
        return 0.0 - np.log10(relative)  # an error of 1 has 0 digits, not -0


@dataclasses.dataclass(frozen=True)
class Statistic:
    """A quantity over patterns and trials; the quantiles are values that occurred.

    Attributes
    ----------
    median, q95, q99, worst : float
    worst_survivors : tuple of int
        The survivor set of the worst value, the first of those that tie, so that it can be
        replayed.
    worst_trial : int
        The trial of the worst value.
    mean : float
    """

    median: float
    q95: float
    q99: float
    worst: float
    mean: float
    worst_survivors: tuple[int, ...]
    worst_trial: int = 0

    @classmethod
    def of(cls, values: Array, patterns: Array, tie: float = 0.0) -> "Statistic":
        """Summarise values over patterns.

        Parameters
        ----------
        values : array, shape (P,) or (trials, P)
        patterns : int array, shape (P, n)
        tie : float
            Relative tolerance up to which values are the same, so that the first pattern is the
            worst: 0 for measured errors, `ties.TIE` for condition numbers and what else theory
            makes equal. `worst` is the greatest value all the same.
        """
        table = np.atleast_2d(values)
        with np.errstate(invalid="ignore"):
            quantiles = np.quantile(table, LEVELS, method="inverted_cdf")
            mean = _mean(table)
        trial, pattern = np.unravel_index(first_greatest(table, tie), table.shape)
        return cls(
            median=float(quantiles[0]),
            q95=float(quantiles[1]),
            q99=float(quantiles[2]),
            worst=float(table.max()),
            mean=mean,
            worst_survivors=tuple(np.flatnonzero(patterns[pattern]).tolist()),
            worst_trial=int(trial),
        )


@dataclasses.dataclass(frozen=True)
class Worst:
    """The estimate with the largest error, as it was measured among others of its batch.

    Decoded again alone it may be rounded otherwise, since kernels differ by the size of a batch.

    Attributes
    ----------
    error : float
    trial, pattern : int
        Where errors tie, those of the lowest trial, then the lowest pattern.
    estimate : array, shape (wanted, L, m)
    """

    error: float
    trial: int
    pattern: int
    estimate: Array

    @classmethod
    def of(
        cls, best: "Worst | None", errors: Array, estimates: Array, first: tuple[int, int]
    ) -> "Worst":
        """The worse of what is known and a batch, whose first trial and pattern are given."""
        at = int(np.argmax(errors))
        trial, pattern = first[0], first[1] + at
        key = float(errors[at]), -trial, -pattern
        if best is not None and (best.error, -best.trial, -best.pattern) >= key:
            return best
        return cls(key[0], trial, pattern, estimates[at].copy())


def of_all(
    measures: Mapping[str, Any], relative: Array, patterns: Array, decodable: Array
) -> dict[str, Any]:
    """Errors over all patterns, infinite where one does not decode, beside those of the others.

    Parameters
    ----------
    measures : mapping
        With the ``digits`` over the patterns that decode, if there are any.
    relative : array, shape (trials, decodable patterns)
    patterns : array, shape (P, n)
    decodable : bool array, shape (P,)

    Returns
    -------
    dict
        ``relative_error_of_all``, and ``digits`` with ``median_of_all`` and ``worst_of_all``.

    Examples
    --------
    >>> found = of_all({}, np.array([[1e-7]]), np.eye(2), np.array([True, False]))
    >>> found["digits"]
    {'median_of_all': 7.0, 'worst_of_all': -inf}
    """
    every = np.full((len(relative), len(patterns)), np.inf)
    every[:, decodable] = relative
    error = Statistic.of(every, patterns)
    counted = {f"{key}_of_all": float(digits(getattr(error, key))) for key in ("median", "worst")}
    return {"relative_error_of_all": error, "digits": {**measures.get("digits", {}), **counted}}


def infinite(patterns: Array) -> dict[str, Any]:
    """The errors of a case whose coefficients overflow, which every pattern needs."""
    error = Statistic.of(np.full(len(patterns), np.inf), patterns)
    none = {"relative_error": error, "digits": {"median": -np.inf, "worst": -np.inf}}
    every = np.full((1, len(patterns)), np.inf)
    return none | of_all(none, every, patterns, np.ones(len(patterns), dtype=bool))


def cause(trial: Trial, precision: Precision) -> str:
    """Where a trial with an infinite error first leaves the finite numbers."""
    form = precision.storage
    storage = form.name
    if form.emax < 1024:
        storage += f" (largest number {math.ldexp(2 - 2.0 ** (1 - form.p), form.emax):.5g})"
    stages = {
        f"an operand overflows {storage}": trial.blocks,
        "the exact result overflows float64": (trial.exact.hi,),
        f"a share overflows {storage}": trial.shares,
        f"a reply overflows {storage}": (trial.replies,),
    }
    for words, arrays in stages.items():
        if not all(np.isfinite(array).all() for array in arrays):
            return words
    return "decoding overflows or breaks down"


def mean_squares(relative: Array) -> Array:
    """The means over trials of squared errors; infinite where squares are beyond float64."""
    with np.errstate(over="ignore"):
        means: Array = np.square(relative).mean(axis=0)
    return means


def _mean(values: Array) -> float:
    """The mean, whether or not float64 can hold the sum."""
    with np.errstate(over="ignore"):
        mean = float(values.mean())
    top = float(np.abs(values).max())
    if np.isfinite(mean) or not np.isfinite(top):
        return mean
    return top * float((values / top).mean())


def distribution(values: Array, points: int = 65) -> list[float]:
    """Quantiles at equal steps from the least to the greatest value, for cumulative plots."""
    steps = np.linspace(0.0, 1.0, points)
    return [float(q) for q in np.quantile(values, steps, method="inverted_cdf")]


def _norms(rows: Array) -> Array:
    """2-norms of rows without overflow or underflow of the squares."""
    largest = rows.max(axis=1, initial=0.0)
    scale = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    norms: Array = scale * np.sqrt(np.square(rows / scale[:, None]).sum(axis=1))
    return norms
