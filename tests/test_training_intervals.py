"""Intervals for the mean of a few accuracies: within bounds, and as often right as they say."""

from typing import Any

import numpy as np
import pytest

from stabbench.errors import InputError
from stabbench.training.layers.intervals import mean_interval

Array = np.ndarray[Any, np.dtype[Any]]


def draws(name: str, n: int, count: int) -> tuple[Array, float, tuple[float, float]]:
    """Samples of bounded numbers, their true mean and their bounds."""
    random, shape = np.random.default_rng([n, len(name)]), (count, n)
    return {
        "accuracies": (random.beta(50, 3, shape), 50 / 53, (0.0, 1.0)),
        "far below": (2 * random.beta(1, 9, shape) - 1, -0.8, (-1.0, 1.0)),
        "small differences": (random.normal(0, 0.01, shape), 0.0, (-1.0, 1.0)),
    }[name]


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("name", ["accuracies", "far below", "small differences"])
def test_intervals_hold_the_true_mean_nearly_as_often_as_they_say(name: str, n: int) -> None:
    """Standard error of the share 0.008; the spread of skewed numbers is underestimated a bit."""
    samples, truth, bounds = draws(name, n, 800)
    found = [mean_interval(list(sample), bounds) for sample in samples]
    share = np.mean([each["low"] <= truth <= each["high"] for each in found])
    assert 0.915 < share < 0.98


@pytest.mark.parametrize("n", [2, 3, 5, 12])
@pytest.mark.parametrize("bounds", [(0.0, 1.0), (-1.0, 1.0)])
def test_intervals_stay_between_the_bounds_and_contain_the_mean(
    bounds: tuple[float, float], n: int
) -> None:
    random = np.random.default_rng(n)
    least, greatest = bounds
    for _ in range(150):
        a, b = 10.0 ** random.uniform(-2, 2, 2)
        values = least + (greatest - least) * random.beta(a, b, n)
        if random.random() < 0.3:
            values[random.integers(n)] = random.choice(bounds)
        found = mean_interval(list(values), bounds)
        assert least <= found["low"] <= found["mean"] <= found["high"] <= greatest
        assert found["mean"] == pytest.approx(values.mean(), abs=1e-15)
        assert (found["low"] < found["high"]) or values.std() < 1e-7
        mirrored = mean_interval(list(least + greatest - values[::-1]), bounds)
        assert least + greatest - mirrored["high"] == pytest.approx(found["low"], abs=1e-9)


def test_intervals_far_from_the_bounds_are_students() -> None:
    found = mean_interval([0.01, -0.02, 0.0, 0.03, 0.01])
    assert found["mean"] == pytest.approx(0.006)
    # t(0.975, 4) = 2.776445, standard error 0.0181659 / sqrt 5
    half = 2.776445 * 0.0181659 / 5**0.5
    assert found["high"] - found["mean"] == pytest.approx(half, rel=1e-3)
    assert found["mean"] - found["low"] == pytest.approx(half, rel=1e-3)


def test_values_without_spread_give_their_mean_and_one_value_gives_no_interval() -> None:
    for value in (-1.0, -0.1, 0.0, 0.7, 1.0):
        found = mean_interval([value] * 3)
        assert [found[key] for key in ("low", "mean", "high")] == [value] * 3
    assert [mean_interval([0.5])[key] for key in ("low", "high")] == [None, None]


@pytest.mark.parametrize("values", [[], [0.5, 1.25], [float("nan"), 0.0], [-0.5, 0.5]])
def test_values_beyond_the_bounds_have_no_interval(values: list[float]) -> None:
    with pytest.raises(InputError, match=r"allowed are numbers in \[0, 1\]"):
        mean_interval(values, (0.0, 1.0))
