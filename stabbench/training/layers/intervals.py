"""Intervals for the mean of a few paired differences."""

from collections.abc import Sequence
from typing import Any

import numpy as np

CONFIDENCE = 0.95
LEAST, MOST = -1.0, 1.0
"""What a difference of two shares can be."""


def mean_interval(values: Sequence[float]) -> dict[str, Any]:
    """Mean of differences of shares over seeds with Student's 95% interval, within -1 and 1.

    The mean cannot lie outside, so what is cut off takes nothing from the coverage. Equal values
    have an interval of no width: the seeds agree, which is no proof that others would.

    Parameters
    ----------
    values : sequence of float
        One difference per seed, from -1 to 1.

    Returns
    -------
    dict
        ``mean``, ``low``, ``high``, ``confidence``, ``trials`` and the ``values``; low and high are
        None for a single value, which says nothing of the spread.

    Examples
    --------
    >>> found = mean_interval([0.0, 0.01, 0.02])
    >>> round(found["mean"], 4), round(found["low"], 4), round(found["high"], 4)
    (0.01, -0.0148, 0.0348)
    >>> mean_interval([-0.9, -0.8, -0.99])["low"]
    -1.0
    """
    from scipy import stats

    numbers = np.asarray(values, dtype=np.float64)
    mean = float(numbers.mean())
    found: dict[str, Any] = {
        "mean": mean,
        "low": None,
        "high": None,
        "confidence": CONFIDENCE,
        "trials": len(numbers),
        "values": [float(value) for value in numbers],
    }
    if len(numbers) > 1:
        error = float(numbers.std(ddof=1) / np.sqrt(len(numbers)))
        half = float(stats.t.ppf((1 + CONFIDENCE) / 2, len(numbers) - 1)) * error
        found |= {"low": max(mean - half, LEAST), "high": min(mean + half, MOST)}
    return found
