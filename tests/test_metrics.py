"""Errors of estimates against exact pairs, and the statistics over patterns and trials."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stabbench.analysis.metrics import Statistic, digits, distribution, errors, is_zero
from stabbench.problems.base import Exact
from tests.support import Array


def pair(values: list[complex]) -> Exact:
    hi = np.array(values).reshape(1, 1, -1)
    return Exact(hi, np.zeros_like(hi))


def estimates(*rows: list[complex]) -> Array:
    return np.array(rows).reshape(len(rows), 1, 1, -1)


def test_componentwise_errors_leave_out_what_is_exactly_zero() -> None:
    found = errors(estimates([0.5, 2.5, -4.0], [0.0, 2.0, -3.0]), pair([0.0, 2.0, -4.0]))
    assert found.componentwise.tolist() == [0.25, 0.25]
    assert found.relative == pytest.approx(np.array([math.sqrt(0.5), 1.0]) / math.sqrt(20))


def test_errors_of_an_exact_zero_are_absolute() -> None:
    zero = pair([0.0, 0.0])
    found = errors(estimates([3.0, -4.0], [0.0, 0.0]), zero)
    assert found.relative.tolist() == [5.0, 0.0]
    assert found.componentwise.tolist() == [4.0, 0.0]
    assert is_zero(zero)
    assert not is_zero(pair([0.0, 1e-300]))


def test_the_low_part_of_the_exact_result_counts() -> None:
    exact = Exact(np.ones((1, 1, 1)), np.full((1, 1, 1), 2.0**-60))
    assert errors(estimates([1.0]), exact).relative.tolist() == [2.0**-60]
    assert errors(estimates([1.0]).astype(np.float32), exact).relative.tolist() == [2.0**-60]


def test_imaginary_parts_of_real_results_are_errors() -> None:
    found = errors(estimates([3.0 + 4.0j]), pair([3.0]))
    assert found.relative == pytest.approx([4 / 3])
    assert found.relative.dtype == found.componentwise.dtype == np.float64


@pytest.mark.parametrize("broken", [np.inf, -np.inf, np.nan])
def test_overflow_and_breakdown_are_infinite_errors_of_their_pattern_alone(broken: float) -> None:
    found = errors(estimates([1.0, broken], [1.0, 2.0]), pair([1.0, 2.0]))
    assert found.relative.tolist() == [np.inf, 0.0]
    assert found.componentwise.tolist() == [np.inf, 0.0]


@pytest.mark.parametrize("size", [1e-300, 1e300])
def test_norms_neither_overflow_nor_underflow(size: float) -> None:
    found = errors(estimates([3 * size, 4 * size]), pair([3 * size, 5 * size]))
    assert found.relative == pytest.approx([1 / math.sqrt(34)], rel=1e-15)


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.integers(1, 3))
def test_statistics_are_values_that_occurred(values: list[float], trials: int) -> None:
    table = np.array([[v + t for v in values] for t in range(trials)])
    patterns = np.eye(len(values), len(values) + 1, k=1, dtype=np.int8)
    found = Statistic.of(table, patterns)
    ordered = sorted(table.ravel().tolist())
    for level, value in ((0.5, found.median), (0.95, found.q95), (0.99, found.q99)):
        below = sum(v <= value for v in ordered)
        assert value in ordered
        assert below >= level * len(ordered)
        assert sum(v < value for v in ordered) < level * len(ordered)
    assert found.worst == ordered[-1]
    assert found.mean == pytest.approx(math.fsum(ordered) / len(ordered))
    assert found.worst_trial == trials - 1
    assert found.worst_survivors == (int(np.argmax(table[-1])) + 1,)


def test_digits_and_distributions() -> None:
    assert digits(np.array([1e-3, 0.0])).tolist() == pytest.approx([3.0, np.inf])
    assert distribution(np.array([4.0, 1.0, 3.0, 2.0]), 5) == [1.0, 1.0, 2.0, 3.0, 4.0]


def test_an_error_of_one_has_no_digits_rather_than_minus_none() -> None:
    found = digits(np.array([1.0, 0.01, 100.0]))
    assert found.tolist() == [0, 2, -2]
    assert not np.signbit(found[0])
    assert not np.signbit(digits(1.0))
