"""Intervals for the mean of a few bounded numbers, such as accuracies and their differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from stabbench.errors import InputError

CONFIDENCE = 0.95


def mean_interval(
    values: Sequence[float], bounds: tuple[float, float] = (-1.0, 1.0)
) -> dict[str, Any]:
    """Mean of bounded numbers, one per seed, with a 95% interval that respects the bounds.

    Student's interval on the logit scale: with p the mean as a share of the way between the bounds
    and e its standard error on that scale, logit p -+ t e / (p (1 - p)), taken back by the inverse
    of logit. Far from the bounds this is Student's interval itself; near a bound it is longer on
    the side away from it, as the distribution of bounded numbers is.

    Parameters
    ----------
    values : sequence of float
        One number per seed.
    bounds : (float, float)
        Between which every number is: -1 and 1 for differences of accuracies, 0 and 1 for
        accuracies.

    Returns
    -------
    dict
        ``mean``, ``low``, ``high``, ``confidence``, ``trials`` and the ``values``. Low and high are
        None for a single value, which says nothing of the spread, and the mean itself if all values
        are equal: then no spread was seen, which does not prove that there is none.

    Raises
    ------
    InputError
        No value, or one that is not between the bounds.

    Notes
    -----
    The logit interval by the delta method: Brown, Cai, DasGupta, Interval estimation for a binomial
    proportion, Statistical Science 16 (2001), section 4.1, with Student's quantile for the normal
    one, since the spread is estimated.

    Examples
    --------
    >>> found = mean_interval([0.0, 0.01, 0.02])
    >>> round(found["mean"], 4), round(found["low"], 4), round(found["high"], 4)
    (0.01, -0.0148, 0.0348)
    >>> found = mean_interval([-0.90, -0.95, -0.70])
    >>> round(found["mean"], 4), round(found["low"], 4), round(found["high"], 4)
    (-0.85, -0.9849, -0.0718)
    """
    numbers = np.asarray(values, dtype=np.float64)
    least, greatest = bounds
    if not len(numbers) or not ((least <= numbers) & (numbers <= greatest)).all():
        raise InputError(f"values {list(values)}; allowed are numbers in [{least:g}, {greatest:g}]")
    mean = float(np.clip(numbers.mean(), numbers.min(), numbers.max()))
    found: dict[str, Any] = {
        "mean": mean,
        "low": None,
        "high": None,
        "confidence": CONFIDENCE,
        "trials": len(numbers),
        "values": [float(value) for value in numbers],
    }
    if len(numbers) > 1:
        found["low"], found["high"] = _ends(numbers, mean, least, greatest)
    return found


def _ends(numbers: Any, mean: float, least: float, greatest: float) -> tuple[float, float]:
    from scipy import special, stats

    span = greatest - least
    share = (mean - least) / span
    error = float(numbers.std(ddof=1) / np.sqrt(len(numbers))) / span
    if np.ptp(numbers) == 0 or not 0 < share < 1:
        return mean, mean
    half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(numbers) - 1)) * error / share / (1 - share)
    ends = least + span * special.expit(special.logit(share) + np.array([-half, half]))
    return min(float(ends[0]), mean), max(float(ends[1]), mean)
